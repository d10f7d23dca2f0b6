//! `POST /v1/responses/compact`: a conversation in fewer words, as items that stand for it in later requests.
//! The model itself says what mattered; what people asked lately stays word for word, and so do calls that still wait for
//! their results. Nothing is stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::item::{Item, Role};
use agent_world_runtime::llm::{Request, Usage, compaction};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::answer::agent_named;
use super::asked::typed;
use super::failure::{ErrorBody, Failure};
use super::stored::written;
use super::{create, input, kept, seal};
use crate::access::Member;
use crate::app::App;
use crate::extract::Body;

/// Bytes of what people said that stay word for word, counted from the end.
const KEPT_WORDS: usize = 20_000;

/// Asks for a compaction.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompactBody {
    /// The model that says what mattered: `vendor/model`.
    #[schema(nullable = false, required, example = "demo/demo")]
    model: Option<String>,
    /// A text, or a list of items.
    #[schema(value_type = Option<Object>)]
    input: Option<Value>,
    /// Goes on from a stored response.
    previous_response_id: Option<String>,
    /// Said to the model besides.
    instructions: Option<String>,
    prompt_cache_key: Option<String>,
}

/// A conversation in fewer words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Compaction {
    id: String,
    /// Always `response.compaction`.
    object: &'static str,
    created_at: i64,
    /// To be sent as input in place of the conversation, as it is.
    #[schema(value_type = Vec<Object>)]
    output: Vec<Value>,
    #[schema(value_type = Object)]
    usage: Usage,
}

/// Puts a conversation in fewer words.
#[utoipa::path(post, path = "/v1/responses/compact", operation_id = "compact_response", tag = "responses", request_body = CompactBody, responses(
    (status = 200, body = Compaction), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 413, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 429, body = ErrorBody), (status = 500, body = ErrorBody),
    (status = 502, body = ErrorBody), (status = 503, body = ErrorBody), (status = 504, body = ErrorBody),
))]
pub(super) async fn compact(
    State(app): State<Arc<App>>,
    Member(who): Member,
    Body(body): Body<Value>,
) -> Result<Json<Compaction>, Failure> {
    let fields = body.as_object().cloned().unwrap_or_default();
    let form: CompactBody = typed(&fields)?;
    let model = form.model.filter(|model| !model.is_empty()).ok_or_else(|| {
        let message = "a model is needed: `vendor/model`";
        Failure::refused("missing_required_parameter", "model", message)
    })?;
    if agent_named(&model)?.is_some() {
        let message = "an agent keeps its own conversation; name the model of a vendor";
        return Err(Failure::invalid("model", message));
    }
    let mut only_input = Map::new();
    only_input.insert("input".to_owned(), form.input.unwrap_or_default());
    let new = typed::<Request>(&only_input)?.input;
    let history = create::previous(&app, &who, form.previous_response_id.as_deref()).await?;
    let new = input::resolved(&new, &history.items)?;
    let all: Vec<Arc<Item>> = history.items.into_iter().chain(new).collect();
    if all.is_empty() {
        let message = "there is nothing to compact; send items as input, or a previous_response_id";
        return Err(Failure::refused("missing_required_parameter", "input", message));
    }
    let all = input::readable(&all)?;
    input::check_results(&all)?;
    let open = open_calls(&all);
    let (past, tail) = all.split_at(open);
    let (summary, usage) = summarised(
        &app,
        Said {
            model,
            past,
            instructions: form.instructions.unwrap_or_default(),
            prompt_cache_key: form.prompt_cache_key,
        },
    )
    .await?;
    let at = Timestamp::now();
    let id = kept::new_id(at);
    let mut items = recent_words(past);
    items.push(seal::written(&id.replacen("resp_", "cmp_", 1), &summary));
    items.extend(tail.iter().map(|item| (**item).clone()));
    Ok(Json(Compaction {
        output: written(&id, items),
        object: "response.compaction",
        created_at: at.as_second(),
        id,
        usage,
    }))
}

struct Said<'a> {
    model: String,
    past: &'a [Arc<Item>],
    instructions: String,
    prompt_cache_key: Option<String>,
}

/// What mattered, in the model's words.
async fn summarised(app: &App, said: Said<'_>) -> Result<(String, Usage), Failure> {
    let mut input = said.past.to_vec();
    if !said.instructions.is_empty() {
        let told = format!("The instructions of this conversation were:\n\n{}", said.instructions);
        input.insert(0, Arc::new(Item::user(told)));
    }
    input.push(Arc::new(Item::user(compaction::REQUEST)));
    let request = Request {
        model: said.model,
        instructions: compaction::INSTRUCTIONS.to_owned(),
        input,
        store: Some(false),
        prompt_cache_key: said.prompt_cache_key,
        ..Request::default()
    };
    let response = app.engine.models().generate(request).await?;
    let summary = response.output_text();
    if summary.trim().is_empty() {
        let message = "the model gave no summary; try again, or name another model";
        return Err(Failure::new(axum::http::StatusCode::BAD_GATEWAY, "no_summary", message));
    }
    Ok((summary, response.usage.unwrap_or_default()))
}

/// Where the model's words begin that a call without a result is part of; else the end. From there on nothing is put in
/// other words: the result must find its call, and the call what was thought before it.
fn open_calls(items: &[Arc<Item>]) -> usize {
    let answered: BTreeSet<&str> = items
        .iter()
        .filter_map(|item| match &**item {
            Item::FunctionCallOutput(output) => Some(output.call_id.as_str()),
            _ => None,
        })
        .collect();
    let open = items.iter().position(|item| {
        matches!(&**item, Item::FunctionCall(call) if !answered.contains(call.call_id.as_str()))
    });
    let Some(open) = open else { return items.len() };
    let before = items.get(..open).unwrap_or_default();
    before.iter().rposition(|item| !of_model(item)).map_or(0, |place| place.saturating_add(1))
}

fn of_model(item: &Item) -> bool {
    match item {
        Item::Message(message) => message.role == Role::Assistant,
        Item::FunctionCall(_) | Item::Reasoning(_) => true,
        Item::FunctionCallOutput(_) | Item::Unknown(_) => false,
    }
}

/// The last things people said, as many as fit.
fn recent_words(items: &[Arc<Item>]) -> Vec<Item> {
    let mut room = KEPT_WORDS;
    let mut kept = Vec::new();
    for item in items.iter().rev() {
        let Item::Message(message) = &**item else { continue };
        if message.role != Role::User {
            continue;
        }
        let size = serde_json::to_string(message).map_or(usize::MAX, |text| text.len());
        let Some(rest) = room.checked_sub(size) else { break };
        room = rest;
        kept.push((**item).clone());
    }
    kept.reverse();
    kept
}
