//! Tests of what commands say about settings that hardly can be meant, and of mistakes on the command line.

use crate::home::Home;

#[test]
fn a_model_or_a_tool_that_is_not_there_is_warned_of() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let create = ["agent", "create", "eve", "--model", "nobody/knows", "--tools", "shell_cmd,fooo"];
    let made = home.run(&create).succeeded();
    made.warns("warning: nobody/knows cannot be asked now").warns("has no tool `fooo`");
    let fine = home.run(&["agent", "update", "eve", "--model", "demo/demo", "--tools", "*"]);
    assert_eq!(fine.succeeded().err, "");
    let worse =
        home.run(&["agent", "update", "eve", "--set", "tools=[\"read_fil\",\"wiki.read\"]"]);
    let worse = worse.succeeded().warns("has no tool `read_fil`");
    assert!(!worse.err.contains("wiki.read"), "those of servers are not known: {worse:?}");
    let rules = r#"{"rules": [{"id": "all", "ruling": "allow", "tool": "shel_cmd"}]}"#;
    let file = home.write("rules.json", rules);
    let set = home.run(&["policy", "set", &file]).succeeded();
    set.warns("world demo has no tool `shel_cmd`");
}

#[test]
fn a_server_is_not_replaced_without_a_word() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let wrong = home.run(&["mcp", "add", "wiki", "--url", "wiki.example"]).with_code(2);
    wrong.warns("it is no URL");
    for url in ["ftp://wiki.example/x", "http://"] {
        home.run(&["mcp", "add", "wiki", "--url", url]).with_code(2);
    }
    home.run(&["mcp", "add", "wiki", "--url", "https://${HOST}/mcp"]).succeeded();
    let first = home.run(&["mcp", "add", "time", "--", "clock"]).succeeded();
    assert_eq!(first.err, "");
    let second = home.run(&["mcp", "add", "time", "--", "watch"]).succeeded();
    second.warns("this replaced the server time: clock").says("demo has time: watch");
}

#[test]
fn a_file_is_not_written_over_unless_that_is_said() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let file = home.write("world.json", "mine");
    let refused = home.run(&["export", "demo", "--out", &file]).with_code(2);
    refused.warns("exists already; add --force to write over it");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    home.run(&["export", "demo", "--out", &file, "--force"]).succeeded();
    assert_ne!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn what_the_environment_says_is_in_no_usage_line() {
    let home = Home::new();
    for wrong in [&["approvals", "approve"][..], &["policy", "set"], &["chat", "list", "--new"]] {
        let ended = home.run(wrong).with_code(2).warns("Usage: agent-world ");
        assert!(!ended.err.contains("--data"), "{ended:?}");
    }
    let broken = [("AGENT_WORLD_LISTEN", "nowhere")];
    home.run_where(&broken, &["serve"]).with_code(2).warns("nowhere");
    home.run(&["policy", "test"]).with_code(2).warns("agent-world policy test -- git status");
}
