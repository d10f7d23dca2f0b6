//! Requests that are sent again, with the key that makes that harmless.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_runtime::llm::scripted::Answer;
use agent_world_runtime::store::{DocumentWrite, Expected};
use agent_world_server::Role;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::stage::{Stage, id};

const CHATS: &str = "/api/worlds/w/chats";

async fn chats(stage: &Stage) -> usize {
    stage.human.get(CHATS).await.ok(200)["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_repetition_gets_the_same_answer_and_does_nothing() {
    let stage = Stage::on_sqlite().await;
    let before = chats(&stage).await;
    let first = stage.human.post_once(CHATS, "key-1", json!({"title": "Once"})).await;
    assert!(!first.is_replayed());
    let again = stage.human.post_once(CHATS, "key-1", json!({"title": "Once"})).await;
    assert!(again.is_replayed());
    assert_eq!(again.headers["content-type"], first.headers["content-type"]);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(chats(&stage).await, before + 1);
    for other in ["Oncf", "Once and more", ""] {
        let other = stage.human.post_once(CHATS, "key-1", json!({"title": other})).await;
        other.problem(422, "idempotency_key_reused");
    }
    let new = stage.human.post_once(CHATS, "key-2", json!({"title": "Once"})).await;
    assert!(!new.is_replayed());
    assert_ne!(new.ok(201)["id"], first.body["id"]);
    assert_eq!(chats(&stage).await, before + 2);
}

#[tokio::test]
async fn a_key_is_somebodys_own_and_for_one_address() {
    let stage = Stage::open().await;
    let max = stage.person("max", Role::Member).await;
    let first = stage.human.post_once(CHATS, "key", json!({})).await.ok(201);
    let others = max.post_once(CHATS, "key", json!({})).await;
    assert!(!others.is_replayed());
    assert_ne!(others.ok(201)["id"], first["id"]);
    let elsewhere = stage.human.post_once("/api/worlds/other/chats", "key", json!({})).await;
    assert!(!elsewhere.is_replayed());
}

#[tokio::test]
async fn deletions_and_changes_are_repeated_without_harm() {
    let stage = Stage::open().await;
    let rename = Some(json!({"title": "Named"}).to_string());
    for replayed in [false, true] {
        let got = stage.human.send(Method::PATCH, &stage.chat, rename.clone(), Some("k")).await;
        assert_eq!((got.status, got.is_replayed()), (200, replayed));
    }
    let stopped = stage.human.send(Method::POST, &stage.at("stop"), None, Some("k")).await;
    assert_eq!((stopped.status, stopped.is_replayed()), (200, false));
    let other = stage.human.post_once(&stage.at("stop"), "k", json!({})).await;
    other.problem(422, "idempotency_key_reused");
    for replayed in [false, true] {
        let got = stage.human.send(Method::DELETE, &stage.chat, None, Some("k")).await;
        assert_eq!((got.status, got.is_replayed()), (204, replayed));
    }
    stage.human.delete(&stage.chat).await.problem(404, "chat_not_found");
}

#[tokio::test]
async fn a_decision_that_is_repeated_is_not_refused_as_a_second_one() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    stage.model.push("ada", Answer::text("Done."));
    let place = format!("/api/approvals/{}", id(&asked));
    let approve = json!({"decision": "approve"});
    let first = stage.human.post_once(&place, "k", approve.clone()).await;
    let again = stage.human.post_once(&place, "k", approve.clone()).await;
    assert_eq!((again.status, again.is_replayed()), (200, true));
    assert_eq!(again.body, first.body);
    let late = stage.human.post_once(&place, "later", approve.clone()).await;
    late.problem(409, "approval_settled");
    let late = stage.human.post_once(&place, "later", approve).await;
    assert!(late.is_replayed());
    late.problem(409, "approval_settled");
    stage.idle().await;
    assert_eq!(stage.act.count(), 1);
}

#[tokio::test]
async fn a_message_is_posted_once_however_often_it_is_sent() {
    let stage = Stage::on_sqlite().await;
    stage.model.push("ada", Answer::text("Hello."));
    let body = json!({"content": "hi"});
    let place = stage.at("messages");
    let first = stage.human.post_once(&place, "k", body.clone()).await;
    assert!(!first.is_replayed());
    stage.idle().await;
    let again = stage.human.post_once(&place, "k", body.clone()).await;
    assert!(again.is_replayed());
    assert_eq!(again.ok(202), first.ok(202));
    assert_eq!(stage.texts().await, ["hi", "Hello."]);
    let other = stage.human.post_once(&place, "k", json!({"content": "ho"})).await;
    other.problem(422, "idempotency_key_reused");
    let max = stage.person("max", Role::Member).await;
    stage.model.push("ada", Answer::text("Hello, Max."));
    assert!(!max.post_once(&place, "k", body).await.is_replayed());
    stage.idle().await;
    assert_eq!(stage.texts().await.len(), 4);
}

#[tokio::test]
async fn keys_are_visible_characters_and_not_too_many() {
    let stage = Stage::open().await;
    let long = "x".repeat(256);
    for key in ["", " ", "a b", "é", long.as_str()] {
        for place in [CHATS.to_owned(), stage.at("messages")] {
            let got = stage.human.post_once(&place, key, json!({"content": "x"})).await;
            let code = got.body["code"].as_str().unwrap().to_owned();
            assert_eq!(
                (got.status, code.as_str()),
                (422, "idempotency_key_invalid"),
                "{key:?} {place}"
            );
        }
    }
    stage.human.post_once(CHATS, &"x".repeat(255), json!({})).await.ok(201);
    let unread = stage.human.send(Method::GET, CHATS, None, Some("a b")).await;
    unread.ok(200);
}

#[tokio::test]
async fn a_refusal_for_lack_of_a_role_is_not_kept() {
    let stage = Stage::open().await;
    let viewer = stage.person("sam", Role::Viewer).await;
    viewer.post_once(CHATS, "k", json!({})).await.problem(403, "forbidden");
    let member = stage.person("sam", Role::Member).await;
    let got = member.post_once(CHATS, "k", json!({})).await;
    assert!(!got.is_replayed());
    got.ok(201);
}

/// Sends a request but for the last byte of its body, which is `{}`.
async fn begin(address: &str, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {CHATS} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Idempotency-Key: {key}\r\nContent-Length: 2\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_second_request_while_the_first_is_under_way_is_told_to_wait() {
    let stage = Stage::open().await;
    let mut attempt = 0;
    // Either may arrive first: where it is the second, both are tried again with another key.
    let (mut first, key, second) = stage
        .until(async || {
            attempt += 1;
            let key = format!("slow-{attempt}");
            let first = begin(stage.human.address(), &key).await;
            tokio::task::yield_now().await;
            let second = stage.human.post_once(CHATS, &key, json!({})).await;
            (second.status == 409).then_some((first, key, second))
        })
        .await;
    second.problem(409, "idempotency_in_progress");
    let before = chats(&stage).await;
    first.write_all(b"}").await.unwrap();
    let mut answer = vec![0; 12];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 201");
    assert!(stage.human.post_once(CHATS, &key, json!({})).await.is_replayed());
    assert_eq!(chats(&stage).await, before + 1);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_its_key_free() {
    let stage = Stage::open().await;
    let stream = begin(stage.human.address(), "gone").await;
    drop(stream);
    let made = stage
        .until(async || {
            let got = stage.human.post_once(CHATS, "gone", json!({})).await;
            (got.status != 409).then_some(got)
        })
        .await;
    assert!(!made.is_replayed());
    made.ok(201);
}

#[tokio::test]
async fn what_a_client_did_not_wait_for_is_there_when_it_comes_back() {
    let stage = Stage::on_sqlite().await;
    let gate = Arc::new(Semaphore::new(0));
    stage.model.push("ada", Answer::text("x").held_by(&gate));
    let said = stage.say("hello").await;
    let address = stage.human.address();
    let before = chats(&stage).await;
    let body = json!({"message_id": said["id"]}).to_string();
    let place = stage.at("fork");
    let request = format!(
        "POST {place} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Idempotency-Key: fork\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stage.until(async || (chats(&stage).await > before).then_some(())).await;
    drop(stream);
    let found = stage
        .until(async || {
            let got =
                stage.human.send(Method::POST, &place, Some(body.clone()), Some("fork")).await;
            (got.status != 409).then_some(got)
        })
        .await;
    assert!(found.is_replayed());
    found.ok(201);
    assert_eq!(chats(&stage).await, before + 1);
}

#[tokio::test]
async fn an_answer_is_forgotten_after_a_day_and_removed() {
    let stage = Stage::on_sqlite().await;
    let first = stage.human.post_once(CHATS, "old", json!({})).await.ok(201);
    let store = stage.engine.store();
    let kept = store.documents("idempotency", None, 10).await.unwrap().remove(0);
    assert!(!kept.body.contains("old") && !kept.key.contains("old"), "{kept:?}");
    let day = std::time::Duration::from_secs(24 * 60 * 60 + 1);
    let write = |key: &str| DocumentWrite {
        kind: "idempotency".to_owned(),
        key: key.to_owned(),
        expected: Expected::Anything,
        body: kept.body.clone(),
        at: Timestamp::now() - day,
    };
    store.write_document(write(&kept.key)).await.unwrap();
    let again = stage.human.post_once(CHATS, "old", json!({})).await;
    assert!(!again.is_replayed());
    assert_ne!(again.ok(201)["id"], first["id"]);
    // Whoever begins, or has not done so for long, removes what is too old.
    store.write_document(write("older")).await.unwrap();
    let other = stage.person("max", Role::Member).await;
    other.post_once(CHATS, "new", json!({})).await.ok(201);
    assert_eq!(store.document("idempotency", "older").await.unwrap(), None);
}

#[tokio::test]
async fn an_answer_too_long_to_keep_is_given_once_and_nothing_is_done_twice() {
    let stage = Stage::open().await;
    let place = stage.at("client-tools/page");
    let tool = |number: usize| {
        json!({"name": format!("tool_{number}"), "description": "x".repeat(60_000),
            "parameters": {"type": "object"}})
    };
    let body = json!({"tools": (0..6).map(tool).collect::<Vec<_>>()}).to_string();
    let first = stage.human.send(Method::PUT, &place, Some(body.clone()), Some("k")).await;
    assert_eq!(first.ok(200)["tools"].as_array().unwrap().len(), 6);
    let again = stage.human.send(Method::PUT, &place, Some(body), Some("k")).await;
    again.problem(409, "idempotency_answer_not_kept");
}
