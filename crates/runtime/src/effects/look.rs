//! Has tools look at calls without running them: at the calls of a reply, and at a call that is about to start.
//! Started by the chat's task and by the engine for edited arguments. Changes nothing; what is found comes with a
//! command and is judged there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::arguments;
use agent_world_core::binding::Prepared;
use agent_world_core::chat::Call;
use agent_world_core::command::{Command, Look};
use agent_world_core::config::World;
use agent_world_core::ids::{AgentId, ChatId};
use agent_world_core::item::Reply;
use agent_world_tools::{Intent, Tool};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::Shared;

/// How long a tool may look. It then counts as having found nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose call it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    pub world: &'a World,
    pub chat: &'a ChatId,
    pub agent: &'a AgentId,
    /// Where the call was made to work, if it was made already.
    pub directory: Option<&'a str>,
}

/// What the tools find of the calls of a reply, by place. Whatever is not a call of a known tool is left out: what is
/// wrong with it is decided elsewhere.
pub(crate) async fn at_reply(
    shared: &Shared,
    caller: Caller<'_>,
    reply: &Reply,
) -> BTreeMap<usize, Look> {
    let mut looks = BTreeMap::new();
    for (place, call) in reply.calls().enumerate() {
        let Some(tool) = shared.toolbox.find(caller.world, &call.name) else {
            continue;
        };
        let Ok(arguments) = arguments::parse(&call.arguments, &tool.spec().parameters) else {
            continue;
        };
        looks.insert(place, at(tool.as_ref(), caller, &arguments).await);
    }
    looks
}

/// What the tool finds of arguments that a person put in place of the model's.
pub(crate) async fn at_edited(
    shared: &Shared,
    caller: Caller<'_>,
    tool: &str,
    arguments: &Value,
) -> Option<Look> {
    if shared.toolbox.find(caller.world, tool).is_none() {
        shared.toolbox.ready(caller.world).await;
    }
    let tool = shared.toolbox.find(caller.world, tool)?;
    let arguments = arguments::validate(arguments.clone(), &tool.spec().parameters).ok()?;
    Some(at(tool.as_ref(), caller, &arguments).await)
}

/// Looks at a call once more; its start comes with what was found.
pub(crate) fn before_start(
    shared: &Arc<Shared>,
    world: &Arc<World>,
    chat: &ChatId,
    call: &Arc<Call>,
    cancelled: CancellationToken,
) -> impl Future<Output = Command> + Send + 'static {
    let (shared, world) = (Arc::clone(shared), Arc::clone(world));
    let (chat, call) = (chat.clone(), Arc::clone(call));
    async move {
        let looking = async {
            // After a restart its server may have to be started first.
            if shared.toolbox.find(&world, &call.made.name).is_none() {
                shared.toolbox.ready(&world).await;
            }
            let tool = shared.toolbox.find(&world, &call.made.name)?;
            let caller = Caller {
                world: &world,
                chat: &chat,
                agent: &call.made.agent,
                directory: call.made.working_directory.as_deref(),
            };
            Some(at(tool.as_ref(), caller, call.arguments()).await)
        };
        let look = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            look = looking => look,
        };
        Command::StartTool { call: call.made.call.clone(), look }
    }
}

async fn at(tool: &dyn Tool, caller: Caller<'_>, arguments: &Value) -> Look {
    let directory = caller.directory.or(caller.world.working_directory.as_deref());
    let intent = Intent {
        world: &caller.world.id,
        chat: caller.chat,
        agent: caller.agent,
        arguments,
        working_directory: directory.map(Path::new),
        sandbox: &caller.world.sandbox,
    };
    match tokio::time::timeout(PATIENCE, tool.prepare(intent)).await {
        Ok(look) => look,
        Err(_) => {
            tracing::warn!(tool = %tool.spec().name, "did not look at a call in time");
            Ok(Prepared::default())
        }
    }
}
