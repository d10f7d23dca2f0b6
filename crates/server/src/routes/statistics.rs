//! How the tools and models of worlds were used. Only looks; also tells of worlds that are deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_world_core::ids::WorldId;
use agent_world_runtime::store::{AuditFilter, AuditPage, UsageScope};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place;
use crate::access::Viewer;
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::wire::{ModelUse, Page, Statistics, ToolUse, limit};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(world_statistics)).routes(routes!(all_statistics))
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
    Ok(Json(of_world(&app, world.id).await?))
}

/// Which worlds are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only this one.
    world: Option<String>,
    /// How many; 100 unless said, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The world that ended the page before: `next` of that page.
    after: Option<String>,
}

/// The same of all worlds in which anything was done, by id; also of those that are deleted.
#[utoipa::path(
    get, path = "/api/stats", tag = "audit", params(Wanted), security(("bearer" = ["viewer"])),
    responses(
        (status = 200, body = Page<Statistics>),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn all_statistics(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<Statistics>>, Problem> {
    let limit = limit(wanted.limit);
    let (worlds, named) = match wanted.world {
        Some(id) => (BTreeSet::from([known(&app, WorldId::new(id)).await?]), true),
        None => (worlds(&app).await?, false),
    };
    let after = wanted.after.unwrap_or_default();
    let later = worlds.into_iter().filter(|world| world.as_str() > after.as_str());
    let mut found = Vec::new();
    for world in later {
        let one = of_world(&app, world).await?;
        if named || !one.is_empty() {
            found.push(one);
        }
        if found.len() > limit {
            break;
        }
    }
    Ok(Json(Page::cut(found, limit, |one: &Statistics| one.world_id.clone())))
}

/// Those that are there, and those that were.
async fn worlds(app: &App) -> Result<BTreeSet<WorldId>, Problem> {
    let store = app.engine.store();
    let there = store.worlds().await?.into_iter().map(|world| world.id);
    let told_of = store.statistics(None).await?.into_iter().map(|sums| sums.world);
    Ok(there.chain(told_of).collect())
}

/// A world that is deleted is known as long as anything is told of it.
async fn known(app: &App, world: WorldId) -> Result<WorldId, Problem> {
    let filter = AuditFilter { world: Some(world.clone()), ..AuditFilter::default() };
    let told_of = app.engine.store().audit(&filter, AuditPage::After(0, 1)).await?;
    if told_of.is_empty() {
        place::world(app, world.as_str()).await?;
    }
    Ok(world)
}

async fn of_world(app: &App, world: WorldId) -> Result<Statistics, Problem> {
    let store = app.engine.store();
    let tools = store.statistics(Some(&world)).await?;
    let usage = store.usage(&UsageScope::World(world.clone())).await?;
    Ok(Statistics {
        world_id: world.to_string(),
        tools: tools.iter().map(ToolUse::of).collect(),
        usage: usage.iter().map(ModelUse::of).collect(),
    })
}
