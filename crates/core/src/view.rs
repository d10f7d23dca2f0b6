//! Decides what can be looked up without folding a log: the rows of the read models.
//! Derived event by event, right after `apply`; stores write them in the transaction of the append.
//! Never the truth: everything here can be made again from the log.

pub mod message;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::apply::apply;
use crate::audit::{self, Entry};
use crate::binding::Binding;
use crate::chain::Recorded;
use crate::chat::{Call, CallState, Chat, Phase};
use crate::config::{Location, Mode};
use crate::event::{
    ApprovalDecided, ApprovalRequested, Author, Choice, Copied, Decider, Decision, Event,
    ForkOrigin, Form, Output, Permission, Position, ReplyRecorded, ToolCalled, ToolFinished,
    Voided,
};
use crate::ids::{AgentId, ApprovalId, CallId, ChatId, GrantId, MessageId, TurnId, WorldId};
use crate::item::{Part, Usage};
use crate::policy::{Grant, Rule, Suggestion, Verdict};
use crate::sender::Sender;

use self::message::{Asked, Place};

/// The call by which a client is asked for a decision. No model may make it.
pub const REQUEST_APPROVAL: &str = "client.requestApproval";

/// A change of the read models of one chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Insert.
    Message(MessageView),
    /// Remove the messages at this place and after it.
    MessagesCut(Position),
    /// Insert or replace by id.
    Call(CallView),
    /// Insert or replace by id.
    Approval(Box<ApprovalView>),
    /// Insert.
    Grant(Grant),
    /// Remove.
    GrantRevoked(GrantId),
    /// Add to the world's granted rules, and let its waiting chats know.
    Rule(Rule),
    /// Add to the sums.
    Usage(UsageView),
    /// Insert at the position of the chat's event of this number. Never changed or removed.
    Audit { seq: u64, entry: Box<Entry> },
    /// Keep beside the chat's event of this number: what goes on since.
    Glance { seq: u64, glance: Glance },
}

/// A message as a client reads it: said, made of tool calls, a tool's result, or a notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    pub id: MessageId,
    pub position: Position,
    pub role: MessageRole,
    pub sender: Sender,
    pub user: Option<String>,
    pub agent: Option<AgentId>,
    pub turn: Option<TurnId>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallRef>,
    pub tool_call: Option<String>,
    pub reply_to: Option<MessageId>,
    pub usage: Option<Usage>,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    User,
    Assistant,
    Tool,
    System,
}

/// A tool call inside a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallRef {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    pub id: CallId,
    pub agent: AgentId,
    pub turn: TurnId,
    pub reply: MessageId,
    pub name: String,
    /// What runs or ran.
    pub arguments: Value,
    /// What the model asked for, where a person changed it.
    pub proposed: Option<Value>,
    pub blocking: bool,
    /// Who executes it.
    #[serde(default)]
    pub location: Location,
    pub state: CallState,
    /// How the policy judged it when it was made, and by which rule or grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    pub approval: Option<ApprovalId>,
    pub attempt: u32,
    pub requested_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub output: Option<Output>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalView {
    pub id: ApprovalId,
    pub world: WorldId,
    pub chat: ChatId,
    pub agent: AgentId,
    pub call: CallId,
    pub tool: String,
    /// As stored: what an approval runs.
    pub arguments: Value,
    pub working_directory: Option<String>,
    pub question: String,
    /// As shown: masked and made visible.
    pub shown: String,
    pub options: Vec<Choice>,
    pub suggestions: Vec<Suggestion>,
    /// Where in the chat it was asked; the messages before it are its context.
    pub position: Position,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<Voided>,
    /// Not a request for approval: a running tool asks for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    pub state: ApprovalState,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Decided { decision: Box<Decision>, by: Decider, at: Timestamp },
    Expired { at: Timestamp },
    Withdrawn { reason: String, at: Timestamp },
}

/// What one model call used, never more than can be summed up. A call for a title belongs to no turn and no agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    pub turn: Option<TurnId>,
    pub agent: Option<AgentId>,
    pub reply: Option<MessageId>,
    pub model: String,
    pub usage: Usage,
}

/// A chat as it is listed, and what goes on in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatView {
    pub id: ChatId,
    pub world: WorldId,
    pub title: String,
    pub named_by: Author,
    pub forked_from: Option<ForkOrigin>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub activity: Activity,
}

/// Who is at work in a chat, and on what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub busy: bool,
    pub agents: Vec<AgentActivity>,
    pub running: Vec<CallId>,
    pub waiting: Vec<ApprovalId>,
}

/// What goes on in a chat right after an event, in few words: it is kept with each event that changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    pub busy: bool,
    pub agents: Vec<AgentActivity>,
    pub running: Vec<CallId>,
    /// How many requests wait for a decision.
    pub waiting: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentActivity {
    pub agent: AgentId,
    pub doing: Doing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Thinking,
    RunningTools,
    AwaitingApproval,
    AwaitingHuman,
}

/// What one event changes in the read models, given the state right before and right after it.
pub fn rows(before: &Chat, after: &Chat, recorded: &Recorded) -> Vec<Row> {
    let position = Position { seq: recorded.seq, index: 0 };
    let mut rows = match &recorded.event {
        Event::HistoryCut { position, .. } => vec![Row::MessagesCut(*position)],
        Event::HistoryCopied { events } => copied_rows(recorded.seq, events),
        event => event_rows(before, after, event, Place { position, at: recorded.at }),
    };
    let entry = audit::entry(before, after, recorded);
    rows.extend(entry.map(|entry| Row::Audit { seq: recorded.seq, entry: Box::new(entry) }));
    if moves(&recorded.event) {
        let glance = glance(after);
        if glance != self::glance(before) {
            rows.push(Row::Glance { seq: recorded.seq, glance });
        }
    }
    rows
}

/// Whether an event can change what goes on: most of a chat's life is looked at without asking.
fn moves(event: &Event) -> bool {
    !matches!(
        event,
        Event::ChatCreated(_)
            | Event::HistoryCopied { .. }
            | Event::ChatRenamed { .. }
            | Event::TitleProposed { .. }
            | Event::NamingGivenUp { .. }
            | Event::MessagePosted(_)
            | Event::NoticePosted(_)
            | Event::GrantRevoked { .. }
            | Event::ClientToolsOffered { .. }
    )
}

fn event_rows(before: &Chat, after: &Chat, event: &Event, place: Place) -> Vec<Row> {
    match event {
        Event::MessagePosted(posted) => vec![Row::Message(message::said(&posted.message, place))],
        Event::NoticePosted(notice) => vec![Row::Message(message::notified(notice, place))],
        Event::TitleProposed { model, usage } => vec![Row::Usage(UsageView {
            turn: None,
            agent: None,
            reply: None,
            model: model.clone(),
            usage: usage.capped(),
        })],
        Event::ReplyRecorded(reply) => reply_rows(reply, place),
        Event::ToolCalled(ToolCalled { call, .. })
        | Event::ArgumentsEdited { call, .. }
        | Event::ToolStarted { call, .. }
        | Event::ToolRequeued { call } => call_row(after, call).into_iter().collect(),
        Event::ToolFinished(finished) => finished_rows(before, finished, place),
        Event::ApprovalRequested(asked) => requested_rows(after, asked, place),
        Event::ApprovalDecided(decided) => decided_rows(before, after, decided, place),
        Event::ApprovalExpired { approval } => {
            let state = ApprovalState::Expired { at: place.at };
            approval_row(before, approval, state).into_iter().collect()
        }
        Event::ApprovalWithdrawn { approval, reason } => {
            let state = ApprovalState::Withdrawn { reason: reason.clone(), at: place.at };
            approval_row(before, approval, state).into_iter().collect()
        }
        Event::GrantRevoked { grant, .. } => vec![Row::GrantRevoked(grant.clone())],
        _ => Vec::new(),
    }
}

// Copied history is folded on a chat of its own: it must leave no trace in the state of the copy.
fn copied_rows(seq: u64, events: &[Copied]) -> Vec<Row> {
    let mut scratch = Chat::unborn(ChatId::new(""));
    let mut rows = Vec::new();
    for (index, copied) in (0..).zip(events) {
        let before = scratch.clone();
        let recorded = Recorded { seq, at: copied.at, event: copied.event.clone() };
        apply(&mut scratch, &recorded);
        let place = Place { position: Position { seq, index }, at: copied.at };
        let copied = event_rows(&before, &scratch, &copied.event, place);
        // What was used was used in the other chat.
        rows.extend(copied.into_iter().filter(|row| !matches!(row, Row::Usage(_))));
    }
    rows
}

fn reply_rows(reply: &ReplyRecorded, place: Place) -> Vec<Row> {
    let usage = Row::Usage(UsageView {
        turn: Some(reply.turn.clone()),
        agent: Some(reply.agent.clone()),
        reply: Some(reply.reply.clone()),
        model: reply.model.clone(),
        usage: reply.usage.capped(),
    });
    [usage].into_iter().chain(message::replied(reply, place).map(Row::Message)).collect()
}

fn call_row(chat: &Chat, id: &CallId) -> Option<Row> {
    chat.calls.get(id).map(|call| Row::Call(call_view(call)))
}

fn call_view(call: &Call) -> CallView {
    CallView {
        proposed: call.edited.as_ref().map(|_| call.made.arguments.clone()),
        state: call.state,
        approval: call.approval.clone(),
        attempt: call.attempt,
        started_at: call.started_at,
        ended_at: call.ended_at,
        ..unstarted(&call.made, call.arguments().clone(), call.requested_at)
    }
}

/// A call right after it was made.
pub fn made(called: &ToolCalled, at: Timestamp) -> CallView {
    unstarted(called, called.arguments.clone(), at)
}

fn unstarted(called: &ToolCalled, arguments: Value, at: Timestamp) -> CallView {
    CallView {
        id: called.call.clone(),
        agent: called.agent.clone(),
        turn: called.turn.clone(),
        reply: called.reply.clone(),
        name: called.name.clone(),
        arguments,
        proposed: None,
        blocking: called.mode == Mode::Blocking,
        location: called.location,
        state: CallState::Pending,
        verdict: called.verdict.clone(),
        approval: None,
        attempt: 0,
        requested_at: at,
        started_at: None,
        ended_at: None,
        output: None,
    }
}

fn finished_rows(before: &Chat, finished: &ToolFinished, place: Place) -> Vec<Row> {
    let Some(call) = before.calls.get(&finished.call) else {
        return Vec::new();
    };
    let view = CallView {
        state: CallState::Ended(finished.outcome),
        ended_at: Some(place.at),
        output: Some(finished.output.clone()),
        ..call_view(call)
    };
    let result = message::finished(finished, &view, place);
    vec![Row::Call(view), Row::Message(result)]
}

/// The request is an object of its own and also a message whose tool call asks the client.
fn requested_rows(after: &Chat, asked: &ApprovalRequested, place: Place) -> Vec<Row> {
    let Some(call) = after.calls.get(&asked.call) else {
        return Vec::new();
    };
    let view = ApprovalView {
        id: asked.approval.clone(),
        world: after.world.clone(),
        chat: after.id.clone(),
        agent: call.made.agent.clone(),
        call: asked.call.clone(),
        tool: call.made.name.clone(),
        arguments: call.arguments().clone(),
        working_directory: call.made.working_directory.clone(),
        question: asked.question.clone(),
        shown: asked.shown.clone(),
        options: asked.options.clone(),
        suggestions: asked.suggestions.clone(),
        position: place.position,
        created_at: place.at,
        expires_at: asked.expires_at,
        binding: asked.binding.clone(),
        preview: asked.preview.clone(),
        voided: asked.voided.clone(),
        form: asked.form.clone(),
        state: ApprovalState::Pending,
    };
    let call = call_view(call);
    let message = message::requested(asked, &view, &call, place);
    vec![Row::Call(call), Row::Approval(Box::new(view)), Row::Message(message)]
}

fn decided_rows(before: &Chat, after: &Chat, decided: &ApprovalDecided, place: Place) -> Vec<Row> {
    let Some(request) = before.approvals.get(&decided.approval) else {
        return Vec::new();
    };
    let state = ApprovalState::Decided {
        decision: Box::new(decided.decision.clone()),
        by: decided.by.clone(),
        at: place.at,
    };
    let mut rows: Vec<Row> = approval_row(before, &decided.approval, state).into_iter().collect();
    rows.extend(call_row(after, &request.asked.call));
    match &decided.decision {
        Decision::Approved { scope: Permission::Session(grant), .. } => {
            rows.push(Row::Grant(grant.clone()));
        }
        Decision::Approved { scope: Permission::Always(rule), .. } => {
            rows.push(Row::Rule(rule.clone()));
        }
        _ => {}
    }
    let asked = Asked { agent: &request.agent, message: &request.asked.message };
    rows.push(Row::Message(message::decided(decided, asked, place)));
    rows
}

fn approval_row(before: &Chat, id: &ApprovalId, state: ApprovalState) -> Option<Row> {
    let request = before.approvals.get(id)?;
    let place = Place { position: request.position, at: request.at };
    requested_rows(before, &request.asked, place).into_iter().find_map(|row| match row {
        Row::Approval(view) => {
            Some(Row::Approval(Box::new(ApprovalView { state: state.clone(), ..*view })))
        }
        _ => None,
    })
}

/// A chat as it is listed.
pub fn chat_view(chat: &Chat, updated_at: Timestamp) -> ChatView {
    ChatView {
        id: chat.id.clone(),
        world: chat.world.clone(),
        title: chat.title.text.clone(),
        named_by: chat.title.author.clone(),
        forked_from: chat.forked_from.clone(),
        created_at: chat.created_at,
        updated_at,
        activity: activity(chat),
    }
}

/// Busy while any turn is open or any call unfinished, also while it waits for a person.
pub fn activity(chat: &Chat) -> Activity {
    let Glance { busy, agents, running, .. } = glance(chat);
    Activity { busy, agents, running, waiting: chat.approvals.keys().cloned().collect() }
}

/// The same in few words.
pub fn glance(chat: &Chat) -> Glance {
    let agents = chat.turns.values().map(|turn| AgentActivity {
        agent: turn.agent.clone(),
        doing: match &turn.phase {
            Phase::Starting | Phase::CallingModel { .. } => Doing::Thinking,
            Phase::AwaitingHuman { .. } => Doing::AwaitingHuman,
            Phase::RunningTools { calls, .. } => {
                let calls = calls.iter().filter_map(|id| chat.calls.get(id));
                let mut open = calls.filter(|call| !call.is_settled());
                let waits = |call: &Arc<Call>| call.state == CallState::AwaitingApproval;
                match open.next() {
                    // The reply is there, and what it says or the next call of the model follows at once.
                    None => Doing::Thinking,
                    Some(first) if waits(first) && open.all(waits) => Doing::AwaitingApproval,
                    Some(_) => Doing::RunningTools,
                }
            }
        },
    });
    Glance {
        busy: !chat.is_idle(),
        agents: agents.collect(),
        running: chat
            .calls
            .values()
            .filter(|call| call.state == CallState::Executing)
            .map(|call| call.made.call.clone())
            .collect(),
        waiting: chat.approvals.len(),
    }
}
