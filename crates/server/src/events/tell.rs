//! Decides what an event of the log means to a client: which events it becomes, in which order.
//! Called by `telling` with the facts of `facts`. The same event gives the same answer for ever: whatever it shows is as it
//! was at that moment, never as it is now. Looks nothing up.
//!
//! Where a fact is gone (a world was deleted meanwhile) what needs it is left out; nobody can ask for that event again.

use agent_world_core::chain::Recorded;
use agent_world_core::chat::CallState;
use agent_world_core::event::{
    ApprovalDecided, ApprovalRequested, Author, Decision, Ending, Event, ModelCallRequested,
    NoticeCode, NoticePosted, Permission, Position, ReplyRecorded, ToolFinished, Waiting,
};
use agent_world_core::ids::{AgentId, ChatId, GrantId, RuleId, TurnId};
use agent_world_core::view::message::{self, Asked, Place};
use agent_world_core::view::{self, ApprovalState, ApprovalView, CallView, Glance, MessageView};
use agent_world_runtime::store::{StoredEvent, WorldChange};
use serde_json::Value;

use super::facts::Facts;
use super::wire::{Crud, Data, Joined, Stream, System};
use crate::wire;

/// Tells of an event of a chat.
pub(super) fn of_chat(
    chat: &ChatId,
    recorded: &Recorded,
    glance: Option<&Glance>,
    facts: Facts,
) -> Vec<Data> {
    let position = Position { seq: recorded.seq, index: 0 };
    let teller = Teller { chat, place: Place { position, at: recorded.at } };
    let mut told = teller.tell(&recorded.event, facts);
    told.extend(glance.map(|glance| Data::Activity(wire::Activity::from_glance(glance))));
    told
}

/// Tells of a change of a world. What its settings are now is for those to read who may.
pub(super) fn of_world(change: WorldChange) -> Data {
    let WorldChange { entity, action, id, by, at: _, settings: _ } = change;
    Data::Crud(Crud { entity, action, id, from: None, by: Some(by) })
}

/// Tells of an event that this program cannot read.
pub(super) fn unreadable(stored: &StoredEvent) -> Data {
    let text = format!(
        "an event of type {} cannot be read by this program; update agent-world, or look at what `agent-world verify` says",
        stored.sealed.kind
    );
    Data::System(System { code: "event_unreadable", text, ..System::default() })
}

#[derive(Clone, Copy)]
struct Teller<'a> {
    chat: &'a ChatId,
    place: Place,
}

impl Teller<'_> {
    fn tell(self, event: &Event, facts: Facts) -> Vec<Data> {
        match event {
            Event::ChatCreated(created) => {
                vec![crud("chat", "created", self.chat.as_str(), person(&created.by))]
            }
            // The history of a fork was there before it: whoever opens the chat reads its messages.
            Event::HistoryCopied { .. } => vec![crud("chat", "updated", self.chat.as_str(), None)],
            Event::ChatRenamed { title, by } => {
                let by = person(by);
                let text = title.clone();
                vec![
                    system(System { code: "title", text, by: by.clone(), ..System::default() }),
                    crud("chat", "updated", self.chat.as_str(), by),
                ]
            }
            Event::NamingGivenUp { reason } => {
                let text = reason.clone();
                vec![system(System { code: "title_failed", text, ..System::default() })]
            }
            Event::ChatDeleted { by } => {
                vec![crud("chat", "deleted", self.chat.as_str(), Some(by.clone()))]
            }
            Event::MessagePosted(posted) => {
                vec![self.message(&message::said(&posted.message, self.place))]
            }
            Event::NoticePosted(notice) => self.notice(notice),
            Event::HistoryCut { from, by, .. } => vec![Data::Crud(Crud {
                entity: "message".to_owned(),
                action: "deleted".to_owned(),
                id: from.to_string(),
                from: Some(from.to_string()),
                by: Some(by.clone()),
            })],
            Event::ModelCallRequested(asked) => {
                vec![start(asked, facts.retry_of.as_ref())]
            }
            Event::ReplyRecorded(reply) => self.reply(reply),
            Event::TurnPaused { turn } => {
                let text = "waits for a person to speak after a denial".to_owned();
                let turn_id = Some(turn.to_string());
                vec![system(System { code: "turn_paused", text, turn_id, ..System::default() })]
            }
            Event::TurnEnded { turn, ending } => ended(turn, ending, &facts),
            Event::TurnLimitReached { agent, limit, notice, .. } => vec![system(System {
                code: "turn_limit_reached",
                text: format!("{agent} has had its {limit} turns and waits for a person"),
                agent_id: Some(agent.to_string()),
                message_id: notice.as_ref().map(ToString::to_string),
                ..System::default()
            })],
            Event::WorkStopped { agent, by, .. } => vec![stopped(agent.as_ref(), by)],
            Event::ToolCalled(called) => vec![self.tool(&view::made(called, self.place.at))],
            Event::ToolStarted { attempt, .. } => self.started(*attempt, facts),
            Event::ToolRequeued { .. } => {
                let call = facts.call.map(|call| self.tool(&waiting(call, CallState::Pending)));
                call.into_iter().collect()
            }
            Event::ToolFinished(finished) => self.finished(finished, facts),
            Event::ApprovalRequested(asked) => self.requested(asked, facts),
            Event::ApprovalDecided(decided) => self.decided(decided, facts),
            Event::ApprovalExpired { .. } => {
                approval(facts, ApprovalState::Expired { at: self.place.at })
            }
            Event::ApprovalWithdrawn { reason, .. } => {
                let reason = reason.clone();
                approval(facts, ApprovalState::Withdrawn { reason, at: self.place.at })
            }
            Event::GrantRevoked { grant, by } => {
                vec![crud("grant", "deleted", grant.as_str(), Some(by.clone()))]
            }
            Event::ClientToolsOffered { client, by, .. } => {
                vec![crud("client_tools", "updated", client, Some(by.clone()))]
            }
            // What agents do is told as activity. What a title took is no news, and edits in copied history are past.
            Event::TurnStarted(_) | Event::TitleProposed { .. } | Event::ArgumentsEdited { .. } => {
                Vec::new()
            }
        }
    }

    fn message(self, view: &MessageView) -> Data {
        Data::Message(wire::Message::from_view(self.chat, view))
    }

    fn tool(self, view: &CallView) -> Data {
        Data::Tool(wire::Call::from_view(self.chat, view))
    }

    fn notice(self, notice: &NoticePosted) -> Vec<Data> {
        let told = System {
            code: notice_code(notice.code),
            text: notice.text.clone(),
            agent_id: notice.agent.as_ref().map(ToString::to_string),
            message_id: Some(notice.id.to_string()),
            ..System::default()
        };
        vec![self.message(&message::notified(notice, self.place)), system(told)]
    }

    /// A reply without calls is a message once it is posted, which is the next event.
    fn reply(self, reply: &ReplyRecorded) -> Vec<Data> {
        let message = message::replied(reply, self.place);
        let end = Data::Stream(Stream {
            phase: "end",
            message_id: reply.reply.to_string(),
            agent_id: reply.agent.to_string(),
            turn_id: reply.turn.to_string(),
            iteration: None,
            joined: None,
            retry_of: None,
            usage: Some(reply.usage),
            error: None,
        });
        message.iter().map(|message| self.message(message)).chain([end]).collect()
    }

    fn started(self, attempt: u32, facts: Facts) -> Vec<Data> {
        let running = |call| CallView {
            attempt,
            started_at: Some(self.place.at),
            ..waiting(call, CallState::Executing)
        };
        facts.call.map(|call| self.tool(&running(call))).into_iter().collect()
    }

    fn finished(self, finished: &ToolFinished, facts: Facts) -> Vec<Data> {
        let Some(call) = facts.call else {
            return Vec::new();
        };
        let message = message::finished(finished, &call, self.place);
        let call = CallView {
            state: CallState::Ended(finished.outcome),
            ended_at: Some(self.place.at),
            output: Some(finished.output.clone()),
            ..call
        };
        vec![self.tool(&call), self.message(&message)]
    }

    fn requested(self, asked: &ApprovalRequested, facts: Facts) -> Vec<Data> {
        let (Some(approval), Some(call)) = (facts.approval, facts.call) else {
            return Vec::new();
        };
        let approval = ApprovalView { state: ApprovalState::Pending, ..approval };
        let message = self.message(&message::requested(asked, &approval, &call, self.place));
        let mut told = vec![Data::Approval(wire::Approval::from_view(&approval))];
        // A tool that asks something while it runs goes on running.
        if asked.form.is_none() {
            let call = under(call, &approval, approval.arguments.clone());
            told.push(self.tool(&waiting(call, CallState::AwaitingApproval)));
        }
        told.push(message);
        told
    }

    fn decided(self, decided: &ApprovalDecided, facts: Facts) -> Vec<Data> {
        let Some(request) = facts.approval else {
            return Vec::new();
        };
        let state = ApprovalState::Decided {
            decision: Box::new(decided.decision.clone()),
            by: decided.by.clone(),
            at: self.place.at,
        };
        let request = ApprovalView { state, ..request };
        let mut told = vec![Data::Approval(wire::Approval::from_view(&request))];
        if let (Decision::Approved { arguments, scope, .. }, Some(call)) =
            (&decided.decision, facts.call)
        {
            let arguments = arguments.as_ref().unwrap_or(&request.arguments).clone();
            told.push(self.tool(&waiting(under(call, &request, arguments), CallState::Pending)));
            told.extend(permission(scope));
        }
        if let Some(asked_in) = &facts.asked_in {
            let asked = Asked { agent: &request.agent, message: asked_in };
            told.push(self.message(&message::decided(decided, asked, self.place)));
        }
        told
    }
}

/// A call before or without an end. What does not run has not been started as far as anybody is concerned.
fn waiting(call: CallView, state: CallState) -> CallView {
    CallView { state, started_at: None, ended_at: None, output: None, ..call }
}

/// A call as it stands under a request.
fn under(call: CallView, approval: &ApprovalView, arguments: Value) -> CallView {
    CallView { approval: Some(approval.id.clone()), arguments, ..call }
}

fn approval(facts: Facts, state: ApprovalState) -> Vec<Data> {
    let told = |view| Data::Approval(wire::Approval::from_view(&ApprovalView { state, ..view }));
    facts.approval.map(told).into_iter().collect()
}

fn permission(scope: &Permission) -> Option<Data> {
    let granted = |entity, id: &str, by| Some(crud(entity, "created", id, by));
    match scope {
        Permission::Once => None,
        Permission::Session(grant) => {
            granted("grant", GrantId::as_str(&grant.id), Some(grant.by.clone()))
        }
        Permission::Always(rule) => {
            let by = rule.origin.as_ref().map(|origin| origin.by.clone());
            granted("rule", RuleId::as_str(&rule.id), by)
        }
    }
}

/// A turn that ends without a reply leaves one behind that was begun.
fn ended(turn: &TurnId, ending: &Ending, facts: &Facts) -> Vec<Data> {
    let Some(streaming) = &facts.streaming else {
        return Vec::new();
    };
    let error = match ending {
        Ending::Completed => return Vec::new(),
        Ending::Failed { error } => error.clone(),
        Ending::Stopped => "stopped".to_owned(),
    };
    vec![Data::Stream(Stream {
        phase: "error",
        message_id: streaming.message.to_string(),
        agent_id: streaming.agent.to_string(),
        turn_id: turn.to_string(),
        iteration: None,
        joined: None,
        retry_of: None,
        usage: None,
        error: Some(error),
    })]
}

fn stopped(agent: Option<&AgentId>, by: &str) -> Data {
    let text = match agent {
        Some(agent) => format!("{by} stopped {agent}"),
        None => format!("{by} stopped all work in this chat"),
    };
    system(System {
        code: "work_stopped",
        text,
        agent_id: agent.map(ToString::to_string),
        by: Some(by.to_owned()),
        ..System::default()
    })
}

fn start(asked: &ModelCallRequested, retry_of: Option<&TurnId>) -> Data {
    let joined = |waiting: &Waiting| match waiting {
        Waiting::Message { id, .. } => Joined::MessageId(id.to_string()),
        Waiting::Background { call } => Joined::ToolCallId(call.to_string()),
    };
    Data::Stream(Stream {
        phase: "start",
        message_id: asked.reply.to_string(),
        agent_id: asked.agent.to_string(),
        turn_id: asked.turn.to_string(),
        iteration: Some(asked.iteration),
        joined: Some(asked.joined.iter().map(joined).collect()),
        retry_of: retry_of.map(ToString::to_string),
        usage: None,
        error: None,
    })
}

fn system(told: System) -> Data {
    Data::System(told)
}

fn crud(entity: &str, action: &str, id: &str, by: Option<String>) -> Data {
    let (entity, action, id) = (entity.to_owned(), action.to_owned(), id.to_owned());
    Data::Crud(Crud { entity, action, id, from: None, by })
}

fn person(author: &Author) -> Option<String> {
    match author {
        Author::Person(name) => Some(name.clone()),
        Author::Default | Author::Model => None,
    }
}

fn notice_code(code: NoticeCode) -> &'static str {
    match code {
        NoticeCode::NobodyAddressed => "nobody_addressed",
        NoticeCode::NoAgents => "no_agents",
        NoticeCode::ModelFailed => "model_failed",
        NoticeCode::IterationLimit => "iteration_limit",
        NoticeCode::AgentGone => "agent_gone",
        NoticeCode::ReplyIncomplete => "reply_incomplete",
        NoticeCode::ReplyEmpty => "reply_empty",
    }
}
