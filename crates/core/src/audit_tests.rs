//! Tests of what an audit keeps of texts it did not write; what it tells of a chat is tested with the stores.

use serde_json::json;

use super::*;

#[test]
fn secrets_are_masked_also_in_arguments_that_are_only_text() {
    let arguments = json!({"command": "curl", "password": "hunter2"});
    assert!(!kept(&arguments).to_string().contains("hunter2"));
    let written = Value::String(arguments.to_string());
    assert!(!kept(&written).to_string().contains("hunter2"));
    let text = Value::String("{ not json, --token sk-abcdefghijklmnop1234567890".to_owned());
    assert!(!kept(&text).to_string().contains("sk-abcdef"));
}

#[test]
fn long_arguments_are_cut_and_say_so() {
    let arguments = json!({"content": "x".repeat(1_000_000)});
    let text = kept(&arguments).to_string();
    assert!(text.len() < 5_000, "{}", text.len());
    assert!(text.contains("more characters"), "{text}");
    let short = json!({"content": "x"});
    assert_eq!(kept(&short), short);
}

#[test]
fn a_text_is_told_by_its_first_line_with_nothing_hidden() {
    assert_eq!(line("\n\nno such file\nbacktrace"), "no such file");
    assert_eq!(line("a\u{202E}b"), "a\\u{202E}b");
    assert!(line(&"x".repeat(1_000)).ends_with("… 700 more characters"));
    assert_eq!(name(&"n".repeat(101)), format!("{}… 1 more characters", "n".repeat(100)));
}

#[test]
fn only_small_details_are_kept() {
    let details = json!({"exit_code": 3, "killed": true, "signal": "TERM", "note": "x".repeat(101),
        "content": {"a": 1}, "token": "hunter2", "nothing": null});
    let kept = small(&Output { details, ..Output::text("") });
    let names: Vec<&String> = kept.keys().collect();
    assert_eq!(names, ["exit_code", "killed", "signal", "token"]);
    assert!(!json!(kept).to_string().contains("hunter2"));
    assert!(small(&Output::text("x")).is_empty());
}

#[test]
fn an_entry_is_read_as_it_was_written() {
    let entry = Entry {
        at: Timestamp::UNIX_EPOCH,
        world: "w".into(),
        chat: Some("chat_1".into()),
        agent: Some("ada".into()),
        tool: Some("shell".to_owned()),
        call: Some("call_1".into()),
        approval: Some("apr_1".into()),
        actor: Actor::Grant("ann".to_owned()),
        rule: Some("grant_1".to_owned()),
        what: What::Decided {
            decision: Answer::Approved,
            scope: Some(Scope::Once),
            reason: None,
            edited_arguments: Some(json!({"a": 1})),
        },
    };
    let text = serde_json::to_string(&entry).unwrap();
    assert!(text.contains(r#""actor":{"kind":"grant","name":"ann"}"#), "{text}");
    assert!(text.contains(r#""kind":"decided""#), "{text}");
    assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    assert_eq!(entry.actor.person(), Some("ann"));
}

#[test]
fn every_kind_has_the_name_it_is_stored_under() {
    let whats = [
        What::Called { arguments: json!({}), working_directory: None, verdict: None },
        What::Requested {
            question: String::new(),
            bound_to: Bound { arguments: None, working_directory: None, facts: Facts::new() },
            changes: Vec::new(),
            expires_at: None,
        },
        What::Decided {
            decision: Answer::Denied,
            scope: None,
            reason: None,
            edited_arguments: None,
        },
        What::Expired,
        What::Withdrawn { reason: String::new() },
        What::Started { attempt: 1, facts: Facts::new() },
        What::Finished {
            outcome: Outcome::Completed,
            duration_ms: None,
            details: Map::new(),
            error: None,
        },
        What::GrantRevoked,
        What::Changed { entity: String::new(), action: String::new(), id: String::new() },
    ];
    let kinds: Vec<&str> = whats.iter().map(What::kind).collect();
    assert_eq!(kinds, What::KINDS);
    for what in whats {
        assert_eq!(serde_json::to_value(&what).unwrap()["kind"], what.kind());
    }
}
