//! Whether what is stored is as it was written: hash chains, and everything looked up against the log.
//! Merged in `routes::settings`. Only reads, all of it: for admins, and not often.

use std::sync::Arc;

use agent_world_core::ids::WorldId;
use agent_world_runtime::store::verify::{Report, verify_everything};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place;
use super::refusals::Writing;
use crate::access::Admin;
use crate::app::App;
use crate::extract::OptionalBody;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(verify))
}

/// What is to be checked.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only this world; otherwise everything.
    world: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
struct Verified {
    /// Nothing is broken.
    ok: bool,
    worlds: usize,
    chats: usize,
    /// Events that were found whole.
    events: u64,
    /// Each thing that is broken, in words.
    broken: Vec<String>,
}

/// Walks the hash chains of all logs, and compares what is looked up with what they say. Takes as long as there is much.
#[utoipa::path(post, path = "/api/verify", operation_id = "verify", tag = "audit", request_body = Option<Wanted>,
    responses((status = 200, body = Verified), Writing))]
async fn verify(
    State(app): State<Arc<App>>,
    _: Admin,
    OptionalBody(wanted): OptionalBody<Wanted>,
) -> Result<Json<Verified>, Problem> {
    let only = match wanted.unwrap_or_default().world {
        Some(id) => Some(place::world(&app, &id).await?.id),
        None => None::<WorldId>,
    };
    let Report { worlds, chats, events, broken } =
        verify_everything(app.engine.store().as_ref(), only.as_ref()).await?;
    Ok(Json(Verified { ok: broken.is_empty(), worlds, chats, events, broken }))
}
