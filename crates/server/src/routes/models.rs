//! The models that worlds use, and what any model can do: for whoever chooses one. Merged in `routes::settings`.
//! Only looks into tables: no vendor is asked, and whether there is a key is not told.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_world_core::config::World;
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Viewer;
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::wire::{Model, Page, Paging};

/// The model that needs no key.
const DEMO: &str = "demo/demo";

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_models)).routes(routes!(show_model))
}

/// The models that worlds and agents use, by name, with what they can do. A vendor that is set up may have more.
#[utoipa::path(
    get, path = "/api/models", operation_id = "list_known_models", tag = "agents", params(Paging),
    responses((status = 200, body = Page<Model>)),
)]
async fn list_models(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Model>>, Problem> {
    let worlds = app.engine.store().worlds().await?;
    let named: BTreeSet<&str> = worlds.iter().flat_map(named).chain([DEMO]).collect();
    let limit = paging.limit();
    let found = named
        .into_iter()
        .filter(|name| paging.after.as_deref().is_none_or(|after| *name > after))
        .filter_map(|name| known(&app, name).ok())
        .take(limit + 1)
        .collect();
    Ok(Json(Page::cut(found, limit, |model: &Model| model.id.clone())))
}

/// What a model can do, used or not. Its name is `vendor/model`, with `%2F` for each slash.
#[utoipa::path(
    get, path = "/api/models/{name}", operation_id = "get_known_model", tag = "agents",
    params(("name" = String, Path, description = "Its name, as `vendor/model`")),
    responses(
        (status = 200, body = Model),
        (status = 404, description = "No vendor of that name is set up", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn show_model(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(name): Path<String>,
) -> Result<Json<Model>, Problem> {
    known(&app, &name).map(Json)
}

fn known(app: &App, name: &str) -> Result<Model, Problem> {
    let can = app.engine.models().capabilities(name);
    let can = can.map_err(|error| Problem::not_found("model_not_found", error.to_string()))?;
    Ok(Model::new(name, &can))
}

/// The models that a world names.
fn named(world: &World) -> impl Iterator<Item = &str> {
    let of_agents = world.agents.iter().filter_map(|agent| agent.model.as_deref());
    of_agents.chain(world.default_model.as_deref()).chain(world.title_model.as_deref())
}
