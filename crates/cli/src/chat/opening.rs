//! What a person sees on entering a chat and on leaving it: where they are, what was said, what waits.
//! Used by `chat`. Shows what is stored; changes nothing.

use agent_world_core::view::{MessageRole, MessageView};
use agent_world_store::{ApprovalFilter, MessagePage, Scope};
use anyhow::Result;

use super::Conversation;
use crate::exit::Exit;
use crate::screen::Tone;
use crate::{words, work};

/// Messages shown on entering, and lines of each.
const EARLIER: usize = 10;
/// Messages read for that: most may be calls and results, which are not shown.
const READ: usize = 100;
const EARLIER_LINES: usize = 12;

impl Conversation {
    /// Follows the chat from its present state on, and shows that state.
    pub(super) async fn enter(&mut self) -> Result<()> {
        let chat = self.chat();
        let position = self.session.store().position().await?;
        self.subscription = self.session.engine.subscribe(Scope::Chat(chat.clone()), position);
        let standing = work::standing(self.session.store(), &chat).await?;
        self.seen = standing.head;
        self.introduce()?;
        // Somebody else may be writing: what came after this moment comes as an event.
        let page = MessagePage::Before(None, READ);
        let earlier = self.session.store().messages(&chat, page).await?;
        let shown: Vec<&MessageView> = earlier
            .iter()
            .filter(|message| message.position.seq <= standing.head && is_said(message))
            .collect();
        let skipped = shown.len().saturating_sub(EARLIER);
        for message in shown.into_iter().skip(skipped) {
            let text = words::first_lines(&message.text, EARLIER_LINES);
            self.screen.said(message.sender.as_str(), &text)?;
        }
        for id in &standing.waiting {
            self.questions.add(self.session.engine.approval(id).await?);
        }
        if !standing.waiting.is_empty() {
            let waiting = words::count(standing.waiting.len(), "approval");
            self.note(Tone::Question, &format!("{waiting} still waiting here"))?;
        }
        self.mention_others().await
    }

    fn introduce(&mut self) -> Result<()> {
        let world = &self.place.world;
        if self.place.is_first_use {
            let text = "This is your first visit: a world called `demo` was made for you, with two agents on the \
                        built-in demo model.";
            self.screen.line(Tone::Plain, text)?;
            self.place.is_first_use = false;
        }
        let agents: Vec<String> = world
            .agents
            .iter()
            .map(|agent| format!("@{} ({})", agent.id, world.model_of(agent).unwrap_or("no model")))
            .collect();
        let title = &self.place.chat.title;
        let text = format!("{}, chat “{title}”, with {}", world.name, agents.join(", "));
        self.screen.line(Tone::Quiet, &text)?;
        let text = match self.session.is_visitor() {
            true => {
                "Another agent-world process is running and does the work. /help explains, /quit leaves."
            }
            false => "/help explains, /quit leaves.",
        };
        Ok(self.screen.line(Tone::Quiet, text)?)
    }

    /// Requests elsewhere are not this conversation's, but somebody should know of them.
    async fn mention_others(&mut self) -> Result<()> {
        let all = work::pending(self.session.store(), ApprovalFilter::default()).await?;
        let chat = self.chat();
        let elsewhere = all.iter().filter(|view| view.chat != chat).count();
        if elsewhere > 0 {
            let waiting = words::count(elsewhere, "approval");
            let text = format!("{waiting} waiting in other chats: `agent-world approvals list`");
            self.note(Tone::Quiet, &text)?;
        }
        Ok(())
    }

    /// Says what goes on waiting, and how to come back.
    pub(super) async fn say_goodbye(&mut self) -> Result<Exit> {
        self.screen.fresh_line()?;
        let (world, chat) = (self.place.world.id.clone(), self.chat());
        let filter = ApprovalFilter { chat: Some(chat.clone()), ..ApprovalFilter::default() };
        let waiting = work::pending(self.session.store(), filter).await?.len();
        if waiting == 0 {
            return Ok(Exit::Done);
        }
        let waiting = words::count(waiting, "approval");
        let text = format!(
            "{waiting} still waiting. Come back with `agent-world chat -w {world} -c {chat}`,\n\
             or decide with `agent-world approvals list`, then `agent-world resume`."
        );
        self.screen.line(Tone::Question, &text)?;
        Ok(Exit::Waiting)
    }
}

/// Said by somebody, or a notice; not a call, a request or a result.
fn is_said(message: &MessageView) -> bool {
    message.role != MessageRole::Tool && message.tool_calls.is_empty()
}
