//! Tests of deciding in the inbox: which key decides what, and which decides nothing.

use agent_world_client::wire::{Decision, Reach};

use super::message::{Effect, Message};
use super::stage::{NARROW, Stage, WIDE, approval, call, decided, request};
use super::state::Focus;

fn decide(id: &str) -> Vec<Effect> {
    let decision = Box::new(Decision::approve(Reach::Once));
    vec![Effect::Decide { id: id.to_owned(), decision }]
}

#[test]
fn requests_are_decided_in_any_order() {
    let mut stage = Stage::asked(WIDE);
    assert_eq!(stage.press("esc p down rest o"), decide("apr_2"));
    stage.shows("The decision is on its way.");
    assert_eq!(stage.press("o"), [], "one that is decided is not decided again");
    assert_eq!(stage.press("G rest o"), decide("apr_3"));
    assert_eq!(stage.press("g rest o"), decide("apr_1"));
    stage.event("approval", decided(2, "approved", "tester"));
    stage.shows("Inbox  2 waiting");
    stage.shows("approved by tester");
}

#[test]
fn a_text_that_was_meant_for_the_composer_decides_nothing_and_is_told() {
    let mut stage = Stage::asked(WIDE);
    assert_eq!(stage.press("esc p rest w o"), []);
    stage.shows("taken for part of a text: press again");
}

#[test]
fn a_letter_decides_only_in_the_inbox() {
    let mut stage = Stage::asked(WIDE);
    stage.type_in("o");
    assert_eq!(stage.press("esc o c o"), []);
    assert_eq!(stage.state.inbox.len(), 3);
}

#[test]
fn later_goes_on_to_the_next_and_decides_nothing() {
    let mut stage = Stage::asked(WIDE);
    assert_eq!(stage.press("esc p l"), []);
    stage.shows("2 of 3 waiting");
    stage.press("l l");
    stage.shows("1 of 3 waiting");
}

#[test]
fn a_request_that_appears_under_the_fingers_waits_to_be_read() {
    let mut stage = Stage::at_work(WIDE);
    stage.press("esc p");
    stage.event("approval", request(1));
    assert_eq!(stage.press("o"), []);
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_1"));
}

#[test]
fn a_key_that_was_meant_for_one_request_decides_no_other() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p");
    stage.event("approval", decided(1, "denied", "bob"));
    stage.shows("shell_cmd rm -r build: denied by bob");
    stage.shows("Enter shows the next.");
    assert_eq!(stage.press("o"), []);
    assert_eq!(stage.press("enter o"), [], "it was not on the screen before");
    stage.shows("just shown, so that key did nothing: press again");
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_2"));
}

#[test]
fn what_vanished_while_nobody_listened_leaves_its_place_empty() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p");
    let left = [2, 3].map(|number| approval(request(number)));
    stage.tell(Message::Approvals(left.to_vec()));
    stage.shows("shell_cmd rm -r build: does not wait any more");
    assert_eq!(stage.press("o"), [], "it was meant for the one that is gone");
    stage.press("enter");
    stage.shows("1 of 2 waiting");
    assert_eq!(stage.press("o"), [], "nobody has read it yet");
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_2"));
}

#[test]
fn what_became_of_one_that_vanished_is_told_when_it_is_known() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest o");
    let left = [2, 3].map(|number| approval(request(number)));
    stage.tell(Message::Approvals(left.to_vec()));
    stage.shows("does not wait any more");
    stage.tell(Message::Decided(Box::new(approval(decided(1, "approved", "tester")))));
    stage.shows("1 of 2 waiting");
    stage.tell(Message::Approvals(vec![approval(request(3))]));
    stage.event("approval", decided(2, "denied", "bob"));
    stage.shows("shell_cmd git push --force origin main: denied by bob");
    assert_eq!(stage.press("o"), []);
}

#[test]
fn a_list_that_is_loaded_anew_keeps_what_is_looked_at() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p down rest");
    stage.tell(Message::Approvals([3, 2].map(|number| approval(request(number))).to_vec()));
    stage.shows("1 of 2 waiting · bob");
    assert_eq!(stage.press("o"), decide("apr_2"));
}

#[test]
fn what_was_typed_about_a_request_outlasts_a_list_that_is_loaded_anew() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest d");
    stage.type_in("wrong folder");
    stage.tell(Message::Approvals((1..=3).map(|number| approval(request(number))).collect()));
    stage.shows("> wrong folder");
}

#[test]
fn a_request_that_is_another_under_the_same_name_is_read_anew() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p");
    let mut other = request(1);
    other["shown"] = serde_json::json!("rm -r /");
    stage.tell(Message::Approvals(vec![approval(other)]));
    stage.shows("rm -r /");
    assert_eq!(stage.press("o"), []);
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_1"));
}

#[test]
fn a_request_that_came_just_now_is_not_answered_by_turning_to_it() {
    let mut stage = Stage::at_work(WIDE);
    stage.screen();
    stage.event("approval", request(1));
    assert_eq!(stage.press("esc p o"), []);
    stage.shows("just shown, so that key did nothing: press again");
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_1"));
}

#[test]
fn a_decision_that_is_not_delivered_is_plainly_so() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest o");
    stage.shows("deciding");
    let why = "nobody answers".to_owned();
    stage.tell(Message::DecisionDelayed { id: "apr_1".to_owned(), why });
    stage.shows("not yet delivered: retrying");
    assert_eq!(stage.state.left_behind(), ["decision on apr_1 was not delivered"]);
    stage.press("esc q");
    stage.shows("1 decision not delivered yet.");
    stage.press("esc");
    let why = "the decision was not delivered: nobody answers".to_owned();
    stage.tell(Message::NotDecided { id: "apr_1".to_owned(), why });
    assert!(stage.state.left_behind().is_empty());
    assert_eq!(stage.press("p rest o"), decide("apr_1"));
}

#[test]
fn the_same_decision_made_before_counts_and_another_is_named() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest o");
    stage.tell(Message::Decided(Box::new(approval(decided(1, "approved", "bob")))));
    stage.shows("1 of 2 waiting");
    stage.hides("elsewhere");
    stage.rest();
    stage.press("o");
    stage.tell(Message::Decided(Box::new(approval(decided(2, "denied", "bob")))));
    stage.shows("decided elsewhere by bob");
    stage.shows("Decided elsewhere.");
    assert_eq!(stage.press("o"), [], "the next is not in its place");
    assert!(stage.state.undelivered().is_empty());
}

#[test]
fn a_stop_that_is_not_delivered_is_told_when_leaving() {
    let mut stage = Stage::at_work(NARROW);
    stage.press("ctrl-c");
    stage.tell(Message::StopDelayed { why: "nobody answers".to_owned() });
    stage.shows("stop not yet delivered, retrying: nobody answers");
    assert_eq!(stage.state.left_behind(), ["stop of chat_1 was not delivered"]);
    stage.tell(Message::Stopped { chat: "chat_1".to_owned() });
    assert!(stage.state.left_behind().is_empty());
}

#[test]
fn all_of_what_is_asked_about_a_denial_is_seen_beside_the_other_panes() {
    let mut stage = Stage::asked((100, 24));
    stage.press("esc p rest d");
    stage.shows("why? (empty for no reason)");
    stage.type_in("it is the wrong folder");
    stage.shows("> it is the wrong folder");
    stage.shows("Enter denies · Esc goes back");
}

#[test]
fn after_a_decision_of_ones_own_the_next_is_shown() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest o");
    stage.tell(Message::Decided(Box::new(approval(decided(1, "approved", "tester")))));
    stage.shows("1 of 2 waiting");
    assert_eq!(stage.press("o"), [], "a key pressed so soon was not meant for it");
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_2"));
}

#[test]
fn on_a_small_screen_the_last_decision_leads_back_to_the_conversation() {
    let mut stage = Stage::at_work(NARROW);
    stage.event("approval", request(1));
    stage.screen();
    assert_eq!(stage.press("esc p o"), [], "the card was not on the screen before");
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_1"));
    stage.event("approval", decided(1, "approved", "tester"));
    stage.shows("How much disk space is left?");
    assert_eq!(stage.state.focus, Focus::Conversation);
}

#[test]
fn a_decision_that_did_not_get_through_can_be_made_again() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest o");
    let why = "you may not decide".to_owned();
    stage.tell(Message::NotDecided { id: "apr_1".to_owned(), why });
    stage.shows("you may not decide");
    assert_eq!(stage.press("o"), [], "why it did not is to be read");
    assert_eq!(stage.press("rest o"), decide("apr_1"));
}

#[test]
fn a_list_that_is_late_brings_nothing_back() {
    let mut stage = Stage::asked(WIDE);
    stage.event("approval", decided(1, "denied", "bob"));
    stage.tell(Message::Approvals((1..=3).map(|number| approval(request(number))).collect()));
    assert_eq!(stage.state.inbox.len(), 2);
}

#[test]
fn leaving_asks_when_something_waits() {
    let mut stage = Stage::asked(NARROW);
    assert_eq!(stage.press("esc q"), []);
    stage.shows("3 approvals wait; q again quits, Esc stays.");
    assert_eq!(stage.press("esc"), []);
    assert!(stage.state.overlay.is_none());
    assert_eq!(stage.press("q q"), [Effect::Quit]);
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("hello");
    assert_eq!(stage.press("enter esc q").len(), 1, "only the message");
    stage.shows("1 message not sent yet: gone when you leave.");
    assert_eq!(stage.press("q"), [Effect::Quit]);
    let mut stage = Stage::at_work(NARROW);
    assert_eq!(stage.press("esc q"), [Effect::Quit]);
}

#[test]
fn what_is_typed_after_the_question_before_leaving_decides_nothing() {
    let mut stage = Stage::asked(WIDE);
    assert_eq!(stage.press("esc p rest q o y n a d enter"), [], "only q and Esc answer it");
    stage.shows("3 approvals wait; q again quits, Esc stays.");
    assert_eq!(stage.press("esc o a"), [], "whoever types on has not looked at the request");
    stage.shows("just shown, so that key did nothing: press again");
    stage.hides("which calls?");
}

#[test]
fn the_key_that_leads_to_the_inbox_does_nothing_there() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc a a");
    assert_eq!(stage.state.focus, Focus::Conversation, "an answer is no way to the inbox");
    assert_eq!(stage.press("p p o a s d"), []);
    stage.hides("which calls?");
    stage.hides("why?");
}

#[test]
fn the_card_names_the_key_that_leads_to_it_from_where_the_keys_are() {
    let mut stage = Stage::asked(WIDE);
    stage.shows("Tab to decide");
    stage.type_in("a");
    stage.shows("Esc, then p to decide");
    stage.press("backspace tab");
    assert_eq!(stage.state.focus, Focus::Inbox);
    stage.hides("to decide");
    stage.press("esc");
    stage.shows("p to decide");
    stage.hides("Tab to decide");
    stage.press("p");
    assert_eq!(stage.state.focus, Focus::Inbox);
}

#[test]
fn the_keys_of_an_editor_stay_on_a_small_screen() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc p rest e");
    stage.shows("Enter goes on");
    stage.press("down down down");
    stage.shows("Enter goes on");
    stage.shows("1 of 3 waiting");
    assert_eq!(stage.state.inbox.undelivered(), Vec::<&str>::new());
}

#[test]
fn enter_on_a_call_that_waits_leads_to_its_request() {
    let mut stage = Stage::asked(WIDE);
    stage.event("tool", call("call_92", "awaiting_approval", "git push", None));
    stage.screen();
    stage.press("esc up enter");
    stage.shows("2 of 3 waiting");
    assert_eq!(stage.press("rest o"), decide("apr_2"));
}

#[test]
fn a_key_that_is_held_decides_once_at_most() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest");
    let mut decided_so_far = Vec::new();
    // Twenty presses a second, as a terminal sends a key that is held, and every answer comes at once.
    for press in 0..60 {
        let effects = stage.press("o");
        for effect in &effects {
            if let Effect::Decide { id, .. } = effect {
                let number = id.trim_start_matches("apr_").parse().unwrap();
                stage.event("approval", decided(number, "approved", "tester"));
            }
        }
        decided_so_far.extend(effects);
        if press % 5 == 0 {
            let now = stage.state.now;
            stage.tell(Message::Tick(now));
        }
    }
    assert_eq!(decided_so_far, decide("apr_1"));
}

#[test]
fn what_is_typed_at_an_empty_inbox_decides_nothing_that_comes_up() {
    let mut stage = Stage::at_work(WIDE);
    stage.press("esc p rest");
    let mut effects = stage.press("h w l l");
    stage.event("approval", request(1));
    for _ in 0..20 {
        effects.extend(stage.press("o y"));
        let now = stage.state.now;
        stage.tell(Message::Tick(now));
    }
    assert_eq!(effects, []);
}

#[test]
fn one_that_was_jumped_to_is_read_before_it_is_decided() {
    let mut stage = Stage::asked(WIDE);
    assert_eq!(stage.press("esc p rest j o"), []);
    stage.shows("just shown, so that key did nothing: press again");
}

#[test]
fn behind_help_nothing_is_read() {
    let mut stage = Stage::at_work(WIDE);
    stage.press("esc p rest ?");
    stage.event("approval", request(1));
    stage.rest();
    assert_eq!(stage.press("esc o"), []);
    stage.rest();
    assert_eq!(stage.press("o"), decide("apr_1"));
}

#[test]
fn in_a_window_without_room_no_key_decides() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p rest");
    stage.resize((28, 7));
    assert_eq!(stage.press("rest o rest o"), []);
}
