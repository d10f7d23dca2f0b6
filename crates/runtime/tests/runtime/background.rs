//! Tools that run in the background: the turn goes on at once, and what they lead to is put before the model later.

use agent_world_core::chat::CallState;
use agent_world_core::command::Scope;
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Outcome;
use agent_world_llm::scripted::Answer;
use agent_world_tools::Failure;
use agent_world_tools::scripted::Scripted;

use crate::props::{call, calls, doing, gate, in_background, shown};
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    the_turn_goes_on_at_once_and_the_result_starts_a_new_model_call,
    results_that_come_together_go_together,
    a_result_that_comes_during_a_turn_joins_its_next_model_call,
    a_failure_is_delivered_in_the_same_way,
    a_background_call_that_asks_starts_when_it_is_approved,
);

async fn the_turn_goes_on_at_once_and_the_result_starts_a_new_model_call(backend: Backend) {
    let working = gate();
    let tool = doing(in_background("later")).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("later", "the washing"));
    stage.model.push("ada", Answer::text("It is running."));
    stage.model.push("ada", Answer::text("It is done."));
    stage.say("go").await;
    stage.until(async || (stage.said().await.len() == 2).then_some(())).await;
    assert_eq!(stage.said().await[1], "ada: It is running.");
    assert_eq!(stage.states().await, ["executing"]);
    let id = stage.calls().await[0].id.clone();
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[2], format!("= started in the background, id {id}; its result will follow"));

    working.add_permits(1);
    stage.idle().await;
    assert_eq!(stage.said().await[2], "ada: It is done.");
    let told = shown(&stage.model.requests()[2]);
    assert_eq!(
        told.last().unwrap(),
        &format!("User: Background call {id} (later): did the washing")
    );
}

async fn results_that_come_together_go_together(backend: Backend) {
    let working = gate();
    let tool = doing(in_background("later")).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let thinking = gate();
    stage.model.push("ada", calls("later", &["this", "that"]));
    stage.model.push("ada", Answer::text("Both are running.").held_by(&thinking));
    stage.model.push("ada", Answer::text("Both are done."));
    stage.say("go").await;
    stage.model.received(2).await;
    working.add_permits(2);
    stage.call_is(0, CallState::Ended(Outcome::Completed)).await;
    stage.call_is(1, CallState::Ended(Outcome::Completed)).await;
    thinking.add_permits(1);
    stage.idle().await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 3, "one call of the model for both results");
    let told = shown(&requests[2]).join("\n");
    assert!(told.contains("did this") && told.contains("did that"), "{told}");
    assert_eq!(stage.said().await.last().unwrap(), "ada: Both are done.");
}

async fn a_result_that_comes_during_a_turn_joins_its_next_model_call(backend: Backend) {
    let (late, soon) = (gate(), gate());
    let background = doing(in_background("later")).held_by(&late);
    let blocking = doing(crate::props::free("now")).held_by(&soon);
    let stage = Setup::of(&["ada"]).tool(&background).tool(&blocking).open(backend).await;
    stage.model.push("ada", call("later", "the washing"));
    stage.model.push("ada", call("now", "the ironing"));
    stage.model.push("ada", Answer::text("All done."));
    stage.say("go").await;
    blocking.received(1).await;
    late.add_permits(1);
    stage.call_is(0, CallState::Ended(Outcome::Completed)).await;
    soon.add_permits(1);
    stage.idle().await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 3, "no turn of its own");
    let told = shown(&requests[2]);
    assert!(told[4].contains("did the ironing"), "{told:?}");
    assert!(told[5].contains("did the washing"), "{told:?}");
}

async fn a_failure_is_delivered_in_the_same_way(backend: Backend) {
    let working = gate();
    let failed = Err(Failure::text("the machine is broken"));
    let tool = Scripted::fixed(in_background("later"), failed).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("later", "the washing"));
    stage.model.push("ada", Answer::text("It is running."));
    stage.model.push("ada", Answer::text("It is broken."));
    stage.say("go").await;
    stage.model.received(2).await;
    working.add_permits(1);
    stage.idle().await;
    assert_eq!(stage.states().await, ["failed"]);
    assert_eq!(stage.said().await.last().unwrap(), "ada: It is broken.");
    let told = shown(&stage.model.requests()[2]);
    assert!(told.last().unwrap().contains("the machine is broken"), "{told:?}");
}

async fn a_background_call_that_asks_starts_when_it_is_approved(backend: Backend) {
    let working = gate();
    let spec = ToolSpec { approval: Approval::default(), ..in_background("later") };
    let tool = doing(spec).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("later", "the washing"));
    stage.model.push("ada", Answer::text("It is running."));
    stage.model.push("ada", Answer::text("It is done."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    assert_eq!((tool.count(), stage.model.requests().len()), (0, 1));
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.model.received(2).await;
    tool.received(1).await;
    working.add_permits(1);
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "ada: It is done.");
}

#[test]
fn a_timeout_is_delivered_in_the_same_way() {
    perform_in_virtual_time(|backend| async move {
        let tool = doing(in_background("later")).held_by(&gate());
        let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
        stage.model.push("ada", call("later", "the washing"));
        stage.model.push("ada", Answer::text("It is running."));
        stage.model.push("ada", Answer::text("It hangs."));
        stage.say("go").await;
        stage.idle().await;
        assert_eq!(stage.states().await, ["timeout"]);
        let told = shown(&stage.model.requests()[2]);
        assert!(told.last().unwrap().contains("no result within 30 s"), "{told:?}");
        assert_eq!(stage.said().await.last().unwrap(), "ada: It hangs.");
    });
}
