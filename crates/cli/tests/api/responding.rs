//! An agent asked as if it were a model: branches of a conversation, answers that come twice, requests that are repeated.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::asking::{script, seen, text, turns};
use crate::stage::{Answer, House};

const AGENT: &str = "world:lab/ada";

async fn respond(house: &House, input: Value, previous: Option<&Value>) -> Answer {
    let mut body = json!({"model": AGENT, "input": input});
    if let Some(previous) = previous {
        body["previous_response_id"] = previous["id"].clone();
    }
    house.post("/v1/responses", body).await
}

async fn responded(house: &House, input: Value, previous: Option<&Value>) -> Value {
    respond(house, input, previous).await.is(200).json()
}

/// The texts of a response.
fn texts(response: &Value) -> Vec<&str> {
    let output = response["output"].as_array().unwrap();
    let messages = output.iter().filter(|item| item["type"] == "message");
    messages.map(|item| text(&item["content"][0], "text")).collect()
}

fn decision(response: &Value, approve: bool) -> Value {
    let asked = &response["output"][0];
    assert_eq!(asked["type"], "mcp_approval_request", "{response:#}");
    json!([{"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": approve}])
}

/// What went wrong, in OpenAI's shape.
#[track_caller]
fn code(answer: Answer, status: u16) -> String {
    text(&answer.is(status).json()["error"], "code").to_owned()
}

async fn keyed(house: &House, path: &str, key: &str, body: &Value) -> Answer {
    let request = house.request(Method::POST, path).header("content-type", "application/json");
    house.send(request.header("idempotency-key", key).body(body.to_string())).await
}

async fn chats(house: &House) -> usize {
    house.list("/api/worlds/lab/chats").await.len()
}

#[tokio::test]
async fn branches_of_a_conversation_never_see_each_other() {
    let house = House::open().await;
    house.world_of("lab", &["ada"], json!({})).await;
    let root = responded(&house, json!("!say root"), None).await;
    let left = responded(&house, json!("!say left"), Some(&root)).await;
    assert_eq!(
        (texts(&left), chats(&house).await),
        (vec!["left"], 2),
        "the newest goes on in its chat"
    );
    let right = responded(&house, json!("!say right"), Some(&root)).await;
    assert_eq!((texts(&right), chats(&house).await), (vec!["right"], 3));
    responded(&house, json!("!say more on this side"), Some(&right)).await;
    responded(&house, json!("!say more on that side"), Some(&left)).await;
    assert_eq!(chats(&house).await, 3, "each goes on where it is");
    let asked: Vec<String> = turns(&house).iter().map(seen).collect();
    assert!(asked[1..].iter().all(|request| request.contains("root")), "{asked:#?}");
    for (request, own, other) in
        [(1, "left", "right"), (2, "right", "left"), (3, "right", "left"), (4, "left", "right")]
    {
        assert!(asked[request].contains(own) && !asked[request].contains(other), "{asked:#?}");
    }
    // A request that was refused is no continuation.
    let unknown = json!([{"type": "function_call_output", "call_id": "call_x", "output": "x"}]);
    let side = responded(&house, json!("!say side"), Some(&root)).await;
    assert_eq!(code(respond(&house, unknown, Some(&side)).await, 404), "call_not_found");
    responded(&house, json!("!say still here"), Some(&side)).await;
    assert_eq!(chats(&house).await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn continuations_that_race_are_branches() {
    let house = House::open().await;
    house.world_of("lab", &["ada"], json!({})).await;
    let root = responded(&house, json!("!say root"), None).await;
    let words: Vec<String> = (0..5).map(|number| format!("branch{number}")).collect();
    let all =
        words.iter().map(|word| responded(&house, json!(format!("!say {word}")), Some(&root)));
    for (response, word) in join_all(all).await.iter().zip(&words) {
        assert_eq!(texts(response), [word]);
    }
    assert_eq!(chats(&house).await, 2 + 4);
    for request in turns(&house)[1..].iter().map(seen) {
        let of = words.iter().filter(|word| request.contains(word.as_str())).count();
        assert_eq!((of, request.contains("root")), (1, true), "{request}");
    }
}

#[tokio::test]
async fn no_branch_begins_where_something_waited_for_an_answer() {
    let house = House::open().await;
    house.world_of("lab", &["ada"], json!({})).await;
    let asks = format!("{}\n!then finished", script("echo hi"));
    let waiting = responded(&house, json!(asks), None).await;
    let done = responded(&house, decision(&waiting, true), Some(&waiting)).await;
    assert_eq!(texts(&done), ["finished"]);
    let refused = respond(&house, json!("!say other"), Some(&waiting)).await;
    assert_eq!(code(refused, 409), "response_not_branchable");
    let after = responded(&house, json!("!say on we go"), Some(&done)).await;
    assert_eq!((texts(&after), chats(&house).await), (vec!["on we go"], 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_that_comes_more_than_once_gives_everybody_its_outcome() {
    let house = House::open().await;
    house.world_of("lab", &["ada"], json!({})).await;
    for approve in [true, false] {
        let before = turns(&house).len();
        let asks = format!("{}\n!then finished", script("echo hi"));
        let waiting = responded(&house, json!(asks), None).await;
        let same = (0..8).map(|_| responded(&house, decision(&waiting, approve), Some(&waiting)));
        for response in join_all(same).await {
            assert_eq!(texts(&response), ["finished"], "{response:#}");
        }
        // Long after, too, and from each of them the conversation goes on.
        let late = responded(&house, decision(&waiting, approve), Some(&waiting)).await;
        assert_eq!(texts(&late), ["finished"]);
        assert_eq!(turns(&house).len() - before, 2, "nothing was done twice");
        let on = responded(&house, json!("!say on"), Some(&late)).await;
        assert_eq!(texts(&on), ["on"]);
        let other = respond(&house, decision(&waiting, !approve), Some(&waiting)).await;
        assert_eq!(code(other, 409), "approval_settled");
    }
    assert_eq!(chats(&house).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_a_key_is_carried_out_once() {
    let house = House::open().await;
    house.world_of("lab", &["ada"], json!({})).await;
    let message = json!([{"role": "user", "content": "!say once"}]);
    for (path, body) in [
        ("/v1/responses", json!({"model": AGENT, "input": "!say once"})),
        ("/v1/responses", json!({"model": "openai/scripted", "input": "!say once"})),
        ("/v1/chat/completions", json!({"model": AGENT, "messages": message})),
    ] {
        let (before, key) =
            (turns(&house).len(), format!("{path} {}", body["model"]).replace(' ', "-"));
        let first = keyed(&house, path, &key, &body).await.is(200);
        let again = keyed(&house, path, &key, &body).await.is(200);
        assert_eq!(first.text, again.text);
        assert_eq!(again.headers["idempotency-replayed"], "true");
        let mut other = body.clone();
        other["user"] = "somebody".into();
        let reused = keyed(&house, path, &key, &other).await;
        assert_eq!(code(reused, 422), "idempotency_key_reused");
        let race = format!("{key}-race");
        let racing = join_all((0..5).map(|_| keyed(&house, path, &race, &body))).await;
        for answer in racing.into_iter().filter(|answer| answer.status != 200) {
            assert_eq!(code(answer, 409), "idempotency_in_progress");
        }
        assert_eq!(turns(&house).len() - before, 2, "once for each key");
        // A stream cannot be promised; the key is free for what is sent in its place.
        let mut streamed = body.clone();
        streamed["stream"] = true.into();
        let asked = turns(&house).len();
        let refused = keyed(&house, path, &format!("{key}-stream"), &streamed).await;
        assert_eq!(code(refused, 400), "idempotency_key_with_stream");
        assert_eq!(turns(&house).len(), asked);
        keyed(&house, path, &format!("{key}-stream"), &body).await.is(200);
    }
}
