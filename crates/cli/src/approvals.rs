//! Lists and decides what waits for a person.
//! Called by `main`. Records a decision and performs nothing: whoever works takes it up, now or when the next one starts.

mod list;
mod reach;
pub mod request;

use agent_world_client::wire::{Approval, Chat, Decision, World};
use agent_world_client::{Client, Error, Path};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use self::reach::Before;
use crate::args::parse_json;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::{phrases, place};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world approvals list
  agent-world approvals show apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals deny ID --reason \"not on a Friday\"")]
pub enum Approvals {
    /// Everything that waits, in all worlds
    List(list::List),
    /// One request with what was said before it
    #[command(after_help = "\
Examples:
  agent-world approvals show apr_01m7ewk6wd59f78rxr2nrhe2rk")]
    Show {
        id: String,
        #[arg(long)]
        json: bool,
    },
    /// Lets the call run
    Approve(ApproveOne),
    /// Refuses the call; the agent is told, with the reason
    #[command(after_help = "\
Examples:
  agent-world approvals deny ID --reason \"look at your own watch\"")]
    Deny {
        id: String,
        #[arg(long)]
        reason: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Takes back a permission that lasts, by the id that `world show` gives
    #[command(after_help = "\
Examples:
  agent-world approvals revoke rule_01m7ewk6wd59f78rxr2nrhe2rk")]
    Revoke {
        /// `rule_...` for one given with always, `grant_...` for one of a session
        id: String,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals approve ID --scope session --match 1
  agent-world approvals approve ID --arguments '{\"command\": \"ls\"}'")]
pub struct ApproveOne {
    id: String,
    /// This call; or this agent and tool for the rest of the chat; or always in this world
    #[arg(long, value_enum, default_value_t = Reach::Once)]
    scope: Reach,
    /// Only for calls that fit a suggestion, by its number in `approvals show`
    #[arg(long = "match", value_name = "N")]
    suggestion: Option<usize>,
    /// Runs with these arguments in place of the model's
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    arguments: Option<Value>,
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reach {
    Once,
    Session,
    Always,
}

impl From<Reach> for agent_world_client::wire::Reach {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Once => Self::Once,
            Reach::Session => Self::Session,
            Reach::Always => Self::Always,
        }
    }
}

pub async fn run(to: Whereabouts, wanted: Approvals) -> Result<Exit> {
    // Other arguments are looked at by the tool, which may be one of a server.
    let purpose = match &wanted {
        Approvals::Approve(ApproveOne { arguments: Some(_), .. }) => Purpose::VisitWithServers,
        _ => Purpose::Visit,
    };
    let connection = Connection::open(to.clone(), purpose).await?;
    let wanted = match wanted {
        Approvals::List(wanted) => return list::run(&to, connection, &wanted).await,
        wanted => wanted,
    };
    let done = carry_out(&connection, wanted).await;
    connection.close().await;
    done
}

async fn carry_out(connection: &Connection, wanted: Approvals) -> Result<Exit> {
    let client = &connection.client;
    match wanted {
        Approvals::List(_) => Ok(Exit::Done),
        Approvals::Show { id, json } => show(client, &id, json).await,
        Approvals::Approve(wanted) => {
            let decision = approval(client, &wanted).await?;
            decide(connection, &wanted.id, &decision, wanted.json).await
        }
        Approvals::Deny { id, reason, json } => {
            decide(connection, &id, &Decision::deny(reason), json).await
        }
        Approvals::Revoke { id, json } => revoke(client, &id, json).await,
    }
}

async fn show(client: &Client, id: &str, json: bool) -> Result<Exit> {
    let found: Value = client.get(path(id)).await.map_err(|error| unknown(error, id))?;
    let mut screen = Screen::stdout();
    match json {
        true => screen.json(&found)?,
        false => request::show(&mut screen, &serde_json::from_value(found)?)?,
    }
    Ok(Exit::Done)
}

/// What the command line says about a request, as far as it can be meant.
async fn approval(client: &Client, wanted: &ApproveOne) -> Result<Decision> {
    let lasts = wanted.scope != Reach::Once;
    if let Some(number) = wanted.suggestion {
        if !lasts {
            let text =
                "--match narrows a permission that lasts; add --scope session or --scope always";
            return Err(Usage(text.to_owned()).into());
        }
        let id = &wanted.id;
        let found: Approval = client.get(path(id)).await.map_err(|error| unknown(error, id))?;
        let last = found.suggested_matches.len();
        if number == 0 || number > last {
            let text = format!("{id} has no suggestion {number}; choose one from 1 to {last}");
            return Err(Usage(text).into());
        }
    } else if lasts && wanted.arguments.is_some() {
        let text = "other arguments are approved once; a permission that lasts would cover any call: \
                    narrow it with --match, or leave --arguments out";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(Decision {
        // People count from one.
        suggestion: wanted.suggestion.and_then(|number| number.checked_sub(1)),
        arguments: wanted.arguments.clone(),
        ..Decision::approve(wanted.scope.into())
    })
}

async fn decide(
    connection: &Connection,
    id: &str,
    decision: &Decision,
    json: bool,
) -> Result<Exit> {
    let mut screen = Screen::stdout();
    let client = &connection.client;
    let before = Before::look(client, id, decision).await?;
    let decided: Value = match client.post(path(id), decision).await {
        Ok(decided) => decided,
        Err(Error::Refused(problem)) if problem.status == 409 => {
            if let (true, Some(earlier)) = (json, problem.facts.get("approval")) {
                screen.json(earlier)?;
            }
            return Err(Error::Refused(problem).into());
        }
        Err(error) => return Err(unknown(error, id)),
    };
    if json {
        screen.json(&decided)?;
        return Ok(Exit::Done);
    }
    let decided: Approval = serde_json::from_value(decided)?;
    screen.line(Tone::Plain, &format!("{id}: {}", phrases::state(&decided)))?;
    if let Some(text) = reach::holds_for(&decided, decision) {
        screen.line(Tone::Plain, &format!("  {text}"))?;
    }
    let released = match &before {
        Some(before) => before.released(client).await?,
        None => Vec::new(),
    };
    if !released.is_empty() {
        screen.line(Tone::Plain, &format!("  {}", reach::also(&released)))?;
    }
    if connection.session().is_some() {
        let text = "recorded; a running agent-world takes it up, otherwise the next start does: `agent-world resume`";
        Screen::stderr().line(Tone::Quiet, text)?;
    }
    Ok(Exit::Done)
}

/// Takes back a permission that lasts: a rule given with `always`, or a grant for the rest of a chat.
async fn revoke(client: &Client, id: &str, json: bool) -> Result<Exit> {
    let Some(path) = permission(client, id).await? else {
        let text = "is no permission in force; `agent-world world show ID` lists those of a world";
        return Err(anyhow!("{id} {text}"));
    };
    client.delete(path).await?;
    let mut screen = Screen::stdout();
    match json {
        true => screen.json(&json!({ "type": "permission", "id": id, "state": "revoked" }))?,
        false => {
            screen.line(Tone::Plain, &format!("{id} is revoked; from now on it is asked again"))?;
        }
    }
    Ok(Exit::Done)
}

/// The address of a permission, wherever it is.
async fn permission(client: &Client, id: &str) -> Result<Option<Path>> {
    let has_id = |one: &Value| one.get("id").and_then(Value::as_str) == Some(id);
    for world in client.all::<World>("/api/worlds").await? {
        let policy = place::path(&world.id).then("policy");
        let found: Value = client.get(policy.clone()).await?;
        let granted = found.get("granted").and_then(Value::as_array);
        if granted.into_iter().flatten().any(has_id) {
            return Ok(Some(policy.then("rules").then(id)));
        }
        let chats = place::path(&world.id).then("chats");
        for chat in client.all::<Chat>(chats.clone().with("limit", "1000")).await? {
            let grants = chats.clone().then(&chat.id).then("grants");
            let found: Vec<Value> = client.all(grants.clone()).await?;
            if found.iter().any(has_id) {
                return Ok(Some(grants.then(id)));
            }
        }
    }
    Ok(None)
}

fn path(id: &str) -> Path {
    Path::new("/api/approvals").then(id)
}

fn unknown(error: Error, id: &str) -> anyhow::Error {
    match error.code() {
        Some("approval_not_found") => anyhow!(
            "approval {id} does not exist; `agent-world approvals list` shows those that wait"
        ),
        _ => error.into(),
    }
}
