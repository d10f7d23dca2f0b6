//! Checks which keys choose a permission that lasts, and that none decides twice.

use agent_world_client::wire::Approval;
use expect_test::expect;
use serde_json::json;

use super::super::tests::{approval, press, shown};
use super::*;
use crate::deciding::Delivery;

#[test]
fn the_whole_tool_has_the_same_key_however_many_narrower_ones_there_are() {
    let narrower = |number: usize| -> Approval {
        let narrow =
            (0..number).map(|one| json!({"label": format!("like {one}"), "matches": [{}]}));
        let whole = std::iter::once(json!({"label": "any shell_cmd call", "matches": []}));
        approval(json!({"suggested_matches": narrow.chain(whole).collect::<Vec<_>>()}))
    };
    for number in 0..4 {
        let mut deciding = Deciding::new(narrower(number));
        press(&mut deciding, "s");
        assert!(shown(&deciding).contains("  t any shell_cmd call\n"), "{}", shown(&deciding));
        let Outcome::Decided(decision) = press(&mut deciding, "ty") else { panic!("{number}") };
        assert_eq!(decision.suggestion, Some(number));
        let digit = format!("s{}", number + 1);
        assert_eq!(press(&mut Deciding::new(narrower(number)), &digit), Outcome::Redraw);
    }
    let mut deciding = Deciding::new(narrower(1));
    press(&mut deciding, "st");
    expect![[r#"
        any shell_cmd call by ada, for the rest of chat_1?
        y yes, all of them · n goes back
    "#]]
    .assert_eq(&shown(&deciding));
    press(&mut deciding, "n␛at");
    expect![[r#"
        any shell_cmd call by ada, in every chat of w, from now on?
        y yes, always · n goes back
    "#]]
    .assert_eq(&shown(&deciding));
}

#[test]
fn what_was_decided_is_not_decided_again_before_more_is_heard() {
    let mut deciding = Deciding::new(approval(json!({})));
    press(&mut deciding, "dno");
    deciding.deliver(Delivery::OnItsWay);
    assert_eq!(press(&mut deciding, "⏎"), Outcome::Nothing);
    deciding.deliver(Delivery::Retrying);
    assert!(shown(&deciding).starts_with("not yet delivered: retrying\n"), "{}", shown(&deciding));
    deciding.refused("the decision was not delivered");
    assert!(shown(&deciding).contains("> no"), "what was typed is there: {}", shown(&deciding));
    assert!(matches!(press(&mut deciding, "⏎"), Outcome::Decided(_)));
}
