//! Decides how an agent of a world answers as if it were a model: `world:WORLD/AGENT`.
//! Called by the routes of `/v1`. Gives the same stream of events as a vendor's model, so that nothing behind it differs.
//!
//! - What the user says becomes one message for exactly this agent, whatever it mentions. `instructions` and messages of
//!   the system or developer are told with it, marked as the calling program's; they do not replace the agent's own.
//! - A conversation that the client kept itself begins a new chat as its history.
//! - The response has the agent's texts, of this turn and as its model wrote them, and ends when the turn ends or only
//!   the client or a person can move it: then with an `mcp_approval_request` for each call that waits for a decision,
//!   and a `function_call` for each that the client is to execute. The turn waits, however long.
//! - `mcp_approval_response` and `function_call_output` answer those. A decision counts once, and may come twice: whoever
//!   repeats it is told what came of it.
//! - A response that was continued before is continued in a copy of its chat.
//! - The agent's settings decide on its model and how it is asked: `temperature` and the like are not looked at.

mod branch;
mod input;
mod offer;
mod past;
#[cfg(test)]
mod stage;
mod standing;
mod telling;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use agent_world_core::brought::Brought;
use agent_world_core::chat::{CallState, Chat};
use agent_world_core::command::{Answer, Claims, Rejection};
use agent_world_core::config::{Agent, Location, ToolSpec, World};
use agent_world_core::event::{Decision as Decided, Output};
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId, is_slug};
use agent_world_core::view::{ApprovalState, ApprovalView, CallView};
use agent_world_runtime::llm::{Events, Request};
use agent_world_runtime::store::Scope;
use agent_world_runtime::{Error, NewMessage};

use crate::access::{Principal, Role};
use crate::app::App;
use crate::problem::Problem;
use branch::{Act, Branch};
pub(crate) use branch::{Follows, KIND as NEWEST, Point};
use input::{Decision, Memory, Said, Telling};
use past::Given;
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
    /// That response.
    pub follows: Option<Follows>,
}

/// An answer under way. Dropping the events ends the watching, not the work.
pub(crate) struct Answering {
    pub chat: ChatId,
    /// As of a vendor's model: the last one is the complete response.
    pub events: Events,
    /// How far the chat's log had come at the end of the answer; 0 before.
    pub reached: Arc<AtomicU64>,
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
    match (chat, &ask.follows) {
        (Some(chat), Some(follows)) => request.follow(chat, follows, said).await,
        (Some(chat), None) => request.go_on(chat, said).await,
        (None, _) => request.begin(said).await,
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
        self.first(chat, said).await
    }

    /// Goes on from a response, where that is possible without mixing with others who do.
    async fn follow(
        self,
        chat: ChatId,
        follows: &Follows,
        said: Said,
    ) -> Result<Answering, Problem> {
        let app = self.app;
        let act = if said.speaks() { Act::Speaks } else { Act::Answers };
        match branch::choose(app, self.who, &chat, follows, act).await? {
            Branch::Copy(copy) => self.first(copy, said).await,
            Branch::Same(claim) => {
                let answering = self.go_on(chat, said).await;
                if answering.is_err() {
                    claim.give_back(app).await;
                }
                answering
            }
        }
    }

    /// The first request in a chat that was made for it.
    async fn first(self, chat: ChatId, said: Said) -> Result<Answering, Problem> {
        let (engine, made, by) = (&self.app.engine, chat.clone(), self.who.name.clone());
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
        let mut events = engine.subscribe(Scope::Chat(chat.clone()), position);
        let speaks = said.speaks();
        let mut given = Vec::new();
        let decisions = self.check_decisions(&chat, said.decisions, &mut given).await?;
        let results = self.check_results(&chat, said.results, &mut given).await?;
        self.offer(&state).await?;
        let decided = self.decide(decisions, &mut given).await?;
        let brought = self.bring(&chat, results, &mut given).await?;
        let mut state = state;
        let aim = if speaks {
            let message = NewMessage {
                user: Some(self.who.name.clone()),
                parts: said.parts,
                recipients: Some(vec![self.agent.id.clone()]),
                ..NewMessage::human(said.text)
            };
            Aim::Message(engine.post(&chat, message).await?.message.id)
        } else if decided + brought == 0
            && let Some(past) = past::behind(engine.store().as_ref(), &chat, &given).await?
        {
            events = engine.subscribe(Scope::Chat(chat.clone()), past.position);
            state = past.chat;
            Aim::Turn(past.turn)
        } else {
            // One that has ended leaves nothing to follow: what was decided runs in the background.
            let open = state.turn_of(&self.agent.id).map(|turn| turn.id.clone());
            open.map_or(Aim::Nothing, Aim::Turn)
        };
        let reached = Arc::new(AtomicU64::new(0));
        let watch = Watch {
            app: Arc::clone(self.app),
            world: Arc::clone(self.world),
            agent: self.agent.id.clone(),
            chat: state,
            events,
            aim,
            reached: Arc::clone(&reached),
        };
        Ok(Answering { chat, events: watch.follow(), reached })
    }

    /// Makes decisions, and says how many were made now. Somebody may have made the same one since it was checked.
    async fn decide(
        &self,
        decisions: Vec<Decision>,
        given: &mut Vec<Given>,
    ) -> Result<usize, Problem> {
        let (engine, by) = (&self.app.engine, &self.who.name);
        let mut made = 0;
        for Decision { approval, answer, .. } in decisions {
            match engine.answer(&approval, answer.clone(), by, Claims::default()).await {
                Ok(_) => made += 1,
                Err(Error::AlreadySettled(view)) if is_as_decided(&view.state, &answer) => {
                    given.push(Given::Decision(approval));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(made)
    }

    /// Brings results of the client's tools, and says how many are new.
    async fn bring(
        &self,
        chat: &ChatId,
        results: Vec<(CallId, String)>,
        given: &mut Vec<Given>,
    ) -> Result<usize, Problem> {
        let mut brought = 0;
        for (call, text) in results {
            let output = Output::text(text.clone());
            match self.app.engine.client_result(chat, &call, output, false).await {
                Ok(()) => brought += 1,
                Err(error @ Error::Rejected(Rejection::NotAClientCall(_))) => {
                    let known = self.app.engine.store().call(chat, &call).await?;
                    if !known.is_some_and(|known| is_as_brought(&known, &text)) {
                        return Err(error.into());
                    }
                    given.push(Given::Result(call));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(brought)
    }

    /// The decisions that are still to be made. Those that were made before are left out, and noted.
    async fn check_decisions(
        &self,
        chat: &ChatId,
        decisions: Vec<Decision>,
        given: &mut Vec<Given>,
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
                (Some(view), Telling::New) if is_as_decided(&view.state, &decision.answer) => {
                    given.push(Given::Decision(decision.approval));
                }
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

    /// The results that are still missing. Those that came before are left out, and noted.
    async fn check_results(
        &self,
        chat: &ChatId,
        results: Vec<(CallId, String)>,
        given: &mut Vec<Given>,
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
            match call.state {
                CallState::Executing => checked.push((id, text)),
                _ if is_as_brought(&call, &text) => given.push(Given::Result(id)),
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

/// Whether a call ended with the result that somebody brings now.
fn is_as_brought(call: &CallView, text: &str) -> bool {
    let before = call.output.as_ref().map(|output| output.text.as_str());
    matches!(call.state, CallState::Ended(_)) && before == Some(text)
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
