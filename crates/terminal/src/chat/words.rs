//! Puts calls and decisions into one line each.
//! Used by `flow`, `draw` and `state`. Masks secrets and makes hidden characters visible; decides nothing.

use agent_world_client::wire::{Approval, ApprovalState, CallState};
use agent_world_core::display::{compact, mask_secrets, reveal_line};
use serde_json::Value;

use crate::conversation::Block;

/// Characters of a line that only reminds of something.
const LINE: usize = 100;

/// A tool with what it is called with; commands as a person would type them.
pub fn call(tool: &str, arguments: &Value) -> String {
    let arguments = &as_written(arguments);
    let masked = mask_secrets(arguments);
    let command = masked.get("command").and_then(Value::as_str).map(|command| {
        let parameters = masked.get("parameters").and_then(Value::as_array);
        let words = parameters.into_iter().flatten().filter_map(Value::as_str);
        std::iter::once(command).chain(words).collect::<Vec<_>>().join(" ")
    });
    let told = match command {
        Some(command) => reveal_line(&command).into_owned(),
        None => compact(arguments),
    };
    format!("{} {}", reveal_line(tool), cut(&told, LINE))
}

/// What a model wrote that was no valid call is kept as the text it was: read as what it was meant for.
pub fn as_written(arguments: &Value) -> Value {
    let read = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    read.filter(Value::is_object).unwrap_or_else(|| arguments.clone())
}

/// How much of something is not shown.
pub fn amount(lines: usize, characters: usize) -> Option<String> {
    match (lines, characters) {
        (0, 0) => None,
        (lines, 0) => Some(count(lines, "line")),
        (0, characters) => Some(count(characters, "character")),
        _ => Some(format!("{} and {}", count(lines, "line"), count(characters, "character"))),
    }
}

/// How much of what a call gave back is not shown, when some lines of it are. Of a long result only the beginning and the end
/// are known, and how many characters there are in all.
pub fn left_of_result<'l>(
    block: &Block,
    lines: usize,
    shown: impl Iterator<Item = &'l str>,
) -> Option<String> {
    let shown: usize = shown.map(|line| line.chars().count() + 1).sum();
    match block.whole {
        Some(whole) => {
            amount(0, usize::try_from(whole).unwrap_or(usize::MAX).saturating_sub(shown))
        }
        None => amount(lines, 0),
    }
}

/// How a call ended.
pub fn ended(block: &Block) -> String {
    let name = match block.state {
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Timeout => "timed out",
        CallState::Denied => "denied",
        CallState::Expired => "expired",
        CallState::Interrupted => "interrupted",
        CallState::Cancelled => "cancelled",
        CallState::Pending | CallState::AwaitingApproval | CallState::Executing => "under way",
        CallState::Other => "ended",
    };
    match block.duration_ms {
        Some(time) => format!("{name} · {}", seconds(time)),
        None => name.to_owned(),
    }
}

fn seconds(milliseconds: i64) -> String {
    match milliseconds {
        ..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds / 1_000 % 60),
    }
}

/// What became of a request, with whoever decided.
pub fn decided(approval: &Approval) -> String {
    let by = match (&approval.decided_by, &approval.decided_through) {
        (Some(by), Some(through)) => format!(" by {by}'s {through}"),
        (Some(by), None) => format!(" by {by}"),
        (None, _) => String::new(),
    };
    let what = match approval.state {
        ApprovalState::Approved if approval.form.is_some() => "answered".to_owned(),
        ApprovalState::Approved => match approval.scope.as_deref() {
            Some("session") => "approved for the session".to_owned(),
            Some(scope) => format!("approved {scope}"),
            None => "approved".to_owned(),
        },
        ApprovalState::Denied => "denied".to_owned(),
        ApprovalState::Expired => "expired: nobody answered".to_owned(),
        ApprovalState::Withdrawn => "withdrawn".to_owned(),
        ApprovalState::Pending | ApprovalState::Other => "waiting".to_owned(),
    };
    let edited = if approval.edited_arguments.is_some() { ", with other arguments" } else { "" };
    let reason = match &approval.reason {
        Some(reason) => format!(" ({})", reveal_line(reason)),
        None => String::new(),
    };
    let call = call(&approval.tool, &approval.arguments);
    format!("{} {call}: {what}{by}{edited}{reason}", approval.agent_id)
}

/// How a lasting decision is taken back.
pub const UNDO: &str =
    "  undo: /policy shows its ID, `agent-world approvals revoke ID` takes it back";

/// For which calls a decision holds from now on, and of which agent.
pub fn lasts(approval: &Approval, calls: &str) -> String {
    let (agent, calls) = (reveal_line(&approval.agent_id), reveal_line(calls));
    match approval.scope.as_deref() {
        Some("always") => {
            let world = reveal_line(&approval.world_id);
            format!("  in every chat of {world} you are not asked again for {agent}: {calls}")
        }
        _ => {
            let chat = reveal_line(&approval.chat_id);
            format!("  in {chat} you are not asked again for {agent}: {calls}")
        }
    }
}

pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// The beginning of a line, with a mark where the rest is missing.
pub fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
