//! The full-screen view without a terminal and without a server, so that what a frame costs can be measured.
//! Used by the bench `frames` only. Shows one chat with one agent and one call; nothing it wants done is done.

use std::time::Instant;

use agent_world_client::Heard;
use agent_world_client::wire::{Chat, Event, Output, Piece, World};
use agent_world_core::Timestamp;
use anyhow::Result;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::draw;
use super::message::Message;
use super::state::{Start, State};
use crate::conversation::{Conversation, Loaded};
use crate::theme::Theme;

const AT: &str = "2026-01-01T00:00:00Z";

#[derive(Debug)]
pub struct Rehearsal {
    state: State,
    terminal: Terminal<TestBackend>,
    heard: u64,
}

impl Rehearsal {
    /// # Errors
    /// Never, unless what is shown is not of the form that a server would send.
    pub fn new(width: u16, height: u16) -> Result<Self> {
        let start = Start {
            place: "here".to_owned(),
            world: None,
            now: Timestamp::UNIX_EPOCH,
            clock: Instant::now(),
            nonce: String::new(),
            theme: Theme::new(true),
        };
        let world = json!({"id": "demo", "name": "Demo", "agents": [{"id": "ada", "name": "Ada"}]});
        let world: World = serde_json::from_value(world)?;
        let chat = json!({"id": "chat_1", "world_id": "demo", "title": "Long things",
            "created_at": AT, "updated_at": AT});
        let chat: Chat = serde_json::from_value(chat)?;
        let terminal = Terminal::new(TestBackend::new(width, height))?;
        let mut rehearsal = Self { state: State::new(start), terminal, heard: 0 };
        rehearsal.tell(Message::Following(0));
        rehearsal.tell(Message::Worlds(vec![world.clone()]));
        rehearsal.tell(Message::Chats { world: "demo".to_owned(), chats: vec![chat.clone()] });
        let conversation = Conversation::new(world, chat);
        rehearsal.tell(Message::Opened(Box::new(Loaded { conversation, before: None })));
        Ok(rehearsal)
    }

    /// The agent says more, after so many characters.
    pub fn says(&mut self, offset: usize, text: &str) {
        self.tell(Message::Heard(Heard::Piece(Piece {
            chat_id: "chat_1".to_owned(),
            message_id: "msg_1".to_owned(),
            agent_id: "ada".to_owned(),
            offset: offset as u64,
            delta: text.to_owned(),
            reasoning_delta: String::new(),
        })));
    }

    /// The call writes more.
    pub fn writes(&mut self, text: &str) {
        self.tell(Message::Heard(Heard::Output(Output {
            chat_id: "chat_1".to_owned(),
            id: "call_1".to_owned(),
            agent_id: "ada".to_owned(),
            channel: "stdout".to_owned(),
            delta: text.to_owned(),
        })));
    }

    /// The call runs, or has ended with a result.
    ///
    /// # Errors
    /// As `new`.
    pub fn calls(&mut self, result: Option<&str>) -> Result<()> {
        let state = if result.is_some() { "completed" } else { "executing" };
        let data = json!({"id": "call_1", "chat_id": "chat_1", "agent_id": "ada",
            "name": "shell_cmd", "state": state, "arguments": {"command": "make"},
            "result": result, "blocking": true});
        self.hear("tool", data)
    }

    fn hear(&mut self, kind: &str, data: Value) -> Result<()> {
        self.heard += 16;
        let event = json!({"seq": self.heard, "type": kind, "world_id": "demo",
            "chat_id": "chat_1", "at": AT, "data": data});
        self.tell(Message::Heard(Heard::Event(Box::new(Event::read(event)?))));
        Ok(())
    }

    pub fn presses(&mut self, code: KeyCode) {
        self.tell(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn tell(&mut self, message: Message) {
        // Nobody is there to do what is wanted.
        drop(self.state.update(message));
    }

    /// Draws what is seen now.
    ///
    /// # Errors
    /// Never: it is drawn into memory.
    pub fn draws(&mut self) -> Result<()> {
        let state = &mut self.state;
        self.terminal.draw(|frame| {
            state.arrange(frame.area());
            draw::draw(frame, state);
        })?;
        Ok(())
    }

    /// More could be drawn without anything happening.
    pub fn is_unfinished(&self) -> bool {
        self.state.is_unfinished()
    }
}
