//! Runs one vendor's cases: replies in every way they can arrive, requests against what was recorded.
//! Called by every vendor's test, which says what to expect.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use agent_world_core::item::{Item, Part};
use agent_world_llm::dialect::{Asked, Caps, Dialect, StreamDecoder};
use agent_world_llm::{
    Capabilities, Class, Delta, Error, Event, Request, Response, Status, origin,
};
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::cases::{self, Case};
use crate::compare::{self, Difference, Exception};

/// A vendor's side of the test.
pub struct Vendor<'a> {
    /// Its folder in the corpus.
    pub folder: &'a str,
    /// The name under which it is set up.
    pub name: &'a str,
    /// Whose models it has, for their capabilities.
    pub models: &'a str,
    pub dialect: &'a dyn Dialect,
    /// What each case's reply must be, in the words of `summary`.
    pub replies: &'a [(&'a str, &'a str)],
    /// Reads a recorded request back into ours, so that it can be made again.
    pub lift: fn(&Value, &Case) -> Request,
    pub exceptions: &'a [Exception],
}

/// Runs all cases of a vendor.
pub fn all(vendor: &Vendor<'_>) {
    let cases = cases::of(vendor.folder, vendor.replies.len());
    some(vendor, &cases);
}

/// Runs some cases of a vendor, for folders that mix formats.
pub fn some(vendor: &Vendor<'_>, cases: &[Case]) {
    if cases::folder().is_none() {
        return;
    }
    let mut problems = String::new();
    for (name, _) in vendor.replies {
        if !cases.iter().any(|case| case.name == *name) {
            writeln!(problems, "{name}: the corpus has no such case").unwrap();
        }
    }
    for case in cases {
        let Some((_, expected)) = vendor.replies.iter().find(|(name, _)| *name == case.name) else {
            writeln!(problems, "{}: nothing is said about its reply", case.name).unwrap();
            continue;
        };
        let got = summary(&reply(vendor, case));
        if got.trim() != expected.trim() {
            writeln!(problems, "{}: expected\n{expected}\ngot\n{got}", case.name).unwrap();
        }
    }
    let mut used = BTreeSet::new();
    for case in cases {
        problems.push_str(&request(vendor, case, &mut used));
    }
    for (index, exception) in vendor.exceptions.iter().enumerate() {
        if !used.contains(&index) {
            let Exception { case, place, reason } = exception;
            writeln!(problems, "no case needs the exception {case} {place} ({reason})").unwrap();
        }
    }
    println!("ran {} cases of {}", cases.len(), vendor.folder);
    assert!(problems.is_empty(), "{}:\n{problems}", vendor.folder);
}

pub fn asked(vendor: &Vendor<'_>, model: &str, stream: bool) -> Asked {
    Asked {
        vendor: vendor.name.into(),
        model: model.to_owned(),
        capabilities: Capabilities::of(vendor.models, model),
        stream,
    }
}

/// The reply, which must be the same however it is cut into chunks.
pub fn reply(vendor: &Vendor<'_>, case: &Case) -> Result<Response, Error> {
    let asked = asked(vendor, &model(case), case.stream_requested);
    if case.status >= 400 {
        return Err(vendor.dialect.explain(case.status, &case.reply, &asked));
    }
    if !case.streamed {
        return vendor.dialect.decode(&case.reply, &asked);
    }
    let whole = stream(vendor.dialect, &asked, &case.reply, usize::MAX);
    for size in [1, 7] {
        assert_eq!(
            stream(vendor.dialect, &asked, &case.reply, size),
            whole,
            "{} in {size}s",
            case.name
        );
    }
    if let Ok(events) = &whole.1 {
        told_as_it_is(&case.name, events);
    }
    whole.0
}

/// Feeds a stream in chunks; gives the response, and everything that was told before it or before the failure.
pub fn stream(
    dialect: &dyn Dialect,
    asked: &Asked,
    bytes: &[u8],
    size: usize,
) -> (Result<Response, Error>, Result<Vec<Event>, Error>) {
    let mut decoder = StreamDecoder::new(dialect, asked.clone(), Caps::default());
    let mut events = Vec::new();
    let mut failed = None;
    for chunk in bytes.chunks(size.min(bytes.len()).max(1)) {
        match decoder.push(&Bytes::copy_from_slice(chunk)) {
            Ok(more) => events.extend(more),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if failed.is_none() {
        match decoder.end() {
            Ok(more) => events.extend(more),
            Err(error) => failed = Some(error),
        }
    }
    match (failed, events.last()) {
        (Some(error), _) => (Err(error.clone()), Err(error)),
        (None, Some(Event::Completed(response))) => (Ok(*response.clone()), Ok(events)),
        (None, last) => panic!("a complete stream ended with {last:?}"),
    }
}

/// What is told piece by piece is what the response holds at the end.
fn told_as_it_is(case: &str, events: &[Event]) {
    let Some(Event::Completed(response)) = events.last() else { panic!("{case}: no end") };
    assert!(matches!(events.first(), Some(Event::Started(_))), "{case}: no start");
    for (index, item) in response.output.iter().enumerate() {
        let mut told = String::new();
        let (mut started, mut done) = (0, 0);
        for event in events {
            match event {
                Event::ItemStarted { index: of, .. } if *of == index => started += 1,
                Event::ItemDone { index: of, item: last } if *of == index => {
                    done += 1;
                    assert_eq!(last, item, "{case}: item {index} changed after it was done");
                }
                Event::Delta { index: of, delta, .. } if *of == index => {
                    assert!(
                        started == 1 && done == 0,
                        "{case}: a piece of item {index} outside of it"
                    );
                    match delta {
                        Delta::Text(text)
                        | Delta::Refusal(text)
                        | Delta::Reasoning(text)
                        | Delta::Summary(text)
                        | Delta::Arguments(text) => told.push_str(text),
                    }
                }
                _ => {}
            }
        }
        assert_eq!((started, done), (1, 1), "{case}: item {index}");
        if let Some(whole) = text_of(item) {
            assert_eq!(told, whole, "{case}: the pieces of item {index}");
        }
    }
}

fn text_of(item: &Item) -> Option<String> {
    match item {
        Item::Message(message) => Some(message.text()),
        Item::FunctionCall(call) => Some(call.arguments.clone()),
        Item::Reasoning(reasoning) => Some(thought(reasoning)),
        Item::FunctionCallOutput(_) | Item::Unknown(_) => None,
    }
}

fn thought(reasoning: &agent_world_core::item::Reasoning) -> String {
    let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
    let raw = reasoning.extra.get("content").and_then(Value::as_array);
    reasoning.summary.iter().chain(raw.into_iter().flatten()).map(text).collect()
}

/// Makes the recorded request again. Gives what differs and is not excepted.
fn request(vendor: &Vendor<'_>, case: &Case, used: &mut BTreeSet<usize>) -> String {
    let mut problems = String::new();
    let Some(mut recorded) = case.request.clone() else { return problems };
    let request = (vendor.lift)(&recorded, case);
    // A reply is whole unless a stream is asked for, so that none is wanted need not be said; to all but one vendor.
    if vendor.folder != "ollama" && recorded["stream"] == false {
        recorded.as_object_mut().unwrap().shift_remove("stream");
    }
    let asked = asked(vendor, &request.model, case.stream_requested);
    let outgoing = match vendor.dialect.encode(&request, &asked) {
        Ok(outgoing) => outgoing,
        Err(error) => return format!("{}: the request was refused: {error}\n", case.name),
    };
    let ours: Value = serde_json::from_slice(&outgoing.body).expect("a body is JSON");
    let mut differences = compare::differences(&recorded, &ours);
    if !case.path.ends_with(&outgoing.path) {
        differences.push(Difference {
            place: "path".to_owned(),
            recorded: Some(case.path.as_str().into()),
            ours: Some(outgoing.path.as_str().into()),
        });
    }
    for difference in differences {
        let excepted: Vec<usize> = vendor
            .exceptions
            .iter()
            .enumerate()
            .filter(|(_, exception)| compare::covers(exception, &case.name, &difference.place))
            .map(|(index, _)| index)
            .collect();
        if excepted.is_empty() {
            writeln!(problems, "{}: the request differs: {difference:?}", case.name).unwrap();
        }
        used.extend(excepted);
    }
    for (key, value) in case.query.as_object().into_iter().flatten() {
        let sent = outgoing.query.iter().any(|(sent, as_value)| sent == key && value == as_value);
        if !sent && key != "api-version" {
            writeln!(problems, "{}: the query {key}={value} is missing", case.name).unwrap();
        }
    }
    problems
}

/// The model named in the request, or in the path.
pub fn model(case: &Case) -> String {
    let named = case.request.as_ref().and_then(|request| request["model"].as_str());
    let in_path = || Some(case.path.split_once("models/")?.1.split(':').next()?.to_owned());
    named.map(str::to_owned).or_else(in_path).unwrap_or_default()
}

/// What came of a reply, without repeating what it says: texts are given by length and hash.
pub fn summary(reply: &Result<Response, Error>) -> String {
    match reply {
        Err(error) => {
            let wait = match error.class {
                Class::RateLimited { retry_after: Some(wait) } => {
                    format!(" in {}s", wait.as_secs_f64())
                }
                _ => String::new(),
            };
            let status = error.status.map_or(String::new(), |status| format!(" {status}"));
            format!("error {}{wait}{status}: {}", error.class.as_str(), print(&error.message))
        }
        Ok(response) => {
            let mut lines = vec![head(response)];
            lines.extend(response.output.iter().map(line));
            lines.join("\n")
        }
    }
}

fn head(response: &Response) -> String {
    let status = match (&response.status, &response.incomplete_details) {
        (Status::Incomplete, Some(details)) => format!("incomplete ({})", details.reason),
        (status, _) => format!("{status:?}").to_lowercase(),
    };
    let usage = response.usage.as_ref().map_or("no usage".to_owned(), |usage| {
        let (cached, thought) = (
            usage.input_tokens_details.cached_tokens,
            usage.output_tokens_details.reasoning_tokens,
        );
        let (input, output, total) = (usage.input_tokens, usage.output_tokens, usage.total_tokens);
        format!("{input} in ({cached} cached), {output} out ({thought} thought), {total} in all")
    });
    let ids =
        if response.id.is_empty() || response.model.is_empty() { ", no id or model" } else { "" };
    format!("{status}; {usage}{ids}")
}

fn line(item: &Item) -> String {
    let from = origin::Origin::of(item).and_then(origin::Origin::vendor).unwrap_or("nobody");
    match item {
        Item::Message(message) => {
            let parts: Vec<String> = message.content.iter().map(part).collect();
            format!("{from} says {}", parts.join(" + "))
        }
        Item::FunctionCall(call) => {
            let id = if call.call_id.is_empty() { " without id" } else { "" };
            format!("{from} calls {}{id} {}", call.name, print(&call.arguments))
        }
        Item::FunctionCallOutput(_) => format!("{from} gives a result"),
        Item::Reasoning(reasoning) => {
            let sealed = match reasoning.extra.get("encrypted_content").and_then(Value::as_str) {
                Some(sealed) => format!(" sealed {}", print(sealed)),
                None => String::new(),
            };
            format!("{from} thinks {}{sealed}", print(&thought(reasoning)))
        }
        Item::Unknown(value) => format!("{from} adds {}", value["type"].as_str().unwrap_or("?")),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::OutputText { text, extra } => {
            match extra.get("annotations").and_then(Value::as_array) {
                Some(notes) if !notes.is_empty() => {
                    format!("{} with {} notes", print(text), notes.len())
                }
                _ => print(text),
            }
        }
        Part::Refusal { refusal, .. } => format!("refusal {}", print(refusal)),
        Part::InputText { text, .. } => format!("input {}", print(text)),
        other => format!("{other:?}"),
    }
}

/// A text by its length and hash.
pub fn print(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("[{} {hash}]", text.chars().count())
}
