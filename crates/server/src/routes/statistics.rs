//! How a world's tools and models were used. Only looks.

use std::sync::Arc;

use agent_world_runtime::store::UsageScope;
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place;
use crate::access::Viewer;
use crate::app::App;
use crate::extract::Path;
use crate::problem::Problem;
use crate::wire::{ModelUse, Statistics, ToolUse};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(world_statistics))
}

/// How tools were used and what models cost in tokens, agent by agent.
#[utoipa::path(
    get, path = "/api/worlds/{world}/stats", tag = "audit", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id")),
    responses(
        (status = 200, body = Statistics),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn world_statistics(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
) -> Result<Json<Statistics>, Problem> {
    let world = place::world(&app, &id).await?;
    let store = app.engine.store();
    let tools = store.statistics(Some(&world.id)).await?;
    let usage = store.usage(&UsageScope::World(world.id)).await?;
    Ok(Json(Statistics {
        world_id: id,
        tools: tools.iter().map(ToolUse::of).collect(),
        usage: usage.iter().map(ModelUse::of).collect(),
    }))
}
