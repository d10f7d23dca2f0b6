//! The agents of a world: listed, made, read, changed and taken out.
//! They are part of the world's settings, and have its version.

use std::sync::Arc;

use agent_world_core::config::{self, World};
use agent_world_core::ids::AgentId;
use agent_world_runtime::{Error, WorldPart};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::{self, Wanted};
use super::settings::{check_name, new_agent, refused};
use crate::access::{Admin, Viewer};
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::Problem;
use crate::wire::{Agent, AgentInput, Page, Paging};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_agents, create_agent)).routes(routes!(
        get_agent,
        update_agent,
        delete_agent
    ))
}

/// The agents of a world, in its order.
#[utoipa::path(
    get, path = "/api/worlds/{world}/agents", tag = "agents", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id"), Paging),
    responses(
        (status = 200, body = Page<Agent>, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn list_agents(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Response, Problem> {
    let world = place::world(&app, &id).await?;
    let begin = match &paging.after {
        None => 0,
        Some(after) => match world.agents.iter().position(|agent| agent.id.as_str() == after) {
            Some(place) => place + 1,
            None => return Err(unknown(&world, after)),
        },
    };
    let limit = paging.limit();
    let agents = world.agents.iter().skip(begin).take(limit + 1).map(Agent::from_settings);
    let page = Page::cut(agents.collect(), limit, |agent| agent.id.clone());
    Ok((place::tag(&world), Json(page)).into_response())
}

/// Adds an agent to a world. Without an `id` one is made of the name.
#[utoipa::path(
    post, path = "/api/worlds/{world}/agents", tag = "agents", security(("bearer" = ["admin"])),
    params(("world" = String, Path, description = "The world's id")),
    request_body = AgentInput,
    responses(
        (status = 201, body = Agent, headers(
            ("ETag" = String, description = "The version of the world's settings"),
            ("Location" = String, description = "Where it is"),
        )),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is an agent of that id", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn create_agent(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    Body(input): Body<AgentInput>,
) -> Result<Response, Problem> {
    place::world(&app, &id).await?;
    let agent = new_agent(input)?;
    agent.check_bounds(None).map_err(Error::from)?;
    let part = WorldPart { entity: "agent", action: "created", id: agent.id.as_str() };
    let world = place::change(&app, &id, &Wanted::Any, part, &who.name, |world| {
        if world.agent(&agent.id).is_some() {
            let detail =
                format!("world {} has an agent {} already; choose another id", world.id, agent.id);
            return Err(Problem::conflict("agent_exists", detail));
        }
        world.agents.push(agent.clone());
        Ok(())
    })
    .await?
    .after;
    let location = place::location(&["api", "worlds", &id, "agents", agent.id.as_str()]);
    let shown = Json(Agent::from_settings(&agent));
    Ok((StatusCode::CREATED, place::tag(&world), location, shown).into_response())
}

/// An agent.
#[utoipa::path(
    get, path = "/api/worlds/{world}/agents/{agent}", tag = "agents", security(("bearer" = ["viewer"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("agent" = String, Path, description = "Its id"),
    ),
    responses(
        (status = 200, body = Agent, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn get_agent(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path((id, agent)): Path<(String, String)>,
) -> Result<Response, Problem> {
    shown(&place::world(&app, &id).await?, &agent)
}

/// Changes settings of an agent: a JSON merge patch.
#[utoipa::path(
    patch, path = "/api/worlds/{world}/agents/{agent}", tag = "agents", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("agent" = String, Path, description = "Its id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    request_body = AgentInput,
    responses(
        (status = 200, body = Agent, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn update_agent(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path((id, name)): Path<(String, String)>,
    wanted: Wanted,
    Body(input): Body<AgentInput>,
) -> Result<Response, Problem> {
    let stored = place::world(&app, &id).await?;
    find(&stored, &name)?;
    if input.id.as_ref().is_some_and(|given| *given != name) {
        return Err(refused("id", "the id of an agent cannot be changed"));
    }
    check_name(&input)?;
    let wanted = wanted.and(input.version);
    let part = WorldPart { entity: "agent", action: "updated", id: &name };
    let world = place::change(&app, &id, &wanted, part, &who.name, |world| {
        let agent = world.agents.iter_mut().find(|agent| agent.id.as_str() == name);
        match agent {
            Some(agent) => {
                let before = agent.clone();
                input.clone().apply(agent);
                agent.check_bounds(Some(&before)).map_err(Error::from)?;
            }
            None => return Err(unknown(world, &name)),
        }
        Ok(())
    })
    .await?
    .after;
    shown(&world, &name)
}

/// Takes an agent out of a world.
#[utoipa::path(
    delete, path = "/api/worlds/{world}/agents/{agent}", tag = "agents", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("agent" = String, Path, description = "Its id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    responses(
        (status = 204),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is the main agent, or the settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn delete_agent(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path((id, name)): Path<(String, String)>,
    wanted: Wanted,
) -> Result<StatusCode, Problem> {
    let part = WorldPart { entity: "agent", action: "deleted", id: &name };
    place::change(&app, &id, &wanted, part, &who.name, |world| {
        find(world, &name)?;
        if world.main_agent.as_ref().is_some_and(|main| main.as_str() == name) {
            let detail = format!(
                "{name} is the main agent of world {}; name another main_agent, or none, first",
                world.id
            );
            return Err(Problem::conflict("agent_is_main", detail));
        }
        world.agents.retain(|agent| agent.id.as_str() != name);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn find<'w>(world: &'w World, name: &str) -> Result<&'w config::Agent, Problem> {
    world.agent(&AgentId::new(name)).ok_or_else(|| unknown(world, name))
}

pub(super) fn unknown(world: &World, name: &str) -> Problem {
    let detail = format!("world {} has no agent {name}", world.id);
    Problem::not_found("agent_not_found", detail)
}

fn shown(world: &World, name: &str) -> Result<Response, Problem> {
    let agent = Agent::from_settings(find(world, name)?);
    Ok((place::tag(world), Json(agent)).into_response())
}
