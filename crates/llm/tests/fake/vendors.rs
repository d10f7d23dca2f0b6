//! Every vendor on this machine: one server with a door for each, where the vendor's own address, key and wire format
//! are expected. It answers what is asked: tools are called once, a schema is followed, anything else is repeated.
//! Used by tests that go the whole way over real connections. It shares no code with the library: a mistake that both
//! made would go unseen.
#![allow(dead_code, reason = "each of the tests that it serves uses a part of it")]

mod anthropic;
mod chat;
mod google;
mod ollama;
mod openai;
mod schema;

use serde_json::{Value, json};

use crate::server::{Answer, Recorded, Server};

/// The only key that any door takes.
pub const KEY: &str = "sk-fake-0123456789abcdef";

/// What every model thinks before it answers.
pub const THOUGHT: &str = "Let me think.";

/// Where a vendor is, and what it expects.
#[derive(Debug)]
pub struct Door {
    /// The first part of the path; the vendor's name, but for Azure, which has two doors.
    pub name: &'static str,
    /// The rest of the base URL's path, as the vendor's own has it.
    base: &'static str,
    key_header: &'static str,
    /// Whether it can be entered without a key.
    pub key_optional: bool,
    speaks: Speaks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Responses,
    Chat,
    Deployments,
    Anthropic,
    Google,
    Ollama,
}

const fn door(name: &'static str, base: &'static str, speaks: Speaks) -> Door {
    Door { name, base, key_header: "authorization", key_optional: false, speaks }
}

pub const DOORS: &[Door] = &[
    door("openai", "/v1", Speaks::Responses),
    Door { key_header: "x-api-key", ..door("anthropic", "/v1", Speaks::Anthropic) },
    Door { key_header: "x-goog-api-key", ..door("google", "/v1beta", Speaks::Google) },
    door("xai", "/v1", Speaks::Responses),
    door("groq", "/openai/v1", Speaks::Chat),
    door("together", "/v1", Speaks::Chat),
    door("mistral", "/v1", Speaks::Chat),
    door("deepseek", "", Speaks::Chat),
    door("openrouter", "/api/v1", Speaks::Chat),
    Door { key_optional: true, ..door("ollama", "", Speaks::Ollama) },
    Door { key_optional: true, ..door("llamacpp", "/v1", Speaks::Chat) },
    Door { key_optional: true, ..door("vllm", "/v1", Speaks::Chat) },
    Door { key_header: "api-key", ..door("azure", "/openai/v1", Speaks::Responses) },
    Door { key_header: "api-key", ..door("azure-deployments", "", Speaks::Deployments) },
    door("lab", "/v1", Speaks::Chat),
];

/// The server behind all doors; it ends when it is dropped.
pub struct Fake(Server);

impl Fake {
    pub async fn start() -> Self {
        Self(Server::answering(answer).await)
    }

    /// The base URL of a door.
    pub fn url(&self, name: &str) -> String {
        let door = DOORS.iter().find(|door| door.name == name).unwrap();
        format!("http://{}/{name}{}", self.0.address, door.base)
    }

    /// What came, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.0.requests()
    }
}

/// What a request asks, whatever its format.
#[derive(Debug, Default)]
pub struct Asked {
    pub model: String,
    pub instructions: String,
    pub turns: Vec<Turn>,
    pub images: usize,
    /// Names and schemas.
    pub tools: Vec<(String, Value)>,
    /// The schema that the reply must follow; `true` for any JSON.
    pub schema: Option<Value>,
    pub stream: bool,
}

/// A step of a conversation.
#[derive(Debug)]
pub enum Turn {
    User(String),
    Model,
    /// By its id, or by its name where the vendor goes by names.
    Call(String),
    Result {
        of: String,
        text: String,
    },
}

/// A reply, whatever its format.
#[derive(Debug, Default)]
pub struct Said {
    pub model: String,
    pub text: String,
    pub calls: Vec<Call>,
}

#[derive(Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// Opens the door that the path names.
fn answer(request: &Recorded) -> Answer {
    let mut words = request.line.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let found = DOORS.iter().find_map(|door| {
        let behind = path.strip_prefix('/')?.strip_prefix(door.name)?;
        Some((door, behind.strip_prefix(door.base)?)).filter(|(_, rest)| rest.starts_with('/'))
    });
    let Some((door, path)) = found else { return Answer::json(404, "no such door") };
    if let Some(refusal) = door.refusal(request) {
        return refusal;
    }
    if method == "GET" {
        return door.list(path, query);
    }
    let body = request.json();
    let Some(asked) = door.read(path, query, request, &body) else {
        return door.complaint(404, &format!("there is no {path}?{query} here"));
    };
    match problem(&asked) {
        Some(problem) => door.complaint(400, &problem),
        None => door.write(&said(&asked), &asked),
    }
}

/// What every vendor refuses.
fn problem(asked: &Asked) -> Option<String> {
    let fits = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    if let Some((name, _)) = asked.tools.iter().find(|(name, _)| !fits(name)) {
        return Some(format!("a tool cannot be called {name}"));
    }
    let called =
        |id: &String| asked.turns.iter().any(|turn| matches!(turn, Turn::Call(c) if c == id));
    asked.turns.iter().find_map(|turn| match turn {
        Turn::Result { of, .. } if !called(of) => Some(format!("nothing was called by {of}")),
        _ => None,
    })
}

/// Calls every tool once, then repeats what it was told last.
fn said(asked: &Asked) -> Said {
    let mut said = Said { model: asked.model.clone(), ..Said::default() };
    let has_results = asked.turns.iter().any(|turn| matches!(turn, Turn::Result { .. }));
    if !asked.tools.is_empty() && !has_results {
        let call = |(place, (name, schema)): (usize, &(String, Value))| Call {
            // Nine letters and digits: one vendor takes no other ids.
            id: format!("call{place:05}"),
            name: name.clone(),
            arguments: schema::example(schema),
        };
        said.text = "I will look.".to_owned();
        said.calls = asked.tools.iter().enumerate().map(call).collect();
        return said;
    }
    if let Some(schema) = asked.schema.clone().filter(Value::is_object).or_else(|| in_words(asked))
    {
        said.text = schema::example(&schema).to_string();
        return said;
    }
    let own = |turn: &Turn| matches!(turn, Turn::Model | Turn::Call(_));
    let last = asked.turns.rsplit(own).next().unwrap_or_default();
    let mut lines: Vec<String> = last
        .iter()
        .map(|turn| match turn {
            Turn::User(text) => format!("You said: {text}"),
            Turn::Result { text, .. } => format!("The tool said: {text}"),
            Turn::Model | Turn::Call(_) => String::new(),
        })
        .collect();
    if asked.images > 0 {
        lines.push(format!("Images: {}", asked.images));
    }
    said.text = lines.join("\n");
    said
}

/// The schema that the instructions hold, for a vendor that cannot be given it in another way.
fn in_words(asked: &Asked) -> Option<Value> {
    let (_, behind) = asked.instructions.split_once("JSON schema")?;
    let schema = behind.get(behind.find('{')?..)?;
    serde_json::Deserializer::from_str(schema).into_iter().next()?.ok()
}

impl Door {
    fn refusal(&self, request: &Recorded) -> Option<Answer> {
        let key = match (self.key_header, request.header(self.key_header)) {
            ("authorization", Some(value)) => value.strip_prefix("Bearer "),
            (_, value) => value,
        };
        match key {
            Some(KEY) => None,
            None if self.key_optional => None,
            // A vendor that repeats what it was sent: nobody must ever see that.
            key => {
                let sent = key.unwrap_or("(nothing)");
                Some(self.complaint(401, &format!("the API key {sent} is not valid")))
            }
        }
    }

    /// An error in the vendor's envelope.
    fn complaint(&self, status: u16, message: &str) -> Answer {
        let refused = status == 401;
        let body = match self.speaks {
            Speaks::Anthropic => {
                let kind = if refused { "authentication_error" } else { "invalid_request_error" };
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            // The vendor does say 400 to a wrong key.
            Speaks::Google if refused => {
                let body = json!({"error": {"code": 400, "message": message,
                    "status": "INVALID_ARGUMENT", "details": [{
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}});
                return Answer::json(400, &body.to_string());
            }
            Speaks::Google => json!({"error": {"code": status, "message": message,
                "status": "INVALID_ARGUMENT"}}),
            Speaks::Ollama => json!({"error": message}),
            Speaks::Responses | Speaks::Chat | Speaks::Deployments => {
                let code = if refused { "invalid_api_key" } else { "invalid_request" };
                json!({"error": {"message": message, "type": "invalid_request_error",
                    "param": null, "code": code}})
            }
        };
        Answer::json(status, &body.to_string())
    }

    /// The models, for those who only want to know whether they may come in.
    fn list(&self, path: &str, query: &str) -> Answer {
        let wanted = match self.speaks {
            Speaks::Ollama => "/api/tags",
            Speaks::Deployments if query.starts_with("api-version=") => "/openai/models",
            Speaks::Deployments => "/",
            _ => "/models",
        };
        if path != wanted {
            return self.complaint(404, &format!("there is no {path} here"));
        }
        let body = match self.speaks {
            Speaks::Google | Speaks::Ollama => json!({"models": []}),
            _ => json!({"object": "list", "data": []}),
        };
        Answer::json(200, &body.to_string())
    }

    /// What a request asks; nothing when it came to the wrong place.
    fn read(&self, path: &str, query: &str, request: &Recorded, body: &Value) -> Option<Asked> {
        match (self.speaks, path) {
            (Speaks::Responses, "/responses") => Some(openai::read(body)),
            (Speaks::Anthropic, "/messages") => {
                request.header("anthropic-version")?;
                Some(anthropic::read(body))
            }
            (Speaks::Google, path) => {
                let (model, method) = path.strip_prefix("/models/")?.split_once(':')?;
                let stream = match (method, query) {
                    ("generateContent", "") => false,
                    ("streamGenerateContent", "alt=sse") => true,
                    _ => return None,
                };
                Some(Asked { model: model.to_owned(), stream, ..google::read(body) })
            }
            (Speaks::Chat, "/chat/completions") => Some(chat::read(body)),
            (Speaks::Deployments, path) => {
                let model = path.strip_prefix("/openai/deployments/")?;
                let model = model.strip_suffix("/chat/completions")?;
                query.strip_prefix("api-version=")?;
                Some(Asked { model: model.to_owned(), ..chat::read(body) })
            }
            (Speaks::Ollama, "/api/chat") => Some(ollama::read(body)),
            _ => None,
        }
    }

    fn write(&self, said: &Said, asked: &Asked) -> Answer {
        let write = match self.speaks {
            Speaks::Responses => openai::write,
            Speaks::Chat | Speaks::Deployments => chat::write,
            Speaks::Anthropic => anthropic::write,
            Speaks::Google => google::write,
            Speaks::Ollama => ollama::write,
        };
        write(said, asked.stream)
    }
}

/// The elements of a list; none where there is no list.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The text of a content, which is a text or a list of parts that may have one.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        content => list(content).filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// A text as it comes in a stream.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(5).map(|piece| piece.iter().collect()).collect()
}
