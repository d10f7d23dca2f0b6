//! Shows who did what, by which rule and with which result; for scripts, all of it.
//! Called by `main`. Only looks. Also tells of worlds that are deleted: the audit outlives them.

use agent_world_core::Timestamp;
use agent_world_core::audit::{Actor, Answer, Entry, What};
use agent_world_core::chat::CallState;
use agent_world_core::command::Scope;
use agent_world_core::event::Outcome;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_core::policy::{Ruling, Verdict};
use agent_world_store::{AuditFilter, AuditPage, Audited, Store};
use anyhow::Result;
use serde_json::Value;

use crate::args::Audit;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::open_to_look;
use crate::{place, wire, words};

const PAGE: usize = 500;
/// Entries a person is shown unless more are asked for.
const SHOWN: usize = 50;
/// Characters of a line, so that it stays one on most terminals.
const WIDTH: usize = 100;

pub async fn run(data: DataFolder, wanted: Audit) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    let (json, limit) = (wanted.json, wanted.limit);
    let filter = filter(wanted);
    if let Some(world) = &filter.world {
        known(&store, world).await?;
    }
    let mut screen = Screen::stdout();
    if json && limit.is_none() {
        return export(&store, &filter, &mut screen).await;
    }
    let page = AuditPage::Before(None, limit.unwrap_or(SHOWN));
    let newest = store.audit(&filter, page).await?;
    for audited in &newest {
        show(&mut screen, audited, json)?;
    }
    if !json {
        screen.line(Tone::Quiet, &summary(&store, &filter, &newest).await?)?;
    }
    Ok(Exit::Done)
}

fn filter(wanted: Audit) -> AuditFilter {
    AuditFilter {
        world: wanted.world.map(WorldId::new),
        chat: wanted.chat.map(ChatId::new),
        agent: wanted.agent.map(AgentId::new),
        tool: wanted.tool,
        call: wanted.call.map(CallId::new),
        kind: wanted.kind,
        actor: wanted.actor,
        since: wanted.since,
        until: wanted.until,
    }
}

/// A world that is deleted is known as long as anything is told of it.
pub async fn known(store: &dyn Store, world: &WorldId) -> Result<()> {
    let filter = AuditFilter { world: Some(world.clone()), ..AuditFilter::default() };
    let told_of = !store.audit(&filter, AuditPage::After(0, 1)).await?.is_empty();
    if told_of || store.world(world).await?.is_some() {
        return Ok(());
    }
    Err(place::no_world(world))
}

async fn export(store: &dyn Store, filter: &AuditFilter, screen: &mut Screen) -> Result<Exit> {
    let mut after = 0;
    loop {
        let page = store.audit(filter, AuditPage::After(after, PAGE)).await?;
        let Some(last) = page.last() else {
            return Ok(Exit::Done);
        };
        after = last.position;
        for audited in &page {
            screen.json(&wire::audited(audited))?;
        }
    }
}

async fn summary(store: &dyn Store, filter: &AuditFilter, shown: &[Audited]) -> Result<String> {
    let Some(first) = shown.first() else {
        return Ok("nothing of the kind has happened".to_owned());
    };
    let earlier = AuditPage::Before(Some(first.position), 1);
    let more = match store.audit(filter, earlier).await?.is_empty() {
        true => "",
        false => "; there are earlier ones, --limit shows more and --json everything",
    };
    let number = match shown.len() {
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    };
    Ok(format!("{number}{more}"))
}

fn show(screen: &mut Screen, audited: &Audited, json: bool) -> Result<()> {
    if json {
        return Ok(screen.json(&wire::audited(audited))?);
    }
    let Entry { at, world, chat, call, rule, what, actor, .. } = &audited.entry;
    let (kind, who) = (what.kind(), who(&audited.entry));
    let line = format!("{}  {kind:<9}  {who:<8}  {}", short(*at), told(&audited.entry));
    screen.line(tone(what), &words::cut(&line, WIDTH - 1))?;
    // By these it is asked for more.
    if let (What::Called { .. }, Some(call), Some(chat)) = (what, call, chat) {
        screen.line(Tone::Quiet, &format!("    {call} in {world}, {chat}"))?;
    }
    match (what, rule, actor) {
        (What::Called { .. }, Some(rule), _)
        | (What::Decided { .. }, Some(rule), Actor::Grant(_) | Actor::Rule(_)) => {
            screen.line(Tone::Quiet, &format!("    by {rule}"))?;
        }
        (What::Decided { .. }, Some(rule), _) => {
            screen.line(Tone::Quiet, &format!("    from now on {rule}"))?;
        }
        _ => {}
    }
    Ok(())
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
    match (&entry.actor, &entry.agent) {
        (Actor::Person(name) | Actor::Grant(name) | Actor::Rule(name), _) => name.clone(),
        (Actor::Nobody, _) => "nobody".to_owned(),
        (Actor::Agent | Actor::Program, Some(agent)) => agent.to_string(),
        (Actor::Agent | Actor::Program, None) => String::new(),
    }
}

/// What an entry says, on one line.
fn told(entry: &Entry) -> String {
    let tool = entry.tool.as_deref().unwrap_or_default();
    match &entry.what {
        // The verdict first: arguments may be long.
        What::Called { arguments, verdict, .. } => {
            format!("{}: {}", judged(verdict.as_ref()), words::call(tool, arguments))
        }
        What::Requested { question, .. } => words::shortened(question),
        What::Decided { decision, scope, reason, edited_arguments } => {
            let mut text = decided(*decision, *scope).to_owned();
            if edited_arguments.is_some() {
                text.push_str(", with other arguments");
            }
            if let Some(reason) = reason.as_ref().filter(|_| entry.actor != Actor::Nobody) {
                text.push_str(&format!(" ({reason})"));
            }
            format!("{tool}: {text}")
        }
        What::Expired => format!("{tool}: nobody answered in time"),
        What::Withdrawn { reason } => format!("{tool}: {reason}"),
        What::Started { attempt: 1, .. } => tool.to_owned(),
        What::Started { attempt, .. } => format!("{tool}, attempt {attempt}"),
        What::Finished { outcome, duration_ms, details, error } => {
            let mut text = format!("{tool}: {}", CallState::Ended(*outcome).name());
            if let Some(took) = duration_ms {
                text.push_str(&format!(" in {}", duration(*took)));
            }
            if let Some(code) = details.get("exit_code").and_then(Value::as_i64) {
                text.push_str(&format!(", exit code {code}"));
            }
            // Why it was denied was told with the decision or the verdict.
            let why = error.as_ref().filter(|why| !why.is_empty() && *outcome != Outcome::Denied);
            if let Some(error) = why {
                text.push_str(&format!(" ({error})"));
            }
            text
        }
        What::GrantRevoked => {
            format!("{tool}: {} is revoked", entry.rule.as_deref().unwrap_or_default())
        }
        What::Changed { entity, action, id } => match *entry.world.as_str() == **id {
            true => format!("{entity} {id} {action}"),
            false => format!("{entity} {id} of {} {action}", entry.world),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_given_in_the_unit_that_fits_it() {
        let shown = [0, 999, 1_000, 59_999, 60_000, 5_999_999, 6_000_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min", "99 min", "1 h"]);
    }
}
