//! Scenes in which something changes between an approval and the start: what was approved is what runs, or nothing.

use std::sync::{Arc, Mutex};

use agent_world_core::binding::Prepared;
use agent_world_core::command::{Answer as Decision, Scope};
use agent_world_llm::scripted::Answer;
use agent_world_tools::scripted::Scripted;
use serde_json::{Value, json};

use crate::props::{call, calls, doing, done, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores};

on_both_stores!(
    a_change_after_the_approval_is_noticed_and_asked_about,
    a_change_while_no_process_runs_is_noticed_at_the_next_start,
    what_can_never_run_is_refused_without_a_question,
    edited_arguments_are_looked_at_too,
);

/// Finds the content that the test puts there, as one that runs a script would.
fn reading(content: &Arc<Mutex<String>>) -> Scripted {
    let content = Arc::clone(content);
    doing(spec("act")).finding(move |arguments: &Value| {
        if arguments["what"] == "harm" {
            return Err("that is outside".to_owned());
        }
        let content = content.lock().unwrap().clone();
        let facts = [("script".to_owned(), format!("{} {content}", arguments["what"]))];
        Ok(Prepared { facts: facts.into(), preview: Some(format!("runs {content}")) })
    })
}

fn content(text: &str) -> Arc<Mutex<String>> {
    Arc::new(Mutex::new(text.to_owned()))
}

async fn a_change_after_the_approval_is_noticed_and_asked_about(backend: Backend) {
    let script = content("one");
    let tool = reading(&script);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    assert_eq!(asked.preview.as_deref(), Some("runs one"));
    let bound = asked.binding.unwrap();
    assert!(bound.arguments.starts_with("sha256:"), "{bound:?}");
    assert_eq!(bound.facts["script"], "\"it\" one");

    *script.lock().unwrap() = "two".to_owned();
    stage.approve(&asked.id, Scope::Always).await;
    let again = stage.pending(1).await.remove(0);
    assert_ne!(again.id, asked.id);
    let voided = again.voided.unwrap();
    assert_eq!(voided.approval, asked.id);
    assert_eq!(voided.changes, ["script was \"it\" one and is \"it\" two"]);
    assert_eq!(again.preview.as_deref(), Some("runs two"));
    assert_eq!(tool.count(), 0, "nothing has run");

    stage.approve(&again.id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(done(&tool), ["it"]);
    assert_eq!(tool.invocations()[0].facts["script"], "\"it\" two");
}

async fn a_change_while_no_process_runs_is_noticed_at_the_next_start(backend: Backend) {
    let script = content("one");
    let tool = reading(&script);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let closed = stage.crash().await;
    let visitor = closed.visitor();
    let answer = crate::props::approval_of(Scope::Once);
    visitor.answer(&asked.id, answer, "eve", Default::default()).await.unwrap();
    visitor.shutdown().await;
    *script.lock().unwrap() = "two".to_owned();
    drop(visitor);

    let stage = closed.open().await;
    let again = stage.pending(1).await.remove(0);
    assert_eq!(again.voided.unwrap().approval, asked.id);
    assert_eq!(tool.count(), 0);
    stage.deny(&again.id, "it changed").await;
    stage.idle().await;
    assert_eq!(stage.states().await, ["denied"]);
}

async fn what_can_never_run_is_refused_without_a_question(backend: Backend) {
    let tool = reading(&content("one"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", calls("act", &["harm", "good"]));
    stage.model.push("ada", Answer::text("I see."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    assert_eq!(asked.arguments["what"], "good");
    stage.approve(&asked.id, Scope::Once).await;
    stage.idle().await;
    assert_eq!(stage.states().await, ["failed", "completed"]);
    let told = shown(&stage.model.requests()[1]);
    assert_eq!(told[3], "= error: that is outside");
}

async fn edited_arguments_are_looked_at_too(backend: Backend) {
    let script = content("one");
    let tool = reading(&script);
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let with = |what: &str| Decision::Approve {
        scope: Scope::Once,
        matches: Vec::new(),
        arguments: Some(json!({"what": what})),
        reason: None,
    };
    let refused = stage.answer(&asked.id, with("harm")).await.unwrap_err();
    assert!(refused.to_string().contains("that is outside"), "{refused}");
    stage.answer(&asked.id, with("good")).await.unwrap();
    stage.idle().await;
    assert_eq!(done(&tool), ["good"]);
}
