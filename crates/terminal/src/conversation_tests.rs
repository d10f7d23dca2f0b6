//! Checks how what is heard becomes a conversation: late, twice, in pieces, or without end.

use agent_world_client::wire::{CallState, Event};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn conversation() -> Conversation {
    let world = json!({"id": "w", "name": "W"});
    let chat = json!({"id": "chat_1", "world_id": "w", "created_at": "", "updated_at": ""});
    Conversation::new(serde_json::from_value(world).unwrap(), serde_json::from_value(chat).unwrap())
}

fn event(seq: u64, news: News) -> Heard {
    Heard::Event(Box::new(Event {
        seq,
        world_id: "w".to_owned(),
        chat_id: Some("chat_1".to_owned()),
        at: "10:00".to_owned(),
        news,
        json: Value::Null,
    }))
}

fn message(id: &str, role: &str, sender: &str, content: &str) -> Value {
    json!({
        "id": id, "chat_id": "chat_1", "role": role, "sender": sender, "agent_id": sender,
        "content": content, "created_at": "09:00",
    })
}

fn posted(seq: u64, message: Value) -> Heard {
    event(seq, News::Message(serde_json::from_value(message).unwrap()))
}

fn call(seq: u64, state: &str, result: Option<&str>) -> Heard {
    let call = json!({
        "id": "call_1", "chat_id": "chat_1", "agent_id": "ada", "name": "shell_cmd",
        "arguments": {"command": "ls"}, "state": state, "result": result,
    });
    event(seq, News::Tool(serde_json::from_value(call).unwrap()))
}

fn piece(offset: u64, delta: &str, reasoning: &str) -> Heard {
    Heard::Piece(Piece {
        chat_id: "chat_1".to_owned(),
        message_id: "msg_2".to_owned(),
        agent_id: "ada".to_owned(),
        offset,
        delta: delta.to_owned(),
        reasoning_delta: reasoning.to_owned(),
    })
}

fn output(delta: &str) -> Heard {
    Heard::Output(Output {
        chat_id: "chat_1".to_owned(),
        id: "call_1".to_owned(),
        agent_id: "ada".to_owned(),
        channel: "stdout".to_owned(),
        delta: delta.to_owned(),
    })
}

fn ended(seq: u64, phase: Phase, error: Option<&str>) -> Heard {
    let error = error.map(str::to_owned);
    let (message_id, agent_id) = ("msg_2".to_owned(), "ada".to_owned());
    event(
        seq,
        News::Stream(Stream {
            phase,
            message_id,
            agent_id,
            turn_id: None,
            iteration: None,
            joined: None,
            retry_of: None,
            usage: None,
            error,
        }),
    )
}

fn notice(seq: u64, code: &str, text: &str, message: Option<&str>) -> Heard {
    let notice = json!({"code": code, "text": text, "message_id": message});
    event(seq, News::Notice(serde_json::from_value(notice).unwrap()))
}

fn told(conversation: &Conversation) -> String {
    let tell = |entry: &Entry| match entry {
        Entry::Said(said) => {
            let reasoning = match said.reasoning.as_str() {
                "" => String::new(),
                text => format!(" (thinks {text:?})"),
            };
            format!("{} {}{reasoning}: {:?} {:?}\n", said.id, said.sender, said.text, said.state)
        }
        Entry::Call(block) => {
            let output: Vec<&str> = block.output.lines().collect();
            format!(
                "{} {} {} {:?} {output:?} -> {:?}\n",
                block.id, block.agent, block.name, block.state, block.result
            )
        }
        Entry::Notice { text, .. } => format!("notice {text}\n"),
    };
    conversation.entries().iter().map(tell).collect()
}

fn check(heard: &[Heard], expected: Expect) {
    let mut once = conversation();
    for one in heard {
        once.hear(one);
    }
    expected.assert_eq(&told(&once));
}

fn whole() -> Vec<Heard> {
    let mut asks = message("msg_2", "assistant", "ada", "Hello ada");
    asks["tool_calls"] =
        json!([{"id": "call_1", "function": {"name": "shell_cmd", "arguments": "{}"}}]);
    let mut result = message("msg_3", "tool", "ada", "a.txt");
    result["tool_call_id"] = json!("call_1");
    vec![
        posted(1, message("msg_1", "user", "human", "hi")),
        piece(0, "", "hm"),
        piece(0, "Hello ", ""),
        piece(6, "ada", ""),
        ended(2, Phase::End, None),
        posted(3, asks),
        call(4, "executing", None),
        output("a.t"),
        output("xt\n"),
        call(5, "completed", Some("a.txt")),
        posted(6, result),
        notice(7, "turn_limit", "that was enough", None),
        posted(8, message("msg_4", "assistant", "ada", "done")),
    ]
}

#[test]
fn a_turn_is_told_in_order() {
    check(
        &whole(),
        expect![[r#"
        msg_1 human: "hi" Whole
        msg_2 ada (thinks "hm"): "Hello ada" Whole
        call_1 ada shell_cmd Completed [] -> Some("a.txt")
        notice that was enough
        msg_4 ada: "done" Whole
    "#]],
    );
}

#[test]
fn hearing_all_of_it_again_changes_nothing() {
    let mut conversation = conversation();
    for one in whole() {
        conversation.hear(&one);
    }
    let before = told(&conversation);
    for one in whole() {
        conversation.hear(&one);
        assert_eq!(told(&conversation), before, "{one:?}");
    }
}

#[test]
fn pieces_are_put_where_they_belong() {
    // Counted in characters, not bytes.
    check(
        &[piece(0, "größe", ""), piece(5, " 東", ""), piece(7, "!", "")],
        expect![[r#"
        msg_2 ada: "größe 東!" Streaming
    "#]],
    );
    // Heard twice, and after a gap: wait for the whole.
    check(
        &[piece(0, "abc", ""), piece(3, "def", ""), piece(3, "def", ""), piece(9, "x", "")],
        expect![[r#"
            msg_2 ada: "abcdef" Streaming
        "#]],
    );
    // Whoever joins again is told all.
    check(
        &[piece(0, "abc", "r"), piece(9, "x", ""), piece(0, "abcdefghix", "r"), piece(10, "y", "")],
        expect![[r#"
            msg_2 ada (thinks "r"): "abcdefghixy" Streaming
        "#]],
    );
    check(
        &[
            piece(0, "", "one"),
            piece(0, "", " two"),
            piece(0, "", "one two three"),
            piece(0, "a", ""),
        ],
        expect![[r#"
            msg_2 ada (thinks "one two three"): "a" Streaming
        "#]],
    );
}

#[test]
fn a_piece_after_the_whole_means_nothing() {
    let whole = posted(2, message("msg_2", "assistant", "ada", "Hello"));
    check(
        &[piece(0, "He", ""), whole, piece(2, "llo", ""), piece(0, "x", "")],
        expect![[r#"
        msg_2 ada: "Hello" Whole
    "#]],
    );
}

#[test]
fn a_reply_may_break_off() {
    let broken = ended(2, Phase::Error, Some("the vendor hung up"));
    check(
        &[piece(0, "He", ""), broken, piece(2, "llo", "")],
        expect![[r#"
        msg_2 ada: "He" BrokenOff("the vendor hung up")
    "#]],
    );
    check(&[ended(2, Phase::Error, None)], expect![[r#""#]]);
}

#[test]
fn what_is_over_stays_over() {
    check(
        &[
            output("before it is known"),
            call(1, "executing", None),
            output("one\ntwo"),
            call(2, "failed", Some("no")),
            call(1, "executing", None),
            output("late"),
        ],
        expect![[r#"
            call_1 ada shell_cmd Failed [] -> Some("no")
        "#]],
    );
}

#[test]
fn what_is_taken_back_is_gone() {
    let mut heard = whole();
    let cut = json!({"entity": "message", "action": "deleted", "id": "msg_2", "from": "msg_2"});
    heard.push(event(9, News::Changed(serde_json::from_value(cut).unwrap())));
    heard.push(posted(10, message("msg_5", "user", "human", "again")));
    check(
        &heard,
        expect![[r#"
        msg_1 human: "hi" Whole
        msg_5 human: "again" Whole
    "#]],
    );
}

#[test]
fn notices_are_told_once_unless_a_message_says_them() {
    let mut conversation = conversation();
    for one in [
        notice(1, "stopped", "stopped by ada", None),
        notice(1, "stopped", "stopped by ada", None),
        posted(2, message("msg_1", "system", "system", "limit")),
        notice(3, "turn_limit", "limit", Some("msg_1")),
        notice(4, "title", "A better name", None),
    ] {
        conversation.hear(&one);
    }
    expect![[r#"
        notice stopped by ada
        msg_1 system: "limit" Whole
    "#]]
    .assert_eq(&told(&conversation));
    assert_eq!(conversation.chat.title, "A better name");
}

#[test]
fn other_chats_are_passed_over() {
    let mut conversation = conversation();
    conversation.chat.id = "chat_2".to_owned();
    for one in whole() {
        assert!(conversation.hear(&one).is_empty());
    }
    assert!(conversation.entries().is_empty());
}

#[test]
fn a_request_for_approval_is_no_message() {
    let mut asks = message("msg_9", "assistant", "ada", "Execute?");
    let function = json!({"name": "client.requestApproval", "arguments": "{}"});
    asks["tool_calls"] = json!([{"id": "apr_1", "function": function}]);
    check(&[posted(1, asks)], expect![[""]]);
}

#[test]
fn a_long_output_keeps_its_end() {
    let mut conversation = conversation();
    conversation.hear(&call(1, "executing", None));
    for number in 0..100_000 {
        conversation.hear(&output(&format!("line {number}\n")));
    }
    let Some(Entry::Call(block)) = conversation.entry("call_1") else { panic!() };
    assert_eq!(block.output.lines().len(), 1_000);
    assert_eq!(block.output.count(), 100_000);
    assert_eq!(block.output.lines().next(), Some("line 99000"));
    assert_eq!(block.output.lines().next_back(), Some("line 99999"));
}

#[test]
fn a_line_without_end_is_bounded() {
    let mut tail = Tail::default();
    for _ in 0..10_000 {
        tail.push("東京");
    }
    tail.push("\nnext");
    let lines: Vec<&str> = tail.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].len() <= 4_000 && lines[0].len() > 3_900);
    assert_eq!(lines[1], "next");
}

#[test]
fn older_entries_go_before() {
    let mut older = conversation();
    older.hear(&posted(1, message("msg_0", "user", "human", "first")));
    older.hear(&posted(2, message("msg_1", "user", "human", "hi")));
    let mut newer = conversation();
    newer.hear(&posted(2, message("msg_1", "user", "human", "hi")));
    newer.precede(older);
    expect![[r#"
        msg_0 human: "first" Whole
        msg_1 human: "hi" Whole
    "#]]
    .assert_eq(&told(&newer));
    assert_eq!(newer.entry("msg_1").map(Entry::id), Some("msg_1"));
    assert_eq!(newer.hear(&posted(3, message("msg_2", "user", "human", "x"))), [2]);
}

#[test]
fn changes_are_counted() {
    let mut conversation = conversation();
    let mut last = 0;
    for one in [piece(0, "a", ""), piece(1, "b", ""), ended(1, Phase::End, None)] {
        assert_eq!(conversation.hear(&one), [0]);
        let version = conversation.entries()[0].version();
        assert!(version > last);
        last = version;
    }
    assert!(conversation.hear(&piece(1, "b", "")).is_empty());
    assert_eq!(conversation.entries()[0].version(), last);
    assert!(CallState::Failed.is_over());
}
