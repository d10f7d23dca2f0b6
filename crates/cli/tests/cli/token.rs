//! Tests of `token`, also beside a running server, and of where a server may listen.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::home::{Home, Running, until};

#[test]
fn where_no_token_is_an_admins_it_is_said_that_nobody_can_change_settings() {
    let home = Home::new();
    let made = home.run(&["token", "create", "maria", "--role", "viewer"]).succeeded();
    let made = made.warns("there is no token of an admin").warns("token create NAME --role admin");
    assert!(made.out.starts_with("awt_") && made.out.lines().count() == 1, "{made:?}");
    for (name, role) in [("ada", "admin"), ("ci", "member")] {
        let made = home.run(&["token", "create", name, "--role", role]).succeeded();
        assert!(!made.err.contains("no token of an admin"), "{made:?}");
    }
}

#[test]
fn a_token_is_shown_once_listed_without_its_text_and_revoked() {
    let home = Home::new();
    home.run(&["token", "list"]).succeeded().says("there are no tokens");
    let made = home.run(&["token", "create", "ada", "--role", "admin"]).succeeded();
    let text = made.out.trim().to_owned();
    assert!(text.starts_with("awt_") && text.lines().count() == 1, "{made:?}");
    let made = home
        .run(&["token", "create", "ci", "--role", "member", "--expires", "30d", "--json"])
        .succeeded();
    let made = &made.json()[0];
    assert_eq!((&made["name"], &made["role"]), (&"ci".into(), &"member".into()));
    assert_eq!(made["created_by"], "tester");
    assert!(made["expires_at"].is_string() && made["token"].as_str().unwrap().starts_with("awt_"));
    home.run(&["token", "list"])
        .succeeded()
        .says("ada (tok_")
        .says("admin, does not expire, never used")
        .says("ci (tok_")
        .does_not_say("awt_");
    let listed = home.run(&["token", "list", "--json"]).succeeded().does_not_say("hash").json();
    assert_eq!(listed.len(), 2);
    home.run(&["token", "create", "ADA", "--role", "viewer"]).with_code(1).warns("already");
    home.run(&["token", "create", "a b", "--role", "viewer"]).with_code(1).warns("token's name");
    home.run(&["token", "create", "x", "--role", "owner"]).with_code(2);
    home.run(&["token", "create", "x"]).with_code(2);
    home.run(&["token", "create", "x", "--role", "viewer", "--expires", "soon"]).with_code(2);
    home.run(&["token", "create", "x", "--role", "viewer", "--expires", "2001-01-01"])
        .with_code(1)
        .warns("has passed");
    let revoked = home.run(&["token", "revoke", "ada"]).succeeded().says("ada is revoked");
    revoked.does_not_say("last token");
    let last = home.run(&["token", "revoke", listed[1]["id"].as_str().unwrap()]).succeeded();
    last.says("that was the last token").says("everybody on this machine");
    home.run(&["token", "create", "eve", "--role", "viewer"]).succeeded();
    let last = home.run(&["token", "revoke", "eve", "--json"]).succeeded().json();
    assert_eq!(last[0], serde_json::json!({"revoked": "eve", "last": true}));
    home.run(&["token", "revoke", "ada"]).with_code(1).warns("there is no token ada");
    home.run(&["token", "list", "--json"]).succeeded().says_nothing();
}

#[test]
fn a_running_server_notices_tokens_that_are_made_and_revoked_beside_it() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&server);
    server.wait_for(&format!("curl http://{address}/api/worlds"));
    assert_eq!(status(&address, None), 200);
    let made = home.run(&["token", "create", "ada", "--role", "viewer"]).succeeded();
    let ada = made.out.trim();
    until("a server that wants a token", || status(&address, None) == 401);
    assert_eq!(status(&address, Some(ada)), 200);
    let made = home.run(&["token", "create", "bob", "--role", "viewer"]).succeeded();
    home.run(&["token", "revoke", "ada"]).succeeded();
    until("a server that refuses it", || status(&address, Some(ada)) == 401);
    let bob = made.out.trim();
    assert_eq!(status(&address, Some(bob)), 200);
    home.run(&["token", "revoke", "bob"]).succeeded().says("the last token");
    until("a server that is open again", || status(&address, None) == 200);
    server.signal("TERM");
    let ended = server.wait();
    assert_eq!(ended.code, 0);
    ended.warns("the last token was revoked");
}

#[test]
fn other_machines_are_let_in_only_when_there_is_a_token() {
    let home = Home::new();
    home.run(&["serve", "--listen", "0.0.0.0:0"])
        .with_code(1)
        .warns("agent-world token create NAME --role admin");
    let made = home.run(&["token", "create", "ada", "--role", "admin"]).succeeded();
    let server = home.start(&["serve", "--listen", "0.0.0.0:0"]);
    server.wait_for("curl -H \"Authorization: Bearer $TOKEN\" http://");
    let address = address(&server).replace("0.0.0.0", "127.0.0.1");
    assert_eq!(status(&address, Some(made.out.trim())), 200);
    assert_eq!(status(&address, None), 401);
    // Nobody could come in any more, and nobody could see to it from elsewhere.
    home.run(&["token", "revoke", "ada"]).with_code(1).warns("the last token that lets anybody in");
    let (asked, text) = revoke(&address, "ada", made.out.trim());
    assert!(asked == 409 && text.contains("last_token"), "{asked} {text}");
    assert_eq!(status(&address, Some(made.out.trim())), 200);
    let bob = home.run(&["token", "create", "bob", "--role", "admin"]).succeeded();
    home.run(&["token", "revoke", "ada"]).succeeded();
    until("a server that refuses it", || status(&address, Some(made.out.trim())) == 401);
    assert_eq!(status(&address, Some(bob.out.trim())), 200);
    server.signal("TERM");
    assert_eq!(server.wait().code, 0);
    home.run(&["token", "revoke", "bob"]).succeeded().says("the last token");
}

/// Where a server says it listens.
fn address(server: &Running) -> String {
    server.wait_for("/docs");
    let out = server.out();
    let (_, rest) = out.split_once("listens on http://").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

/// What `/api/me` is answered with.
fn status(address: &str, token: Option<&str>) -> u16 {
    ask(address, "GET /api/me", token).0
}

/// Revokes a token over HTTP.
fn revoke(address: &str, name: &str, token: &str) -> (u16, String) {
    ask(address, &format!("DELETE /api/tokens/{name}"), Some(token))
}

fn ask(address: &str, line: &str, token: Option<&str>) -> (u16, String) {
    let token =
        token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split_whitespace().nth(1).unwrap().parse().unwrap(), answer)
}
