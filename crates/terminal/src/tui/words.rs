//! Puts times, calls and counts into the few characters there are, and cuts and wraps what tools wrote.
//! Used by everything in `tui` that draws. What comes out has nothing hidden in it and fits its width.

use agent_world_client::wire::{Approval, ApprovalState, CallState};
use agent_world_core::Timestamp;
use agent_world_core::display::{compact, fill_template, mask_secrets, reveal, reveal_line};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns between two stops of a tab.
const TAB: usize = 8;
/// Characters of an argument that can matter on one line.
const LINE: usize = 500;

/// How long ago something was, in at most four characters.
pub fn age(at: &str, now: Timestamp) -> String {
    let Ok(at) = at.parse::<Timestamp>() else {
        return String::new();
    };
    match now.duration_since(at).as_secs().max(0) {
        seconds @ ..60 => format!("{seconds}s"),
        seconds @ ..3_600 => format!("{}m", seconds / 60),
        seconds @ ..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

pub fn duration(milliseconds: i64) -> String {
    match milliseconds.max(0) {
        short @ ..1_000 => format!("{short} ms"),
        seconds @ ..60_000 => format!("{}.{} s", seconds / 1_000, seconds % 1_000 / 100),
        long => format!("{} min {} s", long / 60_000, long % 60_000 / 1_000),
    }
}

/// The time of day in UTC, as it stands in a timestamp.
pub fn time_of_day(at: &str) -> &str {
    at.get(11..19).unwrap_or_default()
}

pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// How much a text is, for people.
pub fn size(bytes: usize) -> String {
    const KILO: usize = 1_024;
    const MEGA: usize = KILO * KILO;
    if bytes < KILO {
        format!("{bytes} bytes")
    } else if bytes < MEGA {
        format!("{} KB", bytes / KILO)
    } else {
        format!("{}.{} MB", bytes / MEGA, bytes % MEGA * 10 / MEGA)
    }
}

/// A value in which no string is longer than this; what was cut is marked.
pub fn shortened(value: &Value, most: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(most) {
            Some((end, _)) => Value::String(format!("{}…", text.get(..end).unwrap_or_default())),
            None => value.clone(),
        },
        Value::Array(all) => all.iter().take(most).map(|one| shortened(one, most)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(most);
            fields.map(|(name, one)| (name.clone(), shortened(one, most))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// What a call is about, on one line: a command as it would be typed, one argument as it is, all else as JSON.
pub fn call(arguments: &Value) -> String {
    let arguments = &shortened(arguments, LINE);
    if arguments.get("command").is_some_and(Value::is_string) {
        return fill_template("{command} {parameters}", arguments);
    }
    match mask_secrets(arguments) {
        Value::Null => String::new(),
        Value::String(text) => reveal_line(&text).into_owned(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) if fields.len() == 1 => match fields.values().next() {
            Some(Value::String(text)) => reveal_line(text).into_owned(),
            _ => compact(arguments),
        },
        _ => compact(arguments),
    }
}

pub fn state(state: CallState) -> &'static str {
    match state {
        CallState::Pending => "pending",
        CallState::AwaitingApproval => "waits for approval",
        CallState::Executing => "running",
        CallState::Completed => "done",
        CallState::Failed => "failed",
        CallState::Timeout => "timed out",
        CallState::Denied => "denied",
        CallState::Expired => "expired",
        CallState::Interrupted => "interrupted",
        CallState::Cancelled => "cancelled",
        CallState::Other => "unknown",
    }
}

/// A request that does not wait any more, where nobody has said why.
pub fn vanished(approval: &Approval) -> String {
    format!("{} {}: does not wait any more", approval.tool, call(&approval.arguments))
}

/// What became of a request, and by whom.
pub fn outcome(approval: &Approval) -> String {
    let what = match approval.state {
        ApprovalState::Pending => "waiting",
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "expired",
        ApprovalState::Withdrawn => "withdrawn",
        ApprovalState::Other => "settled",
    };
    let reach = match approval.scope.as_deref() {
        Some("session") => " for the session",
        Some("always") => " always",
        _ => "",
    };
    let by = match (&approval.decided_by, &approval.decided_through) {
        (Some(by), Some(_)) => format!(" through a permission of {by}"),
        (Some(by), None) => format!(" by {by}"),
        (None, _) => String::new(),
    };
    format!("{} {}: {what}{reach}{by}", approval.tool, call(&approval.arguments))
}

/// The beginning of a line, as much as fits, with a mark where the rest is missing.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used >= width {
            break;
        }
        taken.push(character);
    }
    if width > 0 {
        taken.push('…');
    }
    taken
}

/// A text that is no Markdown, wrapped wherever a line is full.
pub fn wrap(text: &str, width: u16, most: usize) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines = Vec::new();
    for line in text.lines() {
        if lines.len() >= most {
            break;
        }
        wrap_line(&shown(line), width, &mut lines);
    }
    lines.truncate(most);
    lines
}

/// Words of ours, wrapped between words.
pub fn wrap_words(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines = Vec::new();
    for line in shown(text).lines() {
        let mut current = String::new();
        for word in line.split(' ') {
            let gap = usize::from(!current.is_empty());
            if !current.is_empty() && current.width() + gap + word.width() > width {
                wrap_line(&std::mem::take(&mut current), width, &mut lines);
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        wrap_line(&current, width, &mut lines);
    }
    lines
}

/// One line as it can be put on the screen.
pub fn shown(line: &str) -> String {
    let line = reveal(line);
    if !line.contains('\t') {
        return line.into_owned();
    }
    let mut shown = String::new();
    let mut column = 0;
    for part in line.split_inclusive('\t') {
        let text = part.trim_end_matches('\t');
        column += text.width();
        shown.push_str(text);
        if part.ends_with('\t') {
            let gap = TAB - column % TAB;
            shown.push_str(&" ".repeat(gap));
            column += gap;
        }
    }
    shown
}

fn wrap_line(line: &str, width: usize, into: &mut Vec<String>) {
    let mut current = String::new();
    let mut used = 0;
    for character in line.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > width && used > 0 {
            into.push(std::mem::take(&mut current));
            used = 0;
        }
        current.push(character);
        used += wide;
    }
    into.push(current);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ages_and_durations_are_short() {
        let now = "2026-11-16T10:00:00Z".parse().unwrap();
        let ages = [
            "2026-11-16T09:59:48Z",
            "2026-11-16T09:48:00Z",
            "2026-11-16T07:00:00Z",
            "2026-11-12T10:00:00Z",
            "2026-11-16T10:00:09Z",
            "never",
        ];
        assert_eq!(ages.map(|at| age(at, now)), ["12s", "12m", "3h", "4d", "0s", ""]);
        let durations = [40, 1_250, 65_000].map(duration);
        assert_eq!(durations, ["40 ms", "1.2 s", "1 min 5 s"]);
    }

    #[test]
    fn a_call_is_one_line_with_nothing_hidden_in_it() {
        let command = json!({"command": "ls", "parameters": ["-l", "my file"]});
        assert_eq!(call(&command), "ls -l \"my file\"");
        assert_eq!(call(&json!({"path": "a\u{202e}\nb"})), "a\\u{202E}\\nb");
        assert_eq!(call(&json!({"a": 1, "b": 2})), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn what_is_too_wide_is_cut_or_wrapped_by_columns() {
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("short", 5), "short");
        assert_eq!(wrap("日本語\na\tx\n\nend", 5, 9), ["日本", "語", "a    ", "   x", "", "end"]);
        assert_eq!(wrap("a\nb\nc", 4, 2), ["a", "b"]);
    }
}
