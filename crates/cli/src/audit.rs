//! Shows who did what, by which rule and with which result; for scripts, all of it.
//! Called by `main`. Only looks. Also tells of worlds that are deleted: the audit outlives them.

mod known;

use std::time::Duration;

use agent_world_client::wire::Page;
use agent_world_client::{Client, Path};
use agent_world_core::Timestamp;
use agent_world_core::audit::{Actor, Answer, What};
use agent_world_core::chat::CallState;
use agent_world_core::command::Scope;
use agent_world_core::event::Outcome;
use agent_world_core::policy::{Ruling, Verdict};
use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use serde_json::Value;

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::{place, words};
use known::Known;

/// Entries asked for at a time, the most a page has.
const PAGE: usize = 1000;
/// Entries a person is shown unless more are asked for.
const SHOWN: usize = 50;
/// Characters of a line, so that it stays one on most terminals.
const WIDTH: usize = 100;
/// Beyond all entries.
const END: &str = "9223372036854775807";

#[derive(Debug, Args)]
#[command(after_help = "\
WHEN is a moment such as 2026-11-15T05:59:00Z or 2026-11-15, or how long ago: 90s, 30m, 2h, 3d, 1w.
Times are shown in UTC. Nothing that looks like a secret is in the audit.

Examples:
  agent-world audit --tool shell_cmd --kind decided
  agent-world audit --call call_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world audit --json > audit.jsonl")]
pub struct Audit {
    /// Only of this world, which may be deleted
    #[arg(short, long)]
    world: Option<String>,
    /// Only of this chat
    #[arg(short, long)]
    chat: Option<String>,
    /// Only what this agent did or asked for
    #[arg(long)]
    agent: Option<String>,
    /// Only about this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only about this tool call
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Only entries of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(What::KINDS))]
    kind: Option<String>,
    /// Only what this person decided or changed, also by a permission; `nobody` where nobody could be asked
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// Only since then
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only before then
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Timestamp>,
    /// How many of the newest; otherwise 50, and with --json all
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// An entry as a server tells it.
#[derive(Debug, Deserialize)]
struct Entry {
    at: Timestamp,
    kind: String,
    world_id: String,
    chat_id: Option<String>,
    agent_id: Option<String>,
    tool: Option<String>,
    tool_call_id: Option<String>,
    actor: Actor,
    rule: Option<String>,
    data: Value,
}

pub async fn run(to: Whereabouts, wanted: Audit) -> Result<Exit> {
    let connection = Connection::open(to, Purpose::Visit).await?;
    let done = show_audit(&connection.client, &wanted).await;
    connection.close().await;
    done
}

async fn show_audit(client: &Client, wanted: &Audit) -> Result<Exit> {
    if let Some(world) = &wanted.world {
        known(client, world).await?;
    }
    let mut screen = Screen::stdout();
    if wanted.json && wanted.limit.is_none() {
        let mut all = client.pages::<Value>(path(wanted).with("limit", PAGE.to_string()));
        while let Some(entry) = all.next().await? {
            screen.json(&entry)?;
        }
        return Ok(Exit::Done);
    }
    let (newest, more) = newest(client, wanted).await?;
    if wanted.json {
        for entry in &newest {
            screen.json(entry)?;
        }
    } else {
        let mut known = Known::default();
        for entry in &newest {
            let entry: Entry = serde_json::from_value(entry.clone())?;
            known.look(client, &entry).await?;
            show(&mut screen, &entry, &known)?;
        }
        screen.line(Tone::Quiet, &summary(newest.len(), more))?;
    }
    Ok(Exit::Done)
}

fn path(wanted: &Audit) -> Path {
    Path::new("/api/audit")
        .maybe("world", wanted.world.as_deref())
        .maybe("chat", wanted.chat.as_deref())
        .maybe("agent", wanted.agent.as_deref())
        .maybe("tool", wanted.tool.as_deref())
        .maybe("call", wanted.call.as_deref())
        .maybe("kind", wanted.kind.as_deref())
        .maybe("actor", wanted.actor.as_deref())
        .maybe("since", wanted.since.map(|at| at.to_string()))
        .maybe("until", wanted.until.map(|at| at.to_string()))
}

/// A world that is deleted is known as long as anything is told of it.
async fn known(client: &Client, world: &str) -> Result<()> {
    let told = Path::new("/api/audit").with("world", world).with("limit", "1");
    let page: Page<Value> = client.get(told).await?;
    if page.data.is_empty() {
        place::known_world(client, Some(world)).await?;
    }
    Ok(())
}

/// The newest entries, oldest first, and whether there are earlier ones.
async fn newest(client: &Client, wanted: &Audit) -> Result<(Vec<Value>, bool)> {
    let limit = wanted.limit.unwrap_or(SHOWN);
    let mut pages: Vec<Vec<Value>> = Vec::new();
    let (mut left, mut before) = (limit, Some(END.to_owned()));
    while let Some(end) = before.take_if(|_| left > 0) {
        let next = path(wanted).with("before", end).with("limit", left.min(PAGE).to_string());
        let page: Page<Value> = client.get(next).await?;
        left = left.saturating_sub(page.data.len());
        before = page.next;
        pages.push(page.data);
    }
    let newest = pages.into_iter().rev().flatten().collect();
    Ok((newest, before.is_some()))
}

fn summary(shown: usize, more: bool) -> String {
    let number = match shown {
        0 => return "nothing of the kind has happened".to_owned(),
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    };
    match more {
        true => {
            format!("{number}; there are earlier ones, --limit shows more and --json everything")
        }
        false => number,
    }
}

fn show(screen: &mut Screen, entry: &Entry, known: &Known) -> Result<()> {
    let Some(what) = entry.what() else {
        // Of a kind that only newer programs know.
        let line = format!("{}  {:<9}  {}", short(entry.at), entry.kind, entry.data);
        return Ok(screen.row(Tone::Plain, &words::cut(&line, WIDTH - 1))?);
    };
    let (kind, who) = (what.kind(), who(entry));
    let told = told(entry, &what, &known.call(entry));
    let line = format!("{}  {kind:<9}  {who:<8}  {told}", short(entry.at));
    screen.row(tone(&what), &words::cut(&line, WIDTH - 1))?;
    let Entry { world_id, chat_id, tool_call_id, rule, actor, .. } = entry;
    // By these it is asked for more.
    if let (What::Called { .. }, Some(call), Some(chat)) = (&what, tool_call_id, chat_id) {
        screen.line(Tone::Quiet, &format!("    {call} in {world_id}, {chat}"))?;
    }
    match (&what, rule, actor) {
        (What::Called { .. }, Some(rule), _)
        | (What::Decided { .. }, Some(rule), Actor::Grant(_) | Actor::Rule(_)) => {
            screen.line(Tone::Quiet, &format!("    by {rule}"))?;
        }
        (What::Decided { scope, .. }, Some(rule), _) => {
            let text = format!("    from now on {rule}: {}", holds_for(entry, *scope, rule, known));
            screen.line(Tone::Quiet, &text)?;
        }
        _ => {}
    }
    Ok(())
}

/// Which calls a lasting permission was given for, as far as it can still be looked up.
fn holds_for(entry: &Entry, scope: Option<Scope>, rule: &str, known: &Known) -> String {
    let (tool, agent) = (entry.tool.as_deref().unwrap_or("any tool"), who_calls(entry));
    let (calls, rest) = match known.narrowed(entry, rule) {
        Some([]) => (format!("every call of {tool}"), ", with any arguments"),
        Some(matches) => (words::permitted(tool, matches), ""),
        None => (format!("calls of {tool}"), "; no longer in force"),
    };
    match (scope, &entry.chat_id) {
        (Some(Scope::Always), _) => {
            format!("{calls} by {agent} in world {}{rest}", entry.world_id)
        }
        (_, Some(chat)) => format!("{calls} by {agent} in {chat}{rest}"),
        (_, None) => format!("{calls} by {agent} in its chat{rest}"),
    }
}

fn who_calls(entry: &Entry) -> &str {
    entry.agent_id.as_deref().unwrap_or("any agent")
}

impl Entry {
    fn what(&self) -> Option<What> {
        let mut data = self.data.clone();
        data.as_object_mut()?.insert("kind".to_owned(), Value::from(self.kind.as_str()));
        serde_json::from_value(data).ok()
    }
}

/// To the second, in universal time.
pub fn short(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn tone(what: &What) -> Tone {
    match what {
        What::Decided { decision: Answer::Denied, .. } => Tone::Warning,
        What::Decided { .. } | What::Requested { .. } => Tone::Question,
        _ => Tone::Plain,
    }
}

fn who(entry: &Entry) -> String {
    match (&entry.actor, &entry.agent_id) {
        (Actor::Person(name) | Actor::Grant(name) | Actor::Rule(name), _) => name.clone(),
        (Actor::Nobody, _) => "nobody".to_owned(),
        (Actor::Agent | Actor::Program, Some(agent)) => agent.clone(),
        (Actor::Agent | Actor::Program, None) => String::new(),
    }
}

/// What an entry says, on one line. What became of a call comes first: its arguments may be long.
fn told(entry: &Entry, what: &What, call: &str) -> String {
    match what {
        What::Called { verdict, .. } => format!("{}: {call}", judged(verdict.as_ref())),
        What::Requested { question, .. } => match entry.tool_call_id.is_some() {
            true => call.to_owned(),
            false => words::shortened(question),
        },
        What::Decided { decision, scope, reason, edited_arguments } => {
            let mut text = decided(*decision, *scope).to_owned();
            if edited_arguments.is_some() {
                text.push_str(", with other arguments");
            }
            if let Some(reason) = reason.as_ref().filter(|_| entry.actor != Actor::Nobody) {
                text.push_str(&format!(" ({reason})"));
            }
            let run = match (edited_arguments, &entry.tool) {
                (Some(edited), Some(tool)) => words::action(tool, edited),
                _ => call.to_owned(),
            };
            format!("{text}: {run}")
        }
        What::Expired => format!("nobody answered in time: {call}"),
        What::Withdrawn { reason } => format!("{reason}: {call}"),
        What::Started { attempt: 1, .. } => call.to_owned(),
        What::Started { attempt, .. } => format!("attempt {attempt}: {call}"),
        What::Finished { outcome, duration_ms, details, error } => {
            let mut text = CallState::Ended(*outcome).name().to_owned();
            if let Some(took) = duration_ms {
                text.push_str(&format!(" in {}", duration(*took)));
            }
            if let Some(code) = details.get("exit_code").and_then(Value::as_i64) {
                text.push_str(&format!(", exit code {code}"));
            }
            text.push_str(&format!(": {call}"));
            // Why it was denied was told with the decision or the verdict.
            let why = error.as_ref().filter(|why| !why.is_empty() && *outcome != Outcome::Denied);
            if let Some(error) = why {
                text.push_str(&format!(" ({error})"));
            }
            text
        }
        What::GrantRevoked => {
            let tool = entry.tool.as_deref().unwrap_or_default();
            format!("{tool}: {} is revoked", entry.rule.as_deref().unwrap_or_default())
        }
        What::Changed { entity, action, id } => match entry.world_id == **id {
            true => format!("{entity} {id} {action}"),
            false => format!("{entity} {id} of {} {action}", entry.world_id),
        },
    }
}

fn judged(verdict: Option<&Verdict>) -> &'static str {
    match verdict.map(|verdict| verdict.ruling) {
        None => "not a valid call",
        Some(Ruling::Allow) => "allow",
        Some(Ruling::Ask) => "ask",
        Some(Ruling::Deny) => "deny",
    }
}

fn decided(decision: Answer, scope: Option<Scope>) -> &'static str {
    match (decision, scope) {
        (Answer::Denied, _) => "denied",
        (Answer::Approved, Some(Scope::Session)) => "approved for the session",
        (Answer::Approved, Some(Scope::Always)) => "approved always",
        (Answer::Approved, Some(Scope::Once) | None) => "approved once",
        (Answer::Answered, _) => "answered",
    }
}

/// A time in the unit that fits it.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => {
            format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
        }
        60_000..6_000_000 => format!("{} min", milliseconds / 60_000),
        _ => format!("{} h", milliseconds / 3_600_000),
    }
}

/// A moment, or how long ago it was.
fn moment(text: &str) -> Result<Timestamp, String> {
    let given = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    if let Ok(moment) = given {
        return Ok(moment);
    }
    let unclear =
        || format!("`{text}` is no time; write 2026-11-15T05:59:00Z, 2026-11-15, 30m, 2h or 3d");
    let number = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let seconds: u64 = match text.strip_prefix(number) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 3_600,
        Some("d") => 86_400,
        Some("w") => 7 * 86_400,
        _ => return Err(unclear()),
    };
    let number: u64 = number.parse().map_err(|_| unclear())?;
    let ago = Duration::from_secs(number.saturating_mul(seconds));
    Timestamp::now().checked_sub(ago).map_err(|_| unclear())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_day_or_how_long_ago() {
        let moment = |text: &str| moment(text).map(|at| at.to_string());
        assert_eq!(moment("2026-11-15T05:59:00+01:00").unwrap(), "2026-11-15T04:59:00Z");
        assert_eq!(moment("2026-11-15").unwrap(), "2026-11-15T00:00:00Z");
        let ago = super::moment("2h").unwrap();
        let passed = Timestamp::now().duration_since(ago).as_secs();
        assert!((7_200..7_260).contains(&passed), "{passed}");
        for wrong in ["", "2", "h", "2 hours", "-2h", "99999999999999999999d", "9999999999w", "now"]
        {
            assert!(moment(wrong).unwrap_err().contains("is no time"), "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_given_in_the_unit_that_fits_it() {
        let shown = [0, 999, 1_000, 59_999, 60_000, 5_999_999, 6_000_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min", "99 min", "1 h"]);
    }
}
