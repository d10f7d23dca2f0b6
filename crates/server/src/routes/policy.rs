//! What agents of a world may do: read, replaced as a whole, tried on a call and on the calls that were made; and granted
//! rules taken back.
//! Rules granted with `always` are not the document's: they come by answers and go by being revoked.

mod history;

use std::borrow::Cow;
use std::sync::Arc;

use agent_world_core::config::{self, World};
use agent_world_core::ids::RuleId;
use agent_world_core::policy::{self, Grant, Question, explain};
use agent_world_core::unambiguous::Unambiguous;
use agent_world_runtime::WorldPart;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::{self, Wanted};
use super::settings::replaced;
use super::tools::tools_of;
use crate::access::{Admin, Approver, Viewer};
use crate::app::App;
use crate::extract::{Body, Path};
use crate::problem::Problem;
use crate::wire::{Comparison, ComparisonInput, Policy, Trial, TrialInput};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_policy, put_policy))
        .routes(routes!(revoke_rule))
        .routes(routes!(test_policy))
        .routes(routes!(compare_policy))
}

/// What agents of a world may do.
#[utoipa::path(
    get, path = "/api/worlds/{world}/policy", tag = "policy", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id")),
    responses(
        (status = 200, body = Policy, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn get_policy(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    shown(&place::world(&app, &id).await?)
}

/// Replaces the preset and the rules. Granted rules stay as they are.
///
/// What nobody understands is refused, with all that is wrong: a misspelt condition would be one that never was. A rule may
/// be written with `command`, `paths` and `annotations` beside `matches`.
#[utoipa::path(
    put, path = "/api/worlds/{world}/policy", tag = "policy", security(("bearer" = ["admin"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    request_body = Policy,
    responses(
        (status = 200, body = Policy, headers(("ETag" = String, description = "The version of the world's settings"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn put_policy(
    State(app): State<Arc<App>>,
    Admin(who): Admin,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(Unambiguous(document)): Body<Unambiguous>,
) -> Result<Response, Problem> {
    let part = WorldPart { entity: "policy", action: "updated", id: &id };
    let world = place::change(&app, &id, &wanted, part, &who.name, |world| {
        world.policy = replaced(&world.policy, &document)?;
        Ok(())
    })
    .await?
    .after;
    shown(&world)
}

/// Takes back a rule that somebody granted with `always`.
#[utoipa::path(
    delete, path = "/api/worlds/{world}/policy/rules/{rule}", tag = "policy", security(("bearer" = ["approver"])),
    params(
        ("world" = String, Path, description = "The world's id"),
        ("rule" = String, Path, description = "The rule's id"),
        ("If-Match" = Option<String>, Header, description = "The version of the world the change was made for"),
    ),
    responses(
        (status = 204),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The settings have changed since", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn revoke_rule(
    State(app): State<Arc<App>>,
    Approver(who): Approver,
    Path((id, rule)): Path<(String, String)>,
    wanted: Wanted,
) -> Result<StatusCode, Problem> {
    let world = place::world(&app, &id).await?;
    wanted.check(&world)?;
    app.engine.revoke_rule(&world.id, &RuleId::new(rule), &who.name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says what the policy would decide about a call, and why. Makes no call and records nothing.
#[utoipa::path(
    post, path = "/api/worlds/{world}/policy/test", tag = "policy", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id")),
    request_body = TrialInput,
    responses(
        (status = 200, body = Trial),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn test_policy(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
    Body(input): Body<TrialInput>,
) -> Result<Json<Trial>, Problem> {
    let world = place::world(&app, &id).await?;
    let agent = caller(&world, input.agent.as_deref())?;
    let tools = tools_of(&app, &world).await;
    let Some(spec) = tools.get(&input.tool) else {
        let detail = format!("world {id} has no tool `{}`", input.tool);
        return Err(Problem::unprocessable("unknown_tool", detail).with("field", "tool"));
    };
    // As the call would be stored and judged. What its tool does not take never comes before a policy.
    let arguments = match tools.schema(&input.tool) {
        Some(schema) => schema.validate(input.arguments).map_err(|why| {
            let detail = format!(
                "{} would refuse these arguments before any rule is asked: {why}",
                input.tool
            );
            Problem::unprocessable("arguments_invalid", detail).with("field", "arguments")
        })?,
        None => input.arguments,
    };
    let question = Question {
        agent: &agent.id,
        tool: &input.tool,
        arguments: &arguments,
        directory: world.working_directory.as_deref(),
    };
    let policy = match &input.policy {
        Some(Unambiguous(document)) => Cow::Owned(replaced(&world.policy, document)?),
        None => Cow::<policy::Policy>::Borrowed(&world.policy),
    };
    let explanation = explain(&policy, std::iter::empty::<&Grant>(), spec, question);
    Ok(Json(Trial::new(&world, agent, &input.tool, &arguments, &explanation)))
}

/// Says what another policy would have decided otherwise about the calls that were made. Changes nothing.
///
/// Both policies are asked about each call as it was made, by the tools and in the folder the world has now. What was
/// granted for the rest of a chat is left out.
#[utoipa::path(
    post, path = "/api/worlds/{world}/policy/diff", tag = "policy", security(("bearer" = ["viewer"])),
    params(("world" = String, Path, description = "The world's id")),
    request_body = ComparisonInput,
    responses(
        (status = 200, body = Comparison),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn compare_policy(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(id): Path<String>,
    Body(input): Body<ComparisonInput>,
) -> Result<Json<Comparison>, Problem> {
    let world = place::world(&app, &id).await?;
    let Unambiguous(document) = &input.policy;
    let new = replaced(&world.policy, document)?;
    let tools = tools_of(&app, &world).await;
    Ok(Json(history::compare(&app, &world, &new, &tools, input.limit).await?))
}

fn caller<'w>(world: &'w World, named: Option<&str>) -> Result<&'w config::Agent, Problem> {
    let refused =
        |detail: String| Problem::unprocessable("unknown_agent", detail).with("field", "agent");
    match named {
        Some(name) => world
            .agents
            .iter()
            .find(|agent| agent.id.as_str() == name)
            .ok_or_else(|| refused(format!("world {} has no agent {name}", world.id))),
        None => world
            .main_agent
            .as_ref()
            .and_then(|main| world.agent(main))
            .or(world.agents.first())
            .ok_or_else(|| {
                refused(format!("world {} has no agents, so nobody can call a tool", world.id))
            }),
    }
}

fn shown(world: &World) -> Result<Response, Problem> {
    Ok((place::tag(world), Json(Policy::from_settings(&world.policy)?)).into_response())
}
