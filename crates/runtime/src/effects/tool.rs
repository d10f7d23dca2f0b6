//! Runs a tool whose start is recorded, within its time.
//! Started by the chat's task. What runs is what was stored and approved; nothing is looked up anew but the tool.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agent_world_core::binding::Facts;
use agent_world_core::chat::{Call, Chat};
use agent_world_core::command::{Command, ToolResult};
use agent_world_core::config::World;
use agent_world_core::event::Output;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_tools::watcher::{Channel, Watcher};
use agent_world_tools::{Failure, Invocation, Tool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::chat_task::Reach;
use crate::effects::asking::{Asking, time_is_up};
use crate::engine::Shared;
use crate::feed::ToolOutput;

pub(crate) fn run(
    shared: &Arc<Shared>,
    world: &World,
    chat: &Chat,
    call: &Arc<Call>,
    facts: Facts,
    reach: Reach,
    cancelled: CancellationToken,
) -> impl Future<Output = Command> + Send + 'static {
    let tool = shared.toolbox.find(world, &call.made.name);
    let waiting = watch::Sender::new(0);
    let asked = waiting.subscribe();
    let person = Asking {
        chat: reach,
        call: call.made.call.clone(),
        attempt: call.attempt,
        waiting,
        asked: AtomicUsize::new(0),
    };
    let watcher = Watching {
        shared: Arc::downgrade(shared),
        world: chat.world.clone(),
        chat: chat.id.clone(),
        agent: call.made.agent.clone(),
        call: call.made.call.clone(),
    };
    let grace = shared.options.cancel_grace;
    let limit = Duration::from_secs(call.made.timeout_seconds);
    let invocation = Invocation {
        working_directory: call.made.working_directory.as_ref().map(PathBuf::from),
        sandbox: world.sandbox.clone(),
        facts,
        person: Arc::new(person),
        watcher: Arc::new(watcher),
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
            Some(tool) => {
                let time = Time { limit, grace, asked };
                within(tool, invocation, cancelled, time).await
            }
            None => ToolResult::Failed(Output::text("error: the tool is not available any more")),
        };
        Command::RecordToolResult { call: id, attempt, result }
    }
}

/// Passes on what a call writes to whoever follows along.
#[derive(Debug)]
struct Watching {
    /// A tool may keep it for longer than the engine lives, and must not keep the store open with it.
    shared: Weak<Shared>,
    world: WorldId,
    chat: ChatId,
    agent: AgentId,
    call: CallId,
}

impl Watcher for Watching {
    fn wrote(&self, channel: Channel, text: &str) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        shared.feed.output(ToolOutput {
            world: self.world.clone(),
            chat: self.chat.clone(),
            agent: self.agent.clone(),
            call: self.call.clone(),
            channel,
            text: text.to_owned(),
        });
    }
}

/// How long a call may run, and how long it may take to end when told to.
struct Time {
    limit: Duration,
    grace: Duration,
    /// Questions that wait for a person.
    asked: watch::Receiver<usize>,
}

/// Runs to the end, or to the end of its time, or until nobody wants it any more. Told to end, a tool has a
/// moment to do so; then it is dropped, which must leave nothing running.
async fn within(
    tool: Arc<dyn Tool>,
    invocation: Invocation,
    cancelled: CancellationToken,
    Time { limit, grace, asked }: Time,
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
        () = time_is_up(limit, asked) => true,
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
