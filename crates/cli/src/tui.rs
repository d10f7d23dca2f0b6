//! `tui`: all worlds on the whole screen.
//! Called by `main`. Finds whoever answers and hands over to `agent_world_terminal`; takes the work on the store over when the
//! process that did it is gone.

use std::convert::Infallible;
use std::io::{IsTerminal as _, stdin, stdout};
use std::time::Duration;

use agent_world_core::display::reveal_line;
use agent_world_terminal::tui;
use anyhow::Result;
use clap::Args;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::place;

/// How often it is looked whether somebody works on the store.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = "\
On the left are all worlds and their chats, on the right what waits for your permission; a narrow terminal opens both over
the conversation. `?` shows every key and command. Quitting leaves what waits waiting; a decision that could not be delivered
by then is named, and the exit code is 1.

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
    let connection = Connection::open(to.clone(), Purpose::Work).await?;
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
    // In a task of its own: what is on the screen never waits for the store.
    let (over, ends) = oneshot::channel();
    let watching = tokio::spawn(watch(connection, to, ends));
    let ended = tui::run(client, world).await;
    drop(over);
    watching.await?.close().await;
    let left = ended?;
    for line in &left {
        eprintln!("{}", reveal_line(line));
    }
    Ok(if left.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Takes the work over when there is nobody else to do it, and finds a server that is elsewhere now, until the view has ended.
/// Gives the connection back then.
async fn watch(
    mut connection: Connection,
    to: Whereabouts,
    mut ends: oneshot::Receiver<Infallible>,
) -> Connection {
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = &mut ends => return connection,
            _ = look.tick() => {
                if let Err(error) = connection.take_over().await {
                    tracing::warn!(error = format!("{error:#}"), "the work cannot be taken over");
                }
                if let Err(error) = connection.find_again(&to).await {
                    tracing::warn!(error = format!("{error:#}"), "the server cannot be used");
                }
            }
        }
    }
}
