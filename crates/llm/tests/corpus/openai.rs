//! The vendors that speak the *Responses* format: OpenAI and xAI.

use std::sync::Arc;

use agent_world_core::item::{Item, Role};
use agent_world_llm::openai::{Flavour, Responses};
use agent_world_llm::{Request, origin};
use serde_json::{Value, json};

use crate::cases::{self, Case};
use crate::compare::Exception;
use crate::run::{self, Vendor};

pub static OPENAI: Responses = Responses::new(Flavour::OpenAi);
pub static XAI: Responses = Responses::new(Flavour::Xai);

#[test]
fn openai() {
    let cases = cases::of("openai-responses", OPENAI_REPLIES.len());
    let cases: Vec<Case> = cases.into_iter().map(written_out).collect();
    let vendor = Vendor {
        folder: "openai-responses",
        name: "openai",
        models: "openai",
        dialect: &OPENAI,
        replies: OPENAI_REPLIES,
        lift: lift_openai,
        exceptions: OPENAI_EXCEPTIONS,
    };
    run::some(&vendor, &cases);
}

#[test]
fn xai() {
    let cases = cases::of("xai", XAI_REPLIES.len());
    // The folder holds a case of another format too.
    let ours = cases.into_iter().filter(|case| case.path.ends_with("/responses"));
    let cases: Vec<Case> = ours.map(written_out).collect();
    let vendor = Vendor {
        folder: "xai",
        name: "xai",
        models: "xai",
        dialect: &XAI,
        replies: XAI_REPLIES,
        lift: lift_xai,
        exceptions: XAI_EXCEPTIONS,
    };
    run::some(&vendor, &cases);
}

/// The format has short forms: a message without its type, a text for its content. They are written out here, so that
/// what they say is compared instead of excepted.
fn written_out(mut case: Case) -> Case {
    let Some(request) = case.request.as_mut() else { return case };
    for item in request["input"].as_array_mut().unwrap() {
        let Some(role) = item["role"].as_str().map(str::to_owned) else { continue };
        item["type"] = "message".into();
        if item["content"].is_string() && role != "system" {
            let kind = if role == "assistant" { "output_text" } else { "input_text" };
            item["content"] = json!([{"type": kind, "text": item["content"].take()}]);
        }
    }
    case
}

/// The recorded requests are in our own format already. What a model made is marked as such: calls, thoughts, the
/// vendor's own items, and messages that still have their id.
fn lift(recorded: &Value, vendor: &str) -> Request {
    let mut request: Request = serde_json::from_value(recorded.clone()).expect("a request");
    for item in &mut request.input {
        let made = match &**item {
            Item::Message(message) => message.role == Role::Assistant && message.id.is_some(),
            Item::FunctionCallOutput(_) => false,
            Item::FunctionCall(_) | Item::Reasoning(_) | Item::Unknown(_) => true,
        };
        if made {
            origin::mark(Arc::make_mut(item), vendor, &request.model);
        }
    }
    request
}

pub fn lift_openai(recorded: &Value, _: &Case) -> Request {
    lift(recorded, "openai")
}

/// Whoever recorded these said the instructions as a first message of the system.
pub fn lift_xai(recorded: &Value, _: &Case) -> Request {
    let mut request = lift(recorded, "xai");
    if let Some(Item::Message(message)) = request.input.first().map(|item| &**item)
        && message.role == Role::System
    {
        request.instructions = message.text();
        request.input.remove(0);
    }
    request
}

const OPENAI_REPLIES: &[(&str, &str)] = &[
    (
        "compaction",
        "completed; 156 in (0 cached), 190 out (0 thought), 346 in all
openai says input [12 52cb6b5e]
openai says input [8 3f5615a1]
openai adds compaction",
    ),
    (
        "compaction-replay",
        "completed; 298 in (0 cached), 8 out (0 thought), 306 in all
openai says [10 216264f6]",
    ),
    ("error-400-orphan-reasoning", "error invalid_request 400: [128 03959917]"),
    ("error-401-invalid-key", "error auth 401: [116 20eb56b9]"),
    (
        "image-url",
        "completed; 663 in (0 cached), 20 out (0 thought), 683 in all
openai says [76 dccabc9f]",
    ),
    (
        "parallel-tool-calls",
        "completed; 155 in (0 cached), 46 out (0 thought), 201 in all
openai calls lookup_harbor_label [2 44136fa3]
openai calls lookup_orchard_label [2 44136fa3]",
    ),
    (
        "parallel-tool-results",
        "completed; 208 in (0 cached), 19 out (0 thought), 227 in all
openai says [53 cc81122e]",
    ),
    (
        "previous-response-id-tool-result",
        "completed; 110 in (0 cached), 16 out (0 thought), 126 in all
openai calls get_weather [14 3f3add42]",
    ),
    (
        "previous-response-id-turn-1",
        "completed; 14 in (0 cached), 9 out (0 thought), 23 in all
openai says [13 f891e36e]",
    ),
    (
        "previous-response-id-turn-2",
        "completed; 36 in (0 cached), 9 out (0 thought), 45 in all
openai says [13 b95e4307]",
    ),
    (
        "reasoning-encrypted-tool-call",
        "completed; 40 in (0 cached), 148 out (128 thought), 188 in all
openai thinks [0 e3b0c442] sealed [1932 d845600e]
openai calls get_meaning_of_life [2 44136fa3]",
    ),
    (
        "reasoning-encrypted-tool-result",
        "completed; 257 in (0 cached), 5 out (0 thought), 262 in all
openai says [2 73475cb4]",
    ),
    (
        "refusal",
        "completed; 43 in (0 cached), 11 out (0 thought), 54 in all
openai says refusal [36 3d2f3d83]",
    ),
    ("stream-error-insufficient-quota", "error quota: [191 edbf0739]"),
    (
        "stream-incomplete-mid-tool-call",
        "incomplete (max_output_tokens); 83 in (0 cached), 16 out (0 thought), 99 in all
openai calls add [10 7f887ed5]",
    ),
    (
        "stream-nested-tool-args",
        "completed; 177 in (0 cached), 46 out (0 thought), 223 in all
openai calls plan_trip [121 4da7e7c3]",
    ),
    (
        "stream-parallel-tool-calls",
        "completed; 160 in (0 cached), 49 out (0 thought), 209 in all
openai calls lookup_harbor_label [2 44136fa3]
openai calls lookup_orchard_label [2 44136fa3]",
    ),
    (
        "stream-text",
        "completed; 28 in (0 cached), 38 out (0 thought), 66 in all
openai says [163 622cae4a]",
    ),
    (
        "structured-output",
        "completed; 89 in (0 cached), 16 out (0 thought), 105 in all
openai says [41 9a62d9ca]",
    ),
    (
        "text",
        "completed; 14 in (0 cached), 8 out (0 thought), 22 in all
openai says [31 a1b7eb2e]",
    ),
    (
        "tool-call",
        "completed; 40 in (0 cached), 18 out (0 thought), 58 in all
openai calls get_capital [24 315b02db]",
    ),
    (
        "tool-result",
        "completed; 67 in (0 cached), 11 out (0 thought), 78 in all
openai says [41 0ab48991]",
    ),
    (
        "web-search",
        "completed; 8530 in (0 cached), 98 out (49 thought), 8628 in all
openai adds web_search_call
openai says [211 40810bdf] with 1 notes",
    ),
];

const XAI_REPLIES: &[(&str, &str)] = &[
    ("error-400-invalid-key", "error auth 400: [80 164363fa]"),
    (
        "reasoning-tool-call",
        "completed; 329 in (128 cached), 195 out (184 thought), 524 in all
xai thinks [203 d8673ed3]
xai calls get_weather [16 40ed420b]",
    ),
    (
        "reasoning-tool-result",
        "completed; 556 in (320 cached), 129 out (105 thought), 685 in all
xai thinks [104 9f8e0a11]
xai says [96 4eb04369]",
    ),
    (
        "stream-parallel-tool-calls",
        "completed; 352 in (320 cached), 267 out (252 thought), 619 in all
xai thinks [203 04ea0dc4]
xai calls lookup_harbor_label [2 44136fa3]
xai calls lookup_orchard_label [2 44136fa3]",
    ),
];

const STRICT: &str = "not said, it is read as true and changes the schema; we always say it";

const ORPHAN: &str =
    "recorded is what the vendor refuses; the orphaned thoughts are left out and the rest moves up";

const OPENAI_EXCEPTIONS: &[Exception] = &[
    Exception { case: "parallel-tool-calls", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "parallel-tool-results", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "stream-incomplete-mid-tool-call", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "stream-nested-tool-args", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "stream-parallel-tool-calls", place: "/tools/*/strict", reason: STRICT },
    Exception {
        case: "image-url",
        place: "/instructions",
        reason: "empty instructions say nothing and are left out",
    },
    Exception {
        case: "structured-output",
        place: "/tools/0/description",
        reason: "an empty description says nothing and is left out",
    },
    Exception {
        case: "compaction",
        place: "path",
        reason: "compacting is another endpoint, asked by nobody here; its reply must be read all the same",
    },
    Exception { case: "error-400-orphan-reasoning", place: "/input/1/*", reason: ORPHAN },
    Exception { case: "error-400-orphan-reasoning", place: "/input/2/role", reason: ORPHAN },
    Exception { case: "error-400-orphan-reasoning", place: "/input/2/content/0/*", reason: ORPHAN },
    Exception { case: "error-400-orphan-reasoning", place: "/input/3", reason: ORPHAN },
];

const XAI_EXCEPTIONS: &[Exception] = &[
    Exception { case: "reasoning-tool-call", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "reasoning-tool-result", place: "/tools/*/strict", reason: STRICT },
    Exception { case: "stream-parallel-tool-calls", place: "/tools/*/strict", reason: STRICT },
];
