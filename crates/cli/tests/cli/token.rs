//! Tests of `token`, also beside a running server, and of where a server may listen.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::home::{Home, Running, until};

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
    home.run(&["token", "revoke", "ada"]).succeeded().says("ada is revoked");
    home.run(&["token", "revoke", listed[1]["id"].as_str().unwrap()]).succeeded();
    home.run(&["token", "revoke", "ada"]).with_code(1).warns("there is no token ada");
    home.run(&["token", "list", "--json"]).succeeded().says_nothing();
}

#[test]
fn a_running_server_notices_tokens_that_are_made_and_revoked_beside_it() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&server);
    assert_eq!(status(&address, None), 200);
    let made = home.run(&["token", "create", "ada", "--role", "viewer"]).succeeded();
    let ada = made.out.trim();
    until("a server that wants a token", || status(&address, None) == 401);
    assert_eq!(status(&address, Some(ada)), 200);
    let made = home.run(&["token", "create", "bob", "--role", "viewer"]).succeeded();
    home.run(&["token", "revoke", "ada"]).succeeded();
    until("a server that refuses it", || status(&address, Some(ada)) == 401);
    assert_eq!(status(&address, Some(made.out.trim())), 200);
    server.signal("TERM");
    assert_eq!(server.wait().code, 0);
}

#[test]
fn other_machines_are_let_in_only_when_there_is_a_token() {
    let home = Home::new();
    home.run(&["serve", "--listen", "0.0.0.0:0"])
        .with_code(1)
        .warns("agent-world token create NAME --role admin");
    let made = home.run(&["token", "create", "ada", "--role", "admin"]).succeeded();
    let server = home.start(&["serve", "--listen", "0.0.0.0:0"]);
    let address = address(&server).replace("0.0.0.0", "127.0.0.1");
    assert_eq!(status(&address, Some(made.out.trim())), 200);
    assert_eq!(status(&address, None), 401);
    home.run(&["token", "revoke", "ada"]).succeeded();
    until("a server that lets nobody in", || status(&address, Some(made.out.trim())) == 401);
    assert_eq!(status(&address, None), 401);
    server.signal("TERM");
    assert_eq!(server.wait().code, 0);
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
    let token =
        token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /api/me HTTP/1.1\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_whitespace().nth(1).unwrap().parse().unwrap()
}
