//! `tui`: all worlds on the whole screen.
//! Called by `main`. Finds whoever answers and hands over to `agent_world_terminal`; takes the work on the store over when the
//! process that did it is gone.

use std::io::{IsTerminal as _, stdin, stdout};
use std::time::Duration;

use agent_world_terminal::tui;
use anyhow::Result;
use clap::Args;
use tokio::time::{MissedTickBehavior, interval};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::place;

/// How often it is looked whether somebody works on the store.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = "\
On the left are all worlds and their chats, on the right what waits for your permission; a narrow terminal opens both over
the conversation. `?` shows every key. Quitting leaves what waits waiting.

Examples:
  agent-world tui
  agent-world tui -w demo
  agent-world --server http://127.0.0.1:7420 tui")]
pub struct Tui {
    /// The world to begin with; otherwise `demo`, or the first one
    #[arg(short, long)]
    pub world: Option<String>,
}

pub async fn run(to: Whereabouts, wanted: Tui) -> Result<Exit> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        let usage =
            "`agent-world tui` needs a terminal; `agent-world chat` and `agent-world send` do not";
        return Err(Usage(usage.to_owned()).into());
    }
    let mut connection = Connection::open(to, Purpose::Work).await?;
    let world = match (place::world(&connection, wanted.world.as_deref()).await, &wanted.world) {
        (Ok(world), _) => Some(world.id),
        // There may be none yet, or several: then the list shows which.
        (Err(_), None) => None,
        (Err(error), Some(_)) => {
            connection.close().await;
            return Err(error);
        }
    };
    let client = connection.client.clone();
    let ended = watch(&mut connection, tui::run(client, world)).await;
    connection.close().await;
    ended.map(|()| Exit::Done)
}

/// Runs the view, and meanwhile takes the work over if there is nobody else to do it.
async fn watch(connection: &mut Connection, view: impl Future<Output = Result<()>>) -> Result<()> {
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(view);
    loop {
        tokio::select! {
            biased;
            ended = &mut view => return ended,
            _ = look.tick() => {
                if let Err(error) = connection.take_over().await {
                    tracing::warn!(error = format!("{error:#}"), "the work cannot be taken over");
                }
            }
        }
    }
}
