//! Whether the interface is described: what was promised is there, and every description is whole.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::settings_stage::Stage;

/// The promised interface: methods and paths, with `{}` for whatever a part is called.
const SETTINGS: &str = "
GET POST /api/worlds
GET PATCH DELETE /api/worlds/{}
GET POST /api/worlds/{}/agents
GET PATCH DELETE /api/worlds/{}/agents/{}
GET PUT /api/worlds/{}/policy
DELETE /api/worlds/{}/policy/rules/{}
POST /api/worlds/{}/policy/test
POST /api/worlds/{}/policy/diff
GET /api/worlds/{}/tools
GET POST DELETE /api/worlds/{}/mcp-servers
GET DELETE /api/worlds/{}/mcp-servers/{}
POST /api/worlds/{}/mcp-servers/{}/restart
GET /api/worlds/{}/stats
GET /api/stats
POST /api/verify
GET /api/audit
GET /healthz
GET /readyz
";
const EVERYTHING_ELSE: &str = "
GET /api/worlds/{}/export
POST /api/worlds/import
PUT /api/worlds/{}/folder
GET POST /api/worlds/{}/chats
GET PATCH DELETE /api/worlds/{}/chats/{}
GET /api/worlds/{}/chats/{}/standing
GET POST /api/worlds/{}/chats/{}/messages
PUT DELETE /api/worlds/{}/chats/{}/messages/{}
POST /api/worlds/{}/chats/{}/stop
POST /api/worlds/{}/chats/{}/fork
POST /api/worlds/{}/chats/{}/retry
GET /api/worlds/{}/chats/{}/events
GET /api/worlds/{}/events
GET /api/events
GET /api/approvals
GET POST /api/approvals/{}
POST /api/worlds/{}/chats/{}/tool-results
GET /api/worlds/{}/chats/{}/tool-calls
GET /api/worlds/{}/chats/{}/tool-calls/{}
GET /api/worlds/{}/chats/{}/grants
DELETE /api/worlds/{}/chats/{}/grants/{}
POST /v1/responses
GET /v1/responses/{}
GET /v1/models
GET /metrics
";

fn document() -> Value {
    serde_json::to_value(agent_world_server::openapi()).unwrap()
}

/// Every operation with its method and path.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = ["get", "put", "post", "delete", "patch", "head", "options"];
    let mut found = Vec::new();
    for (path, item) in paths {
        for method in methods {
            if let Some(operation) = item.get(method) {
                found.push((method.to_uppercase(), path.clone(), operation));
            }
        }
    }
    found
}

/// A path in which no part has a name.
fn nameless(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[track_caller]
fn assert_described(promised: &str) {
    let document = document();
    let described: BTreeSet<String> = operations(&document)
        .into_iter()
        .map(|(method, path, _)| format!("{method} {}", nameless(&path)))
        .collect();
    let mut missing = Vec::new();
    for line in promised.lines().filter(|line| !line.is_empty()) {
        let (methods, path) = line.rsplit_once(' ').unwrap();
        let wanted = methods.split(' ').map(|method| format!("{method} {path}"));
        missing.extend(wanted.filter(|one| !described.contains(one)));
    }
    assert!(missing.is_empty(), "not described:\n  {}", missing.join("\n  "));
}

#[test]
fn the_routes_of_settings_are_described() {
    assert_described(SETTINGS);
}

#[test]
fn every_promised_route_is_described() {
    assert_described(EVERYTHING_ELSE);
}

#[test]
fn every_operation_has_a_name_of_its_own_and_says_what_it_is_for() {
    let document = document();
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(names.insert(name.to_owned()), "{method} {path}: {name} is there twice");
        assert!(operation["summary"].is_string(), "{method} {path} says nothing");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let about = response["description"].as_str().unwrap_or_default();
            assert!(!about.is_empty(), "{method} {path} {status} says nothing");
        }
    }
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    for (method, path, operation) in operations(&document) {
        assert!(tags.contains(operation["tags"][0].as_str().unwrap()), "{method} {path}");
    }
}

#[test]
fn every_operation_says_what_it_answers_to_whom_it_refuses() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        let answers = |status: &str| {
            assert!(responses.contains_key(status), "{method} {path} does not tell of {status}");
            let body = &responses[status]["content"]["application/problem+json"]["schema"]["$ref"];
            if path.starts_with("/api/") {
                assert_eq!(body, "#/components/schemas/Problem", "{method} {path} {status}");
            }
        };
        answers("421");
        if path.starts_with("/api/") || path.starts_with("/v1/") {
            ["401", "403", "429", "503"].into_iter().for_each(answers);
            // Whoever is to sign in has nothing to show yet.
            let asks = operation["security"][0]["bearer"].is_array();
            assert_eq!(asks, path != "/api/session", "{method} {path}");
            assert_eq!(operation["security"][1]["session"].is_array(), asks, "{method} {path}");
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let guards = parameters.filter(|one| one["name"] == "X-CSRF-Token").count();
            let changes =
                method != "GET" && (method.as_str(), path.as_str()) != ("POST", "/api/session");
            assert_eq!(guards, usize::from(changes), "{method} {path}");
        }
        if operation.get("requestBody").is_some() {
            ["400", "413", "415", "422"].into_iter().for_each(answers);
        }
        let path_parts = path.matches('{').count();
        let described = operation["parameters"].as_array().into_iter().flatten();
        let described =
            described.filter(|one| one["in"] == "path" && one["required"] == true).count();
        assert_eq!(path_parts, described, "{method} {path}: parts of the path");
        // A vendor's own failure is handed on under `/v1`; nothing else of ours is planned to fail.
        assert!(!responses.contains_key("500") || path.starts_with("/v1/"), "{method} {path}");
    }
}

#[test]
fn the_document_says_whose_it_is_and_every_reference_leads_somewhere() {
    let document = document();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["info"]["license"]["name"], "Apache-2.0 OR MIT");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    let session = &document["components"]["securitySchemes"]["session"];
    let (kind, place) = (session["type"].as_str(), session["in"].as_str());
    assert_eq!((kind, place), (Some("apiKey"), Some("cookie")));
    assert_eq!(session["name"], "agent_world_session");
    assert!(session["description"].as_str().unwrap().contains("X-CSRF-Token"));
    assert_eq!(document["servers"][0]["url"], "/");
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    let pointer = target.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
                }
                fields.values().for_each(|value| walk(value, document));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, document)),
            _ => {}
        }
    }
    walk(&document, &document);
}

#[tokio::test]
async fn the_document_and_the_page_are_served_and_the_page_needs_nothing_else() {
    let stage = Stage::open().await;
    let served = stage.get("/openapi.json").await.is(200);
    assert_eq!((served.kind.as_str(), &served.body), ("application/json", &document()));
    let page = stage.get("/docs").await.is(200);
    assert!(page.kind.starts_with("text/html"), "{}", page.kind);
    for (method, path, operation) in operations(&served.body) {
        let name = operation["operationId"].as_str().unwrap().replace('_', "-");
        assert!(page.text.contains(&format!("<article id=\"{name}\">")), "{method} {path}");
    }
    for name in served.body["components"]["schemas"].as_object().unwrap().keys() {
        assert!(page.text.contains(&format!("<code>{name}</code>")), "{name}");
    }
    let page = page.does_not_say("<script").does_not_say("style=\"").does_not_say("<style");
    for (number, _) in page.text.match_indices("href=\"") {
        let target = &page.text[number + 6..];
        assert!(target.starts_with('#') || target.starts_with('/'), "{}", &target[..40]);
    }
    let style =
        stage.get("/docs/style.css").await.is(200).does_not_say("url(").does_not_say("@import");
    assert!(style.kind.starts_with("text/css"), "{}", style.kind);
}
