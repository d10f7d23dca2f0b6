//! Who did, asked for and decided what. Only looks; also tells of worlds that are deleted, which the audit outlives.

use std::sync::Arc;

use agent_world_core::audit::What;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_runtime::store::{AuditFilter, AuditPage};
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Viewer;
use crate::app::App;
use crate::extract::Query;
use crate::problem::Problem;
use crate::wire::{AuditEntry, AuditQuery, Page, limit};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_audit))
}

/// Entries of the audit, oldest first.
#[utoipa::path(
    get, path = "/api/audit", tag = "audit", params(AuditQuery), security(("bearer" = ["viewer"])),
    responses((status = 200, body = Page<AuditEntry>)),
)]
async fn list_audit(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>, Problem> {
    let refused = |why: String| {
        let detail = format!("the query of this address is refused: {why}");
        Problem::unprocessable("query_invalid", detail)
    };
    let wanted = limit(query.limit);
    let (page, backwards) = match (query.after, query.before) {
        (Some(_), Some(_)) => return Err(refused("send `after` or `before`, not both".to_owned())),
        (after, None) => (AuditPage::After(after.unwrap_or(0), wanted + 1), false),
        (None, before) => (AuditPage::Before(before, wanted + 1), true),
    };
    if let Some(kind) = &query.kind
        && !What::KINDS.contains(&kind.as_str())
    {
        let kinds = What::KINDS.join(", ");
        return Err(
            refused(format!("there is no kind `{kind}`; there are {kinds}")).with("field", "kind")
        );
    }
    let mut found = app.engine.store().audit(&filter(query), page).await?;
    let more = found.len() > wanted;
    if more {
        // One more was asked for than a page has: the one farthest from where it begins.
        drop(if backwards { Some(found.remove(0)) } else { found.pop() });
    }
    let end = if backwards { found.first() } else { found.last() };
    let next = end.filter(|_| more).map(|audited| audited.position.to_string());
    Ok(Json(Page { data: found.iter().map(AuditEntry::of).collect(), next }))
}

fn filter(query: AuditQuery) -> AuditFilter {
    AuditFilter {
        world: query.world.map(WorldId::new),
        chat: query.chat.map(ChatId::new),
        agent: query.agent.map(AgentId::new),
        tool: query.tool,
        call: query.call.map(CallId::new),
        kind: query.kind,
        actor: query.actor,
        since: query.since,
        until: query.until,
    }
}
