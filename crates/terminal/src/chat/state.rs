//! Decides what keys, news and answers mean for a conversation.
//! Fed by `run`, drawn by `draw`. Pure: it touches neither the terminal nor the network, and knows the time only as it is told.

mod hear;
mod obey;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_world_client::wire::Approval;
use agent_world_core::display::reveal_line;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::text::Line;

use super::commands::COMMANDS;
use super::effect::Effect;
use super::flow::Flow;
use super::waiting::Waiting;
use super::words;
use crate::completion::Words;
use crate::composer::{Composer, History, Typed};
use crate::conversation::Conversation;
use crate::deciding::{Deciding, Outcome};
use crate::theme::Theme;

/// Messages shown on opening a chat.
const EARLIER: usize = 10;
/// Whoever types goes on typing for this long after each key, whatever comes up meanwhile.
const TYPING: Duration = Duration::from_millis(700);

/// A conversation as the person sees it.
#[derive(Debug)]
pub struct State {
    pub theme: Theme,
    pub conversation: Conversation,
    pub composer: Composer,
    pub(super) waiting: Waiting,
    pub(super) flow: Flow,
    /// Why nothing is heard at the moment.
    pub lost: Option<String>,
    pub shows_reasoning: bool,
    pub shows_output: bool,
    /// The message that what is typed takes the place of.
    pub(super) editing: Option<String>,
    /// Messages on their way.
    pub(super) sending: Vec<(u64, String)>,
    /// When calls were first seen running.
    pub(super) running: HashMap<String, Instant>,
    /// Cards too long for the screen, which were put into the scrollback.
    pub(super) laid_out: HashSet<String>,
    /// The question on the screen as it was laid out.
    pub(super) card: Option<Card>,
    /// Whom a message is for that begins with no mention.
    agent: Option<String>,
    number: u64,
    out: Vec<Line<'static>>,
    width: u16,
    typed_at: Option<Instant>,
    /// Ctrl-C was pressed while nothing runs: once more leaves.
    leaving: bool,
    /// The question on the screen.
    on_screen: Option<String>,
    /// Decisions that were told.
    traced: HashSet<String>,
}

/// A question as lines. Made once for each size: there may be code in it, which takes a while.
#[derive(Debug)]
pub(super) struct Card {
    pub id: String,
    pub number: usize,
    pub total: usize,
    pub width: u16,
    pub lines: Vec<Line<'static>>,
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
            composer: Composer::new(theme, history),
            waiting: Waiting::default(),
            flow: Flow::default(),
            lost: None,
            shows_reasoning: false,
            shows_output: false,
            editing: None,
            sending: Vec::new(),
            running: HashMap::new(),
            laid_out: HashSet::new(),
            card: None,
            agent,
            number: 0,
            out: Vec::new(),
            width,
            typed_at: None,
            leaving: false,
            on_screen: None,
            traced: HashSet::new(),
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
            self.note(&format!("{waiting} waiting in other chats: `agent-world approvals list`"));
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

    pub fn waits(&self) -> usize {
        self.waiting.count()
    }

    /// The question that takes the place of the composer.
    pub fn question(&self, now: Instant) -> Option<(&Deciding, usize)> {
        if self.is_typing(now) { None } else { self.waiting.shown() }
    }

    /// Whether keys answer a question: only one that the person has before their eyes.
    fn asks(&self, now: Instant) -> bool {
        let question = self.question(now).map(|(question, _)| &question.approval.id);
        question.is_some() && question == self.on_screen.as_ref()
    }

    // A key pressed for a message must not decide anything.
    fn is_typing(&self, now: Instant) -> bool {
        !self.composer.is_empty()
            && self.typed_at.is_some_and(|at| now.saturating_duration_since(at) < TYPING)
    }

    /// Notes which question is on the screen: keys that were pressed for something else do not answer it.
    pub fn look(&mut self, now: Instant) {
        let rests = self.typed_at.is_none_or(|at| now.saturating_duration_since(at) >= TYPING);
        if rests && self.composer.is_empty() {
            self.waiting.look_somewhere();
        }
        let shown = self.question(now).map(|(question, _)| question.approval.id.clone());
        if shown != self.on_screen
            && shown.is_some()
            && let Some(question) = self.waiting.shown_mut()
        {
            question.shown_again(now);
        }
        self.on_screen = shown;
    }

    /// Something changes with time alone: the screen is to be drawn again soon.
    pub fn is_restless(&self, now: Instant) -> bool {
        let question = self.waiting.shown();
        let is_fresh = question.is_some_and(|(question, _)| question.is_fresh(now));
        !self.running.is_empty() || is_fresh || (question.is_some() && self.is_typing(now))
    }

    // Keys.

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let leaving = std::mem::take(&mut self.leaving);
        match key.code {
            KeyCode::Char('c') if control => return self.interrupt(leaving),
            KeyCode::Char('d') if control && self.composer.is_empty() => return vec![Effect::Quit],
            KeyCode::Char('r') if control => self.shows_reasoning = !self.shows_reasoning,
            KeyCode::Char('o') if control => self.shows_output = !self.shows_output,
            _ if self.asks(now) => return self.decide(key, now),
            KeyCode::Esc if self.editing.take().is_some() => self.composer.set(""),
            _ => {
                self.typed_at = Some(now);
                let words = self.words();
                if let Typed::Entered(text) = self.composer.key(key, &words) {
                    return self.entered(&text);
                }
            }
        }
        Vec::new()
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        if self.asks(now) {
            if let Some(question) = self.waiting.shown_mut() {
                question.paste(text);
            }
            return;
        }
        self.typed_at = Some(now);
        self.composer.paste(text);
    }

    fn interrupt(&mut self, leaving: bool) -> Vec<Effect> {
        // Of a server that is gone nobody knows what runs there.
        if self.lost.is_none() && self.conversation.activity.works() {
            self.note("stopping the agents");
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

    fn decide(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let Some(question) = self.waiting.shown_mut() else {
            return Vec::new();
        };
        match question.key_at(key, now) {
            Outcome::Decided(decision) => {
                let approval = question.approval.id.clone();
                self.waiting.send(&approval);
                vec![Effect::Decide { approval, decision }]
            }
            Outcome::Later => {
                self.waiting.put_off();
                self.note("it waits; /approvals asks again");
                Vec::new()
            }
            Outcome::Redraw => Vec::new(),
            Outcome::Nothing => {
                let went = match key.code {
                    KeyCode::Tab | KeyCode::Right | KeyCode::Down => self.waiting.step(true),
                    KeyCode::BackTab | KeyCode::Left | KeyCode::Up => self.waiting.step(false),
                    _ => false,
                };
                if went && let Some(next) = self.waiting.shown_mut() {
                    // Whoever goes to a question knows that it comes; what it says is still to be read.
                    next.shown_again(now);
                    self.on_screen = Some(next.approval.id.clone());
                }
                Vec::new()
            }
        }
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
