//! What agents may do, as clients read, replace, try and take it back.

use reqwest::Method;
use serde_json::{Value, json};

use crate::settings_stage::Stage;

const POLICY: &str = "/api/worlds/w/policy";

#[tokio::test]
async fn a_policy_is_replaced_as_it_was_read() {
    let stage = Stage::open().await;
    stage.world().await;
    let read = stage.get(POLICY).await.is(200);
    assert_eq!(read.body, json!({"preset": "ask", "rules": [], "granted": []}));
    let document = json!({"preset": "read_only", "rules": [
        {"id": "no-rm", "ruling": "deny", "tool": "shell_cmd", "command": {"program": "rm"},
            "description": "never"},
        {"id": "act", "ruling": "allow", "tool": "act", "agent": "ada",
            "examples": {"must_match": [{"tool": "act", "arguments": {}}]}},
    ]});
    let put = stage.put(POLICY, document).await.is(200);
    assert_eq!((put.tag.as_deref(), &put.body["preset"]), (Some("\"2\""), &json!("read_only")));
    assert_eq!(put.body["rules"][0]["matches"][0]["command"]["program"], "rm");
    let again = stage.put(POLICY, put.body.clone()).await.is(200);
    assert_eq!((&again.body, again.tag.as_deref()), (&put.body, Some("\"2\"")));
    assert_eq!(stage.get("/api/worlds/w").await.body["policy"], put.body);
    stage.put(POLICY, json!({})).await.is(200);
    assert_eq!(stage.get(POLICY).await.body, read.body);
}

#[tokio::test]
async fn all_that_is_wrong_with_a_policy_is_told_and_nothing_is_stored() {
    let stage = Stage::open().await;
    stage.world().await;
    let wrong = json!({"preset": "ask", "rules": [
        {"id": "a", "ruling": "allow", "tool": "x", "matchez": []},
        {"id": "b", "ruling": "allow", "tool": "x", "comand": {}},
    ]});
    let refused = stage.put(POLICY, wrong).await.fails(422, "policy_invalid");
    assert_eq!(refused.body["problems"].as_array().unwrap().len(), 2);
    let rule = |more: Value| {
        let mut rule = json!({"id": "a", "ruling": "deny", "tool": "x"});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "rules": [rule] })
    };
    for (document, words) in [
        (json!([]), "must be an object"),
        (json!({"rules": 3}), "policy"),
        (rule(json!({"matches": [{"pointer": "/a", "regex": "("}]})), "regular expression"),
        (rule(json!({"matches": [{"glob": "[secret masked: x]"}]})), "mark of a masked secret"),
        (rule(json!({"examples": {"must_match": [{"tool": "other"}]}})), "must_match"),
        (
            json!({"granted": [{"id": "g", "ruling": "allow", "tool": "x"}]}),
            "was not granted by anybody",
        ),
    ] {
        stage.put(POLICY, document).await.fails(422, "policy_invalid").says(words);
    }
    let put = |body: &str, tag| stage.ask(Method::PUT, POLICY, Some(body.to_owned()), tag);
    put(r#"{"preset": "ask", "preset": "trusted"}"#, None)
        .await
        .fails(422, "body_invalid")
        .says("twice");
    put("{", None).await.fails(400, "json_invalid");
    put("{}", Some("\"7\"")).await.fails(409, "version_conflict");
    stage.put("/api/worlds/none/policy", json!({})).await.fails(404, "world_not_found");
    assert_eq!(stage.get(POLICY).await.tag.as_deref(), Some("\"1\""));
}

#[tokio::test]
async fn a_granted_rule_stays_when_the_policy_is_replaced_and_ends_when_it_is_revoked() {
    let stage = Stage::open().await;
    stage.world().await;
    let approval = stage.grant_always().await;
    let read = stage.get(POLICY).await.is(200);
    let granted = &read.body["granted"][0];
    assert_eq!((&granted["tool"], &granted["agent"]), (&json!("act"), &json!("ada")));
    assert_eq!(granted["origin"]["approval"], approval.id.as_str());
    stage.put(POLICY, json!({"preset": "trusted"})).await.is(200);
    let read = stage.get(POLICY).await.is(200);
    assert_eq!(&read.body["granted"][0], granted);

    let rule = format!("{POLICY}/rules/{}", granted["id"].as_str().unwrap());
    let stale = stage.ask(Method::DELETE, &rule, None, Some("\"1\"")).await;
    stale.fails(409, "version_conflict");
    stage.delete(&rule).await.is(204);
    stage.delete(&rule).await.fails(404, "rule_not_found");
    assert_eq!(stage.get(POLICY).await.body["granted"], json!([]));
    let audit = stage.get("/api/audit?kind=changed&actor=eve").await.is(200).body;
    let last = audit["data"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["rule"], &last["data"]["action"]), (&granted["id"], &json!("deleted")));
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn a_call_is_tried_without_being_made() {
    let stage = Stage::open().await;
    stage.world().await;
    let test = "/api/worlds/w/policy/test";
    let call = json!({"tool": "act", "arguments": {"what": "x"}});
    let tried = stage.post(test, call.clone()).await.is(200).body;
    assert_eq!((&tried["verdict"], &tried["ground"]), (&json!("ask"), &json!("tool")));
    assert_eq!((&tried["agent_id"], &tried["offered"]), (&json!("ada"), &json!(true)));
    let rule =
        json!({"rules": [{"id": "no", "ruling": "deny", "tool": "a*", "description": "not now"}]});
    stage.put(POLICY, rule).await.is(200);
    let tried = stage.post(test, call).await.is(200).body;
    assert_eq!((&tried["verdict"], &tried["ground"]["rule"]), (&json!("deny"), &json!("no")));
    assert_eq!(tried["commands"][0]["matched"][0]["description"], "not now");
    assert!(tried["explanation"].as_str().unwrap().contains("deny by rule no"));
    let other = json!({"tool": "act", "arguments": {"what": "x"}, "policy": {"preset": "trusted"}});
    let tried = stage.post(test, other).await.is(200).body;
    assert_eq!(tried["ground"], json!({"preset": "trusted"}), "another policy is asked");
    let refused = |body: Value, code: &'static str| async {
        stage.post(test, body).await.fails(422, code);
    };
    let wrong = json!({"tool": "act", "arguments": {"what": "x"}, "policy": {"presets": "ask"}});
    refused(wrong, "policy_invalid").await;
    refused(json!({"tool": "none"}), "unknown_tool").await;
    refused(json!({"tool": "act", "agent": "none"}), "unknown_agent").await;
    refused(json!({"tool": "act"}), "arguments_invalid").await;
    refused(json!({"arguments": {}}), "body_invalid").await;
    stage
        .post("/api/worlds/none/policy/test", json!({"tool": "act"}))
        .await
        .fails(404, "world_not_found");
    stage.post("/api/worlds", json!({"id": "empty", "name": "E"})).await.is(201);
    let nobody = stage.post("/api/worlds/empty/policy/test", json!({"tool": "act"})).await;
    nobody.fails(422, "unknown_agent").says("no agents");
    let audit = stage.get("/api/audit?kind=called").await.is(200).body;
    assert_eq!(audit["data"], json!([]), "nothing was called");
}

#[tokio::test]
async fn another_policy_is_compared_with_the_one_in_force() {
    let stage = Stage::open().await;
    stage.world().await;
    let diff = "/api/worlds/w/policy/diff";
    let found = stage.post(diff, json!({"policy": {}})).await.is(200).body;
    assert_eq!((&found["calls"], &found["differences"]), (&json!(0), &json!([])));
    stage.grant_always().await;
    let rule = json!({"rules": [{"id": "no", "ruling": "deny", "tool": "*"}]});
    let found = stage.post(diff, json!({"policy": rule})).await.is(200).body;
    assert_eq!((&found["calls"], &found["changes"]), (&json!(1), &json!({"allow -> deny": 1})));
    let difference = &found["differences"][0];
    assert_eq!(difference["after"], json!({"verdict": "deny", "ground": {"rule": "no"}}));
    assert!(difference["explanation"].as_str().unwrap().contains("allow -> deny"), "{difference}");
    let none = stage.post(diff, json!({"policy": rule, "limit": 0})).await.is(200).body;
    assert_eq!((&none["calls"], &none["older_calls_left_out"]), (&json!(0), &json!(true)));
    let wrong = json!({"policy": {"rules": 3}});
    stage.post(diff, wrong.clone()).await.fails(422, "policy_invalid");
    stage.post(diff, json!({})).await.fails(422, "body_invalid");
    stage.post("/api/worlds/none/policy/diff", wrong).await.fails(404, "world_not_found");
    stage.engine.shutdown().await;
}
