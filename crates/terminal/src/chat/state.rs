//! Decides what keys, news and answers mean for a conversation.
//! Fed by `run`, drawn by `draw`. Pure: it touches neither the terminal nor the network, and knows the time only as it is told.

mod focus;
mod hear;
mod obey;
mod recall;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::time::Instant;

use agent_world_client::wire::{Approval, Me};
use agent_world_core::display::reveal_line;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::text::Line;

use super::commands::COMMANDS;
use super::effect::Effect;
use super::flow::Flow;
use super::waiting::Waiting;
use super::words;
use crate::attention::Attention;
use crate::completion::Words;
use crate::composer::{Composer, History, Typed};
use crate::conversation::Conversation;
use crate::theme::Theme;
pub use focus::{Focus, Silence};

/// Messages shown on opening a chat.
const EARLIER: usize = 10;

/// A conversation as the person sees it.
#[derive(Debug)]
pub struct State {
    pub theme: Theme,
    pub conversation: Conversation,
    /// Who the person is here, where that is known.
    pub me: Option<Me>,
    pub composer: Composer,
    pub(super) waiting: Waiting,
    pub(super) flow: Flow,
    /// Nothing is heard at the moment.
    pub is_lost: bool,
    /// The agents were told to stop, and have not yet.
    pub stopping: bool,
    pub shows_reasoning: bool,
    pub shows_output: bool,
    /// The message that what is typed takes the place of.
    pub(super) editing: Option<String>,
    /// Messages on their way.
    pub(super) sending: Vec<Sending>,
    /// When calls were first seen running.
    pub(super) running: HashMap<String, Instant>,
    /// The card too long for the screen that was put into the scrollback when it came up.
    pub(super) laid_out: Option<String>,
    /// The question on the screen as it was laid out.
    pub(super) card: Option<Card>,
    /// Whom a message is for that begins with no mention.
    agent: Option<String>,
    number: u64,
    /// What no other conversation's keys begin with.
    nonce: u64,
    /// Messages of which nobody knows whether they arrived: entered again, each goes under the key it had.
    unsure: HashMap<String, String>,
    out: Vec<Line<'static>>,
    width: u16,
    typed_at: Option<Instant>,
    /// Ctrl-C was pressed while nothing runs: once more leaves.
    leaving: bool,
    /// The question on the screen.
    on_screen: Option<String>,
    /// Whether a key may be an answer to it.
    attention: Attention,
    /// How often the person went to the question from a message.
    turns: u64,
    /// The window is too small for the keys of the question: nobody can answer it there.
    is_cramped: bool,
    /// The person went to the question and left a message half written.
    answering: bool,
    /// Why the last key did nothing.
    untaken: Option<Silence>,
    /// For which calls permissions were given here, by their request.
    permitted: HashMap<String, String>,
    /// Decisions that were told.
    traced: HashSet<String>,
    /// The call that was looked at again last.
    recalled: Option<String>,
    /// The newest event that was heard.
    pub(super) known: u64,
}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Sending {
    pub number: u64,
    pub text: String,
    pub key: String,
}

/// A question as lines. Made once for each size: there may be code in it, which takes a while.
#[derive(Debug)]
pub(super) struct Card {
    pub id: String,
    pub number: usize,
    pub total: usize,
    pub width: u16,
    pub lines: Vec<Line<'static>>,
    /// Rows that all of them take.
    pub rows: usize,
}

impl State {
    pub fn new(
        conversation: Conversation,
        theme: Theme,
        history: History,
        agent: Option<String>,
        width: u16,
    ) -> Self {
        Self {
            theme,
            conversation,
            me: None,
            composer: Composer::new(theme, history),
            waiting: Waiting::default(),
            flow: Flow::default(),
            is_lost: false,
            stopping: false,
            shows_reasoning: false,
            shows_output: false,
            editing: None,
            sending: Vec::new(),
            running: HashMap::new(),
            laid_out: None,
            card: None,
            agent,
            number: 0,
            nonce: RandomState::new().build_hasher().finish(),
            unsure: HashMap::new(),
            out: Vec::new(),
            width,
            typed_at: None,
            leaving: false,
            on_screen: None,
            attention: Attention::default(),
            turns: 0,
            is_cramped: false,
            answering: false,
            untaken: None,
            permitted: HashMap::new(),
            traced: HashSet::new(),
            recalled: None,
            known: 0,
        }
    }

    /// Shows where the person is and what was said there.
    pub fn enter(&mut self, approvals: Vec<Approval>, elsewhere: usize) {
        let world = &self.conversation.world;
        let agents: Vec<String> = world
            .agents
            .iter()
            .map(|agent| {
                let model = agent.model.as_deref().or(world.default_model.as_deref());
                format!("@{} ({})", agent.id, model.unwrap_or("no model"))
            })
            .collect();
        let title = &self.conversation.chat.title;
        let place = format!("{}, chat “{title}”, with {}", world.name, agents.join(", "));
        self.note(&place);
        let earlier = self.flow.enter(&self.conversation, EARLIER, self.width, self.theme);
        self.out.extend(earlier);
        if !approvals.is_empty() {
            let text = format!("{} still waiting here", words::count(approvals.len(), "approval"));
            self.out.push(Line::styled(text, self.theme.question()));
        }
        for approval in approvals {
            self.waiting.add(approval);
        }
        if elsewhere > 0 {
            let waiting = words::count(elsewhere, "approval");
            self.note(&format!("{waiting} waiting in other chats: /approvals asks about them"));
        }
    }

    /// Lines for the scrollback, in order, each once.
    pub fn take_out(&mut self) -> Vec<Line<'static>> {
        if !self.out.is_empty() {
            self.flow.interrupt();
        }
        let flowed = self.flow.advance(&self.conversation, self.width, self.theme);
        self.out.extend(flowed);
        std::mem::take(&mut self.out)
    }

    /// Lines for the scrollback, as they are.
    pub(super) fn put(&mut self, lines: Vec<Line<'static>>) {
        self.out.extend(lines);
    }

    pub fn resize(&mut self, width: u16) {
        self.width = width;
    }

    pub fn note(&mut self, text: &str) {
        self.say(text, self.theme.quiet());
    }

    pub fn warn(&mut self, text: &str) {
        self.say(text, self.theme.warning());
    }

    fn say(&mut self, text: &str, style: ratatui::style::Style) {
        let lines = text.lines().map(|line| Line::styled(reveal_line(line).into_owned(), style));
        self.out.extend(lines);
    }

    /// Says which decisions were made and never delivered, when the person leaves.
    pub fn tell_undelivered(&mut self) {
        let told: Vec<String> = self
            .waiting
            .undelivered()
            .map(|approval| {
                format!("! your decision on {} was not delivered; it waits", approval.id)
            })
            .collect();
        told.iter().for_each(|text| self.warn(text));
    }

    pub fn waits(&self) -> usize {
        self.waiting.count()
    }

    // Keys.

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.attention.press(key, now);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let leaving = std::mem::take(&mut self.leaving);
        match key.code {
            KeyCode::Char('c') if control => return self.interrupt(leaving),
            KeyCode::Char('d') if control && self.composer.is_empty() => return vec![Effect::Quit],
            KeyCode::Char('r') if control => self.show_reasoning(),
            KeyCode::Char('o') if control => self.show_output(),
            _ if self.focus(now) == Focus::Question => return self.decide(key, now),
            KeyCode::Esc if self.editing.take().is_some() => self.composer.set(""),
            _ => return self.write(key, now),
        }
        Vec::new()
    }

    /// A key for the message.
    fn write(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        self.typed_at = Some(now);
        let words = self.words();
        match self.composer.key(key, &words) {
            Typed::Entered(text) => return self.entered(&text),
            Typed::Nothing if key.code == KeyCode::Tab => self.go_to_question(),
            Typed::Nothing | Typed::Redraw => {}
        }
        Vec::new()
    }

    /// Whom a message is for that names nobody.
    pub(super) fn listener(&self) -> Option<&str> {
        self.agent.as_deref().or(self.conversation.world.main_agent.as_deref())
    }

    fn interrupt(&mut self, leaving: bool) -> Vec<Effect> {
        // Of a server that is gone nobody knows what runs there.
        if !self.is_lost && self.conversation.activity.works() {
            self.stopping = true;
            return vec![Effect::Stop { agent: None }];
        }
        if leaving {
            return vec![Effect::Quit];
        }
        self.editing = None;
        self.composer.set("");
        self.leaving = true;
        Vec::new()
    }

    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    fn words(&self) -> Words {
        let world = &self.conversation.world;
        let directory = world.working_directory.as_ref().map(PathBuf::from);
        Words {
            agents: world.agents.iter().map(|agent| agent.id.clone()).collect(),
            commands: COMMANDS.to_vec(),
            directory: directory
                .filter(|path| path.is_dir())
                .or_else(|| std::env::current_dir().ok()),
        }
    }
}
