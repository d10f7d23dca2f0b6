//! Holds what this crate writes in the *Responses* format against the open specification of it: the requests of that
//! dialect, and the response objects and events made of every vendor's recorded replies.
//!
//! The specification is not part of the project. It is looked for in `AGENT_WORLD_SPECS`, then in `shared/specs` beside
//! the project's folder. Where it or the corpus is not found, the tests say how many checks they skipped; where the
//! variable is set, it must be there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::Dialect;
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::resource::{EventWriter, resource};
use agent_world_llm::{Draft, Event, Request, Response};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::cases::{self, Case};
use crate::openai::{OPENAI, XAI, lift_openai, lift_xai};
use crate::run::{self, Vendor};

/// Where what we write differs from the specification on purpose.
struct Exception {
    /// The case with its folder.
    case: &'static str,
    /// The place of the problem begins so.
    place: &'static str,
    reason: &'static str,
}

/// Vendors whose replies are turned into response objects and events: one line each.
const VENDORS: &[Checked] = &[
    Checked::new("openai-responses", "openai", &OPENAI, 20).with_requests(lift_openai, 22),
    Checked::new("xai", "xai", &XAI, 3).at("/responses").with_requests(lift_xai, 4),
    Checked::new("xai", "xai", &Chat::new(Flavour::XAI), 1).at("/chat/completions"),
    Checked::new("anthropic", "anthropic", &Anthropic, 17),
    Checked::new("gemini", "google", &Google, 14),
    Checked::new("openai-chat", "openai", &Chat::new(Flavour::OPENAI), 7),
    Checked::new("azure-openai", "azure", &Chat::new(Flavour::AZURE), 1),
    Checked::new("groq", "groq", &Chat::new(Flavour::GROQ), 2),
    Checked::new("mistral", "mistral", &Chat::new(Flavour::MISTRAL), 2),
    Checked::new("deepseek", "deepseek", &Chat::new(Flavour::DEEPSEEK), 2),
    Checked::new("llamacpp", "llamacpp", &Chat::new(Flavour::LLAMACPP), 1),
    Checked::new("ollama", "ollama", &Ollama, 2),
];

#[derive(Clone, Copy)]
struct Checked {
    folder: &'static str,
    /// The vendor's name, and whose models it has.
    name: &'static str,
    dialect: &'static dyn Dialect,
    /// How the paths end, for folders that mix formats.
    path: &'static str,
    /// Replies among the cases that can be read.
    replies: usize,
    /// For vendors that are sent the format itself: reads a recorded request, of which there are so many.
    requests: Option<(Lift, usize)>,
}

type Lift = fn(&Value, &Case) -> Request;

impl Checked {
    const fn new(
        folder: &'static str,
        name: &'static str,
        dialect: &'static dyn Dialect,
        replies: usize,
    ) -> Self {
        Self { folder, name, dialect, path: "", replies, requests: None }
    }

    const fn at(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    const fn with_requests(self, lift: Lift, count: usize) -> Self {
        Self { requests: Some((lift, count)), ..self }
    }

    fn vendor(&self) -> Vendor<'static> {
        // What a recorded request of another format says is its dialect's to know; the model is enough here.
        let only_the_model: Lift = |_, case| Request::new(run::model(case), "");
        Vendor {
            folder: self.folder,
            name: self.name,
            models: self.name,
            dialect: self.dialect,
            replies: &[],
            lift: self.requests.map_or(only_the_model, |(lift, _)| lift),
            exceptions: &[],
        }
    }

    fn cases(&self) -> Vec<Case> {
        let cases = cases::of(self.folder, self.replies).into_iter();
        cases.filter(|case| case.path.contains(self.path)).collect()
    }

    /// The replies that can be read, each with its request and with what was told of it.
    fn read(&self) -> Vec<(String, Request, Response, Vec<Event>)> {
        let vendor = self.vendor();
        let mut read = Vec::new();
        for case in self.cases() {
            let Ok(response) = run::reply(&vendor, &case) else { continue };
            let request = match &case.request {
                Some(recorded) => (vendor.lift)(recorded, &case),
                None => Request::new(run::model(&case), ""),
            };
            let events = if case.streamed {
                let asked = run::asked(&vendor, &run::model(&case), true);
                run::stream(vendor.dialect, &asked, &case.reply, usize::MAX).1.expect("events")
            } else {
                told(&response)
            };
            read.push((name(&case), request, response, events));
        }
        read
    }
}

fn name(case: &Case) -> String {
    format!("{}/{}", case.vendor, case.name)
}

const HOSTED: &str =
    "OpenAI publishes tools that it runs itself, and items for their calls; the open core has none";

const ECHO: &str = "the specification allows no more than null for the schema that a response repeats; OpenAI repeats it";

const REQUESTS: &[Exception] =
    &[Exception { case: "openai-responses/web-search", place: "/tools", reason: HOSTED }];

const RESPONSES: &[Exception] = &[
    Exception { case: "openai-responses/web-search", place: "/tools/0", reason: HOSTED },
    Exception { case: "openai-responses/web-search", place: "/output/0", reason: HOSTED },
    Exception { case: "openai-responses/refusal", place: "/text/format", reason: ECHO },
    Exception { case: "openai-responses/structured-output", place: "/text/format", reason: ECHO },
];

const EVENTS: &[Exception] = &[
    Exception { case: "openai-responses/web-search", place: "/item", reason: HOSTED },
    Exception { case: "openai-responses/web-search", place: "/tools/0", reason: HOSTED },
    Exception { case: "openai-responses/web-search", place: "/output/0", reason: HOSTED },
    Exception { case: "openai-responses/refusal", place: "/text/format", reason: ECHO },
    Exception { case: "openai-responses/structured-output", place: "/text/format", reason: ECHO },
];

#[test]
fn requests_are_as_the_specification_says() {
    let speakers: Vec<(&Checked, Lift, usize)> = VENDORS
        .iter()
        .filter_map(|checked| checked.requests.map(|(lift, count)| (checked, lift, count)))
        .collect();
    let count = speakers.iter().map(|(_, _, count)| count).sum();
    let Some(specification) = specification(count, "requests") else { return };
    let body = schema(&specification, "CreateResponseBody");
    let mut report = Report::new(REQUESTS);
    for (checked, lift, expected) in speakers {
        let mut count = 0;
        for case in checked.cases() {
            let Some(recorded) = &case.request else { continue };
            let request = lift(recorded, &case);
            let asked = run::asked(&checked.vendor(), &request.model, case.stream_requested);
            let outgoing = checked.dialect.encode(&request, &asked).expect("a request");
            let written: Value = serde_json::from_slice(&outgoing.body).expect("a body is JSON");
            report.check(&name(&case), &body, &written);
            count += 1;
        }
        report.counted(checked.folder, "requests", count, expected);
    }
    report.end();
}

#[test]
fn response_objects_are_as_the_specification_says() {
    let Some(specification) = specification(replies(), "response objects") else { return };
    let object = schema(&specification, "ResponseResource");
    assert!(!object.is_valid(&json!({"object": "response"})), "the schema refuses nothing");
    let mut report = Report::new(RESPONSES);
    for checked in VENDORS {
        let read = checked.read();
        for (case, request, response, _) in &read {
            report.check(case, &object, &resource(request, response));
        }
        report.counted(checked.folder, "response objects", read.len(), checked.replies);
    }
    report.end();
}

#[test]
fn events_are_as_the_specification_says() {
    let Some(specification) = specification(replies(), "streams of events") else { return };
    let schemas = Events::new(&specification);
    let mut report = Report::new(EVENTS);
    for checked in VENDORS {
        let read = checked.read();
        for (case, request, response, events) in &read {
            let mut writer = EventWriter::new(request);
            let written: Vec<Value> = events.iter().flat_map(|event| writer.write(event)).collect();
            for event in &written {
                schemas.check(case, event, &mut report);
            }
            in_order(case, &written, &resource(request, response));
        }
        report.counted(checked.folder, "streams of events", read.len(), checked.replies);
    }
    report.end();
}

fn replies() -> usize {
    VENDORS.iter().map(|checked| checked.replies).sum()
}

/// What is told of a reply that came whole.
fn told(response: &Response) -> Vec<Event> {
    let mut draft = Draft::new();
    *draft.response_mut() = Response { output: Vec::new(), ..response.clone() };
    for item in &response.output {
        draft.add(item.clone());
    }
    draft.complete();
    draft.take_events()
}

/// Events are numbered, begin and end as they should, and end in the response object.
fn in_order(case: &str, events: &[Value], object: &Value) {
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["response.created", "response.in_progress"], "{case}");
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{case}");
    }
    let last = events.last().unwrap();
    assert_eq!(
        kinds.last().unwrap().strip_prefix("response."),
        last["response"]["status"].as_str(),
        "{case}"
    );
    assert_eq!(&last["response"], object, "{case}: the last event holds another response");
    for (index, item) in object["output"].as_array().unwrap().iter().enumerate() {
        let of = |kind: &str| {
            let fits = |event: &&Value| event["type"] == kind && event["output_index"] == index;
            events.iter().filter(fits).collect::<Vec<_>>()
        };
        assert_eq!(of("response.output_item.added").len(), 1, "{case}: item {index}");
        let done = of("response.output_item.done");
        assert_eq!(done.len(), 1, "{case}: item {index}");
        assert_eq!(&done[0]["item"], item, "{case}: item {index}");
    }
}

/// The schemas of events by the type that each is for.
struct Events(Vec<(String, Validator)>);

impl Events {
    fn new(specification: &Value) -> Self {
        let schemas = specification["components"]["schemas"].as_object().expect("schemas");
        let events = schemas.keys().filter(|name| name.ends_with("StreamingEvent"));
        Self(
            events
                .map(|name| {
                    let kind = &schemas[name]["properties"]["type"]["enum"][0];
                    (kind.as_str().expect("a type").to_owned(), schema(specification, name))
                })
                .collect(),
        )
    }

    fn check(&self, case: &str, event: &Value, report: &mut Report) {
        // OpenAI and its clients say `reasoning_text` where the specification says `reasoning`; all else is the same.
        let mut event = event.clone();
        let kind = event["type"].as_str().unwrap().replace("reasoning_text.", "reasoning.");
        event["type"] = kind.as_str().into();
        match self.0.iter().find(|(of, _)| *of == kind) {
            Some((_, schema)) => report.check(case, schema, &event),
            None => report.problem(case, "", &format!("no such event: {kind}")),
        }
    }
}

/// What was found, and which exceptions were needed for it.
struct Report {
    exceptions: &'static [Exception],
    used: BTreeSet<usize>,
    problems: String,
}

impl Report {
    fn new(exceptions: &'static [Exception]) -> Self {
        Self { exceptions, used: BTreeSet::new(), problems: String::new() }
    }

    fn check(&mut self, case: &str, schema: &Validator, written: &Value) {
        for error in schema.iter_errors(written) {
            // The specification describes the core alone, and lets items beyond it be named after their maker.
            if error.instance()["type"].as_str().is_some_and(|kind| kind.contains(':')) {
                continue;
            }
            // An event holds a response where a response object stands alone.
            let place = error.instance_path().to_string();
            let place = place.strip_prefix("/response").unwrap_or(&place);
            self.problem(case, place, &error.to_string());
        }
    }

    fn problem(&mut self, case: &str, place: &str, what: &str) {
        let excepted: Vec<usize> = (0..self.exceptions.len())
            .filter(|index| {
                let exception = &self.exceptions[*index];
                exception.case == case && place.starts_with(exception.place)
            })
            .collect();
        if excepted.is_empty() {
            let what: String = what.chars().take(300).collect();
            writeln!(self.problems, "{case} at {place}: {what}").unwrap();
        }
        self.used.extend(excepted);
    }

    /// Where there is no corpus there is nothing to check.
    fn counted(&mut self, folder: &str, what: &str, checked: usize, expected: usize) {
        if checked == 0 {
            println!("skipped {expected} {what} of {folder}: the provider corpus is not here");
            self.exceptions = &[];
        } else {
            println!("checked {checked} {what} of {folder}");
            assert!(checked >= expected, "{folder}: only {checked} {what}, not {expected}");
        }
    }

    fn end(mut self) {
        for (index, exception) in self.exceptions.iter().enumerate() {
            if !self.used.contains(&index) {
                let Exception { case, place, reason } = exception;
                writeln!(self.problems, "nothing needs the exception {case} {place}: {reason}")
                    .unwrap();
            }
        }
        assert!(self.problems.is_empty(), "{}", self.problems);
    }
}

fn specification(checks: usize, what: &str) -> Option<Value> {
    let folder = match std::env::var_os("AGENT_WORLD_SPECS") {
        Some(named) => PathBuf::from(named),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs"),
    };
    let path = folder.join("open-responses.openapi.json");
    match fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the specification is JSON")),
        Err(error) => {
            let named = std::env::var_os("AGENT_WORLD_SPECS").is_some();
            assert!(
                !named,
                "AGENT_WORLD_SPECS holds no specification: {}: {error}",
                path.display()
            );
            println!("skipped {checks} {what}: the specification is not here");
            None
        }
    }
}

fn schema(specification: &Value, name: &str) -> Validator {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": specification["components"],
    });
    jsonschema::validator_for(&schema).expect("a schema")
}
