//! Shows and changes what agents of a world may do, and tries it on calls.
//! Called by `main`. A change is recorded as one of the world's settings; what follows for running chats is left to the
//! process that works.

mod args;
mod change;
mod document;
mod history;
mod trial;

use agent_world_client::wire;
use agent_world_core::policy::{Policy as Rules, Rule};
use agent_world_terminal::permissions::rule as rule_line;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::{doubts, place, words};
pub use args::{DeletePolicy, DiffPolicy, Policy, SetPolicy, ShowPolicy, TestPolicy};
use change::Change;
use document::Document;

pub async fn run(to: Whereabouts, wanted: Policy) -> Result<Exit> {
    let purpose = match &wanted {
        Policy::List { .. } | Policy::Show(_) | Policy::Set(_) | Policy::Delete(_) => {
            Purpose::Visit
        }
        // How a call is judged depends on what its tool declares.
        Policy::Test(_) | Policy::Diff(_) => Purpose::VisitWithServers,
    };
    let connection = Connection::open(to, purpose).await?;
    let done = match wanted {
        Policy::List { json } => list(&connection, json).await,
        Policy::Show(wanted) => show(&connection, &wanted).await,
        Policy::Set(wanted) => set(&connection, &wanted).await,
        Policy::Delete(wanted) => delete(&connection, &wanted).await,
        Policy::Test(wanted) => trial::run(&connection, wanted).await,
        Policy::Diff(wanted) => history::run(&connection, &wanted).await,
    };
    connection.close().await;
    done.map(|()| Exit::Done)
}

/// A world's policy as it may be shown: secrets in its rules are masked.
fn in_force(world: &wire::World) -> Result<(Value, Rules)> {
    let value = world.more.get("policy").cloned().unwrap_or_default();
    let rules = serde_json::from_value(value.clone())
        .context("the world's policy cannot be read; is the server of this version?")?;
    Ok((value, rules))
}

async fn list(connection: &Connection, json: bool) -> Result<()> {
    let worlds: Vec<wire::World> = connection.client.all("/api/worlds").await?;
    let mut screen = Screen::stdout();
    for world in &worlds {
        let (value, policy) = in_force(world)?;
        if json {
            screen.json(&json!({ "type": "policy", "world_id": world.id, "policy": value }))?;
            continue;
        }
        let rules = words::count(policy.rules.len(), "rule");
        let granted = match policy.granted.len() {
            0 => String::new(),
            number => format!(", {number} granted with `always`"),
        };
        let text = format!("{}  preset {}, {rules}{granted}", world.id, policy.preset);
        screen.row(Tone::Plain, &text)?;
    }
    if worlds.is_empty() && !json {
        let text = "there is no world; make one with `agent-world world create NAME --agent ada`";
        screen.hint(Tone::Plain, text)?;
    }
    Ok(())
}

async fn delete(connection: &Connection, wanted: &DeletePolicy) -> Result<()> {
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let (_, old) = in_force(&world)?;
    if !wanted.yes {
        let id = &world.id;
        let rules = words::count(old.rules.len(), "rule");
        let text =
            format!("this would take {rules} out of the policy of world {id}; add --yes to do it");
        return Err(Usage(text).into());
    }
    // What a document leaves out is as in a new world.
    connection.client.put::<Value>(place::path(&world.id).then("policy"), &json!({})).await?;
    let new = Rules { granted: old.granted.clone(), ..Rules::default() };
    told(connection, &world, (&old, &new), Stored::Tried, wanted.json).await
}

async fn show(connection: &Connection, wanted: &ShowPolicy) -> Result<()> {
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let (value, policy) = in_force(&world)?;
    let mut screen = Screen::stdout();
    if wanted.json {
        return Ok(screen.json(&value)?);
    }
    let text = format!("world {}, preset {}", world.id, policy.preset);
    screen.line(Tone::Name, &text)?;
    if policy.rules.is_empty() {
        let text = format!("no rules: {}", words::preset(policy.preset));
        screen.line(Tone::Plain, &text)?;
    } else {
        let text =
            "rules: of those that match the first decides, but a deny wins wherever it stands";
        screen.line(Tone::Quiet, text)?;
    }
    for (number, rule) in (1..).zip(&policy.rules) {
        screen.line(Tone::Plain, &format!("{number:>4}  {}", rule_line(rule)))?;
        show_description(&mut screen, rule)?;
    }
    if !policy.rules.is_empty() {
        let text = format!("where none matches: {}", words::preset(policy.preset));
        screen.line(Tone::Quiet, &text)?;
    }
    show_granted(&mut screen, &policy)
}

fn show_description(screen: &mut Screen, rule: &Rule) -> Result<()> {
    if let Some(description) = &rule.description {
        screen.line(Tone::Quiet, &format!("      {}", words::excerpt(description)))?;
    }
    Ok(())
}

fn show_granted(screen: &mut Screen, policy: &Rules) -> Result<()> {
    if policy.granted.is_empty() {
        return Ok(());
    }
    let text =
        "granted with `always`, before the rules; `agent-world approvals revoke ID` takes one back";
    screen.hint(Tone::Quiet, text)?;
    for rule in &policy.granted {
        screen.line(Tone::Plain, &format!("      {}", rule_line(rule)))?;
        if let Some(origin) = &rule.origin {
            let (by, at) = (words::excerpt(&origin.by), origin.at);
            let text = format!("        by {by} on {at}, {}", origin.approval);
            screen.line(Tone::Quiet, &text)?;
        }
    }
    Ok(())
}

async fn set(connection: &Connection, wanted: &SetPolicy) -> Result<()> {
    let client = &connection.client;
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let (_, old) = in_force(&world)?;
    let path = place::path(&world.id);
    let new = match (&wanted.file, wanted.preset) {
        (Some(file), _) => {
            let Document { value, policy } = document::read(file, &old)?;
            if !wanted.dry_run {
                client.put::<Value>(path.clone().then("policy"), &value).await?;
            }
            let named = policy.rules.iter().map(|rule| rule.tool.as_str());
            doubts::of_tools(client, &world.id, named).await?;
            shown(&policy)?
        }
        (None, preset) => {
            let preset = preset.map(|preset| json!(preset.name())).unwrap_or_default();
            let change = json!({ "policy": { "preset": preset } });
            if !wanted.dry_run {
                client.patch::<Value>(path.clone(), &change).await?;
            }
            let preset = serde_json::from_value(preset).unwrap_or(old.preset);
            Rules { preset, ..old.clone() }
        }
    };
    let stored = if wanted.dry_run { Stored::Not } else { Stored::Tried };
    told(connection, &world, (&old, &new), stored, wanted.json).await
}

/// Whether a change was sent to whoever stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Not,
    Tried,
}

/// Tells what changes, or has changed.
async fn told(
    connection: &Connection,
    world: &wire::World,
    (old, new): (&Rules, &Rules),
    stored: Stored,
    json: bool,
) -> Result<()> {
    let dry_run = stored == Stored::Not;
    // Nothing is written where nothing changes; only the version tells, since what is masked looks the same.
    let stored = !dry_run && {
        let now: wire::World = connection.client.get(place::path(&world.id)).await?;
        now.version != world.version
    };
    let change = Change::new(old, new);
    let mut screen = Screen::stdout();
    if json {
        let mut value = json!({ "type": "policy_change", "world_id": world.id, "stored": stored });
        if let (Some(fields), Some(more)) = (value.as_object_mut(), change.json().as_object_mut()) {
            fields.append(more);
        }
        return Ok(screen.json(&value)?);
    }
    tell(&mut screen, &world.id, &change, stored, dry_run)?;
    tell_granted(&mut screen, old)
}

/// A policy with its secrets masked, as the one in force is known here: only what can be told apart is compared.
fn shown(policy: &Rules) -> Result<Rules> {
    serde_json::from_value(policy.shown()).context("the policy cannot be compared")
}

fn tell(screen: &mut Screen, id: &str, change: &Change<'_>, stored: bool, dry: bool) -> Result<()> {
    for line in change.lines() {
        screen.line(Tone::Plain, &line)?;
    }
    if stored && change.is_none() {
        screen.line(Tone::Plain, "~ something in it that is not shown")?;
    }
    let text = match (change.is_none() && !stored, dry) {
        (true, _) => format!("the policy of world {id} says that already; nothing was changed"),
        (false, true) => {
            format!("nothing was changed; without --dry-run this becomes the policy of world {id}")
        }
        (false, false) => format!("this is the policy of world {id} from now on"),
    };
    Ok(screen.line(Tone::Quiet, &text)?)
}

fn tell_granted(screen: &mut Screen, policy: &Rules) -> Result<()> {
    match policy.granted.len() {
        0 => Ok(()),
        number => {
            let rules = words::count(number, "rule");
            let text = format!(
                "{rules} granted with `always` stay; `agent-world approvals revoke ID` takes one back"
            );
            Ok(screen.hint(Tone::Quiet, &text)?)
        }
    }
}
