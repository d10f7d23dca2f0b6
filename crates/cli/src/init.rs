//! Sets up a model for a newcomer: a vendor and its key, tried at once, and a world that uses it.
//! Called by `main`. Asks at a terminal, or takes flags. Writes a key nowhere unless that was asked for; otherwise the
//! settings only name where it comes from.

mod ask;
mod file;
mod key;

use std::io::{self, IsTerminal as _};

use agent_world_llm::Error;
use agent_world_llm::settings::Settings;
use agent_world_llm::vendors;
use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::data::DataFolder;
use crate::exit::{Exit, Usage};
use crate::running_server::{self, Found};
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::templates::Template;
use crate::{usual_models, world};
use key::Key;

#[derive(Debug, Args)]
#[command(after_help = "\
At a terminal it asks for what is not said. In scripts say at least --vendor, and where the key comes from unless it is in
the vendor's usual variable. agent-world.toml in the data folder then names the variable or the program, never the key itself
unless --store-key says so; that file is its owner's alone.

Examples:
  agent-world init
  agent-world init --vendor anthropic --key-env ANTHROPIC_API_KEY
  agent-world init --vendor openai --key-command \"pass show openai\"
  agent-world init --vendor ollama --model ollama/qwen3:8b --template pair")]
pub struct Init {
    /// Whose models are used, such as openai, anthropic, google or ollama
    #[arg(long, value_name = "NAME")]
    pub vendor: Option<String>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "NAME", requires = "vendor")]
    pub key_env: Option<String>,
    /// The program that prints the key, with its parameters; no shell is involved
    #[arg(long, value_name = "COMMAND", requires = "vendor", conflicts_with = "key_env")]
    pub key_command: Option<String>,
    /// Reads the key from the terminal or from stdin and keeps it in agent-world.toml, which only you can read
    #[arg(long, requires = "vendor", conflicts_with_all = ["key_env", "key_command"])]
    pub store_key: bool,
    /// The model; otherwise one that suits most work
    #[arg(long, value_name = "VENDOR/MODEL", value_parser = world::model)]
    pub model: Option<String>,
    /// The id of the world that is made; otherwise one is made of its name
    #[arg(long, value_name = "ID")]
    pub world: Option<String>,
    /// What the world begins with; otherwise one agent, ada
    #[arg(long, value_parser = crate::templates::names())]
    pub template: Option<String>,
    /// Does not try the key
    #[arg(long)]
    pub no_test: bool,
}

/// Everything that was decided.
#[derive(Debug)]
struct Plan {
    vendor: String,
    key: Key,
    model: String,
}

pub async fn run(to: Whereabouts, wanted: Init) -> Result<Exit> {
    if to.server.is_some() {
        let text =
            "init sets up the machine it runs on; run it where the server runs, without --server";
        return Err(Usage(text.to_owned()).into());
    }
    let mut signals = Signals::listen()?;
    tokio::select! {
        biased;
        // What hides a key at the terminal is dropped with all the rest.
        _ = signals.next() => Err(anyhow!("ended before it was done; run `agent-world init` again")),
        done = set_up(&to, &wanted) => done,
    }
}

async fn set_up(to: &Whereabouts, wanted: &Init) -> Result<Exit> {
    let mut screen = Screen::stderr();
    let plan = plan(&mut screen, wanted).await?;
    let section = plan.key.section(&plan.vendor)?;
    if !wanted.no_test {
        screen.line(Tone::Quiet, &format!("asking {} whether it takes the key", plan.vendor))?;
        test(&plan, &section).await?;
        screen.line(Tone::Plain, &format!("{} takes the key", plan.vendor))?;
    }
    let data = DataFolder::find(Some(to.data.path().to_owned()))?;
    let written = file::add(&data, &plan.vendor, &section)?;
    let made = make_world(to, wanted, &plan.model).await?;
    let id = made.get("id").and_then(Value::as_str).unwrap_or_default();
    tell(&data, &plan, &written, id).await
}

/// What is said by flags, and asked for otherwise.
async fn plan(screen: &mut Screen, wanted: &Init) -> Result<Plan> {
    let at_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let vendor = match &wanted.vendor {
        Some(vendor) => vendor.clone(),
        None if at_terminal => ask::vendor(screen).await?,
        None => {
            let text = "say which vendor, as in `agent-world init --vendor openai --key-env OPENAI_API_KEY`; \
                        it asks only at a terminal";
            return Err(Usage(text.to_owned()).into());
        }
    };
    if !vendors::is_known(&vendor) {
        let known = ask::vendors().join(", ");
        let text = format!(
            "`{vendor}` is no vendor that is known by name; there are {known}; docs/models.md shows how to add another"
        );
        return Err(Usage(text).into());
    }
    let key = key::choose(screen, wanted, &vendor, at_terminal).await?;
    let model = match (&wanted.model, usual_models::of(&vendor)) {
        (Some(model), _) => model.clone(),
        (None, usual) if at_terminal && wanted.vendor.is_none() => {
            ask::model(screen, &vendor, usual).await?
        }
        (None, Some(usual)) => usual,
        (None, None) => {
            let text = format!("say which model of {vendor}, with --model {vendor}/NAME");
            return Err(Usage(text).into());
        }
    };
    Ok(Plan { vendor, key, model })
}

/// Asks the vendor for its models, with the key.
async fn test(plan: &Plan, section: &str) -> Result<()> {
    let settings: Settings = toml::from_str(&plan.key.tried(&plan.vendor, section)?)
        .map_err(|error| anyhow!("the settings cannot be used: {}", error.message()))?;
    let models = vendors::models(&settings, &|name| std::env::var(name).ok())?;
    let (model, _) = models.find(&plan.model)?;
    model.validate_access().await.map_err(|error| refused(plan, &error))
}

fn refused(plan: &Plan, error: &Error) -> anyhow::Error {
    let vendor = &plan.vendor;
    anyhow!(
        "{vendor} cannot be used: {error}; nothing was written. Check the key, or add --no-test to set it up all the same"
    )
}

async fn make_world(to: &Whereabouts, wanted: &Init, model: &str) -> Result<Value> {
    let mut settings = match &wanted.template {
        Some(template) => Template::find(template)?.settings,
        None => {
            let instructions = world::introduction("ada", &["ada"]);
            let ada = json!({ "id": "ada", "name": "Ada", "instructions": instructions });
            Map::from_iter([
                ("main_agent".to_owned(), json!("ada")),
                ("agents".to_owned(), json!([ada])),
            ])
        }
    };
    settings.insert("default_model".to_owned(), json!(model));
    settings.insert("name".to_owned(), json!(wanted.world.as_deref().unwrap_or("Home")));
    if let Some(id) = &wanted.world {
        settings.insert("id".to_owned(), json!(id));
    }
    let connection = Connection::open(to.clone(), Purpose::Visit).await?;
    let made = world::created(&connection, &settings).await;
    connection.close().await;
    made.context("the vendor is set up, but no world could be made")
}

async fn tell(data: &DataFolder, plan: &Plan, written: &file::Written, id: &str) -> Result<Exit> {
    let mut screen = Screen::stdout();
    let path = written.path.display();
    match written.is_new {
        true => screen.line(Tone::Plain, &format!("wrote {path}: {}", plan.key.told()))?,
        false => screen.line(Tone::Plain, &format!("{path} says so already"))?,
    }
    screen.line(Tone::Plain, &format!("made world {id}, whose agents use {}", plan.model))?;
    if let Some(name) = plan.key.to_be_exported() {
        let text =
            format!("put the key into {name} before you start agent-world: export {name}=...");
        screen.line(Tone::Warning, &text)?;
    }
    if let Found::Answering(server) | Found::Silent(server) = running_server::find(data).await {
        let text = format!("the server at {} knows of it when it is started anew", server.url);
        screen.line(Tone::Warning, &text)?;
    }
    screen.hint(Tone::Plain, &format!("next: agent-world chat -w {id}"))?;
    Ok(Exit::Done)
}
