//! How far a permission reaches: one call, one agent in one chat, or one agent in its world, until it is revoked.

use agent_world_core::command::{Rejection, Scope};
use agent_world_core::event::Decider;
use agent_world_core::ids::ChatId;
use agent_world_core::view::{ApprovalState, ApprovalView};
use agent_world_runtime::Error;
use agent_world_tools::scripted::Scripted;

use crate::props::{call, calls, doing, done, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    once_does_not_cover_the_next_call,
    a_session_grant_settles_its_siblings_and_covers_later_calls_until_revoked,
    a_session_grant_covers_no_other_agent_tool_or_chat,
    always_settles_what_the_agent_waits_for_in_other_chats_and_covers_later_calls,
    always_covers_no_other_agent,
    a_rule_of_the_world_outlives_the_process_and_ends_when_revoked,
    a_rule_granted_by_a_visitor_settles_what_waits_elsewhere,
);

async fn stage_with(backend: Backend) -> (Stage, Scripted) {
    let tool = doing(spec("act"));
    let other = doing(spec("other"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).tool(&other).open(backend).await;
    (stage, tool)
}

/// Has an agent make one call in a chat.
async fn have(stage: &Stage, chat: &ChatId, agent: &str, tool: &str, what: &str) {
    stage.model.push(agent, call(tool, what));
    stage.say_in(chat, &format!("@{agent} go")).await;
}

async fn once_does_not_cover_the_next_call(backend: Backend) {
    let (stage, tool) = stage_with(backend).await;
    have(&stage, &stage.chat, "ada", "act", "one").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    have(&stage, &stage.chat, "ada", "act", "one").await;
    let again = stage.pending(1).await;
    assert_ne!(again[0].id, asked[0].id);
    assert_eq!(tool.count(), 1);
    assert!(stage.store.grants(&stage.chat).await.unwrap().is_empty());
}

async fn a_session_grant_settles_its_siblings_and_covers_later_calls_until_revoked(
    backend: Backend,
) {
    let (stage, tool) = stage_with(backend).await;
    stage.model.push("ada", calls("act", &["one", "two", "three"]));
    stage.say("@ada go").await;
    let asked = stage.pending(3).await;
    stage.approve(&asked[1].id, Scope::Session).await;
    stage.idle().await;
    assert_eq!(tool.count(), 3);
    let grants = stage.store.grants(&stage.chat).await.unwrap();
    let sibling = stage.engine.approval(&asked[0].id).await.unwrap();
    assert!(settled_by_grant(&sibling), "{sibling:?}");

    have(&stage, &stage.chat, "ada", "act", "four").await;
    stage.idle().await;
    assert_eq!(tool.count(), 4);

    stage.engine.revoke_grant(&stage.chat, &grants[0].id, "eve").await.unwrap();
    let twice = stage.engine.revoke_grant(&stage.chat, &grants[0].id, "eve").await;
    assert!(matches!(twice, Err(Error::Rejected(Rejection::UnknownGrant(_)))));
    have(&stage, &stage.chat, "ada", "act", "five").await;
    stage.pending(1).await;
    assert_eq!(tool.count(), 4);
}

fn settled_by_grant(view: &ApprovalView) -> bool {
    matches!(&view.state, ApprovalState::Decided { by: Decider::Grant { by, .. }, .. } if by == "eve")
}

fn settled_by_rule(view: &ApprovalView) -> bool {
    matches!(&view.state, ApprovalState::Decided { by: Decider::Rule { by, .. }, .. } if by == "eve")
}

async fn a_session_grant_covers_no_other_agent_tool_or_chat(backend: Backend) {
    let (stage, tool) = stage_with(backend).await;
    have(&stage, &stage.chat, "ada", "act", "one").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Session).await;
    stage.idle().await;
    have(&stage, &stage.chat, "bob", "act", "another agent").await;
    have(&stage, &stage.chat, "ada", "other", "another tool").await;
    stage.pending(2).await;
    let elsewhere = stage.new_chat().await;
    have(&stage, &elsewhere, "ada", "act", "another chat").await;
    stage.pending_in(&elsewhere, 1).await;
    assert_eq!(done(&tool), ["one"]);
}

async fn always_settles_what_the_agent_waits_for_in_other_chats_and_covers_later_calls(
    backend: Backend,
) {
    let tool = doing(spec("act"));
    // The other chat has left memory when the rule is granted: nothing but the store can tell it.
    let stage = Setup::of(&["ada", "bob"])
        .tool(&tool)
        .options(|options| options.idle_grace = std::time::Duration::ZERO)
        .open(backend)
        .await;
    let elsewhere = stage.new_chat().await;
    have(&stage, &elsewhere, "ada", "act", "elsewhere").await;
    let waiting = stage.pending_in(&elsewhere, 1).await;
    while stage.engine.resident_chats() > 0 {
        tokio::task::yield_now().await;
    }
    have(&stage, &stage.chat, "ada", "act", "here").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Always).await;
    stage.idle().await;
    stage.idle_in(&elsewhere).await;
    assert_eq!(done(&tool), ["here", "elsewhere"]);
    let settled = stage.engine.approval(&waiting[0].id).await.unwrap();
    assert!(settled_by_rule(&settled), "{settled:?}");

    let third = stage.new_chat().await;
    have(&stage, &third, "ada", "act", "later").await;
    stage.idle_in(&third).await;
    assert_eq!(tool.count(), 3);
}

async fn always_covers_no_other_agent(backend: Backend) {
    let (stage, tool) = stage_with(backend).await;
    let elsewhere = stage.new_chat().await;
    have(&stage, &elsewhere, "bob", "act", "bob's").await;
    stage.pending_in(&elsewhere, 1).await;
    have(&stage, &stage.chat, "ada", "act", "ada's").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Always).await;
    stage.idle().await;
    // The other chat was looked at, and is not due any more.
    let due = async || {
        let due = stage.store.due(agent_world_core::Timestamp::MAX, None, 10).await;
        due.unwrap().is_empty()
    };
    while !due().await {
        tokio::task::yield_now().await;
    }
    stage.pending_in(&elsewhere, 1).await;
    assert_eq!(done(&tool), ["ada's"]);
}

async fn a_rule_of_the_world_outlives_the_process_and_ends_when_revoked(backend: Backend) {
    let (stage, tool) = stage_with(backend).await;
    have(&stage, &stage.chat, "ada", "act", "one").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Always).await;
    stage.idle().await;

    let stage = stage.restart().await;
    have(&stage, &stage.chat, "ada", "act", "two").await;
    stage.idle().await;
    assert_eq!(tool.count(), 2);

    let rule = stage.engine.world(&stage.world).await.unwrap().policy.granted[0].id.clone();
    stage.engine.revoke_rule(&stage.world, &rule, "eve").await.unwrap();
    have(&stage, &stage.chat, "ada", "act", "three").await;
    stage.pending(1).await;
    assert_eq!(tool.count(), 2);
    assert!(stage.engine.revoke_rule(&stage.world, &rule, "eve").await.is_err());
}

async fn a_rule_granted_by_a_visitor_settles_what_waits_elsewhere(backend: Backend) {
    let (stage, tool) = stage_with(backend).await;
    let elsewhere = stage.new_chat().await;
    have(&stage, &elsewhere, "ada", "act", "elsewhere").await;
    stage.pending_in(&elsewhere, 1).await;
    have(&stage, &stage.chat, "ada", "act", "here").await;
    let asked = stage.pending(1).await;
    let answer = crate::props::approval_of(Scope::Always);
    let decided = stage.visitor().answer(&asked[0].id, answer, "eve", Default::default()).await;
    decided.unwrap();
    stage.idle().await;
    stage.idle_in(&elsewhere).await;
    assert_eq!(tool.count(), 2);
}
