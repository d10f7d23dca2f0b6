//! Decisions over HTTP: racing, out of order, edited, denied, narrowed, and by clients that know only calls.

use std::collections::BTreeSet;

use agent_world_core::config::World;
use agent_world_runtime::llm::scripted::Answer;
use agent_world_server::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::stage::{Stage, id};

fn place(approval: &Value) -> String {
    format!("/api/approvals/{}", id(approval))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_racing_decisions_one_wins_and_the_others_are_told_which() {
    let stage = Stage::on_sqlite().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    stage.model.push("ada", Answer::text("Done."));
    let mut racers = Vec::new();
    for number in 0..20 {
        let name = format!("person-{number}");
        racers.push((name.clone(), stage.person(&name, Role::Approver).await));
    }
    let race = racers.iter().map(|(name, client)| {
        let verdict = if name.ends_with('7') { "deny" } else { "approve" };
        let place = place(&asked);
        async move { (name, client.post(&place, json!({"decision": verdict})).await) }
    });
    let ended = futures::future::join_all(race).await;
    let winners: Vec<_> = ended.iter().filter(|(_, got)| got.status == 200).collect();
    assert_eq!(winners.len(), 1, "{ended:?}");
    let (winner, won) = winners[0];
    assert_eq!(won.body["decided_by"], winner.as_str());
    for (name, got) in ended.iter().filter(|(name, _)| name != winner) {
        assert_eq!(got.status, 409, "{name}: {}", got.body);
        assert_eq!(got.body["code"], "approval_settled");
        assert_eq!(got.body["approval"]["decided_by"], winner.as_str());
        assert!(got.body["detail"].as_str().unwrap().contains(winner.as_str()));
    }
    stage.idle().await;
    assert_eq!(stage.act.count(), usize::from(won.body["decision"] == "approve"));
}

#[tokio::test]
async fn requests_of_one_reply_are_decided_in_any_order() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "b", "c"]).await;
    stage.model.push("ada", Answer::text("All settled."));
    let approve = json!({"decision": "approve", "scope": "once"});
    let last = stage.human.post(&place(&asked[2]), approve.clone()).await.ok(200);
    assert_eq!((&last["state"], &last["scope"]), (&json!("approved"), &json!("once")));
    stage.act.received(1).await;
    assert_eq!(stage.done(), ["c"]);
    stage.human.post(&place(&asked[0]), json!({"decision": "deny"})).await.ok(200);
    stage.human.post(&place(&asked[1]), approve).await.ok(200);
    stage.idle().await;
    assert_eq!(stage.done(), ["c", "b"]);
    assert!(stage.texts().await.contains(&"All settled.".to_owned()));
}

#[tokio::test]
async fn a_reason_reaches_the_model() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    stage.model.push("ada", Answer::text("I see."));
    let deny = json!({"decision": "deny", "reason": "not on a Friday"});
    let denied = stage.human.post(&place(&asked), deny).await.ok(200);
    assert_eq!(
        (&denied["state"], &denied["reason"]),
        (&json!("denied"), &json!("not on a Friday"))
    );
    stage.idle().await;
    assert!(stage.shown().contains("denied by the user: not on a Friday"), "{}", stage.shown());
    assert_eq!(stage.act.count(), 0);
}

#[tokio::test]
async fn edited_arguments_run_and_the_model_is_told() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["rm everything"]).await.remove(0);
    stage.model.push("ada", Answer::text("Fine."));
    let edited = json!({"decision": "approve", "arguments": {"what": "rm nothing"}});
    let decided = stage.human.post(&place(&asked), edited).await.ok(200);
    assert_eq!(decided["edited_arguments"], json!({"what": "rm nothing"}));
    stage.idle().await;
    assert_eq!(stage.done(), ["rm nothing"]);
    let call = stage.human.get(&stage.at("tool-calls")).await.ok(200)["data"][0].clone();
    assert_eq!(
        (&call["state"], &call["arguments"]["what"]),
        (&json!("completed"), &json!("rm nothing"))
    );
    assert!(stage.shown().contains("the user changed the arguments"), "{}", stage.shown());
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_and_nothing_is_decided() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    for wrong in [json!({"what": 5}), json!({"other": true}), json!([1]), json!("x")] {
        let wrong = json!({"decision": "approve", "arguments": wrong});
        stage.human.post(&place(&asked), wrong).await.problem(422, "arguments_invalid");
    }
    let twice = r#"{"decision": "approve", "arguments": {"what": "a", "what": "b"}}"#;
    let sent = stage.human.send(Method::POST, &place(&asked), Some(twice.to_owned()), None).await;
    sent.problem(422, "body_invalid");
    assert_eq!(stage.human.get(&place(&asked)).await.ok(200)["state"], "pending");
}

#[tokio::test]
async fn a_mask_that_comes_back_does_not_run() {
    let stage = Stage::open().await;
    let secret = json!({"what": "a", "token": "hunter2hunter2"});
    stage.model.push("ada", Answer::call("act", secret));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    assert!(!asked.to_string().contains("hunter2"), "{asked}");
    let edited = json!({"what": "b", "token": asked["arguments"]["token"]});
    let body = json!({"decision": "approve", "arguments": edited});
    let refused = stage.human.post(&place(&asked), body).await.problem(422, "decision_invalid");
    assert_eq!(refused["field"], "arguments");
    // As they were shown, they are those that are meant.
    stage.model.push("ada", Answer::text("Done."));
    let original = json!({"id": asked["tool_call_id"], "name": "act", "args": asked["arguments"]});
    let body =
        json!({"tool_call_id": asked["id"], "decision": "approve", "originalToolCall": original});
    stage.human.post(&stage.at("tool-results"), body).await.ok(200);
    stage.idle().await;
    assert_eq!(stage.act.invocations()[0].arguments["token"], "hunter2hunter2");
}

#[tokio::test]
async fn what_is_claimed_and_not_true_decides_nothing() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    for claim in [json!({"agent_id": "bob"}), json!({"tool": "long"})] {
        let mut body = json!({"decision": "approve"});
        body.as_object_mut().unwrap().extend(claim.as_object().unwrap().clone());
        stage.human.post(&place(&asked), body).await.problem(409, "approval_mismatch");
    }
    for original in [
        json!({"id": "call_other"}),
        json!({"name": "long"}),
        json!({"args": {"what": "b"}}),
        json!({"workingDirectory": "/elsewhere"}),
    ] {
        let body = json!({"tool_call_id": asked["id"], "content": "approve_once",
            "originalToolCall": original});
        let refused = stage.human.post(&stage.at("tool-results"), body).await;
        refused.problem(409, "approval_mismatch");
    }
    let body =
        json!({"tool_call_id": asked["tool_call_id"], "decision": "approve", "agent_id": "bob"});
    stage.human.post(&stage.at("tool-results"), body).await.problem(409, "approval_mismatch");
    assert_eq!(stage.human.get(&place(&asked)).await.ok(200)["state"], "pending");
    assert_eq!(stage.act.count(), 0);
    stage.model.push("ada", Answer::text("Done."));
    let true_claims = json!({"decision": "approve", "agent_id": "ada", "tool": "act"});
    stage.human.post(&place(&asked), true_claims).await.ok(200);
}

#[tokio::test]
async fn who_decides_is_never_taken_from_the_body() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    let forged = json!({"decision": "approve", "decided_by": "the boss"});
    let refused = stage.human.post(&place(&asked), forged).await.problem(422, "body_invalid");
    assert!(refused["detail"].as_str().unwrap().contains("decided_by"), "{refused}");
    let member = stage.person("max", Role::Member).await;
    let body = json!({"tool_call_id": asked["id"], "decision": "approve"});
    member.post(&stage.at("tool-results"), body).await.problem(403, "forbidden");
    let body = json!({"tool_call_id": asked["id"], "content": "approve_once"});
    member.post(&stage.at("tool-results"), body).await.problem(403, "forbidden");
    stage.model.push("ada", Answer::text("Done."));
    let approver = stage.person("ann", Role::Approver).await;
    let decided = approver.post(&place(&asked), json!({"decision": "approve"})).await.ok(200);
    assert_eq!(decided["decided_by"], "ann");
}

#[tokio::test]
async fn a_client_that_knows_only_calls_answers_with_a_text() {
    for (content, state) in [
        ("approve_once", "approved"),
        ("approve_session", "approved"),
        ("approve_always", "approved"),
        ("deny", "denied"),
        ("deny: too early", "denied"),
    ] {
        let stage = Stage::open().await;
        let asked = stage.asked(&["a"]).await.remove(0);
        let page = stage.human.get(&stage.at("messages")).await.ok(200);
        let calls =
            page["data"].as_array().unwrap().iter().flat_map(|m| m["tool_calls"].as_array());
        let request =
            calls.flatten().find(|call| call["function"]["name"] == "client.requestApproval");
        let request = request.unwrap();
        assert_eq!(request["id"], asked["id"]);
        stage.model.push("ada", Answer::text("Done."));
        let body = json!({"tool_call_id": request["id"], "content": content});
        let settled = stage.human.post(&stage.at("tool-results"), body).await.ok(200);
        assert_eq!(settled["approval"]["state"], state, "{content}");
        assert_eq!(settled["tool_call"]["id"], asked["tool_call_id"]);
        stage.idle().await;
        assert_eq!(stage.act.count(), usize::from(state == "approved"), "{content}");
    }
}

#[tokio::test]
async fn either_id_decides_and_what_does_not_belong_together_is_refused() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "b"]).await;
    let results = stage.at("tool-results");
    let call = &asked[0]["tool_call_id"];
    for (body, status, code) in [
        (json!({"tool_call_id": call}), 422, "body_invalid"),
        (json!({"tool_call_id": call, "decision": "approve", "content": "x"}), 422, "body_invalid"),
        (
            json!({"tool_call_id": call, "decision": "approve", "is_error": true}),
            422,
            "body_invalid",
        ),
        (json!({"tool_call_id": asked[0]["id"], "content": "perhaps"}), 422, "choice_unknown"),
        (
            json!({"tool_call_id": asked[0]["id"], "content": "deny", "scope": "once"}),
            422,
            "body_invalid",
        ),
        (
            json!({"tool_call_id": asked[0]["id"], "content": "deny", "is_error": true}),
            422,
            "body_invalid",
        ),
        (json!({"tool_call_id": call, "content": "forged"}), 409, "call_not_waiting"),
        (json!({"tool_call_id": "call_none", "decision": "deny"}), 404, "call_not_found"),
        (json!({"tool_call_id": call, "decision": "perhaps"}), 422, "body_invalid"),
        (json!({"tool_call_id": call, "decision": "deny", "colour": "red"}), 422, "body_invalid"),
        (json!({"decision": "deny"}), 422, "body_invalid"),
    ] {
        stage.human.post(&results, body).await.problem(status, code);
    }
    let elsewhere = stage.human.post("/api/worlds/w/chats", json!({})).await.ok(201);
    let elsewhere = format!("/api/worlds/w/chats/{}/tool-results", id(&elsewhere));
    let body = json!({"tool_call_id": asked[0]["id"], "decision": "approve"});
    stage.human.post(&elsewhere, body).await.problem(404, "call_not_found");

    let body = json!({"tool_call_id": call, "decision": "deny", "reason": "no"});
    let settled = stage.human.post(&results, body.clone()).await.ok(200);
    assert_eq!(settled["approval"]["id"], asked[0]["id"]);
    let again = stage.human.post(&results, body).await.problem(409, "approval_settled");
    assert_eq!(again["approval"]["reason"], "no");
    assert_eq!(stage.pending(1).await[0]["id"], asked[1]["id"]);
}

#[tokio::test]
async fn a_decision_that_cannot_be_meant_is_refused() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    for (body, field) in [
        (json!({"decision": "deny", "scope": "always"}), "scope"),
        (json!({"decision": "deny", "arguments": {"what": "b"}}), "arguments"),
        (json!({"decision": "deny", "match": 0}), "match"),
        (json!({"decision": "deny", "reason": "x".repeat(10_001)}), "reason"),
        (json!({"decision": "approve", "match": {"pointer": "/what", "equals": "a"}}), "match"),
        (json!({"decision": "approve", "scope": "session", "match": 99}), "match"),
        (json!({"decision": "approve", "scope": "session", "match": "x"}), "match"),
        (json!({"decision": "approve", "scope": "always", "arguments": {"what": "b"}}), "scope"),
    ] {
        let refused = stage.human.post(&place(&asked), body).await.problem(422, "decision_invalid");
        assert_eq!(refused["field"], field);
    }
    let other = json!({"decision": "approve", "scope": "session",
        "match": {"pointer": "/what", "equals": "z"}});
    stage.human.post(&place(&asked), other).await.problem(422, "match_does_not_cover");
    stage.human.post(&place(&asked), json!({})).await.problem(422, "body_invalid");
    let none = json!({"decision": "approve"});
    stage.human.post("/api/approvals/apr_none", none).await.problem(404, "approval_not_found");
    assert_eq!(stage.human.get(&place(&asked)).await.ok(200)["state"], "pending");
}

#[tokio::test]
async fn a_permission_for_the_chat_settles_what_it_covers_and_can_be_taken_back() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "a", "b"]).await;
    let narrowed = json!({"decision": "approve", "scope": "session",
        "match": [{"pointer": "/what", "equals": "a"}]});
    stage.human.post(&place(&asked[0]), narrowed).await.ok(200);
    let second = stage.human.get(&place(&asked[1])).await.ok(200);
    let grants = stage.human.get(&stage.at("grants")).await.ok(200);
    let grant = &grants["data"][0];
    assert_eq!(second["decided_through"], grant["id"]);
    assert_eq!((&grant["agent_id"], &grant["tool"]), (&json!("ada"), &json!("act")));
    assert_eq!((&grant["approval_id"], &grant["granted_by"]), (&asked[0]["id"], &json!("human")));
    assert_eq!(stage.pending(1).await[0]["id"], asked[2]["id"]);

    let grant = stage.at(&format!("grants/{}", id(grant)));
    let member = stage.person("max", Role::Member).await;
    member.delete(&grant).await.problem(403, "forbidden");
    assert_eq!(stage.human.delete(&grant).await.status, 204);
    stage.human.delete(&grant).await.problem(404, "grant_not_found");
    assert_eq!(stage.human.get(&stage.at("grants")).await.ok(200)["data"], json!([]));
    stage.human.get(&stage.at("grants?after=x")).await.problem(422, "cursor_unknown");
    stage.model.push("ada", super::stage::acts(&["a"]));
    stage.human.post(&place(&asked[2]), json!({"decision": "deny"})).await.ok(200);
    assert_eq!(stage.pending(1).await[0]["arguments"]["what"], "a");
}

#[tokio::test]
async fn a_suggested_match_is_chosen_by_its_place() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    let suggested = asked["suggested_matches"].as_array().unwrap();
    assert!(!suggested.is_empty());
    stage.model.push("ada", Answer::text("Done."));
    let body = json!({"decision": "approve", "scope": "session", "match": 0});
    stage.human.post(&place(&asked), body).await.ok(200);
    let grants = stage.human.get(&stage.at("grants")).await.ok(200);
    assert_eq!(grants["data"][0]["matches"], suggested[0]["matches"]);
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_denied_at_once() {
    let stage = Stage::open().await;
    stage.model.push("ada", super::stage::acts(&["a"]));
    stage.model.push("ada", Answer::text("I could not."));
    let body = json!({"content": "go", "on_approval": "deny"});
    stage.human.post(&stage.at("messages"), body).await.ok(202);
    stage.idle().await;
    let denied = stage.human.get("/api/approvals?state=denied").await.ok(200)["data"].clone();
    assert_eq!(denied.as_array().unwrap().len(), 1);
    assert_eq!(denied[0]["decided_by"], Value::Null);
    assert_eq!(stage.human.get("/api/approvals").await.ok(200)["data"], json!([]));
    assert_eq!(stage.act.count(), 0);
}

#[tokio::test]
async fn ids_of_calls_and_requests_are_their_own() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a", "b"]).await;
    let ids: BTreeSet<_> = asked.iter().map(|one| one["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    for one in &asked {
        let call = stage.at(&format!("tool-calls/{}", one["tool_call_id"].as_str().unwrap()));
        let call = stage.human.get(&call).await.ok(200);
        assert_eq!(call["approval_id"], one["id"]);
        assert_eq!(call["state"], "awaiting_approval");
    }
}

#[tokio::test]
async fn what_a_running_tool_asks_is_answered_by_the_id_of_its_call() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::call("paint", json!({"what": "a wall"})));
    stage.model.push("ada", Answer::text("Painted."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    assert_eq!(asked["form"]["schema"]["required"], json!(["colour"]));
    let wrong = json!({"decision": "approve", "arguments": {"colour": 3}});
    stage.human.post(&place(&asked), wrong).await.problem(422, "answer_invalid");
    let body = json!({"tool_call_id": asked["tool_call_id"], "decision": "approve",
        "arguments": {"colour": "red"}});
    let settled = stage.human.post(&stage.at("tool-results"), body).await.ok(200);
    assert_eq!(settled["approval"]["answer"], json!({"colour": "red"}));
    stage.idle().await;
    let call = stage.human.get(&stage.at("tool-calls")).await.ok(200)["data"][0].clone();
    assert_eq!(call["result"], "painted red");
}

#[tokio::test]
async fn a_request_that_has_expired_is_not_decided() {
    let stage = Stage::open().await;
    let world = stage.engine.world(&"w".into()).await.unwrap();
    let world = World { approval_timeout_seconds: Some(1), ..(*world).clone() };
    stage.engine.update_world(world, "test").await.unwrap();
    stage.model.push("ada", super::stage::acts(&["a"]));
    stage.model.push("ada", Answer::text("Too late."));
    stage.say("go").await;
    let page = stage.human.get("/api/approvals?state=expired&wait=60").await.ok(200);
    let expired = &page["data"][0];
    assert_eq!(expired["state"], "expired");
    let late = stage.human.post(&place(expired), json!({"decision": "approve"})).await;
    assert_eq!(late.problem(409, "approval_settled")["approval"]["state"], "expired");
    assert_eq!(stage.act.count(), 0);
}
