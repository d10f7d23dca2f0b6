//! Tests of showing which tools agents have.

use crate::home::Home;
use crate::mcp::SERVER;

#[test]
fn tools_are_listed_with_what_they_say_about_themselves() {
    let home = Home::new();
    let listed = home.run(&["tool", "list"]).succeeded().says("tools in world demo");
    let line = |name: &str| listed.out.lines().find(|line| line.starts_with(name)).unwrap();
    for (name, says) in [
        ("shell_cmd", ["built in", "ask", "destructive", "Runs one program"]),
        ("read_file", ["built in", "allow", "read-only", "Reads lines"]),
    ] {
        assert!(says.iter().all(|says| line(name).contains(says)), "{}", line(name));
    }
    // What is piped is whole.
    assert!(line("read_file").ends_with("Very long lines are cut, and say so."), "{}", listed.out);
    assert!(!listed.out.contains('…'), "{}", listed.out);
    let json = home.run(&["tool", "list", "-w", "demo", "--json"]).succeeded().json();
    let shell = json.iter().find(|tool| tool["name"] == "shell_cmd").unwrap();
    assert_eq!((&shell["source"], &shell["destructive"]), (&"built_in".into(), &true.into()));
    assert_eq!(shell["approval"]["required"], true);
    assert_eq!(shell["schema"]["type"], "object");
}

#[test]
fn everything_about_one_tool_is_shown() {
    let home = Home::new();
    let shown = home.run(&["tool", "show", "read_file"]).succeeded();
    let shown =
        shown.says("offered to  ada, bob").says("effect      read-only").says("\"path\": {");
    let (_, schema) = shown.out.split_once("arguments, as JSON Schema:\n").unwrap();
    assert!(schema.starts_with("  {\n    \"type\": ") && schema.ends_with("\n  }\n"), "{schema}");
    let json = home.run(&["tool", "show", "read_file", "--json"]).succeeded().json();
    assert_eq!(json[0]["schema"]["type"], "object");
    assert_eq!(json[0]["offered_to"], serde_json::json!(["ada", "bob"]));
    let unknown = home.run(&["tool", "show", "fly\u{1b}[2J"]).with_code(1);
    let unknown = unknown.warns("world demo has no tool `fly");
    assert!(!unknown.err.contains('\u{1b}'), "{}", unknown.err);
}

#[test]
fn tools_of_servers_are_listed_and_tried_and_a_server_that_gives_none_is_named() {
    let home = Home::new();
    home.run(&["mcp", "add", "tiny", "--", "sh", "-c", SERVER]).succeeded();
    home.run(&["mcp", "add", "broken", "--", "/no/such/program"]).succeeded();
    let listed = home.run(&["tool", "list", "--json"]).succeeded();
    let of_tiny = |tool: &serde_json::Value| tool["source_name"] == "tiny";
    let tools = listed.json();
    let name = tools.into_iter().find(of_tiny).unwrap()["name"].as_str().unwrap().to_owned();
    listed.warns("the MCP server broken gives no tools; `agent-world mcp list -w demo --check`");
    home.run(&["tool", "list"]).succeeded().says("server tiny");
    home.run(&["tool", "show", &name]).succeeded().says(&format!("{name}  server tiny"));
    let test = ["policy", "test", "--tool", &name, "--arguments", "{}"];
    home.run(&test).succeeded().says("ask by what the tool declares");
    let told = home.run(&["doctor"]).succeeded();
    told.says("demo: 2 MCP servers; `agent-world mcp list -w demo --check` tries them");
}
