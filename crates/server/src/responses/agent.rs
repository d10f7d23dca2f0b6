//! Decides how an agent of a world answers as if it were a model: `world:WORLD/AGENT`.
//! Called by the routes of `/v1`. Gives the same stream of events as a vendor's model, so that nothing behind it differs.
//!
//! - What the user says becomes one message for exactly this agent, whatever it mentions. `instructions` and messages of
//!   the system or developer are told with it, marked as the calling program's; they do not replace the agent's own.
//! - A conversation that the client kept itself begins a new chat as its history.
//! - The response has the agent's texts, of this turn and as its model wrote them, and ends when the turn ends or only
//!   the client or a person can move it: then with an `mcp_approval_request` for each call that waits for a decision,
//!   and a `function_call` for each that the client is to execute. The turn waits, however long.
//! - `mcp_approval_response` and `function_call_output` answer those. A decision counts once, and may come twice.
//! - The agent's settings decide on its model and how it is asked: `temperature` and the like are not looked at.

mod input;
mod offer;
#[cfg(test)]
mod stage;
mod standing;
mod telling;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_world_core::brought::Brought;
use agent_world_core::chat::{CallState, Chat};
use agent_world_core::command::{Answer, Claims, Rejection};
use agent_world_core::config::{Agent, Location, ToolSpec, World};
use agent_world_core::event::{Decision as Decided, Output};
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId, is_slug};
use agent_world_core::view::{ApprovalState, ApprovalView};
use agent_world_runtime::llm::{Events, Request};
use agent_world_runtime::store::Scope;
use agent_world_runtime::{Error, NewMessage};

use crate::access::{Principal, Role};
use crate::app::App;
use crate::problem::Problem;
use input::{Decision, Memory, Said, Telling};
use watch::{Aim, Watch};

/// Requests that are looked up to find a chat; one reply makes no more.
const CALLS_LIMIT: usize = 128;

/// What an agent is asked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub world: WorldId,
    pub agent: AgentId,
    /// Its `input` holds only what is new; its `tools` are those the client executes.
    pub request: Request,
    /// The chat of the response this one follows.
    pub chat: Option<ChatId>,
}

/// An answer under way. Dropping the events ends the watching, not the work.
pub(crate) struct Answering {
    pub chat: ChatId,
    /// As of a vendor's model: the last one is the complete response.
    pub events: Events,
}

/// Asks an agent. When this returns, what the request says is durable.
pub(crate) async fn answer(
    app: &Arc<App>,
    who: &Principal,
    ask: Ask,
) -> Result<Answering, Problem> {
    who.require(Role::Member)?;
    let world = world_of(app, &ask).await?;
    let agent = world.agent(&ask.agent).ok_or_else(|| no_such_model(&ask))?;
    let tools = offer::offered(&app.engine, &world, agent, &ask.request)?;
    let (chat, memory) = chat_of(app, &ask).await?;
    let said = Said::read(&ask.request, memory)?;
    let request = Asked { app, who, world: &world, agent, tools };
    match chat {
        Some(chat) => request.go_on(chat, said).await,
        None => request.begin(said).await,
    }
}

/// Stops what an agent does in a chat: model calls, running tools, requests for approval.
pub(crate) async fn cancel(
    app: &Arc<App>,
    chat: &ChatId,
    agent: &AgentId,
    by: &str,
) -> Result<(), Problem> {
    Ok(app.engine.stop(chat, Some(agent.clone()), by).await?)
}

async fn world_of(app: &App, ask: &Ask) -> Result<Arc<World>, Problem> {
    if !is_slug(ask.world.as_str()) {
        return Err(no_such_model(ask));
    }
    match app.engine.world(&ask.world).await {
        Err(Error::UnknownWorld(_)) => Err(no_such_model(ask)),
        world => Ok(world?),
    }
}

fn no_such_model(ask: &Ask) -> Problem {
    let detail = format!("there is no agent `{}` in a world `{}`", ask.agent, ask.world);
    Problem::not_found("model_not_found", detail).with("param", "model")
}

/// The chat that goes on, and who remembers it. A request for approval names its chat, also to a client that keeps the
/// conversation itself.
async fn chat_of(app: &App, ask: &Ask) -> Result<(Option<ChatId>, Memory), Problem> {
    if let Some(chat) = &ask.chat {
        return match app.engine.chat(chat).await? {
            view if view.world == ask.world => Ok((Some(view.id), Memory::Ours)),
            _ => Err(Error::UnknownChat(chat.clone()).into()),
        };
    }
    for approval in input::answered(&ask.request).take(CALLS_LIMIT) {
        let known = app.engine.store().approval(&approval).await?;
        if let Some(view) = known.filter(|view| is_about(view, ask)) {
            return Ok((Some(view.chat), Memory::Both));
        }
    }
    match input::answered(&ask.request).next() {
        Some(approval) => Err(Error::UnknownApproval(approval).into()),
        None => Ok((None, Memory::Clients)),
    }
}

fn is_about(view: &ApprovalView, ask: &Ask) -> bool {
    view.world == ask.world && view.agent == ask.agent
}

/// A request that can be meant, and by whom.
struct Asked<'a> {
    app: &'a Arc<App>,
    who: &'a Principal,
    world: &'a Arc<World>,
    agent: &'a Agent,
    tools: Vec<ToolSpec>,
}

impl Asked<'_> {
    async fn begin(self, mut said: Said) -> Result<Answering, Problem> {
        let engine = &self.app.engine;
        let by = self.who.name.clone();
        let items = std::mem::take(&mut said.history);
        let chat = if items.is_empty() {
            engine.create_chat(&self.world.id, None, &by).await?.id
        } else {
            let brought = Brought { agent: self.agent.id.clone(), user: by.clone(), items };
            engine.create_chat_from(&self.world.id, brought, &by).await?.id
        };
        let (engine, made) = (engine.clone(), chat.clone());
        match self.go_on(chat, said).await {
            // Nobody will come back to a chat whose first request was refused.
            Err(problem) => {
                engine.delete_chat(&made, &by).await?;
                Err(problem)
            }
            answering => answering,
        }
    }

    async fn go_on(self, chat: ChatId, said: Said) -> Result<Answering, Problem> {
        let engine = &self.app.engine;
        // In this order: what is stored in between is in the state and among the events, and counts once.
        let position = engine.store().position().await?;
        let state = engine.state(&chat).await?;
        let events = engine.subscribe(Scope::Chat(chat.clone()), position);
        let decisions = self.check_decisions(&chat, said.decisions).await?;
        let results = self.check_results(&chat, said.results).await?;
        self.offer(&state).await?;
        for Decision { approval, answer, .. } in decisions {
            engine.answer(&approval, answer, &self.who.name, Claims::default()).await?;
        }
        for (call, text) in results {
            engine.client_result(&chat, &call, Output::text(text), false).await?;
        }
        let aim = if said.text.is_empty() && said.parts.is_empty() {
            // One that has ended leaves nothing to follow: what was decided runs in the background.
            let open = state.turn_of(&self.agent.id).map(|turn| turn.id.clone());
            open.map_or(Aim::Nothing, Aim::Turn)
        } else {
            let message = NewMessage {
                user: Some(self.who.name.clone()),
                parts: said.parts,
                recipients: Some(vec![self.agent.id.clone()]),
                ..NewMessage::human(said.text)
            };
            Aim::Message(engine.post(&chat, message).await?.message.id)
        };
        let watch = Watch {
            app: Arc::clone(self.app),
            world: Arc::clone(self.world),
            agent: self.agent.id.clone(),
            chat: state,
            events,
            aim,
        };
        Ok(Answering { chat, events: watch.follow() })
    }

    /// The decisions that are still to be made. Those that were made before are left out.
    async fn check_decisions(
        &self,
        chat: &ChatId,
        decisions: Vec<Decision>,
    ) -> Result<Vec<Decision>, Problem> {
        let mut checked = Vec::new();
        let mut seen = BTreeSet::new();
        for decision in decisions {
            if !seen.insert(decision.approval.clone()) {
                return Err(input::refused(&format!(
                    "{} is answered twice in one request; answer it once",
                    decision.approval
                )));
            }
            let known = self.app.engine.store().approval(&decision.approval).await?;
            let ours = known.filter(|view| view.chat == *chat && view.agent == self.agent.id);
            match (ours, decision.told) {
                (Some(view), _) if view.state == ApprovalState::Pending => {
                    self.who.require(Role::Approver)?;
                    checked.push(decision);
                }
                // What came of it is in the log, whatever the client believes.
                (_, Telling::Again) => {}
                (Some(view), Telling::New) if is_as_decided(&view.state, &decision.answer) => {}
                (Some(view), Telling::New) => {
                    return Err(Error::AlreadySettled(Box::new(view)).into());
                }
                (None, Telling::New) => {
                    return Err(Error::UnknownApproval(decision.approval).into());
                }
            }
        }
        Ok(checked)
    }

    /// The results that are still missing. Those that came before are left out.
    async fn check_results(
        &self,
        chat: &ChatId,
        results: Vec<(CallId, String)>,
    ) -> Result<Vec<(CallId, String)>, Problem> {
        let mut checked = Vec::new();
        for (id, text) in results {
            let call = self.app.engine.store().call(chat, &id).await?;
            let ours = call
                .filter(|call| call.location == Location::Client && call.agent == self.agent.id);
            let Some(call) = ours else {
                let detail = format!("there is no call `{id}` that this client was to execute");
                return Err(Problem::not_found("call_not_found", detail).with("param", "input"));
            };
            let before = call.output.as_ref().map(|output| output.text.as_str());
            match call.state {
                CallState::Executing => checked.push((id, text)),
                CallState::Ended(_) if before == Some(text.as_str()) => {}
                _ => return Err(Error::Rejected(Rejection::NotAClientCall(id)).into()),
            }
        }
        Ok(checked)
    }

    /// What a request offers holds in place of what the one before it offered.
    async fn offer(&self, state: &Chat) -> Result<(), Problem> {
        let before = state.client_tools.get(offer::CLIENT).is_some_and(|tools| !tools.is_empty());
        if self.tools.is_empty() && !before {
            return Ok(());
        }
        let (tools, by) = (self.tools.clone(), &self.who.name);
        match self.app.engine.offer_tools(&state.id, offer::CLIENT, tools, by).await {
            Err(Error::Rejected(Rejection::InvalidTools(problem))) => {
                Err(offer::refused(&format!("the tools are refused: {problem}")))
            }
            offered => Ok(offered?),
        }
    }
}

/// Whether a request was decided as somebody asks for now: clients repeat what they got no answer to.
fn is_as_decided(state: &ApprovalState, answer: &Answer) -> bool {
    let ApprovalState::Decided { decision, .. } = state else {
        return false;
    };
    matches!(
        (&**decision, answer),
        (Decided::Denied { .. }, Answer::Deny { .. })
            | (Decided::Approved { .. } | Decided::Answered { .. }, Answer::Approve { .. })
    )
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
