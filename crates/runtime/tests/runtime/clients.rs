//! Scenes in which a client offers tools for a chat and executes them.

use std::time::Duration;

use agent_world_core::chat::CallState;
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::{Outcome, Output};
use agent_world_llm::scripted::Answer;

use crate::props::{self, call, doing, free, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    a_client_executes_what_it_offered_also_after_a_restart,
    what_needs_approval_is_handed_out_when_it_is_approved,
    a_result_for_what_is_not_its_call_is_refused,
    an_offer_holds_for_its_chat_alone,
);

fn offered(name: &str) -> ToolSpec {
    ToolSpec { approval: Approval::not_required(), ..spec(name) }
}

async fn a_client_executes_what_it_offered_also_after_a_restart(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&doing(free("act"))).open(backend).await;
    stage.engine.offer_tools(&stage.chat, "page", vec![offered("pick")], "eve").await.unwrap();
    stage.model.push("ada", call("pick", "a colour"));
    stage.model.push("ada", Answer::text("Blue it is."));
    stage.say("go").await;
    let picked = stage.call_is(0, CallState::Executing).await;
    let names = props::offered(&stage.model.requests()[0]);
    assert!(names.contains(&"pick".to_owned()) && names.contains(&"act".to_owned()), "{names:?}");

    let stage = stage.restart().await;
    assert_eq!(stage.states().await, ["executing"]);
    stage.engine.client_result(&stage.chat, &picked.id, Output::text("blue"), false).await.unwrap();
    stage.idle().await;
    assert_eq!(shown(&stage.model.requests()[1])[2], "= blue");
}

async fn what_needs_approval_is_handed_out_when_it_is_approved(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.engine.offer_tools(&stage.chat, "page", vec![spec("pick")], "eve").await.unwrap();
    stage.model.push("ada", call("pick", "a colour"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let early =
        stage.engine.client_result(&stage.chat, &asked.call, Output::text("x"), false).await;
    assert!(early.is_err());
    stage.approve(&asked.id, agent_world_core::command::Scope::Once).await;
    stage.call_is(0, CallState::Executing).await;
}

async fn a_result_for_what_is_not_its_call_is_refused(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&doing(spec("act"))).open(backend).await;
    let other = stage.new_chat().await;
    stage.engine.offer_tools(&stage.chat, "page", vec![offered("pick")], "eve").await.unwrap();
    stage.model.push("ada", call("pick", "a colour"));
    stage.say("go").await;
    let picked = stage.call_is(0, CallState::Executing).await;
    let result = || Output::text("forged");
    assert!(stage.engine.client_result(&other, &picked.id, result(), false).await.is_err());
    let unknown = "call_none".into();
    assert!(stage.engine.client_result(&stage.chat, &unknown, result(), false).await.is_err());
    stage.engine.client_result(&stage.chat, &picked.id, Output::text("real"), false).await.unwrap();
    assert!(stage.engine.client_result(&stage.chat, &picked.id, result(), false).await.is_err());
    stage.idle().await;
    assert_eq!(stage.calls().await[0].output.as_ref().unwrap().text, "real");
}

async fn an_offer_holds_for_its_chat_alone(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let other = stage.new_chat().await;
    stage.engine.offer_tools(&other, "page", vec![offered("pick")], "eve").await.unwrap();
    stage.model.push("ada", call("pick", "a colour"));
    stage.say("go").await;
    stage.idle().await;
    assert_eq!(stage.states().await, ["failed"]);
}

#[test]
fn a_client_that_is_gone_is_an_error_when_the_time_is_up() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"])
            .options(|options| options.poll = Duration::from_secs(1))
            .open(backend)
            .await;
        let tool = ToolSpec { timeout_seconds: 60, ..offered("pick") };
        stage.engine.offer_tools(&stage.chat, "page", vec![tool], "eve").await.unwrap();
        stage.model.push("ada", call("pick", "a colour"));
        stage.say("go").await;
        let ended = stage.call_is(0, CallState::Ended(Outcome::Timeout)).await;
        let text = ended.output.unwrap().text;
        assert!(text.contains("the client gave no result"), "{text}");
    });
}
