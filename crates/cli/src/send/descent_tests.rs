//! Tests of what counts as caused by a message.

use agent_world_core::config::{Location, Mode};
use agent_world_core::event::{
    Addressing, Attendance, Message, MessagePosted, ModelCallRequested, ToolCalled, TurnStarted,
};
use agent_world_core::sender::Sender;
use serde_json::json;

use super::*;

/// A chat in which `mine` was posted, and what happens in it.
struct Story(Descent);

impl Story {
    fn new() -> Self {
        Self(Descent::of("mine".into()))
    }

    fn start(mut self, turn: &str, retry_of: Option<&str>) -> Self {
        self.0.follow(&Event::TurnStarted(TurnStarted {
            turn: turn.into(),
            agent: "ada".into(),
            answering: Sender::Human,
            attendance: Attendance::Attended,
            retry_of: retry_of.map(Into::into),
        }));
        self
    }

    fn join(mut self, turn: &str, iteration: u32, joined: &[Waiting]) -> Self {
        self.0.follow(&Event::ModelCallRequested(ModelCallRequested {
            turn: turn.into(),
            agent: "ada".into(),
            reply: "reply".into(),
            iteration,
            joined: joined.to_vec(),
        }));
        self
    }

    fn turn(self, turn: &str, joined: &[Waiting]) -> Self {
        self.start(turn, None).join(turn, 1, joined)
    }

    fn say(mut self, id: &str, turn: &str) -> Self {
        let message = Message {
            id: id.into(),
            sender: Sender::Agent("ada".into()),
            user: None,
            text: "@bob go on".to_owned(),
            parts: Vec::new(),
            reply_to: None,
            turn: Some(turn.into()),
            usage: None,
        };
        let attendance = Attendance::Attended;
        let recipients = vec!["bob".into()];
        let addressing = Addressing::ByText;
        let posted = MessagePosted { message, recipients, attendance, addressing };
        self.0.follow(&Event::MessagePosted(posted));
        self
    }

    fn call(mut self, call: &str, turn: &str) -> Self {
        self.0.follow(&Event::ToolCalled(ToolCalled {
            call: call.into(),
            turn: turn.into(),
            agent: "ada".into(),
            reply: "reply".into(),
            vendor_id: String::new(),
            name: "shell_cmd".to_owned(),
            arguments: json!({}),
            mode: Mode::default(),
            location: Location::default(),
            timeout_seconds: 1,
            may_repeat: false,
            working_directory: None,
            verdict: None,
        }));
        self
    }

    fn is_mine(&self, call: &str) -> bool {
        self.0.has_call(&call.into())
    }
}

fn message(id: &str) -> Waiting {
    Waiting::Message { id: id.into(), sender: Sender::Human, attendance: Attendance::Attended }
}

#[test]
fn a_call_for_the_message_is_its_own_and_one_for_another_is_not() {
    let story = Story::new().turn("one", &[message("mine")]).call("a", "one");
    let story = story.turn("two", &[message("theirs")]).call("b", "two");
    assert!(story.is_mine("a") && !story.is_mine("b"));
}

#[test]
fn what_agents_say_to_each_other_and_background_calls_are_followed() {
    let story = Story::new().turn("one", &[message("mine")]).call("a", "one").say("said", "one");
    let story = story.turn("two", &[message("said")]).call("b", "two");
    let story = story.turn("three", &[Waiting::Background { call: "a".into() }]).call("c", "three");
    assert!(story.is_mine("b") && story.is_mine("c"));
    let story = Story::new().turn("one", &[message("theirs")]).call("a", "one").say("said", "one");
    let story = story.turn("two", &[message("said")]).call("b", "two");
    let story = story.turn("three", &[Waiting::Background { call: "a".into() }]).call("c", "three");
    assert!(!story.is_mine("b") && !story.is_mine("c"));
}

#[test]
fn a_turn_that_serves_somebody_else_as_well_is_not_the_messages() {
    let both = [message("mine"), message("theirs")];
    assert!(!Story::new().turn("one", &both).call("a", "one").is_mine("a"));
    // Somebody speaks while the turn is under way: what it did before stays, what it does now is theirs too.
    let story = Story::new().turn("one", &[message("mine")]).call("a", "one");
    let story = story.join("one", 2, &[message("theirs")]).call("b", "one").say("said", "one");
    let story = story.turn("two", &[message("said")]).call("c", "two");
    assert!(story.is_mine("a") && !story.is_mine("b") && !story.is_mine("c"));
    // Nor does it come back.
    let story = story.join("one", 3, &[message("mine")]).call("d", "one");
    assert!(!story.is_mine("d"));
    // It was somebody else's before the message was posted.
    let story = Story::new().join("old", 2, &[message("mine")]).call("a", "old");
    assert!(!story.is_mine("a"));
}

#[test]
fn a_repeated_turn_is_the_messages_where_the_first_was() {
    let story = Story::new().turn("one", &[message("mine")]).turn("two", &[message("theirs")]);
    let story = story.start("three", Some("one")).join("three", 1, &[]).call("a", "three");
    let story = story.start("four", Some("two")).join("four", 1, &[message("mine")]);
    let story = story.call("b", "four");
    assert!(story.is_mine("a") && !story.is_mine("b"));
}
