//! What goes wrong is said: failing and missing models, code that breaks down, turns that never come to an end.

use agent_world_core::chat::CallState;
use agent_world_core::event::{Event, NoticeCode, Outcome};
use agent_world_llm::scripted::{Answer, Scripted};
use agent_world_llm::{Class, Draft, Events, Model, Request};
use agent_world_tools::scripted::Scripted as ScriptedTool;

use crate::props::{call, doing, free, shown};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    a_model_that_fails_leaves_a_notice_and_the_turn_can_be_retried,
    a_retry_takes_the_turn_up_with_the_results_it_has,
    without_a_failed_turn_there_is_nothing_to_retry,
    an_unknown_vendor_is_named_in_a_notice,
    an_agent_without_a_model_is_told_apart,
    a_model_whose_code_panics_leaves_a_notice_and_the_engine_lives,
    nothing_is_done_with_a_reply_that_broke_off,
    a_tool_whose_code_panics_has_failed_and_the_engine_lives,
    a_turn_that_calls_too_many_models_ends_with_a_visible_error,
    an_unknown_tool_and_broken_arguments_are_results_the_model_sees,
);

async fn notice_codes(stage: &Stage) -> Vec<NoticeCode> {
    let code = |event| match event {
        Event::NoticePosted(notice) => Some(notice.code),
        _ => None,
    };
    let log = stage.log(&stage.chat).await;
    log.into_iter().filter_map(code).collect()
}

async fn a_model_that_fails_leaves_a_notice_and_the_turn_can_be_retried(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::failure(Class::Overloaded, "come back later"));
    stage.say("hello").await;
    stage.idle().await;
    let notices = stage.notices().await;
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("ada could not answer: "), "{notices:?}");
    assert!(notices[0].contains("come back later"), "{notices:?}");

    stage.model.push("ada", Answer::text("Here I am."));
    stage.engine.retry(&stage.chat, None).await.unwrap();
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "ada: Here I am.");
    assert_eq!(shown(&stage.model.requests()[1]), ["User: hello"]);
}

async fn a_retry_takes_the_turn_up_with_the_results_it_has(backend: Backend) {
    let tool = doing(free("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::failure(Class::Network, "unplugged"));
    stage.model.push("ada", Answer::text("It is done."));
    stage.say("go").await;
    stage.idle().await;
    stage.engine.retry(&stage.chat, Some("ada".into())).await.unwrap();
    stage.idle().await;
    assert_eq!(
        shown(&stage.model.requests()[2]),
        ["User: go", r#"act({"what":"it"})"#, "= did it"]
    );
    assert_eq!(tool.count(), 1, "the tool was not run again");
}

async fn without_a_failed_turn_there_is_nothing_to_retry(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let refused = stage.engine.retry(&stage.chat, None).await.unwrap_err();
    assert!(refused.to_string().contains("nothing to retry"), "{refused}");
}

async fn an_unknown_vendor_is_named_in_a_notice(backend: Backend) {
    let stage = Setup::of(&["ada"])
        .world(|world| world.agents[0].model = Some("acme/large".to_owned()))
        .open(backend)
        .await;
    stage.say("hello").await;
    stage.idle().await;
    let notices = stage.notices().await;
    assert!(notices[0].contains("acme"), "{notices:?}");
    assert!(notices[0].contains("only scripted"), "{notices:?}");
}

async fn an_agent_without_a_model_is_told_apart(backend: Backend) {
    let stage = Setup::of(&["ada"]).world(|world| world.agents[0].model = None).open(backend).await;
    stage.say("hello").await;
    stage.idle().await;
    let notices = stage.notices().await;
    assert!(notices[0].contains("ada has no model"), "{notices:?}");

    // With a default model the same turn can be taken up again.
    stage.change_world(|world| world.default_model = Some("scripted/any".to_owned())).await;
    stage.model.push("any", Answer::text("Now I can."));
    stage.engine.retry(&stage.chat, None).await.unwrap();
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "ada: Now I can.");
}

/// Breaks down instead of answering.
#[derive(Debug)]
struct Broken;

impl Model for Broken {
    fn stream(&self, _: Request) -> Events {
        panic!("a bug in a vendor's client");
    }
}

async fn a_model_whose_code_panics_leaves_a_notice_and_the_engine_lives(backend: Backend) {
    let stage = Setup::of(&["ada", "bob"])
        .vendor("broken", Broken)
        .world(|world| world.agents[0].model = Some("broken/any".to_owned()))
        .open(backend)
        .await;
    stage.model.push("bob", Answer::text("I am fine."));
    stage.say("how are you?").await;
    stage.idle().await;
    assert!(stage.notices().await[0].contains("broke down"));
    assert!(stage.said().await.contains(&"bob: I am fine.".to_owned()));

    stage.model.push("bob", Answer::text("Still fine."));
    stage.say("@bob and now?").await;
    stage.idle().await;
    assert_eq!(stage.said().await.last().unwrap(), "bob: Still fine.");
}

/// Streams the beginning of a reply and is cut off.
#[derive(Debug)]
struct CutOff;

impl Model for CutOff {
    fn stream(&self, _: Request) -> Events {
        let mut draft = Draft::new();
        draft.say("I am going to run act");
        let error = agent_world_llm::Error::new(Class::StreamCut, "cut", "the stream ended early");
        let told = draft.take_events().into_iter().map(Ok).chain([Err(error)]);
        Box::pin(async_stream::stream! {
            for event in told {
                yield event;
            }
        })
    }
}

async fn nothing_is_done_with_a_reply_that_broke_off(backend: Backend) {
    let tool = doing(free("act"));
    let stage = Setup::of(&["ada"])
        .vendor("cut", CutOff)
        .tool(&tool)
        .world(|world| world.agents[0].model = Some("cut/any".to_owned()))
        .open(backend)
        .await;
    stage.say("@ada go").await;
    stage.idle().await;
    assert_eq!(notice_codes(&stage).await, [NoticeCode::ModelFailed]);
    assert_eq!(tool.count(), 0);
    let calls = stage.store.calls(&stage.chat, None, 10).await.unwrap();
    assert!(calls.is_empty(), "{calls:?}");
}

async fn a_tool_whose_code_panics_has_failed_and_the_engine_lives(backend: Backend) {
    let tool = ScriptedTool::new(free("act"), |_| async { panic!("a bug in a tool") });
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("That went wrong."));
    stage.say("go").await;
    stage.idle().await;
    let calls = stage.calls().await;
    assert_eq!(calls[0].state, CallState::Ended(Outcome::Failed));
    let told = shown(&stage.model.requests()[1]);
    assert!(told.last().unwrap().contains("the tool broke down"), "{told:?}");
    assert_eq!(stage.said().await.last().unwrap(), "ada: That went wrong.");
}

async fn a_turn_that_calls_too_many_models_ends_with_a_visible_error(backend: Backend) {
    let tool = doing(free("act"));
    let stage =
        Setup::of(&["ada"]).tool(&tool).world(|world| world.max_iterations = 3).open(backend).await;
    for _ in 0..5 {
        stage.model.push("ada", call("act", "it again"));
    }
    stage.say("go").await;
    stage.idle().await;
    assert_eq!(stage.model.requests().len(), 3);
    assert_eq!(tool.count(), 3);
    assert_eq!(notice_codes(&stage).await, [NoticeCode::IterationLimit]);
    assert!(stage.notices().await[0].contains("after 3 model calls"));
}

async fn an_unknown_tool_and_broken_arguments_are_results_the_model_sees(backend: Backend) {
    let tool = doing(free("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let arguments = serde_json::json!({"what": ["not", "a", "text"]});
    let wrong = [
        ("fly", serde_json::json!({})),
        ("act", arguments),
        ("client.requestApproval", serde_json::json!({"decision": "approve"})),
    ];
    stage.model.push("ada", Answer::calls(wrong));
    stage.model.push("ada", Answer::text("I see."));
    stage.say("go").await;
    stage.idle().await;
    let told = shown(&stage.model.requests()[1]);
    assert!(told[4].starts_with("= error: unknown tool `fly`"), "{told:?}");
    assert!(told[5].starts_with("= error: "), "{told:?}");
    assert!(told[6].contains("not for models"), "{told:?}");
    assert_eq!(stage.states().await, ["failed", "failed", "failed"]);
    assert_eq!(tool.count(), 0);
    let unused: &Scripted = &stage.model;
    assert_eq!(unused.unused(), 0);
}
