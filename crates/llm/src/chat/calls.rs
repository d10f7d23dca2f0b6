//! Decides which call a piece of a call belongs to, and what a call's arguments are when a host writes them oddly.
//! Fed by `turn`. Calls are told apart by their index; id and name come with the first piece only, or with every one.
//! Never judges whether arguments are sensible: what a limit cut stays as it came.

use std::collections::HashMap;

use agent_world_core::item::Item;
use serde_json::{Map, Value};

use super::notes;
use crate::{Draft, origin};

/// The calls of one message.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
struct Call {
    /// Its place in the draft.
    at: usize,
    /// As the host gave it; empty if it gave none.
    id: String,
    /// Arguments that may yet turn out to stand for nothing. None once some were told.
    held: Option<String>,
    /// Fields that nobody here knows.
    unknown: Map<String, Value>,
}

/// One entry of `tool_calls`.
struct Entry<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
}

impl Calls {
    pub(super) fn take(
        &mut self,
        entries: &[Value],
        whole: bool,
        raw: &dyn Fn() -> Vec<Option<String>>,
        draft: &mut Draft,
    ) {
        for (place, value) in entries.iter().enumerate() {
            let function = value.get("function").unwrap_or(&Value::Null);
            let text = |of: &Value, key: &str| -> String {
                of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let (id, name) = (text(value, "id"), text(function, "name"));
            let index = if whole {
                u64::try_from(place).ok()
            } else {
                value.get("index").and_then(Value::as_u64)
            };
            let arguments = match function.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                None | Some(Value::Null) => String::new(),
                // An object where a text belongs: as it was written, not as we would write it.
                Some(other) => {
                    raw().into_iter().nth(place).flatten().unwrap_or_else(|| other.to_string())
                }
            };
            let slot = self.slot(&Entry { index, id: &id, name: &name }, draft);
            let Some(call) = self.calls.get_mut(slot) else { continue };
            for (key, value) in value.as_object().into_iter().flatten() {
                if !matches!(key.as_str(), "index" | "id" | "type" | "function") {
                    notes::merge(&mut call.unknown, key, value);
                }
            }
            let repeated = !name.is_empty() && call.has_all(&arguments, draft);
            if !repeated {
                call.add(&arguments, draft);
            }
        }
    }

    /// All that will come of the arguments has come.
    pub(super) fn settle(&mut self, truncated: bool, draft: &mut Draft) {
        for call in &mut self.calls {
            if let Some(held) = call.held.take() {
                let nothing = matches!(held.trim(), "" | "null");
                draft.arguments(call.at, if nothing && !truncated { "{}" } else { &held });
            }
            let Some(item) = draft.item_mut(call.at) else { continue };
            if call.id.is_empty() {
                origin::note(item, notes::MADE_ID, true.into());
            }
            if !call.unknown.is_empty() {
                let unknown = std::mem::take(&mut call.unknown);
                origin::note(item, notes::CALL, Value::Object(unknown));
            }
        }
    }

    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().map(|call| call.at)
    }

    /// The call an entry belongs to; a new one when it belongs to none.
    fn slot(&mut self, entry: &Entry<'_>, draft: &mut Draft) -> usize {
        match self.find(entry) {
            Some(slot) => {
                self.complete(slot, entry, draft);
                slot
            }
            None => self.begin(entry, draft),
        }
    }

    fn find(&self, entry: &Entry<'_>) -> Option<usize> {
        let slot = match entry.index {
            Some(index) => self.by_index.get(&index).copied(),
            None if !entry.id.is_empty() => self.by_id.get(entry.id).copied(),
            // Without index, id and name it can only be more of the last one.
            None if entry.name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        // Some hosts give all calls the same index: another id and a name begin another call.
        slot.filter(|slot| {
            let known = self.calls.get(*slot).map_or("", |call| call.id.as_str());
            entry.id.is_empty() || known.is_empty() || known == entry.id || entry.name.is_empty()
        })
    }

    fn begin(&mut self, entry: &Entry<'_>, draft: &mut Draft) -> usize {
        let slot = self.calls.len();
        let made = match draft.response().id.as_str() {
            "" => format!("call_0_{slot}"),
            id => format!("call_{id}_{slot}"),
        };
        let id = if entry.id.is_empty() { &made } else { entry.id };
        let at = draft.call(id, entry.name, "");
        self.calls.push(Call {
            at,
            id: entry.id.to_owned(),
            held: Some(String::new()),
            unknown: Map::new(),
        });
        if let Some(index) = entry.index {
            self.by_index.insert(index, slot);
        }
        if !entry.id.is_empty() {
            self.by_id.insert(entry.id.to_owned(), slot);
        }
        slot
    }

    /// Fills in what the first piece of a call left out.
    fn complete(&mut self, slot: usize, entry: &Entry<'_>, draft: &mut Draft) {
        let Some(call) = self.calls.get_mut(slot) else { return };
        let Some(Item::FunctionCall(item)) = draft.item_mut(call.at) else { return };
        if item.name.is_empty() {
            entry.name.clone_into(&mut item.name);
        }
        if call.id.is_empty() && !entry.id.is_empty() {
            entry.id.clone_into(&mut call.id);
            entry.id.clone_into(&mut item.call_id);
            self.by_id.insert(entry.id.to_owned(), slot);
        }
    }
}

impl Call {
    /// Arguments are held back while they may be nothing or `null`, which both stand for an empty object.
    fn add(&mut self, piece: &str, draft: &mut Draft) {
        let Some(held) = &mut self.held else { return draft.arguments(self.at, piece) };
        held.push_str(piece);
        if held.len() > LONGEST_NOTHING || !"null".starts_with(held.trim()) {
            draft.arguments(self.at, held);
            self.held = None;
        }
    }

    /// Whether a host that names the call again also gives again the arguments that were complete.
    fn has_all(&self, arguments: &str, draft: &Draft) -> bool {
        match draft.item(self.at) {
            Some(Item::FunctionCall(call)) if !arguments.is_empty() => {
                call.arguments == arguments
                    && serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
            }
            _ => false,
        }
    }
}

/// Blanks beyond this are arguments, if odd ones; looking at them again and again would take its time.
const LONGEST_NOTHING: usize = 64;
