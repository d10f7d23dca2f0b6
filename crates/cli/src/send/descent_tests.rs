//! Tests of what counts as caused by a message.

use serde_json::{Value, json};

use super::*;

/// A chat in which `mine` was posted, and what happens in it.
struct Story {
    descent: Descent,
    seq: u64,
}

impl Story {
    fn new() -> Self {
        Self { descent: Descent::of("mine"), seq: 0 }
    }

    fn hear(mut self, kind: &str, data: Value) -> Self {
        self.seq += 1;
        let event = json!({
            "seq": self.seq, "type": kind, "world_id": "w", "chat_id": "c", "at": "", "data": data,
        });
        self.descent.follow(&Event::read(event).unwrap());
        self
    }

    fn join(self, turn: &str, iteration: u32, joined: &[Value]) -> Self {
        self.repeat(turn, None, iteration, joined)
    }

    fn repeat(self, turn: &str, of: Option<&str>, iteration: u32, joined: &[Value]) -> Self {
        let data = json!({
            "phase": "start", "message_id": "reply", "agent_id": "ada", "turn_id": turn,
            "iteration": iteration, "joined": joined, "retry_of": of,
        });
        self.hear("stream", data)
    }

    fn turn(self, turn: &str, joined: &[Value]) -> Self {
        self.join(turn, 1, joined)
    }

    fn say(self, id: &str, turn: &str) -> Self {
        let data = json!({
            "id": id, "chat_id": "c", "role": "assistant", "sender": "ada", "turn_id": turn,
            "content": "@bob go on", "created_at": "",
        });
        self.hear("message", data)
    }

    fn call(self, call: &str, turn: &str) -> Self {
        self.call_in(call, turn, "pending")
    }

    fn call_in(self, call: &str, turn: &str, state: &str) -> Self {
        let data = json!({
            "id": call, "chat_id": "c", "agent_id": "ada", "turn_id": turn, "name": "shell_cmd",
            "state": state,
        });
        self.hear("tool", data)
    }

    fn is_mine(&self, call: &str) -> bool {
        self.descent.has_call(call)
    }
}

fn message(id: &str) -> Value {
    json!({ "message_id": id })
}

fn background(call: &str) -> Value {
    json!({ "tool_call_id": call })
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
    let story = story.turn("three", &[background("a")]).call("c", "three");
    assert!(story.is_mine("b") && story.is_mine("c"));
    let story = Story::new().turn("one", &[message("theirs")]).call("a", "one").say("said", "one");
    let story = story.turn("two", &[message("said")]).call("b", "two");
    let story = story.turn("three", &[background("a")]).call("c", "three");
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
    let story = story.repeat("three", Some("one"), 1, &[]).call("a", "three");
    let story = story.repeat("four", Some("two"), 1, &[message("mine")]).call("b", "four");
    assert!(story.is_mine("a") && !story.is_mine("b"));
}

#[test]
fn only_the_first_word_about_a_call_counts() {
    let both = [message("mine"), message("theirs")];
    let story = Story::new().call_in("old", "one", "awaiting_approval");
    let story = story.turn("one", &[message("mine")]).call_in("old", "one", "pending");
    assert!(!story.is_mine("old"));
    let story = Story::new().turn("one", &[message("mine")]).call("a", "one");
    let story = story.join("one", 2, &both).call_in("a", "one", "awaiting_approval");
    assert!(story.is_mine("a"));
}

#[test]
fn what_is_not_told_or_not_understood_is_not_the_messages() {
    let story = Story::new().turn("one", &[message("mine"), json!({ "news_of": "x" })]);
    assert!(!story.call("a", "one").is_mine("a"));
    let start = json!({ "phase": "start", "message_id": "r", "agent_id": "ada", "turn_id": "one" });
    assert!(!Story::new().hear("stream", start).call("a", "one").is_mine("a"));
}
