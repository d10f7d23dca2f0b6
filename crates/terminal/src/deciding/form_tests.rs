//! Checks how forms are answered.

use expect_test::expect;
use serde_json::json;

use super::super::tests::{approval, check, press, shown};
use super::super::{Approval, Deciding, Outcome, Value};

fn form(schema: Value) -> Approval {
    approval(json!({
        "tool": "trips__book", "message": "Where to?", "options": ["deny", "approve_once"],
        "suggested_matches": [], "shown": schema.to_string(), "form": {"schema": schema},
    }))
}

#[test]
fn a_flat_form_is_asked_field_by_field() {
    let schema = json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Where to"},
        "nights": {"type": "integer"},
        "class": {"enum": ["first", "second"], "default": "second"},
        "meals": {"type": "boolean", "title": "Meals"},
    }});
    let mut deciding = Deciding::new(form(schema));
    press(&mut deciding, "e");
    expect![[r#"
        1 of 4, city: Where to
        text
        >  
        Enter goes on · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    press(&mut deciding, "⏎");
    assert_eq!(deciding.problem.as_deref(), Some("an answer is needed here"));
    press(&mut deciding, "Rome⏎two⏎");
    assert_eq!(deciding.problem.as_deref(), Some("expected is a whole number, or nothing"));
    press(&mut deciding, "^u2⏎⏎");
    expect![[r#"
        4 of 4, meals: Meals
        yes or no, or nothing
        >  
        Enter goes on · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    assert_eq!(press(&mut deciding, "yes⏎"), Outcome::Redraw);
    expect![[r#"
        the answer, as JSON:
        {
          "city": "Rome",
          "nights": 2,
          "class": "second",
          "meals": true
        }
        Ctrl-S sends it · Alt-Enter the same · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    let Outcome::Decided(decision) = press(&mut deciding, "^s") else { panic!() };
    let answer = json!({"city": "Rome", "nights": 2, "class": "second", "meals": true});
    assert_eq!(decision.arguments, Some(answer));
}

#[test]
fn any_other_form_is_answered_as_json() {
    let schema = json!({"type": "object", "properties": {"list": {"type": "array"}}});
    let asked = form(schema);
    check(
        &asked,
        &["o", "s", "a", "e^s", "d⏎", "l"],
        expect![[r#"
        o: {"decision":"approve","scope":"once"}
        s: nothing
        a: nothing
        e^s: {"decision":"approve","scope":"once","arguments":{}}
        d⏎: {"decision":"deny"}
        l: later
    "#]],
    );
    let deciding = Deciding::new(asked);
    expect![[r#"
        e answer · o answer with nothing · d decline · l later · ? help
    "#]]
    .assert_eq(&shown(&deciding));
}
