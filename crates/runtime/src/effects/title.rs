//! Asks a model for a chat's title when the chat has first come to rest.
//! Started by the chat's task. A failure leaves the title as it is: nobody is waiting for it.

use std::sync::Arc;

use agent_world_core::command::{Command, TitleProposal};
use agent_world_core::config::World;
use agent_world_core::ids::ChatId;
use agent_world_core::item::Reply;
use agent_world_core::prompt::Prompt;
use agent_world_llm::Request;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::engine::Shared;
use crate::telemetry::{Asker, ModelCall};

/// Tokens a title may take.
const TITLE_TOKENS: u64 = 64;
/// Tokens of a model that thinks before it answers: its thoughts count, and would leave nothing of so few.
const THINKING_TOKENS: u64 = 2_048;

pub(crate) fn call(
    shared: &Arc<Shared>,
    world: &Arc<World>,
    chat: &ChatId,
    prompt: Prompt,
    cancelled: CancellationToken,
) -> impl Future<Output = Command> + Send + 'static {
    let (shared, world, chat) = (Arc::clone(shared), Arc::clone(world), chat.clone());
    async move {
        let proposal = tokio::select! {
            biased;
            () = cancelled.cancelled() => Err("the call was cancelled".to_owned()),
            proposal = propose(&shared, &world, &chat, prompt) => proposal,
        };
        Command::RecordTitle { proposal }
    }
}

async fn propose(
    shared: &Shared,
    world: &World,
    chat: &ChatId,
    prompt: Prompt,
) -> Result<TitleProposal, String> {
    let of_an_agent = || world.agents.iter().find_map(|agent| world.model_of(agent));
    let name = world
        .title_model
        .as_deref()
        .or_else(of_an_agent)
        .ok_or_else(|| "no model is set that could name the chat".to_owned())?;
    let (model, own_name) = shared.models.find(name).map_err(|error| error.to_string())?;
    let thinks = model.capabilities(own_name).reasoning;
    let request = Request {
        model: own_name.to_owned(),
        instructions: prompt.instructions,
        input: prompt.items,
        max_output_tokens: Some(if thinks { THINKING_TOKENS } else { TITLE_TOKENS }),
        store: Some(false),
        ..Request::default()
    };
    let asker = Asker { within: &Span::none(), chat, agent: None };
    let told = ModelCall::begin(&asker, name, &request);
    let answer = told.watch(model.generate(request)).await.map_err(|error| error.to_string())?;
    let answer = Reply::from(answer);
    Ok(TitleProposal { text: answer.spoken(), model: name.to_owned(), usage: answer.usage })
}
