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
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::{place, words};
pub use args::{DiffPolicy, Policy, SetPolicy, ShowPolicy, TestPolicy};
use change::Change;
use document::Document;

/// Characters of a line about a rule.
const WIDTH: usize = 300;

pub async fn run(to: Whereabouts, wanted: Policy) -> Result<Exit> {
    let purpose = match &wanted {
        Policy::Show(_) | Policy::Set(_) => Purpose::Visit,
        // How a call is judged depends on what its tool declares.
        Policy::Test(_) | Policy::Diff(_) => Purpose::VisitWithServers,
    };
    let connection = Connection::open(to, purpose).await?;
    let done = match wanted {
        Policy::Show(wanted) => show(&connection, &wanted).await,
        Policy::Set(wanted) => set(&connection, &wanted).await,
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
    screen.line(Tone::Quiet, text)?;
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

/// A rule on one line: what it says of which calls.
fn rule_line(rule: &Rule) -> String {
    let agent = match &rule.agent {
        Some(agent) => format!(" by {}", words::unbroken(agent.as_str())),
        None => String::new(),
    };
    let which = words::permitted(&words::unbroken(&rule.tool), &rule.matches);
    let (ruling, id) = (rule.ruling.to_string(), words::unbroken(rule.id.as_str()));
    let line = format!("{ruling:<5}  {which}{agent}  ({id})");
    words::cut(&line, WIDTH)
}

async fn set(connection: &Connection, wanted: &SetPolicy) -> Result<()> {
    let client = &connection.client;
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let (_, old) = in_force(&world)?;
    let path = place::path(&world.id);
    let (new, stored) = match (&wanted.file, wanted.preset) {
        (Some(file), _) => {
            let Document { value, policy } = document::read(file, &old)?;
            if !wanted.dry_run {
                client.put::<Value>(path.clone().then("policy"), &value).await?;
            }
            (shown(&policy)?, !wanted.dry_run)
        }
        (None, preset) => {
            let preset = preset.map(|preset| json!(preset.name())).unwrap_or_default();
            let change = json!({ "policy": { "preset": preset } });
            if !wanted.dry_run {
                client.patch::<Value>(path.clone(), &change).await?;
            }
            let preset = serde_json::from_value(preset).unwrap_or(old.preset);
            (Rules { preset, ..old.clone() }, !wanted.dry_run)
        }
    };
    // Nothing is written where nothing changes; only the version tells, since what is masked looks the same.
    let stored = stored && {
        let now: wire::World = client.get(path).await?;
        now.version != world.version
    };
    let change = Change::new(&old, &new);
    let mut screen = Screen::stdout();
    if wanted.json {
        let mut value = json!({ "type": "policy_change", "world_id": world.id, "stored": stored });
        if let (Some(fields), Some(more)) = (value.as_object_mut(), change.json().as_object_mut()) {
            fields.append(more);
        }
        return Ok(screen.json(&value)?);
    }
    tell(&mut screen, &world.id, &change, stored, wanted.dry_run)?;
    tell_granted(&mut screen, &old)
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
            Ok(screen.line(Tone::Quiet, &text)?)
        }
    }
}
