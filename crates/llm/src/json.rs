//! Decides how a reply becomes JSON that follows a schema: by the vendor's own means where it has them, by instruction
//! otherwise, and checked in either case. A reply that does not fit is sent back once, with what is wrong with it.
//! Called by programs. Never accepts what does not follow the schema.

use std::sync::Arc;

use agent_world_core::item::Item;
use schemars::JsonSchema as Described;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::models::whole_text;
use crate::{
    Capabilities, Class, Error, Format, JsonSchema, Models, Request, Response, Text, Usage,
};

/// Problems a model is told of at once.
const MOST_PROBLEMS: usize = 10;

/// Characters of one problem: it may repeat all of the answer.
const LONGEST_PROBLEM: usize = 500;

/// What was asked for, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T> {
    pub value: T,
    /// The reply that was accepted.
    pub response: Response,
    /// Of all replies.
    pub usage: Usage,
    /// What was wrong with the first reply, when it took a second.
    pub repaired: Option<String>,
}

impl Models {
    /// Asks for a value of a Rust type. The request's model is `vendor/model`; its text format is replaced.
    ///
    /// # Errors
    /// Also when the second reply did not follow the type's schema either, and when the model calls a tool: none is run
    /// here.
    pub async fn generate_json<T>(&self, request: Request) -> Result<Json<T>, Error>
    where
        T: DeserializeOwned + Described,
    {
        let schema = schema_of::<T>();
        let found = self.json(request, &schema, |value| {
            serde_json::from_value::<T>(value.clone()).map_err(|error| error.to_string())
        });
        found.await
    }

    /// Asks for JSON that follows a schema.
    ///
    /// # Errors
    /// Also when the schema is none, or the second reply did not follow it either.
    pub async fn generate_json_by(
        &self,
        request: Request,
        schema: JsonSchema,
    ) -> Result<Json<Value>, Error> {
        self.json(request, &schema, |value| Ok(value.clone())).await
    }

    async fn json<T>(
        &self,
        request: Request,
        schema: &JsonSchema,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Json<T>, Error> {
        let vendor = request.model.split('/').next().unwrap_or_default().to_owned();
        let check = Check::new(schema, &vendor)?;
        let capabilities = self.capabilities(&request.model)?;
        let mut request = demand(request, schema, &capabilities);
        let mut usage = Usage::default();
        let mut repaired = None;
        loop {
            let response = self.generate(request.clone()).await?;
            if let Some(more) = &response.usage {
                usage += more.clone();
            }
            let text = whole_text(&response, &vendor)?;
            if let (true, Some(call)) = (text.trim().is_empty(), response.calls().next()) {
                // Sent back without its result, it would be refused.
                let message = format!(
                    "the model calls `{}` instead of answering, and no tools are run here; offer none",
                    call.name
                );
                return Err(Error::new(Class::InvalidRequest, vendor, message));
            }
            let problem = match check.value(&text).and_then(|value| read(&value)) {
                Ok(value) => return Ok(Json { value, response, usage, repaired }),
                Err(problem) => problem,
            };
            if repaired.is_some() {
                let message = format!("the model's answer does not follow the schema: {problem}");
                return Err(Error::new(Class::Server, vendor, message));
            }
            send_back(&mut request, response, &problem);
            repaired = Some(problem);
        }
    }
}

/// The schema of a Rust type, as models are given it.
pub fn schema_of<T: Described>() -> JsonSchema {
    let generated = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut schema = generated.into_root_schema_for::<T>().to_value();
    if let Value::Object(fields) = &mut schema {
        fields.shift_remove("$schema");
    }
    let strict = is_strict(&schema);
    JsonSchema {
        name: name_of::<T>(),
        description: None,
        schema,
        strict,
        extra: Default::default(),
    }
}

/// A name that every vendor takes.
fn name_of<T: Described>() -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = T::schema_name().chars().take(64).map(fits).collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

/// Puts the wish for JSON where the vendor reads it, and in words where it has no place for it.
fn demand(mut request: Request, schema: &JsonSchema, capabilities: &Capabilities) -> Request {
    let text = request.text.get_or_insert_with(Text::default);
    if capabilities.json_schema {
        text.format = Some(Format::JsonSchema(schema.clone()));
        return request;
    }
    text.format = capabilities.json.then_some(Format::JsonObject);
    let words = format!(
        "Answer with JSON alone, without any other text, that follows this JSON schema:\n{}",
        schema.schema
    );
    if !request.instructions.is_empty() {
        request.instructions.push_str("\n\n");
    }
    request.instructions.push_str(&words);
    request
}

fn send_back(request: &mut Request, response: Response, problem: &str) {
    // A call beside the answer has no result, and must not go back without one.
    let said = response.output.into_iter().filter(|item| !matches!(item, Item::FunctionCall(_)));
    request.input.extend(said.map(Arc::new));
    let words = format!(
        "This answer does not follow the schema: {problem}. Send the whole corrected JSON, without any other text."
    );
    request.input.push(Arc::new(Item::user(words)));
}

/// Tells whether a text is JSON that follows a schema.
struct Check(jsonschema::Validator);

impl Check {
    fn new(schema: &JsonSchema, vendor: &str) -> Result<Self, Error> {
        jsonschema::validator_for(&schema.schema).map(Self).map_err(|error| {
            let message = format!("the schema `{}` is not valid: {error}", schema.name);
            Error::new(Class::InvalidRequest, vendor, message)
        })
    }

    fn value(&self, text: &str) -> Result<Value, String> {
        let value = json_in(text)?;
        let problems: Vec<String> = self
            .0
            .iter_errors(&value)
            .take(MOST_PROBLEMS)
            .map(|problem| match problem.instance_path().as_str() {
                "" => brief(&problem.to_string()),
                place => brief(&format!("{place}: {problem}")),
            })
            .collect();
        if problems.is_empty() { Ok(value) } else { Err(problems.join("; ")) }
    }
}

/// As much of a problem as says what it is; its end says most.
fn brief(problem: &str) -> String {
    let characters = problem.chars().count();
    if characters <= LONGEST_PROBLEM {
        return problem.to_owned();
    }
    let half = LONGEST_PROBLEM / 2;
    let head: String = problem.chars().take(half).collect();
    let tail: String = problem.chars().skip(characters - half).collect();
    format!("{head} [...] {tail}")
}

/// The JSON of a reply; models like to wrap it in a fence or a sentence.
fn json_in(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    fenced(text)
        .and_then(|inside| serde_json::from_str(inside.trim()).ok())
        .or_else(|| {
            let start = text.find(['{', '['])?;
            let mut values = serde_json::Deserializer::from_str(text.get(start..)?).into_iter();
            values.next()?.ok()
        })
        .ok_or_else(|| format!("it is not JSON: {error}"))
}

fn fenced(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("```")?;
    let (_, body) = behind.split_once('\n')?;
    body.split_once("```").map(|(body, _)| body)
}

/// Whether a schema keeps the rules that vendors have for strict ones: every object closed, every property required.
pub fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties").and_then(Value::as_object) {
                Some(properties) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    let is_required =
                        |name: &String| required.is_some_and(|names| names.contains(&json!(name)));
                    fields.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(is_required)
                }
                None => fields.get("type") != Some(&json!("object")),
            };
            closed && fields.values().all(is_strict)
        }
        Value::Array(list) => list.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
