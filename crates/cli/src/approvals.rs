//! Lists and decides what waits for a person.
//! Called by `main`. Records a decision and performs nothing: whoever works takes it up, now or when the next one starts.

mod request;

use agent_world_client::wire::{Approval, Chat, Decision, Page, World};
use agent_world_client::{Client, Error, Path};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::args::parse_json;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::{phrases, place, words};

/// Seconds that a server is asked to wait for a new request at a time.
const WAIT: &str = "30";

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world approvals list
  agent-world approvals show apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals deny apr_01m7ewk6wd59f78rxr2nrhe2rk --reason \"not on a Friday\"")]
pub enum Approvals {
    /// Everything that waits, in all worlds
    List(List),
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
  agent-world approvals deny apr_01m7ewk6wd59f78rxr2nrhe2rk --reason \"look at your own watch\"")]
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
  agent-world approvals list
  agent-world approvals list -w demo --json
  agent-world approvals list --watch")]
pub struct List {
    /// Only of this world
    #[arg(short, long)]
    world: Option<String>,
    /// Goes on with new requests as they come, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk --scope session --match 1
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk --arguments '{\"command\": \"ls\"}'")]
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
    let connection = Connection::open(to, purpose).await?;
    let done = carry_out(&connection, wanted).await;
    connection.close().await;
    done
}

async fn carry_out(connection: &Connection, wanted: Approvals) -> Result<Exit> {
    let client = &connection.client;
    match wanted {
        Approvals::List(wanted) => list(client, &wanted).await,
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

async fn list(client: &Client, wanted: &List) -> Result<Exit> {
    if let Some(world) = &wanted.world {
        place::known_world(client, Some(world)).await?;
    }
    let path = Path::new("/api/approvals").maybe("world", wanted.world.as_deref());
    let mut screen = Screen::stdout();
    let mut pages = client.pages::<Value>(path.clone().with("limit", "1000"));
    let (mut number, mut last) = (0, None);
    while let Some(one) = pages.next().await? {
        last = show_in_list(client, &mut screen, &one, wanted.json).await?;
        number += 1;
    }
    if !wanted.json {
        let text = match number {
            0 => "nothing is waiting for approval".to_owned(),
            number => format!(
                "{} waiting; `agent-world approvals show|approve|deny ID`",
                words::count(number, "approval")
            ),
        };
        screen.line(Tone::Quiet, &text)?;
    }
    match wanted.watch {
        true => watch(client, &mut screen, &path, last, wanted.json).await,
        false => Ok(Exit::Done),
    }
}

/// Shows requests as they come. Ids grow, so each is shown once.
async fn watch(
    client: &Client,
    screen: &mut Screen,
    path: &Path,
    mut last: Option<String>,
    json: bool,
) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    loop {
        let next = path.clone().with("wait", WAIT).maybe("after", last.as_deref());
        let page: Page<Value> = tokio::select! {
            _ = signals.next() => return Ok(Exit::Done),
            page = client.get(next) => page?,
        };
        for one in &page.data {
            last = show_in_list(client, screen, one, json).await?;
        }
    }
}

/// Shows one of many and gives back its id.
async fn show_in_list(
    client: &Client,
    screen: &mut Screen,
    one: &Value,
    json: bool,
) -> Result<Option<String>> {
    let id = one.get("id").and_then(Value::as_str).map(str::to_owned);
    if json {
        screen.json(one)?;
        return Ok(id);
    }
    let approval: Approval = serde_json::from_value(one.clone())?;
    let Approval { world_id, chat_id, created_at, .. } = &approval;
    let title = match client.get::<Chat>(place::path(world_id).then("chats").then(chat_id)).await {
        Ok(chat) => chat.title,
        Err(error) if error.status() == Some(404) => chat_id.clone(),
        Err(error) => return Err(error.into()),
    };
    let text = format!("{}  {}", approval.id, phrases::wish(&approval));
    screen.line(Tone::Question, &text)?;
    let text = format!("    world {world_id}, chat “{title}”, since {created_at}");
    screen.line(Tone::Quiet, &text)?;
    Ok(id)
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
    let decided: Value = match connection.client.post(path(id), decision).await {
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
    let text = phrases::state(&serde_json::from_value(decided)?);
    screen.line(Tone::Plain, &format!("{id}: {text}"))?;
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
