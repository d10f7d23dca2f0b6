//! Decides who answers a message, and what naming a chat means.
//! Called by `decide`. Every message goes through `say`, or to exactly those it was posted for. Never calls a model.

use crate::chat::Naming;
use crate::command::{PostMessage, Rejection, TitleProposal};
use crate::event::{
    Addressing, Attendance, Author, Event, Message, MessagePosted, NoticeCode, NoticePosted,
};
use crate::ids::{AgentId, MessageId};
use crate::mention;
use crate::nesting;
use crate::sender::Sender;
use crate::title;

use super::Draft;

impl Draft<'_> {
    pub(super) fn post_message(&mut self, post: PostMessage) -> Result<(), Rejection> {
        if post.text.trim().is_empty() && post.parts.is_empty() {
            return Err(Rejection::EmptyMessage);
        }
        if nesting::is_too_deep(&post.parts) {
            return Err(Rejection::TooDeep);
        }
        let recipients = self.check_recipients(&post.sender, post.recipients.as_deref())?;
        let message = Message {
            id: MessageId::next(&mut self.ids),
            sender: post.sender,
            user: post.user,
            text: post.text,
            parts: post.parts,
            reply_to: post.reply_to,
            turn: None,
            usage: None,
        };
        self.route(message, recipients, post.attendance);
        Ok(())
    }

    /// To exactly those it was posted for, where it names them; otherwise to those its text addresses.
    pub(super) fn route(
        &mut self,
        message: Message,
        named: Option<Vec<AgentId>>,
        attendance: Attendance,
    ) {
        match named {
            Some(named) => self.deliver(message, named, attendance, Addressing::Named),
            None => self.say(message, attendance),
        }
    }

    /// Those a message names apart from its text: agents of this world, each once, and never its sender.
    pub(super) fn check_recipients(
        &self,
        sender: &Sender,
        named: Option<&[AgentId]>,
    ) -> Result<Option<Vec<AgentId>>, Rejection> {
        let Some(named) = named else {
            return Ok(None);
        };
        let mut recipients: Vec<AgentId> = Vec::new();
        for agent in named {
            if self.rules.world.agent(agent).is_none() {
                return Err(Rejection::UnknownAgent(agent.clone()));
            }
            let is_sender = matches!(sender, Sender::Agent(sender) if sender == agent);
            if !is_sender && !recipients.contains(agent) {
                recipients.push(agent.clone());
            }
        }
        Ok(Some(recipients))
    }

    /// The way in for every message that does not name its recipients: routes it and starts the turns it causes.
    pub(super) fn say(&mut self, message: Message, attendance: Attendance) {
        let world = self.rules.world;
        let main_agent = world.main_agent.as_ref();
        let route = mention::route(&message.sender, &message.text, &world.roster(), main_agent);
        let about = message.id.clone();
        let expects_answer = matches!(message.sender, Sender::Human | Sender::World);
        self.deliver(message, route.recipients().to_vec(), attendance, Addressing::ByText);
        if let Some(text) = route.notice() {
            self.notice(NoticeCode::NobodyAddressed, text, None, Some(about));
        } else if expects_answer && world.agents.is_empty() {
            let text = "this world has no agents, so nobody answers; add one first".to_owned();
            self.notice(NoticeCode::NoAgents, text, None, Some(about));
        }
    }

    fn deliver(
        &mut self,
        message: Message,
        recipients: Vec<AgentId>,
        attendance: Attendance,
        addressing: Addressing,
    ) {
        let posted =
            MessagePosted { message, recipients: recipients.clone(), attendance, addressing };
        self.emit(Event::MessagePosted(posted));
        for agent in recipients {
            self.attend(&agent);
        }
    }

    pub(super) fn notice(
        &mut self,
        code: NoticeCode,
        text: String,
        agent: Option<AgentId>,
        about: Option<MessageId>,
    ) {
        let id = MessageId::next(&mut self.ids);
        self.emit(Event::NoticePosted(NoticePosted { id, code, text, agent, about }));
    }

    pub(super) fn rename_chat(&mut self, title: String, by: String) -> Result<(), Rejection> {
        let title = title.trim().to_owned();
        if title.is_empty() {
            return Err(Rejection::EmptyTitle);
        }
        self.emit(Event::ChatRenamed { title, by: Author::Person(by) });
        Ok(())
    }

    /// While the model was thinking, a person may have named the chat, or taken back the words the title is made of.
    pub(super) fn record_title(
        &mut self,
        proposal: Result<TitleProposal, String>,
    ) -> Result<(), Rejection> {
        if self.chat.title.naming != Naming::Due {
            return Err(Rejection::Stale("the naming of the chat".to_owned()));
        }
        let about = self.chat.title.about.clone();
        let from_message = || about.as_deref().and_then(title::from_message);
        match proposal {
            Ok(TitleProposal { text, model, usage }) => {
                self.emit(Event::TitleProposed { model, usage });
                match title::clean(&text).or_else(from_message) {
                    Some(title) => self.emit(Event::ChatRenamed { title, by: Author::Model }),
                    None => self.emit(Event::NamingGivenUp {
                        reason: "the model proposed no usable title".to_owned(),
                    }),
                }
            }
            Err(reason) => self.emit(Event::NamingGivenUp { reason }),
        }
        Ok(())
    }
}
