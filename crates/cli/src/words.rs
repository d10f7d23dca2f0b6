//! Puts calls, decisions and events into words.
//! Used wherever something is shown to a person. Never decides anything, and masks secrets in arguments.

use agent_world_core::config::{Sandbox, SandboxMode};
use agent_world_core::display::{compact, mask_secrets, mask_text, reveal_line};
use agent_world_core::event::{Choice, Decider, Decision, Event, Outcome, Output, Permission};
use agent_world_core::policy::{Annotations, Match, Preset, Test};
use agent_world_core::view::{ApprovalState, ApprovalView};
use serde_json::Value;

/// Characters of a line that only reminds of something.
const LINE: usize = 120;
/// Characters of a line of somebody's text: beyond that it is hardly read.
const TEXT_LINE: usize = 500;
/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 5;

/// A call on one line.
pub fn call(tool: &str, arguments: &Value) -> String {
    let arguments = match mask_secrets(arguments) {
        Value::String(text) => shortened(&text),
        _ => cut(&compact(arguments), LINE),
    };
    format!("{tool} {arguments}")
}

/// How a call ended, with the first lines of what it gave back.
pub fn ended(outcome: Outcome, output: &Output) -> String {
    let name = match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed => "failed",
        Outcome::Timeout => "timed out",
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::Interrupted => "interrupted",
        Outcome::Cancelled => "cancelled",
    };
    let code = match output.details.get("exit_code").and_then(Value::as_i64) {
        Some(code) => format!(", exit code {code}"),
        None => String::new(),
    };
    match first_lines(&output.text, OUTPUT_LINES) {
        shown if shown.is_empty() => format!("{name}{code}"),
        shown => format!("{name}{code}\n{shown}"),
    }
}

/// The first lines of a text, saying how many are left out.
pub fn first_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: Vec<String> = lines.iter().take(most).map(|line| cut(line, TEXT_LINE)).collect();
    match lines.len().saturating_sub(most) {
        0 => {}
        left => shown.push(format!("… {} more", count(left, "line"))),
    }
    shown.join("\n")
}

/// A text on one line, cut where that is said.
pub fn shortened(text: &str) -> String {
    cut(&reveal_line(text), LINE)
}

/// A text that must not look like several lines. The screen makes everything else visible.
pub fn unbroken(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// What somebody said or the log holds, on one line. Masked first: the beginning of a secret is not seen as one.
pub fn excerpt(text: &str) -> String {
    shortened(&mask_text(text))
}

/// The beginning of a line, with a mark where the rest is missing.
pub fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// What became of a request.
pub fn state(state: &ApprovalState) -> String {
    match state {
        ApprovalState::Pending => "waiting for a decision".to_owned(),
        ApprovalState::Expired { at } => format!("expired at {at}: nobody answered"),
        ApprovalState::Withdrawn { reason, at } => format!("withdrawn at {at}: {reason}"),
        ApprovalState::Decided { decision, by, at } => format!("{} at {at}", decided(decision, by)),
    }
}

pub fn decided(decision: &Decision, by: &Decider) -> String {
    let what = match decision {
        Decision::Denied { reason: None } => "denied".to_owned(),
        Decision::Denied { reason: Some(_) } if *by == Decider::Nobody => "denied".to_owned(),
        Decision::Denied { reason: Some(reason) } => format!("denied ({reason})"),
        Decision::Answered { .. } => "answered".to_owned(),
        Decision::Approved { scope, arguments } => {
            let scope = match scope {
                Permission::Once => "once",
                Permission::Session(_) => "for the session",
                Permission::Always(_) => "always",
            };
            let edited = if arguments.is_some() { ", with other arguments," } else { "" };
            format!("approved {scope}{edited}")
        }
    };
    let who = match by {
        Decider::Person(name) => format!("by {name}"),
        Decider::Grant { grant, by } => format!("by {by}'s grant {grant}"),
        Decider::Rule { rule, by } => format!("by {by}'s rule {rule}"),
        Decider::Nobody => "because nobody could be asked".to_owned(),
    };
    format!("{what} {who}")
}

/// Who wants what, on one line.
pub fn wish(approval: &ApprovalView) -> String {
    if approval.form.is_some() {
        let question = shortened(&approval.question);
        return format!("{} of {} asks: {question}", approval.tool, approval.agent);
    }
    let call = call(&approval.tool, &approval.arguments);
    format!("{} wants to use {call}", approval.agent)
}

/// The calls a permission covers.
pub fn permitted(tool: &str, matches: &[Match]) -> String {
    let conditions: Vec<String> = matches
        .iter()
        .map(Match::masked)
        .map(|one| {
            let place = if one.pointer.is_empty() { "arguments" } else { one.pointer.as_str() };
            match &one.test {
                Test::Equals(value) => format!("{place} = {}", compact(value)),
                Test::Glob(pattern) => format!("{place} like {}", shortened(pattern)),
                Test::Regex(expression) => format!("{place} matching {}", shortened(expression)),
                Test::Command(pattern) => {
                    let words = [std::slice::from_ref(&pattern.program), &pattern.parameters];
                    format!("command `{}`", excerpt(&words.concat().join(" ")))
                }
                Test::Paths(pattern) => format!("paths in {}", excerpt(&pattern.within.join(", "))),
                Test::Annotations(asked) => format!("a tool that is {}", declared(asked)),
            }
        })
        .collect();
    match conditions.as_slice() {
        [] => format!("any {tool}"),
        conditions => format!("{tool} with {}", conditions.join(" and ")),
    }
}

fn declared(asked: &Annotations) -> String {
    let asked = [
        ("read-only", asked.read_only),
        ("destructive", asked.destructive),
        ("idempotent", asked.idempotent),
    ];
    let named = asked.into_iter().filter_map(|(name, asked)| {
        asked.map(|yes| if yes { name.to_owned() } else { format!("not {name}") })
    });
    named.collect::<Vec<_>>().join(" and ")
}

/// What a preset does, in a few words.
pub fn preset(preset: Preset) -> &'static str {
    match preset {
        Preset::ReadOnly => "tools that only read are as they declare, everything else is denied",
        Preset::Ask => "what each tool declares",
        Preset::Trusted => {
            "tools that do not destroy are allowed, of servers and clients those that only read"
        }
    }
}

/// How the programs that agents run are confined.
pub fn sandbox(sandbox: &Sandbox) -> String {
    let network = if sandbox.network { "with network" } else { "without network" };
    match sandbox.mode {
        SandboxMode::Off => "programs run without a sandbox".to_owned(),
        SandboxMode::On => {
            format!("programs run in a sandbox, as far as this system has one, {network}")
        }
        SandboxMode::Required => format!("programs run in a sandbox or not at all, {network}"),
    }
}

pub fn offers(approval: &ApprovalView, choice: Choice) -> bool {
    approval.options.contains(&choice)
}

/// An event of the log on one line.
pub fn event(event: &Event) -> String {
    match event {
        Event::ChatCreated(created) => format!("chat “{}”", created.title),
        Event::HistoryCopied { events } => count(events.len(), "event") + " of another chat",
        Event::ChatRenamed { title, .. } => format!("now called “{title}”"),
        Event::TitleProposed { model, usage } => {
            format!("{model} used {} tokens", usage.total_tokens)
        }
        Event::ArgumentsEdited { call, .. } => format!("{call}"),
        Event::NamingGivenUp { reason } => reason.clone(),
        Event::ChatDeleted { by } => format!("by {by}"),
        Event::MessagePosted(posted) => {
            format!("{}: {}", posted.message.sender, excerpt(&posted.message.text))
        }
        Event::NoticePosted(notice) => excerpt(&notice.text),
        Event::HistoryCut { from, by, .. } => format!("from {from} on, by {by}"),
        Event::TurnStarted(started) => format!("{} {}", started.agent, started.turn),
        Event::ModelCallRequested(asked) => format!("{} call {}", asked.agent, asked.iteration),
        Event::ReplyRecorded(reply) => format!(
            "{} {} with {}",
            reply.agent,
            reply.model,
            count(reply.calls.len(), "tool call")
        ),
        Event::TurnPaused { turn } => format!("{turn} waits for the next message"),
        Event::TurnEnded { turn, ending } => {
            let ending = serde_json::to_value(ending).unwrap_or_default();
            format!("{turn} {}", excerpt(&ending.to_string()))
        }
        Event::TurnLimitReached { agent, limit, .. } => format!("{agent} had {limit} turns"),
        Event::WorkStopped { agent, by, .. } => match agent {
            Some(agent) => format!("of {agent}, by {by}"),
            None => format!("by {by}"),
        },
        Event::ToolCalled(called) => {
            format!("{} {} {}", called.agent, called.call, call(&called.name, &called.arguments))
        }
        Event::ToolStarted { call, attempt, .. } => format!("{call} attempt {attempt}"),
        Event::ToolRequeued { call } => format!("{call}"),
        Event::ToolFinished(finished) => {
            let ended = ended(finished.outcome, &finished.output);
            format!("{} {}", finished.call, ended.lines().next().unwrap_or_default())
        }
        Event::ApprovalRequested(asked) => {
            format!("{} {}", asked.approval, shortened(&asked.question))
        }
        Event::ApprovalDecided(answer) => {
            format!("{} {}", answer.approval, decided(&answer.decision, &answer.by))
        }
        Event::ApprovalExpired { approval } => format!("{approval}"),
        Event::ApprovalWithdrawn { approval, reason } => format!("{approval} {reason}"),
        Event::GrantRevoked { grant, by } => format!("{grant} by {by}"),
        Event::ClientToolsOffered { client, tools, .. } => {
            format!("{client} offers {}", count(tools.len(), "tool"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_one_line_without_secrets() {
        let line = call("shell_cmd", &json!({"command": "a\nb", "api_key": "sk-1234567890abcdef"}));
        assert!(line.starts_with("shell_cmd {") && !line.contains('\n'), "{line}");
        assert!(!line.contains("sk-1234567890abcdef"), "{line}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(first_lines("a\nb\nc\n", 5), "a\nb\nc");
        assert_eq!(first_lines("a\nb\nc", 2), "a\nb\n… 1 line more");
        assert_eq!(first_lines("a\nb\nc\nd", 2), "a\nb\n… 2 lines more");
    }

    #[test]
    fn an_end_names_its_exit_code_and_shows_the_output() {
        let output = Output { details: json!({"exit_code": 0}), ..Output::text("hi\n") };
        assert_eq!(ended(Outcome::Completed, &output), "completed, exit code 0\nhi");
        assert_eq!(ended(Outcome::Timeout, &Output::text("")), "timed out");
    }
}
