//! Shows a request: what a person must see before deciding.
//! Used by `approvals show` and by `chat` without a terminal. Everything it shows was made visible and masked by the server; decides nothing.

use std::io;

use agent_world_client::wire::{Approval, Reach, Role};
use agent_world_terminal::deciding::{beside_diff, risks, rules};
use serde_json::Value;

use crate::screen::{Screen, Tone};
use crate::{phrases, words};

/// Lines of each message before a request.
const CONTEXT_LINES: usize = 5;

pub fn show(screen: &mut Screen, approval: &Approval) -> io::Result<()> {
    let context = approval.context.iter().flatten();
    for message in context.filter(|one| one.role != Role::Tool && !one.content.is_empty()) {
        screen.said(&message.sender, &words::first_lines(&message.content, CONTEXT_LINES))?;
    }
    let text = format!("{}: {}", approval.id, phrases::state(approval));
    screen.line(Tone::Question, &text)?;
    present(screen, approval, Listing::Places)
}

/// How the permissions that can be given are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// By their places, as `--match` takes them.
    Places,
    /// As a conversation takes them: the whole tool has a letter of its own, the others are counted.
    Keys,
}

/// Who, what exactly, where, and which permissions can be given.
pub fn present(screen: &mut Screen, approval: &Approval, listing: Listing) -> io::Result<()> {
    if let Some(form) = &approval.form {
        return present_form(screen, approval, form);
    }
    screen.shown(Tone::Plain, &format!("  {} asks: {}", approval.agent_id, approval.message))?;
    if let Some(voided) = &approval.voided {
        let earlier =
            voided.get("approval").and_then(Value::as_str).unwrap_or("an earlier request");
        screen.line(Tone::Warning, &format!("  {earlier} was approved, but since then:"))?;
        let changes = voided.get("changes").and_then(Value::as_array);
        for change in changes.into_iter().flatten().filter_map(Value::as_str) {
            screen.line(Tone::Warning, &format!("    {}", words::unbroken(change)))?;
        }
    }
    let shown = beside_diff(approval);
    let shown = shown.as_deref().unwrap_or(&approval.shown);
    screen.shown(Tone::Plain, &format!("  {} {shown}", approval.tool))?;
    if let Some(risk) = risks::of_call(approval) {
        screen.line(Tone::Warning, &format!("  {}", words::unbroken(&risk)))?;
    }
    for line in approval.preview.iter().flat_map(|preview| preview.lines()) {
        screen.shown(Tone::Plain, &format!("  {line}"))?;
    }
    let directory = approval.working_directory.as_deref();
    for (name, value) in facts(approval) {
        if name == "directory" && directory == Some(value) {
            continue;
        }
        let risk = (name == "sandbox").then(|| risks::of_sandbox(value)).flatten();
        let tone = if risk.is_some() { Tone::Warning } else { Tone::Quiet };
        screen.line(tone, &format!("  {name}: {}", words::unbroken(value)))?;
        if let Some(risk) = risk {
            screen.line(Tone::Warning, &format!("  {risk}"))?;
        }
    }
    if let Some(directory) = directory {
        screen.line(Tone::Plain, &format!("  in {directory}"))?;
    }
    if let Some(at) = &approval.expires_at {
        screen.line(Tone::Plain, &format!("  until {at}"))?;
    }
    list(screen, approval, listing)?;
    if !rules::is_whole(approval) {
        screen.line(Tone::Warning, "  not shown in full: `always` is not offered")?;
    } else if !rules::offers(approval, Reach::Always) {
        screen.line(Tone::Quiet, "  `always` is not offered")?;
    }
    Ok(())
}

fn list(screen: &mut Screen, approval: &Approval, listing: Listing) -> io::Result<()> {
    let whole = rules::whole_tool(approval).filter(|_| listing == Listing::Keys);
    let mut number = 0;
    for (place, suggestion) in approval.suggested_matches.iter().enumerate() {
        let key = match whole == Some(place) {
            true => rules::WHOLE_TOOL.to_string(),
            false => {
                number += 1;
                number.to_string()
            }
        };
        screen.line(Tone::Quiet, &format!("    {key} {}", suggestion.label))?;
    }
    Ok(())
}

/// What an approval holds for besides the arguments.
fn facts(approval: &Approval) -> impl Iterator<Item = (&str, &str)> {
    let facts = approval.binding.iter().flat_map(|binding| &binding.facts);
    facts.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// What a running tool wants to know.
fn present_form(screen: &mut Screen, approval: &Approval, form: &Value) -> io::Result<()> {
    let Approval { tool, agent_id, message, shown, .. } = approval;
    screen.line(Tone::Plain, &format!("  {tool} of {agent_id} asks: {message}"))?;
    if let Some(url) = form.get("url").and_then(Value::as_str) {
        screen.line(Tone::Plain, &format!("  go to {}", words::unbroken(url)))?;
    }
    screen.line(Tone::Plain, &format!("  the answer is JSON that fits {shown}"))?;
    let text = "  do not tell a password or a key: the answer goes to the tool and into the log";
    screen.line(Tone::Warning, text)
}
