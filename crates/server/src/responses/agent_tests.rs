//! Scenes in which a client of `/v1/responses` asks an agent.

use std::sync::Arc;

use agent_world_core::event::Attendance;
use agent_world_core::ids::{AgentId, ChatId};
use agent_world_core::item::{Finish, Item, Reply, Usage};
use agent_world_runtime::NewMessage;
use agent_world_runtime::llm::Class;
use agent_world_runtime::llm::scripted::Answer;
use axum::http::StatusCode;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::stage::{Stage, calls, decided, eve, function, somebody};
use super::{Answering, cancel};
use crate::access::Role;
use crate::problem::Problem;

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    let total_tokens = input_tokens + output_tokens;
    Usage { input_tokens, output_tokens, total_tokens, ..Usage::default() }
}

fn refused(answering: Result<Answering, Problem>) -> (StatusCode, String, String) {
    let problem = answering.err().expect("a refusal");
    (problem.status(), problem.code().to_owned(), problem.detail().to_owned())
}

fn result(call: &Value, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call["call_id"], "output": output})
}

#[tokio::test]
async fn a_text_comes_in_pieces_that_add_up_to_it() {
    let stage = Stage::of(&["ada", "bob"]).await;
    let text = "Grüße von Ada, wie geht es?";
    stage.model.push("ada", Answer::text(text).in_chunks(3).with_usage(usage(7, 5)));
    let told = stage.ask(json!({"model": "x", "input": "@bob what does @bob say?"})).await;

    assert_eq!(told.response["status"], "completed");
    assert_eq!(told.response["model"], "world:w/ada");
    assert_eq!(told.texts(), [text]);
    assert_eq!(told.deltas().len(), text.chars().count().div_ceil(3));
    assert_eq!(told.response["usage"]["input_tokens"], 7);
    assert_eq!(told.response["usage"]["total_tokens"], 12);
    // It went to ada alone, in eve's name, whatever it mentions.
    let said = stage.said(&told.chat).await;
    assert_eq!(said, ["human: @bob what does @bob say?".to_owned(), format!("ada: {text}")]);
    assert!(stage.model.requests().iter().all(|request| request.model != "bob"));
    let page = agent_world_runtime::store::MessagePage::After(None, 1);
    let posted = stage.app.engine.store().messages(&told.chat, page).await.unwrap().remove(0);
    assert_eq!(posted.user.as_deref(), Some("eve"));
}

#[tokio::test]
async fn a_chat_goes_on() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", "One.").push("ada", "Two.");
    let first = stage.ask(json!({"input": "first"})).await;
    let second = stage.ask_in(&first.chat, json!({"input": "second"})).await;
    assert_eq!((first.chat, second.texts()), (second.chat.clone(), vec!["Two."]));
    assert_eq!(stage.shown(), ["User: first", "Assistant: One.", "User: second"]);
}

#[tokio::test]
async fn tools_of_the_server_are_run_and_not_shown() {
    let stage = Stage::of(&["ada"]).await;
    let reply = Reply::of(vec![
        Item::assistant("Let me see."),
        Item::call("c", "look", &json!({"what": "around"})),
    ]);
    stage.model.push("ada", Answer::from(reply).with_usage(usage(10, 2)));
    stage.model.push("ada", Answer::text("Nothing.").in_chunks(2).with_usage(usage(20, 3)));
    let told = stage.ask(json!({"input": "look"})).await;
    assert_eq!(Stage::done(&stage.look), ["around"]);
    assert_eq!(told.texts(), ["Let me see.", "Nothing."]);
    assert_eq!(told.kinds(), ["message", "message"]);
    assert_eq!(told.response["usage"]["input_tokens"], 30);
    assert_eq!(told.response["usage"]["output_tokens"], 5);
}

#[tokio::test]
async fn a_world_without_streaming_tells_the_same() {
    let stage = Stage::with(&["ada"], |world| world.streaming = false).await;
    let thought =
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let items = vec![
        serde_json::from_value(thought).unwrap(),
        Item::assistant("One."),
        Item::assistant("Two."),
    ];
    stage.model.push("ada", Answer::from(Reply::of(items)));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.kinds(), ["reasoning", "message", "message"]);
    assert_eq!(told.output()[0]["summary"][0]["text"], "Hm.");
    assert_eq!(told.texts(), ["One.", "Two."]);
}

#[tokio::test]
async fn messages_that_were_streamed_in_a_row_are_one() {
    let stage = Stage::of(&["ada"]).await;
    let items = vec![Item::assistant("One."), Item::assistant("Two.")];
    stage.model.push("ada", Answer::from(Reply::of(items)).in_chunks(1));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.texts().concat(), "One.Two.");
}

#[tokio::test]
async fn three_requests_are_answered_out_of_order_in_two_requests() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "one"), ("act", "two"), ("act", "three")]));
    stage.model.push("ada", "All done.");
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.response["status"], "completed");
    let asked = told.approvals();
    let names: Vec<&str> = asked.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(names, ["one", "two", "three"]);
    assert_eq!(told.output()[0]["server_label"], "agent-world");
    assert_eq!(told.output()[0]["name"], "act");

    let third = decided(&[(&asked[2].1, true)]);
    let told = stage.ask_in(&told.chat, third).await;
    assert_eq!(told.approvals(), asked[..2], "the others still wait, under the same ids");
    assert_eq!(Stage::done(&stage.act), ["three"]);

    let rest = decided(&[(&asked[1].1, true), (&asked[0].1, true)]);
    let told = stage.ask_in(&told.chat, rest).await;
    assert_eq!(told.texts(), ["All done."]);
    let mut done = Stage::done(&stage.act);
    done.sort_unstable();
    assert_eq!(done, ["one", "three", "two"]);
    let approval = stage.app.engine.approval(&asked[0].1.as_str().into()).await.unwrap();
    assert!(format!("{:?}", approval.state).contains("Person(\"eve\")"), "{:?}", approval.state);
}

#[tokio::test]
async fn a_denial_reaches_the_model_with_its_reason() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "harm")])).push("ada", "I see.");
    let told = stage.ask(json!({"input": "go"})).await;
    let id = &told.output()[0]["id"];
    let denial = json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": false, "reason": "too dear"});
    let told =
        stage.ask_in(&told.chat, json!({"input": [denial], "instructions": "Be brief."})).await;
    assert_eq!(told.texts(), ["I see."]);
    assert_eq!(Stage::done(&stage.act), Vec::<String>::new());
    // Instructions come with messages; a decision is none.
    assert_eq!(
        stage.shown(),
        ["User: go", r#"act({"what":"harm"})"#, "= denied by the user: too dear"]
    );
}

#[tokio::test]
async fn a_world_that_waits_after_a_denial_ends_the_response() {
    let wait = agent_world_core::config::AfterDenial::Wait;
    let stage = Stage::with(&["ada"], |world| world.after_denial = wait).await;
    stage.model.push("ada", calls(&[("act", "harm")])).push("ada", "Fine.");
    let told = stage.ask(json!({"input": "go"})).await;
    let denial = decided(&[(&told.approvals()[0].1, false)]);
    let told = stage.ask_in(&told.chat, denial).await;
    assert_eq!((told.output(), &told.response["status"]), (&[][..], &json!("completed")));
    let told = stage.ask_in(&told.chat, json!({"input": "do something else"})).await;
    assert_eq!(told.texts(), ["Fine."]);
}

#[tokio::test]
async fn a_client_executes_its_own_tools() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("pick", "a colour")])).push("ada", "Blue it is.");
    let told = stage.ask(json!({"input": "choose", "tools": [function("pick")]})).await;
    assert_eq!(told.kinds(), ["function_call"]);
    let call = &told.output()[0];
    assert_eq!((&call["name"], &call["status"]), (&json!("pick"), &json!("completed")));
    assert_eq!(call["arguments"], r#"{"what":"a colour"}"#);
    let input = json!({"input": [result(call, "blue")], "tools": [function("pick")]});
    let told = stage.ask_in(&told.chat, input.clone()).await;
    assert_eq!(told.texts(), ["Blue it is."]);
    assert_eq!(stage.shown()[2], "= blue");
    // Whatever is repeated is harmless and tells what came of it; whatever differs is refused.
    let told = stage.ask_in(&told.chat, input).await;
    assert_eq!(told.texts(), ["Blue it is."]);
    let other = json!({"input": [result(call, "green")]});
    let (status, code, _) = refused(stage.try_ask(&eve(), Some(&told.chat), other).await);
    assert_eq!((status, code.as_str()), (StatusCode::CONFLICT, "call_not_waiting"));
    let unknown = json!({"input": [result(&json!({"call_id": "call_x"}), "green")]});
    let (status, code, _) = refused(stage.try_ask(&eve(), Some(&told.chat), unknown).await);
    assert_eq!((status, code.as_str()), (StatusCode::NOT_FOUND, "call_not_found"));
}

#[tokio::test]
async fn a_mixed_batch_ends_the_response_when_only_others_can_go_on() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("pick", "a colour"), ("act", "paint"), ("look", "around")]));
    stage.model.push("ada", "Painted.");
    let told = stage.ask(json!({"input": "go", "tools": [function("pick")]})).await;
    assert_eq!(told.kinds(), ["mcp_approval_request", "function_call"]);
    assert_eq!(Stage::done(&stage.look), ["around"], "what needs nobody has run");
    let (approval, call) = (told.approvals()[0].1.clone(), told.output()[1].clone());

    let told = stage.ask_in(&told.chat, json!({"input": [result(&call, "blue")]})).await;
    assert_eq!(told.approvals(), [("paint".to_owned(), approval.clone())]);
    let told = stage.ask_in(&told.chat, decided(&[(&approval, true)])).await;
    assert_eq!(told.texts(), ["Painted."]);
}

#[tokio::test]
async fn what_is_said_while_others_are_waited_for_joins_the_turn() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "one")])).push("ada", "Both done.");
    let told = stage.ask(json!({"input": "go"})).await;
    let asked = told.approvals();
    let told = stage.ask_in(&told.chat, json!({"input": "and hurry"})).await;
    assert_eq!(told.approvals(), asked, "the client is reminded");
    let told = stage.ask_in(&told.chat, decided(&[(&asked[0].1, true)])).await;
    assert_eq!(told.texts(), ["Both done."]);
    assert_eq!(stage.shown().last().unwrap(), "User: and hurry");
}

#[tokio::test]
async fn a_decision_may_come_twice_but_not_change() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "one"), ("act", "two")]));
    let told = stage.ask(json!({"input": "go"})).await;
    let asked = told.approvals();
    for _ in 0..2 {
        let told = stage.ask_in(&told.chat, decided(&[(&asked[0].1, true)])).await;
        assert_eq!(told.approvals(), asked[1..]);
    }
    assert_eq!(Stage::done(&stage.act), ["one"]);
    let contrary = decided(&[(&asked[0].1, false), (&asked[1].1, true)]);
    let (status, code, _) = refused(stage.try_ask(&eve(), Some(&told.chat), contrary).await);
    assert_eq!((status, code.as_str()), (StatusCode::CONFLICT, "approval_settled"));
    assert_eq!(Stage::done(&stage.act), ["one"], "nothing of a refused request was done");
}

#[tokio::test]
async fn only_an_approver_decides() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "one")]));
    let told = stage.ask(json!({"input": "go"})).await;
    let decision = decided(&[(&told.approvals()[0].1, true)]);
    for role in [Role::Viewer, Role::Member] {
        let who = somebody("mallory", role);
        let (status, ..) = refused(stage.try_ask(&who, Some(&told.chat), decision.clone()).await);
        assert_eq!(status, StatusCode::FORBIDDEN, "{role:?}");
    }
    let viewer = somebody("mallory", Role::Viewer);
    let (status, ..) = refused(stage.try_ask(&viewer, None, json!({"input": "hi"})).await);
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(Stage::done(&stage.act), Vec::<String>::new());
    let member = somebody("mona", Role::Member);
    let answering = stage.try_ask(&member, Some(&told.chat), json!({"input": "hi"})).await.unwrap();
    assert_eq!(stage.follow(&json!({}), answering).await.approvals(), told.approvals());
}

#[tokio::test]
async fn a_request_is_decided_in_its_own_chat_and_by_its_own_agent() {
    let stage = Stage::of(&["ada", "bob"]).await;
    stage.model.push("ada", calls(&[("act", "one")]));
    let told = stage.ask(json!({"input": "go"})).await;
    let other = stage.ask(json!({"input": "hello"})).await;
    let decision = decided(&[(&told.approvals()[0].1, true)]);
    let in_other = stage.try_ask(&eve(), Some(&other.chat), decision.clone()).await;
    assert_eq!(refused(in_other).1, "approval_not_found");
    let of_bob = stage.try_agent(&eve(), ("w", "bob"), Some(&told.chat), decision.clone()).await;
    assert_eq!(refused(of_bob).1, "approval_not_found");
    let of_bob = stage.try_agent(&eve(), ("w", "bob"), None, decision).await;
    assert_eq!(refused(of_bob).1, "approval_not_found");
    let unknown = stage.try_ask(&eve(), Some(&told.chat), decided(&[("apr_\0", true)])).await;
    assert_eq!(refused(unknown).0, StatusCode::NOT_FOUND);
    assert_eq!(Stage::done(&stage.act), Vec::<String>::new());
}

#[tokio::test]
async fn a_client_that_keeps_the_conversation_can_decide_as_well() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("act", "one")])).push("ada", "Done it.").push("ada", "Yes.");
    let first = stage.ask(json!({"input": "go"})).await;
    let mut kept = vec![json!({"role": "user", "content": "go"}), first.output()[0].clone()];
    kept.push(decided(&[(&first.approvals()[0].1, true)])["input"][0].clone());
    let second = stage.ask(json!({"input": kept})).await;
    assert_eq!((&second.chat, second.texts()), (&first.chat, vec!["Done it."]));
    kept.push(second.output()[0].clone());
    kept.push(json!({"role": "user", "content": "really?"}));
    let third = stage.ask(json!({"input": kept})).await;
    assert_eq!((&third.chat, third.texts()), (&first.chat, vec!["Yes."]));
    assert_eq!(stage.shown()[3..], ["Assistant: Done it.", "User: really?"]);
}

#[tokio::test]
async fn a_conversation_that_the_client_kept_is_history_of_the_new_chat() {
    let stage = Stage::of(&["ada", "bob"]).await;
    let input = json!([
        {"role": "system", "content": "Speak French."},
        {"role": "user", "content": "@bob hello"},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "Salut.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "pick", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "red"},
        {"role": "assistant", "content": "Rouge."},
        {"role": "user", "content": [{"type": "input_text", "text": "And now?"}, {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}]},
    ]);
    let told = stage.ask(json!({"input": input, "instructions": "Be brief."})).await;
    assert_eq!(told.texts(), ["Done."]);
    assert_eq!(
        stage.shown(),
        [
            "User: @bob hello",
            "Assistant: Salut.",
            "pick({})",
            "= red",
            "Assistant: Rouge.",
            "User: And now?\n\n[The calling program adds to this message:]\nBe brief.\n\nSpeak French.",
        ]
    );
    let request = stage.model.requests().into_iter().find(|asked| asked.model == "ada").unwrap();
    let Item::Message(message) = &**request.input.last().unwrap() else { panic!("a message") };
    assert_eq!(message.content.len(), 2, "the picture comes along");
    assert!(stage.model.requests().iter().all(|asked| asked.model != "bob"));
}

#[tokio::test]
async fn a_client_that_keeps_the_conversation_brings_results_as_well() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("pick", "a colour")])).push("ada", "Blue it is.");
    let tools = json!([function("pick")]);
    let told = stage.ask(json!({"input": "choose", "tools": tools})).await;
    let call = told.output()[0].clone();
    let input = json!([{"role": "user", "content": "choose"}, call, result(&call, "blue")]);
    let told = stage.ask(json!({"input": input, "tools": tools})).await;
    assert_eq!(told.texts(), ["Blue it is."]);
    assert_eq!(
        stage.shown(),
        [
            "User: choose",
            r#"pick({"what":"a colour"})"#,
            "= blue",
            "User: [The results above are complete. Go on.]"
        ]
    );
    let orphan = json!({"input": [result(&call, "blue")]});
    assert_eq!(refused(stage.try_ask(&eve(), None, orphan).await).0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_response_has_the_text_of_this_agent_alone_and_as_its_model_wrote_it() {
    let stage = Stage::of(&["ada", "bob"]).await;
    let gate = Arc::new(Semaphore::new(0));
    stage.model.push("ada", "@ada @bob what do you think?");
    stage.model.push("bob", Answer::text("I agree.").held_by(&gate));
    let told = stage.ask(json!({"input": "ask bob"})).await;
    assert_eq!(told.texts(), ["@ada @bob what do you think?"]);
    assert_eq!(stage.said(&told.chat).await[1], "ada: @bob what do you think?");
    gate.add_permits(1);
}

#[tokio::test]
async fn a_failure_is_told_in_its_class() {
    let stage = Stage::of(&["ada"]).await;
    let limited = Class::RateLimited { retry_after: None };
    stage.model.push("ada", Answer::failure(limited, "slow down"));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.error()["type"], "too_many_requests");
    assert_eq!(told.error()["code"], "rate_limit_exceeded");
    let message = "scripted: too many requests: slow down; wait, then try again";
    assert_eq!(told.error()["message"], message);
    assert_eq!(told.events.last().unwrap()["type"], "response.failed");
    stage.model.push("ada", "Better.");
    let told = stage.ask_in(&told.chat, json!({"input": "again"})).await;
    assert_eq!(told.texts(), ["Better."]);
}

#[tokio::test]
async fn an_agent_without_a_model_fails_in_words() {
    let stage = Stage::with(&["ada"], |world| world.agents[0].model = None).await;
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.error()["type"], "invalid_request_error");
    let message = told.error()["message"].as_str().unwrap();
    assert!(message.contains("agent ada has no model"), "{message}");
}

#[tokio::test]
async fn a_turn_that_goes_round_in_circles_is_incomplete() {
    let stage = Stage::with(&["ada"], |world| world.max_iterations = 2).await;
    stage.model.push("ada", calls(&[("look", "here")])).push("ada", calls(&[("look", "there")]));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.response["status"], "incomplete");
    assert_eq!(told.response["incomplete_details"]["reason"], "max_iterations");
}

#[tokio::test]
async fn a_reply_that_was_cut_is_incomplete() {
    let stage = Stage::of(&["ada"]).await;
    let finish = Finish::Incomplete { reason: "max_output_tokens".to_owned() };
    stage.model.push("ada", Answer::from(Reply { finish, ..Reply::text("And then") }));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.response["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(told.texts(), ["And then"]);
}

#[tokio::test]
async fn an_empty_reply_is_an_empty_response() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", "");
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!((told.output(), &told.response["status"]), (&[][..], &json!("completed")));
}

#[tokio::test]
async fn a_question_of_a_running_tool_is_answered_with_arguments() {
    let stage = Stage::of(&["ada"]).await;
    stage.model.push("ada", calls(&[("paint", "a wall")])).push("ada", "Painted.");
    let told = stage.ask(json!({"input": "go"})).await;
    let asked = &told.output()[0];
    let form: Value = serde_json::from_str(asked["arguments"].as_str().unwrap()).unwrap();
    assert_eq!((&asked["name"], &form["question"]), (&json!("paint"), &json!("Which colour?")));
    assert_eq!(form["schema"]["required"], json!(["colour"]));
    let mut answer = decided(&[(asked["id"].as_str().unwrap(), true)]);
    let bare = stage.try_ask(&eve(), Some(&told.chat), answer.clone()).await;
    assert_eq!(refused(bare).0, StatusCode::UNPROCESSABLE_ENTITY);
    answer["input"][0]["arguments"] = json!({"colour": "red"});
    let told = stage.ask_in(&told.chat, answer).await;
    assert_eq!(told.texts(), ["Painted."]);
    assert_eq!(stage.shown().last().unwrap(), "= painted \"red\"");
}

#[tokio::test]
async fn secrets_in_arguments_are_not_shown_to_whoever_decides() {
    let stage = Stage::of(&["ada"]).await;
    let arguments = json!({"what": "log in", "password": "hunter2"});
    stage.model.push("ada", Answer::call("act", arguments));
    let told = stage.ask(json!({"input": "go"})).await;
    assert_eq!(told.approvals()[0].0, "log in");
    let written = serde_json::to_string(&told.events).unwrap();
    assert!(written.contains("password") && !written.contains("hunter2"), "{written}");
}

/// An answer whose model has begun to speak and does not go on.
async fn held(stage: &Stage) -> Answering {
    let gate = Arc::new(Semaphore::new(0));
    stage.model.push("ada", Answer::text("Well").ended_by(&gate));
    let mut answering = stage.try_ask(&eve(), None, json!({"input": "go"})).await.unwrap();
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(answering.events.next().await.unwrap().unwrap());
    }
    let before = futures::stream::iter(told.into_iter().map(Ok));
    answering.events = Box::pin(before.chain(answering.events));
    answering
}

#[tokio::test]
async fn an_agent_that_is_stopped_ends_the_response() {
    let stage = Stage::of(&["ada"]).await;
    let answering = held(&stage).await;
    cancel(&stage.app, &answering.chat, &AgentId::new("ada"), "eve").await.unwrap();
    let told = stage.follow(&json!({}), answering).await;
    assert_eq!(told.error()["code"], "cancelled");
}

#[tokio::test]
async fn a_chat_or_a_world_that_is_deleted_ends_the_response() {
    let stage = Stage::of(&["ada"]).await;
    let answering = held(&stage).await;
    stage.app.engine.delete_chat(&answering.chat, "eve").await.unwrap();
    assert_eq!(stage.follow(&json!({}), answering).await.error()["code"], "cancelled");
    let answering = held(&stage).await;
    stage.app.engine.delete_world(&"w".into(), "eve").await.unwrap();
    assert_eq!(stage.follow(&json!({}), answering).await.error()["code"], "cancelled");
}

#[tokio::test]
async fn a_server_that_stops_ends_the_response() {
    let stage = Stage::of(&["ada"]).await;
    let answering = held(&stage).await;
    stage.app.stopping.cancel();
    let told = stage.follow(&json!({}), answering).await;
    let message = told.error()["message"].as_str().unwrap();
    assert!(message.contains("shutting down"), "{message}");

    let stage = Stage::of(&["ada"]).await;
    let answering = held(&stage).await;
    stage.app.engine.shutdown().await;
    let told = stage.follow(&json!({}), answering).await;
    assert_eq!(told.error()["type"], "server_error");
}

#[tokio::test]
async fn whoever_stops_listening_stops_nothing() {
    let stage = Stage::of(&["ada"]).await;
    let gate = Arc::new(Semaphore::new(0));
    stage.model.push("ada", Answer::text("Well.").held_by(&gate));
    let Answering { chat, events, .. } =
        stage.try_ask(&eve(), None, json!({"input": "go"})).await.unwrap();
    drop(events);
    gate.add_permits(1);
    stage.model.push("ada", "Next.");
    let told = stage.ask_in(&chat, json!({"input": "more"})).await;
    assert_eq!(told.texts(), ["Next."]);
    assert!(stage.said(&chat).await.contains(&"ada: Well.".to_owned()));
}

#[tokio::test]
async fn a_message_for_an_agent_at_work_for_others_gets_its_own_answer() {
    let stage = Stage::of(&["ada"]).await;
    let gate = Arc::new(Semaphore::new(0));
    stage.model.push("ada", Answer::text("For others.").held_by(&gate)).push("ada", "For you.");
    let chat: ChatId = stage.app.engine.create_chat(&"w".into(), None, "eve").await.unwrap().id;
    let message = NewMessage { attendance: Attendance::Attended, ..NewMessage::human("work") };
    stage.app.engine.post(&chat, message).await.unwrap();
    let answering = stage.try_ask(&eve(), Some(&chat), json!({"input": "and me?"})).await.unwrap();
    gate.add_permits(1);
    assert_eq!(stage.follow(&json!({}), answering).await.texts(), ["For you."]);
}

#[tokio::test]
async fn unknown_names_are_not_found() {
    let stage = Stage::of(&["ada"]).await;
    stage.world("v", &["ada"], |_| {}).await;
    let hello = || json!({"input": "hello"});
    for name in [("w", "zoe"), ("x", "ada"), ("", ""), ("w\0", "a\0"), ("W", "ada")] {
        let (status, code, _) = refused(stage.try_agent(&eve(), name, None, hello()).await);
        assert_eq!((status, code.as_str()), (StatusCode::NOT_FOUND, "model_not_found"));
    }
    let told = stage.ask(hello()).await;
    let elsewhere = stage.try_agent(&eve(), ("v", "ada"), Some(&told.chat), hello()).await;
    assert_eq!(refused(elsewhere).1, "chat_not_found");
    let nowhere = stage.try_ask(&eve(), Some(&"chat_\0".into()), hello()).await;
    assert_eq!(refused(nowhere).0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_and_leaves_nothing() {
    let stage = Stage::with(&["ada"], |world| world.agents[0].tools = vec!["pick".into()]).await;
    let chats =
        async || stage.app.engine.store().chats(&"w".into(), None, 100).await.unwrap().len();
    let before = chats().await;
    let bad_schema = json!({"type": "function", "name": "pick", "parameters": {"type": 7}});
    for (request, word) in [
        (json!({"input": []}), "says nothing"),
        (json!({"input": "  "}), "says nothing"),
        (json!({"input": [{"type": "item_reference", "id": "x"}]}), "item_reference"),
        (json!({"input": [{"type": "mcp_approval_response"}]}), "mcp_approval_response"),
        (json!({"input": "go", "tools": [function("look")]}), "is a tool of world w"),
        (json!({"input": "go", "tools": [function("other")]}), "may not use `other`"),
        (json!({"input": "go", "tools": [{"type": "web_search"}]}), "functions"),
        (json!({"input": "go", "tools": [function("pick"), function("pick")]}), "offered twice"),
        (json!({"input": "go", "tools": [bad_schema]}), "cannot be used"),
    ] {
        let (status, _, detail) = refused(stage.try_ask(&eve(), None, request).await);
        assert_eq!(status, StatusCode::BAD_REQUEST, "{detail}");
        assert!(detail.contains(word), "{detail}");
    }
    assert_eq!(chats().await, before);
    assert!(stage.model.requests().is_empty());
}

#[tokio::test]
async fn a_request_brings_its_own_tools_and_may_choose_none() {
    let stage = Stage::of(&["ada"]).await;
    let offered = || {
        let requests = stage.model.requests();
        let request = requests.iter().rfind(|request| request.model == "ada").unwrap();
        let names = request.functions().map(|function| function.name.clone());
        names.filter(|name| name == "pick" || name == "sort").collect::<Vec<_>>()
    };
    let tools = json!([function("pick"), function("sort")]);
    let told = stage.ask(json!({"input": "a", "tools": tools})).await;
    assert_eq!(offered(), ["pick", "sort"]);
    let choice = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "sort"}]});
    stage.ask_in(&told.chat, json!({"input": "b", "tools": tools, "tool_choice": choice})).await;
    assert_eq!(offered(), ["sort"]);
    stage.ask_in(&told.chat, json!({"input": "c", "tools": tools, "tool_choice": "none"})).await;
    assert_eq!(offered(), Vec::<String>::new());
    stage.ask_in(&told.chat, json!({"input": "d", "tools": tools})).await;
    stage.ask_in(&told.chat, json!({"input": "e"})).await;
    assert_eq!(offered(), Vec::<String>::new());
}
