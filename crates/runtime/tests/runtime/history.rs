//! History that is taken back or copied: gone for every agent, untouched elsewhere, and never run again.

use agent_world_core::command::{Rejection, Scope};
use agent_world_core::ids::MessageId;
use agent_world_core::view::ApprovalState;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::Error;
use agent_world_store::MessagePage;

use crate::props::{call, doing, done, gate, shown, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    editing_a_message_takes_back_all_that_followed_and_posts_the_new_text,
    deleting_a_message_takes_back_all_that_followed,
    only_a_human_message_can_be_taken_back,
    a_fork_has_the_history_but_no_grant_and_runs_nothing_again,
    a_fork_at_a_message_under_work_carries_no_open_work,
);

async fn editing_a_message_takes_back_all_that_followed_and_posts_the_new_text(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    let elsewhere = stage.new_chat().await;
    stage.model.push("ada", call("act", "elsewhere"));
    stage.say_in(&elsewhere, "@ada go").await;
    let untouched = stage.pending_in(&elsewhere, 1).await;

    stage.model.push("ada", Answer::text("Ada one."));
    stage.model.push("bob", Answer::text("Bob one."));
    stage.say("first").await;
    stage.idle().await;
    let thinking = gate();
    stage.model.push("ada", call("act", "harm"));
    stage.model.push("bob", Answer::text("Never said.").held_by(&thinking));
    let second = stage.say("second").await.message.id;
    let asked = stage.pending(1).await;
    stage.model.received(5).await;

    stage.model.push("ada", Answer::text("Ada two."));
    let edited = stage.engine.edit_message(&stage.chat, &second, "@ada better", None, "eve").await;
    assert_eq!(edited.unwrap().message.text, "@ada better");
    stage.idle().await;
    thinking.add_permits(1);
    let view = stage.engine.approval(&asked[0].id).await.unwrap();
    assert!(matches!(view.state, ApprovalState::Withdrawn { .. }), "{view:?}");
    let said = stage.said().await;
    assert_eq!(said.len(), 5, "{said:?}");
    assert_eq!(said[3..], ["human: @ada better", "ada: Ada two."]);
    assert!(!said.iter().any(|line| line.contains("second") || line.contains("Never")));

    // Neither agent ever hears of it again.
    stage.model.push("ada", Answer::text("Ada three."));
    stage.model.push("bob", Answer::text("Bob three."));
    stage.say("third").await;
    stage.idle().await;
    let requests = stage.model.requests();
    for request in &requests[requests.len() - 3..] {
        let told = shown(request).join("\n");
        assert!(!told.contains("second") && !told.contains("harm"), "{told}");
        assert!(told.contains("first"), "{told}");
    }
    assert_eq!(tool.count(), 0);

    stage.approve(&untouched[0].id, Scope::Once).await;
    stage.idle_in(&elsewhere).await;
    assert_eq!(stage.said_in(&elsewhere).await, ["human: @ada go", "ada: Done."]);
    assert_eq!(done(&tool), ["elsewhere"]);
}

async fn deleting_a_message_takes_back_all_that_followed(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("One."));
    stage.say("first").await;
    stage.idle().await;
    let thinking = gate();
    stage.model.push("ada", Answer::text("Never said.").held_by(&thinking));
    let second = stage.say("second").await.message.id;
    stage.model.received(2).await;
    stage.engine.delete_message(&stage.chat, &second, "eve").await.unwrap();
    assert!(!stage.view(&stage.chat).await.activity.busy);
    assert_eq!(stage.said().await, ["human: first", "ada: One."]);
    let gone = stage.engine.delete_message(&stage.chat, &second, "eve").await;
    assert!(matches!(gone, Err(Error::UnknownMessage { .. })), "{gone:?}");

    stage.model.push("ada", Answer::text("Three."));
    stage.say("third").await;
    stage.idle().await;
    assert_eq!(
        shown(&stage.requests_of("ada")[2]),
        ["User: first", "Assistant: One.", "User: third"]
    );
}

async fn only_a_human_message_can_be_taken_back(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("One."));
    stage.say("first").await;
    stage.idle().await;
    let answer = last_message(&stage).await;
    let refused = stage.engine.edit_message(&stage.chat, &answer, "Two.", None, "eve").await;
    assert!(matches!(refused, Err(Error::Rejected(Rejection::NotHuman { .. }))), "{refused:?}");
    let refused = stage.engine.delete_message(&stage.chat, &answer, "eve").await;
    assert!(matches!(refused, Err(Error::Rejected(Rejection::NotHuman { .. }))), "{refused:?}");
    assert_eq!(stage.said().await, ["human: first", "ada: One."]);
}

async fn last_message(stage: &Stage) -> MessageId {
    let page = MessagePage::Before(None, 1);
    let messages = stage.store.messages(&stage.chat, page).await.unwrap();
    messages[0].id.clone()
}

async fn a_fork_has_the_history_but_no_grant_and_runs_nothing_again(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "one"));
    stage.model.push("ada", Answer::text("Done one."));
    stage.say("go").await;
    let asked = stage.pending(1).await;
    stage.approve(&asked[0].id, Scope::Session).await;
    stage.idle().await;
    let at = last_message(&stage).await;

    let fork = stage.engine.fork(&stage.chat, &at, "eve").await.unwrap();
    assert_eq!(fork.forked_from.as_ref().unwrap().chat, stage.chat);
    assert!(!fork.activity.busy);
    let origin = stage.said().await;
    assert_eq!(stage.said_in(&fork.id).await, origin);
    assert!(stage.store.grants(&fork.id).await.unwrap().is_empty());
    assert!(stage.waiting_in(&fork.id).await.is_empty());
    assert_eq!(tool.count(), 1);

    // The fork goes on with what was said and done, and asks anew.
    stage.model.push("ada", call("act", "two"));
    stage.model.push("ada", Answer::text("Done two."));
    stage.say_in(&fork.id, "again").await;
    let asked = stage.pending_in(&fork.id, 1).await;
    let told = shown(&stage.requests_of("ada")[2]);
    assert_eq!(told[2..], ["= did one", "Assistant: Done one.", "User: again"]);
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle_in(&fork.id).await;
    assert_eq!(done(&tool), ["one", "two"]);

    // Neither chat hears of the other.
    assert_eq!(stage.said().await, origin);
    stage.model.push("ada", Answer::text("Here."));
    stage.say("and here?").await;
    stage.idle().await;
    assert!(!shown(&stage.requests_of("ada")[4]).join("\n").contains("two"));
    assert_eq!(stage.said_in(&fork.id).await.len(), 4);
}

async fn a_fork_at_a_message_under_work_carries_no_open_work(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "one"));
    let posted = stage.say("go").await;
    let asked = stage.pending(1).await;
    let early = stage.engine.fork(&stage.chat, &posted.message.id, "eve").await.unwrap();
    let late = stage.engine.fork(&stage.chat, &last_message(&stage).await, "eve").await.unwrap();
    for fork in [&early, &late] {
        assert!(!fork.activity.busy, "{fork:?}");
        assert!(stage.waiting_in(&fork.id).await.is_empty());
    }
    assert_eq!(stage.model.requests().len(), 1, "no model is called for a fork");
    stage.approve(&asked[0].id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(tool.count(), 1);

    // A call without an end has one in the copy: the model is told that it was cancelled.
    stage.model.push("ada", Answer::text("Later, then."));
    stage.say_in(&late.id, "well?").await;
    stage.idle_in(&late.id).await;
    let told = shown(stage.requests_of("ada").last().unwrap());
    assert_eq!(told[2], "= the chat was forked before this call had ended");
}
