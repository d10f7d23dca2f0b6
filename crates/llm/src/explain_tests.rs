//! Checks how bodies of failure are understood: every known envelope, every class, and what is no envelope at all.
//! Bodies are made by hand after the vendors' documentation; the recorded ones are in the corpus tests.

use serde_json::json;

use super::*;

fn limited(milliseconds: u64) -> Class {
    Class::RateLimited { retry_after: Some(Duration::from_millis(milliseconds)) }
}

const LIMITED: Class = Class::RateLimited { retry_after: None };

#[track_caller]
fn explained(status: u16, value: &Value, class: Class, message: &str) {
    let error = body("v", status, value.to_string().as_bytes());
    assert_eq!(error.class, class, "{status} {value}");
    assert_eq!(error.message, message, "{status} {value}");
    assert_eq!((error.vendor.as_str(), error.status), ("v", Some(status)));
}

#[test]
fn every_known_envelope_is_read() {
    // OpenAI and all who follow it.
    explained(
        401,
        &json!({"error": {"message": "Incorrect API key provided: x.", "type": "invalid_request_error",
            "param": null, "code": "invalid_api_key"}}),
        Class::Auth,
        "Incorrect API key provided: x.",
    );
    // Anthropic.
    let anthropic = json!({"type": "error", "request_id": "req_1",
        "error": {"type": "not_found_error", "message": "model: claude-x"}});
    explained(404, &anthropic, Class::UnknownModel, "model: claude-x");
    let error = body("v", 404, anthropic.to_string().as_bytes());
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    // Gemini, alone and in a list.
    let gemini = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    explained(400, &gemini, Class::Auth, "API key not valid.");
    explained(400, &json!([gemini]), Class::Auth, "API key not valid.");
    // xAI, whose error is a text.
    explained(
        400,
        &json!({"code": "invalid-argument", "error": "Incorrect API key provided."}),
        Class::Auth,
        "Incorrect API key provided.",
    );
    // Mistral: a text, a list, or a list inside a message.
    explained(401, &json!({"detail": "Unauthorized"}), Class::Auth, "Unauthorized");
    let missing = json!([{"type": "missing", "loc": ["body", "model"], "msg": "Field required"},
        {"type": "missing", "loc": ["body", "x"], "msg": "Not this"}]);
    explained(422, &json!({"detail": missing}), Class::InvalidRequest, "Field required: Not this");
    explained(
        422,
        &json!({"object": "error", "message": {"detail": missing}, "type": "invalid_request_error"}),
        Class::InvalidRequest,
        "Field required: Not this",
    );
    explained(
        400,
        &json!({"object": "error", "message": "Invalid model: x", "type": "invalid_model", "code": "1500"}),
        Class::UnknownModel,
        "Invalid model: x",
    );
    // Azure's filter.
    explained(
        400,
        &json!({"error": {"message": "The response was filtered.", "type": null, "param": "prompt",
            "code": "content_filter", "status": 400, "innererror": {
                "code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": true}}}}}),
        Class::ContentRefused,
        "The response was filtered.",
    );
    explained(
        400,
        &json!({"error": {"message": "m", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        Class::ContentRefused,
        "m",
    );
    // OpenRouter passes on what others said, as a text or as JSON in a text.
    explained(
        429,
        &json!({"error": {"code": 429, "message": "Provider returned error",
            "metadata": {"provider_name": "p", "raw": "limited upstream"}}, "user_id": "u"}),
        LIMITED,
        "Provider returned error: limited upstream",
    );
    let raw =
        json!({"error": {"message": "too much", "code": "context_length_exceeded"}}).to_string();
    explained(
        400,
        &json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw}}}),
        Class::ContextTooLong,
        "Provider returned error: too much",
    );
    explained(
        403,
        &json!({"error": {"code": 403, "message": "flagged", "metadata": {"flagged_input": "x"}}}),
        Class::ContentRefused,
        "flagged",
    );
    // Ollama, and texts that are nothing but a text.
    explained(
        404,
        &json!({"error": "model 'x' not found"}),
        Class::UnknownModel,
        "model 'x' not found",
    );
    explained(500, &json!("it broke"), Class::Server, "it broke");
    explained(400, &json!({"errors": [{"message": "a"}, "b"]}), Class::InvalidRequest, "a: b");
}

// Made by hand: nothing was recorded.
#[test]
fn each_class_is_recognised_by_its_code() {
    let coded = |status: u16, code: &str| {
        let value = json!({"type": "error", "error": {"type": code, "message": "m"}});
        body("v", status, value.to_string().as_bytes()).class
    };
    let table = [
        (529, "overloaded_error", Class::Overloaded),
        (500, "overloaded_error", Class::Overloaded),
        (503, "UNAVAILABLE", Class::Overloaded),
        (498, "capacity_exceeded", Class::Overloaded),
        (413, "request_too_large", Class::ContextTooLong),
        (400, "context_length_exceeded", Class::ContextTooLong),
        (400, "exceed_context_size_error", Class::ContextTooLong),
        (429, "insufficient_quota", Class::Quota),
        (403, "billing_error", Class::Quota),
        (429, "rate_limit_error", LIMITED),
        (429, "RESOURCE_EXHAUSTED", LIMITED),
        (400, "rate_limit_exceeded", LIMITED),
        (401, "authentication_error", Class::Auth),
        (403, "permission_error", Class::Auth),
        (400, "content_policy_violation", Class::ContentRefused),
        (404, "model_not_found", Class::UnknownModel),
        (400, "model_decommissioned", Class::UnknownModel),
        (400, "invalid_request_error", Class::InvalidRequest),
        (400, "tool_use_failed", Class::InvalidRequest),
        (500, "api_error", Class::Server),
        (504, "timeout_error", Class::Timeout),
    ];
    for (status, code, class) in table {
        assert_eq!(coded(status, code), class, "{status} {code}");
    }
}

// Made by hand: nothing was recorded.
#[test]
fn a_page_of_a_proxy_is_judged_by_its_status_and_read_as_people_read_it() {
    let page = "<!DOCTYPE html>\n<html><head><title>Bad gateway</title><style>p { color: red }</style>\n\
        <script>if (1 < 2) { alert(\"no\") }</script></head>\n<body><!-- > hidden -->\
        <h1>Bad   gateway</h1><p>nginx &amp; co</p></body></html>";
    let table = [
        (502, Class::Server),
        (503, Class::Overloaded),
        (504, Class::Timeout),
        (520, Class::Server),
        (524, Class::Timeout),
        (529, Class::Overloaded),
        (413, Class::ContextTooLong),
        (403, Class::Auth),
        (400, Class::InvalidRequest),
    ];
    for (status, class) in table {
        let error = body("v", status, page.as_bytes());
        assert_eq!(error.class, class, "{status}");
        assert_eq!(error.message, "Bad gateway Bad gateway nginx &amp; co");
    }
    let plain = body("v", 400, b"top_p must be < 1\r\n");
    assert_eq!(plain.message, "top_p must be < 1");
    assert_eq!(body("v", 429, b"slow, try again in 2s").class, limited(2_000));
    assert_eq!(body("v", 502, b"").message, "");
    assert_eq!(body("v", 502, b"\xff<").class, Class::Server);
    assert_eq!(body("v", 502, b"<script>never ends").message, "");
}

#[test]
fn a_status_alone_is_enough() {
    let table = [
        (400, Class::InvalidRequest),
        (401, Class::Auth),
        (402, Class::Quota),
        (403, Class::Auth),
        (404, Class::InvalidRequest),
        (408, Class::Timeout),
        (409, Class::InvalidRequest),
        (413, Class::ContextTooLong),
        (422, Class::InvalidRequest),
        (429, LIMITED),
        (500, Class::Server),
        (502, Class::Server),
        (503, Class::Overloaded),
        (504, Class::Timeout),
        (529, Class::Overloaded),
        (999, Class::Server),
        (0, Class::InvalidRequest),
    ];
    for (status, class) in table {
        for nothing in [&b""[..], b"{}", b"null", b"[]", b"7", b"{\"error\":null}"] {
            assert_eq!(body("v", status, nothing).class, class, "{status}");
        }
    }
}

#[test]
fn a_context_that_is_too_long_is_recognised_by_the_sentence() {
    let sentences = [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Your input exceeds the context window of this model.",
        "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it",
        "prompt too long; exceeded max context length by 4 tokens",
        "Input is too long for requested model.",
    ];
    for sentence in sentences {
        let value = json!({"error": {"message": sentence, "type": "invalid_request_error"}});
        explained(400, &value, Class::ContextTooLong, sentence);
        assert_eq!(super::value("v", &value).class, Class::ContextTooLong, "{sentence}");
    }
}

#[test]
fn a_sentence_that_only_mentions_a_thing_does_not_decide() {
    let of = |status: u16, message: &str| {
        body("v", status, json!({"error": {"message": message}}).to_string().as_bytes()).class
    };
    let window = "Rate limit reached for the model with the 1M context window, try again in 3s";
    assert_eq!(of(429, window), limited(3_000));
    assert_eq!(of(429, "too many requests near the maximum context length"), LIMITED);
    assert_eq!(of(400, "context window must be a number"), Class::InvalidRequest);
    assert_eq!(of(503, "all servers with this maximum context length are busy"), Class::Overloaded);
    assert_eq!(of(429, "invalid api key was used too often"), LIMITED);
    assert_eq!(of(500, "the incorrect api key was loaded by us"), Class::Server);
    assert_eq!(of(404, "no such route"), Class::InvalidRequest);
    assert_eq!(of(502, "the model server crashed"), Class::Server);
    // A parameter is no kind of failure.
    let parameter = json!({"error": {"message": "m", "param": "safety"}});
    explained(400, &parameter, Class::InvalidRequest, "m");
}

#[test]
fn what_never_passes_by_itself_is_not_a_rate_limit() {
    let of = |status: u16, message: &str| {
        let value = json!({"error": {"message": message, "code": "rate_limit_exceeded"}});
        body("v", status, value.to_string().as_bytes()).class
    };
    let larger = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 31000. \
        The input or output tokens must be reduced in order to run successfully.";
    assert_eq!(of(429, larger), Class::ContextTooLong);
    assert_eq!(of(413, "Request too large for model"), Class::ContextTooLong);
    let credit = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "Your credit balance is too low to access the API."}});
    explained(400, &credit, Class::Quota, "Your credit balance is too low to access the API.");
    let refused = "Output blocked by content filtering policy";
    explained(400, &json!({"error": {"message": refused}}), Class::ContentRefused, refused);
}

#[test]
fn an_error_inside_a_stream_has_its_own_status_or_none() {
    let of = |value: Value| {
        let error = super::value("v", &value);
        (error.class, error.status)
    };
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(of(overloaded), (Class::Overloaded, None));
    assert_eq!(
        of(json!({"error": {"message": "m", "code": "tool_use_failed", "status_code": 400}})),
        (Class::InvalidRequest, Some(400))
    );
    // OpenAI's nested and flat forms, and what follows them.
    let quota = json!({"type": "error", "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "m"}});
    assert_eq!(of(quota).0, Class::Quota);
    assert_eq!(
        of(json!({"type": "error", "code": "rate_limit_exceeded", "message": "try again in 20ms"}))
            .0,
        limited(20)
    );
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "server_error", "message": "m"}}});
    assert_eq!(of(failed), (Class::Server, None));
    // A number that can be no status is none; one may also be a text.
    assert_eq!(of(json!({"error": {"code": 3051, "message": "m"}})), (Class::Server, None));
    assert_eq!(of(json!({"error": {"code": 8, "message": "m"}})), (Class::Server, None));
    assert_eq!(of(json!({"error": {"code": -1, "message": "m"}})), (Class::Server, None));
    assert_eq!(of(json!({"error": {"code": "429", "message": "m"}})), (LIMITED, Some(429)));
    assert_eq!(of(json!({"error": {"type": "invalid_request_error"}})).0, Class::InvalidRequest);
    assert_eq!(of(json!({"error": {"type": "timeout_error"}})).0, Class::Timeout);
    let gone = json!({"error": {"type": "not_found_error", "message": "model: x"}});
    assert_eq!(of(gone).0, Class::UnknownModel);
    assert_eq!(of(json!(null)), (Class::Server, None));
}

#[test]
fn delays_are_read_wherever_they_are() {
    let info = |delay: &str| {
        json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}})
    };
    explained(429, &info("34.4s"), limited(34_400), "m");
    explained(429, &info("later"), LIMITED, "m");
    let table = [
        ("Please try again in 1m2.5s. Contact us", Some(62_500)),
        ("Please try again in 20ms.", Some(20)),
        ("try again in 34.4s", Some(34_400)),
        ("Try again in 1.2 seconds.", Some(1_200)),
        ("retry in 2 minutes, please", Some(120_000)),
        ("Please retry after 20 seconds.", Some(20_000)),
        ("try again in 1h0m1s (soon)", Some(3_601_000)),
        ("try again in 250 milliseconds", Some(250)),
        ("try again in 6s or later", Some(6_000)),
        ("try again in a while", None),
        ("try again in 0s", None),
        ("try again in ", None),
        ("try again in 5", None),
        ("try again in -5s", None),
        ("try again in ...s", None),
        ("try again in 5\u{b5}s", None),
        ("try again in 99999999999999999999s", None),
        ("try again in 1e999s", None),
        ("try again in 999999h", None),
        ("nothing", None),
    ];
    for (message, milliseconds) in table {
        let expected = milliseconds.map_or(LIMITED, limited);
        explained(429, &json!({"error": {"message": message}}), expected, message.trim());
    }
    let digits = "9".repeat(1_000);
    assert_eq!(seconds(&format!("{digits}s")), None);
    assert_eq!(seconds(&"1s".repeat(3)), Some(Duration::from_secs(3)));
    assert_eq!(seconds(&"9999h".repeat(100)), None);
}

#[test]
fn long_messages_are_cut_and_long_bodies_are_read_quickly() {
    let long = "ä".repeat(5_000);
    let error = body("v", 400, json!({"error": {"message": long}}).to_string().as_bytes());
    assert_eq!(error.message, "ä".repeat(2_000));
    let error = body("v", 400, long.as_bytes());
    assert_eq!(error.message, "ä".repeat(2_000));
    let details: Vec<Value> =
        (0..50_000).map(|n| json!({"msg": format!("problem {n}"), "reason": "r"})).collect();
    let many = json!({"detail": details});
    let read = said(&many);
    assert_eq!(read.message.chars().count(), 2_000);
    assert_eq!(read.words.len(), 50);
    // As deep as can be read at all.
    let deep = format!("{}{}{}", "{\"error\":".repeat(120), "\"m\"", "}".repeat(120));
    assert_eq!(body("v", 400, deep.as_bytes()).message, "m");
}

#[test]
fn the_same_words_are_not_said_twice() {
    let twice = json!({"message": "m", "error": {"message": "m"}, "detail": "n"});
    explained(400, &twice, Class::InvalidRequest, "m: n");
}
