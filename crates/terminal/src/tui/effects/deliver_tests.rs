//! Tests of delivering decisions and stops: how often it is tried, and what counts as delivered.

use std::sync::Arc;

use agent_world_client::wire::Reach;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver};

use super::super::super::stage::{decided, request};
use super::*;
use crate::scripted::{Said, Script};

const PATIENCE: Patience = Patience { attempts: 5, pause: Duration::ZERO };
const DECIDE: &str = "POST /api/approvals/apr_1";
const LOOK: &str = "GET /api/approvals/apr_1";

fn conflict() -> Said {
    Said::This(
        409,
        serde_json::json!({"status": 409, "code": "already_decided", "detail": "was decided"}),
    )
}

async fn approved(script: &Arc<Script>) -> (Message, Receiver<Message>) {
    let (sender, receiver) = mpsc::channel(16);
    let decision = Decision::approve(Reach::Once);
    let id = "apr_1".to_owned();
    let message = super::decision(PATIENCE, &script.client(), &sender, id, &decision).await;
    (message, receiver)
}

fn settled(state: &str, by: &str) -> Value {
    decided(1, state, by)
}

#[tokio::test]
async fn a_decision_is_tried_so_often_and_then_given_up_aloud() {
    let script = Script::new(vec![(DECIDE, vec![Said::Nothing])]);
    let (message, mut told) = approved(&script).await;
    assert!(
        matches!(&message, Message::NotDecided { id, why } if id == "apr_1" && why.contains("not delivered")),
        "{message:?}"
    );
    assert_eq!(script.asked().len(), 5);
    assert!(matches!(told.try_recv(), Ok(Message::DecisionDelayed { .. })));
    assert!(told.try_recv().is_err(), "it is said once that it is late");
}

#[tokio::test]
async fn an_attempt_that_got_through_unheard_counts() {
    let lines = vec![
        (DECIDE, vec![Said::Nothing, conflict()]),
        (LOOK, vec![Said::This(200, settled("approved", "tester"))]),
    ];
    let script = Script::new(lines);
    let (message, _) = approved(&script).await;
    let Message::Decided(approval) = message else { panic!("{message:?}") };
    assert_eq!(approval.decided_by.as_deref(), Some("tester"));
    assert_eq!(script.asked(), [DECIDE, DECIDE, LOOK]);
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again() {
    let refused = Said::This(
        403,
        serde_json::json!({"status": 403, "code": "forbidden", "detail": "you may not"}),
    );
    let script = Script::new(vec![(DECIDE, vec![refused])]);
    let (message, _) = approved(&script).await;
    assert!(matches!(&message, Message::NotDecided { why, .. } if why == "you may not"));
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test]
async fn one_that_waits_after_all_can_be_decided_again() {
    let lines = vec![(DECIDE, vec![conflict()]), (LOOK, vec![Said::This(200, request(1))])];
    let (message, _) = approved(&Script::new(lines)).await;
    assert!(matches!(&message, Message::NotDecided { .. }), "{message:?}");
}

#[tokio::test]
async fn a_stop_is_given_up_as_well() {
    let script = Script::new(vec![("POST", vec![Said::Nothing])]);
    let (sender, mut told) = mpsc::channel(16);
    let chat = "chat_1".to_owned();
    let message = super::stop(PATIENCE, &script.client(), &sender, "demo", chat, None).await;
    assert!(matches!(&message, Message::NotStopped { chat, .. } if chat == "chat_1"));
    assert!(matches!(told.try_recv(), Ok(Message::StopDelayed { .. })));
    assert_eq!(script.asked(), ["POST /api/worlds/demo/chats/chat_1/stop"; 5]);
}
