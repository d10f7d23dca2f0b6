//! Ids in addresses: of other worlds, made up, and not text at all; and what the document says of every route.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stage::{Stage, id};

#[tokio::test]
async fn nothing_is_found_through_another_world() {
    let stage = Stage::open().await;
    let said = stage.say("@human hello").await;
    let other = stage.chat.replace("/w/", "/other/");
    let message = format!("{other}/messages/{}", id(&said));
    stage.human.get(&other).await.problem(404, "chat_not_found");
    stage.human.get(&format!("{other}/messages")).await.problem(404, "chat_not_found");
    stage.human.get(&message).await.problem(404, "chat_not_found");
    stage.human.delete(&message).await.problem(404, "chat_not_found");
    stage.human.put(&message, json!({"content": "x"})).await.problem(404, "chat_not_found");
    let post = json!({"content": "x"});
    stage.human.post(&format!("{other}/messages"), post).await.problem(404, "chat_not_found");
    stage.human.delete(&other).await.problem(404, "chat_not_found");
    assert!(stage.texts().await.contains(&"@human hello".to_owned()));
}

#[tokio::test]
async fn odd_ids_name_nothing_and_break_nothing() {
    let stage = Stage::on_sqlite().await;
    let long = "x".repeat(10_000);
    for odd in ["%00", "%FF", "a%2Fb", "%F0%9F%92%A9", "..%2F..", "'%20OR%201=1", long.as_str()] {
        let in_world = |rest: &str| format!("/api/worlds/{odd}/{rest}");
        let in_chat = |rest: &str| format!("/api/worlds/w/chats/{odd}{rest}");
        for path in [
            in_world("chats"),
            in_world("chats/x"),
            in_chat(""),
            in_chat("/messages"),
            in_chat("/tool-calls"),
            in_chat("/grants"),
            stage.at(&format!("messages/{odd}")),
            stage.at(&format!("tool-calls/{odd}")),
            stage.at(&format!("tool-calls/{odd}/result")),
            format!("/api/approvals/{odd}"),
        ] {
            let got = stage.human.get(&path).await;
            assert_eq!(got.status, 404, "{path:.80}: {}", got.body);
        }
        for path in
            [in_chat(""), stage.at(&format!("messages/{odd}")), stage.at(&format!("grants/{odd}"))]
        {
            assert_eq!(stage.human.delete(&path).await.status, 404, "{path:.80}");
        }
        let decision = json!({"decision": "deny"});
        let got = stage.human.post(&format!("/api/approvals/{odd}"), decision).await;
        assert_eq!(got.status, 404, "{odd:.80}");
    }
    for odd in ["\0", "a/b", "💩", long.as_str()] {
        let fork = json!({"message_id": odd});
        stage.human.post(&stage.at("fork"), fork).await.problem(404, "message_not_found");
        let result = json!({"tool_call_id": odd, "content": "x"});
        stage.human.post(&stage.at("tool-results"), result).await.problem(404, "call_not_found");
        let stop = json!({"agent_id": odd});
        stage.human.post(&stage.at("stop"), stop).await.problem(422, "agent_not_found");
    }
    stage.human.get("/api/approvals?world=%00&chat=%00&agent=%00").await.ok(200);
    stage.human.get("/api/approvals?after=%00").await.problem(422, "cursor_unknown");
    stage.human.get("/api/worlds/w/chats?after=%00").await.problem(422, "cursor_unknown");
}

#[test]
fn the_document_tells_of_every_route_and_of_the_key_of_repetitions() {
    let document: Value = serde_json::to_value(agent_world_server::openapi()).unwrap();
    let chat = "/api/worlds/{world}/chats/{chat}";
    for (path, methods) in [
        ("/api/worlds/{world}/chats".to_owned(), vec!["get", "post"]),
        (chat.to_owned(), vec!["get", "patch", "delete"]),
        (format!("{chat}/messages"), vec!["get", "post"]),
        (format!("{chat}/messages/{{message}}"), vec!["get", "put", "delete"]),
        (format!("{chat}/stop"), vec!["post"]),
        (format!("{chat}/fork"), vec!["post"]),
        (format!("{chat}/retry"), vec!["post"]),
        (format!("{chat}/tool-calls"), vec!["get"]),
        (format!("{chat}/tool-calls/{{call}}"), vec!["get"]),
        (format!("{chat}/tool-calls/{{call}}/result"), vec!["get"]),
        (format!("{chat}/tool-results"), vec!["post"]),
        (format!("{chat}/client-tools/{{client}}"), vec!["put"]),
        (format!("{chat}/grants"), vec!["get"]),
        (format!("{chat}/grants/{{grant}}"), vec!["delete"]),
        ("/api/approvals".to_owned(), vec!["get"]),
        ("/api/approvals/{approval}".to_owned(), vec!["get", "post"]),
    ] {
        let item = document["paths"][&path].as_object().unwrap_or_else(|| panic!("{path}"));
        let told: BTreeSet<&str> = item.keys().map(String::as_str).collect();
        assert_eq!(told, methods.into_iter().collect(), "{path}");
        for (method, operation) in item {
            let parameters = operation["parameters"].as_array();
            let named =
                |name: &str| parameters.is_some_and(|all| all.iter().any(|p| p["name"] == name));
            let changes = method != "get";
            assert_eq!(named("Idempotency-Key"), changes, "{method} {path}");
            let placeholders = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
            for placeholder in placeholders {
                assert!(named(placeholder), "{method} {path}: {placeholder}");
            }
            let responses = operation["responses"].as_object().unwrap();
            assert!(
                responses.contains_key("401") && responses.contains_key("422"),
                "{method} {path}"
            );
            assert_eq!(responses.contains_key("409"), changes, "{method} {path}");
        }
    }
}
