//! What there is to do with a stored response: read it, delete it, cancel it, list what it answered.
//! Only its owner and admins find it; everybody else is told that it is not there.

use std::sync::Arc;

use agent_world_runtime::llm::resource::resource;
use agent_world_runtime::llm::{Request, Response};
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::failure::{ErrorBody, Failure, short};
use super::resource::{Deleted, ItemList, ResponseObject};
use super::{background, kept};
use crate::access::Member;
use crate::app::App;
use crate::extract::Query;

const MOST_ITEMS: usize = 100;
const ITEMS: usize = 20;

/// How a response is read. Fields that are not listed are not looked at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Reading {
    /// Events are told only while a response is asked for; `true` is refused.
    pub stream: Option<String>,
}

/// Reads a stored response, also while it is made.
#[utoipa::path(get, path = "/v1/responses/{response_id}", operation_id = "get_response", tag = "responses",
    params(("response_id" = String, Path), Reading), responses(
    (status = 200, body = ResponseObject), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
))]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Member(who): Member,
    Path(id): Path<String>,
    Query(reading): Query<Reading>,
) -> Result<Json<Value>, Failure> {
    if reading.stream.as_deref() == Some("true") {
        let message = "a stored response is not told again event by event; read it without stream";
        return Err(Failure::refused("unsupported_parameter", "stream", message));
    }
    Ok(Json(background::current(&app, &who, &id).await?.response))
}

/// Forgets a stored response. What is still being made of it is ended.
#[utoipa::path(delete, path = "/v1/responses/{response_id}", operation_id = "delete_response", tag = "responses",
    params(("response_id" = String, Path)), responses(
    (status = 200, body = Deleted), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody),
))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Member(who): Member,
    Path(id): Path<String>,
) -> Result<Json<Deleted>, Failure> {
    kept::load(&app, &who, &id).await?;
    background::end(&app, &id).await;
    if !kept::delete(&app, &id).await? {
        return Err(Failure::no_response(&id));
    }
    Ok(Json(Deleted { id, object: "response", deleted: true }))
}

/// Ends a response that is made in the background.
#[utoipa::path(post, path = "/v1/responses/{response_id}/cancel", operation_id = "cancel_response", tag = "responses",
    params(("response_id" = String, Path)), responses(
    (status = 200, body = ResponseObject), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
))]
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Member(who): Member,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    Ok(Json(background::cancel(&app, &who, &id).await?.response))
}

/// Which of the items are wanted. Fields that are not listed are not looked at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// How many; 20 unless said, at most 100.
    #[param(minimum = 1, maximum = 100)]
    pub limit: Option<usize>,
    /// `desc`, the newest first, unless `asc` is said.
    pub order: Option<String>,
    /// The item that ended the page before.
    pub after: Option<String>,
}

/// What a response answered: the conversation before it, and what was new.
#[utoipa::path(get, path = "/v1/responses/{response_id}/input_items", operation_id = "list_response_input_items", tag = "responses",
    params(("response_id" = String, Path), Listing), responses(
    (status = 200, body = ItemList), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody),
))]
pub(super) async fn input_items(
    State(app): State<Arc<App>>,
    Member(who): Member,
    Path(id): Path<String>,
    Query(listing): Query<Listing>,
) -> Result<Json<ItemList>, Failure> {
    let kept = kept::load(&app, &who, &id).await?;
    let newest_first = match listing.order.as_deref() {
        None | Some("desc") => true,
        Some("asc") => false,
        Some(other) => {
            let message = format!("order is `asc` or `desc`, not `{}`", short(other));
            return Err(Failure::invalid("order", message));
        }
    };
    let limit = listing.limit.unwrap_or(ITEMS);
    if !(1..=MOST_ITEMS).contains(&limit) {
        return Err(Failure::invalid("limit", format!("limit is from 1 to {MOST_ITEMS}")));
    }
    let asked = kept::asked(&app, &who, kept).await?.ok_or_else(|| Failure::no_response(&id))?;
    let items = asked.iter().map(|item| (**item).clone()).collect();
    let mut items = written(&id, items);
    if newest_first {
        items.reverse();
    }
    if let Some(after) = &listing.after {
        let place = items.iter().position(|item| id_of(item).as_deref() == Some(after.as_str()));
        let Some(place) = place else {
            let message = format!("`{}` is no item of this response", short(after));
            return Err(Failure::invalid("after", message));
        };
        items.drain(..=place);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let (first_id, last_id) = (items.first().and_then(id_of), items.last().and_then(id_of));
    Ok(Json(ItemList { object: "list", data: items, first_id, last_id, has_more }))
}

/// Items as a response shows them: each with an id and a status. Those without an id get one from their place.
pub(super) fn written(id: &str, items: Vec<agent_world_core::item::Item>) -> Vec<Value> {
    let id = format!("{id}_in");
    let shown =
        resource(&Request::default(), &Response { id, output: items, ..Response::default() });
    match shown.get("output").cloned() {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn id_of(item: &Value) -> Option<String> {
    item.get("id").and_then(Value::as_str).map(str::to_owned)
}
