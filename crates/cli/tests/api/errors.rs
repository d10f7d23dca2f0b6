//! What clients are told when something cannot be done: problem documents with stable codes under `/api`, OpenAI's
//! shape under `/v1`. Each row is a request that fails, and what it fails with.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::{script, text};
use crate::stage::{Answer, Chat, House};

/// What a request is refused with.
fn refused(answer: Answer, status: u16, code: &str) -> Value {
    answer.refused(StatusCode::from_u16(status).unwrap(), code)
}

async fn send(house: &House, method: &str, path: &str, body: Value) -> Answer {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    match body {
        Value::Null => house.send(house.request(method, path)).await,
        body => house.call(method, path, body).await,
    }
}

struct Scene {
    house: House,
    chat: Chat,
    waiting: Value,
    decided: Value,
}

impl Scene {
    async fn open() -> Self {
        let house = House::open().await;
        let chat = house.world("lab", &["ada"], json!({"main_agent": "ada"})).await;
        house.world("other", &["ada"], json!({})).await;
        house.say_and_settle(&chat, &script("echo decided")).await;
        let waiting = house.waiting_in(&chat).await.remove(0);
        let decided = house
            .decide(&waiting, json!({"decision": "deny", "reason": "no"}))
            .await
            .is(200)
            .json();
        house.settled(&chat).await;
        house.say_and_settle(&chat, &script("echo waits")).await;
        let waiting = house.waiting_in(&chat).await.remove(0);
        Self { house, chat, waiting, decided }
    }

    /// `LAB` is the world, `CHAT` the chat in it, `WAITS` and `DECIDED` are requests, `CALL` is what is waited for.
    fn fill(&self, text: &str) -> String {
        text.replace("CHAT", &self.chat.path(""))
            .replace("WAITS", self::text(&self.waiting, "id"))
            .replace("DECIDED", self::text(&self.decided, "id"))
            .replace("CALL", self::text(&self.waiting, "tool_call_id"))
            .replace("LAB", "/api/worlds/lab")
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_404_that_says_what() {
    let scene = Scene::open().await;
    let rows = [
        ("GET", "/nowhere", json!(null), "route_not_found"),
        ("GET", "/api/nowhere", json!(null), "route_not_found"),
        ("GET", "/api/worlds/none", json!(null), "world_not_found"),
        ("PATCH", "/api/worlds/none", json!({"name": "x"}), "world_not_found"),
        ("DELETE", "/api/worlds/none", json!(null), "world_not_found"),
        ("GET", "/api/worlds/none/chats", json!(null), "world_not_found"),
        ("GET", "/api/worlds/none/stats", json!(null), "world_not_found"),
        ("GET", "/api/stats?world=none", json!(null), "world_not_found"),
        ("POST", "/api/verify", json!({"world": "none"}), "world_not_found"),
        ("GET", "LAB/chats/chat_none/standing", json!(null), "chat_not_found"),
        ("GET", "/api/worlds/none/events", json!(null), "world_not_found"),
        ("GET", "/api/worlds/none/export", json!(null), "world_not_found"),
        ("GET", "/api/worlds/Lab%00", json!(null), "world_not_found"),
        ("GET", "LAB/agents/none", json!(null), "agent_not_found"),
        ("PATCH", "LAB/agents/none", json!({"name": "x"}), "agent_not_found"),
        ("DELETE", "LAB/agents/none", json!(null), "agent_not_found"),
        ("GET", "LAB/chats/chat_none", json!(null), "chat_not_found"),
        ("POST", "LAB/chats/chat_none/messages", json!({"content": "x"}), "chat_not_found"),
        ("POST", "LAB/chats/chat_none/stop", json!({}), "chat_not_found"),
        ("GET", "LAB/chats/chat_none/events", json!(null), "chat_not_found"),
        ("GET", "CHAT/messages/msg_none", json!(null), "message_not_found"),
        ("PUT", "CHAT/messages/msg_none", json!({"content": "x"}), "message_not_found"),
        ("DELETE", "CHAT/messages/msg_none", json!(null), "message_not_found"),
        ("POST", "CHAT/fork", json!({"message_id": "msg_none"}), "message_not_found"),
        ("GET", "CHAT/tool-calls/call_none", json!(null), "call_not_found"),
        ("GET", "CHAT/tool-calls/call_none/result", json!(null), "call_not_found"),
        ("GET", "CHAT/tool-calls/CALL/result", json!(null), "result_not_found"),
        (
            "POST",
            "CHAT/tool-results",
            json!({"tool_call_id": "apr_none", "decision": "deny"}),
            "call_not_found",
        ),
        ("DELETE", "CHAT/grants/none", json!(null), "grant_not_found"),
        ("GET", "/api/approvals/apr_none", json!(null), "approval_not_found"),
        ("POST", "/api/approvals/apr_none", json!({"decision": "deny"}), "approval_not_found"),
        ("DELETE", "LAB/policy/rules/none", json!(null), "rule_not_found"),
        ("GET", "LAB/mcp-servers/none", json!(null), "mcp_server_not_found"),
        ("DELETE", "LAB/mcp-servers/none", json!(null), "mcp_server_not_found"),
        ("POST", "LAB/mcp-servers/none/restart", json!(null), "mcp_server_not_found"),
        ("DELETE", "/api/tokens/none", json!(null), "token_not_found"),
        ("DELETE", "/api/webhooks/none", json!(null), "webhook_not_found"),
    ];
    for (method, path, body, code) in rows {
        let path = scene.fill(path);
        refused(send(&scene.house, method, &path, body).await, 404, code);
    }
    // A chat is nowhere but in its world, and long or strange ids are just unknown.
    let elsewhere = scene.chat.path("").replace("/lab/", "/other/");
    refused(scene.house.get(&elsewhere).await, 404, "chat_not_found");
    refused(
        scene.house.get(&format!("/api/worlds/{}", "x".repeat(10_000))).await,
        404,
        "world_not_found",
    );
    for no_text in ["/api/approvals/%FF", "/api/worlds/%FF", "LAB/chats/%FF", "LAB/agents/%FF"] {
        refused(scene.house.get(&scene.fill(no_text)).await, 404, "id_unreadable");
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_a_stable_code_and_names_the_field() {
    let scene = Scene::open().await;
    let unprocessable = [
        // What nobody understands is named.
        (
            "POST",
            "CHAT/messages",
            json!({"content": "x", "contents": 1}),
            "body_invalid",
            "contents",
        ),
        ("POST", "CHAT/messages", json!({"contents": "x"}), "body_invalid", "contents"),
        ("POST", "CHAT/messages", json!({"content": 7}), "body_invalid", "content"),
        ("POST", "CHAT/messages", json!({}), "body_invalid", "content"),
        (
            "POST",
            "CHAT/messages",
            json!({"content": "x", "on_approval": "maybe"}),
            "body_invalid",
            "on_approval",
        ),
        ("POST", "CHAT/messages", json!({"content": ""}), "message_empty", ""),
        (
            "POST",
            "CHAT/messages",
            json!({"content": "x", "reply_to": "msg_none"}),
            "reply_to_unknown",
            "reply_to",
        ),
        (
            "POST",
            "CHAT/messages",
            json!({"content": "x", "sender": "stranger"}),
            "agent_not_found",
            "sender",
        ),
        ("POST", "/api/worlds", json!({"name": "x", "colour": "red"}), "body_invalid", "colour"),
        (
            "POST",
            "/api/worlds",
            json!({"name": "x", "turn_limit": 0}),
            "settings_invalid",
            "turn_limit",
        ),
        ("PATCH", "LAB", json!({"turn_limits": 3}), "body_invalid", "turn_limits"),
        ("PATCH", "LAB", json!({"main_agent": "stranger"}), "settings_invalid", "main_agent"),
        ("POST", "LAB/agents", json!({"name": "x", "modell": "y"}), "body_invalid", "modell"),
        ("PATCH", "CHAT", json!({"name": "x"}), "body_invalid", "name"),
        ("PATCH", "CHAT", json!({"title": " "}), "title_empty", ""),
        ("PUT", "LAB/policy", json!({"preset": "ask", "rulez": []}), "policy_invalid", "rulez"),
        ("PUT", "LAB/policy", json!({"preset": "everything"}), "policy_invalid", "everything"),
        (
            "POST",
            "/api/approvals/WAITS",
            json!({"decision": "approve", "decided_by": "me"}),
            "body_invalid",
            "decided_by",
        ),
        (
            "POST",
            "/api/approvals/WAITS",
            json!({"decision": "perhaps"}),
            "body_invalid",
            "decision",
        ),
        ("POST", "/api/approvals/WAITS", json!({"scope": "once"}), "body_invalid", "decision"),
        (
            "POST",
            "/api/approvals/WAITS",
            json!({"decision": "deny", "scope": "always"}),
            "decision_invalid",
            "scope",
        ),
        (
            "POST",
            "/api/approvals/WAITS",
            json!({"decision": "approve", "match": 99, "scope": "session"}),
            "decision_invalid",
            "match",
        ),
        (
            "POST",
            "/api/approvals/WAITS",
            json!({"decision": "approve", "arguments": {"nothing": 1}}),
            "arguments_invalid",
            "nothing",
        ),
        (
            "POST",
            "CHAT/tool-results",
            json!({"tool_call_id": "WAITS", "content": "perhaps"}),
            "choice_unknown",
            "content",
        ),
        ("GET", "CHAT/messages?limit=many", json!(null), "query_invalid", "limit"),
        ("GET", "CHAT/messages?page=2", json!(null), "query_invalid", "page"),
        ("GET", "CHAT/messages?after=msg_none", json!(null), "cursor_unknown", "after"),
        ("GET", "CHAT/events?types=weather", json!(null), "query_invalid", "types"),
        ("GET", "/api/approvals?state=lost", json!(null), "query_invalid", "state"),
        ("POST", "/api/tokens", json!({"name": "a b", "role": "viewer"}), "token_name_invalid", ""),
        ("POST", "/api/tokens", json!({"name": "a", "role": "king"}), "body_invalid", "role"),
        ("POST", "/api/webhooks", json!({"url": "ftp://example.com"}), "webhook_invalid", "url"),
        ("POST", "LAB/policy/test", json!({"tool": "none"}), "unknown_tool", "tool"),
    ];
    for (method, path, body, code, named) in unprocessable {
        let asked = scene.fill(&body.to_string());
        let body = serde_json::from_str(&asked).unwrap();
        let problem = refused(send(&scene.house, method, &scene.fill(path), body).await, 422, code);
        let words = format!("{} {}", text(&problem, "detail"), problem["field"]);
        assert!(
            words.contains(named),
            "{method} {path} {asked}: {named} is not named in {problem:#}"
        );
    }
    assert_eq!(scene.house.approval(&scene.waiting).await["state"], "pending");

    let conflicts = [
        ("POST", "/api/worlds", json!({"id": "lab", "name": "again"}), "world_exists"),
        ("POST", "LAB/agents", json!({"id": "ada"}), "agent_exists"),
        ("DELETE", "LAB/agents/ada", json!(null), "agent_is_main"),
        ("PATCH", "LAB", json!({"description": "x", "version": 99}), "version_conflict"),
        (
            "POST",
            "CHAT/tool-results",
            json!({"tool_call_id": "CALL", "content": "x"}),
            "call_not_waiting",
        ),
    ];
    for (method, path, body, code) in conflicts {
        let body = serde_json::from_str(&scene.fill(&body.to_string())).unwrap();
        refused(send(&scene.house, method, &scene.fill(path), body).await, 409, code);
    }
    // The earlier decision is in the answer, whole.
    let path = scene.fill("/api/approvals/DECIDED");
    let problem = refused(
        scene.house.post(&path, json!({"decision": "approve"})).await,
        409,
        "approval_settled",
    );
    let mut earlier = scene.house.get(&path).await.is(200).json();
    earlier.as_object_mut().unwrap().remove("context");
    assert_eq!(problem["approval"], earlier);
    assert_eq!((text(&earlier, "reason"), text(&earlier, "decided_by")), ("no", "tester"));

    // A version that was overtaken, as a header says it.
    let shown = scene.house.get("/api/worlds/lab").await.is(200);
    let tag = shown.headers["etag"].clone();
    let change = |tag: &reqwest::header::HeaderValue, words: &str| {
        let request = scene.house.request(Method::PATCH, "/api/worlds/lab").header("if-match", tag);
        request
            .header("content-type", "application/json")
            .body(json!({"description": words}).to_string())
    };
    scene.house.send(change(&tag, "mine")).await.is(200);
    let problem = refused(scene.house.send(change(&tag, "theirs")).await, 409, "version_conflict");
    let now = scene.house.get("/api/worlds/lab").await.is(200).json();
    assert_eq!((&problem["version"], &now["description"]), (&now["version"], &json!("mine")));
}

#[tokio::test]
async fn requests_that_are_none_are_refused_before_anything_is_looked_at() {
    let scene = Scene::open().await;
    let (house, messages) = (&scene.house, scene.chat.path("/messages"));
    let before = house.messages(&scene.chat).await.len();
    let post =
        |path: &str| house.request(Method::POST, path).header("content-type", "application/json");
    for broken in
        ["", "{", "{\"content\": \"x\"} and more", "nonsense", "{\"content\": \"\\ud800\"}"]
    {
        refused(house.send(post(&messages).body(broken)).await, 400, "json_invalid");
    }
    let form = house
        .request(Method::POST, &messages)
        .header("content-type", "application/x-www-form-urlencoded");
    refused(house.send(form.body("content=x")).await, 415, "not_json");
    let bare = house.request(Method::POST, &messages).body("{\"content\": \"x\"}");
    refused(house.send(bare).await, 415, "not_json");
    let long = json!({"content": "x".repeat(2 << 20)}).to_string();
    refused(house.send(post(&messages).body(long)).await, 413, "message_too_large");
    let huge = json!({"content": "x".repeat(9 << 20)}).to_string();
    let too_large = house.send(post(&messages).body(huge)).await;
    // Nobody reads the rest: the connection cannot be used again, and the client must know.
    assert_eq!(
        too_large.headers.get("connection").map(|value| value.as_bytes()),
        Some(&b"close"[..])
    );
    refused(too_large, 413, "body_too_large");
    let wrong = house.send(house.request(Method::PUT, "/api/worlds")).await;
    let allowed = wrong.headers["allow"].to_str().unwrap().to_owned();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    refused(wrong, 405, "method_not_allowed");
    let heavy = house.request(Method::GET, "/api/worlds").header("x-heavy", "x".repeat(70_000));
    let heavy = house.send(heavy).await;
    assert_eq!(heavy.status, 431);

    // Names that were bent to this machine, and pages of other sites.
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80"] {
        let request = house.request(Method::GET, "/api/worlds").header("host", host);
        refused(house.send(request).await, 421, "host_refused");
    }
    for origin in ["http://evil.example", "null", "http://localhost:1"] {
        for (method, path) in [(Method::POST, messages.as_str()), (Method::GET, "/api/worlds")] {
            let request = house.request(method, path).header("origin", origin);
            let request =
                request.header("content-type", "application/json").body("{\"content\": \"x\"}");
            let answer = house.send(request).await;
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
            refused(answer, 403, "origin_refused");
        }
    }
    let own =
        post(&messages).header("origin", &house.url).body("{\"content\": \"!say from the page\"}");
    house.send(own).await.is(202);
    assert_eq!(house.messages(&scene.chat).await.len(), before + 1, "only that one was taken");

    // A key is for one request.
    let keyed = |path: &str, key: &str, body: Value| {
        post(path).header("idempotency-key", key).body(body.to_string())
    };
    for (path, status, first, second) in [
        (messages.as_str(), 202, json!({"content": "!say once"}), json!({"content": "!say twice"})),
        ("/api/worlds/lab/chats", 201, json!({"title": "one"}), json!({"title": "two"})),
    ] {
        refused(
            house.send(keyed(path, "two words", first.clone())).await,
            422,
            "idempotency_key_invalid",
        );
        let made = house.send(keyed(path, "key-1", first.clone())).await.is(status);
        let again = house.send(keyed(path, "key-1", first)).await.is(status);
        assert_eq!(again.headers["idempotency-replayed"], "true");
        assert_eq!(again.json(), made.json());
        refused(house.send(keyed(path, "key-1", second)).await, 422, "idempotency_key_reused");
    }
    assert_eq!(house.list("/api/worlds/lab/chats").await.len(), 2);
}

#[tokio::test]
async fn under_v1_errors_have_the_shape_that_clients_of_openai_know() {
    let house = House::open().await;
    house.world("lab", &["ada"], json!({})).await;
    let model = "openai/scripted";
    let rows = [
        ("GET", "/v1/nowhere", json!(null), 404),
        ("PUT", "/v1/responses", json!({}), 405),
        ("GET", "/v1/responses", json!(null), 426),
        ("GET", "/v1/responses/resp_none", json!(null), 404),
        ("DELETE", "/v1/responses/resp_none", json!(null), 404),
        ("POST", "/v1/responses/resp_none/cancel", json!(null), 404),
        ("GET", "/v1/responses/resp_none/input_items", json!(null), 404),
        ("GET", "/v1/models/none", json!(null), 404),
        ("POST", "/v1/responses", json!({"input": "x"}), 400),
        ("POST", "/v1/responses", json!({"model": model, "input": 7}), 400),
        ("POST", "/v1/responses", json!({"model": "none/such", "input": "x"}), 404),
        ("POST", "/v1/responses", json!({"model": "world:none/ada", "input": "x"}), 404),
        ("POST", "/v1/responses", json!({"model": "world:lab/none", "input": "x"}), 404),
        (
            "POST",
            "/v1/responses",
            json!({"model": model, "input": "x", "previous_response_id": "resp_none"}),
            400,
        ),
        ("POST", "/v1/responses", json!({"model": model, "input": "!fail 400"}), 400),
        ("POST", "/v1/responses", json!({"model": model, "input": "!fail 401"}), 502),
        ("POST", "/v1/chat/completions", json!({"model": model}), 400),
    ];
    for (method, path, body, status) in rows {
        let asked = format!("{method} {path} {body}");
        let answer = send(&house, method, path, body).await;
        assert_eq!(answer.status, status, "{asked}: {}", answer.text);
        openai(&answer, &asked);
    }
    let post = || house.request(Method::POST, "/v1/responses");
    let broken = house.send(post().header("content-type", "application/json").body("{")).await;
    assert_eq!(broken.status, 400);
    openai(&broken, "no JSON");
    let form = house.send(post().header("content-type", "text/plain").body("x")).await;
    assert_eq!(form.status, 415);
    openai(&form, "no JSON type");
    let bent =
        house.send(house.request(Method::GET, "/v1/models").header("host", "evil.example")).await;
    assert_eq!(bent.status, 421);
    openai(&bent, "another host");
    house.make_token("root", "admin").await;
    let mut stranger = house.get("/v1/models").await;
    for _ in 0..100 {
        if stranger.status != 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        stranger = house.get("/v1/models").await;
    }
    assert_eq!(stranger.status, 401);
    openai(&stranger, "no token");
}

#[track_caller]
fn openai(answer: &Answer, asked: &str) {
    let kind = answer.headers["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/json"), "{asked}: {kind}");
    let body = answer.json();
    let error = body["error"].as_object().unwrap_or_else(|| panic!("{asked}: {body}"));
    for field in ["message", "type"] {
        assert!(error[field].is_string(), "{asked}: no {field} in {body}");
    }
    for field in ["code", "param"] {
        assert!(error[field].is_string() || error[field].is_null(), "{asked}: {body}");
        assert!(error.contains_key(field), "{asked}: no {field} in {body}");
    }
}

#[tokio::test]
async fn small_mistakes_are_told_too() {
    let scene = Scene::open().await;
    let rows = [
        ("POST", "CHAT/stop", json!({"agents": "ada"}), "body_invalid", "agents"),
        ("POST", "CHAT/stop", json!({"agent_id": "stranger"}), "agent_not_found", "stranger"),
        ("POST", "LAB/chats", json!({"name": "x"}), "body_invalid", "name"),
        ("POST", "CHAT/fork", json!({}), "body_invalid", "message_id"),
        ("GET", "CHAT/events?after=-1", json!(null), "query_invalid", "after"),
        ("GET", "CHAT/messages?limit=-1", json!(null), "query_invalid", "limit"),
        ("GET", "/api/audit?since=yesterday", json!(null), "query_invalid", "since"),
        ("GET", "/api/audit?kind=unheard", json!(null), "query_invalid", "kind"),
    ];
    for (method, path, body, code, named) in rows {
        let asked = format!("{method} {path} {body}");
        let problem = refused(send(&scene.house, method, &scene.fill(path), body).await, 422, code);
        let words = format!("{} {}", text(&problem, "detail"), problem["field"]);
        assert!(words.contains(named), "{asked}: {named} is not named in {problem:#}");
    }
    for id in ["abc", "-1", "1.5", "99999999999999999999999"] {
        let request = scene.house.request(Method::GET, &scene.chat.path("/events"));
        let request = request.header("accept", "text/event-stream").header("last-event-id", id);
        refused(scene.house.send(request).await, 422, "last_event_id_invalid");
    }
}
