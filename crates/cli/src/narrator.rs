//! Tells what happens in a chat besides messages: tools, decisions, notices, stops.
//! Used by `chat`, `send` and `resume`, which show messages themselves. Remembers what calls are about, because most
//! events name only the call.

use std::collections::HashMap;

use agent_world_core::event::{ApprovalDecided, Decision, Event};
use agent_world_core::ids::{AgentId, CallId, ChatId};
use agent_world_store::Store;
use anyhow::Result;

use crate::screen::Tone;
use crate::words;

#[derive(Debug, Default)]
pub struct Narrator {
    calls: HashMap<CallId, Known>,
}

/// What there is to say about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub tone: Tone,
    pub text: String,
}

#[derive(Clone, Debug)]
struct Known {
    agent: AgentId,
    tool: String,
    arguments: serde_json::Value,
}

impl Narrator {
    /// The line for an event; none where it says nothing to a person, or is a message or a request.
    pub async fn tell(
        &mut self,
        store: &dyn Store,
        chat: &ChatId,
        event: &Event,
    ) -> Result<Option<Told>> {
        Ok(match event {
            Event::ToolCalled(called) => {
                let known = Known {
                    agent: called.agent.clone(),
                    tool: called.name.clone(),
                    arguments: called.arguments.clone(),
                };
                self.calls.insert(called.call.clone(), known);
                None
            }
            Event::ToolStarted { call, .. } => {
                // A person may have changed the arguments: those that run are in the store.
                self.calls.remove(call);
                let known = self.known(store, chat, call).await?;
                let line = words::call(&known.tool, &known.arguments);
                quiet(format!("* {}: {line} started", known.agent))
            }
            Event::ToolRequeued { call } => {
                let known = self.known(store, chat, call).await?;
                let text = "was interrupted and runs again, which it says is harmless";
                quiet(format!("* {}: {} {text}", known.agent, known.tool))
            }
            Event::ToolFinished(finished) => {
                let known = self.known(store, chat, &finished.call).await?;
                self.calls.remove(&finished.call);
                let ended = words::ended(finished.outcome, &finished.output);
                quiet(format!("* {}: {} {ended}", known.agent, known.tool))
            }
            // A denial is told with the end of its call.
            Event::ApprovalDecided(ApprovalDecided {
                decision: Decision::Denied { .. }, ..
            }) => None,
            Event::ApprovalDecided(decided) => {
                let known = self.known(store, chat, &decided.call).await?;
                let words = words::decided(&decided.decision, &decided.by);
                quiet(format!("* {}: {} {words}", known.agent, known.tool))
            }
            Event::ApprovalExpired { approval } => {
                quiet(format!("* {approval} expired: nobody answered"))
            }
            Event::ApprovalWithdrawn { approval, reason } => {
                quiet(format!("* {approval} withdrawn: {reason}"))
            }
            Event::NoticePosted(notice) => {
                Some(Told { tone: Tone::Warning, text: format!("! {}", notice.text) })
            }
            Event::TurnPaused { .. } => {
                quiet("* a call was denied: the agent goes on with your next message".to_owned())
            }
            Event::WorkStopped { agent, by, .. } => quiet(match agent {
                Some(agent) => format!("* {agent} was stopped by {by}"),
                None => format!("* the agents were stopped by {by}"),
            }),
            Event::HistoryCut { by, .. } => {
                quiet(format!("* {by} took messages back; the chat goes on before them"))
            }
            Event::GrantRevoked { grant, by } => quiet(format!("* {by} revoked {grant}")),
            Event::ChatDeleted { by } => {
                Some(Told { tone: Tone::Warning, text: format!("! {by} deleted this chat") })
            }
            _ => None,
        })
    }

    async fn known(&mut self, store: &dyn Store, chat: &ChatId, call: &CallId) -> Result<Known> {
        if let Some(known) = self.calls.get(call) {
            return Ok(known.clone());
        }
        let known = match store.call(chat, call).await? {
            Some(view) => Known { agent: view.agent, tool: view.name, arguments: view.arguments },
            // Its chat may have been deleted since.
            None => Known {
                agent: AgentId::new("?"),
                tool: call.to_string(),
                arguments: serde_json::Value::Null,
            },
        };
        self.calls.insert(call.clone(), known.clone());
        Ok(known)
    }
}

fn quiet(text: String) -> Option<Told> {
    Some(Told { tone: Tone::Quiet, text })
}
