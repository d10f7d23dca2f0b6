//! Decides how a response grows piece by piece, and what is told of it on the way.
//! Used by every dialect, for streams and for whole bodies alike; so both give the same response.
//! Never fails: what a vendor sends out of order is put where it fits.

use agent_world_core::item::{FunctionCall, Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value, json};

use crate::{Delta, Event, Response, Status, Usage};

/// A response in the making.
#[derive(Debug, Default)]
pub struct Draft {
    response: Response,
    /// Whether the item at the same place in the output may still grow.
    open: Vec<bool>,
    events: Vec<Event>,
    /// Parts that were made only because a later one was named first.
    gaps: usize,
    started: bool,
    completed: bool,
}

/// Which text of a reasoning item a thought belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thought {
    /// What the vendor shows of it.
    Summary,
    /// As the model thinks it.
    Raw,
}

impl Draft {
    pub fn new() -> Self {
        Self {
            response: Response { status: Status::InProgress, ..Response::default() },
            ..Self::default()
        }
    }

    pub fn response(&self) -> &Response {
        &self.response
    }

    /// What is known of the response beside its output. Said before the first item, it is told with `Started`.
    pub fn response_mut(&mut self) -> &mut Response {
        &mut self.response
    }

    /// The vendor answers. Anything that grows the response says so by itself.
    pub fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.events.push(Event::Started(Box::new(self.response.clone())));
        }
    }

    /// Begins an item and gives its place. Behind the end nothing begins any more.
    pub fn open(&mut self, item: Item) -> usize {
        let index = self.response.output.len();
        if self.completed {
            return index;
        }
        self.start();
        self.events.push(Event::ItemStarted { index, item: item.clone() });
        self.response.output.push(item);
        self.open.push(true);
        index
    }

    /// An item that came whole.
    pub fn add(&mut self, item: Item) -> usize {
        let index = self.open(item);
        self.close(index);
        index
    }

    /// An item that came whole, told as if it had come in pieces.
    pub fn tell_whole(&mut self, item: Item) -> usize {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut begun = item.clone();
        match &mut begun {
            Item::Message(message) => {
                for (place, part) in std::mem::take(&mut message.content).into_iter().enumerate() {
                    match part {
                        Part::OutputText { text, .. } => pieces.push((place, text, Delta::Text)),
                        Part::Refusal { refusal, .. } => {
                            pieces.push((place, refusal, Delta::Refusal));
                        }
                        _ => {}
                    }
                }
            }
            Item::FunctionCall(call) => {
                pieces.push((0, std::mem::take(&mut call.arguments), Delta::Arguments));
            }
            Item::Reasoning(reasoning) => {
                pieces.extend(texts(&std::mem::take(&mut reasoning.summary), Delta::Summary));
                if let Some(Value::Array(content)) = reasoning.extra.get_mut("content") {
                    pieces.extend(texts(&std::mem::take(content), Delta::Reasoning));
                }
            }
            Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
        }
        let index = self.open(begun);
        for (part, piece, delta) in pieces {
            self.tell(index, part, &piece, delta);
        }
        if let Some(told) = self.item_mut(index) {
            *told = item;
        }
        self.close(index);
        index
    }

    /// An item's other fields, or all of it when the vendor repeats it whole. Not told until it is closed.
    pub fn item_mut(&mut self, index: usize) -> Option<&mut Item> {
        self.response.output.get_mut(index)
    }

    pub fn item(&self, index: usize) -> Option<&Item> {
        self.response.output.get(index)
    }

    pub fn is_open(&self, index: usize) -> bool {
        self.open.get(index).copied().unwrap_or_default()
    }

    /// The item is as it will stay. Saying it twice changes nothing.
    pub fn close(&mut self, index: usize) {
        if let (Some(open @ true), Some(item)) =
            (self.open.get_mut(index), self.response.output.get(index))
        {
            *open = false;
            self.events.push(Event::ItemDone { index, item: item.clone() });
        }
    }

    pub fn close_all(&mut self) {
        for index in 0..self.open.len() {
            self.close(index);
        }
    }

    fn close_all_but_calls(&mut self) {
        for index in 0..self.open.len() {
            if !matches!(self.item(index), Some(Item::FunctionCall(_))) {
                self.close(index);
            }
        }
    }

    /// The last item, if it may still grow.
    pub fn last_open(&self) -> Option<usize> {
        let last = self.open.len().checked_sub(1)?;
        self.is_open(last).then_some(last)
    }

    /// Adds to a text part of a message. An item that is closed does not grow, here and below.
    pub fn text(&mut self, index: usize, part: usize, piece: &str) {
        let fresh = || Part::OutputText { text: String::new(), extra: Map::new() };
        if let Some(Part::OutputText { text, .. }) = self.part(index, part, fresh) {
            text.push_str(piece);
            self.tell(index, part, piece, Delta::Text);
        }
    }

    pub fn refusal(&mut self, index: usize, part: usize, piece: &str) {
        let fresh = || Part::Refusal { refusal: String::new(), extra: Map::new() };
        if let Some(Part::Refusal { refusal, .. }) = self.part(index, part, fresh) {
            refusal.push_str(piece);
            self.tell(index, part, piece, Delta::Refusal);
        }
    }

    /// Adds to a reasoning item.
    pub fn thought(&mut self, index: usize, part: usize, kind: Thought, piece: &str) {
        if !self.is_open(index) {
            return;
        }
        let Some(Item::Reasoning(reasoning)) = self.response.output.get_mut(index) else { return };
        let (parts, name) = match kind {
            Thought::Summary => (&mut reasoning.summary, "summary_text"),
            Thought::Raw => match content_of(reasoning) {
                Some(parts) => (parts, "reasoning_text"),
                None => return,
            },
        };
        if !has_room(&mut self.gaps, parts.len(), part) {
            return;
        }
        while parts.len() <= part {
            parts.push(json!({"type": name, "text": ""}));
        }
        if let Some(Value::String(text)) = parts.get_mut(part).and_then(|part| part.get_mut("text"))
        {
            text.push_str(piece);
            self.tell(
                index,
                part,
                piece,
                match kind {
                    Thought::Summary => Delta::Summary,
                    Thought::Raw => Delta::Reasoning,
                },
            );
        }
    }

    /// Adds to a call's arguments.
    pub fn arguments(&mut self, index: usize, piece: &str) {
        if self.is_open(index)
            && let Some(Item::FunctionCall(call)) = self.response.output.get_mut(index)
        {
            call.arguments.push_str(piece);
            self.tell(index, 0, piece, Delta::Arguments);
        }
    }

    /// Text of the reply from a vendor that knows no items: goes on with the message under way, or begins one.
    pub fn say(&mut self, piece: &str) -> usize {
        let index = self.message();
        let part = self.last_part(index, |part| matches!(part, Part::OutputText { .. }));
        self.text(index, part, piece);
        index
    }

    /// Like `say`, for a refusal.
    pub fn refuse(&mut self, piece: &str) -> usize {
        let index = self.message();
        let part = self.last_part(index, |part| matches!(part, Part::Refusal { .. }));
        self.refusal(index, part, piece);
        index
    }

    /// Like `say`, for a thought. What was under way is done, but for calls: their arguments may still follow.
    pub fn think(&mut self, kind: Thought, piece: &str) -> usize {
        let index = match self.last_open() {
            Some(index) if matches!(self.item(index), Some(Item::Reasoning(_))) => index,
            _ => {
                self.close_all_but_calls();
                self.open(Item::Reasoning(Reasoning {
                    id: None,
                    summary: Vec::new(),
                    extra: Map::new(),
                }))
            }
        };
        self.thought(index, 0, kind, piece);
        index
    }

    /// A call whose arguments follow, or are there already.
    pub fn call(&mut self, call_id: &str, name: &str, arguments: &str) -> usize {
        let index = self.open(Item::FunctionCall(FunctionCall {
            id: None,
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
            extra: Map::new(),
        }));
        if !arguments.is_empty() {
            self.arguments(index, arguments);
        }
        index
    }

    pub fn usage(&mut self, usage: Usage) {
        if !self.completed {
            self.response.usage = Some(usage);
        }
    }

    /// The natural end.
    pub fn complete(&mut self) {
        if matches!(self.response.status, Status::InProgress | Status::Queued) {
            self.response.status = Status::Completed;
        }
        self.finish();
    }

    /// An end by a limit or a filter.
    pub fn incomplete(&mut self, reason: &str) {
        if !self.completed {
            self.response.incomplete(reason);
            self.finish();
        }
    }

    pub fn is_completed(&self) -> bool {
        self.completed
    }

    /// What was to be told since the last time.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The response, once it is complete.
    pub fn into_response(self) -> Option<Response> {
        self.completed.then_some(self.response)
    }

    fn finish(&mut self) {
        if !self.completed {
            self.start();
            self.close_all();
            self.completed = true;
            self.events.push(Event::Completed(Box::new(self.response.clone())));
        }
    }

    /// The message under way. A reply that goes on talking after a thought or a call begins another.
    fn message(&mut self) -> usize {
        match self.last_open() {
            Some(index) if matches!(self.item(index), Some(Item::Message(_))) => index,
            last => {
                if let Some(index) = last
                    && matches!(self.item(index), Some(Item::Reasoning(_)))
                {
                    self.close(index);
                }
                self.open(Item::Message(MessageItem {
                    id: None,
                    role: Role::Assistant,
                    content: Vec::new(),
                    extra: Map::new(),
                }))
            }
        }
    }

    /// The last part when it is of the kind wanted, else the place behind it.
    fn last_part(&self, index: usize, wanted: impl Fn(&Part) -> bool) -> usize {
        match self.item(index) {
            Some(Item::Message(message)) => match message.content.last() {
                Some(part) if wanted(part) => message.content.len() - 1,
                _ => message.content.len(),
            },
            _ => 0,
        }
    }

    fn part(&mut self, index: usize, part: usize, fresh: impl Fn() -> Part) -> Option<&mut Part> {
        if !self.is_open(index) {
            return None;
        }
        let Some(Item::Message(message)) = self.response.output.get_mut(index) else { return None };
        if !has_room(&mut self.gaps, message.content.len(), part) {
            return None;
        }
        while message.content.len() <= part {
            message.content.push(fresh());
        }
        message.content.get_mut(part)
    }

    fn tell(&mut self, index: usize, part: usize, piece: &str, delta: impl Fn(String) -> Delta) {
        if !piece.is_empty() {
            self.events.push(Event::Delta { index, part, delta: delta(piece.to_owned()) });
        }
    }
}

/// A vendor names a part's place by a number, and any number could come. So many parts that nobody has sent are made
/// in one response; a piece that would need more is left out.
const MOST_GAPS: usize = 1_000;

/// Whether a part can be at its place, and counts the parts that must be made before it.
fn has_room(gaps: &mut usize, parts: usize, place: usize) -> bool {
    let needed = gaps.saturating_add(place.saturating_sub(parts));
    let room = needed <= MOST_GAPS;
    if room {
        *gaps = needed;
    }
    room
}

/// A text with its place, and what it is a piece of.
type Piece = (usize, String, fn(String) -> Delta);

fn texts(parts: &[Value], delta: fn(String) -> Delta) -> impl Iterator<Item = Piece> {
    parts.iter().enumerate().filter_map(move |(place, part)| {
        let text = part.get("text")?.as_str()?;
        Some((place, text.to_owned(), delta))
    })
}

fn content_of(reasoning: &mut Reasoning) -> Option<&mut Vec<Value>> {
    let content = reasoning.extra.entry("content").or_insert_with(|| json!([]));
    if content.is_null() {
        *content = json!([]);
    }
    content.as_array_mut()
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
