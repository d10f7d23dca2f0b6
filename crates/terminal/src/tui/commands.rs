//! What comes of what somebody wrote and sent: a message, a changed message, or a command.
//! Called for keys. Reads commands as `chat` does; those that would only lead to another part of the screen lead there.

use super::details::Details;
use super::message::Effect;
use super::state::{Focus, Overlay, State, Tone};
use super::words;
use crate::chat::address;
use crate::chat::commands::{self, Command, Line};
use crate::completion::Words;
use crate::conversation::Entry;

/// Every command, with what it does.
pub const COMMANDS: [(&str, &str); 13] = [
    ("/help", "shows the keys and commands"),
    ("/agents", "the agents of this world"),
    ("/approvals", "goes to the inbox"),
    ("/stop", "stops the agents, or one: /stop bob"),
    ("/retry", "takes a failed turn up again"),
    ("/edit", "changes your last message, and takes back the rest"),
    ("/new", "starts a new chat"),
    ("/chats", "goes to the list of chats"),
    ("/switch", "goes to another chat: /switch ID"),
    ("/fork", "goes on in a copy of this chat"),
    ("/rename", "names this chat: /rename TEXT"),
    ("/policy", "what agents may do here"),
    ("/quit", "leaves"),
];

const NOTHING: Vec<Effect> = Vec::new();

impl State {
    /// What a word can become when it is completed.
    pub(super) fn words(&self) -> Words {
        let open = self.transcript().map(|transcript| &transcript.conversation.world);
        let agents = open.map_or(&[][..], |world| world.agents.as_slice());
        Words {
            agents: agents.iter().map(|agent| agent.id.clone()).collect(),
            commands: COMMANDS.to_vec(),
            directory: None,
        }
    }

    /// Somebody has sent what they wrote.
    pub(super) fn entered(&mut self, text: &str) -> Vec<Effect> {
        let text = text.trim();
        // What was said about the text before this one is over; what asks is not.
        self.notice.take_if(|notice| notice.tone != Tone::Question);
        let renamed = text.strip_prefix("/rename").map(|rest| format!("/title{rest}"));
        match commands::read(renamed.as_deref().unwrap_or(text)) {
            Line::Message(text) => match self.take_editing() {
                Some(message) => self.edit(message, text),
                None => self.say(text),
            },
            Line::Command(command) => {
                // Whoever does something else meanwhile no longer means to change what they said.
                self.take_editing();
                self.obey(command)
            }
            Line::Missing(_) => self.not_meant(text, "say also which, or what"),
            Line::Unknown(_) => self
                .not_meant(text, "there is no such command; /help lists them, //text says /text"),
        }
    }

    /// Posts a message, and tells whom it reaches where it names somebody who is not there.
    fn say(&mut self, text: String) -> Vec<Effect> {
        let world = self.transcript().map(|transcript| &transcript.conversation.world);
        if let Some(told) = world.and_then(|world| address::of_strangers(world, &text)) {
            self.tell(Tone::Warning, told);
        }
        self.post(text)
    }

    fn not_meant(&mut self, text: &str, why: &str) -> Vec<Effect> {
        self.composer.set(text);
        self.tell(Tone::Warning, why);
        NOTHING
    }

    fn obey(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Help => self.overlay = Some(Overlay::Help),
            Command::Approvals => self.focus = Focus::Inbox,
            Command::Chats => self.focus = Focus::Tree,
            Command::New => return self.create(),
            Command::Quit => return self.quit(),
            Command::Switch(chat) => return self.switch(&chat),
            command => return self.obey_here(command),
        }
        NOTHING
    }

    /// What is about the chat that is open.
    fn obey_here(&mut self, command: Command) -> Vec<Effect> {
        let Some(transcript) = self.transcript() else {
            self.tell(Tone::Warning, "no chat is open");
            return NOTHING;
        };
        let (world, chat) = (transcript.world().to_owned(), transcript.chat().to_owned());
        match command {
            Command::Stop(agent) => return self.stop_at(world, chat, agent),
            Command::Retry => return vec![Effect::Retry { world, chat }],
            Command::Title(title) => return vec![Effect::Rename { world, chat, title }],
            Command::Policy => return vec![Effect::ShowPolicy { world, chat }],
            Command::Fork => return self.fork(world, chat),
            Command::Edit => self.begin_to_edit(),
            Command::Agents => self.show_agents(),
            _ => self.tell(Tone::Warning, "that command is for `agent-world chat`"),
        }
        NOTHING
    }

    fn switch(&mut self, chat: &str) -> Vec<Effect> {
        if self.tree.find(chat).is_none() {
            self.tell(Tone::Warning, "there is no such chat; c shows which there are");
            return NOTHING;
        }
        self.open(chat)
    }

    fn fork(&mut self, world: String, chat: String) -> Vec<Effect> {
        let entries = self.transcript().map_or(&[][..], |open| open.conversation.entries());
        let last = entries.iter().rev().find_map(|entry| match entry {
            Entry::Said(said) => Some(said.id.clone()),
            _ => None,
        });
        match last {
            Some(message) => vec![Effect::Fork { world, chat, message }],
            None => {
                self.tell(Tone::Warning, "there is nothing to copy yet; n starts a chat");
                NOTHING
            }
        }
    }

    fn begin_to_edit(&mut self) {
        let (Some(me), Some(chat)) = (&self.me, self.open.clone()) else {
            let why = "nobody has said who you are here, so nothing is known to be yours";
            return self.tell(Tone::Warning, why);
        };
        let entries = self.transcript().map_or(&[][..], |open| open.conversation.entries());
        let last = entries.iter().rev().find_map(|entry| match entry {
            Entry::Said(said) if said.sender == "human" && me.said(said.user.as_deref()) => {
                Some((said.id.clone(), said.text.clone()))
            }
            _ => None,
        });
        match last {
            Some((message, text)) => {
                self.editing.insert(chat, message);
                self.composer.set(&text);
            }
            None => self.tell(Tone::Warning, "you have said nothing here yet"),
        }
    }

    fn edit(&mut self, message: String, text: String) -> Vec<Effect> {
        let Some(transcript) = self.transcript() else {
            return NOTHING;
        };
        let (world, chat) = (transcript.world().to_owned(), transcript.chat().to_owned());
        vec![Effect::Edit { world, chat, message, text }]
    }

    fn show_agents(&mut self) {
        let Some(transcript) = self.transcript() else {
            return;
        };
        let world = &transcript.conversation.world;
        let lines = world.agents.iter().map(|agent| {
            let model = agent.model.as_deref().or(world.default_model.as_deref());
            let is_main = world.main_agent.as_deref() == Some(&agent.id);
            let main = if is_main { ", main agent" } else { "" };
            format!("@{}  {} ({}{main})", agent.id, agent.name, model.unwrap_or("no model"))
        });
        let text = lines.collect::<Vec<String>>().join("\n");
        let title = format!("Agents of {}", words::shown(&world.name));
        self.overlay = Some(Overlay::Details(Box::new(Details::of_text(title, text))));
    }
}
