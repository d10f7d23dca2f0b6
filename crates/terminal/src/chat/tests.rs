//! Tests of a conversation without a terminal and without a network: what keys and news lead to, and how that looks.

mod asking;
mod delivering;
mod meaning;
mod screens;
mod sizes;
mod steps;
mod telling;

use std::time::{Duration, Instant};

use agent_world_client::Heard;
use agent_world_client::wire::{Approval, Chat, Event, News, Output, Piece, World};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use serde_json::{Value, json};

use super::effect::Effect;
use super::inline::Inline;
use super::show::show;
use super::state::State;
use crate::composer::History;
use crate::conversation::Conversation;
use crate::theme::Theme;

/// A conversation on a screen that is only memory.
struct Stage {
    state: State,
    screen: Inline<TestBackend>,
    now: Instant,
    seq: u64,
}

fn stage(columns: u16, rows: u16) -> Stage {
    let world: World = from(json!({"id": "demo", "name": "Demo", "main_agent": "ada", "agents": [
        {"id": "ada", "name": "Ada", "model": "demo/demo"}, {"id": "bob", "name": "Bob", "model": "demo/demo"}]}));
    let chat: Chat = from(json!({"id": "chat_1", "world_id": "demo", "title": "New Chat",
        "created_at": "", "updated_at": ""}));
    let conversation = Conversation::new(world, chat);
    let theme = Theme::new(false);
    let mut state = State::new(conversation, theme, History::default(), None, columns);
    state.me = Some(from(json!({"name": "tester"})));
    state.enter(Vec::new(), 0);
    let screen = Inline::new(TestBackend::new(columns, rows), 0).unwrap();
    Stage { state, screen, now: Instant::now(), seq: 0 }
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn approval(id: &str, command: &str, more: &Value) -> Approval {
    let mut value = json!({"id": id, "state": "pending", "world_id": "demo", "chat_id": "chat_1", "agent_id": "ada",
        "tool_call_id": format!("call_{id}"), "tool": "shell_cmd", "arguments": {"command": command},
        "message": format!("Run {command}?"), "shown": format!("{{\n  \"command\": \"{command}\"\n}}"),
        "options": ["deny", "approve_once", "approve_session", "approve_always"],
        "suggested_matches": [{"label": "exactly this call", "matches": [{}]}, {"label": "any call", "matches": []}],
        "created_at": ""});
    for (name, field) in more.as_object().into_iter().flatten() {
        value[name] = field.clone();
    }
    from(value)
}

impl Stage {
    fn hear(&mut self, news: News) -> Vec<Effect> {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            world_id: "demo".to_owned(),
            chat_id: Some("chat_1".to_owned()),
            at: String::new(),
            news,
            json: Value::Null,
        };
        self.state.hear(&Heard::Event(Box::new(event)), self.now)
    }

    fn message(&mut self, id: &str, sender: &str, text: &str) {
        let role = if sender == "human" { "user" } else { "assistant" };
        self.hear(News::Message(from(
            json!({"id": id, "chat_id": "chat_1", "role": role, "sender": sender,
            "content": text, "created_at": ""}),
        )));
    }

    fn piece(&mut self, id: &str, agent: &str, offset: u64, text: &str, reasoning: &str) {
        let piece = Piece {
            chat_id: "chat_1".to_owned(),
            message_id: id.to_owned(),
            agent_id: agent.to_owned(),
            offset,
            delta: text.to_owned(),
            reasoning_delta: reasoning.to_owned(),
        };
        self.state.hear(&Heard::Piece(piece), self.now);
    }

    fn call(&mut self, id: &str, state: &str, more: &Value) {
        let mut value = json!({"id": id, "chat_id": "chat_1", "agent_id": "ada", "name": "shell_cmd",
            "arguments": {"command": "ls", "parameters": ["-la"]}, "state": state});
        for (name, field) in more.as_object().into_iter().flatten() {
            value[name] = field.clone();
        }
        self.hear(News::Tool(from(value)));
    }

    fn output(&mut self, id: &str, text: &str) {
        let output = Output {
            chat_id: "chat_1".to_owned(),
            id: id.to_owned(),
            agent_id: "ada".to_owned(),
            channel: "stdout".to_owned(),
            delta: text.to_owned(),
        };
        self.state.hear(&Heard::Output(output), self.now);
    }

    fn activity(&mut self, value: Value) {
        self.hear(News::Activity(from(value)));
    }

    fn ask(&mut self, approval: Approval) {
        self.hear(News::Approval(Box::new(approval)));
    }

    fn wait(&mut self, time: Duration) {
        self.draw();
        self.now += time;
    }

    /// One key after another, as fast as fingers are.
    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.now += Duration::from_millis(50);
        self.state.key(KeyEvent::new(code, KeyModifiers::NONE), self.now)
    }

    fn control(&mut self, letter: char) -> Vec<Effect> {
        self.state.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL), self.now)
    }

    fn write(&mut self, text: &str) {
        for letter in text.chars() {
            self.key(KeyCode::Char(letter));
        }
    }

    fn enter(&mut self, text: &str) -> Vec<Effect> {
        self.write(text);
        self.key(KeyCode::Enter)
    }

    fn draw(&mut self) {
        show(&mut self.state, &mut self.screen, self.now).unwrap();
        self.state.was_drawn(self.now);
    }

    /// What is on the screen, and above a line what scrolled off it.
    fn seen(&mut self) -> String {
        self.draw();
        let backend = self.screen.backend();
        let above = text(backend.scrollback());
        let screen = text(backend.buffer());
        match above.is_empty() {
            true => screen,
            false => format!("{above}----\n{screen}"),
        }
    }
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content.chunks(width);
    let lines: Vec<String> = rows
        .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned())
        .collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.into_iter().take(end).map(|line| line + "\n").collect()
}
