//! Tests of what a provider decides without a network: settings, models, joined and retold replies. The rest is tested
//! with servers, in `tests/network`.

use agent_world_core::item::{Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value, json};

use super::*;
use crate::credentials::Fixed;
use crate::dialect::{Outgoing, Reader};
use crate::transport::Proxies;
use crate::{Delta, Draft, Event, Status, Usage};

/// Says nothing at all.
#[derive(Debug)]
struct Mute;

impl Dialect for Mute {
    fn encode(&self, _: &Request, _: &Asked) -> Result<Outgoing, Error> {
        Outgoing::json("/", &Value::Null)
    }

    fn decode(&self, _: &[u8], asked: &Asked) -> Result<Response, Error> {
        Err(asked.error(Class::Server, "mute"))
    }

    fn reader(&self, _: &Asked) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn explain(&self, _: u16, _: &[u8], asked: &Asked) -> Error {
        asked.error(Class::Server, "mute")
    }
}

impl Reader for Mute {
    fn read(&mut self, _: &crate::frames::Frame, _: &mut Draft) -> Result<(), Error> {
        Ok(())
    }
}

fn builder() -> Builder {
    let transport = Transport::builder().proxies(Proxies::none()).build().unwrap();
    Provider::builder("toy", Arc::new(Mute))
        .base_url("https://toy.example/v1/")
        .transport(transport)
}

#[test]
fn settings_that_cannot_be_used_are_refused_at_once() {
    let bare = Provider::builder("toy", Arc::new(Mute)).build().unwrap_err();
    assert_eq!((bare.vendor.as_str(), bare.message.as_str()), ("toy", "a base URL must be set"));
    for builder in [
        builder().base_url("toy.example"),
        builder().base_url("https://ada:secret-word@toy.example"),
        builder().header("no name", "x"),
        builder().header("x-name", "secret-word\r\nx-evil: 1"),
        builder().key_header("no name"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!((error.class, error.vendor.as_str()), (Class::InvalidRequest, "toy"));
        assert!(!error.to_string().contains("secret-word"), "{error}");
    }
    assert!(builder().build().is_ok());
}

#[test]
fn models_are_known_by_alias_by_table_and_by_setting() {
    let small = Capabilities { tools: false, ..Capabilities::default() };
    let blind = Capabilities { vision: false, ..Capabilities::default() };
    let provider = builder()
        .alias("fast", "toy-fast-1")
        .capabilities("toy-fast-1", small.clone())
        .capabilities("blind", blind.clone())
        .build()
        .unwrap();
    assert_eq!(provider.capabilities("fast"), small);
    assert_eq!(provider.capabilities("toy-fast-1"), small);
    assert_eq!(provider.capabilities("blind"), blind);
    assert_eq!(provider.capabilities("any"), Capabilities::default());
    let asked = provider.0.asked("fast", true);
    assert_eq!((&*asked.vendor, asked.model.as_str(), asked.stream), ("toy", "toy-fast-1", true));
    assert_eq!(asked.capabilities, small);
    let tabled = builder().models("openai").build().unwrap();
    assert_eq!(tabled.capabilities("gpt-5"), Capabilities::of("openai", "gpt-5"));
}

#[test]
fn nothing_of_a_provider_prints_a_secret() {
    let builder = builder()
        .credentials(Fixed::key("sk-0123456789"))
        .header("authorization", "Bearer sk-0123456789")
        .query("key", "sk-0123456789");
    assert!(!format!("{builder:?} {builder:#?}").contains("0123456789"), "{builder:?}");
    let provider = builder.build().unwrap();
    assert!(!format!("{provider:?} {provider:#?}").contains("0123456789"), "{provider:?}");
    assert!(format!("{provider:?}").contains("https://toy.example/v1"), "{provider:?}");
}

#[tokio::test]
async fn access_without_a_path_says_whether_there_is_a_key() {
    let without = builder().key_hint("set TOY_KEY").build().unwrap();
    assert_eq!(without.validate_access().await.unwrap_err().class, Class::Auth);
    let with = builder().credentials(Fixed::key("sk-1")).build().unwrap();
    with.validate_access().await.unwrap();
}

fn paused(id: &str, text: &str) -> Response {
    let mut response = Response {
        id: id.to_owned(),
        output: vec![Item::assistant(text)],
        usage: Some(Usage::new(10, 1).with_cached(5)),
        ..Response::default()
    };
    response.incomplete("pause_turn");
    response
}

#[test]
fn parts_of_a_reply_are_joined() {
    let mut turn = Turn::new(Request::new("m", "why?"));
    assert_eq!(turn.join(paused("r1", "one")), None);
    assert_eq!(turn.request().input.len(), 2);
    let last = Response {
        id: "r2".to_owned(),
        output: vec![Item::assistant("two")],
        usage: Some(Usage::new(20, 2)),
        ..Response::default()
    };
    let joined = turn.join(last).unwrap();
    assert_eq!(joined.id, "r1");
    assert_eq!(joined.status, Status::Completed);
    assert_eq!(joined.output, [Item::assistant("one"), Item::assistant("two")]);
    assert_eq!(joined.usage, Some(Usage::new(30, 3).with_cached(5)));
}

#[test]
fn a_reply_cut_for_another_reason_is_given_as_it_is() {
    let mut cut = paused("r1", "one");
    cut.incomplete("max_output_tokens");
    assert_eq!(Turn::new(Request::default()).join(cut.clone()), Some(cut));
    // The word alone does not pause a reply that is complete.
    let complete = Response { status: Status::Completed, ..paused("r1", "one") };
    assert!(Turn::new(Request::default()).join(complete).is_some());
}

#[test]
fn parts_without_usage_leave_the_sum_alone() {
    let mut turn = Turn::new(Request::default());
    assert_eq!(turn.join(Response { usage: None, ..paused("r1", "one") }), None);
    assert_eq!(turn.join(paused("r2", "two")), None);
    let joined = turn.join(Response::default()).unwrap();
    assert_eq!(joined.usage.map(|usage| usage.total_tokens), Some(11));
}

#[test]
fn a_whole_reply_is_retold_with_one_piece_for_each_text() {
    let message = Item::Message(MessageItem {
        id: Some("m1".to_owned()),
        role: Role::Assistant,
        content: vec![
            Part::said(Role::Assistant, "yes"),
            Part::Unknown(json!({"type": "chart"})),
            Part::Refusal { refusal: "but no".to_owned(), extra: Map::new() },
        ],
        extra: Map::new(),
    });
    let mut extra = Map::new();
    extra.insert("content".to_owned(), json!([{"type": "reasoning_text", "text": "hm"}]));
    let summary = vec![json!({"type": "summary_text", "text": "thought"})];
    let reasoning = Item::Reasoning(Reasoning { id: None, summary, extra });
    let call = Item::call("c1", "ls", &json!({"path": "."}));
    let other = Item::Unknown(json!({"type": "web_search_call", "id": "w"}));
    let mut response = Response {
        id: "r1".to_owned(),
        output: vec![reasoning.clone(), message.clone(), call.clone(), other.clone()],
        usage: Some(Usage::new(1, 2)),
        ..Response::default()
    };
    response.incomplete("max_output_tokens");
    let events = crate::all_of(response.clone());
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Delta { index, part, delta } => Some((*index, *part, delta.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        deltas,
        [
            (0, 0, Delta::Summary("thought".to_owned())),
            (0, 0, Delta::Reasoning("hm".to_owned())),
            (1, 0, Delta::Text("yes".to_owned())),
            (1, 2, Delta::Refusal("but no".to_owned())),
            (2, 0, Delta::Arguments(r#"{"path":"."}"#.to_owned())),
        ],
    );
    let done: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ItemDone { item, .. } => Some(item.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(done, [reasoning, message, call, other]);
    let Some(Event::Started(started)) = events.first() else { panic!("{events:?}") };
    assert_eq!((started.id.as_str(), &started.status), ("r1", &Status::InProgress));
    assert!(started.output.is_empty() && started.usage.is_none());
    assert_eq!(events.last(), Some(&Event::Completed(Box::new(response))));
}
