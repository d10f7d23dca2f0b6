//! Who may do what: tokens and roles on the real program, and where it listens without them.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::{script, text};
use crate::stage::{Answer, Chat, DEADLINE, House};

async fn as_holder(house: &House, token: &str, method: Method, path: &str, body: Value) -> Answer {
    let request = house.client.request(method, format!("{}{path}", house.url)).bearer_auth(token);
    house.send(request.header("content-type", "application/json").body(body.to_string())).await
}

#[tokio::test]
async fn each_role_does_what_it_may_and_a_decision_has_the_name_of_its_token() {
    let mut house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let me = house.get("/api/me").await.is(200).json();
    assert_eq!(me, json!({"name": "tester", "role": "admin", "authenticated": false}));
    let root = house.make_token("root", "admin").await;
    // From the first token on, everybody needs one. The server hears of it within two seconds.
    let begun = Instant::now();
    while house.get("/api/worlds").await.status == 200 {
        assert!(begun.elapsed() < Duration::from_secs(2), "still open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = house.get("/api/worlds").await;
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
    refused.refused(StatusCode::UNAUTHORIZED, "unauthorized");
    for public in ["/healthz", "/readyz", "/openapi.json", "/docs"] {
        house.get(public).await.is(200);
    }
    house
        .get(&format!("/api/worlds?token={root}"))
        .await
        .refused(StatusCode::BAD_REQUEST, "token_in_url");
    house.token = Some("aw_wrong".to_owned());
    house.get("/api/worlds").await.refused(StatusCode::UNAUTHORIZED, "unauthorized");
    house.token = Some(root);
    let mut tokens = Vec::new();
    for role in ["viewer", "member", "approver"] {
        let made = house
            .post("/api/tokens", json!({"name": format!("{role}-one"), "role": role}))
            .await
            .is(201)
            .json();
        tokens.push(text(&made, "token").to_owned());
    }
    let [viewer, member, approver] = tokens.as_slice() else { panic!("three tokens") };
    let listed = house.get("/api/tokens").await.is(200);
    assert!(
        tokens.iter().all(|token| !listed.text.contains(token.as_str())),
        "tokens are shown once"
    );
    let taken = json!({"name": "VIEWER-one", "role": "viewer"});
    house.post("/api/tokens", taken).await.refused(StatusCode::CONFLICT, "token_exists");

    let messages = chat.path("/messages");
    let say = json!({"content": script("echo allowed")});
    as_holder(&house, viewer, Method::GET, &messages, Value::Null).await.is(200);
    as_holder(&house, viewer, Method::POST, &messages, say.clone())
        .await
        .refused(StatusCode::FORBIDDEN, "forbidden");
    let posted = as_holder(&house, member, Method::POST, &messages, say).await.is(202).json();
    assert_eq!(
        (&posted["message"]["sender"], &posted["message"]["user"]),
        (&json!("human"), &json!("member-one"))
    );
    house.settled(&chat).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let path = format!("/api/approvals/{}", text(&waiting, "id"));
    let results = chat.path("/tool-results");
    let approve = json!({"decision": "approve"});
    let by_call = json!({"tool_call_id": waiting["tool_call_id"], "decision": "approve"});
    let as_choice = json!({"tool_call_id": waiting["id"], "content": "approve_once"});
    for token in [viewer, member] {
        as_holder(&house, token, Method::GET, &path, Value::Null).await.is(200);
        as_holder(&house, token, Method::POST, &path, approve.clone())
            .await
            .refused(StatusCode::FORBIDDEN, "forbidden");
        for body in [&by_call, &as_choice] {
            as_holder(&house, token, Method::POST, &results, body.clone())
                .await
                .refused(StatusCode::FORBIDDEN, "forbidden");
        }
    }
    assert_eq!(house.approval(&waiting).await["state"], "pending");
    // What an approver says about who they are is not listened to.
    let somebody = json!({"decision": "approve", "decided_by": "root"});
    as_holder(&house, approver, Method::POST, &path, somebody).await.is(422);
    let decided = as_holder(&house, approver, Method::POST, &path, approve).await.is(200).json();
    assert_eq!(decided["decided_by"], "approver-one");
    house.settled(&chat).await;
    let audit = house.list("/api/audit?kind=decided").await;
    assert_eq!(audit[0]["actor"]["name"], "approver-one");
    assert_eq!(house.list("/api/audit?kind=decided&actor=approver-one").await.len(), 1);
    for token in [viewer, member, approver] {
        as_holder(&house, token, Method::POST, "/api/worlds", json!({"name": "theirs"}))
            .await
            .refused(StatusCode::FORBIDDEN, "forbidden");
        as_holder(
            &house,
            token,
            Method::POST,
            "/api/tokens",
            json!({"name": "more", "role": "admin"}),
        )
        .await
        .is(403);
        as_holder(
            &house,
            token,
            Method::PUT,
            "/api/worlds/lab/policy",
            json!({"preset": "trusted"}),
        )
        .await
        .is(403);
    }
    let me = as_holder(&house, viewer, Method::GET, "/api/me", Value::Null).await.is(200).json();
    assert_eq!(me, json!({"name": "viewer-one", "role": "viewer", "authenticated": true}));

    // Revoked beside the running server: requests are refused and open streams end, within two seconds.
    let revoked = house.token.replace(viewer.clone());
    let mut stream = house.follow(&chat.path("/events"), None).await;
    house.token = revoked;
    let output = house.command(&["token", "revoke", "viewer-one"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let begun = Instant::now();
    while as_holder(&house, viewer, Method::GET, "/api/me", Value::Null).await.status == 200 {
        assert!(begun.elapsed() < Duration::from_secs(2), "still let in");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ended = tokio::time::timeout(Duration::from_secs(3), async {
        while stream.next().await.is_some() {}
    });
    ended.await.expect("the stream of a revoked token ends");
    // Through the server it is at once.
    house.delete("/api/tokens/member-one").await.is(204);
    as_holder(&house, member, Method::GET, "/api/me", Value::Null)
        .await
        .refused(StatusCode::UNAUTHORIZED, "unauthorized");
    house.delete("/api/tokens/member-one").await.refused(StatusCode::NOT_FOUND, "token_not_found");
    // Stored hashed: the token itself is nowhere in the data folder.
    let mut folders = vec![house.folder.path().join("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    let found =
                        bytes.windows(approver.len()).any(|window| window == approver.as_bytes());
                    assert!(!found, "a token is in {:?}", entry.path());
                }
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_token_ends_when_it_says_and_keys_of_people_are_their_own() {
    let mut house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let root =
        house.post("/api/tokens", json!({"name": "root", "role": "admin"})).await.is(201).json();
    house.token = Some(text(&root, "token").to_owned());
    let soon = agent_world_core::Timestamp::now() + Duration::from_secs(2);
    let body = json!({"name": "brief", "role": "member", "expires_at": soon});
    let brief = house.post("/api/tokens", body).await.is(201).json();
    let brief = text(&brief, "token").to_owned();
    let past = json!({"name": "past", "role": "member", "expires_at": "2020-01-01T00:00:00Z"});
    house
        .post("/api/tokens", past)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "token_expiry_invalid");
    // The same key of two people is two messages.
    let mut ids = Vec::new();
    for token in [brief.as_str(), text(&root, "token")] {
        let request = house
            .client
            .post(format!("{}{}", house.url, chat.path("/messages")))
            .bearer_auth(token);
        let request =
            request.header("content-type", "application/json").header("idempotency-key", "same");
        let posted = house
            .send(request.body(json!({"content": "!say hello"}).to_string()))
            .await
            .is(202)
            .json();
        ids.push(posted["message"]["id"].clone());
    }
    assert_ne!(ids[0], ids[1]);
    house.settled(&chat).await;
    while agent_world_core::Timestamp::now() <= soon {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let late = as_holder(&house, &brief, Method::GET, "/api/me", Value::Null).await;
    late.refused(StatusCode::UNAUTHORIZED, "unauthorized");
    // A repetition of what made a token does not show it again.
    let path = format!("{}/api/tokens", house.url);
    let make = || {
        let request = house
            .client
            .post(&path)
            .bearer_auth(text(&root, "token"))
            .header("idempotency-key", "make");
        let body = json!({"name": "again", "role": "viewer"}).to_string();
        house.send(request.header("content-type", "application/json").body(body))
    };
    let made = make().await.is(201).json();
    let again = make().await;
    assert!(!again.text.contains(text(&made, "token")), "{}", again.text);
    again.refused(StatusCode::CONFLICT, "idempotency_answer_not_kept");
}

#[tokio::test]
async fn other_machines_are_let_in_only_where_there_are_tokens() {
    let mut house = House::open().await;
    let chat: Chat = house.world("lab", &["ada"], json!({})).await;
    assert!(house.terminate().await.success());
    let anywhere = ["serve", "--listen", "0.0.0.0:0"];
    let output = tokio::time::timeout(DEADLINE, house.command(&anywhere).output())
        .await
        .expect("it ends")
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("agent-world token create"), "it says what to do: {said}");

    let token = house.make_token("root", "admin").await;
    let mut command = house.command(&anywhere);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let file = house.folder.path().join("data/server.json");
    let port = tokio::time::timeout(DEADLINE, async {
        loop {
            let announced = std::fs::read_to_string(&file).ok();
            let announced: Option<Value> =
                announced.and_then(|text| serde_json::from_str(&text).ok());
            let url = announced.and_then(|said| said["url"].as_str().map(str::to_owned));
            if let Some(port) =
                url.and_then(|url| url.rsplit(':').next()?.trim_matches('/').parse::<u16>().ok())
            {
                return port;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    house.url = format!("http://127.0.0.1:{}", port.await.expect("it says where it is"));
    house.get("/api/worlds").await.refused(StatusCode::UNAUTHORIZED, "unauthorized");
    house.token = Some(token);
    house.get(&chat.path("")).await.is(200);
    // By another name, too: whoever has a token is no page that was bent to this machine.
    let named = house.request(Method::GET, "/api/worlds").header("host", "agents.example");
    house.send(named).await.is(200);
    child.kill().await.unwrap();
}
