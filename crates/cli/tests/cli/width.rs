//! Tests that tables fit a terminal, and are whole where nobody looks at them.

use crate::home::Home;

/// What a command shows on a terminal of this many columns.
fn shown(home: &Home, columns: usize, command: &str) -> String {
    let program = env!("CARGO_BIN_EXE_agent-world");
    let command = format!("stty cols {columns}; {program} {command}");
    let mut running = home.start_terminal(&[("TERM", "dumb")], &command);
    running.close();
    running.wait().succeeded().out.replace("\r\n", "\n")
}

#[test]
fn no_line_of_a_table_is_wider_than_the_terminal() {
    let home = Home::new();
    let title = "a title that is far too long for any terminal of eighty columns, as titles are";
    home.run(&["chat", "create", "--title", title]).succeeded();
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    let waiting = format!("run echo {}", "word ".repeat(40));
    home.leave_waiting(waiting.trim());
    for command in
        ["chat list", "approvals list", "tool list", "world list", "agent list", "stats", "audit"]
    {
        let shown = shown(&home, 80, command);
        assert!(shown.lines().count() > 0, "{command}");
        // What is said below a table is prose.
        for line in shown.lines().filter(|line| !line.contains(" tools in world ")) {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
    let listed = shown(&home, 80, "chat list");
    assert!(listed.starts_with("CHAT ") && listed.contains("  a title"), "{listed}");
    assert!(listed.contains('…') && !listed.contains(title), "{listed}");
    home.run(&["chat", "list"]).succeeded().says(title);
}
