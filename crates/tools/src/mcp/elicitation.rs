//! Decides how a server's question is put to the person, and what of the answer goes back.
//! Called by `handler` (older era) and by `call` (newer era). What goes back fits the schema that was asked for, or nothing does.

use agent_world_core::arguments;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::person::{Answer, Person, Question};

/// Bytes of a question; more is no question.
const LONGEST: usize = 16 * 1024;

/// Asks, and says what the server is told.
pub async fn ask(server: &str, request: ElicitRequestParams, person: &dyn Person) -> ElicitResult {
    let Some(question) = question(server, request) else {
        tracing::warn!(server, "an MCP server asked something that cannot be shown");
        return ElicitResult::new(ElicitationAction::Cancel);
    };
    let schema = question.schema.clone();
    let elsewhere = question.url.is_some();
    match person.ask(question).await {
        Answer::Given(_) if elsewhere => ElicitResult::new(ElicitationAction::Accept),
        Answer::Given(value) => match fitting(value, &schema) {
            Some(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            None => ElicitResult::new(ElicitationAction::Cancel),
        },
        Answer::Declined => ElicitResult::new(ElicitationAction::Decline),
        Answer::Unanswered => ElicitResult::new(ElicitationAction::Cancel),
    }
}

fn question(server: &str, request: ElicitRequestParams) -> Option<Question> {
    let question = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => Question {
            message: format!("MCP server `{server}` asks: {message}"),
            schema: serde_json::to_value(requested_schema).ok()?,
            url: None,
        },
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let parsed = reqwest::Url::parse(&url).ok()?;
            if !matches!(parsed.scheme(), "https" | "http") {
                return None;
            }
            let message = format!(
                "MCP server `{server}` asks you to visit {}: {message}",
                parsed.host_str().unwrap_or_default()
            );
            Question { url: Some(url), ..Question::confirm(message) }
        }
        _ => return None,
    };
    let url = question.url.as_ref().map_or(0, String::len);
    let length = question.message.len() + question.schema.to_string().len() + url;
    (length <= LONGEST).then_some(question)
}

/// The answer with defaults where the person left something out. Nothing when it does not fit.
fn fitting(answer: Value, schema: &Value) -> Option<Value> {
    let mut fields = match answer {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => return None,
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default")
            && fields.get(name).is_none_or(Value::is_null)
        {
            fields.insert(name.clone(), default.clone());
        }
    }
    arguments::validate(Value::Object(fields), schema).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;

    #[derive(Debug)]
    struct Says(Answer, Mutex<Vec<Question>>);

    #[async_trait]
    impl Person for Says {
        async fn ask(&self, question: Question) -> Answer {
            self.1.lock().unwrap().push(question);
            self.0.clone()
        }
    }

    async fn check(request: Value, answer: Answer) -> (Value, Vec<Question>) {
        let person = Says(answer, Mutex::default());
        let request = serde_json::from_value(request).unwrap();
        let told = ask("forms", request, &person).await;
        (serde_json::to_value(told).unwrap(), person.1.into_inner().unwrap())
    }

    fn form() -> Value {
        json!({"mode": "form", "message": "who?", "requestedSchema": {
            "type": "object", "required": ["name"],
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "age": {"type": "integer", "default": 30},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"}
            }
        }})
    }

    #[tokio::test]
    async fn an_answer_goes_back_with_defaults_filled_in() {
        let (told, asked) = check(form(), Answer::Given(json!({"name": "Ada", "age": "36"}))).await;
        let content = json!({"name": "Ada", "age": 36, "color": "red"});
        assert_eq!(told, json!({"action": "accept", "content": content}));
        assert_eq!(asked[0].message, "MCP server `forms` asks: who?");
        assert_eq!(asked[0].schema["properties"]["name"]["minLength"], 2);
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_not_sent() {
        for answer in
            [json!({}), json!({"name": "x"}), json!({"name": "Ada", "color": "pink"}), json!(3)]
        {
            let (told, _) = check(form(), Answer::Given(answer)).await;
            assert_eq!(told, json!({"action": "cancel"}));
        }
    }

    #[tokio::test]
    async fn no_and_nothing_are_told_apart() {
        assert_eq!(check(form(), Answer::Declined).await.0, json!({"action": "decline"}));
        assert_eq!(check(form(), Answer::Unanswered).await.0, json!({"action": "cancel"}));
    }

    #[tokio::test]
    async fn a_page_to_visit_is_shown_with_its_host_and_only_if_it_is_one() {
        let page =
            |url: &str| json!({"mode": "url", "message": "pay", "url": url, "elicitationId": "1"});
        let (told, asked) = check(page("https://pay.example/x"), Answer::Given(json!({}))).await;
        assert_eq!(told, json!({"action": "accept"}));
        assert_eq!(asked[0].url.as_deref(), Some("https://pay.example/x"));
        assert!(asked[0].message.contains("pay.example"));
        for url in ["javascript:alert(1)", "file:///etc/passwd", "nothing"] {
            let (told, asked) = check(page(url), Answer::Given(json!({}))).await;
            assert_eq!(told, json!({"action": "cancel"}));
            assert!(asked.is_empty(), "{url}");
        }
    }
}
