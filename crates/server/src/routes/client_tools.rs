//! Tools that clients execute for a chat. Merged in `routes::work`.
//! Never takes a client's word for what its tools do: see `core::decide::offer`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{ChatPath, InChat};
use super::refusals::Writing;
use crate::access::Member;
use crate::app::App;
use crate::extract::{Body, Path};
use crate::problem::Problem;
use crate::wire::{ClientTool, ClientTools};

/// A week: a person may be the tool.
const LONGEST_TIMEOUT: u64 = 7 * 24 * 60 * 60;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(offer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ClientPath {
    /// What the client calls itself, the same whenever it comes back.
    client: String,
}

/// Offers tools that the client executes for this chat, in place of those it offered before.
///
/// A call of one waits in state `executing` until the client sends its result to `tool-results`.
#[utoipa::path(put, path = "/api/worlds/{world}/chats/{chat}/client-tools/{client}",
    operation_id = "offer_client_tools", tag = "client tools", params(ChatPath, ClientPath),
    request_body = ClientTools, responses((status = 200, body = ClientTools), Writing))]
async fn offer(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Path(ClientPath { client }): Path<ClientPath>,
    Body(offered): Body<ClientTools>,
) -> Result<Json<ClientTools>, Problem> {
    for (index, tool) in offered.tools.iter().enumerate() {
        check_timeout(index, tool)?;
    }
    let specs = offered.tools.iter().map(ClientTool::spec).collect();
    app.engine.offer_tools(&chat.id, &client, specs, &who.name).await?;
    Ok(Json(offered))
}

fn check_timeout(index: usize, tool: &ClientTool) -> Result<(), Problem> {
    if (1..=LONGEST_TIMEOUT).contains(&tool.timeout_seconds) {
        return Ok(());
    }
    let detail = format!("`timeout_seconds` must be from 1 to {LONGEST_TIMEOUT}");
    let field = format!("tools[{index}].timeout_seconds");
    Err(Problem::unprocessable("tools_invalid", detail).with("field", field))
}
