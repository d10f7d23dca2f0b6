//! `GET /v1/models`: the names that can be asked. Those that worlds and agents use, the demo model, and each agent
//! itself. A vendor that is set up may have more: its own list is not asked for, and any name of it can be tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_world_core::config::World;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::failure::{ErrorBody, Failure, short};
use crate::access::Member;
use crate::app::App;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ModelObject {
    #[schema(example = "demo/demo")]
    pub id: String,
    pub object: &'static str,
    /// Seconds since 1970; 0 where nobody knows.
    pub created: i64,
    /// The vendor, or the world an agent lives in.
    pub owned_by: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    pub object: &'static str,
    pub data: Vec<ModelObject>,
}

/// The models that can be asked.
#[utoipa::path(get, path = "/v1/models", operation_id = "list_models", tag = "responses", responses(
    (status = 200, body = ModelList), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Member(_): Member,
) -> Result<Json<ModelList>, Failure> {
    Ok(Json(ModelList { object: "list", data: known(&app).await? }))
}

/// One of them.
#[utoipa::path(get, path = "/v1/models/{model}", operation_id = "get_model", tag = "responses", params(("model" = String, Path)), responses(
    (status = 200, body = ModelObject), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody),
))]
pub(super) async fn one(
    State(app): State<Arc<App>>,
    Member(_): Member,
    Path(id): Path<String>,
) -> Result<Json<ModelObject>, Failure> {
    find(&app, &id).await
}

/// The same for names with a slash in them, which many clients do not write as `%2F`.
pub(super) async fn one_of_vendor(
    State(app): State<Arc<App>>,
    Member(_): Member,
    Path((vendor, rest)): Path<(String, String)>,
) -> Result<Json<ModelObject>, Failure> {
    find(&app, &format!("{vendor}/{rest}")).await
}

async fn find(app: &App, id: &str) -> Result<Json<ModelObject>, Failure> {
    let found = known(app).await?.into_iter().find(|model| model.id == id);
    found.map(Json).ok_or_else(|| {
        let message = format!("`{}` is not among the models; GET /v1/models lists them", short(id));
        let mut failure = Failure::new(StatusCode::NOT_FOUND, "model_not_found", message);
        failure.detail.param = Some("model".to_owned());
        failure
    })
}

async fn known(app: &App) -> Result<Vec<ModelObject>, Failure> {
    let vendors: Vec<&str> = app.engine.models().vendors().collect();
    let mut models = BTreeMap::new();
    let mut add = |id: String, created: i64, owned_by: &str| {
        let model =
            ModelObject { id: id.clone(), object: "model", created, owned_by: owned_by.to_owned() };
        models.entry(id).or_insert(model);
    };
    if vendors.contains(&"demo") {
        add("demo/demo".to_owned(), 0, "demo");
    }
    for world in app.engine.store().worlds().await? {
        for name in named(&world) {
            if let Some((vendor, _)) =
                name.split_once('/').filter(|(vendor, _)| vendors.contains(vendor))
            {
                add(name.to_owned(), 0, vendor);
            }
        }
        let created = world.created_at.as_second();
        for agent in &world.agents {
            add(format!("world:{}/{}", world.id, agent.id), created, world.id.as_str());
        }
    }
    Ok(models.into_values().collect())
}

/// The models that a world names.
fn named(world: &World) -> impl Iterator<Item = &str> {
    let of_agents = world.agents.iter().filter_map(|agent| agent.model.as_deref());
    of_agents.chain(world.default_model.as_deref()).chain(world.title_model.as_deref())
}
