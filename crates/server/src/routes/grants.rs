//! Permissions for the rest of a chat: listed and taken back. Merged in `routes::work`.
//! Never gives one: only an answer to a request does.

use std::sync::Arc;

use agent_world_core::ids::GrantId;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{ChatPath, InChat, unknown_cursor};
use super::refusals::{Changing, Reading};
use crate::access::{Approver, Viewer};
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::wire::{Grant, Page, Paging};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(revoke))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct GrantPath {
    /// The grant's id.
    grant: String,
}

/// The permissions in force for the rest of a chat, oldest first.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/grants", operation_id = "list_grants",
    tag = "grants", params(ChatPath, Paging), responses((status = 200, body = Page<Grant>), Reading))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Grant>>, Problem> {
    let limit = paging.limit();
    let grants = app.engine.store().grants(&chat.id).await?;
    let first = match &paging.after {
        None => 0,
        Some(after) => match grants.iter().position(|grant| grant.id.as_str() == after) {
            Some(place) => place + 1,
            None => return Err(unknown_cursor("after", after)),
        },
    };
    let wanted = grants.iter().skip(first).take(limit + 1);
    let grants = wanted.map(|grant| Grant::new(&chat.id, grant)).collect();
    Ok(Json(Page::cut(grants, limit, |grant: &Grant| grant.id.clone())))
}

/// Takes a permission back: from now on it is asked again.
#[utoipa::path(delete, path = "/api/worlds/{world}/chats/{chat}/grants/{grant}", operation_id = "revoke_grant",
    tag = "grants", params(ChatPath, GrantPath), responses((status = 204), Changing))]
async fn revoke(
    State(app): State<Arc<App>>,
    who: Approver,
    InChat(chat): InChat,
    Path(GrantPath { grant }): Path<GrantPath>,
) -> Result<StatusCode, Problem> {
    app.engine.revoke_grant(&chat.id, &GrantId::new(grant), &who.name).await?;
    Ok(StatusCode::NO_CONTENT)
}
