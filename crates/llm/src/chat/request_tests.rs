//! Parameters as each host takes them, made by hand from what hosts document: nothing of this was recorded.

use serde_json::{Map, json};

use super::super::testing::{asked, sent, sent_to, thinking, tool};
use super::super::{Chat, Flavour};
use crate::dialect::Dialect as _;
use crate::{Format, JsonSchema, Request, Text, ToolChoice};

fn schema() -> Request {
    let schema = JsonSchema {
        name: "answer".to_owned(),
        description: None,
        schema: json!({"type": "object"}),
        strict: true,
        extra: Map::new(),
    };
    let text = Text { format: Some(Format::JsonSchema(schema)), ..Text::default() };
    Request { text: Some(text), instructions: "Be brief.".to_owned(), ..Request::new("m", "Hello") }
}

#[test]
fn instructions_are_told_by_whom_the_host_expects() {
    let request = Request { instructions: "Be brief.".to_owned(), ..Request::new("m", "Hello") };
    let role = |flavour| sent_to(flavour, "m", &request)["messages"][0]["role"].clone();
    assert_eq!(role(Flavour::OPENAI), "developer");
    assert_eq!(role(Flavour::AZURE), "system");
    assert_eq!(role(Flavour::MISTRAL), "system");
    let mut older = asked(Flavour::OPENAI, "o1-mini");
    older.capabilities.accepts.developer_role = false;
    assert_eq!(sent(Flavour::OPENAI, &request, &older)["messages"][0]["role"], "system");
}

#[test]
fn parameters_have_the_names_the_host_and_the_model_take() {
    let request = Request {
        max_output_tokens: Some(9),
        temperature: Some(0.5),
        top_p: Some(0.9),
        tools: vec![tool("look")],
        parallel_tool_calls: Some(false),
        prompt_cache_key: Some("k".to_owned()),
        ..Request::new("m", "Hello")
    };
    let openai = sent_to(Flavour::OPENAI, "m", &request);
    assert_eq!(openai["max_completion_tokens"], 9);
    assert_eq!(openai["parallel_tool_calls"], false);
    assert_eq!(openai["prompt_cache_key"], "k");
    assert_eq!(openai["tools"][0]["function"]["strict"], true);
    assert_eq!(openai["tools"][0]["function"]["parameters"]["type"], "object");
    assert_eq!(openai["temperature"], 0.5);
    let deepseek = sent_to(Flavour::DEEPSEEK, "m", &request);
    assert_eq!(deepseek["max_tokens"], 9);
    for absent in ["parallel_tool_calls", "prompt_cache_key", "stream"] {
        assert_eq!(deepseek.get(absent), None, "{absent}");
    }
    assert_eq!(deepseek["tools"][0]["function"].get("strict"), None);

    let mut fixed = asked(Flavour::OPENAI, "o3");
    fixed.capabilities.accepts.temperature = false;
    fixed.capabilities.accepts.max_completion_tokens = false;
    fixed.stream = true;
    let sent = sent(Flavour::OPENAI, &request, &fixed);
    assert_eq!((sent.get("temperature"), sent.get("top_p")), (None, None));
    assert_eq!(sent["max_tokens"], 9);
    assert_eq!(sent["stream_options"]["include_usage"], true);
}

#[test]
fn a_choice_among_some_tools_is_said_or_made() {
    let request = Request {
        tools: vec![tool("one"), tool("two")],
        tool_choice: Some(ToolChoice::Allowed { required: true, names: vec!["two".to_owned()] }),
        ..Request::new("m", "Hello")
    };
    let openai = sent_to(Flavour::OPENAI, "m", &request);
    assert_eq!(openai["tools"].as_array().unwrap().len(), 2);
    assert_eq!(openai["tool_choice"]["allowed_tools"]["mode"], "required");
    assert_eq!(
        openai["tool_choice"]["allowed_tools"]["tools"],
        json!([{"type": "function", "function": {"name": "two"}}])
    );
    let groq = sent_to(Flavour::GROQ, "m", &request);
    assert_eq!(groq["tools"].as_array().unwrap().len(), 1);
    assert_eq!(groq["tool_choice"], "required");
    let without = Request { tools: Vec::new(), ..request };
    assert_eq!(sent_to(Flavour::OPENAI, "m", &without).get("tool_choice"), None);
}

#[test]
fn how_much_to_think_is_said_in_the_hosts_words() {
    let said = |flavour, model: &str, effort: Option<&str>| {
        let mut sent = sent_to(flavour, model, &thinking(effort));
        let fields = sent.as_object_mut().unwrap();
        fields.retain(|key, _| key != "model" && key != "messages");
        sent
    };
    let high = Some("high");
    let none = Some("none");
    assert_eq!(said(Flavour::OPENAI, "m", high), json!({"reasoning_effort": "high"}));
    assert_eq!(said(Flavour::OPENAI, "m", None), json!({}));
    assert_eq!(said(Flavour::MISTRAL, "m", Some("low")), json!({"reasoning_effort": "high"}));
    assert_eq!(said(Flavour::MISTRAL, "m", none), json!({"reasoning_effort": "none"}));
    assert_eq!(said(Flavour::MISTRAL, "magistral-small", high), json!({}));
    let qwen = json!({"reasoning_effort": "default", "reasoning_format": "parsed"});
    assert_eq!(said(Flavour::GROQ, "qwen/qwen3-32b", high), qwen);
    assert_eq!(said(Flavour::GROQ, "m", Some("minimal")), json!({"reasoning_effort": "low"}));
    let enabled = json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"});
    assert_eq!(said(Flavour::DEEPSEEK, "m", high), enabled);
    assert_eq!(said(Flavour::DEEPSEEK, "m", none), json!({"thinking": {"type": "disabled"}}));
    assert_eq!(said(Flavour::OPENROUTER, "m", high), json!({"reasoning": {"effort": "high"}}));
    assert_eq!(said(Flavour::OPENROUTER, "m", None), json!({"reasoning": {"enabled": true}}));
    assert_eq!(said(Flavour::TOGETHER, "m", none), json!({"reasoning": {"enabled": false}}));
    let off = json!({"chat_template_kwargs": {"enable_thinking": false}});
    assert_eq!(said(Flavour::VLLM, "m", none), off);

    let mut thoughtless = asked(Flavour::OPENAI, "m");
    thoughtless.capabilities.reasoning = false;
    let sent = sent(Flavour::OPENAI, &thinking(high), &thoughtless);
    assert_eq!(sent.get("reasoning_effort"), None);
}

#[test]
fn a_schema_is_a_parameter_or_a_sentence() {
    let openai = sent_to(Flavour::OPENAI, "m", &schema());
    assert_eq!(
        openai["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": true}})
    );
    assert_eq!(openai["messages"][0]["content"], "Be brief.");
    let deepseek = sent_to(Flavour::DEEPSEEK, "m", &schema());
    assert_eq!(deepseek["response_format"], json!({"type": "json_object"}));
    let told = deepseek["messages"][0]["content"].as_str().unwrap();
    assert!(told.starts_with("Be brief.\n\n"), "{told}");
    assert!(told.ends_with("{\"type\":\"object\"}"), "{told}");
}

#[test]
fn what_is_said_for_one_vendor_is_merged_last_and_only_there() {
    let mut request = thinking(Some("high"));
    request.vendor_options = json!({
        "deepseek": {"thinking": {"budget": 5}, "reasoning_effort": "max", "n": 1},
        "groq": {"service_tier": "flex"},
    })
    .as_object()
    .unwrap()
    .clone();
    let sent = sent_to(Flavour::DEEPSEEK, "m", &request);
    assert_eq!(sent["thinking"], json!({"type": "enabled", "budget": 5}));
    assert_eq!((&sent["reasoning_effort"], &sent["n"]), (&json!("max"), &json!(1)));
    assert_eq!(sent.get("service_tier"), None);
}

#[test]
fn a_request_goes_where_the_host_listens() {
    let request = Request::new("m", "Hello");
    let path = |flavour, model: &str| {
        Chat::new(flavour).encode(&request, &asked(flavour, model)).unwrap().path
    };
    assert_eq!(path(Flavour::GROQ, "openai/gpt-oss-120b"), "/chat/completions");
    assert_eq!(path(Flavour::AZURE, "gpt-4o"), "/openai/deployments/gpt-4o/chat/completions");
    assert_eq!(
        path(Flavour::AZURE, "a/b ü"),
        "/openai/deployments/a%2Fb%20%C3%BC/chat/completions"
    );
    let body = sent_to(Flavour::GROQ, "openai/gpt-oss-120b", &request);
    assert_eq!(body["model"], "openai/gpt-oss-120b");
}

#[test]
fn json_is_asked_for_in_words_where_nobody_did() {
    let request = |question: &str| {
        let text = Text { format: Some(Format::JsonObject), ..Text::default() };
        Request { text: Some(text), ..Request::new("m", question) }
    };
    for flavour in [Flavour::OPENAI, Flavour::GROQ, Flavour::DEEPSEEK] {
        let sent = sent_to(flavour, "m", &request("Hello"));
        assert_eq!(sent["response_format"], json!({"type": "json_object"}));
        assert!(sent["messages"][0]["content"].as_str().unwrap().contains("JSON"), "{sent}");
        let asked = sent_to(flavour, "m", &request("Hello in json"));
        assert_eq!(asked["messages"].as_array().unwrap().len(), 1, "{asked}");
    }
}

#[test]
fn a_dated_interface_is_not_told_what_it_may_not_know() {
    let request = |store| Request {
        store: Some(store),
        prompt_cache_key: Some("k".to_owned()),
        ..Request::new("m", "Hello")
    };
    let azure = sent_to(Flavour::AZURE, "m", &request(false));
    assert_eq!((azure.get("store"), azure.get("prompt_cache_key")), (None, None));
    assert_eq!(sent_to(Flavour::AZURE, "m", &request(true))["store"], true);
    assert_eq!(sent_to(Flavour::OPENAI, "m", &request(false))["store"], false);
}

#[test]
fn a_key_that_no_header_can_hold_is_left_out() {
    let headers = |key: &str| {
        let request =
            Request { prompt_cache_key: Some(key.to_owned()), ..Request::new("m", "Hello") };
        Chat::new(Flavour::XAI).encode(&request, &asked(Flavour::XAI, "m")).unwrap().headers
    };
    assert_eq!(headers("k"), [("x-grok-conv-id".to_owned(), "k".to_owned())]);
    assert!(headers("größe\n").is_empty());
}

#[test]
fn a_model_that_refuses_to_be_told_how_much_to_think_is_not_told() {
    let mut free = asked(Flavour::XAI, "grok-4");
    free.capabilities = crate::Capabilities::of("xai", "grok-4");
    assert_eq!(sent(Flavour::XAI, &thinking(Some("low")), &free).get("reasoning_effort"), None);
    free.capabilities = crate::Capabilities::of("xai", "grok-4.3");
    assert_eq!(sent(Flavour::XAI, &thinking(Some("low")), &free)["reasoning_effort"], "low");
}

#[test]
fn a_long_key_for_the_cache_is_cut() {
    let key = format!("{}/{}", "c".repeat(40), "a".repeat(40));
    let request = Request { prompt_cache_key: Some(key), ..Request::new("m", "Hello") };
    let body = sent_to(Flavour::OPENAI, "m", &request);
    assert_eq!(body["prompt_cache_key"].as_str().unwrap().len(), 64);
}
