//! Runs a tool whose start is recorded, within its time.
//! Started by the chat's task. What runs is what was stored and approved; nothing is looked up anew but the tool.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::chat::{Call, Chat};
use agent_world_core::command::{Command, ToolResult};
use agent_world_core::event::Output;
use agent_world_tools::{Failure, Invocation, Tool};
use tokio_util::sync::CancellationToken;

use crate::engine::Shared;

pub(crate) fn run(
    shared: &Arc<Shared>,
    chat: &Chat,
    call: &Arc<Call>,
    cancelled: CancellationToken,
) -> impl Future<Output = Command> + Send + 'static {
    let tool = shared.tools.get(&call.made.name);
    let grace = shared.options.cancel_grace;
    let limit = Duration::from_secs(call.made.timeout_seconds);
    let invocation = Invocation {
        working_directory: call.made.working_directory.as_ref().map(PathBuf::from),
        // A child: the end of its time ends the tool and is still something to report.
        cancelled: cancelled.child_token(),
        ..Invocation::new(
            call.made.call.clone(),
            chat.world.clone(),
            chat.id.clone(),
            call.made.agent.clone(),
            call.arguments().clone(),
        )
    };
    let (id, attempt) = (call.made.call.clone(), call.attempt);
    async move {
        let result = match tool {
            Some(tool) => within(tool, invocation, cancelled, limit, grace).await,
            None => ToolResult::Failed(Output::text("error: the tool is not available any more")),
        };
        Command::RecordToolResult { call: id, attempt, result }
    }
}

/// Runs to the end, or to the end of its time, or until nobody wants it any more. Told to end, a tool has a
/// moment to do so; then it is dropped, which must leave nothing running.
async fn within(
    tool: Arc<dyn Tool>,
    invocation: Invocation,
    cancelled: CancellationToken,
    limit: Duration,
    grace: Duration,
) -> ToolResult {
    let told = invocation.cancelled.clone();
    let mut running = std::pin::pin!(tool.run(invocation));
    let timed_out = tokio::select! {
        biased;
        ended = &mut running => return match ended {
            Ok(output) => ToolResult::Completed(output),
            Err(Failure::Failed(output)) => ToolResult::Failed(output),
            Err(Failure::TimedOut(output)) => ToolResult::TimedOut(output),
        },
        () = cancelled.cancelled() => false,
        () = tokio::time::sleep(limit) => true,
    };
    told.cancel();
    let last_words = match tokio::time::timeout(grace, running).await {
        Ok(Ok(output)) => output,
        Ok(Err(failure)) => failure.into_output(),
        Err(_) => Output::text(""),
    };
    if timed_out {
        let text = format!("no result within {} s. {}", limit.as_secs(), last_words.text);
        ToolResult::TimedOut(Output { text: text.trim_end().to_owned(), ..last_words })
    } else {
        ToolResult::Cancelled(last_words)
    }
}
