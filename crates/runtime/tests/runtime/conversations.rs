//! Messages are answered: by everybody at once, together where they arrived together, and each exactly once.

use agent_world_core::brought::Brought;
use agent_world_core::item::Item;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::NewMessage;
use futures::future::join_all;

use crate::props::{call, calls, doing, done, free, gate, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores};

on_both_stores!(
    a_message_is_answered,
    agents_answer_at_the_same_time_and_a_slow_one_delays_nobody,
    what_arrives_while_an_agent_is_busy_is_answered_together_by_its_next_turn,
    what_arrives_while_a_batch_is_open_joins_after_the_results,
    none_of_many_messages_posted_at_once_is_lost_or_shown_twice,
    the_same_post_twice_is_one_message_and_gets_the_same_answer,
    a_conversation_that_a_client_kept_goes_on_with_one_agent_alone_also_after_a_restart,
);

async fn a_conversation_that_a_client_kept_goes_on_with_one_agent_alone_also_after_a_restart(
    backend: Backend,
) {
    let stage = Setup::of(&["ada", "bob"]).open(backend).await;
    let items = vec![Item::user("@bob hello"), Item::assistant("@bob hi")];
    let brought = Brought { agent: "ada".into(), user: "eve".to_owned(), items };
    let chat = stage.engine.create_chat_from(&stage.world, brought, "eve").await.unwrap();
    assert!(!chat.activity.busy && chat.forked_from.is_none());

    let stage = stage.restart().await;
    let only_ada = Some(vec!["ada".into()]);
    let message = NewMessage { recipients: only_ada, ..NewMessage::human("@bob and now?") };
    stage.engine.post(&chat.id, message).await.unwrap();
    stage.idle_in(&chat.id).await;
    let request = &stage.requests_of("ada")[0];
    assert_eq!(shown(request), ["User: @bob hello", "Assistant: @bob hi", "User: @bob and now?"]);
    assert!(stage.requests_of("bob").is_empty());
    let said = ["human: @bob hello", "ada: @bob hi", "human: @bob and now?", "ada: Done."];
    assert_eq!(stage.said_in(&chat.id).await, said);
    assert_eq!(stage.engine.state(&chat.id).await.unwrap().turns.len(), 0);
}

async fn a_message_is_answered(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("Hello, Eve."));
    let posted = stage.say("hello").await;
    stage.idle().await;
    assert_eq!(stage.said().await, ["human: hello", "ada: Hello, Eve."]);
    let request = &stage.model.requests()[0];
    assert_eq!(shown(request), ["User: hello"]);
    assert_eq!(posted.message.text, "hello");
}

async fn agents_answer_at_the_same_time_and_a_slow_one_delays_nobody(backend: Backend) {
    let stage = Setup::of(&["ada", "bob"]).open(backend).await;
    let slow = gate();
    stage.model.push("ada", Answer::text("At last.").held_by(&slow));
    stage.model.push("bob", Answer::text("At once."));
    stage.say("hello, both of you").await;
    stage
        .until(async || stage.said().await.contains(&"bob: At once.".to_owned()).then_some(()))
        .await;
    assert!(stage.view(&stage.chat).await.activity.busy);

    // Nor is the fast one kept from its next turn.
    stage.model.push("bob", Answer::text("Again."));
    stage.say("@bob once more").await;
    stage
        .until(async || stage.said().await.contains(&"bob: Again.".to_owned()).then_some(()))
        .await;
    slow.add_permits(1);
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "ada: At last.");
}

async fn what_arrives_while_an_agent_is_busy_is_answered_together_by_its_next_turn(
    backend: Backend,
) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let thinking = gate();
    stage.model.push("ada", Answer::text("One.").held_by(&thinking));
    stage.model.push("ada", Answer::text("Two and three."));
    stage.say("one").await;
    stage.model.received(1).await;
    stage.say("two").await;
    stage.say("three").await;
    assert_eq!(stage.model.requests().len(), 1);
    thinking.add_permits(1);
    stage.idle().await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(shown(&requests[0]), ["User: one"]);
    assert_eq!(shown(&requests[1]), ["User: one", "Assistant: One.", "User: two", "User: three"]);
}

async fn what_arrives_while_a_batch_is_open_joins_after_the_results(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["this", "that"]));
    stage.model.push("ada", Answer::text("Done, and noted."));
    stage.say("go").await;
    tool.received(2).await;
    stage.say("by the way").await;
    stage.say("and also").await;
    working.add_permits(2);
    stage.idle().await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2, "they joined the open turn");
    assert_eq!(
        shown(&requests[1]),
        [
            "User: go",
            r#"act({"what":"this"})"#,
            r#"act({"what":"that"})"#,
            "= did this",
            "= did that",
            "User: by the way",
            "User: and also",
        ]
    );
}

async fn none_of_many_messages_posted_at_once_is_lost_or_shown_twice(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let thinking = gate();
    stage.model.push("ada", Answer::text("Yes?").held_by(&thinking));
    stage.model.push("ada", call("act", "a last thing"));
    stage.model.push("ada", Answer::text("All read."));
    stage.say("first").await;
    stage.model.received(1).await;
    let posts = (0..50).map(|number| {
        stage.engine.post(&stage.chat, NewMessage::human(format!("message {number}.")))
    });
    for posted in join_all(posts).await {
        posted.unwrap();
    }
    thinking.add_permits(1);
    let asked = stage.pending(1).await;
    stage.say("the very last").await;
    stage.approve(&asked[0].id, Default::default()).await;
    stage.idle().await;
    let requests = stage.model.requests();
    let lines = shown(requests.last().unwrap());
    for number in 0..50 {
        let line = format!("User: message {number}.");
        assert_eq!(lines.iter().filter(|shown| **shown == line).count(), 1, "{line}");
    }
    assert_eq!(lines.last().unwrap(), "User: the very last");
    assert_eq!(done(&tool), ["a last thing"]);
}

async fn the_same_post_twice_is_one_message_and_gets_the_same_answer(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("Once."));
    let message = NewMessage { key: Some("post-1".to_owned()), ..NewMessage::human("only once") };
    let first = stage.engine.post(&stage.chat, message.clone()).await.unwrap();
    stage.idle().await;
    let again = stage.engine.post(&stage.chat, message.clone()).await.unwrap();
    assert_eq!(again.message, first.message);
    assert_eq!(again.position, first.position);
    let visitor = stage.visitor();
    let elsewhere = visitor.post(&stage.chat, message).await.unwrap();
    assert_eq!(elsewhere.message, first.message);
    assert_eq!(stage.said().await, ["human: only once", "ada: Once."]);
    assert_eq!(stage.model.requests().len(), 1);
}
