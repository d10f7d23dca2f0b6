//! Tests that nothing is decided in the inbox which nobody meant, or could not have read.

use std::time::Duration;

use agent_world_client::wire::{Decision, Reach};
use serde_json::json;

use super::message::{Effect, Message};
use super::stage::{NARROW, Stage, WIDE, decided, request};

fn decide(id: &str) -> Vec<Effect> {
    let decision = Box::new(Decision::approve(Reach::Once));
    vec![Effect::Decide { id: id.to_owned(), decision }]
}

/// In the inbox, before a script of so many lines.
fn before_a_script(size: (u16, u16), lines: usize) -> Stage {
    let mut stage = Stage::at_work(size);
    let script: Vec<String> = (1..=lines).map(|line| format!("rm file-{line}")).collect();
    let arguments = json!({"script": script.join("\n")});
    let mut long = request(1);
    long["shown"] = json!(format!("{arguments:#}"));
    long["arguments"] = arguments;
    long["binding"] = json!({"facts": {"sandbox": "off"}});
    stage.event("approval", long);
    stage.press("esc p rest");
    stage
}

#[test]
fn a_key_that_is_held_decides_one_request_also_when_it_comes_again_after_a_while() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest");
    let mut effects = stage.press("o");
    stage.event("approval", decided(1, "approved", "tester"));
    stage.screen();
    stage.pass(Duration::from_millis(610));
    for _ in 0..60 {
        effects.extend(stage.press("o"));
        stage.screen();
    }
    assert_eq!(effects, decide("apr_1"));
    stage.shows("held counts once");
    assert_eq!(stage.press("rest o"), decide("apr_2"));
}

#[test]
fn a_key_that_is_held_while_the_decision_is_delivered_decides_nothing_afterwards() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest");
    let mut effects = stage.press("o");
    for press in 0..60 {
        effects.extend(stage.press("o"));
        if press == 30 {
            stage.event("approval", decided(1, "approved", "tester"));
        }
        stage.screen();
    }
    assert_eq!(effects, decide("apr_1"));
}

#[test]
fn a_long_request_is_approved_when_its_end_was_on_the_screen() {
    let mut stage = before_a_script(NARROW, 60);
    stage.shows("! rm can destroy what is there");
    stage.shows("! nothing keeps it from other files or the network");
    for key in ["o", "y", "s", "a", "e"] {
        assert_eq!(stage.press(&format!("{key} rest")), [], "{key}");
        stage.shows("read it to its end first");
    }
    for _ in 0..20 {
        stage.press("pgdn rest");
    }
    stage.shows("rm file-60");
    assert_eq!(stage.press("o"), decide("apr_1"));
}

#[test]
fn every_line_of_a_long_request_is_seen_page_by_page() {
    let mut stage = before_a_script(NARROW, 60);
    let mut seen = stage.screen();
    for _ in 0..20 {
        stage.press("pgdn");
        seen += &stage.screen();
    }
    for line in 1..=60 {
        assert!(seen.contains(&format!("rm file-{line}\n")), "{line}");
    }
}

#[test]
fn what_was_jumped_over_was_not_read() {
    let mut stage = before_a_script(NARROW, 60);
    for _ in 0..20 {
        stage.press("pgdn");
    }
    assert_eq!(stage.press("rest o"), [], "only its end was drawn");
    stage.shows("read it to its end first");
}

#[test]
fn a_long_request_is_denied_unread() {
    let mut stage = before_a_script(NARROW, 60);
    assert_eq!(stage.press("d enter").len(), 1);
}

#[test]
fn a_window_without_room_for_the_keys_takes_no_answer() {
    let mut stage = before_a_script((40, 9), 1);
    stage.shows("enlarge the window");
    for key in ["o", "y", "s", "a", "e", "d", "1", "t"] {
        assert_eq!(stage.press(&format!("{key} rest")), [], "{key}");
        stage.shows("enlarge the window");
    }
    stage.resize(NARROW);
    assert_eq!(stage.press("o"), [], "it could not be read before");
    assert_eq!(stage.press("rest o"), decide("apr_1"));
}

#[test]
fn keys_that_come_at_once_are_no_answer() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest");
    assert!(stage.state.would_answer(crossterm::event::KeyCode::Char('o').into()));
    stage.tell(Message::TypedAtOnce);
    stage.shows("taken for part of a text: press again");
    assert_eq!(stage.press("o"), []);
    assert_eq!(stage.press("rest o"), decide("apr_1"));
}

#[test]
fn the_list_of_calls_is_read_before_it_takes_a_key() {
    let mut stage = Stage::at_work(WIDE);
    let mut asked = request(1);
    asked["suggested_matches"] = json!([{"label": "exactly this call", "matches": [{}]},
        {"label": "any shell_cmd call", "matches": []}]);
    stage.event("approval", asked);
    stage.press("esc p rest s");
    stage.shows("which calls?");
    assert_eq!(stage.press("1 t"), []);
    assert_eq!(stage.press("rest t rest o enter"), [], "the whole tool is asked once more");
    stage.shows("any shell_cmd call by ada, for the rest of chat_1?");
    assert_eq!(stage.press("rest y").len(), 1);
}
