//! An answer that states something else than what was asked is refused, in words, and nothing runs.

use agent_world_core::command::{Answer as Decision, Claims, Rejection, Scope};
use agent_world_core::ids::ApprovalId;
use agent_world_core::view::ApprovalState;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::Error;
use serde_json::json;

use crate::props::{agent_id, approval_of, call, doing, done, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    claims_that_differ_from_the_log_are_refused_and_nothing_runs,
    claims_that_agree_with_the_log_are_accepted,
    a_request_nobody_made_cannot_be_answered,
    a_decided_request_is_answered_with_the_earlier_decision,
    a_choice_that_is_not_offered_is_refused,
);

async fn asked(backend: Backend) -> (Stage, agent_world_tools::scripted::Scripted, ApprovalId) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("@ada go").await;
    let approval = stage.pending(1).await[0].id.clone();
    (stage, tool, approval)
}

async fn claims_that_differ_from_the_log_are_refused_and_nothing_runs(backend: Backend) {
    let (stage, tool, approval) = asked(backend).await;
    let visitor = stage.visitor();
    let none = Claims::default;
    let wrong = [
        ("world", Claims { world: Some("elsewhere".into()), ..none() }),
        ("agent", Claims { agent: Some(agent_id("bob")), ..none() }),
        ("tool", Claims { tool: Some("look".to_owned()), ..none() }),
        ("arguments", Claims { arguments: Some(json!({"what": "it all"})), ..none() }),
    ];
    for engine in [&stage.engine, &visitor] {
        for (what, claims) in &wrong {
            let answer = approval_of(Scope::Always);
            let refused = engine.answer(&approval, answer, "eve", claims.clone()).await;
            match refused {
                Err(Error::Rejected(Rejection::ClaimMismatch { field, .. })) => {
                    assert_eq!(field, *what);
                }
                other => panic!("{what}: {other:?}"),
            }
        }
    }
    assert_eq!(stage.waiting_in(&stage.chat).await.len(), 1, "it waits on");
    assert_eq!(tool.count(), 0);
    stage.approve(&approval, Scope::Once).await;
    stage.idle().await;
    assert_eq!(done(&tool), ["it"]);
}

async fn claims_that_agree_with_the_log_are_accepted(backend: Backend) {
    let (stage, tool, approval) = asked(backend).await;
    let claims = Claims {
        world: Some(stage.world.clone()),
        agent: Some(agent_id("ada")),
        tool: Some("act".to_owned()),
        arguments: Some(json!({"what": "it"})),
    };
    let answer = approval_of(Scope::Once);
    let decided = stage.engine.answer(&approval, answer, "eve", claims).await;
    assert!(matches!(decided.unwrap().state, ApprovalState::Decided { .. }));
    stage.idle().await;
    assert_eq!(tool.count(), 1);
}

async fn a_request_nobody_made_cannot_be_answered(backend: Backend) {
    let (stage, tool, _) = asked(backend).await;
    let made_up = ApprovalId::new("apr_00000000000000000000000000");
    let refused = stage.answer(&made_up, approval_of(Scope::Once)).await;
    assert!(matches!(refused, Err(Error::UnknownApproval(id)) if id == made_up));
    assert_eq!(tool.count(), 0);
}

async fn a_decided_request_is_answered_with_the_earlier_decision(backend: Backend) {
    let (stage, tool, approval) = asked(backend).await;
    let visitor = stage.visitor();
    let first = stage.deny(&approval, "not today").await;
    stage.idle().await;
    for engine in [&stage.engine, &visitor] {
        for answer in [approval_of(Scope::Always), Decision::Deny { reason: None }] {
            let late = engine.answer(&approval, answer, "joe", Claims::default()).await;
            let Err(error @ Error::AlreadySettled(_)) = late else {
                panic!("{late:?}");
            };
            let words = error.to_string();
            assert!(words.contains("was already denied by eve"), "{words}");
            let Error::AlreadySettled(view) = error else { unreachable!() };
            assert_eq!(*view, first);
        }
    }
    assert_eq!(tool.count(), 0);
    assert!(stage.engine.world(&stage.world).await.unwrap().policy.granted.is_empty());
}

async fn a_choice_that_is_not_offered_is_refused(backend: Backend) {
    // What cannot be shown in full may not be allowed for ever.
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", &"very long ".repeat(4_000)));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let approval = stage.pending(1).await[0].id.clone();
    let refused = stage.answer(&approval, approval_of(Scope::Always)).await;
    assert!(
        matches!(&refused, Err(Error::Rejected(Rejection::NotOffered { scope: "always", .. }))),
        "{refused:?}"
    );
    assert_eq!(tool.count(), 0);
    assert_eq!(stage.waiting_in(&stage.chat).await.len(), 1);
}
