//! The tools of a world: its program's own and those of its MCP servers.
//! Only looks. What clients offer belongs to a chat, and is not here.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::config::{Tools, World};
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place;
use crate::access::Viewer;
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::wire::{Page, Paging, Tool};

/// How long servers that are just starting are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_tools))
}

/// The tools of a world, by name. Servers that are just starting are waited for, a few seconds at most.
#[utoipa::path(
    get, path = "/api/worlds/{world}/tools", tag = "tools", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id"), Paging),
    responses(
        (status = 200, body = Page<Tool>),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn list_tools(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Tool>>, Problem> {
    let world = place::world(&app, &id).await?;
    let tools = tools_of(&app, &world).await;
    let limit = paging.limit();
    let found = tools
        .iter()
        .filter(|spec| paging.after.as_ref().is_none_or(|after| spec.name > *after))
        .take(limit + 1)
        .map(|spec| Tool::from_spec(spec, &world))
        .collect();
    Ok(Json(Page::cut(found, limit, |tool| tool.name.clone())))
}

/// What a world's tools say about themselves, as far as it can be known soon.
pub(super) async fn tools_of(app: &App, world: &World) -> Arc<Tools> {
    // Asked for once, the servers are started.
    app.engine.tools_of(world);
    // A server that takes longer gives its tools later.
    tokio::time::timeout(PATIENCE, app.engine.tools_ready(world)).await.ok();
    app.engine.tools_of(world)
}
