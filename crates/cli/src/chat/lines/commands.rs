//! What can be said to the program itself in a conversation of lines: those that begin with a slash.
//! Used by `lines`.

use agent_world_client::Error;
use agent_world_client::Path;
use agent_world_client::wire::{Approval, Chat};
use agent_world_terminal::chat::commands::{self, Command, Line};
use agent_world_terminal::permissions;
use anyhow::Result;
use serde_json::{Value, json};

use super::Conversation;
use crate::chat::opening;
use crate::phrases::wish;
use crate::place;
use crate::screen::Tone;
use crate::words;

const HELP: &str = "\
A line is a message to the main agent; begin it with @bob to speak to bob, or @ada @bob to both.
/approvals  what waits for you; asks again about what you put off
/agents     the agents of this world
/stop       stops the agents of this chat, or one of them, and withdraws what waits (so does Ctrl-C while they work)
/retry      takes a failed turn up again
/new        starts a new chat
/chats      the chats of this world
/switch ID  goes to another chat
/title TEXT names this chat
/quit       leaves (so do Ctrl-D, and Ctrl-C when nothing is under way)
//text      says “/text”
/policy     what agents may do here, and what you permitted for this chat
When an approval is asked: o runs this call; s 1 lets the agent make the calls with that number for the rest of the
chat, a 1 always in this world, and s t or a t every call of the tool; e runs it once with other arguments; d denies
it, with a reason the agent is told; l leaves it waiting.";

impl Conversation {
    pub(super) async fn command(&mut self, line: &str) -> Result<()> {
        match commands::read(line) {
            Line::Command(command) => self.obey(command).await,
            Line::Missing(usage) => self.note(Tone::Warning, &format!("say {usage}")),
            Line::Message(text) => self.post(&text).await,
            Line::Unknown(word) => {
                let text =
                    format!("there is no command {word}; /help lists them, //text says “/text”");
                self.note(Tone::Warning, &text)
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Help => self.note(Tone::Plain, HELP),
            Command::Agents => self.list_agents(),
            Command::Approvals => self.list_approvals().await,
            Command::Stop(agent) => {
                let of = agent.map_or_else(|| json!({}), |agent| json!({ "agent_id": agent }));
                let stopped = self.client().post::<Value>(self.path().then("stop"), &of).await;
                self.tell_refusal(stopped)
            }
            Command::Retry => {
                let retried =
                    self.client().post::<Value>(self.path().then("retry"), &json!({})).await;
                self.tell_refusal(retried)
            }
            Command::Title(title) => {
                let named =
                    self.client().patch::<Value>(self.path(), &json!({ "title": title })).await;
                self.tell_refusal(named)
            }
            Command::New => {
                let chat = place::new_chat(self.client(), &self.place.world.id).await?;
                self.move_to(chat).await
            }
            Command::Switch(id) => {
                let path = place::path(&self.place.world.id).then("chats").then(&id);
                match self.client().get::<Chat>(path).await {
                    Ok(chat) => self.move_to(chat).await,
                    Err(error) => self.note(Tone::Warning, &format!("! {error}")),
                }
            }
            Command::Chats => self.list_chats().await,
            Command::Quit => self.leave(),
            Command::Policy => {
                let (client, world, chat) = self.whereabouts();
                for line in permissions::lines(&client, &world, &chat).await? {
                    self.note(Tone::Plain, &line)?;
                }
                Ok(())
            }
            Command::Edit | Command::Fork => {
                self.note(Tone::Warning, "that is there on a terminal only")
            }
        }
    }

    fn tell_refusal(&mut self, result: Result<Value, Error>) -> Result<()> {
        match result {
            Err(refused @ Error::Refused(_)) => self.note(Tone::Warning, &format!("! {refused}")),
            result => Ok(result.map(drop)?),
        }
    }

    fn list_agents(&mut self) -> Result<()> {
        let world = self.place.world.clone();
        for agent in &world.agents {
            let model = agent.model.as_deref().or(world.default_model.as_deref());
            let text = format!("@{}  {} ({})", agent.id, agent.name, model.unwrap_or("no model"));
            self.note(Tone::Plain, &text)?;
        }
        Ok(())
    }

    async fn list_approvals(&mut self) -> Result<()> {
        let path = Path::new("/api/approvals").with("state", "pending");
        let all: Vec<Approval> = self.client().all(path).await?;
        if all.is_empty() {
            return self.note(Tone::Quiet, "nothing is waiting for approval");
        }
        for approval in &all {
            let here = match approval.chat_id == self.place.chat.id {
                true => "here".to_owned(),
                false => format!("in {} {}", approval.world_id, approval.chat_id),
            };
            let text = format!("{} {here}: {}", approval.id, wish(approval));
            self.note(Tone::Plain, &text)?;
        }
        for approval in all.into_iter().filter(|one| one.chat_id != self.place.chat.id) {
            let place = format!("{} of {}", approval.chat_id, approval.world_id);
            self.questions.add_of(approval, place);
        }
        self.questions.ask_all_again();
        Ok(())
    }

    async fn list_chats(&mut self) -> Result<()> {
        let path = place::path(&self.place.world.id).then("chats").with("limit", "1000");
        let chats: Vec<Chat> = self.client().all(path).await?;
        for chat in &chats {
            let mark = if chat.id == self.place.chat.id { "*" } else { " " };
            let waiting = match chat.activity.waiting_approvals {
                0 => String::new(),
                number => format!(", {} waiting", words::count(number, "approval")),
            };
            self.note(Tone::Plain, &format!("{mark} {}  {}{waiting}", chat.id, chat.title))?;
        }
        Ok(self.screen.hint(Tone::Quiet, "`agent-world chat -c ID` opens one")?)
    }

    async fn move_to(&mut self, chat: Chat) -> Result<()> {
        self.place.chat = chat;
        self.place.is_first_use = false;
        let opening = opening::enter(&self.connection, &self.place, &mut self.screen).await?;
        self.following = opening.following;
        self.activity = opening.activity;
        self.questions = opening.questions;
        // What is still to be heard of in the chat that was left is not heard here.
        self.own_messages.clear();
        self.own_decisions.clear();
        Ok(())
    }
}
