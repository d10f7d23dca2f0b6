//! Checks what rules cover: presets, command lines, paths, annotations, exact permissions, and how they are written.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::command_line::TOOL;
use crate::config::{Source, World};

fn spec(tool: &str) -> ToolSpec {
    ToolSpec::new(tool, "a tool", json!({ "type": "object" }))
}

fn grant(matches: Vec<Match>) -> Grant {
    Grant {
        id: "g".into(),
        agent: "ada".into(),
        tool: TOOL.to_owned(),
        matches,
        approval: "apr_1".into(),
        by: "human".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    }
}

fn policy(document: Value) -> Policy {
    let policy = Policy::read(&document).unwrap_or_else(|problems| panic!("{problems:?}"));
    policy.check().unwrap_or_else(|problems| panic!("{problems:?}"));
    policy
}

fn decided(policy: &Policy, grants: &[Grant], spec: &ToolSpec, arguments: &Value) -> String {
    let agent = AgentId::new("ada");
    let question = Question {
        agent: &agent,
        tool: &spec.name,
        arguments,
        directory: Some("/users/ada/project"),
    };
    let verdict = judge(policy, grants, spec, question);
    let explained = explain(policy, grants, spec, question);
    assert_eq!(explained.verdict, verdict);
    let denied = denial(policy, Some(spec), question).is_some();
    assert_eq!(denied, verdict.ruling == Ruling::Deny, "{verdict} {arguments}");
    verdict.to_string()
}

fn shell(document: &Value, script: &str) -> String {
    decided(&policy(document.clone()), &[], &spec(TOOL), &json!({ "script": script }))
}

#[test]
fn presets_speak_where_no_rule_does() {
    let tool = |change: fn(&mut ToolSpec)| {
        let mut spec = spec("x");
        change(&mut spec);
        spec
    };
    let reads = tool(|spec| spec.read_only = true);
    let plain = tool(|_| {});
    let free = tool(|spec| spec.approval.required = false);
    let destroys = tool(|spec| spec.destructive = true);
    let foreign = tool(|spec| spec.source = Source::McpServer("s".to_owned()));
    let foreign_reads = tool(|spec| {
        spec.source = Source::McpServer("s".to_owned());
        spec.read_only = true;
    });
    for (preset, spec, expected) in [
        ("ask", &plain, "ask by what the tool declares"),
        ("ask", &reads, "ask by what the tool declares"),
        ("ask", &free, "allow by what the tool declares"),
        ("read_only", &reads, "ask by what the tool declares"),
        ("read-only", &plain, "deny by the preset read-only"),
        ("read_only", &free, "deny by the preset read-only"),
        ("trusted", &plain, "allow by the preset trusted"),
        ("trusted", &destroys, "ask by what the tool declares"),
        ("trusted", &foreign, "ask by what the tool declares"),
        ("trusted", &foreign_reads, "allow by the preset trusted"),
    ] {
        let policy = policy(json!({ "preset": preset }));
        assert_eq!(decided(&policy, &[], spec, &json!({})), expected, "{preset} {spec:?}");
    }
}

#[test]
fn what_read_only_denies_comes_back_by_a_written_rule_alone() {
    let call = json!({ "command": "ls" });
    let everything = json!([{ "id": "r", "ruling": "allow", "tool": "*" }]);
    let granted = policy(json!({ "preset": "read_only", "granted": everything }));
    let by_grant = [grant(vec![])];
    assert_eq!(decided(&granted, &by_grant, &spec(TOOL), &call), "deny by the preset read-only");
    let written = policy(json!({ "preset": "read_only", "rules": everything }));
    assert_eq!(decided(&written, &[], &spec(TOOL), &call), "allow by rule r");
    let asks = policy(json!({
        "preset": "read_only",
        "rules": [{ "id": "a", "ruling": "ask", "tool": "*" }],
    }));
    assert_eq!(decided(&asks, &[], &spec(TOOL), &call), "ask by rule a");
    assert_eq!(decided(&asks, &by_grant, &spec(TOOL), &call), "allow by grant g of the chat");
}

#[test]
fn the_strictest_verdict_on_any_command_is_the_lines() {
    let rules = json!({ "rules": [
        { "id": "status", "ruling": "allow", "tool": TOOL, "command": { "program": "git", "parameters": ["status"] } },
        { "id": "test", "ruling": "allow", "tool": TOOL, "command": { "program": "cargo" } },
        { "id": "push", "ruling": "deny", "tool": TOOL, "command": { "program": "git", "parameters": ["push"] } },
        { "id": "npm", "ruling": "ask", "tool": TOOL, "command": { "program": "npm*" } },
    ]});
    for (script, expected) in [
        ("git status && cargo test", "allow by rule status"),
        ("cargo test; git status", "allow by rule test"),
        ("git status; ls", "ask by what the tool declares"),
        ("npm test; git status", "ask by rule npm"),
        ("npmx", "ask by rule npm"),
        ("git status; git push", "deny by rule push"),
        ("git -C elsewhere --no-pager push origin", "deny by rule push"),
        ("/opt/GIT push", "deny by rule push"),
        ("git pull push", "deny by rule push"),
        ("git pushy", "ask by what the tool declares"),
        ("cargo test $X", "ask by what the tool declares"),
        ("npm test $X", "ask by rule npm"),
        ("git push $X", "deny by rule push"),
    ] {
        assert_eq!(shell(&rules, script), expected, "{script}");
    }
}

#[test]
fn a_line_that_is_not_certain_is_asked_about_unless_it_is_named_or_everything_is_permitted() {
    let script = "for f in $(ls); do wc $f; done";
    let call = json!({ "script": script, "timeout": 5 });
    let all = json!({ "id": "all", "ruling": "allow", "tool": TOOL });
    let exact = json!({ "id": "exact", "ruling": "allow", "tool": TOOL,
        "matches": [{ "pointer": "/script", "equals": script }] });
    let like = json!({ "id": "like", "ruling": "allow", "tool": TOOL,
        "matches": [{ "pointer": "/script", "glob": "for *" }] });
    let line = "ask by a command line that is not certain";
    let judged = |policy_document: Value, grants: &[Grant]| {
        decided(&policy(policy_document), grants, &spec(TOOL), &call)
    };
    // What it hides cannot be worse than what is permitted anyway, unless another rule treats some calls otherwise.
    let guard =
        json!({ "id": "rm", "ruling": "ask", "tool": TOOL, "command": { "program": "rm" } });
    assert_eq!(judged(json!({ "rules": [all] }), &[]), "allow by rule all");
    assert_eq!(judged(json!({ "rules": [all, guard] }), &[]), line);
    assert_eq!(judged(json!({ "rules": [like] }), &[]), line);
    assert_eq!(judged(json!({ "granted": [all] }), &[]), "allow by rule all");
    assert_eq!(judged(json!({ "granted": [all], "rules": [guard] }), &[]), line);
    assert_eq!(judged(json!({ "preset": "trusted" }), &[]), line);
    assert_eq!(judged(json!({ "rules": [exact] }), &[]), "allow by rule exact");
    assert_eq!(judged(json!({ "granted": [all, exact] }), &[]), "allow by rule exact");
    assert_eq!(judged(json!({}), &[grant(vec![])]), "allow by grant g of the chat");
    let asks = "ask by what the tool declares";
    assert_eq!(judged(json!({ "rules": [guard] }), &[grant(vec![])]), asks);
    let whole = Match { pointer: String::new(), test: Test::Equals(call.clone()) };
    let grants = [grant(vec![]), grant(vec![whole])];
    assert_eq!(judged(json!({}), &grants), "allow by grant g of the chat");

    let command = |parameters: Value| json!({ "command": "python3", "parameters": parameters });
    let pins = |pointers: &[&str]| {
        let call = command(json!(["-c", "x"]));
        let matches = pointers.iter().map(|pointer| Match {
            pointer: (*pointer).to_owned(),
            test: Test::Equals(call.pointer(pointer).unwrap().clone()),
        });
        let rule = Rule { matches: matches.collect(), ..Rule::new("pin", Ruling::Allow, TOOL) };
        Policy { rules: vec![rule].into(), ..Policy::default() }
    };
    let call = command(json!(["-c", "x"]));
    assert_eq!(decided(&pins(&["/command"]), &[], &spec(TOOL), &call), line);
    let both = pins(&["/command", "/parameters"]);
    assert_eq!(decided(&both, &[], &spec(TOOL), &call), "allow by rule pin");
    let other = command(json!(["-c", "y"]));
    assert_eq!(decided(&both, &[], &spec(TOOL), &other), "ask by what the tool declares");
}

#[test]
fn paths_are_compared_where_they_lead() {
    let rule = |ruling: &str, within: Value| {
        policy(
            json!({ "rules": [{ "id": "r", "ruling": ruling, "tool": "*", "paths": { "within": within } }] }),
        )
    };
    let inside = rule("allow", json!(["src", "/etc/app", "crates/*/tests", "docs/**/images"]));
    for (arguments, expected) in [
        (json!({ "path": "src/a.rs" }), true),
        (json!({ "path": "src" }), true),
        (json!({ "path": "./src/../src//a.rs" }), true),
        (json!({ "path": "/users/ada/project/src/a.rs" }), true),
        (json!({ "path": "/etc/app/x" }), true),
        (json!({ "path": "../../../etc/app/x" }), true),
        (json!({ "path": "crates/core/tests/x.rs" }), true),
        (json!({ "path": "docs/images/x.png" }), true),
        (json!({ "path": "docs/a/b/images/x.png" }), true),
        (json!({ "paths": ["src/a", "src/b"] }), true),
        (json!({ "path": "src/a", "directory": "src" }), true),
        (json!({ "path": "srcs/a" }), false),
        (json!({ "path": "src/../secret" }), false),
        (json!({ "path": "src/../../src/a" }), false),
        (json!({ "path": "/src/a" }), false),
        (json!({ "path": "/etc/app/../passwd" }), false),
        (json!({ "path": "~/src/a" }), false),
        (json!({ "path": "src\\..\\..\\x" }), false),
        (json!({ "path": "src/a\u{0}" }), false),
        (json!({ "path": "" }), false),
        (json!({ "path": 3 }), false),
        (json!({ "paths": ["src/a", "x"] }), false),
        (json!({ "path": "src/a", "destination": "/tmp/x" }), false),
        (json!({ "paths": [] }), false),
        (json!({ "url": "src/a" }), false),
        (json!({}), false),
        (json!({ "path": "crates/core/a/tests/x.rs" }), false),
    ] {
        let verdict = decided(&inside, &[], &spec("read"), &arguments);
        assert_eq!(verdict == "allow by rule r", expected, "{arguments}: {verdict}");
    }
    let denied = rule("deny", json!(["/etc", "secrets"]));
    for (arguments, expected) in [
        (json!({ "path": "/etc/passwd" }), true),
        (json!({ "path": "../../../etc/passwd" }), true),
        (json!({ "path": "x/../secrets/key" }), true),
        (json!({ "path": "src/a", "destination": "secrets/a" }), true),
        (json!({ "paths": ["a", "secrets"] }), true),
        // Nobody can say where these lead.
        (json!({ "path": "~/x" }), true),
        (json!({ "path": "../../../../../../x" }), true),
        (json!({ "path": "src/secrets" }), false),
        (json!({ "path": "src/etc" }), false),
        (json!({}), false),
    ] {
        let verdict = decided(&denied, &[], &spec("read"), &arguments);
        assert_eq!(verdict == "deny by rule r", expected, "{arguments}: {verdict}");
    }
}

#[test]
fn expressions_match_the_whole_text_and_annotations_what_is_declared() {
    let policy = policy(json!({ "rules": [
        { "id": "get", "ruling": "allow", "tool": "http", "matches": [{ "pointer": "/method", "regex": "GET|HEAD" }] },
        { "id": "reads", "ruling": "allow", "tool": "*", "annotations": { "read_only": true, "destructive": false } },
    ]}));
    for (method, expected) in
        [("GET", true), ("HEAD", true), ("GETS", false), ("xHEAD", false), ("GET\n", false)]
    {
        let verdict = decided(&policy, &[], &spec("http"), &json!({ "method": method }));
        assert_eq!(verdict == "allow by rule get", expected, "{method:?}: {verdict}");
    }
    let mut reads = spec("x");
    reads.read_only = true;
    assert_eq!(decided(&policy, &[], &reads, &json!({})), "allow by rule reads");
    reads.destructive = true;
    assert_eq!(decided(&policy, &[], &reads, &json!({})), "ask by what the tool declares");
}

#[test]
fn a_stored_condition_that_cannot_be_read_permits_nothing_and_misses_nothing() {
    let rule = |ruling| Rule {
        matches: vec![Match { pointer: "/a".to_owned(), test: Test::Regex("(".to_owned()) }],
        ..Rule::new("r", ruling, "*")
    };
    let with = |ruling| Policy { rules: vec![rule(ruling)].into(), ..Policy::default() };
    let call = json!({ "a": "b" });
    assert_eq!(
        decided(&with(Ruling::Allow), &[], &spec("x"), &call),
        "ask by what the tool declares"
    );
    assert_eq!(decided(&with(Ruling::Deny), &[], &spec("x"), &call), "deny by rule r");
}

#[test]
fn a_change_to_the_rules_is_seen_at_once() {
    let mut policy = policy(json!({ "rules": [{ "id": "a", "ruling": "allow", "tool": "x" }] }));
    let call = json!({});
    assert_eq!(decided(&policy, &[], &spec("x"), &call), "allow by rule a");
    let copy = policy.clone();
    policy.rules[0].ruling = Ruling::Deny;
    assert_eq!(decided(&policy, &[], &spec("x"), &call), "deny by rule a");
    policy.rules = Vec::new().into();
    policy.granted.push(Rule::new("g", Ruling::Allow, "x"));
    assert_eq!(decided(&policy, &[], &spec("x"), &call), "allow by rule g");
    assert_eq!(decided(&copy, &[], &spec("x"), &call), "allow by rule a");
}

#[test]
fn rules_of_today_are_read_as_they_were_stored() {
    let stored = json!({
        "rules": [{ "id": "rule_1", "ruling": "allow", "tool": "shell_*", "agent": "ada", "later": true,
            "matches": [{ "pointer": "/command", "glob": "git *" }] }],
        "granted": [{ "id": "rule_2", "ruling": "allow", "tool": "x",
            "origin": { "approval": "apr_1", "by": "human", "at": "1970-01-01T00:00:00Z" } }],
    });
    let policy: Policy = serde_json::from_value(stored).unwrap();
    assert_eq!(policy.preset, Preset::Ask);
    assert_eq!(policy.rules[0].matches.len(), 1);
    let again: Policy = serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap();
    assert_eq!(again, policy);
    let stored = serde_json::to_value(&policy.rules[0]).unwrap();
    assert_eq!(stored["matches"], json!([{ "pointer": "/command", "glob": "git *" }]));
    assert!(stored.get("examples").is_none() && stored.get("description").is_none());
}

#[test]
fn every_condition_is_stored_and_read_back() {
    let written = policy(json!({ "preset": "read-only", "rules": [{
        "id": "r", "ruling": "deny", "tool": "*",
        "matches": [{ "pointer": "/a", "regex": "b+" }, { "command": { "program": "rm" } }],
        "command": { "program": "git", "parameters": ["push", "-*"] },
        "paths": { "within": ["src"], "pointer": "/files/0" },
        "annotations": { "idempotent": false },
        "description": "why",
        "examples": { "must_not_match": [{ "tool": "x" }] },
    }]}));
    let stored = serde_json::to_value(&written).unwrap();
    assert_eq!(serde_json::from_value::<Policy>(stored.clone()).unwrap(), written);
    assert_eq!(Policy::read(&stored).unwrap(), written);
    assert_eq!(written.rules[0].matches.len(), 5);
    assert_eq!(stored["preset"], "read_only");
}

#[track_caller]
fn refused(document: Value, expected: Expect) {
    let problems = match Policy::read(&document) {
        Err(problems) => problems,
        Ok(policy) => {
            let problems = policy.check().expect_err("the policy should be refused");
            problems.iter().map(ToString::to_string).collect()
        }
    };
    expected.assert_eq(&problems.join("\n"));
}

#[test]
fn what_is_misspelt_is_refused() {
    refused(
        json!({ "presets": "ask", "rules": [{ "id": "r", "ruling": "allow", "tool": "x", "match": [],
            "matches": [{ "pointer": "/a", "glob": "x", "equals": 1 }, { "pionter": "/a", "glob": "x" }],
            "command": { "programme": "git" } }] }),
        expect![[r#"
            policy has no field `presets`; there are preset, rules, granted
            policy.rules[0] has no field `match`; there are id, ruling, tool, agent, matches, command, paths, annotations, description, examples, origin
            policy.rules[0].command has no field `programme`; there are program, parameters
            policy.rules[0].matches[0] must have exactly one of equals, glob, regex, command, paths, annotations
            policy.rules[0].matches[1] has no field `pionter`; there are pointer, equals, glob, regex, command, paths, annotations"#]],
    );
    refused(
        json!({ "rules": [{ "id": "r", "ruling": "allowed", "tool": "x" }] }),
        expect!["policy: unknown variant `allowed`, expected one of `allow`, `ask`, `deny`"],
    );
}

#[test]
fn a_list_is_not_taken_for_fields_in_their_order() {
    refused(json!([]), expect!["policy must be an object with fields of preset, rules, granted"]);
    refused(
        json!({ "rules": [["r", "allow", "*"]] }),
        expect![[
            r#"policy.rules[0] must be an object with fields of id, ruling, tool, agent, matches, command, paths, annotations, description, examples, origin"#
        ]],
    );
    refused(
        json!({ "rules": [{ "id": "r", "ruling": "allow", "tool": "x", "command": ["git"] }] }),
        expect!["policy.rules[0].command must be an object with fields of program, parameters"],
    );
    let absent =
        json!({ "rules": [{ "id": "r", "ruling": "deny", "tool": "x", "command": null }] });
    assert!(Policy::read(&absent).unwrap().rules[0].matches.is_empty());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let rule = |more: Value| {
        let mut rule = json!({ "id": "r", "ruling": "allow", "tool": "x" });
        for (name, value) in more.as_object().unwrap() {
            rule[name] = value.clone();
        }
        json!({ "rules": [rule] })
    };
    refused(
        json!({ "rules": [
            { "id": "r", "ruling": "allow", "tool": "" },
            { "id": "r", "ruling": "allow", "tool": "x", "matches": [
                { "pointer": "a", "glob": "x" },
                { "pointer": "/a~", "glob": "x" },
                { "pointer": "/a", "regex": "(" },
                { "pointer": "/a", "regex": "a)|(b" },
                { "pointer": "/a", "regex": "(\\w{500}){500}" },
                { "pointer": "/a", "command": { "program": "git" } },
                { "annotations": {} },
            ] },
        ] }),
        expect![[r#"
            rule r: `tool` is empty; name a tool, or write * for every tool
            rule r: `a` is not a JSON pointer; write it like /path or /options/0
            rule r: `/a~` is not a JSON pointer; write it like /path or /options/0
            rule r: `(`: the regular expression cannot be read: unclosed group
            rule r: `a)|(b`: the regular expression cannot be read: unopened group
            rule r: `(\w{500}){500}`: the regular expression is too large; write a simpler one
            rule r: the pointer `/a` means nothing to a condition on the whole call; leave it out
            rule r: `annotations` asks for nothing; name read_only, destructive or idempotent
            rule r: another rule has the same id; give each its own"#]],
    );
    for (program, why) in [
        ("", "`program` is empty; name a program"),
        ("./git", "is a relative path"),
        ("/usr/bin/", "is not the path of one program"),
        ("/usr/../git", "holds `..`"),
        ("git status", "holds a space"),
    ] {
        let policy = Policy::read(&rule(json!({ "command": { "program": program } }))).unwrap();
        let problems = policy.check().unwrap_err();
        assert!(problems[0].what.contains(why), "{problems:?}");
    }
    for (folder, why) in [
        ("", "is empty"),
        ("~/x", "only a shell"),
        ("a/../b", "holds `..`"),
        ("a/x**", "stands alone"),
    ] {
        let policy = Policy::read(&rule(json!({ "paths": { "within": [folder] } }))).unwrap();
        let problems = policy.check().unwrap_err();
        assert!(problems[0].what.contains(why), "{problems:?}");
    }
}

#[test]
fn examples_are_checked_when_a_rule_is_saved() {
    let examples = json!({
        "must_match": [
            { "tool": TOOL, "arguments": { "script": "git status -s" } },
            { "tool": TOOL, "arguments": { "script": "git -C x status" } },
            { "tool": TOOL, "arguments": { "script": "git status $X" } },
            { "tool": "other" },
            { "tool": TOOL, "arguments": { "script": "git status" }, "agent": "bob" },
        ],
        "must_not_match": [
            { "tool": TOOL, "arguments": { "script": "git push" } },
            { "tool": TOOL, "arguments": { "command": "git", "parameters": ["status"] } },
        ],
    });
    let document = json!({ "rules": [{ "id": "status", "ruling": "allow", "tool": TOOL, "agent": "ada",
        "command": { "program": "git", "parameters": ["status"] }, "examples": examples }] });
    refused(
        document.clone(),
        expect![[r#"
            rule status: its example must_match[1] does not match: shell_cmd {"script":"git -C x status"}: {"command":{"parameters":["status"],"program":"git"},"pointer":""} does not hold; change the rule or the example
            rule status: its example must_match[2] does not match: shell_cmd {"script":"git status $X"}: it is not certain what the command line runs: a part of it is only known when it runs; change the rule or the example
            rule status: its example must_match[3] does not match: other null: the rule is for the tool shell_cmd; change the rule or the example
            rule status: its example must_match[4] does not match: shell_cmd {"script":"git status"}: the rule is for the agent ada; change the rule or the example
            rule status: its example must_not_match[1] matches: shell_cmd {"command":"git","parameters":["status"]}; change the rule or the example"#]],
    );
    let mut world = World::new("w".into(), "w", Timestamp::UNIX_EPOCH);
    world.policy = Policy::read(&document).unwrap();
    let refused = world.check().unwrap_err().to_string();
    assert!(refused.starts_with("the policy is refused: rule status: its example"), "{refused}");
}

#[test]
fn a_verdict_is_explained_command_by_command() {
    let policy = policy(json!({ "rules": [
        { "id": "git", "ruling": "allow", "tool": TOOL, "command": { "program": "git" } },
        { "id": "push", "ruling": "deny", "tool": TOOL, "command": { "program": "git", "parameters": ["push"] },
          "description": "nothing leaves this machine" },
        { "id": "rest", "ruling": "ask", "tool": "*" },
    ], "granted": [{ "id": "always", "ruling": "allow", "tool": TOOL, "command": { "program": "ls" } }]}));
    let agent = AgentId::new("ada");
    let explained = |script: &str| {
        let arguments = json!({ "script": script });
        let question =
            Question { agent: &agent, tool: TOOL, arguments: &arguments, directory: None };
        explain(&policy, &[], &spec(TOOL), question).to_string()
    };
    expect![[r#"
        deny by rule push
          ls: allow by rule always
            matched rule always (allow, granted)
            matched rule rest (ask)
          git push: deny by rule push
            matched rule push (deny): nothing leaves this machine
            matched rule git (allow)
            matched rule rest (ask)"#]]
    .assert_eq(&explained("ls && git push"));
    expect![[r#"
        ask by rule rest
          not certain: a part of it is only known when it runs
          git status : ask by rule rest
            matched rule rest (ask)"#]]
    .assert_eq(&explained("git status $X"));
}

#[test]
fn a_changed_policy_shows_what_it_would_have_decided_otherwise() {
    let old = policy(
        json!({ "rules": [{ "id": "git", "ruling": "allow", "tool": TOOL, "command": { "program": "git" } }] }),
    );
    let new = policy(
        json!({ "rules": [{ "id": "no-push", "ruling": "deny", "tool": TOOL, "command": { "program": "git", "parameters": ["push"] } }, { "id": "git", "ruling": "allow", "tool": TOOL, "command": { "program": "git" } }, { "id": "ls", "ruling": "allow", "tool": TOOL, "command": { "program": "ls" } }] }),
    );
    let history =
        ["git status", "git push", "ls", "cat"].into_iter().enumerate().map(|(number, script)| {
            Past {
                id: format!("call_{number}"),
                agent: "ada".into(),
                spec: spec(TOOL).into(),
                arguments: json!({ "script": script }),
                directory: None,
            }
        });
    let changes: Vec<String> = diff(&old, &new, history).iter().map(ToString::to_string).collect();
    expect![[r#"
        call_1: allow -> deny for shell_cmd by ada: {"script":"git push"} (rule git -> rule no-push)
        call_2: ask -> allow for shell_cmd by ada: {"script":"ls"} (what the tool declares -> rule ls)"#]]
    .assert_eq(&changes.join("\n"));
}
