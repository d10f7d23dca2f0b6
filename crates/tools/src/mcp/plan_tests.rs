//! What becomes of a server's settings before it is started.

use serde_json::json;

use super::*;

fn variables() -> Vec<(OsString, OsString)> {
    [("PATH", "/bin"), ("OPENAI_API_KEY", "sk-parent"), ("TOKEN", "t0ken-value")]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec()
}

fn plan(settings: Value) -> Result<(Plan, Secrets), String> {
    let server: McpServer = serde_json::from_value(settings).unwrap();
    let mut secrets = Secrets::default();
    Plan::make(&server, &variables(), None, &mut secrets).map(|plan| (plan, secrets))
}

#[test]
fn a_program_gets_the_harmless_variables_and_its_own() {
    let settings = json!({
        "command": "run", "args": ["--token=${TOKEN}"], "env": {"KEY": "${TOKEN}!", "PATH": "/own"}
    });
    let (Plan::Stdio(program), secrets) = plan(settings).unwrap() else { panic!("not stdio") };
    assert_eq!(program.args, ["--token=t0ken-value"]);
    let environment: Vec<String> = program
        .environment
        .iter()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    assert_eq!(environment, ["KEY=t0ken-value!", "PATH=/own"]);
    assert_eq!(secrets.mask("t0ken-value! and t0ken-value"), "*** and ***");
}

#[test]
fn the_parents_keys_are_only_there_when_asked_for() {
    let (Plan::Stdio(program), _) = plan(json!({"command": "run"})).unwrap() else {
        panic!("not stdio")
    };
    assert!(!program.environment.iter().any(|(_, value)| value == "sk-parent"));
}

#[test]
fn an_address_and_its_headers_are_checked_without_being_quoted() {
    let (Plan::Http(endpoint), secrets) = plan(json!({
        "url": "https://ada:pass-word@example.com/mcp?key=query-key",
        "headers": {"Authorization": "Bearer ${TOKEN}"}
    }))
    .unwrap() else {
        panic!("not http")
    };
    assert!(endpoint.has_credentials());
    assert_eq!(secrets.mask("pass-word query-key t0ken-value"), "*** *** ***");
    assert!(!format!("{:?}", endpoint.headers).contains("t0ken"));
    for (settings, words) in [
        (json!({"url": "ftp://example.com"}), "no http or https address"),
        (json!({"url": "http://x", "headers": {"a b": "s3cret"}}), "no name for a header"),
        (json!({"url": "http://x", "headers": {"X": "s3cret\n"}}), "cannot be sent"),
        (json!({"url": "http://x", "headers": {"Mcp-Session-Id": "s3cret"}}), "by the protocol"),
        (json!({"url": "http://x/${NOT_SET}"}), "NOT_SET is not set"),
        (json!({"url": "http://x", "oauth": {"grant": "s3cret"}}), "`oauth` settings"),
        (json!({"command": "x", "cwd": "/no/such/folder"}), "does not exist"),
    ] {
        let error = plan(settings).map(|_| ()).unwrap_err();
        assert!(error.contains(words) && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn a_target_shows_no_secret_and_changes_with_the_arguments() {
    let read = |settings: Value| {
        let server: McpServer = serde_json::from_value(settings).unwrap();
        target(&server.transport)
    };
    let one = read(json!({"command": "run", "args": ["--key", "s3cret"], "env": {"A": "s3cret"}}));
    let other = read(json!({"command": "run", "args": ["--key", "another"]}));
    assert!(one.starts_with("run with arguments sha256:") && !one.contains("s3cret"), "{one}");
    assert_ne!(one, other);
    let http = read(json!({"url": "https://ada:s3cret@example.com:8/mcp?key=s3cret"}));
    assert!(http.starts_with("https://example.com:8 (sha256:"), "{http}");
}
