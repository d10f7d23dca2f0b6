//! A tour of every route: each operation of the OpenAPI document is asked at least once and answers as it should, and
//! what comes back has the fields that clients were promised.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use crate::asking::{script, text};
use crate::stage::{Chat, House};

/// One request of the tour.
struct Stop {
    /// Method and path, with the names of the document.
    route: &'static str,
    status: u16,
    query: &'static str,
    /// `{name}` stands for what an earlier stop kept.
    body: &'static str,
    /// Names under which to keep parts of the answer, and where they are.
    keeps: &'static [(&'static str, &'static str)],
    then: Then,
}

#[derive(PartialEq)]
enum Then {
    GoOn,
    /// The chat of the tour comes to rest first.
    Settle,
}

const fn stop(route: &'static str, status: u16) -> Stop {
    Stop { route, status, query: "", body: "", keeps: &[], then: Then::GoOn }
}

impl Stop {
    const fn sends(mut self, body: &'static str) -> Self {
        self.body = body;
        self
    }

    const fn with(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }

    const fn keeps(mut self, keeps: &'static [(&'static str, &'static str)]) -> Self {
        self.keeps = keeps;
        self
    }

    const fn settles(mut self) -> Self {
        self.then = Then::Settle;
        self
    }
}

/// In the order in which they are asked. An operation of the document that is not here fails the test.
const TOUR: &[Stop] = &[
    stop("GET /healthz", 200),
    stop("GET /readyz", 200),
    stop("GET /metrics", 200),
    stop("GET /api/me", 200),
    stop("GET /api/session", 200),
    // Nobody has made a token yet.
    stop("POST /api/session", 409).sends(r#"{"token": "awt_none"}"#),
    stop("DELETE /api/session", 204),
    stop("POST /api/render", 200).sends(r#"{"text": "*Well*, @ada?"}"#),
    stop("POST /api/worlds", 201)
        .sends(r#"{"name": "Lab", "agents": [{"id": "ada", "model": "openai/scripted"}, {"id": "bob", "model": "openai/scripted"}]}"#)
        .keeps(&[("world", "/id")]),
    stop("GET /api/worlds", 200).with("?limit=1"),
    stop("GET /api/worlds/{world}", 200),
    stop("PATCH /api/worlds/{world}", 200).sends(r#"{"description": "For a tour"}"#),
    stop("GET /api/worlds/{world}/agents", 200),
    stop("POST /api/worlds/{world}/agents", 201).sends(r#"{"name": "Cleo", "model": "openai/scripted"}"#).keeps(&[("agent", "/id")]),
    stop("GET /api/worlds/{world}/agents/{agent}", 200),
    stop("PATCH /api/worlds/{world}/agents/{agent}", 200).sends(r#"{"temperature": 0.5}"#),
    stop("DELETE /api/worlds/{world}/agents/{agent}", 204),
    stop("GET /api/worlds/{world}/tools", 200),
    stop("GET /api/models", 200),
    stop("GET /api/models/{name}", 200),
    stop("GET /api/worlds/{world}/policy", 200),
    stop("PUT /api/worlds/{world}/policy", 200).sends(r#"{"preset": "ask", "rules": []}"#),
    stop("POST /api/worlds/{world}/policy/test", 200).sends(r#"{"tool": "shell_cmd", "arguments": {"command": "ls"}}"#),
    stop("POST /api/worlds/{world}/policy/diff", 200).sends(r#"{"policy": {"preset": "trusted"}}"#),
    stop("GET /api/worlds/{world}/mcp-servers", 200),
    stop("POST /api/worlds/{world}/mcp-servers", 201)
        .sends(r#"{"mcpServers": {"one": {"command": "agent-world-no-such-server"}, "two": {"command": "agent-world-no-such-server"}}}"#),
    stop("GET /api/worlds/{world}/mcp-servers/{server}", 200),
    stop("PATCH /api/worlds/{world}/mcp-servers/{server}", 200).sends(r#"{"disabled": false}"#),
    stop("POST /api/worlds/{world}/mcp-servers/{server}/restart", 202),
    stop("DELETE /api/worlds/{world}/mcp-servers/{server}", 204),
    stop("DELETE /api/worlds/{world}/mcp-servers", 204).with("?name=two"),
    stop("GET /api/worlds/{world}/chats", 200),
    stop("POST /api/worlds/{world}/chats", 201).keeps(&[("chat", "/id")]),
    stop("PATCH /api/worlds/{world}/chats/{chat}", 200).sends(r#"{"title": "A tour"}"#),
    stop("GET /api/worlds/{world}/chats/{chat}", 200),
    stop("GET /api/worlds/{world}/chats/{chat}/standing", 200),
    stop("PUT /api/worlds/{world}/chats/{chat}/client-tools/{client}", 200).sends(r#"{"tools": []}"#),
    stop("POST /api/worlds/{world}/chats/{chat}/messages", 202)
        .sends(r#"{"content": "@ada !call shell_cmd {\"command\": \"echo\", \"parameters\": [\"hi\"]}"}"#)
        .keeps(&[("message", "/message/id")])
        .settles(),
    stop("GET /api/worlds/{world}/chats/{chat}/messages", 200).with("?limit=2"),
    stop("GET /api/worlds/{world}/chats/{chat}/messages/{message}", 200),
    stop("GET /api/approvals", 200).with("?state=pending&world={world}&agent=ada").keeps(&[("approval", "/data/0/id"), ("call", "/data/0/tool_call_id")]),
    stop("GET /api/approvals/{approval}", 200),
    stop("POST /api/approvals/{approval}", 200).sends(r#"{"decision": "approve", "scope": "session"}"#).settles(),
    stop("GET /api/worlds/{world}/chats/{chat}/tool-calls", 200),
    stop("GET /api/worlds/{world}/chats/{chat}/tool-calls/{call}", 200),
    stop("GET /api/worlds/{world}/chats/{chat}/tool-calls/{call}/result", 200),
    stop("GET /api/worlds/{world}/chats/{chat}/grants", 200).keeps(&[("grant", "/data/0/id")]),
    stop("DELETE /api/worlds/{world}/chats/{chat}/grants/{grant}", 204),
    stop("POST /api/worlds/{world}/chats/{chat}/messages", 202)
        .sends(r#"{"content": "@ada !call shell_cmd {\"command\": \"echo\", \"parameters\": [\"again\"]}", "reply_to": "{message}"}"#)
        .settles(),
    stop("GET /api/approvals", 200).keeps(&[("approval", "/data/0/id")]),
    stop("POST /api/worlds/{world}/chats/{chat}/tool-results", 200)
        .sends(r#"{"tool_call_id": "{approval}", "decision": "approve", "scope": "always"}"#)
        .settles(),
    stop("GET /api/worlds/{world}/policy", 200).keeps(&[("rule", "/granted/0/id")]),
    stop("DELETE /api/worlds/{world}/policy/rules/{rule}", 204),
    stop("GET /api/worlds/{world}/stats", 200),
    stop("GET /api/stats", 200).with("?world={world}&limit=1"),
    stop("POST /api/verify", 200).sends(r#"{"world": "{world}"}"#),
    stop("GET /api/audit", 200).with("?tool=shell_cmd&limit=3"),
    stop("GET /api/worlds/{world}/chats/{chat}/events", 200).with("?after=0&limit=5"),
    stop("GET /api/worlds/{world}/events", 200).with("?after=0&limit=5"),
    stop("GET /api/events", 200).with("?after=0&limit=5"),
    stop("POST /api/worlds/{world}/chats/{chat}/fork", 201).sends(r#"{"message_id": "{message}"}"#).keeps(&[("fork", "/id")]),
    stop("POST /api/worlds/{world}/chats/{chat}/messages", 202).sends(r#"{"content": "@ada !fail 400"}"#).keeps(&[("message", "/message/id")]).settles(),
    stop("POST /api/worlds/{world}/chats/{chat}/retry", 202).settles(),
    stop("PUT /api/worlds/{world}/chats/{chat}/messages/{message}", 202).sends(r#"{"content": "@ada better"}"#).keeps(&[("message", "/message/id")]).settles(),
    stop("DELETE /api/worlds/{world}/chats/{chat}/messages/{message}", 204),
    stop("POST /api/worlds/{world}/chats/{chat}/stop", 200),
    stop("GET /api/worlds/{world}/export", 200).keeps(&[("export", "")]),
    stop("GET /api/worlds/{world}/export", 200).with("?form=folder").keeps(&[("folder", "")]),
    stop("PUT /api/worlds/{world}/folder", 200).sends("{folder}"),
    stop("DELETE /api/worlds/{world}/chats/{chat}", 204),
    stop("DELETE /api/worlds/{world}", 204),
    stop("POST /api/worlds/import", 201).sends("{export}"),
    stop("GET /api/worlds/{world}/chats/{chat}", 200),
    stop("GET /v1/models", 200).keeps(&[("model", "/data/0/id")]),
    stop("GET /v1/models/{model}", 200),
    stop("POST /v1/responses", 200).sends(r#"{"model": "openai/scripted", "input": "hello", "store": true}"#).keeps(&[("response_id", "/id")]),
    stop("GET /v1/responses/{response_id}", 200),
    stop("GET /v1/responses/{response_id}/input_items", 200),
    stop("DELETE /v1/responses/{response_id}", 200),
    stop("POST /v1/responses", 200)
        .sends(r#"{"model": "openai/scripted", "input": "!hold cancelled", "background": true, "store": true}"#)
        .keeps(&[("response_id", "/id")]),
    stop("POST /v1/responses/{response_id}/cancel", 200),
    stop("POST /v1/responses/compact", 200).sends(r#"{"model": "openai/scripted", "input": "a long story"}"#),
    stop("POST /v1/chat/completions", 200).sends(r#"{"model": "openai/scripted", "messages": [{"role": "user", "content": "hello"}]}"#),
    // With the headers of a WebSocket.
    stop("GET /v1/responses", 101),
    stop("GET /api/webhooks", 200),
    stop("POST /api/webhooks", 201).sends(r#"{"url": "http://127.0.0.1:9/hook", "allow_private": true}"#).keeps(&[("id", "/id")]),
    stop("DELETE /api/webhooks/{id}", 204),
    // Last: from now on every request needs a token.
    stop("POST /api/tokens", 201).sends(r#"{"name": "root", "role": "admin"}"#).keeps(&[("bearer", "/token")]),
    stop("GET /api/tokens", 200),
    stop("POST /api/tokens", 201).sends(r#"{"name": "guest", "role": "viewer"}"#).keeps(&[("token", "/id")]),
    stop("DELETE /api/tokens/{token}", 204),
];

struct Tour {
    house: House,
    kept: BTreeMap<&'static str, Value>,
}

impl Tour {
    fn fill(&self, text: &str) -> String {
        let one = |filled: String, (name, value): (&&str, &Value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            filled.replace(&format!("{{{name}}}"), &value)
        };
        self.kept.iter().fold(text.to_owned(), one)
    }

    fn chat(&self) -> Chat {
        let kept = |name: &str| self.kept[name].as_str().unwrap().to_owned();
        Chat { world: kept("world"), id: kept("chat") }
    }

    async fn visit(&mut self, stop: &Stop) -> String {
        let (method, path) = stop.route.split_once(' ').unwrap();
        let path = format!("{}{}", self.fill(path), self.fill(stop.query));
        assert!(!path.contains('{'), "nobody kept what {path} needs");
        let mut request = self.house.request(method.parse::<Method>().unwrap(), &path);
        if !stop.body.is_empty() {
            request = request.header("content-type", "application/json").body(self.fill(stop.body));
        }
        if stop.status == 101 {
            request = request
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        let answer = self.house.send(request).await;
        assert_eq!(answer.status, stop.status, "{} at {path}: {}", stop.route, answer.text);
        for (name, place) in stop.keeps {
            let body = answer.json();
            let value = body.pointer(place).unwrap_or_else(|| panic!("no {place} in {body:#}"));
            self.kept.insert(name, value.clone());
        }
        if let Some(bearer) = self.kept.get("bearer") {
            self.house.token = bearer.as_str().map(str::to_owned);
        }
        if stop.then == Then::Settle {
            self.house.settled(&self.chat()).await;
        }
        answer.text
    }
}

#[tokio::test]
async fn every_operation_of_the_document_answers() {
    let house = House::open().await;
    let document = house.get("/openapi.json").await.is(200).json();
    let mut promised: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = ["get", "post", "put", "patch", "delete"];
        for (method, operation) in
            item.as_object().unwrap().iter().filter(|(name, _)| methods.contains(&name.as_str()))
        {
            let statuses = operation["responses"].as_object().unwrap().keys();
            let statuses = statuses.map(|status| status.parse().unwrap()).collect();
            promised.insert(format!("{} {path}", method.to_uppercase()), statuses);
        }
    }
    let listed: BTreeSet<&str> = TOUR.iter().map(|stop| stop.route).collect();
    let missing: Vec<&String> =
        promised.keys().filter(|route| !listed.contains(route.as_str())).collect();
    assert!(missing.is_empty(), "no stop of the tour asks {missing:#?}");
    let unknown: Vec<&&str> =
        listed.iter().filter(|route| !promised.contains_key(**route)).collect();
    assert!(unknown.is_empty(), "the document does not tell of {unknown:#?}");
    // The command prints what the server serves, and the page shows it.
    let printed = house.command(&["openapi"]).output().await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&printed.stdout).unwrap(), document);
    assert!(
        house.get("/docs").await.is(200).headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );

    let kept = BTreeMap::from([
        ("server", json!("one")),
        ("client", json!("browser")),
        ("name", json!("openai%2Fscripted")),
    ]);
    let mut tour = Tour { house, kept };
    for stop in TOUR {
        assert!(
            promised[stop.route].contains(&stop.status),
            "{}: {} is not documented",
            stop.route,
            stop.status
        );
        let said = tour.visit(stop).await;
        assert_eq!(said.is_empty(), matches!(stop.status, 204 | 101), "{}: {said}", stop.route);
    }
}

/// Checks that fields are there and what they are: `?` may be null, `/` may be absent.
#[track_caller]
fn has(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').unwrap();
        let kind = match (kind.strip_suffix('/'), value.get(name)) {
            (Some(_), None) => continue,
            (kept, _) => kept.unwrap_or(kind),
        };
        let found = value.get(name).unwrap_or_else(|| panic!("no {name} in {value:#}"));
        let kind = match kind.strip_suffix('?') {
            Some(_) if found.is_null() => continue,
            kept => kept.unwrap_or(kind),
        };
        let fits = match kind {
            "text" => found.is_string(),
            "number" => found.is_number(),
            "bool" => found.is_boolean(),
            "list" => found.is_array(),
            "object" => found.is_object(),
            "slug" => found.as_str().is_some_and(|id| {
                id.chars().all(|one| {
                    one.is_ascii_lowercase() || one.is_ascii_digit() || "-_".contains(one)
                })
            }),
            "time" => found.as_str().is_some_and(|time| {
                time.ends_with('Z') && time.parse::<agent_world_core::Timestamp>().is_ok()
            }),
            prefix => found.as_str().is_some_and(|id| id.starts_with(prefix)),
        };
        assert!(fits, "{name} is no {kind}: {found}");
    }
}

#[tokio::test]
async fn what_comes_back_has_the_fields_that_were_promised() {
    let house = House::open().await;
    let chat = house.world("my-world", &["ada"], json!({"approval_timeout_seconds": 600, "variables": {"city": "Bern", "api_key": "sk-123456789012345678901234"}})).await;
    let posted = house.say_and_settle(&chat, "hello").await;
    house.say_and_settle(&chat, &script("echo hi")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);

    let world = "id:slug name:text description:text turn_limit:number max_iterations:number main_agent:slug? \
                 after_denial:text approval_timeout_seconds:number? variables:object working_directory:text? \
                 mcp_servers:object policy:object default_model:text? title_model:text? version:number \
                 created_at:time updated_at:time agents:list";
    let shown = house.get("/api/worlds/my-world").await.is(200).json();
    has(&shown, world);
    assert_eq!((&shown["turn_limit"], &shown["max_iterations"]), (&json!(5), &json!(10)));
    assert_eq!(shown["variables"]["city"], "Bern");
    assert!(!shown.to_string().contains("sk-123456789012345678901234"), "{shown:#}");
    house.list("/api/worlds").await.iter().for_each(|one| has(one, world));
    let agent = "id:slug name:text model:text? instructions:text temperature:number? max_output_tokens:number? \
                 reasoning_effort:text? tools:list auto_reply:bool parallel_tool_calls:bool";
    let shown = house.get("/api/worlds/my-world/agents/ada").await.is(200).json();
    has(&shown, agent);
    assert_eq!((&shown["tools"], &shown["model"]), (&json!(["*"]), &json!("openai/scripted")));
    house.list("/api/worlds/my-world/agents").await.iter().for_each(|one| has(one, agent));

    let pending = "id:apr_ state:text world_id:slug chat_id:chat_ agent_id:slug tool_call_id:call_ tool:text \
                   arguments:object message:text options:list suggested_matches:list created_at:time expires_at:time?";
    has(&waiting, pending);
    for absent in ["decision", "scope", "reason", "decided_by", "decided_at"] {
        assert!(waiting.get(absent).is_none_or(Value::is_null), "{absent} before anybody decided");
    }
    let whole = house.approval(&waiting).await;
    has(&whole, pending);
    has(&whole, "context:list");
    assert!(whole["expires_at"].is_string());
    let decided = house.decide(&waiting, json!({"decision": "approve"})).await.is(200).json();
    has(&decided, pending);
    has(&decided, "decision:text scope:text decided_by:text decided_at:time");
    assert_eq!((text(&decided, "state"), text(&decided, "decision")), ("approved", "approve"));
    house.settled(&chat).await;

    let message = "id:msg_ chat_id:chat_ role:text sender:text agent_id:slug? content:text tool_calls:list/ \
                   tool_call_id:text/ reply_to:msg_? created_at:time usage:object/";
    let messages = house.messages(&chat).await;
    let roles: BTreeSet<&str> = messages.iter().map(|message| text(message, "role")).collect();
    assert!(roles.is_superset(&["user", "assistant", "tool"].into()), "{roles:?}");
    assert_eq!((&messages[0], &messages[1]["reply_to"]), (&posted, &posted["id"]));
    for one in &messages {
        has(one, message);
        for call in one["tool_calls"].as_array().into_iter().flatten() {
            has(call, "id:text type:text function:object");
            has(&call["function"], "name:text arguments:text");
            serde_json::from_str::<Value>(text(&call["function"], "arguments")).unwrap();
        }
        assert_eq!(one["role"] == "tool", one.get("tool_call_id").is_some(), "{one:#}");
        let path = chat.path(&format!("/messages/{}", text(one, "id")));
        assert_eq!(house.get(&path).await.is(200).json(), *one);
    }
    let call = "id:call_ agent_id:slug turn_id:turn_ name:text arguments:object blocking:bool state:text \
                approval_id:apr_? started_at:time? ended_at:time? duration_ms:number? result:text? is_error:bool";
    let calls = house.calls(&chat).await;
    assert_eq!(calls.len(), 1, "what is asked of a client is no call of a tool: {calls:#?}");
    has(&calls[0], call);
    assert_eq!((text(&calls[0], "state"), &calls[0]["approval_id"]), ("completed", &decided["id"]));
    assert_eq!(calls[0]["id"], decided["tool_call_id"]);

    let types = ["message", "stream", "tool", "approval", "activity", "system", "crud"];
    let mut last = 0;
    for event in house.list(&chat.path("/events")).await {
        has(&event, "seq:number type:text world_id:slug chat_id:chat_? at:time data:object");
        assert!(types.contains(&text(&event, "type")), "{event}");
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last, "{seq} after {last}");
        last = seq;
        match text(&event, "type") {
            "message" => has(&event["data"], message),
            "tool" => has(&event["data"], call),
            "approval" => has(&event["data"], pending),
            "stream" => has(&event["data"], "phase:text message_id:msg_ agent_id:slug"),
            "activity" => has(&event["data"], "state:text agents:list"),
            "crud" => has(&event["data"], "entity:text action:text id:text"),
            _ => has(&event["data"], "code:text text:text"),
        }
    }
    for tool in house.list("/api/worlds/my-world/tools").await {
        has(&tool, "name:text location:text approval:object schema:object source:text");
    }
    // Pages follow each other without a gap.
    let mut paged = Vec::new();
    let mut after = String::new();
    loop {
        let page = house.get(&chat.path(&format!("/messages?limit=2{after}"))).await.is(200).json();
        assert!(page["data"].as_array().unwrap().len() <= 2);
        paged.extend(page["data"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(paged, messages);
}
