//! Work that is ended from outside: stopped, deleted, or shut down with the engine. Nothing is left running.

use agent_world_core::command::{Rejection, Scope};
use agent_world_core::view::ApprovalState;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Error, NewMessage};
use agent_world_store::{ApprovalFilter, Scope as Extent};
use agent_world_tools::shell::ShellCmd;
use serde_json::json;

use crate::processes;
use crate::props::{agent_id, approval_of, call, calls, doing, free, gate, shown, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    stop_kills_a_running_program_and_what_it_started,
    stop_withdraws_what_waits_and_cancels_model_calls,
    stopping_one_agent_leaves_the_other_alone,
    an_agent_nobody_knows_cannot_be_stopped,
    what_was_stopped_is_remembered_and_the_chat_goes_on,
    deleting_a_chat_ends_its_work_and_refuses_what_comes_after,
    deleting_a_world_ends_the_work_of_all_its_chats,
    shutdown_ends_running_programs_and_returns,
);

/// An agent runs a program that has started another; both sleep for a time of their own.
async fn with_a_running_program(backend: Backend) -> (Stage, String) {
    let seconds = processes::unique_sleep();
    let stage = Setup::of(&["ada", "bob"])
        .tool(&ShellCmd::new())
        .world(|world| world.working_directory = Some("/".to_owned()))
        .open(backend)
        .await;
    let script = format!("sleep {seconds} & sleep {seconds}; true");
    let arguments = json!({"command": "sh", "parameters": ["-c", script]});
    stage.model.push("ada", Answer::call("shell_cmd", arguments));
    stage.say("@ada go").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Once).await;
    processes::wait_for(&seconds, 2).await;
    (stage, seconds)
}

async fn stop_kills_a_running_program_and_what_it_started(backend: Backend) {
    let (stage, seconds) = with_a_running_program(backend).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    assert!(!stage.view(&stage.chat).await.activity.busy);
    processes::wait_for(&seconds, 0).await;
    assert_eq!(stage.states().await, ["cancelled"]);
    let output = stage.calls().await[0].output.clone().unwrap();
    assert!(output.text.contains("cancelled by eve while it ran"), "{output:?}");
    assert_eq!(stage.model.requests().len(), 1, "no turn goes on");
}

async fn stop_withdraws_what_waits_and_cancels_model_calls(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    let thinking = gate();
    stage.model.push("ada", calls("act", &["one", "two"]));
    stage.model.push("bob", Answer::text("Never said.").held_by(&thinking));
    stage.say("go").await;
    let asked = stage.pending(2).await;
    stage.model.received(2).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    assert!(!stage.view(&stage.chat).await.activity.busy);
    assert_eq!(stage.states().await, ["cancelled", "cancelled"]);
    for asked in &asked {
        let late = stage.answer(&asked.id, approval_of(Scope::Once)).await;
        let Err(Error::AlreadySettled(view)) = late else {
            panic!("{late:?}");
        };
        assert!(matches!(view.state, ApprovalState::Withdrawn { .. }));
    }
    // The cancelled call is gone: nobody takes the permit, and nothing is said.
    thinking.add_permits(1);
    stage.model.push("bob", Answer::text("Here."));
    stage.say("@bob are you there?").await;
    stage.idle().await;
    assert_eq!(thinking.available_permits(), 1);
    assert_eq!(stage.said().await, ["human: go", "human: @bob are you there?", "bob: Here."]);
    assert_eq!(tool.count(), 0);
}

async fn stopping_one_agent_leaves_the_other_alone(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    let thinking = gate();
    stage.model.push("ada", Answer::text("Never said.").held_by(&thinking));
    stage.model.push("bob", call("act", "bob's"));
    stage.model.push("bob", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    stage.model.received(2).await;
    stage.engine.stop(&stage.chat, Some(agent_id("ada")), "eve").await.unwrap();
    let activity = stage.view(&stage.chat).await.activity;
    assert_eq!(activity.agents.len(), 1);
    assert_eq!(activity.agents[0].agent, agent_id("bob"));
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(stage.said().await, ["human: go", "bob: Done."]);
    assert_eq!(tool.count(), 1);
}

async fn an_agent_nobody_knows_cannot_be_stopped(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let refused = stage.engine.stop(&stage.chat, Some(agent_id("zoe")), "eve").await;
    assert!(matches!(refused, Err(Error::Rejected(Rejection::UnknownAgent(_)))));
}

async fn what_was_stopped_is_remembered_and_the_chat_goes_on(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.say("go").await;
    tool.received(1).await;
    stage.say("are you done?").await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    stage.model.push("ada", Answer::text("I was stopped."));
    stage.say("what now?").await;
    stage.idle().await;
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[0], "User: go");
    assert!(told[2].starts_with("= cancelled by eve while it ran"), "{told:?}");
    assert_eq!(told[3..], ["User: are you done?", "User: what now?"]);
}

async fn deleting_a_chat_ends_its_work_and_refuses_what_comes_after(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let asking = doing(spec("ask"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).tool(&asking).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("bob", call("ask", "it"));
    stage.say("go").await;
    tool.received(1).await;
    let asked = stage.pending(1).await;
    stage.engine.delete_chat(&stage.chat, "eve").await.unwrap();
    let started = tool.invocations().remove(0);
    started.cancelled.cancelled().await;
    assert!(stage.waiting_in(&stage.chat).await.is_empty());
    let posted = stage.engine.post(&stage.chat, NewMessage::human("hello?")).await;
    assert!(matches!(posted, Err(Error::Rejected(Rejection::ChatDeleted))), "{posted:?}");
    let posted = stage.visitor().post(&stage.chat, NewMessage::human("hello?")).await;
    assert!(matches!(posted, Err(Error::Rejected(Rejection::ChatDeleted))), "{posted:?}");
    let late = stage.answer(&asked[0].id, approval_of(Scope::Once)).await;
    assert!(matches!(late, Err(Error::AlreadySettled(_))), "{late:?}");
    assert!(matches!(stage.engine.chat(&stage.chat).await, Err(Error::UnknownChat(_))));
    assert_eq!(asking.count(), 0);
}

async fn deleting_a_world_ends_the_work_of_all_its_chats(backend: Backend) {
    let working = gate();
    let tool = doing(free("act")).held_by(&working);
    let asking = doing(spec("ask"));
    let stage = Setup::of(&["ada"]).tool(&tool).tool(&asking).open(backend).await;
    let elsewhere = stage.new_chat().await;
    stage.model.push("ada", call("ask", "it"));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    stage.model.push("ada", call("act", "it"));
    stage.say_in(&elsewhere, "go").await;
    tool.received(1).await;
    stage.engine.delete_world(&stage.world, "eve").await.unwrap();
    let started = tool.invocations().remove(0);
    started.cancelled.cancelled().await;
    let gone = stage.engine.world(&stage.world).await;
    assert!(matches!(gone, Err(Error::UnknownWorld(_))), "{gone:?}");
    for chat in [&stage.chat, &elsewhere] {
        let posted = stage.engine.post(chat, NewMessage::human("hello?")).await;
        assert!(posted.is_err(), "{posted:?}");
    }
    let late = stage.answer(&asked[0].id, approval_of(Scope::Once)).await;
    assert!(late.is_err(), "{late:?}");
    let all = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
    assert!(stage.store.approvals(&all, None, 10).await.unwrap().is_empty());
    assert_eq!(asking.count(), 0);
}

async fn shutdown_ends_running_programs_and_returns(backend: Backend) {
    let (stage, seconds) = with_a_running_program(backend).await;
    let mut events = stage.engine.subscribe(Extent::All, u64::MAX - 1);
    stage.engine.shutdown().await;
    assert_eq!(processes::sleeping(&seconds), 0);
    assert_eq!(events.next().await.unwrap(), None, "subscriptions end");
    drop(events);
    let posted = stage.engine.post(&stage.chat, NewMessage::human("hello?")).await;
    assert!(matches!(posted, Err(Error::ShuttingDown)), "{posted:?}");
    assert_eq!(stage.states().await, ["executing"], "the next start settles it");

    let stage = stage.restart().await;
    stage.model.push("ada", Answer::text("It was interrupted."));
    stage.until(async || (stage.states().await == ["interrupted"]).then_some(())).await;
    assert_eq!(processes::sleeping(&seconds), 0, "and it is not run again");
}
