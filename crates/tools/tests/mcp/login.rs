//! Servers over HTTP that want to know who we are, and such that answer without end.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use agent_world_tools::Source;
use agent_world_tools::mcp::{Options, Protocol, State};
use serde_json::{Value, json};

use super::stage::{Stage, is_failed, is_ready, options, words};
use super::web::{Asked, Told, Web};

fn older() -> Options {
    Options { protocol: Protocol::Older, ..options() }
}

/// Answers as an MCP server of the older era with one tool.
fn served(asked: &Asked, call: impl Fn(&Value) -> Told) -> Told {
    if asked.method != "POST" {
        return Told::status("405 Method Not Allowed");
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap();
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"}
        }),
        "tools/list" => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        "tools/call" => return call(id),
        _ => return Told::status("202 Accepted"),
    };
    Told::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn done(id: &Value) -> Told {
    let content = json!([{"type": "text", "text": "done"}]);
    Told::json(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}}))
}

/// A server behind a login, and the authorization server in one.
async fn guarded() -> Web {
    Web::start(|origin, asked| {
        let path = asked.path.split('?').next().unwrap();
        match path {
            "/mcp"
                if asked.headers.get("authorization").map(String::as_str)
                    == Some("Bearer t0ken-1") =>
            {
                served(asked, done)
            }
            "/mcp" => {
                let challenge = format!(
                    "Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource\""
                );
                Told::status("401 Unauthorized").header("www-authenticate", challenge)
            }
            "/.well-known/oauth-protected-resource" => Told::json(&json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [origin]
            })),
            "/.well-known/oauth-authorization-server" => Told::json(&json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"]
            })),
            "/register" => {
                let sent: Value = serde_json::from_str(&asked.body).unwrap();
                Told::json(&json!({"client_id": "c1", "redirect_uris": sent["redirect_uris"]}))
            }
            "/token" => Told::json(&json!({
                "access_token": "t0ken-1", "token_type": "bearer", "expires_in": 3600
            })),
            _ => Told::status("404 Not Found"),
        }
    })
    .await
}

fn parameter(url: &str, name: &str) -> String {
    let url = reqwest::Url::parse(url).unwrap();
    url.query_pairs().find(|(one, _)| one == name).unwrap().1.into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_and_the_token_is_kept_for_the_next_run() {
    let web = guarded().await;
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { tokens: Some(folder.path().join("tokens")), ..older() };
    let settings = json!({"url": format!("{}/mcp", web.origin)});
    let stage = Stage::with(options(), &[("web", settings.clone())]);
    stage.names();
    let waiting = stage.until(|health| health.authorize_at.is_some()).await;
    assert!(matches!(waiting.state, State::Failed { next_attempt: None, .. }), "{waiting:?}");
    let url = waiting.authorize_at.unwrap();
    assert_eq!(parameter(&url, "code_challenge_method"), "S256");
    assert_eq!(parameter(&url, "resource"), format!("{}/mcp", web.origin));
    let redirect = parameter(&url, "redirect_uri");
    assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    // Somebody else's redirect is not taken for the awaited one; then the browser comes back.
    visit(&format!("{redirect}?code=evil&state=forged")).await;
    visit(&format!("{redirect}?code=c0de&state={}", parameter(&url, "state"))).await;
    stage.until(is_ready).await;
    assert_eq!(stage.call("web.t", json!({})).await.unwrap().text, "done");
    assert!(!format!("{:?} {:?}", stage.servers, stage.health()).contains("t0ken"));
    let tokens: Vec<Value> = web
        .asked
        .lock()
        .unwrap()
        .iter()
        .filter(|one| one.path == "/token")
        .map(|one| json!(one.body))
        .collect();
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0].as_str().unwrap().contains("code=c0de"), "{tokens:?}");
    stage.servers.close().await;

    let kept: Vec<_> = std::fs::read_dir(folder.path().join("tokens")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let again = Stage::with(options(), &[("web", settings)]);
    again.names();
    again.until(is_ready).await;
    assert!(again.only().last_error.is_none(), "{:?}", again.only());
}

async fn visit(address: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedders_own_page_hands_the_redirect_over() {
    let web = guarded().await;
    let redirect = agent_world_tools::mcp::Redirect::To("https://agents.example/back".to_owned());
    let settings = json!({"url": format!("{}/mcp", web.origin)});
    let stage = Stage::with(Options { redirect, ..older() }, &[("web", settings)]);
    stage.names();
    let id = stage.world.id.clone();
    let early = stage.servers.redirected(&id, "web", "https://agents.example/back?code=c&state=s");
    assert!(early.unwrap_err().contains("waits for no login"));
    let url = stage.until(|health| health.authorize_at.is_some()).await.authorize_at.unwrap();
    assert_eq!(parameter(&url, "redirect_uri"), "https://agents.example/back");
    let state = parameter(&url, "state");
    let back = format!("https://agents.example/back?code=c&state={state}");
    stage.servers.redirected(&id, "web", back).unwrap();
    stage.until(is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_the_settings_are_sent_and_when_refused_nobody_is_asked() {
    let web = guarded().await;
    let url = format!("{}/mcp", web.origin);
    let good = json!({"url": url, "headers": {"Authorization": "Bearer t0ken-1"}});
    let stage = Stage::with(older(), &[("web", good)]).ready().await;
    stage.call("web.t", json!({})).await.unwrap();
    let bad = json!({"url": url, "headers": {"Authorization": "Bearer wr0ng-token"}});
    let stage = Stage::with(older(), &[("web", bad)]);
    stage.names();
    let failed = stage.until(is_failed).await;
    let error = failed.last_error.unwrap().error;
    assert!(error.contains("does not accept the Authorization header"), "{error}");
    assert!(failed.authorize_at.is_none() && !error.contains("wr0ng"));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_do_not_follow_a_redirect_to_another_host() {
    let other = Web::start(|_, _| Told::status("200 OK")).await;
    let to = other.origin.clone();
    let web = Web::start(move |_, _| {
        Told::status("307 Temporary Redirect").header("location", format!("{to}/mcp"))
    })
    .await;
    let settings = json!({"url": format!("{}/mcp", web.origin), "headers": {"X-Key": "s3cret"}});
    let stage = Stage::with(older(), &[("web", settings)]);
    stage.names();
    stage.until(is_failed).await;
    assert!(!web.paths().is_empty() && other.paths().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_end_are_cut_off() {
    for kind in ["application/json", "text/event-stream"] {
        let web = Web::start(move |_, asked| {
            served(asked, |_| Told {
                status: "200 OK",
                headers: vec![("content-type", kind.to_owned())],
                body: b"data: xxxxxxxxxxxxxxxxxxxxxxxx".repeat(1000),
                times: usize::MAX,
            })
        })
        .await;
        let settings = json!({"url": format!("{}/mcp", web.origin), "timeout_seconds": 20});
        let stage = Stage::with(older(), &[("web", settings)]).ready().await;
        let text = words(stage.call("web.t", json!({})).await);
        assert!(text.contains("MCP server `web`"), "{kind}: {text}");
        assert!(!text.contains("did not answer within"), "{kind}: {text}");
        tokio::time::timeout(Duration::from_secs(20), stage.servers.close()).await.unwrap();
    }
}
