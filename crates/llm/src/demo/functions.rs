//! Decides when a message asks for a function that is offered, and with which arguments: when it says the words of the
//! function's name and what the function must know, or when the request leaves no choice.
//! Called by `demo` where no trick fits. Guesses nothing: what a message does not say is not called, unless it must be.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Call, sample};
use crate::{FunctionTool, Request, ToolChoice};

/// Words of a function's name that nobody says when asking for it.
const SILENT: [&str; 2] = ["get", "current"];
/// What stands before the thing that is asked about.
const BEFORE: [&str; 7] = ["in", "for", "of", "about", "at", "from", "to"];

/// The request with only the functions that may be called.
pub fn narrowed(request: &Request) -> Cow<'_, Request> {
    let allowed = |name: &str| match &request.tool_choice {
        Some(ToolChoice::None) => false,
        Some(ToolChoice::Allowed { names, .. }) => names.iter().any(|one| one == name),
        _ => true,
    };
    let all = request.tools.iter().all(|tool| tool.function_name().is_none_or(allowed));
    if all {
        return Cow::Borrowed(request);
    }
    let mut narrowed = request.clone();
    narrowed.tools.retain(|tool| tool.function_name().is_none_or(allowed));
    Cow::Owned(narrowed)
}

/// The call that a message plainly asks for.
pub fn asked_for(text: &str, request: &Request) -> Option<Call> {
    let said = words(text);
    request.functions().find_map(|function| {
        let name: Vec<String> = words(&function.name)
            .into_iter()
            .filter(|word| !SILENT.contains(&word.as_str()))
            .collect();
        let named = !name.is_empty() && name.iter().all(|word| said.contains(word));
        let arguments = if named { arguments(text, function)? } else { return None };
        Some(Call { tool: function.name.clone(), arguments: Value::Object(arguments) })
    })
}

/// The call that must be made, whatever the message says.
pub fn forced(text: &str, request: &Request) -> Option<Call> {
    let mut functions = request.functions();
    let function = match &request.tool_choice {
        Some(ToolChoice::Function { name }) => functions.find(|function| function.name == *name)?,
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => {
            functions.next()?
        }
        _ => return None,
    };
    let arguments = arguments(text, function).map(Value::Object);
    let arguments = arguments.unwrap_or_else(|| sample::of(&function.parameters));
    Some(Call { tool: function.name.clone(), arguments })
}

/// What the function must know, as far as the message says it all.
fn arguments(text: &str, function: &FunctionTool) -> Option<Map<String, Value>> {
    let schema = &function.parameters;
    let required = schema.get("required").and_then(Value::as_array);
    let mut thing = Some(thing(text));
    let mut numbers = text.split_whitespace().filter_map(number);
    let mut found = Map::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let property = property.unwrap_or(&Value::Null);
        let value = match (property.get("enum"), property.get("type").and_then(Value::as_str)) {
            (Some(Value::Array(choices)), _) => choices.iter().find(|one| says(text, one))?.clone(),
            (_, Some("string")) => thing.take().flatten()?.into(),
            (_, Some("number" | "integer")) => numbers.next()?,
            _ => return None,
        };
        found.insert(name.to_owned(), value);
    }
    Some(found)
}

/// What is asked about: words in quotes, else what follows the last word that leads to a thing.
fn thing(text: &str) -> Option<String> {
    if let Some(quoted) = text.split(['"', '`']).nth(1).filter(|quoted| !quoted.is_empty()) {
        return Some(quoted.to_owned());
    }
    let spoken: Vec<&str> = text.split_whitespace().collect();
    let lead = spoken.iter().rposition(|word| BEFORE.contains(&word.to_lowercase().as_str()))?;
    let rest = spoken.get(lead.saturating_add(1)..)?.join(" ");
    let rest = rest.trim_end_matches(['?', '!', '.', ',']);
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn number(word: &str) -> Option<Value> {
    let word =
        word.trim_matches(|c: char| matches!(c, '?' | '!' | ',' | '(' | ')')).trim_end_matches('.');
    word.parse::<i64>().map(Value::from).or_else(|_| word.parse::<f64>().map(Value::from)).ok()
}

fn says(text: &str, value: &Value) -> bool {
    let word = value.as_str().map_or_else(|| value.to_string(), str::to_lowercase);
    words(text).contains(&word)
}

/// In lower case, one by one; `getWeather` and `get_weather` are two words each.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for character in text.chars() {
        let starts = character.is_uppercase() && lower;
        lower = character.is_lowercase();
        if starts || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (character.is_alphanumeric(), words.last_mut()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Tool;

    fn request(tools: Value) -> Request {
        let tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
        Request { tools, ..Request::default() }
    }

    fn weather() -> Request {
        request(json!([
            {"type": "function", "name": "get_weather", "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
                "required": ["city"],
            }},
            {"type": "function", "name": "addNumbers", "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            }},
        ]))
    }

    #[test]
    fn a_function_is_called_when_its_name_and_what_it_must_know_are_said() {
        let request = weather();
        for (message, tool, arguments) in [
            (
                "How is the weather in San Francisco?",
                "get_weather",
                json!({"city": "San Francisco"}),
            ),
            ("weather for \"New York\" please", "get_weather", json!({"city": "New York"})),
            ("add the numbers 2 and 3.", "addNumbers", json!({"a": 2, "b": 3})),
        ] {
            let call = asked_for(message, &request).unwrap();
            assert_eq!((call.tool.as_str(), call.arguments), (tool, arguments), "{message}");
        }
        for message in ["what is the weather?", "tell me about San Francisco", "add numbers 2", ""]
        {
            assert_eq!(asked_for(message, &request), None, "{message}");
        }
    }

    #[test]
    fn a_choice_narrows_what_is_called_and_may_force_it() {
        let mut request = weather();
        let message = "the weather in Rome";
        assert_eq!(forced(message, &request), None);
        request.tool_choice = Some(ToolChoice::None);
        assert_eq!(narrowed(&request).tools.len(), 0);
        request.tool_choice =
            Some(ToolChoice::Allowed { required: true, names: vec!["addNumbers".to_owned()] });
        let narrowed = narrowed(&request);
        assert_eq!(asked_for(message, &narrowed), None);
        let call = forced(message, &narrowed).unwrap();
        assert_eq!((call.tool.as_str(), call.arguments), ("addNumbers", json!({"a": 0, "b": 0})));
        request.tool_choice = Some(ToolChoice::Function { name: "get_weather".to_owned() });
        assert_eq!(forced("hello", &request).unwrap().arguments, json!({"city": "demo"}));
    }
}
