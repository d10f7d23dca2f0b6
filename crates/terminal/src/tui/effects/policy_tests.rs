//! Tests of telling what agents may do.

use serde_json::json;

use super::*;
use crate::scripted::{Said, Script};

#[tokio::test]
async fn what_agents_may_do_is_told_in_words() {
    let rule = json!({"id": "rule_1", "ruling": "deny", "tool": "shell_cmd"});
    let policy = json!({"preset": "ask", "rules": [rule], "granted": []});
    let script = Script::new(vec![
        ("GET /api/worlds/demo/policy", vec![Said::This(200, policy)]),
        ("GET /api/worlds/demo/chats/chat_1/grants", vec![Said::This(200, json!({"data": []}))]),
    ]);
    let told = policy_of(&script).await;
    assert!(told.contains("rules: the first that matches decides"), "{told}");
    assert!(told.contains("shell_cmd"), "{told}");
    assert!(!told.contains('{'), "no JSON: {told}");
}

async fn policy_of(script: &std::sync::Arc<Script>) -> String {
    match super::policy(&script.client(), "demo", "chat_1").await.unwrap() {
        Message::Told { text, .. } => text,
        other => format!("{other:?}"),
    }
}
