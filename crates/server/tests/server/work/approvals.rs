//! The inbox over HTTP: what is listed, in which pages, with what context, and how long one waits for it.

use std::time::Duration;

use agent_world_runtime::llm::scripted::Answer;
use serde_json::{Value, json};

use super::stage::{Stage, acts, id};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|one| id(one).to_owned()).collect()
}

#[tokio::test]
async fn the_inbox_holds_what_waits_anywhere_and_is_filtered() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "b", "c"]).await;
    let all: Vec<String> = asked.iter().map(|one| id(one).to_owned()).collect();
    let chat = stage.chat.rsplit('/').next().unwrap();
    for (query, expected) in [
        ("world=w".to_owned(), 3),
        ("world=other".to_owned(), 0),
        ("world=none".to_owned(), 0),
        (format!("chat={chat}"), 3),
        ("chat=chat_none".to_owned(), 0),
        ("agent=ada".to_owned(), 3),
        ("agent=bob".to_owned(), 0),
        ("state=all".to_owned(), 3),
        ("state=approved".to_owned(), 0),
    ] {
        let page = stage.human.get(&format!("/api/approvals?{query}")).await.ok(200);
        assert_eq!(ids(&page).len(), expected, "{query}");
        assert_eq!(page["next"], Value::Null, "{query}");
    }
    let first = stage.human.get("/api/approvals?limit=2").await.ok(200);
    assert_eq!((ids(&first), &first["next"]), (all[..2].to_vec(), &json!(all[1])));
    let rest = stage.human.get(&format!("/api/approvals?after={}", all[1])).await.ok(200);
    assert_eq!(ids(&rest), all[2..]);
    stage.human.get("/api/approvals?after=apr_none").await.problem(422, "cursor_unknown");
    stage.human.get("/api/approvals?state=lost").await.problem(422, "query_invalid");
    stage.human.get("/api/approvals?wait=-1").await.problem(422, "query_invalid");
}

#[tokio::test]
async fn what_was_decided_is_found_by_how() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "b", "c", "d", "e"]).await;
    for (number, decision) in [(1, "approve"), (2, "deny"), (4, "approve")] {
        let place = format!("/api/approvals/{}", id(&asked[number]));
        stage.human.post(&place, json!({"decision": decision})).await.ok(200);
    }
    let listed = async |state: &str| {
        let mut found = Vec::new();
        let mut query = format!("state={state}&limit=1");
        loop {
            let page = stage.human.get(&format!("/api/approvals?{query}")).await.ok(200);
            found.extend(ids(&page));
            let Some(next) = page["next"].as_str() else { return found };
            query = format!("state={state}&limit=1&after={next}");
        }
    };
    let expected = |numbers: &[usize]| -> Vec<String> {
        numbers.iter().map(|number| id(&asked[*number]).to_owned()).collect()
    };
    assert_eq!(listed("approved").await, expected(&[1, 4]));
    assert_eq!(listed("denied").await, expected(&[2]));
    assert_eq!(listed("pending").await, expected(&[0, 3]));
    assert_eq!(listed("all").await, expected(&[0, 1, 2, 3, 4]));
    assert_eq!(listed("expired").await, expected(&[]));
    stage.human.post(&stage.at("stop"), json!({})).await.ok(200);
    assert_eq!(listed("withdrawn").await, expected(&[0, 3]));
}

#[tokio::test]
async fn a_page_that_looks_far_for_little_says_where_to_go_on() {
    let stage = Stage::open().await;
    let whats: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    let asked = stage.asked(&whats.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let last = format!("/api/approvals/{}", id(&asked[59]));
    stage.human.post(&last, json!({"decision": "deny"})).await.ok(200);
    let (mut found, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = format!("/api/approvals?state=denied&limit=1{after}");
        let page = stage.human.get(&page).await.ok(200);
        pages += 1;
        found.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, [id(&asked[59])]);
    assert!((2..60).contains(&pages), "{pages}");
}

#[tokio::test]
async fn one_request_is_shown_with_the_messages_before_it() {
    let stage = Stage::open().await;
    for number in 0..12 {
        let body = json!({"content": number.to_string(), "sender": "system"});
        stage.human.post(&stage.at("messages"), body).await.ok(202);
    }
    let asked = stage.asked(&["a"]).await.remove(0);
    assert!(asked.get("context").is_none());
    let shown = stage.human.get(&format!("/api/approvals/{}", id(&asked))).await.ok(200);
    let context = shown["context"].as_array().unwrap();
    let texts: Vec<_> =
        context.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["4", "5", "6", "7", "8", "9", "10", "11", "go", ""]);
    assert_eq!(shown["tool"], "act");
    assert_eq!(
        shown["options"],
        json!(["deny", "approve_once", "approve_session", "approve_always"])
    );
    stage.human.get("/api/approvals/apr_none").await.problem(404, "approval_not_found");
}

#[tokio::test]
async fn whoever_waits_is_told_as_soon_as_something_is_asked() {
    let stage = Stage::open().await;
    let client = stage.human.clone();
    let waiting =
        tokio::spawn(async move { client.get("/api/approvals?world=w&wait=60").await.ok(200) });
    let client = stage.human.clone();
    let decided =
        tokio::spawn(
            async move { client.get("/api/approvals?state=denied&wait=60").await.ok(200) },
        );
    stage.model.push("ada", acts(&["a"]));
    stage.say("go").await;
    let told = tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
    assert_eq!(told["data"][0]["arguments"]["what"], "a");
    assert!(!decided.is_finished());
    stage.model.push("ada", Answer::text("Done."));
    let place = format!("/api/approvals/{}", id(&told["data"][0]));
    // What was there already is not waited for; what comes after it is.
    let client = stage.human.clone();
    let next = format!("/api/approvals?wait=60&after={}", id(&told["data"][0]));
    let later = tokio::spawn(async move { client.get(&next).await.ok(200) });
    stage.human.post(&place, json!({"decision": "deny"})).await.ok(200);
    let told = tokio::time::timeout(Duration::from_secs(30), decided).await.unwrap().unwrap();
    assert_eq!(told["data"][0]["state"], "denied");
    stage.idle().await;
    assert!(!later.is_finished());
    stage.asked(&["b"]).await;
    let told = tokio::time::timeout(Duration::from_secs(30), later).await.unwrap().unwrap();
    assert_eq!(told["data"][0]["arguments"]["what"], "b");
}

#[tokio::test]
async fn whoever_waits_in_vain_gets_an_empty_page() {
    let stage = Stage::open().await;
    let page = stage.human.get("/api/approvals?wait=1").await.ok(200);
    assert_eq!(page, json!({"data": [], "next": null}));
}

#[tokio::test]
async fn nobody_is_waited_for_when_the_server_stops() {
    let stage = Stage::open().await;
    let client = stage.human.clone();
    let waiting = tokio::spawn(async move { client.get("/api/approvals?wait=60").await.ok(200) });
    stage.human.server.stopping().cancel();
    let page = tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
    assert_eq!(page["data"], json!([]));
}
