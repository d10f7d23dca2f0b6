//! Tells people where they are that something waits for them: each new request for approval is posted to the addresses
//! that admins named, and what came of it to those that ask for that.
//! The routes here are for admins; `delivery` follows the log and sends. A webhook only tells: nothing it is answered with
//! decides anything.

mod delivery;
mod signature;
mod stored;

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::display::mask_text;
use agent_world_core::ids::WorldId;
use agent_world_runtime::tools::fetch::Reach;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Admin;
use crate::app::App;
use crate::extract::Body;
use crate::problem::Problem;
use crate::wire::Page;
use stored::{Hook, Progress};

pub(crate) use delivery::deliver;

/// More than anybody watches; each follows the log on its own.
const MOST: usize = 100;

/// What can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum EventType {
    /// An agent asks for something.
    #[serde(rename = "approval.requested")]
    ApprovalRequested,
    /// What it asked for was decided, has expired or was withdrawn: nobody needs to look at it any more.
    #[serde(rename = "approval.decided")]
    ApprovalDecided,
}

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(remove))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewWebhook {
    /// `https://...`; `http://` only together with `allow_private`.
    url: String,
    /// What is told of; `approval.requested` alone unless said.
    #[serde(default)]
    #[schema(required = false)]
    events: Option<Vec<EventType>>,
    /// Only of this world.
    #[serde(default)]
    world: Option<String>,
    /// Lets it reach this machine and its own networks.
    #[serde(default)]
    #[schema(required = false)]
    allow_private: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct Webhook {
    id: String,
    url: String,
    events: Vec<EventType>,
    world: Option<String>,
    allow_private: bool,
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// `ok`; `retrying` after a failure; `failing` after a day of them, then it is tried once an hour.
    state: &'static str,
    /// Failures since the last success.
    failures: u64,
    last_error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_success_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CreatedWebhook {
    #[serde(flatten)]
    webhook: Webhook,
    /// Signs every delivery. Shown this once.
    secret: String,
}

impl Webhook {
    fn new(hook: Hook, progress: Option<Progress>) -> Self {
        let progress = progress.unwrap_or_default();
        Self {
            id: hook.id,
            url: mask_text(&hook.url).into_owned(),
            events: hook.events,
            world: hook.world,
            allow_private: hook.allow_private,
            created_by: hook.created_by,
            created_at: hook.created_at,
            state: progress.state(),
            failures: progress.failures,
            last_error: progress.last_error,
            last_success_at: progress.last_success_at,
        }
    }
}

/// All webhooks, and how their deliveries go.
#[utoipa::path(get, path = "/api/webhooks", operation_id = "list_webhooks", tag = "webhooks", responses(
    (status = 200, body = Page<Webhook>),
    (status = 401, body = Problem, content_type = "application/problem+json"),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn list(State(app): State<Arc<App>>, _: Admin) -> Result<Json<Page<Webhook>>, Problem> {
    let store = app.engine.store().as_ref();
    let mut data = Vec::new();
    for hook in stored::hooks(store, MOST).await? {
        let progress = stored::progress(store, &hook.id).await?;
        data.push(Webhook::new(hook, progress.map(|(progress, _)| progress)));
    }
    Ok(Json(Page { data, next: None }))
}

/// Names an address that is told of new requests for approval, and with `events` also of what came of them.
///
/// The body is `{id, type, created_at, data: {approval, link}}`; the link leads to the approval, from the server's public
/// address on where that is known.
/// Each delivery is a POST with the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks,
/// signed with the secret. It is repeated until it is answered with 2xx, so the same `webhook-id` may come more than once.
#[utoipa::path(post, path = "/api/webhooks", operation_id = "create_webhook", tag = "webhooks", request_body = NewWebhook, responses(
    (status = 201, body = CreatedWebhook),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 401, body = Problem, content_type = "application/problem+json"),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
    (status = 413, body = Problem, content_type = "application/problem+json"),
    (status = 415, body = Problem, content_type = "application/problem+json"),
    (status = 422, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn create(
    State(app): State<Arc<App>>,
    admin: Admin,
    Body(new): Body<NewWebhook>,
) -> Result<(StatusCode, Json<CreatedWebhook>), Problem> {
    let store = app.engine.store().as_ref();
    check(&new)?;
    if let Some(world) = &new.world
        && store.world(&WorldId::new(world.as_str())).await?.is_none()
    {
        let detail = "there is no such world; name one that exists, or none for all";
        return Err(Problem::unprocessable("webhook_world", detail).with("field", "world"));
    }
    if stored::hooks(store, MOST).await?.len() >= MOST {
        let detail = format!("there are {MOST} webhooks already; remove one first");
        return Err(Problem::conflict("webhook_limit", detail));
    }
    let secret = signature::new_secret();
    let now = Timestamp::now();
    let hook = Hook {
        id: stored::new_id(now),
        url: new.url,
        events: new.events.unwrap_or_else(|| vec![EventType::ApprovalRequested]),
        world: new.world,
        allow_private: new.allow_private,
        secret: secret.clone(),
        created_by: admin.name.clone(),
        created_at: now,
    };
    // Only what is asked from now on is news.
    let progress = Progress { position: store.position().await?, ..Progress::default() };
    stored::create(store, &hook, &progress).await?;
    app.webhooks.notify_one();
    let webhook = Webhook::new(hook, Some(progress));
    Ok((StatusCode::CREATED, Json(CreatedWebhook { webhook, secret })))
}

fn check(new: &NewWebhook) -> Result<(), Problem> {
    let refused = |field: &str, detail: String| {
        Problem::unprocessable("webhook_invalid", detail).with("field", field)
    };
    let reach = if new.allow_private { Reach::Private } else { Reach::Public };
    if new.url.len() > 2_000 {
        return Err(refused("url", "the address is longer than 2000 characters".to_owned()));
    }
    let url = reach.check(&new.url).map_err(|why| {
        let hint = "an address of your own networks needs `allow_private: true`";
        refused("url", if new.allow_private { why } else { format!("{why}; {hint}") })
    })?;
    if url.scheme() != "https" && !new.allow_private {
        let why =
            "use https; http is for addresses of your own networks, with `allow_private: true`";
        return Err(refused("url", why.to_owned()));
    }
    match &new.events {
        Some(events) if events.is_empty() => Err(refused(
            "events",
            "name at least one event, or leave it out for `approval.requested`".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Removes a webhook. A delivery that is under way may still arrive.
#[utoipa::path(delete, path = "/api/webhooks/{id}", operation_id = "delete_webhook", tag = "webhooks",
    params(("id" = String, Path, description = "The webhook's id")),
    responses(
        (status = 204),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
async fn remove(
    State(app): State<Arc<App>>,
    _: Admin,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let unknown = || Problem::not_found("webhook_not_found", "there is no such webhook");
    let Path(id) = id.map_err(|_| unknown())?;
    if !stored::remove(app.engine.store().as_ref(), &id).await? {
        return Err(unknown());
    }
    app.webhooks.notify_one();
    Ok(StatusCode::NO_CONTENT)
}
