//! Calls over HTTP: their states and results, and tools that a client executes.

use agent_world_runtime::llm::scripted::Answer;
use agent_world_server::Role;
use serde_json::{Value, json};

use super::stage::{Stage, id};

fn pick(more: &Value) -> Value {
    let mut tool = json!({
        "name": "pick",
        "description": "Asks the person at the page.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        "approval": {"required": false},
    });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"tools": [tool]})
}

async fn executing(stage: &Stage) -> Value {
    stage
        .until(async || {
            let page = stage.human.get(&stage.at("tool-calls")).await.ok(200);
            let calls = page["data"].as_array().unwrap().clone();
            calls.into_iter().find(|call| call["state"] == "executing")
        })
        .await
}

#[tokio::test]
async fn a_client_executes_the_tools_it_offers() {
    let stage = Stage::open().await;
    let member = stage.person("max", Role::Member).await;
    let offered = member.put(&stage.at("client-tools/page"), pick(&json!({}))).await.ok(200);
    assert_eq!(offered["tools"][0]["blocking"], true);
    assert_eq!(offered["tools"][0]["timeout_seconds"], 600);
    stage.model.push("ada", Answer::call("pick", json!({"what": "a colour"})));
    stage.model.push("ada", Answer::text("Blue it is."));
    stage.say("go").await;
    let call = executing(&stage).await;
    assert_eq!((&call["location"], &call["name"]), (&json!("client"), &json!("pick")));
    let results = stage.at("tool-results");
    for claim in [
        json!({"agent_id": "bob"}),
        json!({"tool": "act"}),
        json!({"originalToolCall": {"id": "call_other"}}),
        json!({"originalToolCall": {"args": {"what": "a shape"}}}),
    ] {
        let mut body = json!({"tool_call_id": call["id"], "content": "blue"});
        body.as_object_mut().unwrap().extend(claim.as_object().unwrap().clone());
        member.post(&results, body).await.problem(409, "approval_mismatch");
    }
    let decision = json!({"tool_call_id": call["id"], "decision": "approve"});
    stage.human.post(&results, decision).await.problem(409, "approval_not_pending");
    let body = json!({"tool_call_id": call["id"], "content": "x", "reason": "y"});
    member.post(&results, body).await.problem(422, "body_invalid");
    let body = json!({"tool_call_id": call["id"], "content": "blue"});
    let settled = member.post(&results, body.clone()).await.ok(200);
    assert_eq!(
        (&settled["tool_call"]["state"], &settled["tool_call"]["result"]),
        (&json!("completed"), &json!("blue"))
    );
    assert!(settled.get("approval").is_none());
    member.post(&results, body).await.problem(409, "call_not_waiting");
    stage.idle().await;
    assert!(stage.texts().await.contains(&"Blue it is.".to_owned()));
}

#[tokio::test]
async fn a_client_reports_an_error() {
    let stage = Stage::open().await;
    stage.human.put(&stage.at("client-tools/page"), pick(&json!({}))).await.ok(200);
    stage.model.push("ada", Answer::call("pick", json!({"what": "a colour"})));
    stage.model.push("ada", Answer::text("Pity."));
    stage.say("go").await;
    let call = executing(&stage).await;
    let body = json!({"tool_call_id": call["id"], "content": "no colours left", "is_error": true});
    let settled = stage.human.post(&stage.at("tool-results"), body).await.ok(200);
    assert_eq!(
        (&settled["tool_call"]["state"], &settled["tool_call"]["is_error"]),
        (&json!("failed"), &json!(true))
    );
    stage.idle().await;
    assert!(stage.shown().contains("no colours left"));
}

#[tokio::test]
async fn what_cannot_be_offered_is_refused() {
    let stage = Stage::open().await;
    let place = stage.at("client-tools/page");
    for more in [
        json!({"name": "act"}),
        json!({"name": "client.requestApproval"}),
        json!({"parameters": {"type": 5}}),
        json!({"timeout_seconds": 0}),
        json!({"timeout_seconds": 604_801}),
        json!({"timeout_seconds": u64::MAX}),
    ] {
        stage.human.put(&place, pick(&more)).await.problem(422, "tools_invalid");
    }
    for more in [json!({"parameters": []}), json!({"colour": "red"}), json!({"blocking": "no"})] {
        stage.human.put(&place, pick(&more)).await.problem(422, "body_invalid");
    }
    let twice = pick(&json!({}))["tools"][0].clone();
    let twice = json!({"tools": [twice, twice]});
    stage.human.put(&place, twice).await.problem(422, "tools_invalid");
    stage
        .human
        .put(&stage.at("client-tools/%20"), pick(&json!({})))
        .await
        .problem(422, "tools_invalid");
}

#[tokio::test]
async fn tools_that_are_taken_back_are_not_called_any_more() {
    let stage = Stage::open().await;
    let place = stage.at("client-tools/page");
    stage.human.put(&place, pick(&json!({}))).await.ok(200);
    let another = stage.at("client-tools/phone");
    stage.human.put(&another, pick(&json!({}))).await.problem(422, "tools_invalid");
    stage.human.put(&place, json!({"tools": []})).await.ok(200);
    stage.human.put(&another, pick(&json!({"blocking": false}))).await.ok(200);
}

#[tokio::test]
async fn a_result_is_read_to_its_end_piece_by_piece() {
    let stage = Stage::on_sqlite().await;
    stage.model.push("ada", Answer::call("long", json!({"what": "x"})));
    stage.model.push("ada", Answer::text("Long."));
    stage.say("go").await;
    stage.idle().await;
    let page = stage.human.get(&stage.at("tool-calls?limit=1")).await.ok(200);
    let call = &page["data"][0];
    assert!(call["result"].as_str().unwrap().len() < 200_000, "the log holds a part");
    assert_eq!(call["result_whole"]["characters"], 200_000);
    let place = stage.at(&format!("tool-calls/{}/result", id(call)));
    let (mut whole, mut query) = (String::new(), "?limit=70000".to_owned());
    loop {
        let piece = stage.human.get(&format!("{place}{query}")).await.ok(200);
        assert_eq!(piece["offset"], whole.len());
        assert_eq!(piece["characters"], 200_000);
        whole.push_str(piece["text"].as_str().unwrap());
        let Some(next) = piece["next"].as_u64() else { break };
        query = format!("?limit=70000&offset={next}");
    }
    assert_eq!(whole, "0123456789".repeat(20_000));
    for offset in ["200000", "9223372036854775808", "18446744073709551615"] {
        let behind = stage.human.get(&format!("{place}?offset={offset}")).await.ok(200);
        assert_eq!((&behind["text"], &behind["next"]), (&json!(""), &Value::Null), "{offset}");
    }
    stage.human.get(&format!("{place}?offset=-1")).await.problem(422, "query_invalid");
}

#[tokio::test]
async fn a_short_result_is_read_in_the_same_way() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["é€𝄞"]).await.remove(0);
    let place = stage.at(&format!("tool-calls/{}/result", asked["tool_call_id"].as_str().unwrap()));
    stage.human.get(&place).await.problem(404, "result_not_found");
    stage.model.push("ada", Answer::text("Done."));
    let approval = format!("/api/approvals/{}", id(&asked));
    stage.human.post(&approval, json!({"decision": "approve"})).await.ok(200);
    stage.idle().await;
    let piece = stage.human.get(&format!("{place}?offset=5&limit=2")).await.ok(200);
    assert_eq!(
        piece,
        json!({"tool_call_id": asked["tool_call_id"], "text": "€𝄞", "offset": 5,
        "characters": 7, "next": null})
    );
    let piece = stage.human.get(&format!("{place}?limit=0")).await.ok(200);
    assert_eq!((&piece["text"], &piece["next"]), (&json!("d"), &json!(1)));
    stage.human.get(&stage.at("tool-calls/none/result")).await.problem(404, "call_not_found");
    stage.human.get(&stage.at("tool-calls/none")).await.problem(404, "call_not_found");
    stage.human.get(&stage.at("tool-calls?after=none")).await.problem(422, "cursor_unknown");
}
