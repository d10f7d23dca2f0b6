//! Puts the settings that a folder's files say in place of those in force.
//! Part of `transfer`. What the files cannot say stays as it is: permissions given with `always`, and keys that they only
//! name. A change that somebody else makes meanwhile is not overwritten.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_runtime::transfer::{
    ImportError, differences, keep_literals, read_folder, switch_strangers_off,
};
use agent_world_runtime::{Error, WorldPart, store};
use axum::Json;
use axum::extract::State;

use super::wire::{ChangedWorld, Folder, FolderQuery};
use super::{make_usual_folder, refuse_own_data, refused};
use crate::access::Admin;
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::Problem;

/// Replaces the settings of a world by those that files say, as an export with `form=folder` gives them.
///
/// Permissions given with `always` stay, and so do keys that the files only name. `changes` has a line for each setting
/// that differs; with `dry_run` nothing is written. MCP servers that are new or changed come switched off, unless `trust`
/// lets them start.
#[utoipa::path(put, path = "/api/worlds/{world}/folder", operation_id = "replace_settings", tag = "transfer",
    params(("world" = String, Path, description = "The world's id"), FolderQuery),
    request_body = Folder,
    responses(
        (status = 200, body = ChangedWorld),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 429, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn replace_settings(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    Query(FolderQuery { dry_run, trust }): Query<FolderQuery>,
    Body(folder): Body<Folder>,
) -> Result<Json<ChangedWorld>, Problem> {
    let id = WorldId::new(id);
    let stored = app.engine.store().world(&id).await?;
    let present = stored.ok_or_else(|| Problem::from(Error::UnknownWorld(id.clone())))?;
    let mut world = wanted(&app, &present, &folder).await?;
    let switched_off = match trust {
        true => Vec::new(),
        false => switch_strangers_off(&mut world, &present),
    };
    let changes = differences(&present, &world).map_err(Problem::internal)?;
    let changed = !dry_run && !changes.is_empty();
    let mut version = present.version;
    if changed {
        let part = WorldPart { entity: "world", action: "updated", id: id.as_str() };
        version = match app.engine.update_part(world, part, &who.name).await {
            Err(Error::Store(store::Error::WorldConflict { .. })) => {
                let detail = format!("somebody else changed world {id} meanwhile; try again");
                return Err(Problem::conflict("version_conflict", detail));
            }
            written => written?.version,
        };
    }
    Ok(Json(ChangedWorld { id: id.to_string(), changed, changes, switched_off, version }))
}

/// The world as the files say it, with what they do not say.
async fn wanted(app: &App, present: &World, folder: &Folder) -> Result<World, Problem> {
    let mut world = read_folder(&folder.files, Timestamp::now())
        .map_err(|why| refused(ImportError::Unreadable(why)))?;
    world.id = present.id.clone();
    world.working_directory = match world.working_directory {
        Some(path) => {
            refuse_own_data(app, &path)?;
            Some(path)
        }
        None => make_usual_folder(app, &present.id).await?,
    };
    keep_literals(&mut world, present);
    world.version = present.version;
    world.created_at = present.created_at;
    world.updated_at = present.updated_at;
    world.policy.granted = present.policy.granted.clone();
    Ok(world)
}
