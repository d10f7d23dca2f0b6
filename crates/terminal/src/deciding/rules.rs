//! Decides what may be chosen for a request, and which texts are answers.
//! Used by the keys and by what is shown, so that both agree. Never offers more than the server did.

use agent_world_client::wire::{Approval, Reach, Suggestion};
use serde_json::Value;

pub const SAY_WHICH: &str =
    "say for which calls, by a key of the list, or go back with Esc; nothing was decided";
/// Chooses every call of the tool, in whatever request.
pub const WHOLE_TOOL: char = 't';
pub const ONCE_NOT_OFFERED: &str = "approving it is not offered; nothing was decided";
pub const READ_ON: &str = "read it to its end first: PgDn reads on; nothing was decided";
pub const UNCHANGED: &str =
    "it is as it was: change it, or go back with Esc to decide; nothing was decided";
/// How a masked secret begins.
const MASK: &str = "[secret masked: ";
/// How a cut says so.
const CUTS: [&str; 4] = [
    MASK,
    "more characters not shown",
    "more characters in this line]",
    "more lines of the diff are not shown",
];

/// Whether a scope may be chosen.
pub fn offers(approval: &Approval, reach: Reach) -> bool {
    let lasts = approval.form.is_none() && !approval.suggested_matches.is_empty();
    match reach {
        Reach::Once => approval.options.is_empty() || approval.offers(Reach::Once),
        Reach::Session => lasts && approval.offers(Reach::Session),
        Reach::Always => lasts && approval.offers(Reach::Always) && is_whole(approval),
    }
}

/// The permissions that are narrower than the tool, each with its place. Their numbers count them alone, from one.
pub fn narrower(approval: &Approval) -> Vec<(usize, &Suggestion)> {
    let all = approval.suggested_matches.iter().enumerate();
    all.filter(|(_, suggestion)| !suggestion.matches.is_empty()).collect()
}

/// The place of the one for every call of the tool, where it is offered.
pub fn whole_tool(approval: &Approval) -> Option<usize> {
    approval.suggested_matches.iter().position(|suggestion| suggestion.matches.is_empty())
}

/// The place of a narrower permission by its number.
pub fn numbered(approval: &Approval, number: usize) -> Option<usize> {
    narrower(approval).get(number.checked_sub(1)?).map(|(place, _)| *place)
}

/// Says which keys there are, where one was pressed that is none of them.
pub fn no_number(approval: &Approval, given: &str) -> String {
    let choose = match (narrower(approval).len(), whole_tool(approval)) {
        (0, _) => format!("only {WHOLE_TOOL}, for the whole tool"),
        (1, None) => "only 1".to_owned(),
        (1, Some(_)) => format!("1, or {WHOLE_TOOL} for the whole tool"),
        (last, None) => format!("1 to {last}"),
        (last, Some(_)) => format!("1 to {last}, or {WHOLE_TOOL} for the whole tool"),
    };
    format!("there is no {given}; there is {choose}; nothing was decided")
}

/// What is asked once more before every call of a tool is permitted.
pub fn really(approval: &Approval, reach: Reach) -> String {
    let Approval { tool, agent_id, world_id, chat_id, .. } = approval;
    match reach {
        Reach::Always => {
            format!("any {tool} call by {agent_id}, in every chat of {world_id}, from now on?")
        }
        Reach::Session | Reach::Once => {
            format!("any {tool} call by {agent_id}, for the rest of {chat_id}?")
        }
    }
}

/// Whether all of what would run can be seen.
pub fn is_whole(approval: &Approval) -> bool {
    let is_whole = |text: &str| !CUTS.iter().any(|cut| text.contains(cut));
    is_whole(&approval.shown) && approval.preview.as_deref().is_none_or(is_whole)
}

pub fn not_offered(approval: &Approval, reach: Reach) -> String {
    match reach {
        Reach::Always if !is_whole(approval) => {
            "not shown in full: `always` is not offered; nothing was decided".to_owned()
        }
        Reach::Always => "`always` is not offered; nothing was decided".to_owned(),
        Reach::Session => "`session` is not offered; nothing was decided".to_owned(),
        Reach::Once => ONCE_NOT_OFFERED.to_owned(),
    }
}

/// A text as arguments, or as an answer to a form.
pub fn arguments(approval: &Approval, text: &str) -> Result<Value, String> {
    let arguments: Value = serde_json::from_str(text)
        .map_err(|error| format!("that is not JSON: {error}; nothing was decided"))?;
    // Secrets were never here: what would be sent is the mask.
    if approval.form.is_none() && arguments.to_string().contains(MASK) {
        return Err("the mask of a secret would run in its place; write the secret itself, or go back with Esc; \
                    nothing was decided"
            .to_owned());
    }
    Ok(arguments)
}
