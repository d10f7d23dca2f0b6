//! The newest events of a world, as the log tells them.
//! Owned by the state. Keeps a bounded number, and of each a bounded text.

use std::collections::VecDeque;

use agent_world_core::display::{mask_secrets, reveal_line};
use serde_json::Value;

use super::words;

/// Events that are kept, and characters of one.
const KEPT: usize = 2_000;
const LONGEST: usize = 20_000;
/// Characters of one string in an event.
const STRING: usize = 4_000;
const KINDS: [&str; 7] = ["message", "stream", "tool", "approval", "activity", "system", "crud"];

#[derive(Debug, Default)]
pub struct Log {
    events: VecDeque<Logged>,
    /// Which kind is shown; none shows all.
    kind: Option<usize>,
    filter: String,
    /// The number of what is selected; none is the newest.
    selected: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Logged {
    pub seq: u64,
    pub world: String,
    pub kind: String,
    pub at: String,
    /// What happened, on one line.
    pub about: String,
    /// All of it, or its beginning where it is long.
    pub text: String,
}

impl Log {
    pub fn take(&mut self, json: &Value) {
        let Some(seq) = json.get("seq").and_then(Value::as_u64) else {
            return;
        };
        let place = match self.events.back() {
            Some(last) if last.seq < seq => self.events.len(),
            _ => self.events.partition_point(|event| event.seq < seq),
        };
        if self.events.get(place).is_some_and(|event| event.seq == seq) {
            return;
        }
        self.events.insert(place, Logged::of(seq, json));
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
    }

    /// Those of a world that are to be seen, oldest first.
    pub fn rows<'t>(
        &'t self,
        world: &str,
    ) -> impl DoubleEndedIterator<Item = &'t Logged> + use<'t> {
        let world = world.to_owned();
        let kind = self.kind();
        let filter = self.filter.to_lowercase();
        self.events.iter().filter(move |event| {
            event.world == world
                && kind.is_none_or(|kind| event.kind == kind)
                && (filter.is_empty() || event.about.to_lowercase().contains(&filter))
        })
    }

    pub fn kind(&self) -> Option<&'static str> {
        KINDS.get(self.kind?).copied()
    }

    /// All kinds, then one after another.
    pub fn next_kind(&mut self) {
        self.kind = match self.kind {
            None => Some(0),
            Some(kind) if kind + 1 < KINDS.len() => Some(kind + 1),
            Some(_) => None,
        };
        self.selected = None;
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    pub fn filter_by(&mut self, filter: String) {
        self.filter = filter;
        self.selected = None;
    }

    pub fn is_selected(&self, event: &Logged) -> bool {
        self.selected == Some(event.seq)
    }

    pub fn selected(&self, world: &str) -> Option<&Logged> {
        match self.selected {
            Some(seq) => self.rows(world).find(|event| event.seq == seq),
            None => self.rows(world).next_back(),
        }
    }

    pub fn step(&mut self, world: &str, by: isize) {
        let numbers: Vec<u64> = self.rows(world).map(|event| event.seq).collect();
        let Some(last) = numbers.len().checked_sub(1) else {
            return;
        };
        let place = self.selected.and_then(|seq| numbers.iter().position(|one| *one == seq));
        let to = place.unwrap_or(last).saturating_add_signed(by).min(last);
        let follows = to == last && by > 0;
        self.selected = numbers.get(to).copied().filter(|_| !follows);
    }

    pub fn go_to_end(&mut self) {
        self.selected = None;
    }

    /// The first of so many rows, such that the selected one is among them.
    pub fn window(&self, world: &str, rows: usize) -> Vec<&Logged> {
        let all: Vec<&Logged> = self.rows(world).collect();
        let selected = all.iter().position(|event| self.is_selected(event));
        let last = selected.map_or(all.len(), |place| (place + rows / 2 + 1).max(rows));
        let end = last.min(all.len());
        all.get(end.saturating_sub(rows)..end).unwrap_or_default().to_vec()
    }
}

impl Logged {
    fn of(seq: u64, json: &Value) -> Self {
        let text = |name: &str| {
            let text = json.get(name).and_then(Value::as_str).unwrap_or_default();
            text.to_owned()
        };
        let data =
            mask_secrets(&words::shortened(json.get("data").unwrap_or(&Value::Null), STRING));
        let kind = text("type");
        let all = format!("{data:#}");
        Self {
            seq,
            world: text("world_id"),
            about: about(&kind, &data),
            kind,
            at: text("at"),
            text: match all.char_indices().nth(LONGEST) {
                Some((end, _)) => {
                    let start = all.get(..end).unwrap_or_default();
                    format!("{start}\n… cut: `agent-world events tail --json` shows all")
                }
                None => all,
            },
        }
    }
}

fn about(kind: &str, data: &Value) -> String {
    let of = |names: &[&str]| {
        let texts = names.iter().filter_map(|name| match data.get(*name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.chars().take(200).collect()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        texts.collect::<Vec<String>>().join("  ")
    };
    let text = match kind {
        "message" => of(&["sender", "content"]),
        "stream" => of(&["phase", "agent_id", "error"]),
        "tool" => of(&["state", "agent_id", "name"]),
        "approval" => of(&["state", "decided_by", "agent_id", "tool"]),
        "activity" => of(&["state"]),
        "system" => of(&["code", "text"]),
        _ => of(&["entity", "action", "id", "by"]),
    };
    let text = reveal_line(&text).into_owned();
    match data.get("arguments") {
        Some(arguments) => format!("{text}  {}", words::call(arguments)),
        None => text,
    }
}
