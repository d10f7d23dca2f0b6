//! What a command ends with: an exit code and, where something went wrong, one line on stderr.
//! Used by `main` and by every command. Never prints to stdout.

use std::fmt;
use std::io;
use std::process::ExitCode;

use agent_world_client::Error;
use agent_world_core::display::reveal;

use crate::again;

/// How a command ended, where nothing went wrong with the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// A model or a turn failed, or something was found broken. The command has said so.
    Failed,
    /// Something was denied without a person being asked, or waits for a decision. Of `send` and `chat` only.
    Waiting,
}

/// The command line cannot be meant.
#[derive(Debug)]
pub struct Usage(pub String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => ExitCode::SUCCESS,
            Exit::Failed => ExitCode::from(1),
            Exit::Waiting => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Tells a person what went wrong. Errors may quote what a model wrote, so nothing hidden gets through.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let reader_left = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(reader_left) {
        return ExitCode::SUCCESS;
    }
    let told = format!("{error:#}{}", next_step(error));
    eprintln!("error: {}", reveal(&again::typed(&told)));
    if error.downcast_ref::<Usage>().is_some() {
        return ExitCode::from(2);
    }
    ExitCode::from(1)
}

/// What to do about somebody who does not answer, or does not know who asks. Other errors say so themselves.
fn next_step(error: &anyhow::Error) -> &'static str {
    let cause = error.chain().find_map(|cause| cause.downcast_ref::<Error>());
    match cause {
        Some(Error::Unreachable { .. }) => {
            "; `agent-world serve` starts a server, and without --server and AGENT_WORLD_URL commands need none"
        }
        Some(Error::Exposed { .. }) => {
            "; use the server's https:// address, or say with --plain-http (or AGENT_WORLD_PLAIN_HTTP=1) that the network \
             is safe"
        }
        Some(error) if error.status() == Some(401) => {
            "; commands take it from AGENT_WORLD_TOKEN, and `agent-world token create` makes one where the server runs"
        }
        _ => "",
    }
}
