//! What keys and answers lead to.

use std::time::Duration;

use agent_world_client::Heard;
use agent_world_client::wire::{Changed, Decision, News, Reach};
use crossterm::event::KeyCode;
use serde_json::json;

use super::{Stage, approval, from, stage};
use crate::chat::effect::{Effect, Told, Which};

fn remember(text: &str) -> Effect {
    Effect::Remember(text.to_owned())
}

fn answered(effects: &[Effect]) -> Option<(&str, &Decision)> {
    match effects {
        [Effect::Decide { approval, decision }] => Some((approval, decision)),
        _ => None,
    }
}

fn asked(number: usize) -> Stage {
    let mut stage = stage(80, 24);
    for id in 1..=number {
        stage.ask(approval(&format!("apr_{id}"), "touch", &json!({})));
    }
    stage.wait(Duration::from_secs(1));
    stage
}

#[test]
fn what_is_entered_is_posted_once_and_shown_until_it_is_stored() {
    let mut stage = stage(80, 24);
    let effects = stage.enter("hello");
    let [remembered, Effect::Post { number: 1, text, .. }] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!((remembered, text.as_str()), (&remember("hello"), "hello"));
    assert!(stage.seen().contains("> hello (sending)"));
    stage.message("msg_1", "human", "hello");
    let message =
        from(json!({"id": "msg_1", "chat_id": "chat_1", "role": "user", "sender": "human",
        "content": "hello", "created_at": ""}));
    stage.state.told(Told::Posted { number: 1, message });
    let seen = stage.seen();
    assert!(seen.matches("> hello").count() == 1 && !seen.contains("sending"), "{seen}");
}

#[test]
fn what_was_not_posted_is_given_back() {
    let mut stage = stage(80, 24);
    let key = |effects: &[Effect]| match effects {
        [_, Effect::Post { key, .. }] => key.clone(),
        other => panic!("{other:?}"),
    };
    let first = key(&stage.enter("hello"));
    let why = "too many messages".to_owned();
    stage.state.told(Told::NotPosted { number: 1, why, is_unsure: false });
    assert_eq!(stage.state.composer.text(), "hello");
    assert!(stage.seen().contains("! not posted: too many messages"));
    let second = key(&stage.key(KeyCode::Enter));
    assert_ne!(first, second, "what was refused is asked anew");
    let why = "nobody answers".to_owned();
    stage.state.told(Told::NotPosted { number: 2, why, is_unsure: true });
    let third = key(&stage.key(KeyCode::Enter));
    assert_eq!(second, third, "it may have arrived, and must not be posted twice");
    assert_ne!(third, key(&stage.enter("hello")), "the same words again are another message");
}

#[test]
fn what_arrived_is_not_said_to_be_lost_and_can_be_said_again() {
    let mut stage = stage(80, 24);
    let key = |effects: &[Effect]| match effects {
        [_, Effect::Post { key, .. }] => key.clone(),
        other => panic!("{other:?}"),
    };
    let why = || "nobody answers".to_owned();
    stage.enter("hello");
    stage.message("msg_1", "human", "hello");
    stage.state.told(Told::NotPosted { number: 1, why: why(), is_unsure: true });
    assert!(!stage.seen().contains("not posted"), "only its answer was lost");
    let second = key(&stage.enter("well"));
    stage.state.told(Told::NotPosted { number: 2, why: why(), is_unsure: true });
    stage.message("msg_2", "human", "well");
    assert_ne!(second, key(&stage.key(KeyCode::Enter)), "the one before did arrive");
}

#[test]
fn commands_lead_to_what_they_say() {
    for (line, expected) in [
        ("/stop @bob", Effect::Stop { agent: Some("bob".to_owned()) }),
        ("/retry", Effect::Retry),
        ("/new", Effect::Open(Which::New)),
        ("/switch chat_2", Effect::Open(Which::Chat("chat_2".to_owned()))),
        ("/title A name", Effect::Title("A name".to_owned())),
        ("/policy", Effect::ShowPolicy),
        ("/quit", Effect::Quit),
    ] {
        assert_eq!(stage(80, 24).enter(line), [remember(line), expected]);
    }
    let mut stage = stage(80, 24);
    assert_eq!(stage.enter("/nonsense"), [remember("/nonsense")]);
    assert!(stage.seen().contains("there is no command /nonsense"));
}

#[test]
fn the_last_message_can_be_changed() {
    let mut stage = stage(80, 24);
    stage.message("msg_1", "human", "helo");
    stage.message("msg_2", "ada", "what?");
    stage.enter("/edit");
    assert_eq!(stage.state.composer.text(), "helo");
    stage.control('u');
    let effects = stage.enter("hello");
    let edit = Effect::Edit { message: "msg_1".to_owned(), text: "hello".to_owned() };
    assert_eq!(effects, [remember("hello"), edit]);
    stage.enter("/edit");
    stage.key(KeyCode::Esc);
    assert!(stage.state.composer.is_empty());
}

#[test]
fn only_ones_own_message_is_changed() {
    let mut stage = stage(80, 24);
    stage.state.me = Some(from(json!({"name": "tester", "authenticated": true})));
    let said = |id: &str, user: &str| {
        News::Message(from(
            json!({"id": id, "chat_id": "chat_1", "role": "user", "sender": "human",
            "user": user, "content": format!("of {user}"), "created_at": ""}),
        ))
    };
    stage.hear(said("msg_1", "tester"));
    stage.hear(said("msg_2", "maria"));
    stage.enter("/edit");
    assert_eq!(stage.state.composer.text(), "of tester");
    let effects = stage.enter("!");
    assert!(matches!(&effects[..], [_, Effect::Edit { message, .. }] if message == "msg_1"));
    for me in [Some(from(json!({"name": "tester"}))), None] {
        stage.state.me = me;
        stage.enter("/edit");
        assert!(stage.state.composer.is_empty(), "{}", stage.state.composer.text());
    }
    let seen = stage.seen();
    assert!(seen.contains("you have said nothing here yet"), "{seen}");
    assert!(seen.contains("nobody has said who you are here"), "{seen}");
}

#[test]
fn a_change_that_is_refused_can_be_made_again() {
    let mut stage = stage(80, 24);
    stage.message("msg_1", "human", "helo");
    stage.enter("/edit");
    let [_, edit] = &stage.enter("!")[..] else { panic!() };
    let refused = |chat: &str| Told::NotEdited {
        chat: chat.to_owned(),
        message: "msg_1".to_owned(),
        text: "helo!".to_owned(),
        why: "it is being answered".to_owned(),
    };
    stage.state.told(refused("chat_1"));
    assert_eq!(stage.state.composer.text(), "helo!");
    let seen = stage.seen();
    assert!(seen.contains("! not changed: it is being answered"), "{seen}");
    assert!(seen.contains("changes your last message"), "{seen}");
    assert_eq!(&stage.key(KeyCode::Enter)[1..], std::slice::from_ref(edit));
    stage.write("another");
    stage.state.told(refused("chat_1"));
    assert_eq!(stage.state.composer.text(), "another", "what is typed is left alone");
    stage.control('u');
    stage.state.told(refused("chat_2"));
    assert!(stage.state.composer.is_empty(), "it was for another chat");
}

#[test]
fn ctrl_c_stops_what_runs_and_leaves_only_when_pressed_twice_with_nothing_running() {
    let mut stage = stage(80, 24);
    stage.activity(json!({"state": "busy", "agents": [{"id": "ada", "doing": "running_tools"}]}));
    assert_eq!(stage.control('c'), [Effect::Stop { agent: None }]);
    assert_eq!(stage.control('c'), [Effect::Stop { agent: None }]);
    stage.activity(json!({"state": "idle"}));
    stage.write("draft");
    assert_eq!(stage.control('c'), []);
    assert!(stage.state.composer.is_empty());
    stage.write("x");
    assert_eq!(stage.control('c'), [], "a key in between begins anew");
    assert_eq!(stage.control('c'), [Effect::Quit]);
}

#[test]
fn ctrl_d_leaves_an_empty_line_only() {
    let mut stage = stage(80, 24);
    stage.write("x");
    assert_eq!(stage.control('d'), []);
    stage.key(KeyCode::Backspace);
    assert_eq!(stage.control('d'), [Effect::Quit]);
}

#[test]
fn questions_are_answered_in_any_order() {
    let mut stage = asked(3);
    stage.key(KeyCode::Tab);
    stage.key(KeyCode::Tab);
    stage.wait(Duration::from_secs(1));
    let effects = stage.key(KeyCode::Char('o'));
    assert_eq!(answered(&effects), Some(("apr_3", &Decision::approve(Reach::Once))));
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("3 of 3"), "it stays until more is heard of it");
    assert_eq!(stage.key(KeyCode::Char('o')), [], "and is not decided again");
    stage.ask(approval("apr_3", "touch", &json!({"state": "approved", "scope": "once"})));
    assert!(stage.seen().contains("1 of 2"), "then comes the next");
    stage.key(KeyCode::BackTab);
    assert!(stage.seen().contains("2 of 2"));
}

#[test]
fn a_key_that_was_pressed_before_a_question_could_be_read_decides_nothing() {
    let mut stage = asked(2);
    assert!(answered(&stage.key(KeyCode::Char('o'))).is_some());
    stage.ask(approval("apr_1", "touch", &json!({"state": "approved", "scope": "once"})));
    stage.draw();
    assert_eq!(stage.key(KeyCode::Char('o')), [], "the next one has just come up");
    stage.wait(Duration::from_secs(1));
    assert!(answered(&stage.key(KeyCode::Char('o'))).is_some());
}

#[test]
fn a_refused_decision_is_asked_again_with_the_reason() {
    let mut stage = asked(1);
    stage.key(KeyCode::Char('o'));
    assert!(stage.seen().contains("your decision is on its way"));
    let (approval, why) = ("apr_1".to_owned(), "the arguments are refused".to_owned());
    stage.state.told(Told::NotDecided { approval, why });
    stage.wait(Duration::from_secs(1));
    let seen = stage.seen();
    assert!(seen.contains("1 of 1") && seen.contains("the arguments are refused"), "{seen}");
}

#[test]
fn what_is_put_off_is_asked_when_wanted() {
    let mut stage = asked(1);
    stage.key(KeyCode::Char('l'));
    assert!(stage.seen().contains("it waits; /approvals asks again"));
    assert_eq!(stage.enter("/approvals"), [remember("/approvals"), Effect::ListApprovals]);
    assert!(stage.seen().contains("1 of 1"));
}

#[test]
fn a_decision_is_told_once_however_often_it_is_heard() {
    let mut stage = asked(1);
    let decided = approval(
        "apr_1",
        "touch",
        &json!({"state": "denied", "decided_by": "maria", "reason": "no"}),
    );
    stage.state.told(Told::Decided(Box::new(decided.clone())));
    stage.ask(decided);
    stage.call("call_apr_1", "denied", &json!({"result": "denied by the user: no"}));
    let seen = stage.seen();
    assert_eq!(seen.matches("denied").count(), 1, "{seen}");
    assert!(seen.contains("✗ ada shell_cmd touch: denied by maria (no)"), "{seen}");
}

#[test]
fn whoever_is_interrupted_goes_on_under_the_own_name() {
    let mut stage = stage(80, 24);
    stage.piece("msg_1", "ada", 0, "A first paragraph.\n\nA sec", "");
    stage.draw();
    stage.ask(approval("apr_1", "touch", &json!({"state": "withdrawn"})));
    stage.draw();
    stage.message("msg_1", "ada", "A first paragraph.\n\nA second one.");
    let seen = stage.seen();
    assert!(seen.contains("withdrawn\nada (goes on)\n"), "{seen}");
}

#[test]
fn a_lost_connection_is_told_while_it_is_lost() {
    let mut stage = stage(80, 24);
    let raw = "error decoding response body".to_owned();
    stage.state.hear(&Heard::Lost(raw), stage.now);
    let seen = stage.seen();
    assert!(seen.ends_with("\nconnection lost: trying again · demo · New Chat\n"), "{seen}");
    stage.state.hear(&Heard::Back, stage.now);
    assert!(!stage.seen().contains("lost"));
}

#[test]
fn a_chat_that_was_deleted_is_left() {
    let mut stage = stage(80, 24);
    let changed: Changed =
        from(json!({"entity": "chat", "action": "deleted", "id": "chat_1", "by": "maria"}));
    assert_eq!(stage.hear(News::Changed(changed)), [Effect::Quit]);
    assert!(stage.seen().contains("! maria deleted this chat"));
}

#[test]
fn what_was_streamed_and_what_was_stored_may_differ() {
    let mut stage = stage(80, 24);
    stage.piece("msg_1", "bob", 0, "noon", "");
    stage.draw();
    stage.message("msg_1", "bob", "@ada noon");
    let seen = stage.seen();
    assert!(seen.contains("  noon\n  (to @ada)"), "{seen}");
    stage.piece("msg_2", "bob", 0, "one", "");
    stage.draw();
    stage.message("msg_2", "bob", "two");
    let seen = stage.seen();
    assert!(seen.contains("  one\n  (as posted)\n  two"), "{seen}");
}

#[test]
fn whoever_is_stopped_does_not_go_on() {
    let mut stage = stage(80, 24);
    stage.activity(json!({"state": "busy", "agents": [{"id": "ada", "doing": "thinking"}]}));
    stage.piece("msg_1", "ada", 0, "A first paragraph.\n\nA sec", "");
    stage.draw();
    assert_eq!(stage.control('c'), [Effect::Stop { agent: None }]);
    assert!(stage.seen().ends_with("ada thinks · stopping\n"), "{}", stage.seen());
    stage.ask(approval("apr_1", "touch", &json!({"state": "withdrawn"})));
    stage.activity(json!({"state": "idle"}));
    stage.hear(News::Stream(from(
        json!({"phase": "error", "message_id": "msg_1", "agent_id": "ada", "error": "stopped"}),
    )));
    let seen = stage.seen();
    assert!(!seen.contains("goes on") && !seen.contains("stopping"), "{seen}");
}
