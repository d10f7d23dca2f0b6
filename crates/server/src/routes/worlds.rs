//! Worlds: listed, made, read, changed and deleted.
//! What a body means for the settings is in `routes::settings`. Every change names who made it.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::command::Rejection;
use agent_world_core::config;
use agent_world_core::ids::WorldId;
use agent_world_runtime::{Error, WorldPart};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::{self, Changed, Wanted};
use super::settings::{self, Change, slug};
use crate::access::{Admin, Viewer};
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::Problem;
use crate::secrets;
use crate::wire::{Page, Paging, World, WorldInput};

/// Names that are tried for a world that was given none.
const NAMES: usize = 1_000;
/// Ids that would hide behind an address of the interface: `POST /api/worlds/import`.
const RESERVED: [&str; 1] = ["import"];
/// Attempts at deleting a world in which others delete chats.
const ATTEMPTS: u32 = 8;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_worlds, create_world)).routes(routes!(
        get_world,
        update_world,
        delete_world
    ))
}

/// All worlds, by id.
#[utoipa::path(
    get, path = "/api/worlds", tag = "worlds", params(Paging), security(("bearer" = ["viewer"])),
    responses((status = 200, body = Page<World>)),
)]
async fn list_worlds(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<World>>, Problem> {
    let worlds = app.engine.store().worlds().await?;
    let later = |world: &&config::World| {
        paging.after.as_deref().is_none_or(|after| world.id.as_str() > after)
    };
    let limit = paging.limit();
    let found: Result<Vec<World>, Problem> =
        worlds.iter().filter(later).take(limit + 1).map(World::from_settings).collect();
    Ok(Json(Page::cut(found?, limit, |world| world.id.clone())))
}

/// Makes a world, with its first chat.
///
/// Without an `id` one is made of the name. Without a `working_directory` it gets a folder of its own, where the server has
/// a place for it.
#[utoipa::path(
    post, path = "/api/worlds", tag = "worlds", request_body = WorldInput, security(("bearer" = ["admin"])),
    responses(
        (status = 201, body = World, headers(
            ("ETag" = String, description = "The version of its settings"),
            ("Location" = String, description = "Where it is"),
        )),
        (status = 409, description = "There is a world of that id", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn create_world(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Body(input): Body<WorldInput>,
) -> Result<Response, Problem> {
    if input.version.is_some() {
        return Err(settings::refused("version", "a version is counted, and cannot be chosen"));
    }
    let Some(name) = input.name.clone() else {
        return Err(settings::refused("name", "a world needs a name"));
    };
    let chosen = input.id.clone();
    let base = chosen.clone().unwrap_or_else(|| slug(&name, "world"));
    let change = Change::read(&app, input).await?;
    for number in 1..=NAMES {
        let id = numbered(&base, number);
        match create(&app, &id, change.clone(), &who.name).await {
            Err(problem) if chosen.is_none() && problem.code() == "world_exists" => {}
            made => {
                let made = made?;
                let location = place::location(&["api", "worlds", made.id.as_str()]);
                let shown = Json(World::from_settings(&made)?);
                return Ok(
                    (StatusCode::CREATED, place::tag(&made), location, shown).into_response()
                );
            }
        }
    }
    let detail =
        format!("every id that could be made of the name is taken; choose one, like {base}-x");
    Err(Problem::conflict("world_exists", detail))
}

async fn create(app: &App, id: &str, change: Change, by: &str) -> Result<config::World, Problem> {
    let id = WorldId::new(id);
    check_id(Some(&id))?;
    if app.engine.store().world(&id).await?.is_some() {
        return Err(Error::WorldExists(id).into());
    }
    let mut world = config::World::new(id.clone(), "", Timestamp::now());
    // Before a folder is made and keys are put away: a bad id must not become a path.
    let trial = change.trial(&world)?;
    trial.check().map_err(Error::from)?;
    trial.check_bounds(None).map_err(Error::from)?;
    let change = change.put_away(app, &id).await?;
    change.apply(&mut world)?;
    if world.working_directory.is_none()
        && let Some(workspace) = &app.workspace
    {
        let folder = workspace.join(id.as_str());
        world.working_directory = Some(make_private(folder).await?);
    }
    let made = app.engine.create_world(world, by).await.map_err(Problem::from);
    if made.as_ref().is_err_and(Problem::is_refusal) {
        change.take_back(app, &id).await;
    }
    made
}

/// `name`, `name-2`, `name-3`, none longer than an id may be.
fn numbered(base: &str, number: usize) -> String {
    if number == 1 {
        return base.to_owned();
    }
    let ending = format!("-{number}");
    let room = agent_world_core::ids::SLUG_LIMIT - ending.len();
    let base: String = base.chars().take(room).collect();
    format!("{base}{ending}")
}

/// Refuses an id that is an address of its own.
pub(crate) fn check_id(id: Option<&WorldId>) -> Result<(), Problem> {
    match id {
        Some(id) if RESERVED.contains(&id.as_str()) => {
            let detail = format!(
                "no world can be called {id}: it is the name of an address; choose another id"
            );
            Err(Problem::conflict("world_exists", detail))
        }
        _ => Ok(()),
    }
}

/// A folder that only its owner may look into.
pub(crate) async fn make_private(folder: PathBuf) -> Result<String, Problem> {
    let shown = folder.display().to_string();
    let made = tokio::task::spawn_blocking(move || {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        only_for_owner(&mut builder);
        builder.create::<&FilePath>(&folder)
    });
    made.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
    Ok(shown)
}

#[cfg(unix)]
fn only_for_owner(builder: &mut std::fs::DirBuilder) {
    use std::os::unix::fs::DirBuilderExt as _;
    builder.mode(0o700);
}

#[cfg(not(unix))]
fn only_for_owner(_: &mut std::fs::DirBuilder) {}

/// A world.
#[utoipa::path(
    get, path = "/api/worlds/{world}", tag = "worlds", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "Its id")),
    responses(
        (status = 200, body = World, headers(("ETag" = String, description = "The version of its settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn get_world(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    shown(&place::world(&app, &id).await?)
}

/// Changes settings of a world: a JSON merge patch.
///
/// Without `If-Match` and `version` the change is made on whatever is stored, so that of two changes of different settings
/// none is lost.
#[utoipa::path(
    patch, path = "/api/worlds/{world}", tag = "worlds", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "Its id"),
        ("If-Match" = Option<String>, Header, description = "The version the change was made for"),
    ),
    request_body = WorldInput,
    responses(
        (status = 200, body = World, headers(("ETag" = String, description = "The version of its settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn update_world(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(input): Body<WorldInput>,
) -> Result<Response, Problem> {
    let stored = place::world(&app, &id).await?;
    if input.id.as_ref().is_some_and(|given| *given != id) {
        return Err(settings::refused("id", "the id of a world cannot be changed"));
    }
    let wanted = wanted.and(input.version);
    wanted.check(&stored)?;
    let change = Change::read(&app, input).await?;
    // Keys are put away only for a change that can be made.
    let trial = change.trial(&stored)?;
    trial.check().map_err(Error::from)?;
    trial.check_bounds(Some(&stored)).map_err(Error::from)?;
    let change = change.put_away(&app, &stored.id).await?;
    let part = WorldPart { entity: "world", action: "updated", id: &id };
    let changed =
        place::change(&app, &id, &wanted, part, &who.name, |world| change.apply(world)).await;
    if changed.as_ref().is_err_and(Problem::is_refusal) {
        change.take_back(&app, &stored.id).await;
    }
    let Changed { before, after } = changed?;
    // Asked for its tools, whoever runs the servers learns what they are now.
    app.engine.tools_of(&after);
    change.tidy(&app, &before, &after).await;
    shown(&after)
}

/// Deletes a world with its chats. The audit stays, and so does the folder its tools worked in.
#[utoipa::path(
    delete, path = "/api/worlds/{world}", tag = "worlds", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "Its id"),
        ("If-Match" = Option<String>, Header, description = "The version that is to be deleted"),
    ),
    responses(
        (status = 204),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn delete_world(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    wanted: Wanted,
) -> Result<StatusCode, Problem> {
    let stored = place::world(&app, &id).await?;
    wanted.check(&stored)?;
    for _ in 0..ATTEMPTS {
        match app.engine.delete_world(&stored.id, &who.name).await {
            // Somebody else deletes a chat of it, or the world: what is left is looked at again.
            Err(Error::Rejected(Rejection::ChatDeleted | Rejection::NoChat))
            | Err(Error::UnknownChat(_)) => {
                place::world(&app, &id).await?;
            }
            deleted => {
                deleted?;
                for (name, server) in &stored.mcp_servers {
                    secrets::forget_replaced(&app, &id, name, Some(server), None).await;
                }
                return Ok(StatusCode::NO_CONTENT);
            }
        }
    }
    let detail = format!("others are changing world {id}; try again in a moment");
    Err(Problem::conflict("conflict", detail))
}

fn shown(world: &config::World) -> Result<Response, Problem> {
    Ok((place::tag(world), Json(World::from_settings(world)?)).into_response())
}
