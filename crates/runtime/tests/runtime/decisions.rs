//! What a decision leads to: denials, races, requests that expire, messages nobody attends to.

use std::time::Duration;

use agent_world_core::command::{Answer as Decision, Claims, Scope};
use agent_world_core::config::AfterDenial;
use agent_world_core::event::{Attendance, Event};
use agent_world_core::view::{ApprovalState, Doing};
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Error, NewMessage};
use futures::future::join_all;

use crate::props::{approval_of, call, calls, doing, done, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    a_denial_and_its_reason_reach_the_model_which_goes_on,
    after_a_denial_the_turn_can_wait_for_the_person,
    of_a_hundred_racing_decisions_exactly_one_wins,
    a_call_nobody_can_be_asked_about_is_denied_at_once,
);

async fn a_denial_and_its_reason_reach_the_model_which_goes_on(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["harm", "good"]));
    stage.model.push("ada", Answer::text("Only the good, then."));
    stage.say("go").await;
    let asked = stage.pending(2).await;
    stage.deny(&asked[0].id, "it does harm").await;
    stage.approve(&asked[1].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(done(&tool), ["good"]);
    assert_eq!(stage.states().await, ["denied", "completed"]);
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[3..], ["= denied by the user: it does harm", "= did good"]);
    assert_eq!(stage.said().await.last().unwrap(), "ada: Only the good, then.");
}

async fn after_a_denial_the_turn_can_wait_for_the_person(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        .world(|world| world.after_denial = AfterDenial::Wait)
        .open(backend)
        .await;
    stage.model.push("ada", calls("act", &["harm", "good"]));
    stage.model.push("ada", Answer::text("I see."));
    stage.say("go").await;
    let asked = stage.pending(2).await;
    stage.deny(&asked[0].id, "it does harm").await;
    stage.approve(&asked[1].id, Scope::Once).await;
    stage
        .until(async || {
            let activity = stage.view(&stage.chat).await.activity;
            (activity.agents.first()?.doing == Doing::AwaitingHuman).then_some(())
        })
        .await;
    assert_eq!(stage.model.requests().len(), 1, "the model is not called before the person speaks");
    stage.say("do something kind").await;
    stage.idle().await;
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(
        told[3..],
        ["= denied by the user: it does harm", "= did good", "User: do something kind"]
    );
}

async fn of_a_hundred_racing_decisions_exactly_one_wins(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let visitor = stage.visitor();
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("As you wish."));
    stage.say("go").await;
    let approval = stage.pending(1).await[0].id.clone();
    let racing = (0..100).map(|number| {
        let engine = if number % 2 == 0 { &stage.engine } else { &visitor };
        let (engine, approval) = (engine.clone(), approval.clone());
        tokio::spawn(async move {
            let answer = match number / 2 % 2 {
                0 => approval_of(Scope::Once),
                _ => Decision::Deny { reason: None },
            };
            let by = format!("person {number}");
            let decided = engine.answer(&approval, answer, &by, Claims::default());
            (number, decided.await)
        })
    });
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for decided in join_all(racing).await {
        match decided.unwrap() {
            (number, Ok(view)) => won.push((number, view.state)),
            (_, Err(Error::AlreadySettled(view))) => lost.push(view.state),
            // A visitor that is overtaken again and again gives up and says so.
            (_, Err(Error::Overloaded(_))) => {}
            (number, Err(other)) => panic!("person {number}: {other}"),
        }
    }
    assert_eq!(won.len(), 1, "{won:?}");
    let (winner, state) = &won[0];
    assert!(lost.iter().all(|told| told == state), "all are told the one decision");
    assert!(lost.len() > 50, "{}", lost.len());
    let decided = stage.log(&stage.chat).await;
    let decided = decided.iter().filter(|event| matches!(event, Event::ApprovalDecided(_)));
    assert_eq!(decided.count(), 1);
    stage.idle().await;
    let approved = winner / 2 % 2 == 0;
    assert_eq!(tool.count(), usize::from(approved));
    assert_eq!(stage.states().await, [if approved { "completed" } else { "denied" }]);
}

async fn a_call_nobody_can_be_asked_about_is_denied_at_once(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Nobody is there."));
    let message = NewMessage { attendance: Attendance::Unattended, ..NewMessage::human("go") };
    stage.engine.post(&stage.chat, message).await.unwrap();
    stage.idle().await;
    assert_eq!(tool.count(), 0);
    assert_eq!(stage.states().await, ["denied"]);
    let told = shown(&stage.model.requests()[1]);
    assert!(told[2].contains("nobody can be asked"), "{told:?}");

    // The next message is attended to again.
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("I am back").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(tool.count(), 1);
}

#[test]
fn a_request_nobody_answers_expires_and_a_late_decision_is_refused() {
    perform_in_virtual_time(|backend| async move {
        let tool = doing(spec("act"));
        let stage = Setup::of(&["ada"])
            .tool(&tool)
            .world(|world| world.approval_timeout_seconds = Some(3_600))
            .options(|options| options.poll = Duration::from_secs(1))
            .open(backend)
            .await;
        stage.model.push("ada", call("act", "it"));
        stage.model.push("ada", Answer::text("Nobody answered."));
        stage.say("go").await;
        let approval = stage.pending(1).await[0].id.clone();

        // Long before its hour has come, the chat has left memory.
        tokio::time::sleep(Duration::from_secs(1_800)).await;
        assert_eq!(stage.engine.resident_chats(), 0);
        assert_eq!(stage.waiting_in(&stage.chat).await.len(), 1);
        tokio::time::sleep(Duration::from_secs(1_801)).await;
        stage.idle().await;
        assert_eq!(stage.states().await, ["expired"]);
        let told = shown(&stage.model.requests()[1]);
        assert_eq!(told[2], "= not executed: nobody answered the request for approval in time");
        let late = stage.answer(&approval, approval_of(Scope::Once)).await;
        let Err(Error::AlreadySettled(view)) = late else {
            panic!("{late:?}");
        };
        assert!(matches!(view.state, ApprovalState::Expired { .. }));
        assert_eq!(tool.count(), 0);
    });
}

#[test]
fn a_request_expires_while_its_chat_is_in_memory() {
    perform_in_virtual_time(|backend| async move {
        let tool = doing(spec("act"));
        let stage = Setup::of(&["ada"])
            .tool(&tool)
            .world(|world| world.approval_timeout_seconds = Some(5))
            .open(backend)
            .await;
        stage.model.push("ada", calls("act", &["one", "two"]));
        stage.model.push("ada", Answer::text("Half of it."));
        stage.say("go").await;
        let asked = stage.pending(2).await;
        stage.approve(&asked[1].id, Scope::Once).await;
        stage.idle().await;
        assert_eq!(stage.states().await, ["expired", "completed"]);
        assert_eq!(done(&tool), ["two"]);
    });
}
