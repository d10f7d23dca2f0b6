//! Says for what each vendor refuses a request, as far as the conversation can be at fault.
//! Called with every body that is made. Names the first rule that is broken.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

type Checked = Result<(), String>;

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok()
}

fn describes_an_object(schema: &Value) -> bool {
    schema["type"] == "object" && schema["properties"].is_object()
}

/// Every call has its one result behind it, no id is used twice, and thoughts stand before what followed them.
pub fn responses(body: &Value) -> Checked {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let input = list(body, "input");
    for (place, item) in input.iter().enumerate() {
        let id = text(item, "call_id");
        match text(item, "type") {
            "function_call" => {
                ensure(!id.is_empty() && id.len() <= 64, || format!("the call id {id:?}"))?;
                ensure(seen.insert(id), || format!("two calls {id}"))?;
                ensure(!text(item, "arguments").is_empty(), || "no arguments".to_owned())?;
                open.insert(id);
            }
            "function_call_output" => {
                ensure(open.remove(id), || format!("a result of nothing: {id}"))?;
                ensure(item["output"].is_string() || item["output"].is_array(), || {
                    format!("the result {item}")
                })?;
                let known = ["type", "call_id", "output", "status"];
                let fields = item.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
                let unknown: Vec<&str> = fields.filter(|key| !known.contains(key)).collect();
                ensure(unknown.is_empty(), || format!("fields nobody knows: {unknown:?}"))?;
            }
            "reasoning" => {
                let next = input.get(place + 1).unwrap_or(&Value::Null);
                let follows = text(next, "type") == "reasoning"
                    || (text(next, "role") == "assistant" || text(next, "type") == "function_call")
                        && next["id"].is_string();
                ensure(follows, || format!("{} without what followed it", item["id"]))?;
            }
            "message" => {
                ensure(!list(item, "content").is_empty() || item["content"].is_string(), || {
                    "a message without content".to_owned()
                })?;
            }
            other => return Err(format!("an item of type {other}")),
        }
    }
    ensure(open.is_empty(), || format!("calls without a result: {open:?}"))?;
    for tool in list(body, "tools") {
        ensure(describes_an_object(&tool["parameters"]), || format!("the schema of {tool}"))?;
    }
    ensure(body.get("origin").is_none(), || "our own field".to_owned())
}

/// Turns alternate, whoever begins; results come first, for exactly the calls of the turn before.
pub fn anthropic(body: &Value) -> Checked {
    let turns = list(body, "messages");
    ensure(!turns.is_empty(), || "no turns".to_owned())?;
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    let mut before = "";
    for turn in turns {
        let (role, content) = (text(turn, "role"), list(turn, "content"));
        let fits = match role {
            "system" => before == "user",
            "user" => before != "user",
            _ => before != "assistant",
        };
        ensure(fits, || format!("{role} after {before}"))?;
        ensure(!content.is_empty(), || format!("an empty turn of the {role}"))?;
        let mut answered: BTreeSet<&str> = BTreeSet::new();
        let mut results_over = false;
        let wanted = std::mem::take(&mut asked);
        for block in content {
            let kind = text(block, "type");
            if kind == "text" {
                ensure(!text(block, "text").trim().is_empty(), || "an empty text".to_owned())?;
            }
            if kind == "tool_result" {
                ensure(!results_over, || "a result behind other blocks".to_owned())?;
                ensure(answered.insert(text(block, "tool_use_id")), || "two results".to_owned())?;
                result(block)?;
            } else {
                results_over = true;
            }
            if kind == "tool_use" {
                let id = text(block, "id");
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                ensure(!id.is_empty() && id.chars().all(fits), || format!("the id {id:?}"))?;
                ensure(ids.insert(id), || format!("two calls {id}"))?;
                ensure(block["input"].is_object(), || format!("the input of {block}"))?;
                asked.insert(id);
            }
        }
        ensure(answered == wanted, || format!("{wanted:?} answered by {answered:?}"))?;
        let last = content.last().map_or("", |block| text(block, "type"));
        ensure(!last.ends_with("thinking"), || "a turn that ends with a thought".to_owned())?;
        before = role;
    }
    ensure(asked.is_empty(), || format!("calls at the end: {asked:?}"))?;
    ends(turns, body)
}

/// What failed says why, in words alone.
fn result(block: &Value) -> Checked {
    if block["is_error"] == true {
        let content = &block["content"];
        let says = content.as_str().is_some_and(|text| !text.is_empty())
            || !list(block, "content").is_empty();
        ensure(says, || "a failure without a word".to_owned())?;
        let words = list(block, "content").iter().all(|part| text(part, "type") == "text");
        ensure(words, || "a failure with more than words".to_owned())?;
    }
    Ok(())
}

/// A turn of the model at the end is gone on with only where nothing is thought, and never ends in white space.
fn ends(turns: &[Value], body: &Value) -> Checked {
    let Some(last) = turns.last().filter(|turn| turn["role"] == "assistant") else { return Ok(()) };
    ensure(body.get("thinking").is_none(), || "thinking behind the model's own words".to_owned())?;
    let said = list(last, "content").last().map_or("", |block| text(block, "text"));
    ensure(said.trim_end() == said && !said.is_empty(), || "white space at the end".to_owned())
}

/// Sides alternate and begin with the user; results are in the turn right behind their calls; no part is empty.
pub fn google(body: &Value) -> Checked {
    let contents = list(body, "contents");
    let mut calls: Vec<&str> = Vec::new();
    let mut before = "model";
    ensure(!contents.is_empty(), || "no contents".to_owned())?;
    for content in contents {
        let (role, parts) = (text(content, "role"), list(content, "parts"));
        ensure(role != before, || format!("{role} after {before}"))?;
        ensure(!parts.is_empty(), || format!("nothing said by the {role}"))?;
        let named = |kind: &str| -> Vec<&str> {
            let of = parts.iter().filter(|part| part[kind].is_object());
            of.map(|part| text(&part[kind], "name")).collect()
        };
        let results = named("functionResponse");
        ensure(results == std::mem::take(&mut calls), || "results that fit no calls".to_owned())?;
        let first = parts.iter().position(|part| part["functionResponse"].is_null());
        ensure(first.is_none_or(|first| first >= results.len()), || {
            "results come late".to_owned()
        })?;
        calls = named("functionCall");
        for part in parts {
            let empty = part["text"] == "" && part["thoughtSignature"].is_null();
            // Recorded exchanges show that a turn may say nothing, in one part and no other way.
            ensure(!empty || parts.len() == 1, || format!("an empty part of the {role}"))?;
            let result = &part["functionResponse"];
            ensure(result.is_null() || result["response"].is_object(), || format!("{result}"))?;
            let call = &part["functionCall"];
            ensure(call.is_null() || call["args"].is_object(), || format!("{call}"))?;
        }
        before = role;
    }
    let system = list(&body["systemInstruction"], "parts");
    ensure(system.iter().all(|part| part["text"] != ""), || "an empty instruction".to_owned())?;
    ensure(calls.is_empty(), || "calls at the end".to_owned())
}

/// Every call of a message is answered by one message right behind it, and nothing else is answered.
pub fn chat(body: &Value) -> Checked {
    let messages = list(body, "messages");
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            let place = open.iter().position(|open| *open == id);
            let place = place.ok_or_else(|| format!("a result of nothing: {id}"))?;
            open.remove(place);
            ensure(message["content"].is_string(), || format!("the result {message}"))?;
            continue;
        }
        ensure(open.is_empty(), || format!("calls without a result: {open:?}"))?;
        open = list(message, "tool_calls").iter().map(|call| text(call, "id")).collect();
        let ids: BTreeSet<&str> = open.iter().copied().collect();
        ensure(ids.len() == open.len() && !ids.contains(""), || format!("the ids {open:?}"))?;
        if role == "assistant" {
            let says = !message["content"].is_null() || message["refusal"].is_string();
            ensure(says || !open.is_empty(), || "an empty turn".to_owned())?;
        }
    }
    ensure(open.is_empty(), || format!("calls without a result: {open:?}"))?;
    for tool in list(body, "tools") {
        let schema = &tool["function"]["parameters"];
        ensure(describes_an_object(schema), || format!("the schema of {tool}"))?;
    }
    Ok(())
}

/// The same, and nobody but the assistant speaks behind results, which never has the last word itself.
pub fn mistral(body: &Value) -> Checked {
    chat(body)?;
    let messages = list(body, "messages");
    let mut before = "";
    for message in messages {
        let role = text(message, "role");
        let fits = match before {
            "tool" => matches!(role, "tool" | "assistant"),
            _ => role != "system" || before.is_empty(),
        };
        ensure(fits, || format!("{role} after {before}"))?;
        for call in list(message, "tool_calls") {
            let id = text(call, "id");
            let nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            // An id of the vendor's own goes back as it came.
            ensure(nine || id == "call_1", || format!("the id {id:?}"))?;
            let arguments = text(&call["function"], "arguments");
            ensure(serde_json::from_str::<Value>(arguments).is_ok(), || format!("{arguments:?}"))?;
        }
        before = role;
    }
    ensure(matches!(before, "user" | "tool"), || format!("{before} has the last word"))
}

/// The server reads arguments as objects and counts on nothing else.
pub fn ollama(body: &Value) -> Checked {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for message in list(body, "messages") {
        *names.entry(text(message, "role")).or_default() += 1;
        for call in list(message, "tool_calls") {
            let arguments = call["function"]["arguments"].to_string();
            ensure(is_object(&arguments), || format!("the arguments {arguments}"))?;
        }
    }
    ensure(
        names.keys().all(|role| matches!(*role, "user" | "assistant" | "system" | "tool")),
        || format!("the roles {names:?}"),
    )
}
