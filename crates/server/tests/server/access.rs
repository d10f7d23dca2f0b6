//! Who is let in: this machine without tokens, their holders with them, and no page of another site.

use std::time::Duration;

use agent_world_runtime::Environment as _;
use agent_world_runtime::store::{DocumentWrite, Expected};
use agent_world_server::tokens::{self, Last};
use agent_world_server::{Limits, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::door::{DEADLINE, Door};

#[tokio::test]
async fn without_tokens_whoever_is_at_this_machine_may_do_everything() {
    let door = Door::open().await;
    let me: Value = door.ask(Method::GET, "/api/me", None).await.json().await.unwrap();
    assert_eq!(me, json!({ "name": "human", "role": "admin", "authenticated": false }));
}

#[tokio::test]
async fn a_name_that_was_bent_to_point_here_is_not_answered_to() {
    let door = Door::open().await;
    let ask = async |line: &str, headers: &str| {
        door.raw(&format!("{line}\r\n{headers}Connection: close\r\n\r\n")).await
    };
    let get = "GET /api/me HTTP/1.1";
    for headers in ["Host: LocalHost:1\r\n", "Host: 127.9.9.9\r\n", "host: [::1]:7420\r\n"] {
        assert!(ask(get, headers).await.starts_with("HTTP/1.1 200"), "{headers}");
    }
    let absolute = "GET http://localhost:9/api/me HTTP/1.1";
    assert!(ask(absolute, "Host: localhost:9\r\n").await.starts_with("HTTP/1.1 200"));
    for (line, headers) in [
        (get, ""),
        (get, "Host: \r\n"),
        (get, "Host: evil.example\r\n"),
        (get, "Host: localhost.evil.example:7420\r\n"),
        (get, "Host: localhost\r\nHost: evil.example\r\n"),
        (get, "Host: localhost@evil.example\r\n"),
        ("GET http://evil.example/api/me HTTP/1.1", "Host: localhost\r\n"),
        ("GET http://localhost/api/me HTTP/1.1", "Host: evil.example\r\n"),
        ("GET /healthz HTTP/1.1", "Host: evil.example\r\n"),
        ("GET /nowhere HTTP/1.1", "Host: evil.example\r\n"),
        ("GET /api/me HTTP/1.0", ""),
    ] {
        let said = ask(line, headers).await;
        assert!(
            said.contains(" 421 ") && said.contains("host_refused"),
            "{line} {headers}: {said}"
        );
    }
}

#[tokio::test]
async fn http_2_names_its_host_in_another_place_and_is_checked_alike() {
    let door = Door::open().await;
    let builder = reqwest::Client::builder().no_proxy().http2_prior_knowledge();
    let client = builder.resolve("evil.example", door.address).build().unwrap();
    let port = door.address.port();
    let good = client.get(format!("http://localhost:{port}/api/me")).send().await.unwrap();
    assert_eq!((good.version(), good.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    let bad = client.get(format!("http://evil.example:{port}/api/me")).send().await.unwrap();
    assert_eq!((bad.version(), bad.status().as_u16()), (reqwest::Version::HTTP_2, 421));
}

#[tokio::test]
async fn pages_of_other_sites_and_ports_are_refused_with_and_without_tokens() {
    let door = Door::open().await;
    let own = format!("http://{}", door.address);
    let judge = async |token: Option<&str>| {
        let ask = async |name: &str, value: &str| {
            let mut request = door.request(Method::POST, "/api/tokens").header(name, value);
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let answer = request.json(&json!({})).send().await.unwrap();
            let cors =
                answer.headers().keys().any(|name| name.as_str().starts_with("access-control"));
            assert!(!cors, "{:?}", answer.headers());
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap()["code"].clone())
        };
        assert_eq!(ask("origin", &own).await.0, 422);
        assert_eq!(ask("sec-fetch-site", "same-origin").await.0, 422);
        for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
            assert_eq!(ask("origin", origin).await, (403, json!("origin_refused")), "{origin}");
        }
        assert_eq!(ask("sec-fetch-site", "cross-site").await, (403, json!("origin_refused")));
    };
    judge(None).await;
    let token = door.token("ada", Role::Admin).await;
    judge(Some(&token)).await;
}

#[tokio::test]
async fn a_page_of_another_site_cannot_ask_for_leave_nor_open_a_socket() {
    let door = Door::open().await;
    let preflight = door
        .request(Method::OPTIONS, "/api/tokens")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST");
    let plain = door.request(Method::OPTIONS, "/api/tokens");
    let socket = door
        .request(Method::GET, "/api/me")
        .header("origin", "https://evil.example")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    for (request, status) in [(preflight, 403), (plain, 405), (socket, 403)] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        let cors = answer.headers().keys().any(|name| name.as_str().starts_with("access-control"));
        assert!(!cors, "{:?}", answer.headers());
    }
}

#[tokio::test]
async fn with_tokens_everything_but_what_is_public_needs_one() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Viewer).await;
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(door.ask(Method::GET, path, None).await.status(), 200, "{path}");
    }
    for path in ["/api/me", "/api/worlds", "/v1/models", "/metrics", "/nowhere", "/healthz/x"] {
        let answer = door.ask(Method::GET, path, None).await;
        assert_eq!(answer.status(), 401, "{path}");
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
        // What is compatible with another interface has that one's errors.
        let json = if path.starts_with("/v1/") { "json" } else { "problem+json" };
        assert_eq!(answer.headers()["content-type"], format!("application/{json}").as_str());
    }
    let with = async |value: &str| {
        let request = door.request(Method::GET, "/api/me").header("authorization", value);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(with(&format!("Bearer {token}")).await, 200);
    assert_eq!(with(&format!("bearer  {token} ")).await, 200);
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        &token,
        "Bearer awt_x",
        &format!("Bearer {token}x"),
    ];
    for value in wrong {
        assert_eq!(with(value).await, 401, "{value:?}");
    }
    // A name that is not this machine's is fine for whoever has a token.
    let said = door
        .raw(&format!(
            "GET /api/me HTTP/1.1\r\nHost: world.example\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        ))
        .await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let me: Value = door.ask(Method::GET, "/api/me", Some(&token)).await.json().await.unwrap();
    assert_eq!(me, json!({ "name": "ada", "role": "viewer", "authenticated": true }));
}

#[tokio::test]
async fn a_token_in_an_address_is_refused_even_where_it_is_right() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Admin).await;
    for path in [
        format!("/api/me?token={token}"),
        format!("/api/me?access_token={token}"),
        format!("/api/me?%74oken={token}"),
        format!("/api/me?limit=1&q={token}"),
        "/healthz?TOKEN=x".to_owned(),
    ] {
        for bearer in [None, Some(token.as_str())] {
            let answer = door.ask(Method::GET, &path, bearer).await;
            assert_eq!(answer.status(), 400, "{path}");
            let text = answer.text().await.unwrap();
            assert!(text.contains("token_in_url") && !text.contains(&token), "{text}");
        }
    }
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_over_http() {
    let door = Door::open().await;
    let make = async |body: Value, token: Option<&str>| {
        let mut request = door.request(Method::POST, "/api/tokens").json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, ada) = make(json!({ "name": "ada", "role": "admin" }), None).await;
    assert_eq!(
        (status, &ada["name"], &ada["role"], &ada["created_by"]),
        (201, &json!("ada"), &json!("admin"), &json!("human"))
    );
    let text = ada["token"].as_str().unwrap();
    // From now on it is needed, at once.
    assert_eq!(make(json!({ "name": "bob", "role": "viewer" }), None).await.0, 401);
    assert_eq!(make(json!({ "name": "bob", "role": "viewer" }), Some(text)).await.0, 201);
    assert_eq!(
        make(json!({ "name": "ADA", "role": "viewer" }), Some(text)).await.1["code"],
        "token_exists"
    );
    for (body, code) in [
        (json!({ "name": "a b", "role": "viewer" }), "token_name_invalid"),
        (
            json!({ "name": "x", "role": "viewer", "expires_at": "2000-01-01T00:00:00Z" }),
            "token_expiry_invalid",
        ),
        (json!({ "name": "x", "role": "owner" }), "body_invalid"),
        (json!({ "name": "x", "role": "viewer", "colour": "red" }), "body_invalid"),
    ] {
        let (status, said) = make(body, Some(text)).await;
        assert_eq!((status, &said["code"]), (422, &json!(code)));
    }
    let listed = door.ask(Method::GET, "/api/tokens?limit=1", Some(text)).await;
    let listed: Value = listed.json().await.unwrap();
    assert_eq!((&listed["data"][0]["name"], &listed["next"]), (&json!("ada"), &json!("ada")));
    let rest =
        door.ask(Method::GET, "/api/tokens?after=ada", Some(text)).await.text().await.unwrap();
    assert!(rest.contains("\"bob\"") && !rest.contains("awt_") && !rest.contains("hash"), "{rest}");
    let bob = ada["id"].as_str().unwrap().len();
    assert_eq!(bob, "tok_".len() + 16);
    let remove = async |name: &str| {
        door.ask(Method::DELETE, &format!("/api/tokens/{name}"), Some(text)).await.status().as_u16()
    };
    assert_eq!((remove("bob").await, remove("bob").await), (204, 404));
    for odd in ["%00", "%ff", &"x".repeat(10_000), "%2e%2e"] {
        assert_eq!(remove(odd).await, 404, "{odd}");
    }
    // Its own last act.
    let path = format!("/api/tokens/{}", ada["id"].as_str().unwrap());
    let last = door.ask(Method::DELETE, &path, Some(text)).await;
    assert_eq!(last.status(), 200);
    let said: Value = last.json().await.unwrap();
    assert!(said["warning"].as_str().unwrap().contains("the last token"), "{said}");
    assert_eq!(door.ask(Method::GET, "/api/me", Some(text)).await.status(), 200);
}

#[tokio::test]
async fn what_another_process_makes_and_revokes_holds_soon() {
    let door = Door::open().await;
    let ada = door.token("ada", Role::Member).await;
    let bob = door.token("bob", Role::Member).await;
    tokens::revoke(&*door.store, "ada", Last::MayGo, door.clock.now()).await.unwrap();
    door.until(&ada, 401).await;
    assert_eq!(door.ask(Method::GET, "/api/me", Some(&bob)).await.status(), 200);
    // When the last one is gone, this machine is let in again.
    tokens::revoke(&*door.store, "bob", Last::MayGo, door.clock.now()).await.unwrap();
    let open = async {
        while door.ask(Method::GET, "/api/me", None).await.status() != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, open).await.expect("it opens");
}

#[tokio::test]
async fn an_expired_token_is_refused_and_does_not_leave_the_door_open() {
    let door = Door::open().await;
    let token = door.token_until("ada", Role::Admin, Some(Duration::from_secs(3_600))).await;
    door.clock.forward(Duration::from_millis(3_599_999));
    assert_eq!(door.ask(Method::GET, "/api/me", Some(&token)).await.status(), 200);
    door.clock.forward(Duration::from_millis(1));
    assert_eq!(door.ask(Method::GET, "/api/me", Some(&token)).await.status(), 401);
    assert_eq!(door.ask(Method::GET, "/api/me", None).await.status(), 401);
}

#[tokio::test]
async fn a_token_that_cannot_be_read_lets_nobody_in() {
    let door = Door::open().await;
    let write = DocumentWrite {
        kind: "token".to_owned(),
        key: "tok_x".to_owned(),
        expected: Expected::Nothing,
        body: "{\"name\":\"x\",\"role\":\"emperor\"}".to_owned(),
        at: door.clock.now(),
    };
    door.store.write_document(write).await.unwrap();
    door.until("anything", 401).await;
    assert_eq!(door.ask(Method::GET, "/api/me", None).await.status(), 401);
}

#[tokio::test]
async fn a_use_is_noted() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Viewer).await;
    let noted = async {
        while tokens::list(&*door.store).await.unwrap()[0].last_used.is_none() {
            door.ask(Method::GET, "/api/me", Some(&token)).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, noted).await.expect("it is noted");
    door.until(&token, 200).await;
}

#[tokio::test]
async fn whoever_changes_too_much_too_fast_waits_and_nobody_else_does() {
    let slow = Limits { writes_per_second: 0.01, write_burst: 2, ..Limits::default() };
    let door = Door::open_with(slow).await;
    let ada = door.token("ada", Role::Admin).await;
    let bob = door.token("bob", Role::Admin).await;
    let write = async |token: &str| door.ask(Method::POST, "/api/tokens", Some(token)).await;
    assert_eq!(
        (write(&ada).await.status().as_u16(), write(&ada).await.status().as_u16()),
        (422, 422)
    );
    let refused = write(&ada).await;
    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=100).contains(&wait), "{wait}");
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "rate_limited");
    assert_eq!(write(&bob).await.status(), 422);
    assert_eq!(door.ask(Method::GET, "/api/me", Some(&ada)).await.status(), 200);
}

#[tokio::test]
async fn every_answer_carries_what_keeps_browsers_careful_and_an_id_of_its_own() {
    let door = Door::open().await;
    let mut ids = std::collections::BTreeSet::new();
    for (path, status) in
        [("/healthz", 200), ("/api/me", 200), ("/api/nowhere", 404), ("/api/me?token=x", 400)]
    {
        let answer = door.ask(Method::GET, path, None).await;
        assert_eq!(answer.status(), status);
        let headers = answer.headers();
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(headers[name], value, "{path}");
        }
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"));
        assert!(headers.contains_key("permissions-policy"));
        assert!(!headers.contains_key("server"));
        let kept = headers.get("cache-control").is_some_and(|value| value == "no-store");
        assert_eq!(kept, path.starts_with("/api"), "{path}");
        assert!(ids.insert(headers["x-request-id"].to_str().unwrap().to_owned()));
    }
}
