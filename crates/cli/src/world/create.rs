//! Makes a world: of agents that are named, or of a template.
//! Called by `world create` and by `init`. What cannot be so is refused by the interface, and nothing is made.

use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value, json};

use super::{Fields, model, warn_of_weak_sandbox};
use crate::changes::{Any, add};
use crate::connect::{Connection, Whereabouts};
use crate::demo_world::MODEL;
use crate::screen::{Screen, Tone};
use crate::templates::Template;
use crate::{setup, usual_models};

/// An agent as it is written on the command line.
#[derive(Clone, Debug)]
pub struct NewAgent {
    pub id: String,
    pub model: Option<String>,
}

fn new_agent(written: &str) -> Result<NewAgent, String> {
    let Some((id, named)) = written.split_once(':') else {
        return Ok(NewAgent { id: written.to_owned(), model: None });
    };
    Ok(NewAgent { id: id.to_owned(), model: Some(model(named)?) })
}

#[derive(Debug, Args)]
#[command(after_help = "\
A template brings agents with instructions, tools, rules and limits; `agent-world world templates` lists them. Its agents
use --model, otherwise a model of the first vendor that has a key, otherwise the built-in demo model.

Examples:
  agent-world world create lab --agent ada --agent bob:openai/gpt-5
  agent-world world create repo --template coder --directory .
  agent-world world create office --template pair --preset read-only")]
pub struct Create {
    /// Lower-case letters, digits, - and _
    pub id: String,
    /// Begins with what a template has
    #[arg(long, conflicts_with_all = ["agents", "instructions"], value_parser = crate::templates::names())]
    pub template: Option<String>,
    /// An agent, with its model if it is not the world's; may be given several times
    #[arg(long = "agent", value_name = "ID[:VENDOR/MODEL]", value_parser = new_agent)]
    pub agents: Vec<NewAgent>,
    /// What every agent is told first; otherwise its name, who else is there and how to speak to them
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    #[command(flatten)]
    pub fields: Fields,
    #[command(flatten)]
    pub any: Any,
    #[arg(long)]
    pub json: bool,
}

/// Where the model of a new world comes from.
enum Chosen {
    Said,
    /// The vendor has a key.
    Found(String),
    /// Nobody has a key.
    Demo,
}

pub async fn run(connection: &Connection, to: &Whereabouts, wanted: Create) -> Result<()> {
    let Create { id, template, agents, instructions, fields, any, json } = wanted;
    let template = template.as_deref().map(Template::find).transpose()?;
    let (model, chosen) = match (&fields.model, &template) {
        (Some(model), _) => (model.clone(), Chosen::Said),
        (None, None) => (MODEL.to_owned(), Chosen::Said),
        (None, Some(_)) => usual_model(to)?,
    };
    let mut world = match &template {
        Some(template) => template.settings.clone(),
        None => settings_of(&agents, instructions.as_deref()),
    };
    merge(&mut world, fields.change()?);
    let mut rest = Map::new();
    any.add_to(&mut rest);
    merge(&mut world, rest);
    world.entry("name").or_insert_with(|| json!(id));
    world.insert("id".to_owned(), json!(id));
    world.insert("default_model".to_owned(), json!(model));
    let made: Value = created(connection, &world).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&made)?);
    }
    let text = format!("created world {id}; `agent-world chat -w {id}` opens it");
    screen.hint(Tone::Plain, &text)?;
    if template.is_some() {
        tell_agents(&mut screen, &made)?;
        tell_model(&mut screen, &id, &model, &chosen)?;
    }
    warn_of_unknown_vendors(to, &made, &mut screen)?;
    warn_of_weak_sandbox(to, &made, &mut screen)?;
    if made.get("agents").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        let text = format!(
            "it has no agents, so nobody will answer; `agent-world agent create ada -w {id}` gives it one"
        );
        screen.hint(Tone::Warning, &text)?;
    }
    Ok(())
}

/// Has a world made.
pub async fn created(connection: &Connection, world: &Map<String, Value>) -> Result<Value> {
    Ok(connection.client.post("/api/worlds", world).await?)
}

/// Puts what somebody says over what is there, groups of settings field by field.
fn merge(world: &mut Map<String, Value>, said: Map<String, Value>) {
    for (field, value) in said {
        match (world.get_mut(&field), value) {
            (Some(Value::Object(there)), Value::Object(said)) => there.extend(said),
            (_, value) => drop(world.insert(field, value)),
        }
    }
}

/// The first vendor with a key, by what this process sees. Which keys a server elsewhere has is not known here.
fn usual_model(to: &Whereabouts) -> Result<(String, Chosen)> {
    if to.server.is_none()
        && let Some((vendor, model)) = usual_models::first_with_key(&to.data)?
    {
        return Ok((model, Chosen::Found(vendor)));
    }
    Ok((MODEL.to_owned(), Chosen::Demo))
}

fn settings_of(agents: &[NewAgent], instructions: Option<&str>) -> Map<String, Value> {
    let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    let described = agents.iter().map(|new| {
        let mut agent = Map::new();
        add(&mut agent, "id", Some(new.id.clone()));
        add(&mut agent, "model", new.model.clone());
        let told = instructions.map_or_else(|| introduction(&new.id, &ids), str::to_owned);
        add(&mut agent, "instructions", Some(told));
        Value::Object(agent)
    });
    let described: Vec<Value> = described.collect();
    let mut world = Map::new();
    add(&mut world, "agents", Some(described));
    world
}

/// What a model must know to take part: nobody else tells it.
pub fn introduction(id: &str, all: &[&str]) -> String {
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

fn tell_agents(screen: &mut Screen, made: &Value) -> Result<()> {
    let agents = made.get("agents").and_then(Value::as_array).into_iter().flatten();
    let ids: Vec<String> = agents
        .filter_map(|agent| agent.get("id").and_then(Value::as_str))
        .map(|id| format!("@{id}"))
        .collect();
    Ok(screen.line(Tone::Plain, &format!("in it: {}", ids.join(", ")))?)
}

fn tell_model(screen: &mut Screen, id: &str, model: &str, chosen: &Chosen) -> Result<()> {
    match chosen {
        Chosen::Said => {}
        Chosen::Found(vendor) => {
            let text = format!(
                "they use {model}, as {vendor} has a key; `agent-world world update {id} --model ...` changes that"
            );
            screen.hint(Tone::Plain, &text)?;
        }
        Chosen::Demo => {
            let text = format!(
                "they use the built-in demo model, as no other was named and no key was found; set one up with \
                 `agent-world init`, then `agent-world world update {id} --model VENDOR/MODEL`"
            );
            screen.hint(Tone::Warning, &text)?;
        }
    }
    Ok(())
}

/// Says which models nobody can be asked for yet, where this process would ask them.
fn warn_of_unknown_vendors(to: &Whereabouts, made: &Value, screen: &mut Screen) -> Result<()> {
    if to.server.is_some() {
        return Ok(());
    }
    let models = setup::models(&to.data)?;
    for agent in made.get("agents").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| agent.get(field).and_then(Value::as_str);
        if let (Some(id), Some(model)) = (text("id"), text("model"))
            && let Err(error) = models.find(model)
        {
            screen.line(Tone::Warning, &format!("{id}: {error}"))?;
        }
    }
    Ok(())
}
