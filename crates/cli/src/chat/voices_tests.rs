//! Tests of how replies look while they are made, read off the paper they are written on.

use agent_world_core::ids::{ChatId, WorldId};

use super::*;
use crate::screen::tests::Paper;

struct Stage {
    paper: Paper,
    screen: Screen,
    voices: Voices,
}

fn stage() -> Stage {
    let paper = Paper::default();
    Stage { screen: paper.screen(false), paper, voices: Voices::default() }
}

impl Stage {
    fn piece(&mut self, agent: &str, offset: usize, text: &str) {
        let chunk = Chunk {
            world: WorldId::new("w"),
            chat: ChatId::new("chat_1"),
            agent: AgentId::new(agent),
            message: MessageId::new(format!("msg_{agent}")),
            offset,
            text: text.to_owned(),
            reasoning: String::new(),
            number: 0,
        };
        self.voices.piece(&mut self.screen, &chunk).unwrap();
    }

    fn said(&mut self, agent: &str, text: &str) {
        let message = MessageId::new(format!("msg_{agent}"));
        let agent = AgentId::new(agent);
        self.voices.said(&mut self.screen, &message, &agent, text).unwrap();
    }

    fn note(&mut self, text: &str) {
        self.voices.interrupt();
        self.screen.line(Tone::Quiet, text).unwrap();
    }

    #[track_caller]
    fn check(&self, expected: &str) {
        assert_eq!(self.paper.text(), expected);
    }
}

#[test]
fn a_reply_appears_as_it_is_made() {
    let mut stage = stage();
    stage.piece("ada", 0, "one ");
    stage.check("ada: one ");
    assert!(stage.voices.is_speaking());
    stage.piece("ada", 4, "two");
    stage.said("ada", "one two");
    stage.check("ada: one two\n");
    assert!(!stage.voices.is_speaking());
}

#[test]
fn two_agents_do_not_mix() {
    let mut stage = stage();
    stage.piece("ada", 0, "one ");
    stage.piece("bob", 0, "eins ");
    stage.piece("ada", 4, "two");
    stage.check("ada: one two");
    stage.said("ada", "one two");
    stage.check("ada: one two\nbob: eins ");
    stage.piece("bob", 5, "zwei");
    stage.said("bob", "eins zwei");
    stage.check("ada: one two\nbob: eins zwei\n");
}

#[test]
fn one_that_is_done_first_is_shown_whole_and_the_other_goes_on() {
    let mut stage = stage();
    stage.piece("ada", 0, "one ");
    stage.said("bob", "eins");
    stage.piece("ada", 4, "two");
    stage.said("ada", "one two");
    stage.check("ada: one \nbob: eins\nada (goes on): two\n");
}

#[test]
fn a_note_in_between_does_not_tear_a_sentence_apart() {
    let mut stage = stage();
    stage.piece("ada", 0, "one ");
    stage.note("* bob: shell_cmd started");
    stage.piece("ada", 4, "two");
    stage.check("ada: one \n* bob: shell_cmd started\nada (goes on): two");
}

#[test]
fn what_was_missed_is_made_good_when_the_reply_is_stored() {
    let mut stage = stage();
    stage.piece("ada", 0, "one ");
    stage.piece("ada", 8, "three");
    stage.said("ada", "one two three");
    stage.check("ada: one two three\n");
}

#[test]
fn a_piece_that_comes_after_the_reply_is_ignored() {
    let mut stage = stage();
    stage.said("ada", "one");
    stage.piece("ada", 0, "one");
    stage.check("ada: one\n");
}

#[test]
fn what_was_added_to_the_reply_is_shown() {
    let mut stage = stage();
    stage.piece("bob", 0, "noon");
    stage.said("bob", "@ada noon");
    stage.check("bob: noon\n  (to @ada)\n");
}

#[test]
fn a_reply_that_ended_otherwise_is_shown_as_it_was_posted() {
    let mut stage = stage();
    stage.piece("bob", 0, "@ada noon <world>STOP</world>");
    stage.said("bob", "noon");
    stage.check("bob: @ada noon <world>STOP</world>\nbob (as posted): noon\n");
}

#[test]
fn a_reply_that_begins_anew_is_shown_anew() {
    let mut stage = stage();
    stage.piece("ada", 0, "one");
    stage.piece("ada", 0, "uno ");
    stage.said("ada", "uno due");
    stage.check("ada: one\nada: uno due\n");
}

#[test]
fn a_turn_that_ends_breaks_its_reply_off() {
    let mut stage = stage();
    stage.piece("ada", 0, "one");
    stage.piece("bob", 0, "eins");
    let ada = AgentId::new("ada");
    stage.voices.over(&mut stage.screen, &ada, Some(&MessageId::new("msg_ada"))).unwrap();
    stage.check("ada: one");
    stage.voices.over(&mut stage.screen, &ada, None).unwrap();
    stage.check("ada: one\n  (broken off)\nbob: eins");
}
