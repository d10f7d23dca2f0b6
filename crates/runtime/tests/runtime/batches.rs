//! Calls of one reply: asked for at once, decided in any order, run as soon as allowed, answered in the model's order.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer as Decision, Scope};
use agent_world_core::config::ToolSpec;
use agent_world_core::event::{Outcome, Output};
use agent_world_core::item::Item;
use agent_world_llm::scripted::Answer;
use agent_world_tools::scripted::Scripted;
use agent_world_tools::shell::ShellCmd;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::processes;
use crate::props::{approval_of, call, calls, doing, done, free, gate, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    three_calls_ask_at_once_and_each_runs_as_soon_as_it_is_approved,
    results_may_come_in_any_order_and_are_shown_in_the_order_of_the_calls,
    without_parallel_tool_calls_one_runs_after_another,
    edited_arguments_are_what_runs_and_the_model_is_told,
    edited_arguments_that_fail_the_schema_are_refused_and_the_request_waits_on,
    a_program_past_its_time_is_gone_and_the_model_is_told,
);

async fn three_calls_ask_at_once_and_each_runs_as_soon_as_it_is_approved(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["one", "two", "three"]));
    stage.model.push("ada", Answer::text("All three."));
    stage.say("go").await;
    let asked = stage.pending(3).await;
    assert_eq!(tool.count(), 0);

    stage.approve(&asked[1].id, Scope::Once).await;
    stage.call_is(1, CallState::Ended(Outcome::Completed)).await;
    assert_eq!(done(&tool), ["two"]);
    stage.approve(&asked[2].id, Scope::Once).await;
    stage.call_is(2, CallState::Ended(Outcome::Completed)).await;
    assert_eq!(done(&tool), ["two", "three"]);
    assert_eq!(stage.states().await, ["awaiting_approval", "completed", "completed"]);
    assert_eq!(stage.model.requests().len(), 1, "the model waits for all");

    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(done(&tool), ["two", "three", "one"]);
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2, "and is called once");
    assert_eq!(shown(&requests[1])[4..], ["= did one", "= did two", "= did three"]);
    exactly_one_result_per_call(&requests[1].input);
}

fn exactly_one_result_per_call(items: &[Arc<Item>]) {
    let mut results: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for item in items {
        match &**item {
            Item::FunctionCall(call) => results.entry(&call.call_id).or_default().0 += 1,
            Item::FunctionCallOutput(output) => results.entry(&output.call_id).or_default().1 += 1,
            _ => {}
        }
    }
    assert!(results.values().all(|counts| *counts == (1, 1)), "{results:?}");
}

async fn results_may_come_in_any_order_and_are_shown_in_the_order_of_the_calls(backend: Backend) {
    let gates: BTreeMap<&str, Arc<Semaphore>> =
        ["one", "two", "three"].map(|what| (what, gate())).into();
    let held = gates.clone();
    let tool = Scripted::new(spec("act"), move |invocation| {
        let what = invocation.arguments["what"].as_str().unwrap().to_owned();
        let gate = Arc::clone(&held[what.as_str()]);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(Output::text(format!("did {what}")))
        }
    });
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["one", "two", "three"]));
    stage.model.push("ada", Answer::text("All three."));
    stage.say("go").await;
    for asked in stage.pending(3).await {
        stage.approve(&asked.id, Scope::Once).await;
    }
    tool.received(3).await;
    for (number, what) in [(2, "three"), (0, "one"), (1, "two")] {
        gates[what].add_permits(1);
        stage.call_is(number, CallState::Ended(Outcome::Completed)).await;
    }
    stage.idle().await;
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(shown(&requests[1])[4..], ["= did one", "= did two", "= did three"]);
}

async fn without_parallel_tool_calls_one_runs_after_another(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let asking = doing(spec("ask"));
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        .tool(&asking)
        .world(|world| world.agents[0].parallel_tool_calls = false)
        .open(backend)
        .await;
    let made = [
        ("act", json!({"what": "one"})),
        ("ask", json!({"what": "two"})),
        ("act", json!({"what": "three"})),
    ];
    stage.model.push("ada", Answer::calls(made));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    tool.received(1).await;
    assert_eq!(stage.model.requests()[0].parallel_tool_calls, Some(false));
    // Approved already, the second waits for the first; the third for both.
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Once).await;
    assert_eq!(stage.states().await, ["executing", "pending", "pending"]);
    assert_eq!((tool.count(), asking.count()), (1, 0));
    working.add_permits(1);
    tool.received(2).await;
    assert_eq!(asking.count(), 1);
    assert_eq!(stage.states().await, ["completed", "completed", "executing"]);
    working.add_permits(1);
    stage.idle().await;
    assert_eq!(done(&tool), ["one", "three"]);
    assert_eq!(shown(&stage.model.requests()[1])[4..], ["= did one", "= did two", "= did three"]);
}

async fn edited_arguments_are_what_runs_and_the_model_is_told(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "everything"));
    stage.model.push("ada", Answer::text("A little, then."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    let edited = Decision::Approve {
        scope: Scope::Once,
        matches: Vec::new(),
        arguments: Some(json!({"what": "a little"})),
        reason: None,
    };
    stage.answer(&asked[0].id, edited).await.unwrap();
    stage.idle().await;
    assert_eq!(done(&tool), ["a little"]);
    let call = &stage.calls().await[0];
    assert_eq!(call.arguments, json!({"what": "a little"}));
    assert_eq!(call.proposed, Some(json!({"what": "everything"})));
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[1], r#"act({"what":"everything"})"#);
    assert!(told[2].contains(r#"changed the arguments of this call to {"what":"a little"}"#));
    assert!(told[2].ends_with("did a little"), "{told:?}");
}

async fn edited_arguments_that_fail_the_schema_are_refused_and_the_request_waits_on(
    backend: Backend,
) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "everything"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    let edited = Decision::Approve {
        scope: Scope::Once,
        matches: Vec::new(),
        arguments: Some(json!({"what": {"not": "a text"}})),
        reason: None,
    };
    let refused = stage.answer(&asked[0].id, edited).await.unwrap_err();
    assert!(refused.to_string().contains("edited arguments are refused"), "{refused}");
    assert_eq!(stage.waiting_in(&stage.chat).await.len(), 1);
    assert_eq!(tool.count(), 0);
    stage.answer(&asked[0].id, approval_of(Scope::Once)).await.unwrap();
    stage.idle().await;
    assert_eq!(done(&tool), ["everything"]);
}

#[test]
fn a_tool_past_its_time_is_cancelled_and_the_model_is_told() {
    perform_in_virtual_time(|backend| async move {
        let told_to_end = gate();
        let witness = Arc::clone(&told_to_end);
        let spec = ToolSpec { timeout_seconds: 45, ..free("act") };
        let tool = Scripted::new(spec, move |invocation| {
            let witness = Arc::clone(&witness);
            async move {
                tokio::spawn(async move {
                    invocation.cancelled.cancelled().await;
                    witness.add_permits(1);
                });
                std::future::pending().await
            }
        });
        let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
        stage.model.push("ada", call("act", "for ever"));
        stage.model.push("ada", Answer::text("Too slow."));
        let began = tokio::time::Instant::now();
        stage.say("go").await;
        stage.idle().await;
        let waited = began.elapsed();
        assert!((45..60).contains(&waited.as_secs()), "{waited:?}");
        told_to_end.acquire().await.unwrap().forget();
        assert_eq!(stage.states().await, ["timeout"]);
        let told = shown(&stage.model.requests()[1]);
        assert!(told[2].contains("no result within 45 s"), "{told:?}");
    });
}

async fn a_program_past_its_time_is_gone_and_the_model_is_told(backend: Backend) {
    let folder = tempfile::tempdir().unwrap();
    let seconds = processes::unique_sleep();
    let stage = Setup::of(&["ada"])
        .tool(&OneSecond(ShellCmd::new()))
        .world(|world| world.working_directory = Some(folder.path().display().to_string()))
        .open(backend)
        .await;
    let arguments = json!({"command": "sleep", "parameters": [seconds]});
    stage.model.push("ada", Answer::call("shell_cmd", arguments));
    stage.model.push("ada", Answer::text("Too slow."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(stage.states().await, ["timeout"]);
    assert_eq!(processes::sleeping(&seconds), 0);
    let told = shown(&stage.model.requests()[1]);
    assert!(told[2].contains("timed out and was killed"), "{told:?}");
}

/// `shell_cmd` with a limit of one second.
#[derive(Clone, Debug)]
struct OneSecond(ShellCmd);

#[async_trait::async_trait]
impl agent_world_tools::Tool for OneSecond {
    fn spec(&self) -> ToolSpec {
        ToolSpec { timeout_seconds: 1, ..self.0.spec() }
    }

    async fn run(
        &self,
        invocation: agent_world_tools::Invocation,
    ) -> Result<Output, agent_world_tools::Failure> {
        self.0.run(invocation).await
    }
}
