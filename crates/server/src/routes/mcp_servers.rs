//! The MCP servers of a world: how they are, which there are, and starting one anew.
//! Keys in what somebody sends are put away and never shown. What runs the servers follows the settings by itself.

use std::sync::Arc;

use agent_world_core::config::{self, World};
use agent_world_runtime::tools::mcp::ServerHealth;
use agent_world_runtime::{Error, WorldPart};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::{self, Changed, Wanted};
use super::settings::{Ready, import};
use crate::access::{Admin, Viewer};
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::Problem;
use crate::secrets::{self, Folder};
use crate::wire::{AddedServers, McpServer, McpServerSwitch, McpServersInput, Page, Paging};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_mcp_servers, add_mcp_servers, remove_mcp_server))
        .routes(routes!(get_mcp_server, switch_mcp_server, delete_mcp_server))
        .routes(routes!(restart_mcp_server))
}

/// The MCP servers of a world by name, and how they are.
#[utoipa::path(
    get, path = "/api/worlds/{world}/mcp-servers", tag = "mcp servers", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id"), Paging),
    responses(
        (status = 200, body = Page<McpServer>, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn list_mcp_servers(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Response, Problem> {
    let world = place::world(&app, &id).await?;
    let health = health(&app, &world);
    let limit = paging.limit();
    let later = |name: &String| paging.after.as_ref().is_none_or(|after| name > after);
    let found: Result<Vec<McpServer>, Problem> = world
        .mcp_servers
        .iter()
        .filter(|(name, _)| later(name))
        .take(limit + 1)
        .map(|(name, server)| described(name, server, &health))
        .collect();
    let page = Page::cut(found?, limit, |server| server.name.clone());
    Ok((place::tag(&world), Json(page)).into_response())
}

/// Adds one server, or several in the format other programs use, in place of any of the same name.
///
/// Keys in `env` and `headers` are put away; the settings only name them.
#[utoipa::path(
    post, path = "/api/worlds/{world}/mcp-servers", tag = "mcp servers", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    request_body = McpServersInput,
    responses(
        (status = 200, description = "All of them replaced others", body = AddedServers,
            headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 201, body = AddedServers, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn add_mcp_servers(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(input): Body<McpServersInput>,
) -> Result<Response, Problem> {
    let one = input.name.clone();
    let stored = place::world(&app, &id).await?;
    wanted.check(&stored)?;
    let servers = import(input.written()?)?;
    // Keys are put away only for servers that can be added.
    let mut trial = stored.clone();
    for (name, server) in &servers {
        let mut server = server.clone();
        secrets::fill_in(name, &mut server, stored.mcp_servers.get(name), Folder::Same)?;
        let checked = server.check_bounds(stored.mcp_servers.get(name));
        let told = checked.map_err(|invalid| match &one {
            Some(_) => invalid,
            None => invalid.within("mcpServers", name),
        });
        told.map_err(Error::from)?;
        trial.mcp_servers.insert(name.clone(), server);
    }
    trial.check().map_err(Error::from)?;
    let all_known = servers.keys().all(|name| stored.mcp_servers.contains_key(name));
    let (status, action) = match all_known && !servers.is_empty() {
        true => (StatusCode::OK, "updated"),
        false => (StatusCode::CREATED, "created"),
    };
    let names: Vec<String> = servers.keys().cloned().collect();
    let ready = Ready::of_servers(&app, &stored.id, servers).await?;
    let part = WorldPart { entity: "mcp_server", action, id: &names.join(", ") };
    let changed =
        place::change(&app, &id, &wanted, part, &who.name, |world| ready.apply(world)).await;
    if changed.as_ref().is_err_and(Problem::is_refusal) {
        ready.take_back(&app, &stored.id).await;
    }
    let Changed { before, after: world } = changed?;
    ready.tidy(&app, &before, &world).await;
    let body = added(&app, &world, &names, one.as_deref())?;
    Ok((status, place::tag(&world), Json(body)).into_response())
}

fn added(
    app: &App,
    world: &World,
    names: &[String],
    one: Option<&str>,
) -> Result<AddedServers, Problem> {
    let health = health(app, world);
    let there = names.iter().filter_map(|name| Some((name, world.mcp_servers.get(name)?)));
    let described: Result<Vec<McpServer>, Problem> =
        there.map(|(name, server)| described(name, server, &health)).collect();
    let mut described = described?;
    Ok(match (one, described.pop()) {
        (Some(_), Some(server)) => AddedServers::One(Box::new(server)),
        (_, last) => {
            described.extend(last);
            AddedServers::Several(Page { data: described, next: None })
        }
    })
}

/// Which server.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ByName {
    /// What it is called.
    name: String,
}

/// Takes a server out of a world, by a name in the query.
#[utoipa::path(
    delete, path = "/api/worlds/{world}/mcp-servers", tag = "mcp servers", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
        ByName,
    ),
    responses(
        (status = 204),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn remove_mcp_server(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    wanted: Wanted,
    Query(ByName { name }): Query<ByName>,
) -> Result<StatusCode, Problem> {
    remove(&app, &id, &name, &wanted, &who.name).await
}

/// An MCP server, and how it is.
#[utoipa::path(
    get, path = "/api/worlds/{world}/mcp-servers/{server}", tag = "mcp servers", security(("bearer" = ["viewer"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("server" = String, Path, description = "The server's name"),
    ),
    responses(
        (status = 200, body = McpServer, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn get_mcp_server(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let world = place::world(&app, &id).await?;
    let server = described(&name, find(&world, &name)?, &health(&app, &world))?;
    Ok((place::tag(&world), Json(server)).into_response())
}

/// Switches a server on or off.
///
/// Its keys stay where they are, and so does everything else that is known of it.
#[utoipa::path(
    patch, path = "/api/worlds/{world}/mcp-servers/{server}", tag = "mcp servers", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("server" = String, Path, description = "The server's name"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    request_body = McpServerSwitch,
    responses(
        (status = 200, body = McpServer, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn switch_mcp_server(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path((id, name)): Path<(String, String)>,
    wanted: Wanted,
    Body(McpServerSwitch { disabled }): Body<McpServerSwitch>,
) -> Result<Response, Problem> {
    let part = WorldPart { entity: "mcp_server", action: "updated", id: &name };
    let changed = place::change(&app, &id, &wanted, part, &who.name, |world| {
        let mut server = find(world, &name)?.clone();
        server.disabled = disabled;
        world.mcp_servers.insert(name.clone(), server);
        Ok(())
    });
    let Changed { after: world, .. } = changed.await?;
    let server = described(&name, find(&world, &name)?, &health(&app, &world))?;
    Ok((place::tag(&world), Json(server)).into_response())
}

/// Takes a server out of a world.
#[utoipa::path(
    delete, path = "/api/worlds/{world}/mcp-servers/{server}", tag = "mcp servers", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("server" = String, Path, description = "The server's name"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    responses(
        (status = 204),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn delete_mcp_server(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path((id, name)): Path<(String, String)>,
    wanted: Wanted,
) -> Result<StatusCode, Problem> {
    remove(&app, &id, &name, &wanted, &who.name).await
}

/// Starts a server anew, at once. Calls that run on it fail.
#[utoipa::path(
    post, path = "/api/worlds/{world}/mcp-servers/{server}/restart", tag = "mcp servers", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("server" = String, Path, description = "The server's name"),
    ),
    responses(
        (status = 202, description = "It is being started", body = McpServer),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is switched off, or this program runs no servers", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn restart_mcp_server(
    State(app): State<Arc<App>>,
    _: Admin,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let world = place::world(&app, &id).await?;
    let server = find(&world, &name)?;
    let Some(servers) = &app.mcp else {
        let detail = "this program runs no MCP servers, so none can be started anew";
        return Err(Problem::conflict("mcp_unavailable", detail));
    };
    if server.disabled {
        let detail =
            format!("MCP server {name} is switched off; switch it on with `disabled: false` first");
        return Err(Problem::conflict("mcp_server_disabled", detail));
    }
    // Whoever runs it may not have been asked for its tools yet.
    app.engine.tools_of(&world);
    servers.restart(&world.id, &name).map_err(|_| unknown(&world, &name))?;
    let body = described(&name, server, &health(&app, &world))?;
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

async fn remove(
    app: &App,
    id: &str,
    name: &str,
    wanted: &Wanted,
    by: &str,
) -> Result<StatusCode, Problem> {
    let part = WorldPart { entity: "mcp_server", action: "deleted", id: name };
    let Changed { before, after } = place::change(app, id, wanted, part, by, |world| {
        find(world, name)?;
        world.mcp_servers.remove(name);
        Ok(())
    })
    .await?;
    // Asked for its tools, whoever runs the server learns that it is gone.
    app.engine.tools_of(&after);
    secrets::forget_replaced(app, id, name, before.mcp_servers.get(name), None).await;
    Ok(StatusCode::NO_CONTENT)
}

/// How a world's servers are. Asked for its tools, they are started.
fn health(app: &App, world: &World) -> Vec<ServerHealth> {
    app.engine.tools_of(world);
    app.mcp.as_ref().map(|servers| servers.health(&world.id)).unwrap_or_default()
}

fn described(
    name: &str,
    server: &config::McpServer,
    health: &[ServerHealth],
) -> Result<McpServer, Problem> {
    let health = health.iter().find(|one| one.name == name);
    McpServer::from_settings(name, server, health)
}

fn find<'w>(world: &'w World, name: &str) -> Result<&'w config::McpServer, Problem> {
    world.mcp_servers.get(name).ok_or_else(|| unknown(world, name))
}

fn unknown(world: &World, name: &str) -> Problem {
    let detail = format!("world {} has no MCP server {name}", world.id);
    Problem::not_found("mcp_server_not_found", detail)
}
