//! What can be said to the program itself at the prompt of a conversation: the lines that begin with a slash.
//! Used by `chat`.

use agent_world_core::ids::ChatId;
use agent_world_runtime::Error;
use agent_world_store::ApprovalFilter;
use anyhow::Result;

use super::Conversation;
use super::question::Questions;
use super::voices::Voices;
use crate::place;
use crate::screen::Tone;
use crate::setup::who;
use crate::{words, work};

const HELP: &str = "\
A line is a message to the world's main agent, or to all agents where it has none; begin it with @bob to speak to bob
alone, or with @ada @bob to both.
/approvals  what waits for you; asks again about what you put off
/stop       stops the agents of this chat and withdraws what waits (so does Ctrl-C while they work)
/retry      takes a failed turn up again
/new        starts a new chat
/chats      the chats of this world
/quit       leaves (so do Ctrl-D, and Ctrl-C when nothing is under way)
//text      says “/text”
When an approval is asked: o runs this call; s lets the agent use this tool for the rest of the chat; a always in
this world; s 1 or a 1 do so only for the calls with that number, and 1 is short for s 1; e runs it once with other
arguments; d denies it, with a reason the agent is told; l leaves it waiting.";

impl Conversation {
    pub(super) async fn command(&mut self, line: &str) -> Result<()> {
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "/help" | "/?" => self.note(Tone::Plain, HELP),
            "/approvals" => self.list_approvals().await,
            "/stop" => {
                let stopped = self.session.engine.stop(&self.chat(), None, &who()).await;
                self.tell_refusal(stopped)
            }
            "/retry" => {
                let retried = self.session.engine.retry(&self.chat(), None).await;
                self.tell_refusal(retried)
            }
            "/new" => {
                let world = self.place.world.id.clone();
                let chat = self.session.engine.create_chat(&world, None, &who()).await?;
                self.move_to(chat.id).await
            }
            "/chats" => self.list_chats().await,
            "/quit" | "/exit" => {
                let standing = work::standing(self.session.store(), &self.chat()).await?;
                self.leave(&standing)
            }
            unknown => {
                let text =
                    format!("there is no command {unknown}; /help lists them, //text says “/text”");
                self.note(Tone::Warning, &text)
            }
        }
    }

    fn tell_refusal(&mut self, result: Result<(), Error>) -> Result<()> {
        match result {
            Err(Error::Rejected(rejection)) => self.note(Tone::Warning, &format!("! {rejection}")),
            result => Ok(result?),
        }
    }

    async fn list_approvals(&mut self) -> Result<()> {
        let all = work::pending(self.session.store(), ApprovalFilter::default()).await?;
        if all.is_empty() {
            return self.note(Tone::Quiet, "nothing is waiting for approval");
        }
        let chat = self.chat();
        for view in &all {
            let here = match view.chat == chat {
                true => "here".to_owned(),
                false => format!("in {} {}", view.world, view.chat),
            };
            let text = format!("{} {here}: {}", view.id, words::wish(view));
            self.note(Tone::Plain, &text)?;
        }
        self.questions.ask_all_again();
        Ok(())
    }

    async fn list_chats(&mut self) -> Result<()> {
        let chats = place::all_chats(self.session.store(), &self.place.world.id).await?;
        let here = self.chat();
        for chat in &chats {
            let mark = if chat.id == here { "*" } else { " " };
            let waiting = match chat.activity.waiting.len() {
                0 => String::new(),
                number => format!(", {} waiting", words::count(number, "approval")),
            };
            self.note(Tone::Plain, &format!("{mark} {}  {}{waiting}", chat.id, chat.title))?;
        }
        self.note(Tone::Quiet, "`agent-world chat -c ID` opens one")
    }

    async fn move_to(&mut self, chat: ChatId) -> Result<()> {
        self.place.chat = self.session.engine.chat(&chat).await?;
        self.questions = Questions::default();
        self.voices = Voices::default();
        self.enter().await
    }
}
