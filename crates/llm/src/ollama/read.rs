//! Decides what the objects of an Ollama reply mean, whether they are pieces or the whole.
//! Called by the dialect for both. Calls are never executed here, and what is unknown is passed over.

use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Line, Said, Wish};
use crate::dialect::{Asked, Reader};
use crate::frames::Frame;
use crate::{Draft, Error, Thought, Usage, explain, origin};

/// Reads one object after the other.
#[derive(Debug)]
pub struct Lines {
    asked: Asked,
    /// What made ids begin with: the time of the reply, since Ollama gives replies no id.
    time: String,
    calls: usize,
}

impl Lines {
    pub fn new(asked: &Asked) -> Self {
        Self { asked: asked.clone(), time: String::new(), calls: 0 }
    }

    pub fn take(&mut self, line: Line<'_>, draft: &mut Draft) -> Result<(), Error> {
        if !matches!(line.error, Value::Null) {
            let said = serde_json::json!({
                "error": line.error, "status": line.status, "code": line.code,
            });
            return Err(explain::value(&self.asked.vendor, &said));
        }
        self.head(&line, draft);
        if let Some(said) = &line.message {
            self.say(said, draft);
        }
        if line.done == Some(true) {
            end(&line, draft);
        }
        Ok(())
    }

    fn head(&mut self, line: &Line<'_>, draft: &mut Draft) {
        let response = draft.response_mut();
        if let (true, Some(model)) = (response.model.is_empty(), &line.model) {
            response.model.clone_from(model);
        }
        if let (true, Some(time)) = (self.time.is_empty(), &line.created_at) {
            self.time = time.chars().filter(char::is_ascii_digit).take(LONGEST_TIME).collect();
            response.created_at =
                time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
        }
        draft.start();
    }

    fn say(&mut self, said: &Said<'_>, draft: &mut Draft) {
        if let Some(thought) = said.thinking.as_deref().filter(|text| !text.is_empty()) {
            let index = draft.think(Thought::Raw, thought);
            self.mark(index, draft);
        }
        if let Some(text) = said.content.as_deref().filter(|text| !text.is_empty()) {
            let index = draft.say(text);
            self.mark(index, draft);
        }
        for wish in said.tool_calls.iter().flatten() {
            self.call(wish, draft);
        }
    }

    /// A call comes whole, also in a stream.
    fn call(&mut self, wish: &Wish<'_>, draft: &mut Draft) {
        let Some(function) = &wish.function else { return };
        let given = wish.id.as_deref().filter(|id| !id.is_empty());
        let id = match given {
            Some(id) => id.to_owned(),
            None => {
                let time = if self.time.is_empty() { "0" } else { &self.time };
                format!("call_{time}_{}", self.calls)
            }
        };
        self.calls += 1;
        // What was said or thought before is complete; what is said afterwards is another message.
        draft.close_all();
        let name = function.name.as_deref().unwrap_or_default();
        let index = draft.call(&id, name, &arguments(function.arguments));
        self.mark(index, draft);
        if let Some(item) = draft.item_mut(index) {
            if given.is_none() {
                origin::note(item, "made_id", true.into());
            }
            if function.index.is_number() {
                origin::note(item, "index", function.index.clone());
            }
        }
        draft.close(index);
    }

    /// Every piece comes by here, so it is done at the first.
    fn mark(&self, index: usize, draft: &mut Draft) {
        if draft.item(index).is_some_and(|item| origin::Origin::of(item).is_some()) {
            return;
        }
        let answering = &draft.response().model;
        let model = if answering.is_empty() { &self.asked.model } else { answering }.clone();
        if let Some(item) = draft.item_mut(index) {
            origin::mark(item, &self.asked.vendor, &model);
        }
    }
}

impl Reader for Lines {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let line = serde_json::from_str(&frame.data)
            .map_err(|error| self.asked.unreadable("a line of the stream", &error))?;
        self.take(line, draft)
    }
}

/// Digits of a time with nanoseconds and an offset.
const LONGEST_TIME: usize = 27;

fn arguments(raw: Option<&RawValue>) -> String {
    let raw = raw.map_or("", |raw| raw.get().trim());
    match raw {
        "" | "null" | "\"\"" => "{}".to_owned(),
        // Some servers that speak this format send the text of the object.
        text if text.starts_with('"') => {
            serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
        }
        object => object.to_owned(),
    }
}

/// `stop`, and `load` and `unload` for a request without messages, are natural ends.
fn end(line: &Line<'_>, draft: &mut Draft) {
    if let Some(usage) = usage(line) {
        draft.usage(usage);
    }
    match line.done_reason.as_deref() {
        Some("length") => draft.incomplete("max_output_tokens"),
        _ => draft.complete(),
    }
}

fn usage(line: &Line<'_>) -> Option<Usage> {
    let (input, output) = (line.prompt_eval_count.as_u64(), line.eval_count.as_u64());
    if input.is_none() && output.is_none() {
        return None;
    }
    let mut usage = Usage::new(input.unwrap_or_default(), output.unwrap_or_default());
    let durations = [
        ("total_duration", &line.total_duration),
        ("load_duration", &line.load_duration),
        ("prompt_eval_duration", &line.prompt_eval_duration),
        ("eval_duration", &line.eval_duration),
    ];
    for (key, value) in durations {
        if value.is_number() {
            usage.extra.insert(key.to_owned(), value.clone());
        }
    }
    Some(usage)
}
