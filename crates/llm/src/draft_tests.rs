//! Checks that whatever a dialect does to a draft, what is told of it is in order and says what the response holds.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What a dialect can do.
#[derive(Clone, Debug)]
enum Step {
    Start,
    OpenMessage,
    OpenReasoning,
    AddUnknown,
    Call(String, String),
    Text(usize, usize, String),
    Refusal(usize, usize, String),
    Thought(usize, usize, bool, String),
    Arguments(usize, String),
    Say(String),
    Refuse(String),
    Think(bool, String),
    Close(usize),
    CloseAll,
    Usage(u64),
    Take,
    Complete,
    Incomplete,
}

fn kind(raw: bool) -> Thought {
    if raw { Thought::Raw } else { Thought::Summary }
}

fn message() -> Item {
    Item::Message(MessageItem {
        id: None,
        role: Role::Assistant,
        content: Vec::new(),
        extra: Map::new(),
    })
}

fn reasoning() -> Item {
    Item::Reasoning(Reasoning { id: None, summary: Vec::new(), extra: Map::new() })
}

fn run(draft: &mut Draft, step: &Step, told: &mut Vec<Event>) {
    match step {
        Step::Start => draft.start(),
        Step::OpenMessage => {
            draft.open(message());
        }
        Step::OpenReasoning => {
            draft.open(reasoning());
        }
        Step::AddUnknown => {
            draft.add(Item::Unknown(json!({"type": "new"})));
        }
        Step::Call(name, arguments) => {
            draft.call("c", name, arguments);
        }
        Step::Text(index, part, piece) => draft.text(*index, *part, piece),
        Step::Refusal(index, part, piece) => draft.refusal(*index, *part, piece),
        Step::Thought(index, part, raw, piece) => draft.thought(*index, *part, kind(*raw), piece),
        Step::Arguments(index, piece) => draft.arguments(*index, piece),
        Step::Say(piece) => {
            draft.say(piece);
        }
        Step::Refuse(piece) => {
            draft.refuse(piece);
        }
        Step::Think(raw, piece) => {
            draft.think(kind(*raw), piece);
        }
        Step::Close(index) => draft.close(*index),
        Step::CloseAll => draft.close_all(),
        Step::Usage(tokens) => draft.usage(Usage::new(*tokens, 1)),
        Step::Take => told.extend(draft.take_events()),
        Step::Complete => draft.complete(),
        Step::Incomplete => draft.incomplete("max_output_tokens"),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = || prop_oneof![9 => 0..6_usize, 1 => Just(usize::MAX)];
    let part = || prop_oneof![9 => 0..3_usize, 1 => Just(1_500_usize), 1 => Just(usize::MAX)];
    let piece = || "[a-zä\"\\\\]{0,3}";
    let step = prop_oneof![
        Just(Step::Start),
        Just(Step::OpenMessage),
        Just(Step::OpenReasoning),
        Just(Step::AddUnknown),
        (piece(), piece()).prop_map(|(name, arguments)| Step::Call(name, arguments)),
        (index(), part(), piece()).prop_map(|(at, part, text)| Step::Text(at, part, text)),
        (index(), part(), piece()).prop_map(|(at, part, text)| Step::Refusal(at, part, text)),
        (index(), part(), any::<bool>(), piece())
            .prop_map(|(at, part, raw, text)| Step::Thought(at, part, raw, text)),
        (index(), piece()).prop_map(|(at, text)| Step::Arguments(at, text)),
        piece().prop_map(Step::Say),
        piece().prop_map(Step::Refuse),
        (any::<bool>(), piece()).prop_map(|(raw, text)| Step::Think(raw, text)),
        index().prop_map(Step::Close),
        Just(Step::CloseAll),
        any::<u64>().prop_map(Step::Usage),
        Just(Step::Take),
    ];
    // An end can come anywhere, and more may be sent behind it.
    let end = prop_oneof![Just(Step::Complete), Just(Step::Incomplete)];
    (
        prop::collection::vec(step.clone(), 0..30),
        end.clone(),
        prop::collection::vec(step, 0..6),
        end,
    )
        .prop_map(|(before, end, behind, again)| {
            before.into_iter().chain([end]).chain(behind).chain([again]).collect()
        })
}

/// Every text of a response, by where it is and what kind of text it is.
fn texts(output: &[Item]) -> BTreeMap<(usize, usize, &'static str), String> {
    let mut texts = BTreeMap::new();
    for (index, item) in output.iter().enumerate() {
        match item {
            Item::Message(message) => {
                for (part, content) in message.content.iter().enumerate() {
                    let kind =
                        if matches!(content, Part::Refusal { .. }) { "refusal" } else { "text" };
                    texts.insert((index, part, kind), content.text().unwrap().to_owned());
                }
            }
            Item::FunctionCall(call) => {
                texts.insert((index, 0, "arguments"), call.arguments.clone());
            }
            Item::Reasoning(reasoning) => {
                let raw = reasoning.extra.get("content").and_then(Value::as_array);
                for (kind, parts) in [("summary", Some(&reasoning.summary)), ("raw", raw)] {
                    for (part, content) in parts.into_iter().flatten().enumerate() {
                        let text = content["text"].as_str().unwrap();
                        texts.insert((index, part, kind), text.to_owned());
                    }
                }
            }
            Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
        }
    }
    texts.retain(|_, text| !text.is_empty());
    texts
}

fn well_formed(events: &[Event]) {
    let [Event::Started(started), between @ .., Event::Completed(response)] = events else {
        panic!("no start or no end: {events:?}")
    };
    assert!(started.output.is_empty());
    let mut items: Vec<bool> = Vec::new();
    let mut told = BTreeMap::new();
    for event in between {
        match event {
            Event::Started(_) | Event::Completed(_) => panic!("told twice: {event:?}"),
            Event::ItemStarted { index, .. } => {
                assert_eq!(*index, items.len());
                items.push(true);
            }
            Event::Delta { index, part, delta } => {
                assert!(items[*index], "a piece of what is done: {event:?}");
                let (kind, text) = match delta {
                    Delta::Text(text) => ("text", text),
                    Delta::Refusal(text) => ("refusal", text),
                    Delta::Reasoning(text) => ("raw", text),
                    Delta::Summary(text) => ("summary", text),
                    Delta::Arguments(text) => ("arguments", text),
                };
                assert!(!text.is_empty());
                let so_far: &mut String = told.entry((*index, *part, kind)).or_default();
                so_far.push_str(text);
            }
            Event::ItemDone { index, item } => {
                assert!(std::mem::replace(&mut items[*index], false), "done twice: {event:?}");
                assert_eq!(Some(item), response.output.get(*index));
            }
        }
    }
    assert_eq!(items, vec![false; response.output.len()]);
    assert_eq!(told, texts(&response.output));
}

proptest! {
    #[test]
    fn whatever_is_done_to_a_draft_what_is_told_is_in_order(steps in steps()) {
        let mut draft = Draft::new();
        let mut told = Vec::new();
        for step in &steps {
            run(&mut draft, step, &mut told);
        }
        told.extend(draft.take_events());
        well_formed(&told);
        let Some(Event::Completed(last)) = told.last() else { unreachable!() };
        prop_assert_eq!(&draft.into_response().unwrap(), &**last);
    }

    #[test]
    fn an_item_that_came_whole_is_told_in_pieces(steps in steps()) {
        let mut made = Draft::new();
        for step in &steps {
            run(&mut made, step, &mut Vec::new());
        }
        let output = made.into_response().unwrap().output;
        let mut draft = Draft::new();
        for item in &output {
            draft.tell_whole(item.clone());
        }
        draft.complete();
        let events = draft.take_events();
        well_formed(&events);
        prop_assert_eq!(draft.into_response().unwrap().output, output);
    }
}

#[test]
fn a_response_is_only_given_when_it_is_complete() {
    let mut draft = Draft::new();
    draft.say("half");
    assert!(!draft.is_completed());
    assert_eq!(draft.into_response(), None);
}

#[test]
fn speech_goes_on_in_the_message_under_way_and_begins_another_behind_thoughts_and_calls() {
    let mut draft = Draft::new();
    assert_eq!([draft.think(Thought::Raw, "h"), draft.think(Thought::Raw, "m")], [0, 0]);
    assert_eq!([draft.say("a"), draft.say("b"), draft.refuse("no")], [1, 1, 1]);
    assert!(!draft.is_open(0));
    assert_eq!(draft.call("c", "look", "{"), 2);
    assert_eq!(draft.say("then"), 3);
    // The call is not over yet, though others talk in between.
    draft.think(Thought::Summary, "so");
    draft.arguments(2, "}");
    draft.complete();
    let response = draft.into_response().unwrap();
    assert_eq!(response.status, Status::Completed);
    let kinds: Vec<String> = response
        .output
        .iter()
        .map(|item| serde_json::to_value(item).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "message", "reasoning"]);
    assert_eq!(response.calls().next().unwrap().arguments, "{}");
    assert_eq!(response.output_text(), "abthen");
    assert_eq!(response.refusal(), Some("no"));
}

#[test]
fn parts_that_nobody_sent_do_not_fill_the_memory() {
    let mut draft = Draft::new();
    for _ in 0..100 {
        let index = draft.open(message());
        draft.text(index, 900, "x");
        draft.text(index, usize::MAX, "y");
        draft.refusal(index, 1 << 40, "z");
        let index = draft.open(reasoning());
        draft.thought(index, 900, Thought::Summary, "x");
        draft.thought(index, usize::MAX, Thought::Raw, "y");
    }
    draft.complete();
    let parts: usize = draft
        .response()
        .output
        .iter()
        .map(|item| match item {
            Item::Message(message) => message.content.len(),
            Item::Reasoning(reasoning) => reasoning.summary.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(parts, 901);
}

#[test]
fn an_end_by_a_limit_says_which() {
    let mut draft = Draft::new();
    draft.say("half");
    draft.incomplete("max_output_tokens");
    draft.complete();
    let response = draft.into_response().unwrap();
    assert_eq!(response.status, Status::Incomplete);
    assert_eq!(response.incomplete_details.unwrap().reason, "max_output_tokens");
}
