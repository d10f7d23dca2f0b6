//! Lists, creates, shows, changes and deletes worlds.
//! Called by `main`. Leaves what follows for running chats to the process that works.

use std::path::Path;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, SandboxMode, World};
use agent_world_core::ids::{AgentId, WorldId};
use agent_world_tools::sandbox::Support;
use anyhow::{Context as _, Result, anyhow};

use crate::args::{self, Bounds, CreateWorld, NewAgent, Switch, UpdateWorld};
use crate::data::DataFolder;
use crate::demo_world::MODEL;
use crate::exit::{Exit, Usage};
use crate::place;
use crate::screen::{Screen, Tone};
use crate::setup::{self, Session, who};
use crate::{wire, words};

pub async fn run(data: DataFolder, wanted: args::World) -> Result<Exit> {
    let session = Session::visit(data).await?;
    match wanted {
        args::World::List { json } => list(&session, json).await?,
        args::World::Create(wanted) => create(&session, wanted).await?,
        args::World::Show { id, json } => show(&session, &WorldId::new(id), json).await?,
        args::World::Update(wanted) => update(&session, wanted).await?,
        args::World::Delete { id, yes } => delete(&session, &WorldId::new(id), yes).await?,
    }
    session.engine.shutdown().await;
    Ok(Exit::Done)
}

async fn list(session: &Session, json: bool) -> Result<()> {
    let worlds = session.store().worlds().await?;
    let mut screen = Screen::stdout();
    for world in &worlds {
        let chats = place::all_chats(session.store(), &world.id).await?;
        if json {
            screen.json(&wire::world(world, &chats))?;
        } else {
            let agents: Vec<&str> = world.agents.iter().map(|agent| agent.id.as_str()).collect();
            let chats = words::count(chats.len(), "chat");
            let text = format!("{}  {}: {}; {chats}", world.id, world.name, agents.join(", "));
            screen.line(Tone::Plain, &text)?;
        }
    }
    if worlds.is_empty() && !json {
        let text = "there is no world yet; `agent-world chat` makes a demo world, \
                    `agent-world world create ID --agent ada` one of your own";
        screen.line(Tone::Plain, text)?;
    }
    Ok(())
}

async fn create(session: &Session, wanted: CreateWorld) -> Result<()> {
    let agents = agents(&wanted);
    let id = WorldId::new(wanted.id);
    let mut world = World {
        main_agent: wanted.main_agent.map(AgentId::new),
        default_model: Some(MODEL.to_owned()),
        agents,
        ..World::new(id.clone(), wanted.name.unwrap_or_else(|| id.to_string()), Timestamp::now())
    };
    bound(&mut world, wanted.bounds);
    // Before its folder is made: a bad id must not become a path.
    world.check()?;
    world.check_bounds(None)?;
    world.working_directory = Some(match wanted.directory {
        Some(directory) => working_directory(&directory, &session.data)?,
        None => session.data.make_workspace(&id)?.display().to_string(),
    });
    let world = session.engine.create_world(world, &who()).await?;
    let chats = place::all_chats(session.store(), &id).await?;
    let mut screen = Screen::stdout();
    if wanted.json {
        screen.json(&wire::world(&world, &chats))?;
        return Ok(());
    }
    screen
        .line(Tone::Plain, &format!("created world {id}; `agent-world chat -w {id}` opens it"))?;
    warn_of_unknown_vendors(session, &world, &mut screen)?;
    warn_of_weak_sandbox(&world, &mut screen)?;
    if world.agents.is_empty() {
        let text = "it has no agents, so nobody will answer; give it some with --agent";
        screen.line(Tone::Warning, text)?;
    }
    Ok(())
}

async fn update(session: &Session, wanted: UpdateWorld) -> Result<()> {
    let UpdateWorld { id, directory, bounds, json } = wanted;
    if directory.is_none() && bounds.is_empty() {
        let text = "say what shall change: --sandbox, --network, --preset or --directory";
        return Err(Usage(text.to_owned()).into());
    }
    let id = WorldId::new(id);
    let old = place::known_world(session, &id).await?;
    let mut world = World::clone(&old);
    if let Some(directory) = directory {
        world.working_directory = Some(working_directory(&directory, &session.data)?);
    }
    bound(&mut world, bounds);
    let told = match world == *old {
        true => format!("world {id} is so already; nothing was changed"),
        false => {
            world = session.engine.update_world(world, &who()).await?;
            format!("changed world {id}")
        }
    };
    let mut screen = Screen::stdout();
    if json {
        let chats = place::all_chats(session.store(), &id).await?;
        return Ok(screen.json(&wire::world(&world, &chats))?);
    }
    screen.line(Tone::Plain, &told)?;
    show_bounds(&mut screen, &world)?;
    warn_of_weak_sandbox(&world, &mut screen)
}

/// How far its agents may go, as far as anything is said about it.
fn bound(world: &mut World, bounds: Bounds) {
    if let Some(preset) = bounds.preset {
        world.policy.preset = preset.into();
    }
    if let Some(mode) = bounds.sandbox {
        world.sandbox.mode = mode.into();
    }
    if let Some(network) = bounds.network {
        world.sandbox.network = network == Switch::On;
    }
}

/// A folder for tools. Not one that holds this program's own data: agents would work on the log of what they do.
fn working_directory(directory: &Path, data: &DataFolder) -> Result<String> {
    let unusable =
        || format!("{} cannot be worked in; name a folder that exists", directory.display());
    let path = directory.canonicalize().with_context(unusable)?;
    if !path.is_dir() {
        return Err(anyhow!(unusable()));
    }
    let own = data.path().canonicalize().unwrap_or_else(|_| data.path().to_owned());
    let workspaces = own.join(crate::data::WORKSPACE);
    if own.starts_with(&path) || path.starts_with(&own) && !path.starts_with(&workspaces) {
        return Err(anyhow!(
            "{} holds this program's own data, its keys and its log among them; name a folder that does not, or \
             another data folder with --data",
            path.display()
        ));
    }
    Ok(path.display().to_string())
}

/// Says when programs of this world will not run on this system.
fn warn_of_weak_sandbox(world: &World, screen: &mut Screen) -> Result<()> {
    if world.sandbox.mode == SandboxMode::Required && !Support::detect().is_whole() {
        let text = "this system cannot confine programs as required, so none will run; `agent-world doctor` says why";
        screen.line(Tone::Warning, text)?;
    }
    Ok(())
}

fn show_bounds(screen: &mut Screen, world: &World) -> Result<()> {
    if let Some(directory) = &world.working_directory {
        screen.line(Tone::Plain, &format!("tools work in {directory}"))?;
    }
    screen.line(Tone::Plain, &words::sandbox(&world.sandbox))?;
    let rules = match world.policy.rules.len() {
        0 => "no rules".to_owned(),
        number => words::count(number, "rule"),
    };
    let text = format!("policy: preset {}, {rules}", world.policy.preset);
    Ok(screen.line(Tone::Plain, &text)?)
}

fn agents(wanted: &CreateWorld) -> Vec<Agent> {
    let ids: Vec<&str> = wanted.agents.iter().map(|agent| agent.id.as_str()).collect();
    let agent = |new: &NewAgent| Agent {
        model: new.model.clone(),
        instructions: match &wanted.instructions {
            Some(text) => text.clone(),
            None => introduction(&new.id, &ids),
        },
        ..Agent::new(&*new.id)
    };
    wanted.agents.iter().map(agent).collect()
}

/// What a model must know to take part: nobody else tells it.
fn introduction(id: &str, all: &[&str]) -> String {
    let others: Vec<String> =
        all.iter().filter(|other| **other != id).map(|other| format!("@{other}")).collect();
    let mut text = format!("You are {id}, an agent who helps a person, @human.");
    if !others.is_empty() {
        let line = format!(
            " Other agents are here: {}. To say something to one of them, begin a line with that name; \
             what you write without such a line goes to the person.",
            others.join(", ")
        );
        text.push_str(&line);
    }
    text
}

/// Says which models nobody can be asked for yet.
fn warn_of_unknown_vendors(session: &Session, world: &World, screen: &mut Screen) -> Result<()> {
    let models = setup::models(&session.data)?;
    for agent in &world.agents {
        if let Some(model) = &agent.model
            && let Err(error) = models.find(model)
        {
            screen.line(Tone::Warning, &format!("{}: {error}", agent.id))?;
        }
    }
    Ok(())
}

async fn show(session: &Session, id: &WorldId, json: bool) -> Result<()> {
    let world = place::known_world(session, id).await?;
    let chats = place::all_chats(session.store(), id).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&wire::world(&world, &chats))?);
    }
    screen.line(Tone::Name, &format!("{id}  {}", world.name))?;
    show_bounds(&mut screen, &world)?;
    for agent in &world.agents {
        let model = world.model_of(agent).unwrap_or("no model");
        let main = if world.main_agent.as_ref() == Some(&agent.id) { ", main agent" } else { "" };
        screen.line(Tone::Plain, &format!("agent {}  {} ({model}{main})", agent.id, agent.name))?;
    }
    for rule in &world.policy.granted {
        let by = rule.origin.as_ref().map_or("somebody", |origin| origin.by.as_str());
        let agent = rule.agent.as_ref().map_or("every agent", |agent| agent.as_str());
        let which = words::permitted(&rule.tool, &rule.matches);
        screen.line(Tone::Plain, &format!("{}  {agent} may always use {which} ({by})", rule.id))?;
    }
    for chat in &chats {
        let waiting = match chat.activity.waiting.len() {
            0 => String::new(),
            number => format!(", {} waiting", words::count(number, "approval")),
        };
        screen.line(Tone::Plain, &format!("chat {}  {}{waiting}", chat.id, chat.title))?;
        for grant in session.store().grants(&chat.id).await? {
            let which = words::permitted(&grant.tool, &grant.matches);
            let text =
                format!("  {}  {} may use {which} here ({})", grant.id, grant.agent, grant.by);
            screen.line(Tone::Plain, &text)?;
        }
    }
    Ok(())
}

async fn delete(session: &Session, id: &WorldId, yes: bool) -> Result<()> {
    place::known_world(session, id).await?;
    if !yes {
        let chats = place::all_chats(session.store(), id).await?.len();
        let text = format!(
            "this would delete world {id} with {} for ever; add --yes to do it",
            words::count(chats, "chat")
        );
        return Err(Usage(text).into());
    }
    session.engine.delete_world(id, &who()).await?;
    Screen::stdout()
        .line(Tone::Plain, &format!("deleted world {id}; its folder was left as it is"))?;
    Ok(())
}
