//! Shows and changes what agents of a world may do, and tries it on calls.
//! Called by `main`. A change is recorded as one of the world's settings; what follows for running chats is left to the
//! process that works.

mod change;
mod document;
mod history;
mod trial;

use agent_world_core::config::World;
use agent_world_core::policy::{Policy, Rule};
use anyhow::Result;
use serde_json::json;

use crate::args::{self, SetPolicy, ShowPolicy};
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::{Session, who};
use crate::{audit, place, words};
use change::Change;

/// Characters of a line about a rule.
const WIDTH: usize = 300;

pub async fn run(data: DataFolder, wanted: args::Policy) -> Result<Exit> {
    let session = match &wanted {
        args::Policy::Show(_) | args::Policy::Set(_) => Session::visit(data).await?,
        // How a call is judged depends on what its tool declares.
        args::Policy::Test(_) | args::Policy::Diff(_) => Session::visit_with_servers(data).await?,
    };
    let done = match wanted {
        args::Policy::Show(wanted) => show(&session, &wanted).await,
        args::Policy::Set(wanted) => set(&session, &wanted).await,
        args::Policy::Test(wanted) => trial::run(&session, wanted).await,
        args::Policy::Diff(wanted) => history::run(&session, &wanted).await,
    };
    session.engine.shutdown().await;
    done.map(|()| Exit::Done)
}

async fn show(session: &Session, wanted: &ShowPolicy) -> Result<()> {
    let world = place::world(session, wanted.world.as_deref()).await?;
    let policy = &world.policy;
    let mut screen = Screen::stdout();
    if wanted.json {
        return Ok(screen.json(&policy.shown())?);
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
    show_granted(&mut screen, policy)
}

fn show_description(screen: &mut Screen, rule: &Rule) -> Result<()> {
    if let Some(description) = &rule.description {
        screen.line(Tone::Quiet, &format!("      {}", words::excerpt(description)))?;
    }
    Ok(())
}

fn show_granted(screen: &mut Screen, policy: &Policy) -> Result<()> {
    if policy.granted.is_empty() {
        return Ok(());
    }
    let text =
        "granted with `always`, before the rules; `agent-world approvals revoke ID` takes one back";
    screen.line(Tone::Quiet, text)?;
    for rule in &policy.granted {
        screen.line(Tone::Plain, &format!("      {}", rule_line(rule)))?;
        if let Some(origin) = &rule.origin {
            let (by, at) = (words::excerpt(&origin.by), audit::short(origin.at));
            let text = format!("        by {by} on {at} UTC, {}", origin.approval);
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

async fn set(session: &Session, wanted: &SetPolicy) -> Result<()> {
    let world = place::world(session, wanted.world.as_deref()).await?;
    let old = &world.policy;
    let new = match (&wanted.file, wanted.preset) {
        (Some(file), _) => document::read(file, old)?,
        (None, preset) => Policy { preset: preset.map_or(old.preset, Into::into), ..old.clone() },
    };
    let change = Change::new(old, &new);
    let stored = !wanted.dry_run && !change.is_none();
    if stored {
        let world = World { policy: new.clone(), ..World::clone(&world) };
        session.engine.update_world(world, &who()).await?;
    }
    let mut screen = Screen::stdout();
    if wanted.json {
        let mut value = json!({ "type": "policy_change", "world_id": world.id, "stored": stored });
        if let (Some(fields), Some(more)) = (value.as_object_mut(), change.json().as_object_mut()) {
            fields.append(more);
        }
        return Ok(screen.json(&value)?);
    }
    tell(&mut screen, &world, &change, wanted.dry_run)
}

fn tell(screen: &mut Screen, world: &World, change: &Change<'_>, dry: bool) -> Result<()> {
    for line in change.lines() {
        screen.line(Tone::Plain, &line)?;
    }
    let id = &world.id;
    let text = match (change.is_none(), dry) {
        (true, _) => format!("the policy of world {id} says that already; nothing was changed"),
        (false, true) => {
            format!("nothing was changed; without --dry-run this becomes the policy of world {id}")
        }
        (false, false) => format!("this is the policy of world {id} from now on"),
    };
    screen.line(Tone::Quiet, &text)?;
    match world.policy.granted.len() {
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
