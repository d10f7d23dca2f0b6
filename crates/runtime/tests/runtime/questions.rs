//! Scenes in which a running tool asks the person something.

use std::time::Duration;

use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer as Decision, Scope};
use agent_world_core::config::ToolSpec;
use agent_world_core::event::{Outcome, Output};
use agent_world_core::view::ApprovalState;
use agent_world_llm::scripted::Answer;
use agent_world_tools::person::{Answer as Told, Question};
use agent_world_tools::scripted::Scripted;
use serde_json::json;

use crate::props::{call, free};
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    an_answer_reaches_the_call_that_asked,
    a_no_and_no_answer_are_told_apart,
    an_answer_that_does_not_fit_is_refused_and_the_question_waits_on,
    another_process_can_answer,
    stopping_takes_the_question_back,
    a_question_does_not_outlive_its_call,
);

/// Asks for a colour and says what it was told.
fn painting(spec: ToolSpec) -> Scripted {
    Scripted::new(spec, |invocation| async move {
        let schema = json!({
            "type": "object",
            "properties": {"colour": {"type": "string"}},
            "required": ["colour"],
        });
        let question = Question { message: "Which colour?".to_owned(), schema, url: None };
        Ok(Output::text(match invocation.person.ask(question).await {
            Told::Given(content) => format!("painted {}", content["colour"]),
            Told::Declined => "declined".to_owned(),
            Told::Unanswered => "unanswered".to_owned(),
        }))
    })
}

fn colour(content: serde_json::Value) -> Decision {
    Decision::Approve {
        scope: Scope::Once,
        matches: Vec::new(),
        arguments: Some(content),
        reason: None,
    }
}

async fn an_answer_reaches_the_call_that_asked(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    stage.model.push("ada", call("paint", "a wall"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    assert_eq!(asked.question, "Which colour?");
    assert_eq!(asked.form.as_ref().unwrap().schema["required"], json!(["colour"]));
    assert_eq!(stage.states().await, ["executing"]);
    stage.answer(&asked.id, colour(json!({"colour": "red"}))).await.unwrap();
    stage.idle().await;
    assert_eq!(stage.calls().await[0].output.as_ref().unwrap().text, "painted \"red\"");
    assert!(stage.answer(&asked.id, colour(json!({"colour": "blue"}))).await.is_err());
}

async fn a_no_and_no_answer_are_told_apart(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    stage.model.push("ada", call("paint", "a wall"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    stage.deny(&asked.id, "none").await;
    stage.idle().await;
    assert_eq!(stage.calls().await[0].output.as_ref().unwrap().text, "declined");
}

async fn an_answer_that_does_not_fit_is_refused_and_the_question_waits_on(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    stage.model.push("ada", call("paint", "a wall"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let refused = stage.answer(&asked.id, colour(json!({"colour": 3}))).await.unwrap_err();
    assert!(refused.to_string().contains("/colour"), "{refused}");
    assert_eq!(stage.pending(1).await[0].id, asked.id);
}

async fn another_process_can_answer(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    let visitor = stage.visitor();
    stage.model.push("ada", call("paint", "a wall"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let answer = colour(json!({"colour": "green"}));
    visitor.answer(&asked.id, answer, "eve", Default::default()).await.unwrap();
    stage.idle().await;
    assert_eq!(stage.calls().await[0].output.as_ref().unwrap().text, "painted \"green\"");
}

async fn stopping_takes_the_question_back(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    stage.model.push("ada", call("paint", "a wall"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    let asked = stage.engine.approval(&asked.id).await.unwrap();
    assert!(matches!(asked.state, ApprovalState::Withdrawn { .. }), "{asked:?}");
    stage.call_is(0, CallState::Ended(Outcome::Cancelled)).await;
}

async fn a_question_does_not_outlive_its_call(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&painting(free("paint"))).open(backend).await;
    stage.model.push("ada", call("paint", "a wall"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let stage = stage.restart().await;
    stage.call_is(0, CallState::Ended(Outcome::Interrupted)).await;
    let asked = stage.engine.approval(&asked.id).await.unwrap();
    assert!(matches!(asked.state, ApprovalState::Withdrawn { .. }), "{asked:?}");
}

#[test]
fn the_time_of_a_call_stands_still_while_a_person_is_asked() {
    perform_in_virtual_time(|backend| async move {
        let spec = ToolSpec { timeout_seconds: 30, ..free("paint") };
        let stage = Setup::of(&["ada"])
            .tool(&painting(spec))
            .options(|options| options.poll = Duration::from_secs(600))
            .open(backend)
            .await;
        stage.model.push("ada", call("paint", "a wall"));
        stage.say("go").await;
        let asked = stage.pending(1).await.remove(0);
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        stage.answer(&asked.id, colour(json!({"colour": "red"}))).await.unwrap();
        stage.idle().await;
        assert_eq!(stage.states().await, ["completed"]);
    });
}

#[test]
fn a_question_expires_with_the_worlds_limit_and_the_call_goes_on() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"])
            .tool(&painting(free("paint")))
            .world(|world| world.approval_timeout_seconds = Some(60))
            .options(|options| options.poll = Duration::from_secs(1))
            .open(backend)
            .await;
        stage.model.push("ada", call("paint", "a wall"));
        stage.say("go").await;
        stage.pending(1).await;
        stage.idle().await;
        assert_eq!(stage.calls().await[0].output.as_ref().unwrap().text, "unanswered");
    });
}
