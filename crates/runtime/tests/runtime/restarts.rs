//! A process that dies at any moment loses nothing and repeats nothing that must not be repeated.

use agent_world_core::Timestamp;
use agent_world_core::chat::CallState;
use agent_world_core::command::{Claims, Scope};
use agent_world_core::config::ToolSpec;
use agent_world_core::event::Outcome;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::NewMessage;

use crate::props::{approval_of, call, calls, doing, done, free, gate, in_background, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores};

on_both_stores!(
    what_waits_for_a_decision_waits_on_under_the_same_ids_and_out_of_memory,
    a_decision_recorded_while_no_worker_runs_takes_effect_at_the_next_start,
    an_accepted_message_is_answered_after_the_next_start,
    a_model_call_in_flight_is_made_again,
    a_tool_that_was_started_is_interrupted_and_not_run_again,
    a_tool_that_only_reads_is_run_again,
    an_interrupted_background_call_is_told_to_the_model,
    grants_and_open_batches_outlive_the_process,
);

async fn what_waits_for_a_decision_waits_on_under_the_same_ids_and_out_of_memory(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["one", "two"]));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let before = stage.pending(2).await;

    let stage = stage.restart().await;
    assert_eq!(stage.waiting_in(&stage.chat).await, before);
    // It owes nothing, so nobody will ever take it up of himself.
    assert!(stage.store.due(Timestamp::MAX, None, 10).await.unwrap().is_empty());
    assert_eq!(stage.engine.resident_chats(), 0);
    stage.approve(&before[0].id, Scope::Once).await;
    stage.call_is(0, CallState::Ended(Outcome::Completed)).await;
    let stage = stage.restart().await;
    stage.deny(&before[1].id, "once is enough").await;
    stage.idle().await;
    assert_eq!(done(&tool), ["one"]);
    assert_eq!(stage.states().await, ["completed", "denied"]);
    assert_eq!(stage.said().await.last().unwrap(), "ada: Done.");
}

async fn a_decision_recorded_while_no_worker_runs_takes_effect_at_the_next_start(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let approval = stage.pending(1).await[0].id.clone();

    let closed = stage.crash().await;
    let visitor = closed.visitor();
    let answer = approval_of(Scope::Once);
    visitor.answer(&approval, answer, "eve", Claims::default()).await.unwrap();
    visitor.shutdown().await;
    assert_eq!(tool.count(), 0, "a visitor performs nothing");

    let stage = closed.open().await;
    stage.idle().await;
    assert_eq!(done(&tool), ["it"]);
    assert_eq!(stage.said().await.last().unwrap(), "ada: Done.");
}

async fn an_accepted_message_is_answered_after_the_next_start(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("I am."));
    let chat = stage.chat.clone();
    let closed = stage.crash().await;
    let visitor = closed.visitor();
    visitor.post(&chat, NewMessage::human("anybody there?")).await.unwrap();
    visitor.shutdown().await;
    let stage = closed.open().await;
    stage.idle().await;
    assert_eq!(stage.said().await, ["human: anybody there?", "ada: I am."]);
    assert_eq!(stage.model.requests().len(), 1);
}

async fn a_model_call_in_flight_is_made_again(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let never = gate();
    stage.model.push("ada", Answer::text("Never said.").held_by(&never));
    stage.model.push("ada", Answer::text("Said."));
    stage.say("hello").await;
    stage.model.received(1).await;
    let stage = stage.restart().await;
    stage.idle().await;
    assert_eq!(stage.said().await, ["human: hello", "ada: Said."]);
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(shown(&requests[0]), shown(&requests[1]));
}

async fn a_tool_that_was_started_is_interrupted_and_not_run_again(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Who knows."));
    stage.say("go").await;
    tool.received(1).await;
    let stage = stage.restart().await;
    working.add_permits(9);
    stage.idle().await;
    assert_eq!(tool.count(), 1);
    assert_eq!(stage.states().await, ["interrupted"]);
    let told = shown(&stage.model.requests()[1]);
    assert!(told[2].contains("may or may not have taken effect"), "{told:?}");
}

async fn a_tool_that_only_reads_is_run_again(backend: Backend) {
    let working = gate();
    let spec = ToolSpec { read_only: true, ..free("look") };
    let tool = doing(spec).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("look", "it"));
    stage.model.push("ada", Answer::text("I see."));
    stage.say("go").await;
    tool.received(1).await;
    let stage = stage.restart().await;
    tool.received(2).await;
    working.add_permits(1);
    stage.idle().await;
    assert_eq!(tool.count(), 2);
    let call = &stage.calls().await[0];
    assert_eq!((call.state.name(), call.attempt), ("completed", 2));
    assert_eq!(shown(&stage.model.requests()[1])[2], "= did it");
}

async fn an_interrupted_background_call_is_told_to_the_model(backend: Backend) {
    let tool = doing(in_background("later")).held_by(&gate());
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("later", "the washing"));
    stage.model.push("ada", Answer::text("It is running."));
    stage.model.push("ada", Answer::text("It was interrupted."));
    stage.say("go").await;
    stage.until(async || (stage.said().await.len() == 2).then_some(())).await;
    let stage = stage.restart().await;
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "ada: It was interrupted.");
    let told = shown(&stage.model.requests()[2]);
    assert!(told.last().unwrap().contains("may or may not have taken effect"), "{told:?}");
    assert_eq!(tool.count(), 1);
}

async fn grants_and_open_batches_outlive_the_process(backend: Backend) {
    let tool = doing(spec("act"));
    let asking = doing(spec("ask"));
    let stage = Setup::of(&["ada"]).tool(&tool).tool(&asking).open(backend).await;
    let made =
        [("act", serde_json::json!({"what": "one"})), ("ask", serde_json::json!({"what": "two"}))];
    stage.model.push("ada", Answer::calls(made));
    stage.model.push("ada", call("act", "three"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(2).await;
    stage.approve(&asked[0].id, Scope::Session).await;
    tool.received(1).await;
    stage.call_is(0, CallState::Ended(Outcome::Completed)).await;
    let stage = stage.restart().await;
    stage.approve(&asked[1].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(done(&tool), ["one", "three"], "the grant covers what comes after the restart");
    assert_eq!(done(&asking), ["two"]);
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[3..], ["= did one", "= did two"]);
}
