//! Decides what a message is, of the event that makes it: said, made of tool calls, a tool's result, a request, an
//! answer, or a notice.
//! Called for the read models and by whoever tells of an event when it is long past: what is given here besides the
//! event never changes afterwards, so a message is the same whenever it is made. Never looks anything up.

use serde_json::{Value, json};

use super::{ApprovalView, CallView, MessageRole, MessageView, REQUEST_APPROVAL, ToolCallRef};
use crate::Timestamp;
use crate::display;
use crate::event::{
    ApprovalDecided, ApprovalRequested, Decision, Message, NoticePosted, Permission, Position,
    ReplyRecorded, ToolFinished,
};
use crate::ids::{AgentId, MessageId};
use crate::item::Reply;
use crate::sender::Sender;

/// Where and when something stands in a chat.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub position: Position,
    pub at: Timestamp,
}

/// What an answer is an answer to.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub agent: &'a AgentId,
    /// The message that asked.
    pub message: &'a MessageId,
}

pub fn said(message: &Message, place: Place) -> MessageView {
    let (role, agent) = match &message.sender {
        Sender::Human | Sender::World => (MessageRole::User, None),
        Sender::System => (MessageRole::System, None),
        Sender::Agent(agent) => (MessageRole::Assistant, Some(agent.clone())),
    };
    MessageView {
        user: message.user.clone(),
        turn: message.turn.clone(),
        parts: message.parts.clone(),
        reply_to: message.reply_to.clone(),
        usage: message.usage,
        ..blank(&message.id, role, message.sender.clone(), agent, &message.text, place)
    }
}

pub fn notified(notice: &NoticePosted, place: Place) -> MessageView {
    let agent = notice.agent.clone();
    MessageView {
        reply_to: notice.about.clone(),
        ..blank(&notice.id, MessageRole::System, Sender::System, agent, &notice.text, place)
    }
}

/// A reply that calls tools is a message of its own; one that only speaks becomes one when it is posted.
pub fn replied(reply: &ReplyRecorded, place: Place) -> Option<MessageView> {
    if reply.calls.is_empty() {
        return None;
    }
    let answer =
        Reply { items: reply.items.clone(), usage: reply.usage, finish: reply.finish.clone() };
    let tool_calls = answer
        .calls()
        .zip(&reply.calls)
        .map(|(call, id)| ToolCallRef {
            id: id.to_string(),
            name: call.name.clone(),
            arguments: Value::String(call.arguments.clone()),
        })
        .collect();
    let sender = Sender::Agent(reply.agent.clone());
    let agent = Some(reply.agent.clone());
    Some(MessageView {
        turn: Some(reply.turn.clone()),
        tool_calls,
        usage: Some(reply.usage),
        ..blank(&reply.reply, MessageRole::Assistant, sender, agent, &answer.spoken(), place)
    })
}

/// A tool's result. Of the call, only what it was made with counts.
pub fn finished(finished: &ToolFinished, call: &CallView, place: Place) -> MessageView {
    let agent = Some(call.agent.clone());
    let text = &finished.output.text;
    MessageView {
        turn: Some(call.turn.clone()),
        tool_call: Some(finished.call.to_string()),
        reply_to: Some(call.reply.clone()),
        ..blank(&finished.message, MessageRole::Tool, Sender::System, agent, text, place)
    }
}

/// A request is an object of its own and also a message whose tool call asks the client. Of the call, only what it was
/// made with counts; its arguments at that moment are the request's.
pub fn requested(
    asked: &ApprovalRequested,
    approval: &ApprovalView,
    call: &CallView,
    place: Place,
) -> MessageView {
    let request = ToolCallRef {
        id: asked.approval.to_string(),
        name: REQUEST_APPROVAL.to_owned(),
        arguments: json!({
            "originalToolCall": {
                "id": asked.call,
                "name": approval.tool,
                "args": display::mask_secrets(&approval.arguments),
                "workingDirectory": approval.working_directory,
            },
            "message": asked.question,
            "options": asked.options,
        }),
    };
    let sender = Sender::Agent(approval.agent.clone());
    let agent = Some(approval.agent.clone());
    MessageView {
        turn: Some(call.turn.clone()),
        tool_calls: vec![request],
        reply_to: Some(call.reply.clone()),
        ..blank(&asked.message, MessageRole::Assistant, sender, agent, &asked.question, place)
    }
}

pub fn decided(decided: &ApprovalDecided, asked: Asked<'_>, place: Place) -> MessageView {
    let agent = Some(asked.agent.clone());
    let text = answer_text(&decided.decision);
    MessageView {
        tool_call: Some(decided.approval.to_string()),
        reply_to: Some(asked.message.clone()),
        ..blank(&decided.message, MessageRole::Tool, Sender::Human, agent, &text, place)
    }
}

fn answer_text(decision: &Decision) -> String {
    match decision {
        Decision::Approved { scope: Permission::Once, .. } => "approve_once".to_owned(),
        Decision::Approved { scope: Permission::Session(_), .. } => "approve_session".to_owned(),
        Decision::Approved { scope: Permission::Always(_), .. } => "approve_always".to_owned(),
        Decision::Answered { content } => display::compact(content),
        Decision::Denied { reason: None } => "deny".to_owned(),
        Decision::Denied { reason: Some(reason) } => format!("deny: {reason}"),
    }
}

fn blank(
    id: &MessageId,
    role: MessageRole,
    sender: Sender,
    agent: Option<AgentId>,
    text: &str,
    place: Place,
) -> MessageView {
    MessageView {
        id: id.clone(),
        position: place.position,
        role,
        sender,
        user: None,
        agent,
        turn: None,
        text: text.to_owned(),
        parts: Vec::new(),
        tool_calls: Vec::new(),
        tool_call: None,
        reply_to: None,
        usage: None,
        at: place.at,
    }
}
