//! Checks that JSON comes out only when it follows the schema, by whichever means it was asked for.

use serde::Deserialize;

use super::*;
use crate::scripted::Scripted;
use crate::{Events, Model, Status};

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct City {
    name: String,
    people: u32,
}

const RIGHT: &str = r#"{"name": "Bern", "people": 134000}"#;

/// A scripted model with capabilities of its own.
#[derive(Debug)]
struct Able(Scripted, Capabilities);

impl Model for Able {
    fn stream(&self, request: Request) -> Events {
        self.0.stream(request)
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        self.1.clone()
    }
}

fn models(replies: &[&str], capabilities: Capabilities) -> (Models, Scripted) {
    let script = Scripted::new();
    for reply in replies {
        script.push("any", *reply);
    }
    let able = Able(script.clone(), capabilities);
    (Models::default().with("scripted", Arc::new(able)), script)
}

fn question() -> Request {
    Request {
        instructions: "Be brief.".to_owned(),
        ..Request::new("scripted/any", "Which is the capital?")
    }
}

async fn ask(replies: &[&str]) -> (Result<Json<City>, Error>, Scripted) {
    let (models, script) = models(replies, Capabilities::default());
    (models.generate_json::<City>(question()).await, script)
}

#[tokio::test]
async fn a_vendor_that_knows_schemas_is_given_the_schema_of_the_type() {
    let (found, script) = ask(&[RIGHT]).await;
    let found = found.unwrap();
    assert_eq!(found.value, City { name: "Bern".to_owned(), people: 134_000 });
    assert_eq!(found.repaired, None);
    let requests = script.requests();
    let schema = requests[0].json_schema().unwrap();
    assert_eq!((schema.name.as_str(), schema.strict), ("City", true));
    assert_eq!(schema.schema["required"], json!(["name", "people"]));
    assert_eq!(requests[0].instructions, "Be brief.");
    assert_eq!(requests[0].model, "any");
}

#[tokio::test]
async fn a_vendor_without_schemas_is_told_in_words() {
    for (json, format) in [(true, Some(Format::JsonObject)), (false, None)] {
        let able = Capabilities { json, json_schema: false, ..Capabilities::default() };
        let (models, script) = models(&[RIGHT], able);
        models.generate_json::<City>(question()).await.unwrap();
        let request = &script.requests()[0];
        assert!(request.instructions.starts_with("Be brief.\n\nAnswer with JSON alone"));
        assert!(request.instructions.contains(r#""people""#), "{}", request.instructions);
        assert_eq!(request.text.as_ref().unwrap().format, format);
    }
}

#[tokio::test]
async fn json_is_found_in_a_fence_and_in_a_sentence() {
    let fenced = format!("Here you are:\n```json\n{RIGHT}\n```\nAnything else?");
    let in_a_sentence = format!("It is {RIGHT}, as you know.");
    for reply in [fenced.as_str(), in_a_sentence.as_str()] {
        assert_eq!(ask(&[reply]).await.0.unwrap().value.name, "Bern", "{reply}");
    }
}

#[tokio::test]
async fn a_reply_that_does_not_fit_is_sent_back_once_with_what_is_wrong() {
    let (found, script) = ask(&[r#"{"name": "Bern", "people": "many"}"#, RIGHT]).await;
    let found = found.unwrap();
    assert_eq!(found.value.people, 134_000);
    assert!(found.repaired.unwrap().starts_with("/people: "));
    let second = &script.requests()[1];
    assert_eq!(second.input.len(), 3, "the question, the wrong answer, what is wrong with it");
    let Item::Message(told) = &*second.input[2] else { panic!("{:?}", second.input[2]) };
    assert!(told.text().contains("/people"), "{}", told.text());
}

#[tokio::test]
async fn a_second_reply_that_does_not_fit_is_an_error() {
    let (found, script) = ask(&["no idea", r#"{"name": 1}"#]).await;
    let error = found.unwrap_err();
    assert_eq!(error.class, Class::Server);
    assert!(error.message.contains("does not follow the schema"), "{error}");
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test]
async fn a_cut_reply_and_a_refusal_are_errors_and_not_repaired() {
    let cut = |reason: &str| {
        let mut response = Response::from(agent_world_core::item::Reply::text(RIGHT));
        response.incomplete(reason);
        response
    };
    let refusal = Response {
        output: vec![
            serde_json::from_value(json!({"type": "message", "role": "assistant",
                "content": [{"type": "refusal", "refusal": "I will not."}]}))
            .unwrap(),
        ],
        status: Status::Completed,
        ..Response::default()
    };
    for (response, class) in [
        (cut("max_output_tokens"), Class::InvalidRequest),
        (cut("content_filter"), Class::ContentRefused),
        (refusal, Class::ContentRefused),
    ] {
        let script = Scripted::new();
        script.push("any", agent_world_core::item::Reply::from(response));
        let models = Models::default().with("scripted", Arc::new(script.clone()));
        let error = models.generate_json::<City>(question()).await.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        let error = models.generate_text(question()).await.unwrap_err();
        assert_eq!(error.vendor, "scripted", "{error}");
        assert_eq!(script.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_schema_may_be_given_as_json_and_must_be_one() {
    let (models, _) = models(&[r#"[1, 2]"#], Capabilities::default());
    let schema = |schema: Value| JsonSchema {
        name: "numbers".to_owned(),
        description: None,
        schema,
        strict: false,
        extra: Default::default(),
    };
    let numbers = schema(json!({"type": "array", "items": {"type": "integer"}}));
    assert_eq!(models.generate_json_by(question(), numbers).await.unwrap().value, json!([1, 2]));
    let none = schema(json!({"type": "no such type"}));
    let error = models.generate_json_by(question(), none).await.unwrap_err();
    assert_eq!(error.class, Class::InvalidRequest);
    assert!(error.message.contains("`numbers`"), "{error}");
}

#[test]
fn only_closed_schemas_with_every_property_required_are_strict() {
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Open {
        maybe: Option<City>,
    }
    assert!(schema_of::<City>().strict);
    assert!(!schema_of::<Open>().strict);
    assert!(!is_strict(&json!({"type": "object"})));
    assert!(is_strict(&json!({"type": "string"})));
}

#[tokio::test]
async fn a_model_that_calls_a_tool_instead_is_not_asked_again() {
    let call = Item::call("1", "look_up", &json!({}));
    let (models, script) = models(&[], Capabilities::default());
    script.push("any", agent_world_core::item::Reply::of(vec![call.clone()]));
    let error = models.generate_json::<City>(question()).await.unwrap_err();
    assert_eq!(error.class, Class::InvalidRequest);
    assert!(error.message.contains("`look_up`"), "{error}");
    assert_eq!(script.requests().len(), 1);
    // Beside an answer it does no harm, and is never sent back without a result.
    let both = vec![call, Item::assistant("no idea")];
    script.push("any", agent_world_core::item::Reply::of(both)).push("any", RIGHT);
    assert_eq!(models.generate_json::<City>(question()).await.unwrap().value.name, "Bern");
    let repairing = &script.requests()[2].input;
    assert!(!repairing.iter().any(|item| matches!(&**item, Item::FunctionCall(_))));
}

#[tokio::test]
async fn what_is_wrong_is_told_briefly() {
    let wrong = json!({"name": ["x".repeat(100_000)], "people": 1}).to_string();
    let (found, _) = ask(&[&wrong, RIGHT]).await;
    let repaired = found.unwrap().repaired.unwrap();
    assert!(repaired.len() < 1_000, "{} characters", repaired.len());
    assert!(repaired.ends_with("is not of type \"string\""), "{repaired}");
}

#[tokio::test]
async fn a_refusal_of_the_correction_is_an_error_and_usage_is_summed() {
    use crate::scripted::Answer;
    use agent_world_core::item::{Reply, Usage};
    let used = Usage { input_tokens: 10, output_tokens: 1, total_tokens: 11, ..Usage::default() };
    let (models, script) = models(&[], Capabilities::default());
    script.push("any", Answer::text("no idea").with_usage(used));
    script.push("any", Answer::text(RIGHT).with_usage(used));
    let found = models.generate_json::<City>(question()).await.unwrap();
    assert_eq!(found.usage.total_tokens, 22);
    let refusal = json!({"type": "message", "role": "assistant",
        "content": [{"type": "refusal", "refusal": "I will not."}]});
    script.push("any", "no idea");
    script.push("any", Reply::of(vec![serde_json::from_value(refusal).unwrap()]));
    let error = models.generate_json::<City>(question()).await.unwrap_err();
    assert_eq!(error.class, Class::ContentRefused);
}

#[tokio::test]
async fn schemas_may_refer_to_themselves_and_to_nothing_outside() {
    #[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
    struct Tree {
        name: String,
        below: Vec<Tree>,
    }
    let tree = r#"{"name": "a", "below": [{"name": "b", "below": []}]}"#;
    let (able, _) = models(&[tree], Capabilities::default());
    let found = able.generate_json::<Tree>(question()).await.unwrap();
    assert_eq!(found.value.below[0].name, "b");
    for outside in ["https://127.0.0.1:1/schema.json", "file:///etc/hostname", "other.json"] {
        let (models, script) = models(&["{}"], Capabilities::default());
        let schema = JsonSchema {
            name: "outside".to_owned(),
            description: None,
            schema: json!({"$ref": outside}),
            strict: false,
            extra: Default::default(),
        };
        let error = models.generate_json_by(question(), schema).await.unwrap_err();
        assert_eq!(error.class, Class::InvalidRequest, "{error}");
        assert!(script.requests().is_empty());
    }
}
