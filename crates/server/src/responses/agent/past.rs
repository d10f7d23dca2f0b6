//! Finds the place in a chat's log right behind answers that were given before, so that whoever repeats them is told what
//! came of them. Called by `answer` for requests that bring nothing new. Reads the whole log, which only repetitions cost.

use agent_world_core::apply::apply;
use agent_world_core::chat::Chat;
use agent_world_core::event::Event;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, TurnId};
use agent_world_runtime::store::Store;

use crate::problem::Problem;

/// Events read at once.
const PAGE: usize = 256;

/// What an agent waited for and was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Decision(ApprovalId),
    Result(CallId),
}

/// A chat as it was.
pub(super) struct Past {
    pub chat: Chat,
    /// Of the last event in it, among all events.
    pub position: u64,
    /// What went on with the answer.
    pub turn: TurnId,
}

/// The chat right after the last of some answers.
pub(super) async fn behind(
    store: &dyn Store,
    id: &ChatId,
    given: &[Given],
) -> Result<Option<Past>, Problem> {
    let mut chat = Chat::unborn(id.clone());
    let mut found = None;
    let mut missing = given.to_vec();
    while !missing.is_empty() {
        let page = store.log(id, chat.head, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            let recorded = stored.sealed.open().map_err(Problem::internal)?;
            apply(&mut chat, &recorded);
            let Some((one, call)) = answer(&recorded.event) else { continue };
            if missing.contains(&one) {
                missing.retain(|other| *other != one);
                found = Some((chat.clone(), stored.position, call));
            }
        }
    }
    let Some((chat, position, call)) = found else { return Ok(None) };
    let call = store.call(id, &call).await?;
    Ok(call.map(|call| Past { chat, position, turn: call.turn }))
}

fn answer(event: &Event) -> Option<(Given, CallId)> {
    match event {
        Event::ApprovalDecided(decided) => {
            Some((Given::Decision(decided.approval.clone()), decided.call.clone()))
        }
        Event::ToolFinished(finished) => {
            Some((Given::Result(finished.call.clone()), finished.call.clone()))
        }
        _ => None,
    }
}
