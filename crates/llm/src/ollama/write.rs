//! Decides how a request is said to Ollama: items become messages, one for each turn of the model.
//! Called by the dialect. What Ollama has no word for is left out or put in words; nothing is refused.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use agent_world_core::item::{
    FunctionCall, FunctionCallOutput, Item, MessageItem, Part, Reasoning, Role,
};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::wire::{
    Arguments, Body, Call, CalledFunction, Format, Message, Think, Tool, ToolFunction,
};
use crate::dialect::Asked;
use crate::origin::{self, Origin};
use crate::{Capabilities, FunctionTool, Request, Thinking, ToolChoice};

pub fn body<'a>(request: &'a Request, asked: &'a Asked) -> Body<'a> {
    let mut conversation = Conversation::new(asked);
    if !request.instructions.is_empty() {
        conversation.messages.push(Message {
            role: "system",
            content: Cow::Borrowed(&request.instructions),
            ..Message::default()
        });
    }
    for item in &request.input {
        conversation.add(item);
    }
    Body {
        model: &asked.model,
        messages: conversation.done(),
        stream: asked.stream,
        tools: tools(request, &asked.capabilities),
        think: think(request, &asked.capabilities),
        format: format(request),
        options: options(request, &asked.capabilities),
        settings: request.options_for(&asked.vendor),
    }
}

/// Messages so far, and the turn of the model that is being put together.
struct Conversation<'a> {
    asked: &'a Asked,
    messages: Vec<Message<'a>>,
    turn: Option<Message<'a>>,
    /// Whether the last text of the turn was written by this vendor, and so came in one piece with what it wrote next.
    own: bool,
    /// The name of each call's tool, and whether its id is the vendor's.
    calls: HashMap<&'a str, (&'a str, bool)>,
}

impl<'a> Conversation<'a> {
    fn new(asked: &'a Asked) -> Self {
        Self { asked, messages: Vec::new(), turn: None, own: false, calls: HashMap::new() }
    }

    fn add(&mut self, item: &'a Item) {
        let own = Origin::by(item, &self.asked.vendor);
        match item {
            Item::Message(message) if message.role == Role::Assistant => {
                self.say(message, own.is_some());
            }
            Item::Message(message) => self.told(message),
            Item::FunctionCall(call) => self.call(call, own),
            Item::FunctionCallOutput(output) => self.result(output),
            // Thoughts of others are in other words than this model would think in.
            Item::Reasoning(reasoning) if own.is_some() => self.thought(reasoning),
            Item::Reasoning(_) | Item::Unknown(_) => {}
        }
    }

    fn turn(&mut self) -> &mut Message<'a> {
        self.turn.get_or_insert_with(|| Message { role: "assistant", ..Message::default() })
    }

    fn end_turn(&mut self) {
        self.own = false;
        if let Some(turn) = self.turn.take() {
            self.messages.push(turn);
        }
    }

    fn done(mut self) -> Vec<Message<'a>> {
        self.end_turn();
        self.messages
    }

    fn say(&mut self, message: &'a MessageItem, own: bool) {
        let text = joined(&message.content, "");
        if text.is_empty() {
            return;
        }
        let between = if own && self.own { "" } else { "\n\n" };
        self.own = own;
        append(&mut self.turn().content, between, text);
    }

    fn thought(&mut self, reasoning: &'a Reasoning) {
        let raw = reasoning.extra.get("content").and_then(Value::as_array);
        for text in raw.into_iter().flatten().filter_map(|part| part.get("text")?.as_str()) {
            append(&mut self.turn().thinking, "", Cow::Borrowed(text));
        }
    }

    fn call(&mut self, call: &'a FunctionCall, own: Option<Origin<'a>>) {
        let made = own.is_some_and(|origin| origin.get("made_id") == Some(&Value::Bool(true)));
        let given = !made && !call.call_id.is_empty();
        self.calls.insert(&call.call_id, (&call.name, given));
        self.turn().tool_calls.push(Call {
            id: given.then_some(&call.call_id),
            function: CalledFunction {
                index: own.and_then(|origin| origin.get("index")),
                name: &call.name,
                arguments: arguments(&call.arguments),
            },
        });
    }

    /// A result whose call is not here keeps its id and has no name.
    fn result(&mut self, output: &'a FunctionCallOutput) {
        self.end_turn();
        let (name, given) = match self.calls.get(output.call_id.as_str()) {
            Some((name, given)) => (Some(*name), *given),
            None => (None, !output.call_id.is_empty()),
        };
        let mut message = Message {
            role: "tool",
            tool_name: name,
            tool_call_id: given.then_some(&output.call_id),
            ..Message::default()
        };
        match &output.output {
            Value::String(text) => message.content = Cow::Borrowed(text),
            Value::Null => {}
            Value::Array(list) if list.iter().all(is_part) => {
                (message.content, message.images) = self.result_parts(list);
            }
            other => message.content = Cow::Owned(other.to_string()),
        }
        self.messages.push(message);
    }

    /// The text of a result made of parts, and its images.
    fn result_parts(&self, list: &'a [Value]) -> (Cow<'a, str>, Vec<&'a str>) {
        let (mut content, mut images) = (Cow::Borrowed(""), Vec::new());
        for part in list {
            let text = |key: &str| part.get(key).and_then(Value::as_str);
            match (text("image_url").and_then(base64), text("text")) {
                (Some(image), _) if self.asked.capabilities.vision => images.push(image),
                (None, Some(text)) => append(&mut content, "\n", Cow::Borrowed(text)),
                _ => {
                    let part =
                        Part::deserialize(part).unwrap_or_else(|_| Part::Unknown(Value::Null));
                    append(&mut content, "\n", Cow::Owned(origin::in_words(&part)));
                }
            }
        }
        (content, images)
    }

    /// A message of the user or of the system, whose images Ollama wants beside the text.
    fn told(&mut self, message: &'a MessageItem) {
        self.end_turn();
        let role = match message.role {
            Role::System | Role::Developer => "system",
            Role::User | Role::Assistant => "user",
        };
        let (mut images, mut texts) = (Vec::new(), Vec::new());
        for part in &message.content {
            match image(part).filter(|_| self.asked.capabilities.vision) {
                Some(data) => images.push(data),
                None => texts.push(part),
            }
        }
        let content = joined(texts, "\n");
        if !content.is_empty() || !images.is_empty() {
            self.messages.push(Message { role, content, images, ..Message::default() });
        }
    }
}

/// Parts in words; a single text is not copied.
fn joined<'a>(parts: impl IntoIterator<Item = &'a Part>, between: &str) -> Cow<'a, str> {
    let mut joined = Cow::Borrowed("");
    for part in parts {
        let text = match part.text() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(origin::in_words(part)),
        };
        append(&mut joined, between, text);
    }
    joined
}

fn append<'a>(to: &mut Cow<'a, str>, between: &str, text: Cow<'a, str>) {
    if to.is_empty() {
        *to = text;
    } else if !text.is_empty() {
        let to = to.to_mut();
        to.push_str(between);
        to.push_str(&text);
    }
}

/// Whether a value in a result is a part like those of a message, and not just any JSON.
fn is_part(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string)
}

/// What Ollama takes of an image: its bytes. Addresses it does not follow.
fn image(part: &Part) -> Option<&str> {
    match part {
        Part::InputImage { image_url: Some(url), .. } => base64(url),
        _ => None,
    }
}

fn base64(url: &str) -> Option<&str> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then_some(data)
}

/// The text of an object goes as it is. It is read first: a number that nobody can hold is JSON all the same, and the
/// server would refuse this conversation ever after.
fn arguments(text: &str) -> Arguments<'_> {
    let trimmed = text.trim();
    if matches!(trimmed, "" | "null") {
        return Arguments::None {};
    }
    match (serde_json::from_str::<Map<String, Value>>(trimmed), serde_json::from_str(trimmed)) {
        (Ok(_), Ok(raw)) => Arguments::Object(raw),
        _ => Arguments::Text { arguments: text },
    }
}

/// Ollama has no way to demand a call. Which tools may be used is said by offering no others.
fn tools<'a>(request: &'a Request, capabilities: &Capabilities) -> Vec<Tool<'a>> {
    let offered = |function: &FunctionTool| match &request.tool_choice {
        Some(ToolChoice::None) => false,
        Some(ToolChoice::Function { name }) => *name == function.name,
        Some(ToolChoice::Allowed { names, .. }) => names.contains(&function.name),
        Some(ToolChoice::Auto | ToolChoice::Required | ToolChoice::Unknown(_)) | None => true,
    };
    if !capabilities.tools {
        return Vec::new();
    }
    let tool = |function: &'a FunctionTool| Tool {
        r#type: "function",
        function: ToolFunction {
            name: &function.name,
            description: &function.description,
            parameters: match &*function.parameters {
                Value::Null => Cow::Owned(json!({"type": "object", "properties": Map::new()})),
                parameters => Cow::Borrowed(parameters),
            },
        },
    };
    request.functions().filter(|function| offered(function)).map(tool).collect()
}

/// Most models are told yes or no and decide the rest. Those that are told an effort cannot be told not to think at all.
fn think(request: &Request, capabilities: &Capabilities) -> Option<Think> {
    let effort = request.reasoning.as_ref()?.effort.as_deref()?;
    if !capabilities.reasoning {
        return None;
    }
    Some(match (capabilities.accepts.thinking, effort) {
        (Thinking::Effort, "none" | "minimal" | "low") => Think::Effort("low"),
        (Thinking::Effort, "medium") => Think::Effort("medium"),
        (Thinking::Effort, _) => Think::Effort("high"),
        (_, effort) => Think::Switch(effort != "none"),
    })
}

fn format(request: &Request) -> Option<Format<'_>> {
    match request.text.as_ref()?.format.as_ref()? {
        crate::Format::JsonObject => Some(Format::Name("json")),
        crate::Format::JsonSchema(schema) => Some(Format::Schema(&schema.schema)),
        crate::Format::Text | crate::Format::Unknown(_) => None,
    }
}

fn options(request: &Request, capabilities: &Capabilities) -> BTreeMap<&'static str, Value> {
    let temperature = request.temperature.filter(|_| capabilities.accepts.temperature);
    [
        ("temperature", temperature.map(Value::from)),
        ("top_p", request.top_p.map(Value::from)),
        ("num_predict", request.max_output_tokens.map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect()
}
