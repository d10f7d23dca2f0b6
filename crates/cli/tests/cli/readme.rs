//! Tests that what the README shows works as typed.

use crate::home::Home;
use crate::serve::address;

const README: &str = include_str!("../../../../README.md");

/// The scripts of a section.
fn scripts(section: &str) -> Vec<&'static str> {
    let heading = format!("\n## {section}\n");
    let (_, text) = README.split_once(&heading).expect("the section is in the README");
    let text = text.split_once("\n## ").map_or(text, |(section, _)| section);
    let blocks = text.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0).collect()
}

#[test]
fn what_is_said_about_what_agents_may_do_works_as_typed() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let scripts = scripts("What agents may do");
    assert!(!scripts.is_empty());
    for script in scripts {
        let ended = home.run_script(script, folder.path()).succeeded();
        let shown = script.matches("agent-world ").count();
        assert!(shown > 3 && ended.out.lines().count() >= shown, "{ended:#?}");
    }
    home.run(&["verify"]).succeeded();
}

#[test]
fn what_is_said_about_requests_over_http_works_as_typed() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&server);
    let [script] = scripts("Over HTTP")[..] else { panic!("one script shows the requests") };
    let script = script.replace("127.0.0.1:7420", &address);
    let folder = tempfile::tempdir().unwrap();
    let ended = home.run_script(&script, folder.path()).succeeded();
    ended.says("ready").says("approve").says("agent_world_pending_approvals ");
    server.signal("TERM");
    server.wait().succeeded();
}
