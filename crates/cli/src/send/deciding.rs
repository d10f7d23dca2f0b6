//! Decides requests as far as the command line says how.
//! Used by `errand`, for calls that its own message led to. Never approves a tool that does not declare itself read-only
//! where only reading is approved, and answers no question of a tool.

use std::collections::HashSet;

use agent_world_client::wire::{Approval, Decision, Reach, Verdict};
use agent_world_client::{Client, Error, Path, Result};
use agent_world_core::command::UNATTENDED;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Approve;

/// Nobody was asked, and the agent is not told otherwise.
const ONLY_READING: &str = "this run approves only tools that declare themselves read-only";
const NO_ANSWER: &str = "this run answers no questions";
/// What an approval was given by, for whoever reads the audit: no person looked at the call.
const ALL: &str = "send --approve all";
const READ_ONLY: &str = "send --approve read-only";

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// Approved, or decided by somebody else: that counts.
    Decided,
    /// Denied, because nobody was there to be asked.
    Denied,
    /// Left to somebody else; why, where that was not wanted.
    Left(Option<String>),
}

#[derive(Debug)]
pub struct Deciding {
    approve: Approve,
    world: Path,
    /// The tools that only read, once they were asked for.
    reading: Option<HashSet<String>>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    read_only: bool,
}

impl Deciding {
    pub fn new(approve: Approve, world: Path) -> Self {
        Self { approve, world, reading: None }
    }

    pub async fn decide(&mut self, client: &Client, request: &Approval) -> Result<Became> {
        let approve = self.approve;
        let decision = match approve {
            Approve::None | Approve::Wait => return Ok(Became::Left(None)),
            // What a tool wants to know nobody here can say.
            _ if request.form.is_some() => deny(NO_ANSWER),
            Approve::All => approved(ALL),
            Approve::ReadOnly if self.only_reads(client, &request.tool).await? => {
                approved(READ_ONLY)
            }
            Approve::ReadOnly => deny(ONLY_READING),
        };
        let path = Path::new("/api/approvals").then(&request.id);
        let became = match decision.decision {
            Verdict::Deny => Became::Denied,
            Verdict::Approve => Became::Decided,
        };
        match super::errand::again(|| client.post::<IgnoredAny>(path.clone(), &decision)).await {
            Ok(_) => Ok(became),
            // Somebody else was faster: theirs counts. Or the answer to our own was lost, and it is ours.
            Err(error) if error.status() == Some(409) => Ok(became_of_earlier(&error, became)),
            Err(error) if error.status() == Some(403) => Ok(Became::Left(Some(error.to_string()))),
            Err(error) => Err(error),
        }
    }

    async fn only_reads(&mut self, client: &Client, tool: &str) -> Result<bool> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            unknown => {
                let tools = self.world.clone().then("tools").with("limit", "1000");
                let tools: Vec<Tool> = client.all(tools).await?;
                let reading = tools.into_iter().filter(|tool| tool.read_only);
                unknown.insert(reading.map(|tool| tool.name).collect())
            }
        };
        Ok(reading.contains(tool))
    }
}

/// Recorded with its reason: nobody has looked at the call.
fn approved(reason: &str) -> Decision {
    Decision { reason: Some(reason.to_owned()), ..Decision::approve(Reach::Once) }
}

fn deny(reason: &str) -> Decision {
    Decision::deny(Some(format!("{UNATTENDED}: {reason}")))
}

/// A denial of ours is one only if it was the one that counted.
fn became_of_earlier(error: &Error, wanted: Became) -> Became {
    let earlier = match error {
        Error::Refused(problem) => problem.facts.get("approval"),
        _ => None,
    };
    match earlier.and_then(|approval| approval.get("state")?.as_str()) {
        Some("denied") => wanted,
        _ => Became::Decided,
    }
}
