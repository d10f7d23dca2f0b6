//! Checks what is told when pieces are thoughts, go missing, or are of an attempt that was given up.

use agent_world_core::event::Order;
use agent_world_core::item::Usage as Tokens;
use agent_world_runtime::llm::{Delta, Request, resource};

use super::*;

fn chunk(offset: usize, text: &str, reasoning: &str) -> Chunk {
    Chunk {
        world: "w".into(),
        chat: "chat_1".into(),
        agent: "ada".into(),
        message: "msg_1".into(),
        offset,
        text: text.to_owned(),
        reasoning: reasoning.to_owned(),
        number: 0,
    }
}

fn reply(texts: &[&str]) -> ReplyRecorded {
    ReplyRecorded {
        turn: "turn_1".into(),
        agent: "ada".into(),
        reply: "msg_1".into(),
        model: "scripted/ada".to_owned(),
        items: texts.iter().map(|text| Item::assistant(*text)).collect(),
        calls: Vec::new(),
        order: Order::Parallel,
        usage: Tokens::default(),
        finish: Finish::Completed,
    }
}

/// What a client holds in the end, a line for each item, after the pieces it was told.
fn told(pieces: &[Chunk], recorded: &ReplyRecorded) -> Vec<String> {
    let mut telling = Telling::new("world:w/ada".to_owned());
    telling.begin(&"msg_1".into());
    pieces.iter().for_each(|piece| telling.piece(piece));
    telling.recorded(recorded);
    telling.end(Vec::new());
    let events = telling.take_events();
    let Some(Event::Completed(response)) = events.last() else { panic!("no end: {events:?}") };
    let response = resource::resource(&Request::default(), response);
    let line = |(index, item): (usize, &Value)| {
        let pieces: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                Event::Delta { index: at, delta, .. } if *at == index => Some(delta),
                _ => None,
            })
            .map(|delta| match delta {
                Delta::Text(text) | Delta::Summary(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        let list = if item["type"] == "reasoning" { "summary" } else { "content" };
        assert_eq!(item[list][0]["text"], pieces.concat(), "the pieces do not add up");
        let status = item["status"].as_str().unwrap_or_default();
        format!("{} {status}: {}", item["id"].as_str().unwrap(), pieces.join("|"))
    };
    response["output"].as_array().unwrap().iter().enumerate().map(line).collect()
}

#[test]
fn thoughts_between_texts_divide_them() {
    let pieces = [
        chunk(0, "", "Hm"),
        chunk(0, "", "m."),
        chunk(0, "One", ""),
        chunk(3, "", "And"),
        chunk(3, " two", ""),
    ];
    assert_eq!(
        told(&pieces, &reply(&["One two"])),
        ["rs_1 : Hm|m.", "msg_1 completed: One", "rs_1_2 : And", "msg_1_2 completed:  two",]
    );
}

#[test]
fn what_no_piece_has_told_is_told_at_the_end() {
    let pieces = [chunk(0, "Grü", ""), chunk(5, "Ada", "")];
    assert_eq!(told(&pieces, &reply(&["Grüße Ada"])), ["msg_1 completed: Grü|ße Ada"]);
    assert_eq!(
        told(&[], &reply(&["Hi", "you"])),
        ["msg_1 completed: Hi", "msg_1_2 completed: you"]
    );
    assert_eq!(told(&[chunk(0, "Hi", "")], &reply(&["Hi", "you"])), ["msg_1 completed: Hi|you"]);
}

#[test]
fn an_attempt_that_was_given_up_stays_told_as_incomplete() {
    let pieces = [chunk(0, "Well", ""), chunk(0, "Now", ""), chunk(3, " then", "")];
    assert_eq!(
        told(&pieces, &reply(&["Now then"])),
        ["msg_1 incomplete: Well", "msg_1_2 completed: Now then"]
    );
}

#[test]
fn pieces_of_other_replies_are_not_told() {
    let other = Chunk { message: "msg_9".into(), ..chunk(0, "Not me", "") };
    assert_eq!(told(&[other], &reply(&["Me"])), ["msg_1 completed: Me"]);
}
