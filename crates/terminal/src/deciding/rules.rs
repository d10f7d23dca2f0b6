//! Decides what may be chosen for a request, and which texts are answers.
//! Used by the keys and by what is shown, so that both agree. Never offers more than the server did.

use agent_world_client::wire::{Approval, Reach};
use serde_json::Value;

pub const SAY_WHICH: &str =
    "say for which calls, by a number of the list, or go back with Esc; nothing was decided";
pub const ONCE_NOT_OFFERED: &str = "approving it is not offered; nothing was decided";
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
