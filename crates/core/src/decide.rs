//! Decides what a command makes happen: events, or a rejection.
//! Called by the runtime for everything that changes a chat. Never performs anything; see `outstanding`.

mod approval;
mod form;
mod history;
mod message;
mod offer;
mod stop;
mod tool;
mod turn;

use crate::Timestamp;
use crate::apply::apply;
use crate::chain::Recorded;
use crate::chat::{Chat, Life};
use crate::command::{Command, Input, Rejection};
use crate::config::Rules;
use crate::event::Event;
use crate::ids::Ids;

/// The events a command causes in a chat, under the world's present settings.
pub fn decide(chat: &Chat, rules: Rules<'_>, input: Input) -> Result<Vec<Event>, Rejection> {
    let mut draft = Draft {
        chat: chat.clone(),
        rules,
        at: input.at,
        ids: Ids::new(input.at, input.entropy),
        events: Vec::new(),
    };
    match (&input.command, chat.life) {
        (Command::CreateChat(_), Life::Unborn) | (_, Life::Living) => {}
        (_, Life::Unborn) => return Err(Rejection::NoChat),
        (_, Life::Deleted) => return Err(Rejection::ChatDeleted),
    }
    draft.handle(input.command)?;
    Ok(draft.events)
}

/// A copy of the chat on which events are tried as they are decided, so that each decision sees the ones before it.
struct Draft<'a> {
    chat: Chat,
    rules: Rules<'a>,
    at: Timestamp,
    ids: Ids,
    events: Vec<Event>,
}

impl Draft<'_> {
    fn handle(&mut self, command: Command) -> Result<(), Rejection> {
        match command {
            Command::CreateChat(create) => self.create_chat(create),
            Command::RenameChat { title, by } => self.rename_chat(title, by),
            Command::DeleteChat { by } => self.delete_chat(by),
            Command::PostMessage(post) => self.post_message(post),
            Command::EditMessage { target, text, user, by } => {
                self.edit_message(target, text, user, by)
            }
            Command::DeleteMessage { target, by } => self.delete_message(&target, by),
            Command::Stop { agent, by } => self.stop(agent, by),
            Command::RetryTurns { agent } => self.retry_turns(agent),

            Command::AnswerApproval(answer) => self.answer_approval(answer),
            Command::RevokeGrant { grant, by } => self.revoke_grant(grant, by),
            Command::ReviewApprovals => self.review_approvals(),
            Command::ExpireApprovals => self.expire_approvals(),

            Command::RecordReply { turn, reply, model, answer, looks } => {
                self.record_reply(turn, reply, model, answer, looks)
            }
            Command::RecordModelFailure { turn, reply, error } => {
                self.record_model_failure(turn, reply, error)
            }
            Command::StartTool { call, look } => self.start_tool(call, look),
            Command::RecordToolResult { call, attempt, result } => {
                self.record_tool_result(call, attempt, result)
            }
            Command::RecordLostTool { call } => self.record_lost_tool(call),
            Command::AskPerson { call, attempt, question, form } => {
                self.ask_person(call, attempt, question, form)
            }
            Command::OfferTools { client, tools, by } => self.offer_tools(client, tools, by),
            Command::RecordClientResult { call, output, is_error } => {
                self.record_client_result(call, output, is_error)
            }
            Command::RecordTitle { proposal } => self.record_title(proposal),
        }
    }

    fn emit(&mut self, event: Event) {
        let recorded = Recorded { seq: self.chat.head + 1, at: self.at, event };
        apply(&mut self.chat, &recorded);
        self.events.push(recorded.event);
    }
}
