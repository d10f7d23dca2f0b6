//! Chats and messages through the engine: made, named, forked, posted to, taken back, stopped.
//! Part of the embedder's API. What a command is about is looked up here and comes in with it.

use agent_world_core::brought::Brought;
use agent_world_core::chain::Recorded;
use agent_world_core::chat::Chat;
use agent_world_core::command::{Command, CreateChat, Fork, MessageRef, PostMessage};
use agent_world_core::event::{Addressing, Attendance, Event, ForkOrigin, Message};
use agent_world_core::ids::{AgentId, ChatId, Ids, MessageId, WorldId};
use agent_world_core::item::Part;
use agent_world_core::sender::Sender;
use agent_world_core::view::{ChatView, MessageView};
use agent_world_core::{Timestamp, fork};
use agent_world_store::{self as store, Scope};

use super::{Engine, PAGE};
use crate::chat_task;
use crate::error::Error;
use crate::ledger::{Committed, Ledger};

/// A message to post.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub sender: Sender,
    pub user: Option<String>,
    pub text: String,
    pub parts: Vec<Part>,
    pub reply_to: Option<MessageId>,
    pub attendance: Attendance,
    /// Exactly these agents are to answer, whatever the text mentions. Absent: those it addresses.
    pub recipients: Option<Vec<AgentId>>,
    /// Makes a repetition of the request harmless.
    pub key: Option<String>,
}

/// A message that is stored.
#[derive(Clone, Debug)]
pub struct Posted {
    pub message: Message,
    /// Its position among all events; subscribing after it shows what it led to.
    pub position: u64,
    pub at: Timestamp,
    pub delivery: Delivery,
}

/// Whether a message was stored now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    First,
    /// The request was made before, under the same key; nothing was changed.
    Repeated,
}

impl NewMessage {
    /// A message from the person at the keyboard.
    pub fn human(text: impl Into<String>) -> Self {
        Self {
            sender: Sender::Human,
            user: None,
            text: text.into(),
            parts: Vec::new(),
            reply_to: None,
            attendance: Attendance::Attended,
            recipients: None,
            key: None,
        }
    }
}

impl Engine {
    pub async fn create_chat(
        &self,
        world: &WorldId,
        title: Option<String>,
        by: &str,
    ) -> Result<ChatView, Error> {
        let create = CreateChat { world: world.clone(), title, by: by.to_owned(), fork: None };
        self.create(create).await
    }

    /// A new chat with the history up to a message. Nothing in it runs again, and no permission comes along.
    pub async fn fork(
        &self,
        chat: &ChatId,
        message: &MessageId,
        by: &str,
    ) -> Result<ChatView, Error> {
        let target = self.message_ref(chat, message).await?;
        let world = self.chat(chat).await?.world;
        let history = fork::history_until(&self.log(chat).await?, target.position);
        let origin = ForkOrigin { chat: chat.clone(), message: message.clone() };
        let fork = Some(Fork { origin: Some(origin), history });
        self.create(CreateChat { world, title: None, by: by.to_owned(), fork }).await
    }

    /// A new chat that begins with a conversation which a client kept itself. Nothing in it runs.
    pub async fn create_chat_from(
        &self,
        world: &WorldId,
        brought: Brought,
        by: &str,
    ) -> Result<ChatView, Error> {
        let environment = &self.shared.environment;
        let mut ids = Ids::new(environment.now(), environment.entropy());
        let history = brought.history(environment.now(), &mut ids);
        let fork = Some(Fork { origin: None, history });
        let create = CreateChat { world: world.clone(), title: None, by: by.to_owned(), fork };
        self.create(create).await
    }

    async fn create(&self, create: CreateChat) -> Result<ChatView, Error> {
        let environment = &self.shared.environment;
        let chat = ChatId::next(&mut Ids::new(environment.now(), environment.entropy()));
        self.world(&create.world).await?;
        self.input(&chat, Command::CreateChat(create), None).await?;
        self.chat(&chat).await
    }

    pub async fn chat(&self, id: &ChatId) -> Result<ChatView, Error> {
        self.shared.store.chat(id).await?.ok_or_else(|| Error::UnknownChat(id.clone()))
    }

    /// The world of a chat. Of one that is active here the store need not be asked.
    pub async fn world_of(&self, id: &ChatId) -> Result<WorldId, Error> {
        match chat_task::world_of(&self.shared, id) {
            Some(world) => Ok(world),
            None => self.chat(id).await.map(|chat| chat.world),
        }
    }

    /// What is under way in a chat: the fold of its log as it is now. Whoever follows the chat can go on with it.
    pub async fn state(&self, chat: &ChatId) -> Result<Chat, Error> {
        let loaded = Ledger::load(self.shared.store.as_ref(), chat).await?;
        loaded.map(|ledger| ledger.chat).ok_or_else(|| Error::UnknownChat(chat.clone()))
    }

    pub async fn rename_chat(&self, chat: &ChatId, title: &str, by: &str) -> Result<(), Error> {
        let (title, by) = (title.to_owned(), by.to_owned());
        self.input(chat, Command::RenameChat { title, by }, None).await.map(drop)
    }

    pub async fn delete_chat(&self, chat: &ChatId, by: &str) -> Result<(), Error> {
        self.input(chat, Command::DeleteChat { by: by.to_owned() }, None).await.map(drop)
    }

    /// Cancels model calls, ends running tools, withdraws what waits: of one agent, or of the whole chat.
    pub async fn stop(&self, chat: &ChatId, agent: Option<AgentId>, by: &str) -> Result<(), Error> {
        self.input(chat, Command::Stop { agent, by: by.to_owned() }, None).await.map(drop)
    }

    /// Takes failed turns up again.
    pub async fn retry(&self, chat: &ChatId, agent: Option<AgentId>) -> Result<(), Error> {
        self.input(chat, Command::RetryTurns { agent }, None).await.map(drop)
    }

    /// Returns once the message is durable. What it leads to comes on a subscription.
    pub async fn post(&self, chat: &ChatId, message: NewMessage) -> Result<Posted, Error> {
        let command = Command::PostMessage(PostMessage {
            sender: message.sender,
            user: message.user,
            text: message.text,
            parts: message.parts,
            reply_to: message.reply_to,
            attendance: message.attendance,
            recipients: message.recipients,
        });
        let committed = self.input(chat, command, message.key).await?;
        posted(committed)
    }

    /// Takes a human message and everything after it back, and posts a new text in its place. `user`: as a message is posted.
    pub async fn edit_message(
        &self,
        chat: &ChatId,
        message: &MessageId,
        text: &str,
        user: Option<String>,
        by: &str,
    ) -> Result<Posted, Error> {
        let target = self.message_ref(chat, message).await?;
        let target = self.as_posted(chat, target).await?;
        let (text, by) = (text.to_owned(), by.to_owned());
        let edit = Command::EditMessage { target, text, user, by };
        posted(self.input(chat, edit, None).await?)
    }

    pub async fn delete_message(
        &self,
        chat: &ChatId,
        message: &MessageId,
        by: &str,
    ) -> Result<(), Error> {
        let target = self.message_ref(chat, message).await?;
        self.input(chat, Command::DeleteMessage { target, by: by.to_owned() }, None).await.map(drop)
    }

    async fn message_ref(&self, chat: &ChatId, message: &MessageId) -> Result<MessageRef, Error> {
        let found = self.shared.store.message(chat, message).await?;
        let view = found.ok_or_else(|| Error::UnknownMessage {
            chat: chat.clone(),
            message: message.clone(),
        })?;
        let MessageView { id, position, sender, parts, reply_to, .. } = view;
        let attendance = Attendance::Attended;
        Ok(MessageRef { id, position, sender, parts, reply_to, attendance, recipients: None })
    }

    /// With what only the event says that posted it: whom it was for, and whether somebody could be asked. A new text
    /// in its place goes the same way.
    async fn as_posted(&self, chat: &ChatId, target: MessageRef) -> Result<MessageRef, Error> {
        let before = target.position.seq.saturating_sub(1);
        let found = self.shared.store.log(chat, before, 1).await?;
        let Some(stored) = found.into_iter().next() else {
            return Ok(target);
        };
        let event = match stored.sealed.open().map_err(store::Error::from)?.event {
            Event::HistoryCopied { events } => {
                let index = usize::try_from(target.position.index).unwrap_or(usize::MAX);
                events.into_iter().nth(index).map(|copied| copied.event)
            }
            event => Some(event),
        };
        Ok(match event {
            Some(Event::MessagePosted(posted)) => MessageRef {
                attendance: posted.attendance,
                recipients: (posted.addressing == Addressing::Named).then_some(posted.recipients),
                ..target
            },
            _ => target,
        })
    }

    async fn log(&self, chat: &ChatId) -> Result<Vec<Recorded>, Error> {
        let scope = Scope::Chat(chat.clone());
        let mut log = Vec::new();
        let mut after = 0;
        loop {
            let page = self.shared.store.events(&scope, after, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(log);
            };
            after = last.position;
            for event in &page {
                log.push(event.sealed.open().map_err(store::Error::from)?);
            }
        }
    }
}

fn posted(committed: Committed) -> Result<Posted, Error> {
    // Events of one append have neighbouring positions, the last one's is known. The message itself comes first.
    let positions = (0..=committed.position.unwrap_or_default()).rev();
    let said = positions.zip(committed.events.iter().rev());
    // What is only recalled changes nothing that can be looked up; a message that is stored always does.
    let delivery = if committed.rows.is_empty() { Delivery::Repeated } else { Delivery::First };
    let message = said
        .filter_map(|(position, recorded)| match &recorded.event {
            Event::MessagePosted(posted) => Some(Posted {
                message: posted.message.clone(),
                position,
                at: recorded.at,
                delivery,
            }),
            _ => None,
        })
        .last();
    match message {
        Some(posted) => Ok(posted),
        None => Err(Error::Store(store::Error::Corrupt("a post left no message".to_owned()))),
    }
}
