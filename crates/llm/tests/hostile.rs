//! Throws spoilt replies at every dialect: nothing may panic, hang, grow beyond what was sent or depend on how the
//! bytes were cut, and what was understood all the same must be fit to be sent back.
//!
//! A fixed number of seeds takes a few seconds. `AGENT_WORLD_FUZZ_SECONDS=3600 cargo test --test hostile` goes on for
//! an hour with ever new ones. A failure prints its seed: `SEED=17 cargo test --test hostile` repeats it alone.

// Tests may panic: that is how they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[allow(dead_code, reason = "the corpus tests use the rest of it")]
#[path = "corpus/cases.rs"]
mod cases;
#[path = "hostile/mutate.rs"]
mod mutate;
#[path = "hostile/replies.rs"]
mod replies;
#[path = "hostile/seeds.rs"]
mod seeds;

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use agent_world_core::item::Item;
use agent_world_llm::dialect::{Asked, Caps, StreamDecoder};
use agent_world_llm::{Capabilities, Class, Delta, Error, Event, Request, Response};
use bytes::Bytes;
use mutate::{Budget, Mutator};
use seeds::Subject;
use serde_json::Value;

const ROUNDS: u64 = 3_000;
/// Bytes of an input. An event or a reply may be larger than the small caps below.
const LONGEST_INPUT: usize = 64 << 10;
const SMALL: Caps = Caps { event: 2 << 10, reply: 16 << 10 };
/// Longer than any round takes on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A dialect with everything that is thrown at it.
struct Target {
    subject: Subject,
    streams: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
}

/// What came of the rounds, lest they all end at the first brace.
#[derive(Debug, Default)]
struct Report {
    rounds: u64,
    understood: u64,
    refused: u64,
    cut: u64,
}

#[test]
fn no_bytes_make_a_dialect_panic_hang_or_grow() {
    let targets: Vec<Target> = seeds::subjects().into_iter().map(target).collect();
    let (beat, beats) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut report = Report::default();
        for seed in Budget::from_environment(ROUNDS).seeds() {
            beat.send(seed).expect("somebody listens");
            let _guard = PrintSeed(seed);
            round(seed, &targets, &mut report);
        }
        report
    });
    let mut last = 0;
    loop {
        match beats.recv_timeout(PATIENCE) {
            Ok(seed) => last = seed,
            Err(RecvTimeoutError::Timeout) => panic!("SEED={last} does not come to an end"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let report = worker.join().expect("no round panics");
    println!("{report:?}");
    // Spoiling that leaves nothing good, or nothing bad, proves nothing.
    let some = report.rounds / 20;
    assert!(
        report.understood >= some && report.refused >= some && report.cut >= some,
        "{report:?}"
    );
    assert!(peak_memory().is_none_or(|bytes| bytes < 1 << 30), "{:?}", peak_memory());
}

struct PrintSeed(u64);

impl Drop for PrintSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat this with SEED={}", self.0);
        }
    }
}

fn target(subject: Subject) -> Target {
    let more: Vec<cases::Case> =
        subject.folders.iter().flat_map(|folder| cases::of(folder, 0)).collect();
    // All of ours together as often as all of the corpus: they are small, and so spoilt in more interesting places.
    let copy = |texts: &[&str]| -> Vec<Vec<u8>> {
        let times = 1 + more.len() / texts.len().max(1);
        texts
            .iter()
            .cycle()
            .take(times * texts.len())
            .map(|text| text.as_bytes().to_vec())
            .collect()
    };
    let (mut streams, mut bodies) = (copy(subject.streams), copy(subject.bodies));
    for case in more {
        let to = if case.streamed { &mut streams } else { &mut bodies };
        to.push(case.reply);
    }
    Target { subject, streams, bodies }
}

fn asked(name: &str, stream: bool) -> Asked {
    Asked {
        vendor: name.into(),
        model: "m".to_owned(),
        capabilities: Capabilities::default(),
        stream,
    }
}

fn round(seed: u64, targets: &[Target], report: &mut Report) {
    let mut mutator = Mutator::new(seed, LONGEST_INPUT);
    let target = mutator.pick(targets).expect("there are dialects");
    let dialect = target.subject.dialect;
    report.rounds += 1;
    let result = match mutator.below(8) {
        0 => {
            let body = mutator.input(&target.bodies);
            let status = [400, 401, 404, 413, 429, 500, 503, 529][mutator.below(8)];
            let error = dialect.explain(status, &body, &asked(target.subject.name, false));
            assert!(error.message.chars().count() <= 2_000, "{}", error.message.len());
            return;
        }
        1 | 2 => {
            let body = mutator.input(&target.bodies);
            let result = dialect.decode(&body, &asked(target.subject.name, false));
            bounded(&result, body.len());
            result
        }
        _ => {
            let stream = mutator.input(&target.streams);
            streamed(&stream, target, &mut mutator)
        }
    };
    match &result {
        Ok(response) => {
            report.understood += 1;
            send_back(response, &target.subject);
        }
        Err(error) if error.class == Class::StreamCut => report.cut += 1,
        Err(_) => report.refused += 1,
    }
}

/// The same bytes in two ways, and once under caps that they may exceed.
fn streamed(bytes: &[u8], target: &Target, mutator: &mut Mutator) -> Result<Response, Error> {
    let subject = &target.subject;
    let asked = asked(subject.name, true);
    let whole = fed(subject, &asked, &[bytes], Caps::default());
    let chunks = mutator.chunks(bytes);
    let cut = fed(subject, &asked, &chunks, Caps::default());
    assert_eq!(whole, cut, "in chunks it is something else");
    bounded(&whole, bytes.len());
    if let (Ok(response), true) = (fed(subject, &asked, &chunks, SMALL), bytes.len() > SMALL.reply)
    {
        let size = serde_json::to_string(&response).unwrap().len();
        assert!(size <= allowed(SMALL.reply), "{size} from a capped reply");
    }
    whole
}

fn fed(subject: &Subject, asked: &Asked, chunks: &[&[u8]], caps: Caps) -> Result<Response, Error> {
    let mut decoder = StreamDecoder::new(subject.dialect, asked.clone(), caps);
    let mut order = Order { repeats: subject.repeats, ..Order::default() };
    for chunk in chunks {
        order.follow(decoder.push(&Bytes::copy_from_slice(chunk))?);
    }
    order.follow(decoder.end()?);
    Ok(order.response.expect("what ends well has a response"))
}

/// Checks that what is told comes in order and adds up.
#[derive(Default)]
struct Order {
    /// The vendor repeats each item when it is done, and its last word counts.
    repeats: bool,
    started: bool,
    open: Vec<bool>,
    told: Vec<usize>,
    response: Option<Response>,
}

impl Order {
    fn follow(&mut self, events: Vec<Event>) {
        for event in events {
            assert!(self.response.is_none(), "told behind the end: {event:?}");
            assert_eq!(self.started, !matches!(event, Event::Started(_)), "{event:?}");
            match event {
                Event::Started(_) => self.started = true,
                Event::ItemStarted { index, .. } => {
                    assert_eq!(index, self.open.len());
                    self.open.push(true);
                    self.told.push(0);
                }
                Event::Delta { index, delta, .. } => {
                    assert!(self.open[index], "a piece of what is done: {delta:?}");
                    self.told[index] += match delta {
                        Delta::Text(text)
                        | Delta::Refusal(text)
                        | Delta::Reasoning(text)
                        | Delta::Summary(text)
                        | Delta::Arguments(text) => text.len(),
                    };
                }
                Event::ItemDone { index, .. } => {
                    assert!(std::mem::take(&mut self.open[index]), "done twice");
                }
                Event::Completed(response) => {
                    assert_eq!(self.open, vec![false; response.output.len()]);
                    self.adds_up(&response);
                    self.response = Some(*response);
                }
            }
        }
    }

    fn adds_up(&self, response: &Response) {
        if self.repeats {
            return;
        }
        for (item, told) in response.output.iter().zip(&self.told) {
            match item {
                Item::Message(message) => assert_eq!(message.text().len(), *told, "{item:?}"),
                Item::FunctionCall(call) => assert_eq!(call.arguments.len(), *told, "{item:?}"),
                _ => {}
            }
        }
    }
}

/// What is made of some bytes is larger than they are, but not by much.
fn allowed(bytes: usize) -> usize {
    40 * bytes + (256 << 10)
}

fn bounded(result: &Result<Response, Error>, bytes: usize) {
    let size = match result {
        Ok(response) => serde_json::to_string(response).unwrap().len(),
        Err(error) => error.to_string().len(),
    };
    assert!(size <= allowed(bytes), "{size} from {bytes} bytes");
}

/// What was understood goes on as a conversation, with the same vendor and with another.
fn send_back(response: &Response, subject: &Subject) {
    let mut input: Vec<Arc<Item>> = vec![Arc::new(Item::user("Hello"))];
    input.extend(response.output.iter().cloned().map(Arc::new));
    input.extend(response.calls().map(|call| Arc::new(Item::output(&call.call_id, "done"))));
    let request = Request { model: "m".to_owned(), input, ..Request::default() };
    for vendor in [subject.name, "another"] {
        let outgoing =
            subject.dialect.encode(&request, &asked(vendor, true)).expect("it can be sent");
        serde_json::from_slice::<Value>(&outgoing.body).expect("what is sent is JSON");
    }
}

/// The most memory this process ever had, where the system says so.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}
