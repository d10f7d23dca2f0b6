//! Tests of the order in which messages arrive, whatever happens to the first of them.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::scripted::{Said, Script};

fn post(chat: &str) -> Effect {
    let [world, chat, text, key] = ["demo", chat, "hello", "key"].map(str::to_owned);
    Effect::Post { world, chat, text, key }
}

#[tokio::test(start_paused = true)]
async fn one_message_waits_for_the_one_before() {
    let refused = Said::This(422, json!({"code": "content_too_long", "detail": "too long"}));
    let lines = vec![
        ("POST /api/worlds/demo/chats/chat_1", vec![Said::Nothing, refused.clone()]),
        ("POST /api/worlds/demo/chats/chat_2", vec![refused]),
    ];
    let script: Arc<Script> = Script::new(lines);
    let (sender, mut told) = mpsc::channel(16);
    let mut worker = Worker::new(script.client(), sender);
    worker.perform(post("chat_1"));
    worker.perform(post("chat_2"));
    told.recv().await.unwrap();
    told.recv().await.unwrap();
    let asked: Vec<String> = script.asked();
    let chats: Vec<Option<&str>> = asked.iter().map(|path| path.split('/').nth(5)).collect();
    assert_eq!(chats, [Some("chat_1"), Some("chat_1"), Some("chat_2")]);
}
