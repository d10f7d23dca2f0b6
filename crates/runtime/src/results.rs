//! Stores a long result once, beside the log, before the event that names it is written.
//! Called right before a tool's or a client's result is recorded. If the process ends in between, the text stays
//! where nobody asks for it, which is harmless; if the text cannot be stored, the event keeps the whole of it.

use agent_world_core::command::{Command, ToolResult};
use agent_world_core::event::Output;
use agent_world_core::ids::{CallId, WorldId};
use agent_world_core::long_result;

use crate::engine::Shared;
use crate::error::Error;

/// The same command, with a text too long for the log stored apart.
pub(crate) async fn set_apart(shared: &Shared, world: &WorldId, mut command: Command) -> Command {
    if let Some((call, output)) = result_in(&mut command) {
        // Only what was stored here is named: a tool or a client cannot point at another text.
        output.whole = None;
        match stored_apart(shared, world, &call, output).await {
            Ok(Some(cut)) => *output = cut,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, %call, "a long result is kept in the log"),
        }
    }
    command
}

fn result_in(command: &mut Command) -> Option<(CallId, &mut Output)> {
    match command {
        Command::RecordToolResult { call, result, .. } => {
            let (ToolResult::Completed(output)
            | ToolResult::Failed(output)
            | ToolResult::TimedOut(output)
            | ToolResult::Cancelled(output)) = result;
            Some((call.clone(), output))
        }
        Command::RecordClientResult { call, output, .. } => Some((call.clone(), output)),
        _ => None,
    }
}

async fn stored_apart(
    shared: &Shared,
    world: &WorldId,
    call: &CallId,
    output: &Output,
) -> Result<Option<Output>, Error> {
    let store = shared.store.as_ref();
    let settings = shared.worlds.get(store, world).await?;
    let kept = long_result::kept_in_log(settings.result_limit);
    match long_result::set_apart(call, output, kept) {
        None => Ok(None),
        Some((cut, text)) => {
            store.keep_result(world, text).await?;
            Ok(Some(cut))
        }
    }
}
