//! The built-in demo model: a few fixed rules, so that agents answer, talk and call tools without any key.
//! Asked like every other vendor. Its reply is a pure function of the request; it says that it is no language
//! model, never pretends to understand and never addresses another agent unless it was asked to.
//!
//! A reply is either calls or text: text beside calls would reach nobody. So what is still to be answered is read
//! off the conversation: everything behind the model's last words.

mod conversation;
mod functions;
mod phrases;
mod results;
mod sample;
mod summary;
mod title;
mod tricks;

use std::time::Duration;

use agent_world_core::item::{Item, Usage};
use agent_world_core::prompt::TITLE_INSTRUCTIONS;
use async_stream::try_stream;

use crate::{Draft, Events, Format, Model, Request, compaction};
use conversation::{Entry, Heard, Speaker};
use tricks::Wish;

/// Counting is slow enough to be seen as a stream, and over within about a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(80);
const LONGEST_COUNT: Duration = Duration::from_secs(1);

/// The model behind every `demo/...` name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demo;

impl Model for Demo {
    fn stream(&self, request: Request) -> Events {
        Box::pin(try_stream! {
            let answer = answer(&request);
            let mut draft = Draft::new();
            draft.response_mut().model.clone_from(&request.model);
            if request.stream
                && let Answer::Text { text, pace } = &answer
            {
                for (pause, piece) in pieces(text, *pace) {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    draft.say(piece);
                    for event in draft.take_events() {
                        yield event;
                    }
                }
            }
            let items = answer.into_items(&request);
            draft.usage(estimate(&request, &items).into());
            // What was told in pieces is told whole as well, and is the same.
            if draft.response().output.is_empty() {
                for item in items {
                    draft.add(item);
                }
            }
            draft.complete();
            for event in draft.take_events() {
                yield event;
            }
        })
    }
}

/// What the rules make of a request.
#[derive(Debug, PartialEq)]
enum Answer {
    Calls(Vec<Call>),
    Text { text: String, pace: Pace },
}

/// A tool to call.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    tool: String,
    arguments: serde_json::Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    AtOnce,
    Counting,
}

fn answer(request: &Request) -> Answer {
    if request.instructions == TITLE_INSTRUCTIONS {
        return Answer::Text { text: title::from_opening(&request.input), pace: Pace::AtOnce };
    }
    if request.instructions == compaction::INSTRUCTIONS {
        return Answer::Text { text: summary::of(&request.input), pace: Pace::AtOnce };
    }
    let request = &*functions::narrowed(request);
    let entries = conversation::unanswered(&request.input);
    let mut calls: Vec<Call> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Heard(heard) if !heard.acted_on => Some(heard),
            _ => None,
        })
        .flat_map(|heard| wishes(heard, request).into_iter().map(move |wish| (heard, wish)))
        .filter_map(|(heard, wish)| match wish {
            Wish::Call(call) => Some(call),
            Wish::Unknown => plainly_asked(heard, request),
            _ => None,
        })
        .collect();
    if let (true, Some(Entry::Heard(heard))) = (calls.is_empty(), entries.last()) {
        calls.extend(functions::forced(&heard.text, request).filter(|_| !heard.acted_on));
    }
    match (calls.is_empty(), text_for(&entries, request)) {
        (false, _) => Answer::Calls(calls),
        (true, answer) => in_format(answer, request),
    }
}

/// Only people are understood this freely; what agents say to each other stays predictable.
fn plainly_asked(heard: &Heard, request: &Request) -> Option<Call> {
    match heard.speaker {
        Speaker::Person => functions::asked_for(&heard.text, request),
        Speaker::Agent(_) => None,
    }
}

/// Where JSON is asked for, JSON is given: a program reads it.
fn in_format(answer: Answer, request: &Request) -> Answer {
    let Answer::Text { text, pace } = answer else { return answer };
    let text = match request.text.as_ref().and_then(|text| text.format.as_ref()) {
        Some(Format::JsonSchema(wanted)) => sample::of(&wanted.schema).to_string(),
        Some(Format::JsonObject) => serde_json::json!({ "text": text }).to_string(),
        _ => text,
    };
    Answer::Text { text, pace }
}

/// Another agent's answer to a question of ours is passed on, not obeyed.
fn wishes(heard: &Heard, request: &Request) -> Vec<Wish> {
    if heard.answers_us {
        return Vec::new();
    }
    tricks::read(&heard.text, &request.tools)
}

fn text_for(entries: &[Entry], request: &Request) -> Answer {
    let mut pace = Pace::AtOnce;
    let mut paragraphs = Vec::new();
    let mut to_a_person = false;
    for entry in entries {
        match entry {
            Entry::Ended(result) => paragraphs.push(results::summary(result)),
            Entry::Heard(heard) => {
                to_a_person |= heard.speaker == Speaker::Person;
                let wishes = wishes(heard, request);
                if wishes.iter().any(|wish| matches!(wish, Wish::Count(_))) {
                    pace = Pace::Counting;
                }
                paragraphs.extend(match &heard.speaker {
                    Speaker::Person => to_person(heard, wishes, request),
                    Speaker::Agent(name) => to_agent(name, heard, wishes),
                });
            }
        }
    }
    if paragraphs.is_empty() {
        paragraphs.push(phrases::NOTHING_NEW.to_owned());
    }
    if to_a_person && !conversation::said(&request.input, phrases::INTRODUCTION_MARK) {
        paragraphs.insert(0, phrases::INTRODUCTION.to_owned());
    }
    Answer::Text { text: paragraphs.join("\n\n"), pace }
}

fn to_person(heard: &Heard, wishes: Vec<Wish>, request: &Request) -> Vec<String> {
    wishes
        .into_iter()
        .filter_map(|wish| match wish {
            Wish::Call(_) => None,
            Wish::Say(text) | Wish::Address(text) | Wish::Count(text) => Some(text),
            Wish::Greet => Some(phrases::GREETING.to_owned()),
            Wish::Thank => Some(phrases::WELCOME.to_owned()),
            Wish::Help => Some(phrases::help(&request.tools)),
            Wish::Unknown if heard.acted_on && plainly_asked(heard, request).is_some() => None,
            Wish::Unknown => Some(phrases::not_understood(&heard.text)),
        })
        .collect()
}

/// Says nothing that would make the other agent ask again, and speaks to the human where no answer is due.
fn to_agent(name: &str, heard: &Heard, wishes: Vec<Wish>) -> Vec<String> {
    if heard.answers_us {
        return vec![phrases::passed_on(name, &heard.text)];
    }
    wishes
        .into_iter()
        .filter_map(|wish| match wish {
            Wish::Call(_) => None,
            Wish::Say(text) | Wish::Address(text) | Wish::Count(text) => Some(text),
            Wish::Greet => Some(phrases::GREETING_TO_AGENT.to_owned()),
            Wish::Help => Some(phrases::HELP_TO_AGENT.to_owned()),
            Wish::Unknown if tricks::is_question(&heard.text) => {
                Some(phrases::NO_ANSWER_TO_AGENT.to_owned())
            }
            Wish::Thank | Wish::Unknown => Some(phrases::told_by(name, &heard.text)),
        })
        .collect()
}

impl Answer {
    fn into_items(self, request: &Request) -> Vec<Item> {
        match self {
            Self::Text { text, .. } => vec![Item::assistant(text)],
            // The conversation only grows, so its length makes ids that are not used again.
            Self::Calls(calls) => (request.input.len()..)
                .zip(calls)
                .map(|(number, call)| {
                    Item::call(format!("demo_{number}"), call.tool, &call.arguments)
                })
                .collect(),
        }
    }
}

/// The words of a text, each with the pause before it.
fn pieces(text: &str, pace: Pace) -> impl Iterator<Item = (Duration, &str)> {
    let count = u32::try_from(text.split_inclusive(char::is_whitespace).count());
    let pause = match pace {
        Pace::AtOnce => Duration::ZERO,
        Pace::Counting => LONGEST_PAUSE.min(LONGEST_COUNT / count.unwrap_or(u32::MAX).max(1)),
    };
    text.split_inclusive(char::is_whitespace).map(move |word| (pause, word))
}

/// An estimate: one token for each word. The demo model has no tokens and costs nothing.
fn estimate(request: &Request, reply: &[Item]) -> Usage {
    let heard = request.input.iter().map(|item| words(item)).sum::<u64>();
    let input_tokens = count(&request.instructions).saturating_add(heard);
    let output_tokens = reply.iter().map(words).sum();
    Usage {
        input_tokens,
        output_tokens,
        total_tokens: input_tokens.saturating_add(output_tokens),
        ..Usage::default()
    }
}

fn words(item: &Item) -> u64 {
    match item {
        Item::Message(message) => count(&message.text()),
        Item::FunctionCall(call) => count(&call.name).saturating_add(count(&call.arguments)),
        Item::FunctionCallOutput(output) => match output.output.as_str() {
            Some(text) => count(text),
            None => count(&output.output.to_string()),
        },
        Item::Reasoning(_) | Item::Unknown(_) => 0,
    }
}

fn count(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "demo_tests.rs"]
mod tests;
