//! Lists and decides what waits for a person.
//! Called by `main`. Records a decision and performs nothing: whoever works takes it up, now or when the next one starts.

mod breadth;
mod list;
mod meant;
pub mod permission;
mod reach;
pub mod request;

use agent_world_client::wire::{Approval, Decision, Verdict};
use agent_world_client::{Client, Error, Path};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use self::meant::Meant;
use self::reach::Before;
use crate::args::parse_json;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::phrases;
use crate::screen::{Screen, Tone};

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
        /// The request, or a beginning of its id that no other has
        id: String,
        #[arg(long)]
        json: bool,
    },
    /// Lets the call run
    Approve(Approve),
    /// Refuses the call; the agent is told, with the reason
    #[command(after_help = "\
Examples:
  agent-world approvals deny ID --reason \"look at your own watch\"
  agent-world approvals deny --all -w lab --yes")]
    Deny {
        #[command(flatten)]
        meant: Meant,
        /// Told to the agent
        #[arg(long)]
        reason: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Takes back a permission that lasts, by the id that `world show` and `chat show` give
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
Without --match a permission that lasts holds for the whole tool: every later call of it by this agent runs without
asking, with any arguments. With shell_cmd that is any command. On a terminal it is asked first whether that is meant,
and a script is told; --whole-tool says it. `agent-world world show ID` lists permissions, and `agent-world approvals
revoke ID` takes one back. --all asks first, too, and needs --yes where nobody can be asked.

Examples:
  agent-world approvals approve apr_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world approvals approve apr_01m7 apr_01m8
  agent-world approvals approve --all --yes
  agent-world approvals approve ID --scope session --match 1
  agent-world approvals approve ID --scope always --whole-tool
  agent-world approvals approve ID --arguments '{\"command\": \"ls\"}'")]
pub struct Approve {
    #[command(flatten)]
    meant: Meant,
    /// How far it reaches
    #[arg(long, value_enum, default_value_t = Reach::Once)]
    scope: Reach,
    /// Only for calls that fit a suggestion, by its number in `approvals show`
    #[arg(long = "match", value_name = "N")]
    suggestion: Option<usize>,
    /// With --scope session or always: every later call of the tool is meant, with any arguments
    #[arg(long, conflicts_with_all = ["suggestion", "all", "arguments"])]
    whole_tool: bool,
    /// Runs with these arguments in place of the model's
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    arguments: Option<Value>,
    #[arg(long)]
    json: bool,
}

impl Approve {
    /// Whether it permits every later call, without anybody having said so.
    fn is_unlimited(&self) -> bool {
        self.scope != Reach::Once && self.suggestion.is_none() && !self.whole_tool
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reach {
    /// This call alone
    Once,
    /// Every call of this tool by this agent in this chat, with any arguments unless --match narrows it
    Session,
    /// The same in all chats of this world, also new ones
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
        Approvals::Approve(Approve { arguments: Some(_), .. }) => Purpose::VisitWithServers,
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
        Approvals::Show { id, json } => {
            show(client, &meant::resolve(client, &id).await?, json).await
        }
        Approvals::Approve(wanted) => {
            let Some(ids) = wanted.meant.find(client, "approve").await? else {
                return Ok(Exit::Done);
            };
            let decision = approval(client, &wanted, &ids).await?;
            if wanted.is_unlimited() && !breadth::is_meant(client, &ids, &decision).await? {
                return Ok(Exit::Done);
            }
            decide_all(connection, &ids, &decision, wanted.json).await
        }
        Approvals::Deny { meant, reason, json } => {
            let Some(ids) = meant.find(client, "deny").await? else {
                return Ok(Exit::Done);
            };
            decide_all(connection, &ids, &Decision::deny(reason), json).await
        }
        Approvals::Revoke { id, json } => permission::revoke(client, &id, json).await,
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

/// What the command line says about requests, as far as it can be meant.
async fn approval(client: &Client, wanted: &Approve, ids: &[String]) -> Result<Decision> {
    let usage = |text: &str| Err(Usage(text.to_owned()).into());
    let lasts = wanted.scope != Reach::Once;
    let is_about_one = wanted.suggestion.is_some() || wanted.arguments.is_some();
    if is_about_one && (ids.len() != 1 || wanted.meant.all) {
        return usage("--match and --arguments are about one request; name one alone");
    }
    if wanted.whole_tool && !lasts {
        return usage("--whole-tool is about later calls; add --scope session or --scope always");
    }
    if lasts && wanted.meant.all {
        return usage("--all approves each call once; name the request that shall permit more");
    }
    if let (Some(number), Some(id)) = (wanted.suggestion, ids.first()) {
        if !lasts {
            return usage(
                "--match narrows a permission that lasts; add --scope session or --scope always",
            );
        }
        let found: Approval = client.get(path(id)).await.map_err(|error| unknown(error, id))?;
        let last = found.suggested_matches.len();
        if number == 0 || number > last {
            return usage(&format!("{id} has no suggestion {number}; choose one from 1 to {last}"));
        }
    } else if lasts && wanted.arguments.is_some() {
        return usage(
            "other arguments are approved once; a permission that lasts would cover any call: \
             narrow it with --match, or leave --arguments out",
        );
    }
    Ok(Decision {
        // People count from one.
        suggestion: wanted.suggestion.and_then(|number| number.checked_sub(1)),
        arguments: wanted.arguments.clone(),
        ..Decision::approve(wanted.scope.into())
    })
}

/// Decides one after the other. What goes wrong with one of several does not keep the others from being decided.
async fn decide_all(
    connection: &Connection,
    ids: &[String],
    decision: &Decision,
    json: bool,
) -> Result<Exit> {
    let (mut exit, mut recorded) = (Exit::Done, false);
    for id in ids {
        match decide(connection, id, decision, json).await {
            Err(error) if ids.len() == 1 => return Err(error),
            // Another of them has released it meanwhile: that is what was wanted.
            Err(error) if is_approved(&error) && decision.decision == Verdict::Approve => {
                Screen::stderr().line(Tone::Quiet, &format!("{error:#}"))?;
            }
            Err(error) => {
                Screen::stderr().line(Tone::Warning, &format!("error: {error:#}"))?;
                exit = Exit::Failed;
            }
            Ok(()) => recorded = true,
        }
    }
    if recorded && !json && connection.session().is_some() {
        let text = "recorded; a running agent-world takes it up, otherwise the next start does: `agent-world resume`";
        Screen::stderr().hint(Tone::Quiet, text)?;
    }
    Ok(exit)
}

fn is_approved(error: &anyhow::Error) -> bool {
    let Some(Error::Refused(problem)) = error.downcast_ref::<Error>() else {
        return false;
    };
    let earlier = problem.facts.get("approval").and_then(|earlier| earlier.get("state"));
    problem.status == 409 && earlier.and_then(Value::as_str) == Some("approved")
}

async fn decide(connection: &Connection, id: &str, decision: &Decision, json: bool) -> Result<()> {
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
        return Ok(screen.json(&decided)?);
    }
    let decided: Approval = serde_json::from_value(decided)?;
    screen.line(Tone::Plain, &format!("{id}: {}", phrases::state(&decided)))?;
    if let Some(text) = reach::holds_for(&decided, decision) {
        screen.line(Tone::Plain, &format!("  {text}"))?;
        if let Some(given) = permission::given_by(client, &decided).await? {
            let undo = format!("  take it back with `agent-world approvals revoke {}`", given.id);
            screen.hint(Tone::Quiet, &undo)?;
        }
    }
    let released = match &before {
        Some(before) => before.released(client).await?,
        None => Vec::new(),
    };
    if !released.is_empty() {
        screen.line(Tone::Plain, &format!("  {}", reach::also(&released)))?;
    }
    Ok(())
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
