//! What comes of what the person entered: a message, a changed message or a command.
//! Part of `state`.

use agent_world_core::display::reveal_line;

use super::{Sending, State};
use crate::chat::address;
use crate::chat::commands::{self, Command, Line};
use crate::chat::effect::{Effect, Which};
use crate::chat::flow::is_person;
use crate::conversation::{Entry, Said};

impl State {
    pub(super) fn entered(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = vec![Effect::Remember(text.to_owned())];
        self.recalled = None;
        match (commands::read(text), self.editing.take()) {
            (Line::Message(text), Some(message)) => effects.push(Effect::Edit { message, text }),
            (Line::Message(text), None) => effects.push(self.post(&text)),
            (Line::Command(command), _) => effects.extend(self.command(command)),
            (Line::Missing(usage), _) => self.warn(&format!("say {usage}")),
            (Line::Unknown(word), _) => self.warn(&format!(
                "there is no command {}; /help lists them, //text says “/text”",
                reveal_line(&word)
            )),
        }
        effects
    }

    fn post(&mut self, text: &str) -> Effect {
        let text = match &self.agent {
            Some(agent) if !text.starts_with('@') => format!("@{agent} {text}"),
            _ => text.to_owned(),
        };
        if let Some(told) = address::of_strangers(&self.conversation.world, &text) {
            self.out.push(ratatui::text::Line::default());
            self.note(&told);
        }
        self.number += 1;
        let number = self.number;
        let new = || format!("chat-{:016x}-{number}", self.nonce);
        let key = self.unsure.remove(&text).unwrap_or_else(new);
        self.sending.push(Sending { number, text: text.clone(), key: key.clone() });
        Effect::Post { number, text, key }
    }

    fn command(&mut self, command: Command) -> Option<Effect> {
        match command {
            Command::Help => {
                self.list(&commands::help());
                None
            }
            Command::Agents => {
                self.list_agents();
                None
            }
            Command::Approvals => {
                self.waiting.ask_again();
                Some(Effect::ListApprovals)
            }
            Command::Stop(agent) => Some(Effect::Stop { agent }),
            Command::Retry => Some(Effect::Retry),
            Command::Edit => {
                self.edit();
                None
            }
            Command::New => Some(Effect::Open(Which::New)),
            Command::Chats => Some(Effect::ListChats),
            Command::Switch(id) => Some(Effect::Open(Which::Chat(id))),
            Command::Fork => self.fork(),
            Command::Title(title) => Some(Effect::Title(title)),
            Command::Policy => Some(Effect::ShowPolicy),
            Command::Quit => Some(Effect::Quit),
        }
    }

    /// Something to read, set apart from what was said.
    pub(super) fn list(&mut self, lines: &[String]) {
        self.out.push(ratatui::text::Line::default());
        lines.iter().for_each(|line| self.plain(line));
    }

    pub(super) fn plain(&mut self, text: &str) {
        self.say(text, self.theme.plain());
    }

    fn list_agents(&mut self) {
        let world = self.conversation.world.clone();
        self.out.push(ratatui::text::Line::default());
        for agent in &world.agents {
            let model = agent.model.as_deref().or(world.default_model.as_deref());
            let main =
                if world.main_agent.as_deref() == Some(&agent.id) { ", main agent" } else { "" };
            let doing = self.conversation.activity.agents.iter().find(|one| one.id == agent.id);
            let doing = doing.map(|one| format!(": {}", crate::chat::draw::doing(one.doing)));
            let (id, model) = (&agent.id, model.unwrap_or("no model"));
            self.plain(&format!(
                "@{id}  {} ({model}{main}){}",
                agent.name,
                doing.unwrap_or_default()
            ));
        }
    }

    fn said(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.conversation.entries().iter().filter_map(|entry| match entry {
            Entry::Said(said) => Some(said),
            Entry::Call(_) | Entry::Notice { .. } => None,
        })
    }

    fn edit(&mut self) {
        let Some(me) = &self.me else {
            return self.warn("nobody has said who you are here, so nothing is known to be yours");
        };
        let is_mine = |said: &&Said| is_person(said) && me.said(said.user.as_deref());
        let last = self.said().rfind(is_mine).map(|said| (said.id.clone(), said.text.clone()));
        match last {
            Some((id, text)) => {
                self.editing = Some(id);
                self.composer.set(&text);
            }
            None => self.warn("you have said nothing here yet"),
        }
    }

    fn fork(&mut self) -> Option<Effect> {
        let last = self.said().next_back().map(|said| said.id.clone());
        if last.is_none() {
            self.warn("there is nothing to copy yet; /new starts a chat");
        }
        last.map(|message| Effect::Open(Which::Fork(message)))
    }
}
