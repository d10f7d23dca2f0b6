//! Tests of the MCP servers of a world, as a person adds, looks at and removes them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::home::Home;

/// A server that speaks just enough of the protocol, in the shell.
pub const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1.2.3"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"now","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn a_server_is_added_checked_and_removed() {
    let home = Home::new();
    home.run(&["mcp", "list"]).succeeded().says("world demo has no MCP servers");
    home.run(&["mcp", "add", "tiny", "--", "sh", "-c", SERVER])
        .succeeded()
        .says("demo has tiny: sh");
    home.run(&["mcp", "list", "--check"]).succeeded().says("tiny 1.2.3").says("1 tool");
    let listed = home.run(&["mcp", "list", "--check", "--json"]).succeeded().json();
    assert_eq!(listed[0]["health"]["state"], "ready");
    home.run(&["mcp", "add", "broken", "--", "/no/such/program"]).succeeded();
    home.run(&["mcp", "list", "--check"]).with_code(1).says("broken").says("/no/such/program");
    home.run(&["mcp", "remove", "broken"]).succeeded().says("no longer has broken");
    home.run(&["mcp", "remove", "broken"]).with_code(1).warns("it has: tiny");
    home.run(&["mcp", "add", "x"]).with_code(2);
    home.run(&["mcp", "add", "x", "--url", "http://x", "--", "y"]).with_code(2);
    home.run(&["mcp", "list", "-w", "none"]).with_code(1).warns("world none does not exist");
}

#[test]
fn the_usual_file_is_imported_and_its_keys_are_put_away() {
    let home = Home::new();
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    home.run(&["world", "list"]).succeeded();
    let file = home.path().join("servers.json");
    let text = format!(
        r#"{{"mcpServers": {{
            "hub": {{"command": "hub", "args": ["-y"], "env": {{"GITHUB_TOKEN": "{key}", "LEVEL": "1"}}}},
            "loose": {{"command": "loose", "args": ["--token", "{key}"], "disabled": true}},
            "wiki": {{"url": "https://example.com/mcp", "headers": {{"Authorization": "Bearer {key}"}}}}
        }}}}"#
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let told = home.run(&["mcp", "import", file]).succeeded();
    let told = told.says("demo has hub: hub -y").says("put away in the data folder: GITHUB_TOKEN");
    let told = told.says("its arguments or address hold a key");
    assert!(!told.out.contains(key), "{}", told.out);
    assert_eq!(told.out.matches("hold a key").count(), 1, "{}", told.out);
    for command in [
        &["mcp", "list", "--json"][..],
        &["world", "show", "demo", "--json"],
        &["world", "show", "demo"],
        &["events", "tail", "--json", "--after", "0"],
        &["audit", "--json"],
    ] {
        let told = home.run(command).succeeded();
        assert!(!told.out.contains(key), "{command:?}: {}", told.out);
    }
    let listed = home.run(&["mcp", "list", "--json"]).succeeded().json();
    assert!(listed[0]["env"]["GITHUB_TOKEN"].as_str().unwrap().starts_with("${MCP_"));
    assert_eq!(listed[0]["env"]["LEVEL"], "(set)");
    let named = listed[0]["env"]["GITHUB_TOKEN"].as_str().unwrap();
    let stolen = format!("Authorization: {named}");
    let add = ["mcp", "add", "thief", "--url", "https://example.org", "--header", &stolen];
    home.run(&add).with_code(1).warns("kept for keys that were put away");
    std::fs::write(file, "{}").unwrap();
    home.run(&["mcp", "import", file]).with_code(1).warns("mcpServers");
    home.run(&["mcp", "import", "none.json"]).with_code(1).warns("none.json cannot be read");
}

/// Somebody who notes all that is sent to them, and answers that they know nothing.
fn thief() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let all = Arc::clone(&heard);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 1 << 14];
            let length = stream.read(&mut buffer).unwrap_or(0);
            all.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
            let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    (url, heard)
}

#[test]
fn the_key_of_a_server_goes_to_no_other_whatever_a_folder_says() {
    let home = Home::new();
    let key = "sk-of-a-test-0123456789abcdef0123";
    let (own, heard_by_own) = thief();
    let (other, heard_by_other) = thief();
    home.run(&["world", "create", "lab", "--agent", "ada"]).succeeded();
    let header = format!("Authorization: Bearer {key}");
    let add = ["mcp", "add", "wiki", "-w", "lab", "--url", &own, "--header", &header];
    home.run(&add).succeeded().says("put away");
    home.run(&["mcp", "list", "-w", "lab", "--check"]).with_code(1);
    assert!(heard_by_own.lock().unwrap().contains(key), "its own server is given it");

    let path = home.write("x", "");
    let folder = Path::new(&path).with_file_name("lab");
    let path = folder.to_str().unwrap();
    home.run(&["export", "lab", "--folder", "--out", path]).succeeded();
    let file = folder.join("world.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("${MCP_") && text.contains(&own), "{text}");
    // The same server elsewhere, another server of the world, and a server of another world.
    let moved = text.replace(&own, &other);
    let renamed = moved.replace("mcp_servers.wiki", "mcp_servers.evil");
    assert!(renamed != moved, "{text}");
    for (settings, world) in
        [(&moved, "lab"), (&renamed, "lab"), (&moved, "copy"), (&renamed, "evil")]
    {
        fs::write(&file, settings).unwrap();
        match world {
            "lab" => home.run(&["import", path, "--update", "--trust"]).succeeded(),
            world => home.run(&["import", path, "--as", world, "--trust"]).succeeded(),
        };
        let checked = home.run(&["mcp", "list", "-w", world, "--check"]).with_code(1);
        checked.says("holds a key that is kept for another server or address");
    }
    let heard = heard_by_other.lock().unwrap().clone();
    assert!(!heard.contains(key), "{heard}");
}
