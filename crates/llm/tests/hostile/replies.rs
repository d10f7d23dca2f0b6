//! Holds small good replies of the vendors that stream events, in the shapes they document.
//! Used by `seeds`. Nothing in them was recorded.

pub const OPENAI_STREAMS: &[&str] = &[
    r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"abc"}}

data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Hm"}

data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"abc"}}

data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}

data: {"type":"response.content_part.added","item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Größe"}

data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":"","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"a\":"}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"1}"}

data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Größe","annotations":[]}]}}

data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":"{\"a\":1}","status":"completed"}}

data: {"type":"response.completed","response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"abc"},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Größe","annotations":[]}]},{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":"{\"a\":1}","status":"completed"}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}}

"#,
    r#"data: {"type":"error","error":{"type":"server_error","code":"server_error","message":"try again in 1.2s"}}

"#,
];

pub const OPENAI_BODIES: &[&str] = &[
    r#"{"id":"resp_1","object":"response","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"x","arguments":"{\"a\":"},{"type":"web_search_call","id":"ws_1"}]}"#,
];

pub const ANTHROPIC_STREAMS: &[&str] = &[
    r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Größe"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1"}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}}

data: {"type":"content_block_stop","index":2}

data: {"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"eHg="}}

data: {"type":"content_block_stop","index":3}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

data: {"type":"message_stop"}

"#,
    r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

"#,
];

pub const ANTHROPIC_BODIES: &[&str] = &[
    r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"pause_turn","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"x","citations":[{"type":"char_location"}]},{"type":"tool_use","id":"t","name":"n","input":{"a":1e400}}],"usage":{"input_tokens":1,"output_tokens":1}}"#,
];

pub const GOOGLE_STREAMS: &[&str] = &[
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hm\",\"thought\":true}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3},\"modelVersion\":\"m\",\"responseId\":\"r\"}\r\n\r\n\
     data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Größe\"},{\"functionCall\":{\"name\":\"look\",\"args\":{\"a\":[1,2.50]}},\"thoughtSignature\":\"c2ln\"},{\"functionCall\":{\"name\":\"look\",\"args\":{}}}]},\"finishReason\":\"STOP\"}]}\r\n\r\n\
     data: {\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":5,\"thoughtsTokenCount\":2,\"totalTokenCount\":10}}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"look\",\"partialArgs\":[{\"jsonPath\":\"$.a.b[0]\",\"stringValue\":\"x\",\"willContinue\":true}],\"willContinue\":true}}]}}]}\n\n\
     data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.a.b[0]\",\"stringValue\":\"y\"},{\"jsonPath\":\"$.c\",\"numberValue\":1}],\"willContinue\":true}},{\"functionCall\":{}}]},\"finishReason\":\"STOP\"}]}\n\n",
];

pub const GOOGLE_BODIES: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"text":"x","thoughtSignature":"c2ln"}]},"finishReason":"MAX_TOKENS","groundingMetadata":{"groundingChunks":[{"web":{"uri":"u","title":"t"}}],"groundingSupports":[{"segment":{"startIndex":0,"endIndex":1},"groundingChunkIndices":[0]}]}}]}"#,
    r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow","details":[{"@type":"RetryInfo","retryDelay":"34.4s"}]}}]"#,
    r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
];

pub const CHAT_STREAMS: &[&str] = &[
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"Hm"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"Größe <think>x"}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"look","arguments":"null"}},{"index":0,"function":{"arguments":"{\"a\":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":9}}

data: [DONE]

"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}}]}

data: {"choices":[{"index":0,"delta":{"content":"x","refusal":"no"},"finish_reason":"length"}]}

event: error
data: {"error":{"message":"failed","code":"tool_use_failed"}}

"#,
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<thi\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"nk>a</think>b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
];

pub const CHAT_BODIES: &[&str] = &[
    r#"{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x","refusal":null,"annotations":[{"type":"url_citation"}],"extra_content":{"a":1},"tool_calls":[{"id":"","type":"function","function":{"name":"n","arguments":"null"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
    r#"{"object":"error","message":"no","type":"invalid_request_error","detail":[{"msg":"field required"}]}"#,
];
