//! Finds the requests that somebody means: by whole ids, by beginnings that only one has, or all that wait.
//! Used by `approvals show`, `approve` and `deny`. Decides nothing; where several are meant at once, a person says so first.

use std::io::{self, IsTerminal as _};

use agent_world_client::wire::Approval;
use agent_world_client::{Client, Path};
use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use crate::exit::Usage;
use crate::screen::{Screen, Tone};
use crate::{phrases, place, words};

/// Requests that fit a beginning and are named.
const NAMED: usize = 10;

#[derive(Debug, Args)]
pub struct Meant {
    /// The requests, by id or by a beginning of it that no other has
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub ids: Vec<String>,
    /// All that wait; on a terminal it is asked first whether they are meant
    #[arg(long)]
    pub all: bool,
    /// With --all: only those of this world
    #[arg(short, long, requires = "all")]
    pub world: Option<String>,
    /// With --all: without being asked
    #[arg(long, requires = "all")]
    pub yes: bool,
}

impl Meant {
    /// The ids that are meant. None where somebody said no.
    pub async fn find(&self, client: &Client, verb: &str) -> Result<Option<Vec<String>>> {
        if !self.all {
            let mut found = Vec::new();
            for given in &self.ids {
                let id = resolve(client, given).await?;
                if !found.contains(&id) {
                    found.push(id);
                }
            }
            return Ok(Some(found));
        }
        if let Some(world) = &self.world {
            place::known_world(client, Some(world)).await?;
        }
        let waiting = requests(client, "pending", self.world.as_deref()).await?;
        if waiting.is_empty() {
            Screen::stdout().line(Tone::Quiet, "nothing is waiting for approval")?;
            return Ok(None);
        }
        let ids = waiting.iter().map(|request| request.id.clone()).collect();
        match self.yes || is_wanted(&waiting, verb).await? {
            true => Ok(Some(ids)),
            false => Ok(None),
        }
    }
}

/// Shows what would be decided, and asks.
async fn is_wanted(waiting: &[Approval], verb: &str) -> Result<bool> {
    let number = words::count(waiting.len(), "request");
    if !io::stdin().is_terminal() {
        let text = format!("this would {verb} {number}; add --yes to do it");
        return Err(Usage(text).into());
    }
    let mut screen = Screen::stderr();
    for request in waiting {
        let text = format!("{}  {}", request.id, phrases::wish(request));
        screen.line(Tone::Question, &text)?;
    }
    confirmed(&mut screen, &format!("{verb} {number}? [y/N] ")).await
}

/// Asks a person at the terminal. Only a plain yes is one.
pub async fn confirmed(screen: &mut Screen, question: &str) -> Result<bool> {
    screen.prompt(Tone::Name, question)?;
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let answer = answer.await?.context("the answer cannot be read")?;
    let yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if !yes {
        screen.line_was_entered();
        screen.line(Tone::Plain, "nothing was decided")?;
    }
    Ok(yes)
}

/// The id that somebody means by it or by its beginning. One that nothing is known of is given back as it is: whoever
/// looks for it says so.
pub async fn resolve(client: &Client, given: &str) -> Result<String> {
    match client.get::<Approval>(super::path(given)).await {
        Ok(found) => return Ok(found.id),
        Err(error) if error.code() == Some("approval_not_found") => {}
        Err(error) => return Err(error.into()),
    }
    // What waits is meant rather than what is settled.
    for state in ["pending", "all"] {
        let mut fits = requests(client, state, None).await?;
        fits.retain(|request| !given.is_empty() && request.id.starts_with(given));
        match fits.as_slice() {
            [] => {}
            [one] => return Ok(one.id.clone()),
            several => return Err(ambiguous(given, several)),
        }
    }
    Ok(given.to_owned())
}

fn ambiguous(given: &str, fits: &[Approval]) -> anyhow::Error {
    let line = |one: &Approval| format!("\n  {}  {}", one.id, phrases::wish(one));
    let mut list: String = fits.iter().take(NAMED).map(line).collect();
    if fits.len() > NAMED {
        list.push_str(&format!("\n  … and {} more", fits.len() - NAMED));
    }
    anyhow!("{} begin with {given}; write more of the one you mean:{list}", fits.len())
}

async fn requests(client: &Client, state: &str, world: Option<&str>) -> Result<Vec<Approval>> {
    let path = Path::new("/api/approvals").with("state", state).maybe("world", world);
    Ok(client.all(path.with("limit", "1000")).await?)
}
