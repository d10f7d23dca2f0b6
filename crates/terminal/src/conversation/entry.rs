//! What a conversation consists of. Each entry counts its changes, so that whoever draws knows what to draw again.

use std::collections::VecDeque;

use agent_world_client::wire::{Call, CallState, Message, Output, Phase, Piece, Stream, Usage};
use serde_json::Value;

/// Lines of a tool's output that are kept while it runs, and characters of one line.
const KEPT_LINES: usize = 1_000;
const KEPT_LINE: usize = 4_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Said(Said),
    Call(Box<Block>),
    /// What the runtime has to say.
    Notice {
        id: String,
        text: String,
        at: String,
    },
}

/// What somebody said, or is saying.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub id: String,
    /// `human`, `world`, `system` or an agent's id.
    pub sender: String,
    /// The name of the person, where it is known.
    pub user: Option<String>,
    pub text: String,
    pub reasoning: String,
    pub at: String,
    pub state: SaidState,
    /// Images and files beside the text.
    pub attachments: usize,
    pub usage: Option<Usage>,
    /// Characters of the text that were heard in pieces.
    heard: u64,
    /// Grows with every change.
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidState {
    /// More may come.
    Streaming,
    Whole,
    /// It ended before it was whole, and why.
    BrokenOff(String),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub id: String,
    pub agent: String,
    pub name: String,
    pub arguments: Value,
    pub state: CallState,
    pub blocking: bool,
    pub approval: Option<String>,
    /// What it wrote while it ran, as far as that is kept.
    pub output: Tail,
    /// What the model was given; none while it runs.
    pub result: Option<String>,
    /// Characters of all that it gave back, where the result is only its beginning and end.
    pub whole: Option<u64>,
    pub duration_ms: Option<i64>,
    pub at: String,
    /// Grows with every change.
    pub version: u64,
}

/// The end of a long text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    lines: VecDeque<String>,
    /// Lines that were let go.
    dropped: usize,
    /// The last line has no end yet.
    open: bool,
}

impl Entry {
    pub fn id(&self) -> &str {
        match self {
            Self::Said(said) => &said.id,
            Self::Call(block) => &block.id,
            Self::Notice { id, .. } => id,
        }
    }

    /// Bytes of text it holds, as far as they matter.
    pub fn weight(&self) -> usize {
        match self {
            Self::Said(said) => said.text.len() + said.reasoning.len(),
            Self::Call(block) => block.result.as_ref().map_or(0, String::len),
            Self::Notice { text, .. } => text.len(),
        }
    }

    /// When it was; empty where that is not known.
    pub fn at(&self) -> &str {
        match self {
            Self::Said(said) => &said.at,
            Self::Call(block) => &block.at,
            Self::Notice { at, .. } => at,
        }
    }

    /// Grows with every change.
    pub fn version(&self) -> u64 {
        match self {
            Self::Said(said) => said.version,
            Self::Call(block) => block.version,
            Self::Notice { .. } => 0,
        }
    }
}

impl Said {
    pub(super) fn begun(id: &str, sender: &str, at: &str) -> Self {
        Self {
            id: id.to_owned(),
            sender: sender.to_owned(),
            user: None,
            text: String::new(),
            reasoning: String::new(),
            at: at.to_owned(),
            state: SaidState::Streaming,
            attachments: 0,
            usage: None,
            heard: 0,
            version: 0,
        }
    }

    pub(super) fn complete(&mut self, message: &Message) {
        if self.state == SaidState::Whole && self.text == message.content {
            return;
        }
        self.sender.clone_from(&message.sender);
        self.user.clone_from(&message.user);
        self.text.clone_from(&message.content);
        self.at.clone_from(&message.created_at);
        self.attachments = message.parts.len();
        self.usage = message.usage.or(self.usage);
        self.state = SaidState::Whole;
        self.version += 1;
    }

    /// Whether it was news.
    pub(super) fn hear(&mut self, piece: &Piece) -> bool {
        if self.state != SaidState::Streaming {
            return false;
        }
        // Whoever joins again while there is only reasoning is told all of that too.
        let is_told_again = piece.offset == 0
            && !self.reasoning.is_empty()
            && piece.reasoning_delta.starts_with(&self.reasoning);
        match piece.offset {
            heard if heard == self.heard && !is_told_again => {
                self.text.push_str(&piece.delta);
                self.reasoning.push_str(&piece.reasoning_delta);
            }
            // Whoever joins is told all of it.
            0 => {
                self.text.clone_from(&piece.delta);
                self.reasoning.clone_from(&piece.reasoning_delta);
            }
            // Some were missed, or are heard again: the whole text follows.
            _ => return false,
        }
        self.heard = piece.offset + piece.delta.chars().count() as u64;
        self.version += 1;
        true
    }

    pub(super) fn end(&mut self, stream: &Stream, at: &str) {
        self.usage = stream.usage.or(self.usage);
        if self.at.is_empty() {
            at.clone_into(&mut self.at);
        }
        if stream.phase == Phase::Error && self.state == SaidState::Streaming {
            let why = stream.error.clone().unwrap_or_else(|| "broken off".to_owned());
            self.state = SaidState::BrokenOff(why);
        }
        self.version += 1;
    }
}

impl Block {
    pub(super) fn new(id: &str, agent: &str, name: &str, arguments: Value, at: &str) -> Self {
        Self {
            id: id.to_owned(),
            agent: agent.to_owned(),
            name: name.to_owned(),
            arguments,
            state: CallState::Pending,
            blocking: true,
            approval: None,
            output: Tail::default(),
            result: None,
            whole: None,
            duration_ms: None,
            at: at.to_owned(),
            version: 0,
        }
    }

    pub(super) fn update(&mut self, call: &Call) {
        // What is over stays over, whatever is heard late.
        if self.state.is_over() && !call.state.is_over() {
            return;
        }
        self.arguments = call.arguments.clone();
        self.state = call.state;
        self.blocking = call.blocking;
        self.approval = call.approval_id.clone().or_else(|| self.approval.take());
        self.duration_ms = call.duration_ms;
        if call.result.is_some() {
            self.result.clone_from(&call.result);
            let whole = call.more.get("result_whole").and_then(|whole| whole.get("characters"));
            self.whole = whole.and_then(Value::as_u64);
        }
        if call.state.is_over() {
            self.output = Tail::default();
        }
        self.version += 1;
    }

    pub(super) fn result(&mut self, content: &str) {
        if self.result.is_none() {
            self.result = Some(content.to_owned());
            self.version += 1;
        }
        if !self.state.is_over() {
            self.state = CallState::Completed;
        }
    }

    pub(super) fn hear(&mut self, output: &Output) {
        if !self.state.is_over() {
            self.output.push(&output.delta);
            self.version += 1;
        }
    }
}

impl Tail {
    pub fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let (content, ends) = match piece.strip_suffix('\n') {
                Some(content) => (content, true),
                None => (piece, false),
            };
            match self.lines.back_mut().filter(|_| self.open) {
                Some(line) => append(line, content),
                None => {
                    let mut line = String::new();
                    append(&mut line, content);
                    self.lines.push_back(line);
                }
            }
            self.open = !ends;
            if self.lines.len() > KEPT_LINES {
                self.lines.pop_front();
                self.dropped += 1;
            }
        }
    }

    /// The lines that are kept.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.lines.iter().map(String::as_str)
    }

    /// All lines there were.
    pub fn count(&self) -> usize {
        self.dropped + self.lines.len()
    }
}

fn append(line: &mut String, content: &str) {
    let room = KEPT_LINE.saturating_sub(line.len());
    let end = (0..=room.min(content.len())).rev().find(|end| content.is_char_boundary(*end));
    line.push_str(content.get(..end.unwrap_or(0)).unwrap_or_default());
}
