//! Makes sure that whoever permits a whole tool means it: every later call of it by an agent, with any arguments.
//! Used by `approvals approve` where no --match narrows a permission that lasts. A person at a terminal is asked first, and a
//! script is told what it did. Decides nothing.

use std::io::{self, IsTerminal as _};

use agent_world_client::Client;
use agent_world_client::wire::{Approval, Decision, Reach};
use anyhow::Result;

use super::meant::confirmed;
use super::{path, unknown};
use crate::screen::{Screen, Tone};
use crate::words;

const UNSAID: &str = "--match N narrows it to calls like this one (`agent-world approvals show ID` counts them), and \
                      --whole-tool says that every call is meant";

/// Whether the whole tool is meant, of each request. Says so to a script, which nobody can ask.
pub async fn is_meant(client: &Client, ids: &[String], decision: &Decision) -> Result<bool> {
    let mut screen = Screen::stderr();
    let asks = io::stdin().is_terminal();
    for id in ids {
        let request: Approval = client.get(path(id)).await.map_err(|error| unknown(error, id))?;
        let tone = if asks { Tone::Question } else { Tone::Warning };
        screen.line(tone, &format!("{id}: {}", lets(&request, decision)))?;
        if !asks {
            continue;
        }
        for (place, suggestion) in request.suggested_matches.iter().enumerate() {
            let label = words::unbroken(&suggestion.label);
            screen.line(Tone::Quiet, &format!("  --match {} {label}", place + 1))?;
        }
    }
    match asks {
        true => confirmed(&mut screen, "every call of the whole tool? [y/N] ").await,
        false => {
            screen.hint(Tone::Warning, UNSAID)?;
            Ok(true)
        }
    }
}

/// What a permission without a limit lets happen.
fn lets(request: &Approval, decision: &Decision) -> String {
    let Approval { tool, agent_id, world_id, .. } = request;
    let place = match decision.scope {
        Some(Reach::Always) => format!("in all chats of world {world_id}"),
        _ => "in this chat".to_owned(),
    };
    format!("this lets every later call of {tool} by {agent_id} run {place}, with any arguments")
}
