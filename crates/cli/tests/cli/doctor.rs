//! Tests of being told what is missing and how to fix it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::home::{Ended, Home};
use crate::init::{KEY, vendor};

/// Whether this machine can confine programs is no matter of the test.
const ALIEN: &str = "sandbox";
const NO_KEYS: &[(&str, &str)] = &[("OPENAI_API_KEY", ""), ("ANTHROPIC_API_KEY", "")];

fn findings(ended: &Ended) -> Vec<Value> {
    ended.json().into_iter().filter(|finding| finding["area"] != ALIEN).collect()
}

#[track_caller]
fn found<'a>(findings: &'a [Value], says: &str) -> &'a Value {
    let fits = |finding: &&Value| finding["says"].as_str().unwrap().contains(says);
    findings.iter().find(fits).unwrap_or_else(|| panic!("{says:?} is not among {findings:#?}"))
}

fn allow(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_new_machine_is_told_of_and_nothing_is_made() {
    let home = Home::new();
    let told = home.run_where(NO_KEYS, &["doctor"]).succeeded();
    let told = told.says("is made at the first use").says("landlock").says("bubblewrap");
    let told = told.says("without a key: anthropic, azure, deepseek, ").says("demo needs nothing");
    told.says("tools built in; ").says("there is no world yet").does_not_say("problem");
    assert!(!home.path().exists(), "a look makes nothing");
}

#[test]
fn keys_are_known_and_never_shown() {
    let home = Home::new();
    home.run(&["world", "create", "lab", "--agent", "ada:openai/gpt-5"]).succeeded();
    let without = home.run_where(NO_KEYS, &["doctor", "--json"]).with_code(1);
    let all = findings(&without);
    let problem = found(&all, "agent ada cannot ask openai/gpt-5: openai has no key");
    assert_eq!(problem["state"], "problem");
    assert!(problem["fix"].as_str().unwrap().contains("set OPENAI_API_KEY"), "{problem}");
    let keys = [("OPENAI_API_KEY", "hunter2hunter2"), ("ANTHROPIC_API_KEY", "sk-ant-hunter2")];
    for arguments in [&["doctor"][..], &["doctor", "--json"]] {
        let with = home.run_where(&keys, arguments).succeeded();
        let with = with.says("openai has a key, from OPENAI_API_KEY").does_not_say("hunter2");
        assert!(!with.err.contains("hunter2"), "{}", with.err);
    }
}

#[test]
fn programs_are_told_for_each_vendor_what_to_do() {
    let home = Home::new();
    let all = findings(&home.run_where(NO_KEYS, &["doctor", "--json"]).succeeded());
    for (vendor, variable) in [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")] {
        let finding = found(&all, &format!("{vendor} has no key"));
        assert_eq!(finding["state"], "ok");
        assert!(finding["fix"].as_str().unwrap().contains(variable), "{finding}");
    }
    assert!(all.iter().all(|one| !one["says"].as_str().unwrap().contains("without a key: ")));
}

#[test]
fn vendors_are_asked_for_their_models_where_that_is_wanted() {
    let home = Home::new();
    let [mine, other] = [vendor(), vendor()];
    home.run(&["world", "list"]).succeeded();
    let text = format!(
        "[vendors.mine]\nbase_url = '{mine}'\nkey = '{KEY}'\n\
         [vendors.other]\nbase_url = '{other}'\nkey = 'sk-that-is-wrong'\n"
    );
    fs::write(home.path().join("agent-world.toml"), text).unwrap();
    let agents = ["--agent", "ada:mine/good", "--agent", "bob:mine/goood"];
    home.run(&[&["world", "create", "lab"], &agents[..]].concat()).succeeded();
    home.run(&["doctor"]).succeeded().does_not_say("does not list");
    let asked = home.run(&["doctor", "--online", "--json"]).succeeded();
    let all = findings(&asked);
    assert_eq!(found(&all, "mine answers and lists mine/good")["state"], "ok");
    let wrong = found(&all, "lab: agent bob asks mine/goood, which mine does not list");
    assert_eq!(wrong["state"], "warning");
    assert_eq!(wrong["fix"], "agent-world agent update bob -w lab --model mine/NAME");
    home.run(&["agent", "create", "eve", "-w", "lab", "--model", "other/good"]).succeeded();
    let refused = home.run(&["doctor", "--online"]).with_code(1);
    refused.says("other/good cannot be asked").says("wrong key").does_not_say("sk-that-is-wrong");
}

#[test]
fn settings_are_looked_at_without_fetching_or_showing_a_key() {
    let home = Home::new();
    home.run(&["world", "list"]).succeeded();
    let settings = home.path().join("agent-world.toml");
    let ran = home.path().join("ran");
    let text = format!(
        "[vendors.openai]\nkey = {{ command = ['touch', '{}'] }}\n[vendors.mine]\n\
         base_url = 'http://127.0.0.1:1'\nkey = 'hunter2'\n",
        ran.display()
    );
    fs::write(&settings, text).unwrap();
    allow(&settings, 0o644);
    let told = home.run(&["doctor"]).succeeded();
    let told = told.says("openai gets its key from the program touch").does_not_say("hunter2");
    told.says("mine has a key, from agent-world.toml").says("only its owner can read it");
    assert!(!ran.exists(), "no command is run for a key");
    allow(&home.path(), 0o755);
    let told = home.run(&["doctor"]).succeeded();
    let told = told.says("holds keys and can be read by others (mode 644)").says("chmod 600");
    told.says("is open to others (mode 755)").says("chmod 700");
    let secrets = home.path().join("mcp-secrets.json");
    fs::write(&secrets, r#"{"A": "hunter2"}"#).unwrap();
    allow(&secrets, 0o640);
    let told = home.run(&["doctor"]).succeeded().does_not_say("hunter2");
    told.says("mcp-secrets.json holds keys and can be read by others (mode 640)");
    fs::write(&settings, "[vendors.mine]\nkey = ['hunter2']\n").unwrap();
    let broken = home.run(&["doctor"]).with_code(1).says("problem  ").says("line 2");
    broken.does_not_say("hunter2").says("demo needs nothing");
}

#[test]
fn what_is_wrong_with_a_world_is_told() {
    let home = Home::new();
    let gone = tempfile::tempdir().unwrap();
    let directory = gone.path().to_str().unwrap();
    let create = ["world", "create", "lab", "--agent", "ada:nosuch/x", "--sandbox", "off"];
    home.run(&[&create[..], &["--directory", directory]].concat()).succeeded();
    home.run(&["world", "create", "empty"]).succeeded();
    gone.close().unwrap();
    let ended = home.run_where(NO_KEYS, &["doctor", "--json"]).with_code(1);
    let all = findings(&ended);
    for (says, state, fix) in [
        ("is there, for its owner only", "ok", None),
        ("with 2 worlds", "ok", None),
        ("lab: its working directory", "problem", Some("world update lab --directory DIR")),
        ("lab: programs run without a sandbox", "warning", Some("world update lab --sandbox on")),
        ("lab: agent ada cannot ask nosuch/x", "problem", Some("agent-world.toml")),
        ("empty: it has no agents", "warning", Some("--agent ada")),
        ("empty: tools work in", "ok", None),
    ] {
        let finding = found(&all, says);
        assert_eq!(finding["state"], state, "{finding}");
        let told = finding["fix"].as_str();
        assert_eq!(told.is_some(), fix.is_some(), "{finding}");
        assert!(told.unwrap_or_default().contains(fix.unwrap_or_default()), "{finding}");
    }
    home.run(&["doctor"]).with_code(1).says("2 problems, ");
}

#[test]
fn a_store_or_folder_that_cannot_be_used_is_a_problem_and_the_rest_is_still_told() {
    let home = Home::new();
    fs::create_dir(home.path()).unwrap();
    fs::write(
        home.database(),
        "this is no store at all, but it is long enough to look at".repeat(99),
    )
    .unwrap();
    let told =
        home.run(&["doctor"]).with_code(1).says("cannot be opened").says("demo needs nothing");
    told.says("1 problem, ");
    let file = home.write("file", "");
    let told = home.run(&["--data", &file, "doctor"]).with_code(1).says("is not a folder");
    told.says("--data DIR").says("demo needs nothing");
    let below = format!("{file}/below");
    home.run(&["--data", &below, "doctor"]).with_code(1).says("problem  ");
}
