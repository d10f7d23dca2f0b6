//! What cannot be taken is refused in OpenAI's shape, with the field that was wrong; so is everything that layers and the
//! router refuse under `/v1`.

use agent_world_server::Role;
use serde_json::{Value, json};

use crate::responses_stage::Stage;

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"model": "demo/demo", "input": "hello"});
    body[field] = value;
    body
}

#[tokio::test]
async fn a_request_that_does_not_fit_is_refused_by_field() {
    let stage = Stage::set().await;
    let long = "x".repeat(65);
    let many: serde_json::Map<_, _> = (0..17).map(|n| (n.to_string(), json!("v"))).collect();
    for (body, code, param) in [
        (json!({"input": "x"}), "missing_required_parameter", "model"),
        (json!({"model": "", "input": "x"}), "missing_required_parameter", "model"),
        (json!({"model": "demo/demo"}), "missing_required_parameter", "input"),
        (json!({"model": "demo/demo", "input": []}), "missing_required_parameter", "input"),
        (with("model", json!(7)), "invalid_type", "model"),
        (with("input", json!(7)), "invalid_type", "input"),
        (with("input", json!({"role": "user"})), "invalid_type", "input"),
        (with("input", json!([{"role": "nobody", "content": "x"}])), "invalid_type", "input[0]"),
        (with("instructions", json!([])), "invalid_type", "instructions"),
        (with("stream", json!("yes")), "invalid_type", "stream"),
        (with("store", json!(1)), "invalid_type", "store"),
        (with("background", json!("no")), "invalid_type", "background"),
        (with("temperature", json!("hot")), "invalid_type", "temperature"),
        (with("max_output_tokens", json!(-1)), "invalid_type", "max_output_tokens"),
        (with("max_output_tokens", json!(0)), "invalid_value", "max_output_tokens"),
        (with("max_tool_calls", json!(0)), "invalid_value", "max_tool_calls"),
        (with("top_logprobs", json!(21)), "invalid_value", "top_logprobs"),
        (with("truncation", json!("some")), "invalid_value", "truncation"),
        (with("prompt_cache_key", json!(long)), "string_above_max_length", "prompt_cache_key"),
        (with("metadata", json!({"a": 1})), "invalid_type", "metadata.a"),
        (with("metadata", Value::Object(many)), "invalid_value", "metadata"),
        (with("metadata", json!({"a": "x".repeat(513)})), "string_above_max_length", "metadata.a"),
        (with("tools", json!([{"type": "function"}])), "invalid_value", "tools[0]"),
        (with("tools", json!([7])), "invalid_type", "tools[0]"),
        (with("tool_choice", json!("maybe")), "invalid_value", "tool_choice"),
        (with("tool_choice", json!("required")), "invalid_value", "tool_choice"),
        (
            with("tool_choice", json!({"type": "function", "name": "x"})),
            "invalid_value",
            "tool_choice",
        ),
        (with("text", json!({"format": {"type": "json_schema"}})), "invalid_value", "text.format"),
        (with("conversation", json!("conv_1")), "unsupported_parameter", "conversation"),
        (
            with("previous_response_id", json!("resp_1")),
            "previous_response_not_found",
            "previous_response_id",
        ),
        (
            with("input", json!([{"type": "item_reference", "id": "msg_1"}])),
            "item_not_found",
            "input[0]",
        ),
        (
            with("input", json!([{"type": "function_call_output", "call_id": "c", "output": "x"}])),
            "call_not_found",
            "input",
        ),
        (
            with("input", json!([{"type": "compaction", "encrypted_content": "agent-world.1.!"}])),
            "invalid_compaction",
            "input",
        ),
    ] {
        let refused = stage.admin.post("/v1/responses", body.clone()).await.error();
        assert_eq!(refused, (400, code.to_owned(), Some(param.to_owned())), "{body}");
    }
    let background =
        json!({"model": "demo/demo", "input": "x", "background": true, "store": false});
    assert_eq!(stage.admin.post("/v1/responses", background).await.status, 400);
}

#[tokio::test]
async fn a_model_that_is_not_there_is_not_found() {
    let stage = Stage::set().await;
    for model in ["nobody/m", "gpt-5", "world:", "world:home", "world:/a", "world:none/such"] {
        for streamed in [false, true] {
            let body = json!({"model": model, "input": "x", "stream": streamed});
            let (status, _, _) = stage.admin.post("/v1/responses", body).await.error();
            assert_eq!(status, 404, "{model}");
        }
    }
}

#[tokio::test]
async fn what_layers_and_the_router_refuse_has_the_same_shape() {
    let stage = Stage::set().await;
    let viewer = stage.enter("vera", Role::Viewer).await;
    let body = json!({"model": "demo/demo", "input": "x"});
    for (answer, expected) in [
        (viewer.post("/v1/responses", body.clone()).await, (403, "forbidden")),
        (stage.admin.get("/v1/nothing").await, (404, "route_not_found")),
        (stage.admin.get("/v1/chat/completions").await, (405, "method_not_allowed")),
        (stage.admin.get("/v1/responses").await, (426, "upgrade_required")),
        (stage.admin.send_text("POST", "/v1/responses", Some("{")).await, (400, "json_invalid")),
        (stage.admin.send_text("POST", "/v1/responses", Some("[]")).await, (400, "invalid_body")),
        (stage.admin.send_text("POST", "/v1/responses", None).await, (415, "not_json")),
        (stage.admin.get("/v1/responses/resp_1").await, (404, "response_not_found")),
        (stage.admin.get("/v1/responses/%00").await, (404, "response_not_found")),
        (
            stage.admin.get(&format!("/v1/responses/{}", "x".repeat(10_000))).await,
            (404, "response_not_found"),
        ),
        (stage.admin.get("/v1/responses/resp_1/input_items?limit=x").await, (422, "query_invalid")),
        (
            stage.admin.send("DELETE", "/v1/responses/resp_1", None).await,
            (404, "response_not_found"),
        ),
        (
            stage.admin.send("POST", "/v1/responses/resp_1/cancel", None).await,
            (404, "response_not_found"),
        ),
    ] {
        let (status, code, _) = answer.error();
        assert_eq!((status, code.as_str()), expected, "{}", answer.text);
    }
    let elsewhere = stage.admin.get("/nothing").await;
    assert_eq!(elsewhere.header("content-type"), "application/problem+json");
}

#[tokio::test]
async fn every_status_that_is_given_is_in_the_description() {
    let document: Value = serde_json::to_value(agent_world_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths.iter().filter(|(path, _)| path.starts_with("/v1/")) {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            for status in ["401", "403"] {
                assert!(
                    responses.contains_key(status),
                    "{method} {path} does not tell of {status}"
                );
            }
        }
    }
    for path in [
        "/v1/responses",
        "/v1/responses/compact",
        "/v1/responses/{response_id}",
        "/v1/responses/{response_id}/cancel",
        "/v1/responses/{response_id}/input_items",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/chat/completions",
    ] {
        assert!(paths.contains_key(path), "{path} is not described");
    }
}

#[tokio::test]
async fn large_bodies_are_taken_and_too_large_ones_refused() {
    let stage = Stage::set().await;
    let sized =
        |bytes: usize| json!({"model": "demo/demo", "input": "x".repeat(bytes), "store": false});
    assert_eq!(stage.admin.post("/v1/responses", sized(5 << 20)).await.status, 200);
    let (status, code, _) = stage.admin.post("/v1/responses", sized(17 << 20)).await.error();
    assert_eq!((status, code.as_str()), (413, "body_too_large"));
}
