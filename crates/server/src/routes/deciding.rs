//! Decides what a sent decision asks of the engine, and refuses what would permit more than its sender can mean.
//! Called by `approvals` and `tool_results`. Whether a request may be approved is the engine's to say.

use agent_world_core::command::{Answer, Claims};
use agent_world_core::display::mask_secrets;
use agent_world_core::policy::Match;
use agent_world_core::view::ApprovalView;
use serde_json::Value;

use crate::access::{Principal, Role};
use crate::app::App;
use crate::problem::Problem;
use crate::wire::{Approval, OriginalCall, Reach, Verdict, Wish};

/// Characters of a reason.
const REASON: usize = 10_000;
/// How a masked secret begins; see `core::display`.
const MASK: &str = "[secret masked: ";

/// Carries a decision out in the name of whoever asks.
pub(super) async fn decide(
    app: &App,
    who: &Principal,
    view: &ApprovalView,
    wish: Wish,
    claims: Claims,
) -> Result<Approval, Problem> {
    who.require(Role::Approver)?;
    let answer = answer(view, wish)?;
    let decided = app.engine.answer(&view.id, answer, &who.name, claims).await?;
    Ok(Approval::from_view(&decided))
}

/// What the sender says it is about, to be compared with the log. Arguments may be repeated as they were shown, which
/// is masked: those that were shown are those that are meant.
pub(super) fn claims(
    view: &ApprovalView,
    agent: Option<String>,
    tool: Option<String>,
    original: Option<OriginalCall>,
) -> Result<Claims, Problem> {
    let agent = agent.map(Into::into);
    let Some(original) = original else {
        return Ok(Claims { agent, tool, ..Claims::default() });
    };
    same(view, "call", original.id.as_deref(), view.call.as_str())?;
    same(view, "tool", original.name.as_deref(), &view.tool)?;
    let directory = view.working_directory.as_deref().unwrap_or_default();
    same(view, "directory", original.working_directory.as_deref(), directory)?;
    let arguments = original.args.filter(|stated| *stated != mask_secrets(&view.arguments));
    Ok(Claims { agent, tool, arguments, ..Claims::default() })
}

fn same(view: &ApprovalView, field: &str, said: Option<&str>, is: &str) -> Result<(), Problem> {
    match said {
        Some(said) if said != is => {
            let id = &view.id;
            let detail = format!("approval {id} is about another {field}; nothing was decided");
            Err(Problem::conflict("approval_mismatch", detail).with("field", field))
        }
        _ => Ok(()),
    }
}

pub(super) fn answer(view: &ApprovalView, wish: Wish) -> Result<Answer, Problem> {
    let Wish { verdict, reach, narrowed, reason, arguments } = wish;
    match verdict {
        Verdict::Deny => {
            if reach != Reach::Once {
                return Err(refused("scope", "a denial is for this call; a rule can deny more"));
            }
            if narrowed.is_some() || arguments.is_some() {
                let field = if narrowed.is_some() { "match" } else { "arguments" };
                return Err(refused(field, "it belongs to an approval; leave it out to deny"));
            }
            Ok(Answer::Deny { reason: checked_reason(reason)? })
        }
        Verdict::Approve => {
            if let Some(arguments) = &arguments {
                check_masks(view, arguments)?;
            }
            let matches = narrowed.map_or(Ok(Vec::new()), |given| matches(view, given))?;
            check_reach(reach, &matches, arguments.as_ref())?;
            let reason = checked_reason(reason)?;
            Ok(Answer::Approve { scope: reach.into(), matches, arguments, reason })
        }
    }
}

fn check_reach(reach: Reach, matches: &[Match], edited: Option<&Value>) -> Result<(), Problem> {
    if reach == Reach::Once && !matches.is_empty() {
        let words = "it narrows a permission that lasts; add `scope` session or always";
        return Err(refused("match", words));
    }
    // Whoever changed the arguments had doubts about the call: every call of the tool is hardly meant.
    if reach != Reach::Once && matches.is_empty() && edited.is_some() {
        let words = "other arguments are approved once; to permit more, narrow it with `match`";
        return Err(refused("scope", words));
    }
    Ok(())
}

fn checked_reason(reason: Option<String>) -> Result<Option<String>, Problem> {
    match reason {
        Some(reason) if reason.chars().count() > REASON => {
            Err(refused("reason", &format!("it is longer than {REASON} characters")))
        }
        reason => Ok(reason),
    }
}

/// Clients see secrets masked. A mask that comes back is not what anybody wants to run.
fn check_masks(view: &ApprovalView, arguments: &Value) -> Result<(), Problem> {
    let has_mask = |value: &Value| value.to_string().contains(MASK);
    if view.form.is_none() && has_mask(arguments) && !has_mask(&view.arguments) {
        let words =
            "they hold the mask of a secret; give the secret itself, or leave arguments out";
        return Err(refused("arguments", words));
    }
    Ok(())
}

/// One condition, a list of them, or the place of a suggestion.
fn matches(view: &ApprovalView, given: Value) -> Result<Vec<Match>, Problem> {
    match given {
        Value::Number(place) => {
            let place = place.as_u64().and_then(|place| usize::try_from(place).ok());
            let chosen = place.and_then(|place| view.suggestions.get(place));
            let chosen = chosen.ok_or_else(|| {
                let count = view.suggestions.len();
                refused("match", &format!("there are {count} suggested matches, counted from 0"))
            })?;
            Ok(chosen.matches.clone())
        }
        Value::Array(several) => several.into_iter().map(one_match).collect(),
        one => Ok(vec![one_match(one)?]),
    }
}

/// As strict as a body: a part that is not understood would make the permission wider than it was meant.
fn one_match(given: Value) -> Result<Match, Problem> {
    let read: Match = serde_json::from_value(given.clone())
        .map_err(|error| refused("match", &format!("a condition cannot be read: {error}")))?;
    let told = serde_json::to_value(&read).map_err(Problem::internal)?;
    if is_understood(&given, &told) {
        return Ok(read);
    }
    Err(refused("match", "a condition has a field that is not known, or more than one test"))
}

/// Whether all that was given is in what was understood.
fn is_understood(given: &Value, told: &Value) -> bool {
    match (given, told) {
        (Value::Object(given), Value::Object(told)) => given.iter().all(|(key, value)| {
            let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            told.get(key).map_or(empty, |told| is_understood(value, told))
        }),
        (Value::Array(given), Value::Array(told)) => {
            given.len() == told.len()
                && given.iter().zip(told).all(|(given, told)| is_understood(given, told))
        }
        (given, told) => given == told,
    }
}

fn refused(field: &str, words: &str) -> Problem {
    Problem::unprocessable("decision_invalid", format!("`{field}` is refused: {words}"))
        .with("field", field)
}

#[cfg(test)]
#[path = "deciding_tests.rs"]
mod tests;
