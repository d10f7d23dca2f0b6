//! What a condition must be to narrow a permission.

use serde_json::json;

use super::*;

#[test]
fn a_condition_is_understood_whole_or_refused() {
    for good in [
        json!({"pointer": "/what", "equals": "a"}),
        json!({"equals": {"what": "a", "colour": null}}),
        json!({"command": {"program": "git", "parameters": ["push"]}}),
        json!({"command": {"program": "git", "parameters": []}}),
        json!({"paths": {"within": ["src"]}}),
        json!({"annotations": {"read_only": true}}),
    ] {
        assert!(one_match(good.clone()).is_ok(), "{good}");
    }
    for bad in [
        json!({"pointer": "/what"}),
        json!({"pointer": "/what", "equals": "a", "glob": "*"}),
        json!({"pointer": "/what", "equals": "a", "agent": "ada"}),
        json!({"command": {"program": "git", "args": ["push"]}}),
        json!({"annotations": {"readonly": true}}),
        json!("git push"),
        json!(null),
        json!([]),
    ] {
        let problem = one_match(bad.clone()).unwrap_err();
        assert_eq!(problem.code(), "decision_invalid", "{bad}");
    }
}

#[test]
fn a_text_is_one_of_the_choices_or_none() {
    let read =
        |text: &str| Wish::from_choice(text).map(|wish| (wish.verdict, wish.reach, wish.reason));
    let (approve, deny) = (Verdict::Approve, Verdict::Deny);
    assert_eq!(read(" approve_session\n"), Some((approve, Reach::Session, None)));
    assert_eq!(read("deny"), Some((deny, Reach::Once, None)));
    assert_eq!(read("deny:not now"), Some((deny, Reach::Once, Some("not now".to_owned()))));
    for text in ["", "approve", "Approve_once", "denya", "approve_once please"] {
        assert_eq!(read(text), None, "{text}");
    }
}
