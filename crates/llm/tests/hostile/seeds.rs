//! Holds who is attacked and with what: every dialect, with small replies that are good before they are spoilt.
//! Used by the hostile test. A new dialect is one entry in `subjects`, with replies of its own.

use agent_world_core::item::{Item, MessageItem, Part, Role};
use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::{Asked, Dialect, Outgoing, Reader};
use agent_world_llm::frames::Frame;
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::openai::{self, Responses};
use agent_world_llm::{Draft, Error, Request, Response, Thought, explain};
use serde_json::{Map, Value};

use crate::replies;

/// One dialect.
pub struct Subject {
    pub name: &'static str,
    pub dialect: &'static dyn Dialect,
    /// Streams as the vendor sends them.
    pub streams: &'static [&'static str],
    /// Whole replies and errors.
    pub bodies: &'static [&'static str],
    /// Whether the vendor tells an item in pieces and then again as a whole, which may then disagree.
    pub repeats: bool,
    /// Where in the corpus more of both is.
    pub folders: &'static [&'static str],
}

const OPENAI: Responses = Responses::new(openai::Flavour::OpenAi);
const CHAT: Chat = Chat::new(Flavour::GENERIC);
const GROQ: Chat = Chat::new(Flavour::GROQ);

pub fn subjects() -> Vec<Subject> {
    vec![
        Subject {
            name: "openai",
            dialect: &OPENAI,
            streams: replies::OPENAI_STREAMS,
            bodies: replies::OPENAI_BODIES,
            repeats: true,
            folders: &["openai-responses", "xai"],
        },
        Subject {
            name: "anthropic",
            dialect: &Anthropic,
            streams: replies::ANTHROPIC_STREAMS,
            bodies: replies::ANTHROPIC_BODIES,
            repeats: false,
            folders: &["anthropic"],
        },
        Subject {
            name: "google",
            dialect: &Google,
            streams: replies::GOOGLE_STREAMS,
            bodies: replies::GOOGLE_BODIES,
            repeats: false,
            folders: &["gemini"],
        },
        Subject {
            name: "chat",
            dialect: &CHAT,
            streams: replies::CHAT_STREAMS,
            bodies: replies::CHAT_BODIES,
            repeats: false,
            folders: &["openai-chat", "mistral", "llamacpp", "deepseek"],
        },
        Subject {
            name: "groq",
            dialect: &GROQ,
            streams: replies::CHAT_STREAMS,
            bodies: replies::CHAT_BODIES,
            repeats: false,
            folders: &["groq"],
        },
        Subject {
            name: "ollama",
            dialect: &Ollama,
            streams: OLLAMA_STREAMS,
            bodies: OLLAMA_BODIES,
            repeats: false,
            folders: &["ollama"],
        },
        Subject {
            name: "plain",
            dialect: &Plain,
            streams: PLAIN_STREAMS,
            bodies: &[r#"{"text": "whole"}"#, r#"{"error": {"message": "try again in 3s"}}"#],
            // Other vendors' events: most mean nothing here, and all must be survived.
            repeats: false,
            folders: &["openai-responses", "anthropic"],
        },
    ]
}

const OLLAMA_STREAMS: &[&str] = &[
    r#"{"model":"m","created_at":"2026-01-02T03:04:05.6Z","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
{"model":"m","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":"Let me look"},"done":false}
{"model":"m","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":".","tool_calls":[{"id":"call_1","function":{"index":0,"name":"read","arguments":{"path":"ä.txt","lines":[1,2.50]}}},{"function":{"name":"now"}}]},"done":false}
{"model":"m","created_at":"2026-01-02T03:04:07Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":7,"eval_count":3}
"#,
    r#"{"model":"m","message":{"content":"half"},"done":false}
{"error":"unexpected EOF"}
"#,
];

const OLLAMA_BODIES: &[&str] = &[
    r#"{"model":"m","created_at":"1970-01-01T00:00:00Z","message":{"role":"assistant","thinking":"Hm","content":"Hello","tool_calls":[{"function":{"index":0,"name":"read","arguments":{"a":1}}}]},"done":true,"done_reason":"length","prompt_eval_count":7,"eval_count":3}"#,
    r#"{"done":true,"message":{"tool_calls":[{"id":"","function":{"name":"x","arguments":"{\"a\": "}},{"function":{"name":"y","arguments":{"a":1e999}}}]}}"#,
    r#"{"error":"model 'x' not found"}"#,
];

const PLAIN_STREAMS: &[&str] = &[
    "event: item\ndata: {\"open\":\"message\"}\n\nevent: piece\ndata: {\"at\":0,\"part\":0,\"text\":\"Hello\"}\n\n\
     : ping\n\ndata: {\"open\":\"reasoning\"}\n\ndata: {\"at\":1,\"part\":1,\"text\":\"hm\"}\n\n\
     data: {\"say\":\"more\"}\n\ndata: {\"call\":\"look\",\"arguments\":\"{}\"}\n\n\
     data: {\"at\":2,\n\
     data:  \"text\":\"x\"}\n\ndata: {\"close\":1}\n\ndata: [DONE]\n\n",
    // Pieces of what is closed or was never begun, and places that nobody has.
    "data: {\"open\":\"message\"}\n\ndata: {\"at\":0,\"part\":900,\"text\":\"a\"}\n\ndata: {\"close\":0}\n\n\
     data: {\"at\":0,\"part\":0,\"text\":\"late\"}\n\ndata: {\"call\":\"x\",\"arguments\":\"{\"}\n\n\
     data: {\"close\":1}\n\ndata: {\"at\":1,\"part\":0,\"text\":\"late\"}\n\n\
     data: {\"open\":\"message\"}\n\ndata: {\"at\":2,\"part\":99999,\"text\":\"far\"}\n\n\
     data: {\"at\":7,\"part\":1,\"text\":\"nowhere\"}\n\ndata: [DONE]",
    "data: {\"think\":\"a\"}\r\n\r\ndata: {\"refuse\":\"b\"}\r\n\r\ndata: {\"limit\":\"c\"}\r\n\r\n",
];

/// A format that does with a draft whatever the bytes say: places and orders are the sender's choice.
#[derive(Debug)]
struct Plain;

impl Dialect for Plain {
    fn encode(&self, request: &Request, _: &Asked) -> Result<Outgoing, Error> {
        Outgoing::json("/plain", request)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        let value: Value =
            serde_json::from_slice(body).map_err(|error| asked.unreadable("the reply", &error))?;
        match value["text"].as_str() {
            Some(text) => {
                let mut draft = Draft::new();
                draft.say(text);
                draft.complete();
                Ok(draft.into_response().expect("it was completed"))
            }
            None => Err(explain::value(&asked.vendor, &value)),
        }
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(PlainReader(asked.clone()))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

struct PlainReader(Asked);

impl Reader for PlainReader {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        if frame.data == "[DONE]" {
            draft.complete();
            return Ok(());
        }
        let value: Value = serde_json::from_str(&frame.data)
            .map_err(|error| self.0.unreadable("an event", &error))?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(explain::value(&self.0.vendor, &value));
        }
        obey(&value, draft);
        Ok(())
    }
}

fn obey(value: &Value, draft: &mut Draft) {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let place = |key: &str| {
        value[key].as_u64().and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX)
    };
    match text("open") {
        "message" => {
            draft.open(Item::Message(MessageItem {
                id: None,
                role: Role::Assistant,
                content: Vec::<Part>::new(),
                extra: Map::new(),
            }));
        }
        "reasoning" => {
            draft.think(Thought::Summary, "");
        }
        _ => {}
    }
    if value.get("at").is_some() {
        draft.text(place("at"), place("part"), text("text"));
        draft.thought(place("at"), place("part"), Thought::Raw, text("text"));
        draft.arguments(place("at"), text("text"));
    }
    for (key, _) in value.as_object().into_iter().flatten() {
        match key.as_str() {
            "say" => drop(draft.say(text("say"))),
            "refuse" => drop(draft.refuse(text("refuse"))),
            "think" => drop(draft.think(Thought::Raw, text("think"))),
            "call" => drop(draft.call("c", text("call"), text("arguments"))),
            "close" => draft.close(place("close")),
            "limit" => draft.incomplete(text("limit")),
            _ => {}
        }
    }
}
