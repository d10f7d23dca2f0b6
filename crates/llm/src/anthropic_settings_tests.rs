//! The settings of requests in the Messages format: tools, thinking, limits and the shape of the reply.

use serde_json::{Value, json};

use super::Anthropic;
use crate::dialect::{Asked, Dialect as _};
use crate::{Capabilities, Request};

const OLDER: &str = "claude-haiku-4-5";
const NEWER: &str = "claude-opus-4-8";
const NEWEST: &str = "claude-opus-5-5";

fn asked(model: &str) -> Asked {
    Asked {
        vendor: "anthropic".into(),
        model: model.to_owned(),
        capabilities: Capabilities::of("anthropic", model),
        stream: false,
    }
}

/// The body for a request with these fields beside a question.
fn sent(fields: Value, model: &str) -> Value {
    let mut request: Request = serde_json::from_value(fields).unwrap();
    if request.input.is_empty() {
        request.input = Request::new("m", "go").input;
    }
    serde_json::from_slice(&Anthropic.encode(&request, &asked(model)).unwrap().body).unwrap()
}

fn last_words(body: &Value) -> &str {
    let turn = body["messages"].as_array().unwrap().last().unwrap();
    turn["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap()
}

fn tools() -> Value {
    json!([
        {"type": "function", "name": "a", "description": "A", "parameters": {"type": "object", "properties": {}}, "strict": false},
        {"type": "function", "name": "b", "parameters": null},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
        {"type": "web_search_preview"},
        {"type": "mcp", "server_label": "x"},
    ])
}

#[test]
fn functions_and_the_vendors_own_tools_are_sent() {
    let body = sent(json!({"tools": tools()}), OLDER);
    assert_eq!(
        body["tools"],
        json!([
            {"name": "a", "description": "A", "input_schema": {"type": "object", "properties": {}}},
            {"name": "b", "description": "", "input_schema": {"type": "object", "properties": {}}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
        ])
    );
    assert_eq!(body.get("tool_choice"), None);
}

#[test]
fn a_choice_of_tools_is_put_in_the_vendors_words() {
    let choice = |choice: Value| sent(json!({"tools": tools(), "tool_choice": choice}), OLDER);
    assert_eq!(choice(json!("auto"))["tool_choice"], json!({"type": "auto"}));
    assert_eq!(choice(json!("none"))["tool_choice"], json!({"type": "none"}));
    assert_eq!(choice(json!("required"))["tool_choice"], json!({"type": "any"}));
    let named = json!({"type": "function", "name": "a"});
    assert_eq!(choice(named.clone())["tool_choice"], json!({"type": "tool", "name": "a"}));
    let allowed = choice(json!({"type": "allowed_tools", "mode": "required", "tools": [named]}));
    assert_eq!(allowed["tool_choice"], json!({"type": "any"}));
    assert_eq!(allowed["tools"].as_array().unwrap().len(), 1);
    assert_eq!(choice(json!({"type": "hosted"})).get("tool_choice"), None);
    let own = json!({"type": "tool", "name": "web_search"});
    assert_eq!(choice(own.clone())["tool_choice"], own);
    // Without tools the vendor refuses a choice among them.
    assert_eq!(sent(json!({"tool_choice": "required"}), OLDER).get("tool_choice"), None);
}

#[test]
fn calls_one_by_one_are_asked_for_with_the_choice() {
    let body = |choice: Value| {
        sent(json!({"tools": tools(), "tool_choice": choice, "parallel_tool_calls": false}), OLDER)
            ["tool_choice"]
            .clone()
    };
    assert_eq!(body(Value::Null), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(body(json!("required")), json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!(body(json!("none")), json!({"type": "none"}));
}

#[test]
fn a_forced_call_wins_over_thinking() {
    let fields = json!({
        "tools": tools(), "tool_choice": "required", "reasoning": {"effort": "high"}, "temperature": 0.5,
    });
    let older = sent(fields.clone(), OLDER);
    assert_eq!((older.get("thinking"), &older["temperature"]), (None, &json!(0.5)));
    assert_eq!(older["tool_choice"], json!({"type": "any"}));
    let newer = sent(fields, NEWER);
    assert_eq!(newer["thinking"], json!({"type": "disabled"}));
    assert_eq!(newer["tool_choice"], json!({"type": "any"}));
    assert_eq!(newer.get("output_config"), None);
}

#[test]
fn a_model_that_refuses_forced_calls_is_asked_in_words() {
    let body = sent(
        json!({"tools": tools(), "tool_choice": {"type": "function", "name": "b"}, "reasoning": {"effort": "low"}}),
        NEWEST,
    );
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(last_words(&body), "Answer by calling the tool `b`.");
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"], json!({"effort": "low"}));
}

#[test]
fn a_budget_for_thinking_stays_within_the_reply() {
    let thinking = |fields: Value| sent(fields, OLDER)["thinking"].clone();
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    assert_eq!(thinking(json!({"reasoning": {"max_tokens": 3000}})), budget(3000));
    assert_eq!(thinking(json!({"reasoning": {"max_tokens": 10}})), budget(1024));
    assert_eq!(thinking(json!({"reasoning": {"effort": "medium"}})), budget(8192));
    assert_eq!(
        thinking(json!({"reasoning": {"effort": "high"}, "max_output_tokens": 4096})),
        budget(4095)
    );
    let none = [
        json!({"reasoning": {"effort": "high"}, "max_output_tokens": 1024}),
        json!({"reasoning": {"effort": "none"}}),
        json!({"reasoning": {"summary": "auto"}}),
        json!({"reasoning": {}}),
        json!({}),
    ];
    for fields in none {
        assert_eq!(thinking(fields.clone()), Value::Null, "{fields}");
    }
    let unable = sent(json!({"reasoning": {"effort": "high"}}), "claude-3-5-haiku-latest");
    assert_eq!(unable.get("thinking"), None);
}

#[test]
fn thinking_does_not_begin_in_the_midst_of_calls() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "a", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    let thought = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}],
        "encrypted_content": "s", "origin": {"vendor": "anthropic"}});
    let second = json!({"type": "function_call", "call_id": "b", "name": "a", "arguments": "{}"});
    let answer = json!({"type": "function_call_output", "call_id": "b", "output": "1"});
    let thinking = |input: Value, model| {
        sent(json!({"input": input, "reasoning": {"effort": "low"}}), model)["thinking"].clone()
    };
    assert_eq!(thinking(json!([call, output]), OLDER), Value::Null);
    assert_eq!(thinking(json!([call, output]), NEWER), json!({"type": "adaptive"}));
    let begun = json!([thought, call, output, second, answer]);
    assert_eq!(thinking(begun, OLDER)["type"], "enabled");
}

#[test]
fn a_model_that_decides_itself_is_told_the_effort() {
    let body = |fields: Value, model: &str| {
        let body = sent(fields, model);
        (body["thinking"].clone(), body["output_config"].clone())
    };
    let adaptive = json!({"type": "adaptive"});
    assert_eq!(
        body(json!({"reasoning": {"effort": "minimal", "summary": "auto"}}), NEWER),
        (json!({"type": "adaptive", "display": "summarized"}), json!({"effort": "low"}))
    );
    assert_eq!(
        body(json!({"reasoning": {"effort": "xhigh"}}), NEWER),
        (adaptive.clone(), json!({"effort": "xhigh"}))
    );
    assert_eq!(
        body(json!({"reasoning": {"effort": "xhigh"}}), "claude-sonnet-4-6"),
        (adaptive.clone(), json!({"effort": "high"}))
    );
    assert_eq!(
        body(json!({"reasoning": {"max_tokens": 5000}}), NEWER),
        (adaptive, json!({"effort": "medium"}))
    );
    assert_eq!(
        body(json!({"reasoning": {"effort": "none"}}), NEWER),
        (json!({"type": "disabled"}), Value::Null)
    );
    assert_eq!(
        body(json!({"reasoning": {"effort": "none"}}), NEWEST),
        (Value::Null, json!({"effort": "low"}))
    );
    assert_eq!(body(json!({}), NEWER), (Value::Null, Value::Null));
}

#[test]
fn sampling_is_left_out_where_the_model_refuses_it() {
    let sampled = |fields: Value, model: &str| {
        let body = sent(fields, model);
        (body["temperature"].clone(), body["top_p"].clone())
    };
    let both = json!({"temperature": 1.5, "top_p": 0.9});
    assert_eq!(sampled(both.clone(), OLDER), (json!(1.0), Value::Null));
    assert_eq!(sampled(json!({"top_p": 0.9}), OLDER), (Value::Null, json!(0.9)));
    assert_eq!(sampled(both, NEWER), (Value::Null, Value::Null));
    let thinking = json!({"temperature": 0.2, "top_p": 0.9, "reasoning": {"effort": "low"}});
    assert_eq!(sampled(thinking, OLDER), (Value::Null, Value::Null));
}

#[test]
fn there_is_always_a_limit() {
    assert_eq!(sent(json!({}), OLDER)["max_tokens"], 64_000);
    assert_eq!(sent(json!({"max_output_tokens": 5}), OLDER)["max_tokens"], 5);
    assert_eq!(sent(json!({"max_output_tokens": 999_999}), OLDER)["max_tokens"], 64_000);
    let unknown = Asked { capabilities: Capabilities::default(), ..asked("x") };
    let body = Anthropic.encode(&Request::new("m", "hi"), &unknown).unwrap().body;
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["max_tokens"], 8_192);
}

#[test]
fn a_schema_is_closed_but_otherwise_kept() {
    let schema = json!({
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "minimum": 1, "description": "How many."},
            "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/tag"}},
            "either": {"oneOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"type": "string"}}]},
        },
        "required": ["minimum"],
        "$defs": {"tag": {"type": ["object", "null"], "properties": {"name": {"type": "string", "enum": ["x"]}}}},
    });
    let wanted = json!({
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "description": "How many. (minimum: 1)"},
            "tags": {"type": "array", "minItems": 1, "description": "(maxItems: 3)", "items": {"$ref": "#/$defs/tag"}},
            "either": {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"type": "string"}}]},
        },
        "required": ["minimum"],
        "$defs": {"tag": {
            "type": ["object", "null"],
            "properties": {"name": {"type": "string", "enum": ["x"]}},
            "additionalProperties": false,
        }},
        "additionalProperties": false,
    });
    let format =
        json!({"text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}});
    let body = sent(format.clone(), OLDER);
    assert_eq!(body["output_config"]["format"], json!({"type": "json_schema", "schema": wanted}));

    let tool = |strict: bool| {
        let tool = json!({"type": "function", "name": "t", "parameters": schema, "strict": strict});
        sent(json!({"tools": [tool]}), OLDER)["tools"][0].clone()
    };
    assert_eq!((&tool(true)["input_schema"], &tool(true)["strict"]), (&wanted, &json!(true)));
    assert_eq!((&tool(false)["input_schema"], tool(false).get("strict")), (&schema, None));

    let unable = sent(format, "claude-sonnet-4-0");
    assert_eq!(unable.get("output_config"), None);
    assert!(last_words(&unable).ends_with(&schema.to_string()));
}

#[test]
fn a_json_object_is_asked_for_in_words() {
    let body = sent(json!({"text": {"format": {"type": "json_object"}}}), OLDER);
    assert_eq!(last_words(&body), "Answer with one JSON object and no other text.");
}

#[test]
fn a_conversation_that_goes_on_is_cached() {
    let fields = json!({"prompt_cache_key": "chat_1"});
    assert_eq!(sent(fields, OLDER)["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent(json!({}), OLDER).get("cache_control"), None);
    let off =
        json!({"prompt_cache_key": "c", "vendor_options": {"anthropic": {"cache_control": null}}});
    assert_eq!(sent(off, OLDER).get("cache_control"), None);
}

#[test]
fn the_callers_own_fields_win() {
    let fields = json!({
        "prompt_cache_key": "c", "temperature": 0.5, "metadata": {"user_id": "u", "other": 1},
        "vendor_options": {
            "anthropic": {
                "cache_control": {"ttl": "1h"}, "top_k": 5, "model": "other", "betas": ["one", "two"],
            },
            "openai": {"seed": 1},
        },
    });
    let body = sent(fields.clone(), OLDER);
    assert_eq!(body["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    assert_eq!((&body["top_k"], &body["model"]), (&json!(5), &json!("other")));
    assert_eq!(body["metadata"], json!({"user_id": "u"}));
    assert_eq!((body.get("seed"), body.get("betas")), (None, None));
    let mut request: Request = serde_json::from_value(fields).unwrap();
    request.input = Request::new("m", "hi").input;
    let outgoing = Anthropic.encode(&request, &asked(OLDER)).unwrap();
    let betas = ("anthropic-beta".to_owned(), "one,two".to_owned());
    assert!(outgoing.headers.contains(&betas));
}

#[test]
fn the_table_knows_what_the_models_take() {
    let of = |model: &str| Capabilities::of("anthropic", model);
    let dated = of("claude-opus-4-20250514");
    assert_eq!(dated.max_output_tokens, Some(32_000));
    assert!(dated.accepts.temperature && !dated.json_schema && !dated.accepts.system_messages);
    assert!(of("claude-sonnet-4-5-20250929").json_schema);
    assert_eq!(of("claude-opus-4-7").max_output_tokens, Some(128_000));
    assert!(!of("claude-opus-4-7").accepts.system_messages);
    assert!(
        of("claude-sonnet-5").accepts.no_thinking && of("claude-sonnet-5").accepts.system_messages
    );
    assert!(!of("claude-sonnet-5-5").accepts.forced_tool_choice);
    assert!(
        of("claude-fable-5").accepts.stale_thoughts
            && !of("claude-fable-5-1").accepts.stale_thoughts
    );
    assert!(
        of("claude-haiku-5-5").accepts.no_thinking && !of("claude-haiku-5-5").accepts.temperature
    );
}
