//! Worlds as files over HTTP: a whole world with its chats as one document, or its settings as the files of a folder.
//! Only for admins: a document has everything that was said, and an import brings permissions along. What a document is
//! and whether it is true is decided in the runtime; here it is only read, handed on and answered for.

mod folder;
mod wire;

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::ids::{WorldId, is_slug};
use agent_world_runtime::Error;
use agent_world_runtime::transfer::{
    Document, ImportError, Imported, Literals, leave_out, read_folder, replace_literals,
    switch_servers_off, write_folder,
};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Admin;
use crate::app::App;
use crate::extract::{Query, check_type, parse};
use crate::problem::Problem;
use crate::routes::{check_id, make_private};
use wire::{ExportQuery, Folder, Form, ImportQuery, ImportedWorld, Probe, WorldForm};

/// A document is held in memory while it is looked through: one at a time.
static IMPORTS: Semaphore = Semaphore::const_new(1);

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(export))
        .routes(routes!(import))
        .routes(routes!(folder::replace_settings))
}

/// A whole world with its chats, or its settings as files.
///
/// With `form=json` the document has the settings, the rules that were granted, the log of every chat as it was sealed
/// (deleted chats included) and the long results that the logs name. With `form=folder` it has the settings only. Keys
/// in the settings of MCP servers are not in it: a variable is named in place of each, and `missing_secrets` lists them.
#[utoipa::path(get, path = "/api/worlds/{world}/export", operation_id = "export_world", tag = "transfer",
    params(("world" = String, Path, description = "The world's id"), ExportQuery),
    responses(
        (status = 200, body = WorldForm, description = "The document; with `form=folder`, `{files, missing_secrets}`"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
async fn export(
    State(app): State<Arc<App>>,
    _: Admin,
    world: Result<Path<String>, PathRejection>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let Ok(Path(world)) = world else {
        return Err(Problem::not_found("world_not_found", "no world has such an id"));
    };
    let id = WorldId::new(world);
    match query.form {
        Form::Json => whole(&app, &id).await,
        Form::Folder => folder(&app, &id).await,
    }
}

async fn whole(app: &App, id: &WorldId) -> Result<Response, Problem> {
    let pieces =
        app.engine.export(id, Literals::Replaced, usual_folder(app, id).as_deref()).await?;
    let pieces = pieces.map_ok(Bytes::from).inspect_err(|error| {
        // The status is sent already; the connection ends early, and no client takes that for the whole document.
        tracing::error!(%error, "an export broke off");
    });
    // Only slugs are ids of worlds that exist.
    let disposition = format!("attachment; filename=\"{id}.json\"");
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

async fn folder(app: &App, id: &WorldId) -> Result<Response, Problem> {
    let world = app.engine.store().world(id).await?;
    let mut world = world.ok_or_else(|| Problem::from(Error::UnknownWorld(id.clone())))?;
    leave_out(usual_folder(app, id).as_deref(), &mut world);
    let missing_secrets = replace_literals(&mut world);
    let files = write_folder(&world).map_err(Problem::internal)?;
    let missing_secrets = missing_secrets.into_iter().map(Into::into).collect();
    Ok(Json(Folder { files, missing_secrets }).into_response())
}

/// Takes a world in, with all its chats or not at all.
///
/// The body is what an export gave: a whole world, or the files of a folder. Every log is verified first; a document that
/// is not true is refused, and the chat and event are named. An import moves or restores a world and is never a copy:
/// chats keep their ids. Whatever was under way is stopped, so nothing starts to run.
#[utoipa::path(post, path = "/api/worlds/import", operation_id = "import_world", tag = "transfer",
    params(ImportQuery),
    request_body(content = WorldForm),
    responses(
        (status = 201, body = ImportedWorld),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 429, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
async fn import(
    State(app): State<Arc<App>>,
    admin: Admin,
    Query(query): Query<ImportQuery>,
    request: Request,
) -> Result<(StatusCode, Json<ImportedWorld>), Problem> {
    check_type(&request)?;
    let permit = IMPORTS.try_acquire().map_err(|_| {
        let detail = "another world is being imported; try again when that is done";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "import_under_way", detail)
    })?;
    let bytes = read(request.into_body(), app.gate.limits.import_bytes).await?;
    let by = admin.name.clone();
    // A task of its own: a client that goes away must not leave half a world behind.
    let task = tokio::spawn(async move {
        let imported = take_in(&app, bytes, query, &by).await;
        drop(permit);
        imported
    });
    let imported = task.await.map_err(Problem::internal)??;
    Ok((StatusCode::CREATED, Json(imported.into())))
}

async fn take_in(
    app: &App,
    bytes: Vec<u8>,
    query: ImportQuery,
    by: &str,
) -> Result<Imported, Problem> {
    // Reading a long document takes its time, and others must not wait for it.
    let parsed = tokio::task::spawn_blocking(move || parse_either(&bytes));
    let (named, trust) = (query.name.map(WorldId::from), query.trust);
    let imported = match parsed.await.map_err(Problem::internal)?? {
        Parsed::Whole(mut document) => {
            if let Some(id) = &named {
                document.rename(id).map_err(refused)?;
            }
            check_id(document.id().as_ref())?;
            if !trust {
                document.switch_servers_off();
            }
            match (document.working_directory(), document.id()) {
                (Some(folder), _) => refuse_own_data(app, folder)?,
                (None, Some(id)) => {
                    if let Some(folder) = make_usual_folder(app, &id).await? {
                        document.set_working_directory(&folder);
                    }
                }
                (None, None) => {}
            }
            app.engine.import(*document, by).await
        }
        Parsed::Folder(folder) => {
            let mut world = read_folder(&folder.files, Timestamp::now())
                .map_err(|why| refused(ImportError::Unreadable(why)))?;
            world.id = named.unwrap_or(world.id);
            check_id(Some(&world.id))?;
            if !trust {
                switch_servers_off(&mut world);
            }
            world.working_directory = match world.working_directory {
                Some(folder) => {
                    refuse_own_data(app, &folder)?;
                    Some(folder)
                }
                None => make_usual_folder(app, &world.id).await?,
            };
            let missing = folder.missing_secrets.into_iter().map(Into::into).collect();
            app.engine.import_settings(world, missing, by).await
        }
    };
    imported.map_err(refused)
}

/// The folder that a world of this server gets when it names none.
fn usual_folder(app: &App, id: &WorldId) -> Option<PathBuf> {
    // A bad id must not become a path.
    let workspace = app.workspace.as_ref().filter(|_| is_slug(id.as_str()))?;
    Some(workspace.join(id.as_str()))
}

async fn make_usual_folder(app: &App, id: &WorldId) -> Result<Option<String>, Problem> {
    match usual_folder(app, id) {
        Some(folder) => make_private(folder).await.map(Some),
        None => Ok(None),
    }
}

/// A folder may be one that another machine had. It may not be one that holds this program's own data.
fn refuse_own_data(app: &App, folder: &str) -> Result<(), Problem> {
    let (folder, workspace) = (FilePath::new(folder), app.workspace.as_deref());
    let inside = |own: &FilePath| {
        let allowed = workspace.is_some_and(|workspace| folder.starts_with(workspace));
        own.starts_with(folder) || (folder.starts_with(own) && !allowed)
    };
    if !app.data_folder.as_deref().is_some_and(inside) {
        return Ok(());
    }
    let detail =
        "the world's working directory holds this program's own data; name another in the file";
    Err(Problem::unprocessable("import_refused", detail))
}

enum Parsed {
    Whole(Box<Document>),
    Folder(Folder),
}

fn parse_either(bytes: &[u8]) -> Result<Parsed, Problem> {
    let probe: Probe = parse(bytes)?;
    if probe.files.is_some() {
        return parse(bytes).map(Parsed::Folder);
    }
    parse(bytes).map(|document| Parsed::Whole(Box::new(document)))
}

/// The whole body, or what is wrong with it. The usual limit is for requests that people write.
async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| {
            let detail = "the body ended before it was complete; send it again";
            Problem::new(StatusCode::BAD_REQUEST, "body_unreadable", detail)
        })?;
        if bytes.len() + piece.len() > limit {
            let detail = format!(
                "the document is larger than the {limit} bytes this server takes; import it with `agent-world import`"
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn refused(error: ImportError) -> Problem {
    let detail = error.to_string();
    match error {
        ImportError::Unreadable(_) => Problem::unprocessable("import_refused", detail),
        ImportError::Log { chat, event, .. } => Problem::unprocessable("log_refused", detail)
            .with("chat_id", chat.as_str())
            .with("event", event),
        ImportError::ChatExists(chat) => {
            Problem::conflict("chat_exists", detail).with("chat_id", chat.as_str())
        }
        ImportError::ApprovalExists(approval) => {
            Problem::conflict("approval_exists", detail).with("approval_id", approval.as_str())
        }
        ImportError::LeftInPart { .. } => {
            tracing::error!(error = detail, "an import failed and could not be taken back");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "import_left_in_part", detail)
        }
        ImportError::Engine(error) => error.into(),
    }
}
