//! Signing in with a browser: what its cookie is worth, and what pages of other sites can make of it.

use std::time::Duration;

use agent_world_server::Role;
use agent_world_server::tokens::{self, Last};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::door::{DEADLINE, Door};

/// A browser that has signed in.
struct Browser {
    cookie: String,
    csrf: String,
}

async fn try_to_sign_in(door: &Door, token: &str) -> Response {
    let request = door.request(Method::POST, "/api/session");
    request.json(&json!({ "token": token })).send().await.unwrap()
}

fn cookie(response: &Response) -> String {
    response.headers()["set-cookie"].to_str().unwrap().to_owned()
}

async fn sign_in(door: &Door, token: &str) -> Browser {
    let answer = try_to_sign_in(door, token).await;
    assert_eq!(answer.status(), 200);
    let cookie = cookie(&answer).split(';').next().unwrap().to_owned();
    let told: Value = answer.json().await.unwrap();
    Browser { cookie, csrf: told["csrf"].as_str().unwrap().to_owned() }
}

impl Browser {
    fn bare(&self, door: &Door, method: Method, path: &str) -> RequestBuilder {
        let request = door.request(method.clone(), path).header("cookie", &self.cookie);
        match method {
            Method::GET | Method::HEAD => request,
            _ => request.header("content-type", "application/json").body("{}"),
        }
    }

    async fn ask(&self, door: &Door, method: Method, path: &str) -> Response {
        let request = self.bare(door, method, path).header("x-csrf-token", &self.csrf);
        request.send().await.unwrap()
    }

    async fn standing(&self, door: &Door) -> Value {
        self.bare(door, Method::GET, "/api/session").send().await.unwrap().json().await.unwrap()
    }
}

async fn code(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

const NOBODY: Value = Value::Null;

#[tokio::test]
async fn without_tokens_nobody_needs_to_sign_in() {
    let door = Door::open().await;
    let told: Value = door.ask(Method::GET, "/api/session", None).await.json().await.unwrap();
    let expected = json!({"required": false, "name": "human", "role": "admin", "csrf": null});
    assert_eq!(told, expected);
    let refused = try_to_sign_in(&door, "awt_x").await;
    assert_eq!(code(refused).await, (409, "sign_in_not_needed".to_owned()));
}

#[tokio::test]
async fn a_token_becomes_a_cookie_that_scripts_cannot_read() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Member).await;
    let told: Value = door.ask(Method::GET, "/api/session", None).await.json().await.unwrap();
    assert_eq!(told, json!({"required": true, "name": NOBODY, "role": NOBODY, "csrf": NOBODY}));
    let answer = try_to_sign_in(&door, &token).await;
    let set = cookie(&answer);
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age="] {
        assert!(set.contains(part), "{part} in {set}");
    }
    assert!(!set.contains("Secure") && !set.contains("Domain"), "{set}");
    assert!(!set.contains(&token), "the token itself is in no cookie");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let browser = sign_in(&door, &token).await;
    let told = browser.standing(&door).await;
    let csrf = browser.csrf.clone();
    assert_eq!(told, json!({"required": true, "name": "ada", "role": "member", "csrf": csrf}));
    let me: Value = browser.ask(&door, Method::GET, "/api/me").await.json().await.unwrap();
    assert_eq!(me, json!({"name": "ada", "role": "member", "authenticated": true}));
}

#[tokio::test]
async fn over_https_the_cookie_is_for_https_alone() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Admin).await;
    let request = door
        .request(Method::POST, "/api/session")
        .header("host", "agents.example.com")
        .header("origin", "https://agents.example.com");
    let answer = request.json(&json!({ "token": token })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(cookie(&answer).ends_with("; Secure"), "{}", cookie(&answer));
}

#[tokio::test]
async fn a_session_may_do_what_its_token_may() {
    let door = Door::open().await;
    for role in Role::ALL {
        let token = door.token(role.name(), role).await;
        let browser = sign_in(&door, &token).await;
        for (method, path, least) in [
            (Method::GET, "/api/worlds", Role::Viewer),
            (Method::POST, "/api/render", Role::Viewer),
            (Method::POST, "/api/worlds/none/chats", Role::Member),
            (Method::POST, "/api/approvals/none", Role::Approver),
            (Method::POST, "/api/worlds", Role::Admin),
            (Method::GET, "/api/tokens", Role::Admin),
        ] {
            let by_token = door.ask(method.clone(), path, Some(&token)).await.status();
            let status = browser.ask(&door, method, path).await.status();
            assert_eq!(status, by_token, "{path} as {role:?}");
            assert_eq!(status == 403, role < least, "{path} as {role:?}");
        }
    }
}

#[tokio::test]
async fn what_changes_something_needs_more_than_the_cookie() {
    let door = Door::open().await;
    let browser = sign_in(&door, &door.token("ada", Role::Admin).await).await;
    let other = sign_in(&door, &door.token("bob", Role::Admin).await).await;
    let missing = (403, "csrf_token_missing".to_owned());
    for (method, path) in [
        (Method::POST, "/api/worlds"),
        (Method::PATCH, "/api/worlds/none"),
        (Method::PUT, "/api/worlds/none/policy"),
        (Method::DELETE, "/api/worlds/none"),
        (Method::DELETE, "/api/tokens/bob"),
        (Method::POST, "/api/approvals/none"),
        (Method::DELETE, "/api/session"),
    ] {
        let bare = browser.bare(&door, method.clone(), path).send().await.unwrap();
        assert_eq!(code(bare).await, missing, "{method} {path}");
        for wrong in ["", "wrong", other.csrf.as_str()] {
            let request = browser.bare(&door, method.clone(), path).header("x-csrf-token", wrong);
            assert_eq!(code(request.send().await.unwrap()).await, missing, "{wrong}");
        }
    }
    let compatible = browser.bare(&door, Method::POST, "/v1/responses").send().await.unwrap();
    assert_eq!(compatible.status(), 403);
    let socket = browser
        .bare(&door, Method::GET, "/v1/responses")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(socket.send().await.unwrap().status(), 403);
    assert_eq!(browser.ask(&door, Method::POST, "/api/worlds").await.status(), 422);
    // A program sends its token, which no browser does by itself.
    let token = door.token("cy", Role::Admin).await;
    let with_both = browser.bare(&door, Method::POST, "/api/worlds").bearer_auth(&token);
    assert_eq!(with_both.send().await.unwrap().status(), 422);
    let wrong_token = browser.bare(&door, Method::GET, "/api/me").bearer_auth("awt_wrong");
    assert_eq!(
        wrong_token.send().await.unwrap().status(),
        401,
        "the cookie does not make up for it"
    );
}

#[tokio::test]
async fn a_page_of_another_site_can_do_nothing_with_the_cookie() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Admin).await;
    let browser = sign_in(&door, &token).await;
    let refused = (403, "origin_refused".to_owned());
    let elsewhere: [&[(&str, &str)]; 5] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:1")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
    ];
    for headers in elsewhere {
        let dressed = |mut request: RequestBuilder| {
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            request.send()
        };
        for (method, path) in [
            (Method::GET, "/api/worlds"),
            (Method::GET, "/api/session"),
            (Method::POST, "/api/worlds"),
            (Method::DELETE, "/api/session"),
        ] {
            // Even with the right token, which such a page cannot know.
            let request = browser.bare(&door, method, path).header("x-csrf-token", &browser.csrf);
            assert_eq!(code(dressed(request).await.unwrap()).await, refused, "{path} {headers:?}");
        }
        // Nor can it sign somebody in as somebody else.
        let request = door.request(Method::POST, "/api/session").json(&json!({ "token": token }));
        assert_eq!(code(dressed(request).await.unwrap()).await, refused, "{headers:?}");
    }
    // A form of a page that hides where it comes from sends no JSON.
    let form = door
        .request(Method::POST, "/api/session")
        .header("content-type", "text/plain")
        .body(json!({ "token": token }).to_string());
    assert_eq!(code(form.send().await.unwrap()).await, (415, "not_json".to_owned()));
}

#[tokio::test]
async fn signing_out_ends_the_session_and_its_streams() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Viewer).await;
    let browser = sign_in(&door, &token).await;
    let stream =
        browser.bare(&door, Method::GET, "/api/events").header("accept", "text/event-stream");
    let stream = stream.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let answer = browser.ask(&door, Method::DELETE, "/api/session").await;
    assert_eq!(answer.status(), 204);
    assert!(cookie(&answer).contains("Max-Age=0"));
    let ended = tokio::time::timeout(DEADLINE, stream.bytes());
    ended.await.expect("the stream ends").ok();
    assert_eq!(browser.ask(&door, Method::GET, "/api/me").await.status(), 401);
    assert_eq!(browser.standing(&door).await["name"], NOBODY);
    assert_eq!(browser.ask(&door, Method::DELETE, "/api/session").await.status(), 204);
}

#[tokio::test]
async fn a_session_ends_with_its_token_and_with_its_time() {
    let door = Door::open().await;
    door.token("root", Role::Admin).await;
    let token = door.token("ada", Role::Viewer).await;
    let browser = sign_in(&door, &token).await;
    tokens::revoke(&*door.store, "ada", Last::MayGo, "2026-01-01T00:00:00Z".parse().unwrap())
        .await
        .unwrap();
    door.until(&token, 401).await;
    assert_eq!(browser.ask(&door, Method::GET, "/api/me").await.status(), 401);
    assert_eq!(try_to_sign_in(&door, &token).await.status(), 401);

    let hour = Duration::from_secs(3_600);
    let short = door.token_until("bob", Role::Viewer, Some(hour)).await;
    let short = sign_in(&door, &short).await;
    let long = sign_in(&door, &door.token("cy", Role::Viewer).await).await;
    door.clock.forward(2 * hour);
    assert_eq!(short.ask(&door, Method::GET, "/api/me").await.status(), 401);
    assert_eq!(long.ask(&door, Method::GET, "/api/me").await.status(), 200);
    door.clock.forward(7 * 24 * hour);
    assert_eq!(long.ask(&door, Method::GET, "/api/me").await.status(), 401);
    // One may sign in again over what is left of it.
    let again = long.bare(&door, Method::POST, "/api/session").body(r#"{"token": "x"}"#);
    assert_eq!(code(again.send().await.unwrap()).await, (401, "unauthorized".to_owned()));
}

#[tokio::test]
async fn who_signs_in_again_leaves_no_session_behind() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Viewer).await;
    let first = sign_in(&door, &token).await;
    let again =
        first.bare(&door, Method::POST, "/api/session").body(json!({ "token": token }).to_string());
    assert_eq!(again.send().await.unwrap().status(), 200);
    assert_eq!(first.ask(&door, Method::GET, "/api/me").await.status(), 401);
}

#[tokio::test]
async fn attempts_to_sign_in_are_few_at_a_time() {
    let door = Door::open().await;
    let token = door.token("ada", Role::Viewer).await;
    let mut refused = None;
    for _ in 0..60 {
        let answer = try_to_sign_in(&door, "awt_guess").await;
        if answer.status() == 429 {
            refused = Some(answer);
            break;
        }
        assert_eq!(answer.status(), 401);
    }
    let refused = refused.expect("somebody who guesses is slowed down");
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(code(refused).await.1, "rate_limited");
    // Whoever has a token goes on with it.
    assert_eq!(door.ask(Method::GET, "/api/me", Some(&token)).await.status(), 200);
}
