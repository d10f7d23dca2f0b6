//! Checks which rule or grant speaks about a call, and which of them is stronger.

use serde_json::json;

use super::pattern::glob;
use super::*;

fn spec(required: bool) -> ToolSpec {
    let mut spec = ToolSpec::new("shell_cmd", "runs a command", json!({ "type": "object" }));
    spec.approval.required = required;
    spec
}

fn rule(id: &str, ruling: Ruling, tool: &str) -> Rule {
    Rule::new(id, ruling, tool)
}

fn like(pointer: &str, pattern: &str) -> Vec<Match> {
    vec![Match { pointer: pointer.to_owned(), test: Test::Glob(pattern.to_owned()) }]
}

fn equal(pointer: &str, value: Value) -> Vec<Match> {
    vec![Match { pointer: pointer.to_owned(), test: Test::Equals(value) }]
}

fn grant(id: &str, agent: &str, tool: &str) -> Grant {
    Grant {
        id: id.into(),
        agent: agent.into(),
        tool: tool.to_owned(),
        matches: Vec::new(),
        approval: "apr_1".into(),
        by: "human".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    }
}

fn verdict(
    policy: &Policy,
    grants: &[Grant],
    spec: &ToolSpec,
    arguments: &Value,
) -> (Ruling, String) {
    let agent = AgentId::new("ada");
    let question = Question { agent: &agent, tool: &spec.name, arguments, directory: None };
    let verdict = judge(policy, grants, spec, question);
    let ground = match verdict.ground {
        Ground::Rule(id) => id.to_string(),
        Ground::Grant(id) => id.to_string(),
        Ground::Preset(preset) => preset.to_string(),
        Ground::CommandLine => "line".to_owned(),
        Ground::Tool => "tool".to_owned(),
    };
    (verdict.ruling, ground)
}

#[track_caller]
fn check(rules: Vec<Rule>, granted: Vec<Rule>, grants: &[Grant], expected: (Ruling, &str)) {
    let policy = Policy { rules: rules.into(), granted: granted.into(), preset: Preset::default() };
    let found = verdict(&policy, grants, &spec(true), &json!({ "command": "ls -l" }));
    assert_eq!((found.0, found.1.as_str()), expected);
}

#[test]
fn without_a_rule_the_tool_decides() {
    let nothing = Policy::default();
    let arguments = json!({ "command": "ls" });
    assert_eq!(verdict(&nothing, &[], &spec(true), &arguments), (Ruling::Ask, "tool".into()));
    assert_eq!(verdict(&nothing, &[], &spec(false), &arguments), (Ruling::Allow, "tool".into()));
}

#[test]
fn the_first_rule_that_matches_decides() {
    use Ruling::{Allow, Ask};
    check(
        vec![rule("a", Ask, "other"), rule("b", Allow, "shell_*"), rule("c", Ask, "*")],
        vec![],
        &[],
        (Allow, "b"),
    );
}

#[test]
fn a_denial_wins_wherever_it_stands() {
    use Ruling::{Allow, Deny};
    check(
        vec![rule("a", Allow, "*"), rule("b", Deny, "shell_cmd")],
        vec![rule("g", Allow, "shell_cmd")],
        &[grant("grant", "ada", "shell_cmd")],
        (Deny, "b"),
    );
}

#[test]
fn a_granted_rule_goes_before_rules_that_ask_and_before_grants() {
    use Ruling::{Allow, Ask};
    check(
        vec![rule("a", Ask, "shell_cmd")],
        vec![rule("g", Allow, "shell_cmd")],
        &[grant("grant", "ada", "shell_cmd")],
        (Allow, "g"),
    );
}

#[test]
fn a_grant_settles_only_what_would_be_asked() {
    use Ruling::{Allow, Ask};
    let grants = [grant("grant", "ada", "shell_cmd")];
    check(vec![rule("a", Ask, "*")], vec![], &grants, (Allow, "grant"));
    check(vec![], vec![], &grants, (Allow, "grant"));
    check(vec![rule("a", Allow, "*")], vec![], &grants, (Allow, "a"));
}

#[test]
fn a_grant_is_for_one_agent_and_one_tool() {
    use Ruling::Ask;
    check(vec![], vec![], &[grant("grant", "bob", "shell_cmd")], (Ask, "tool"));
    check(vec![], vec![], &[grant("grant", "ada", "other")], (Ask, "tool"));
    // A grant's tool is a name and never a pattern.
    check(vec![], vec![], &[grant("grant", "ada", "*")], (Ask, "tool"));
}

#[test]
fn a_rule_may_be_for_one_agent() {
    use Ruling::{Allow, Ask};
    let for_agent = |agent: &str| Rule { agent: Some(agent.into()), ..rule("a", Allow, "*") };
    check(vec![for_agent("ada")], vec![], &[], (Allow, "a"));
    check(vec![for_agent("bob")], vec![], &[], (Ask, "tool"));
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let arguments =
        json!({ "command": "git push", "options": ["-f"], "times": 2, "nothing": null });
    for (matches, expected) in [
        (vec![], true),
        (like("/command", "git *"), true),
        (like("/command", "git"), false),
        (like("/options/0", "-*"), true),
        // A pattern is for strings; a place that does not exist fits nothing.
        (like("/times", "*"), false),
        (like("/absent", "*"), false),
        (like("command", "*"), false),
        (equal("/times", json!(2)), true),
        (equal("/times", json!("2")), false),
        (equal("/options", json!(["-f"])), true),
        (equal("/nothing", Value::Null), true),
        (equal("/absent", Value::Null), false),
        (equal("", arguments.clone()), true),
        (equal("", json!({})), false),
        ([like("/command", "git *"), equal("/times", json!(3))].concat(), false),
    ] {
        let agent = AgentId::new("ada");
        let question =
            Question { agent: &agent, tool: "tool", arguments: &arguments, directory: None };
        assert_eq!(fits(&matches, question, None), expected, "{matches:?}");
    }
}

#[test]
fn a_star_stands_for_any_run_of_characters_and_nothing_else_is_special() {
    for (pattern, text, expected) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("*", "anything\nat all", true),
        ("**", "a", true),
        ("ls", "ls", true),
        ("ls", "ls -l", false),
        ("ls*", "ls", true),
        ("ls *", "ls", false),
        ("*.rs", "src/a.rs", true),
        ("*.rs", "a.rs.bak", false),
        ("a*b*c", "a--b--c", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "ac", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("*ab*ab*", "ab", false),
        ("*ab*ab*", "abab", true),
        ("*aab", "aaaab", true),
        ("?", "a", false),
        ("[a]", "a", false),
        ("a.c", "abc", false),
        ("é*", "élan", true),
        ("LS", "ls", false),
    ] {
        assert_eq!(glob(pattern, text), expected, "{pattern:?} {text:?}");
    }
}

#[test]
fn a_pattern_made_to_be_slow_is_not() {
    let pattern = "*a".repeat(2_000) + "b";
    assert!(!glob(&pattern, &"a".repeat(20_000)));
}

#[test]
fn a_condition_is_stored_flat_and_read_back() {
    for one in [
        like("/command", "git *"),
        equal("", Value::Null),
        equal("/a/b", json!([1.5, { "c": null }])),
    ] {
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Match>>(&json).unwrap(), one, "{json}");
    }
    let stored = serde_json::to_value(like("/command", "git *")).unwrap();
    assert_eq!(stored, json!([{ "pointer": "/command", "glob": "git *" }]));
}
