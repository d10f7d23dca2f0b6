//! The resources under `/api`, a file for each. Each file's `routes` says what there is and who may use it.

mod address;
mod agents;
mod approvals;
mod audit;
mod chats;
mod client_tools;
mod deciding;
mod grants;
mod mcp_servers;
mod messages;
mod models;
mod place;
mod policy;
mod refusals;
mod settings;
mod statistics;
mod tool_calls;
mod tool_results;
mod tools;
mod verify;
mod worlds;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(crate) use refusals::problem;
pub(crate) use worlds::{check_id, make_private};

pub(crate) fn all() -> OpenApiRouter<Arc<App>> {
    settings().merge(work())
}

/// What people set: worlds, agents, policies, servers; and what is told about them.
fn settings() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(worlds::routes())
        .merge(agents::routes())
        .merge(policy::routes())
        .merge(tools::routes())
        .merge(models::routes())
        .merge(mcp_servers::routes())
        .merge(statistics::routes())
        .merge(audit::routes())
        .merge(verify::routes())
}

/// What goes on: chats, messages, calls, approvals.
fn work() -> OpenApiRouter<Arc<App>> {
    chats::routes()
        .merge(messages::routes())
        .merge(tool_calls::routes())
        .merge(tool_results::routes())
        .merge(client_tools::routes())
        .merge(grants::routes())
        .merge(approvals::routes())
}
