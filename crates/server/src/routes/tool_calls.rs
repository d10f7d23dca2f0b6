//! Tool calls of a chat: their states, and their results to the last character. Merged in `routes::work`.
//! Only reads.

use std::sync::Arc;

use agent_world_core::ids::CallId;
use agent_world_core::view::{CallView, ChatView};
use agent_world_runtime::store::{ResultPiece, Store};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{ChatPath, InChat, unknown_cursor};
use super::refusals::Reading;
use crate::access::Viewer;
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::wire::{BYTES, Call, Page, Paging, STEP, size};

/// Characters of one piece of a result, unless said.
const PIECE: u64 = 100_000;
const LONGEST_PIECE: u64 = 1_000_000;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(result))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct CallPath {
    /// The call's id.
    call: String,
}

/// A chat's tool calls, oldest first.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/tool-calls", operation_id = "list_tool_calls",
    tag = "tool calls", params(ChatPath, Paging), responses((status = 200, body = Page<Call>), Reading))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Call>>, Problem> {
    let store = app.engine.store();
    let limit = paging.limit();
    let after = paging.after.map(CallId::new);
    if let Some(id) = &after
        && store.call(&chat.id, id).await?.is_none()
    {
        return Err(unknown_cursor("after", id.as_str()));
    }
    Ok(Json(page(store.as_ref(), &chat, after, limit).await?))
}

/// A page that ends early where calls are large.
async fn page(
    store: &dyn Store,
    chat: &ChatView,
    mut after: Option<CallId>,
    limit: usize,
) -> Result<Page<Call>, Problem> {
    let (mut data, mut bytes) = (Vec::new(), 0);
    loop {
        let step = STEP.min(limit - data.len());
        let found = store.calls(&chat.id, after.as_ref(), step + 1).await?;
        let mut left = found.len();
        for view in found.iter().take(step) {
            let call = Call::from_view(&chat.id, view);
            bytes += size(&call);
            data.push(call);
            after = Some(view.id.clone());
            left -= 1;
            if bytes > BYTES {
                break;
            }
        }
        if left == 0 || data.len() >= limit || bytes > BYTES {
            let next = after.filter(|_| left > 0).map(|id| id.to_string());
            return Ok(Page { data, next });
        }
    }
}

/// One tool call.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/tool-calls/{call}", operation_id = "get_tool_call",
    tag = "tool calls", params(ChatPath, CallPath), responses((status = 200, body = Call), Reading))]
async fn show(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Path(path): Path<CallPath>,
) -> Result<Json<Call>, Problem> {
    let view = find(&app, &chat, &CallId::new(path.call)).await?;
    Ok(Json(Call::from_view(&chat.id, &view)))
}

/// Which part of a result is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Window {
    /// Characters before the piece.
    offset: Option<u64>,
    /// Characters of the piece; 100000 unless said, at most 1000000.
    #[param(minimum = 1, maximum = 1000000)]
    limit: Option<u64>,
}

/// A piece of what a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
struct Piece {
    tool_call_id: String,
    text: String,
    /// Characters before this piece.
    offset: u64,
    /// Characters of the whole result.
    characters: u64,
    /// Where the next piece begins, as `offset`; absent at the end.
    next: Option<u64>,
}

/// What a tool gave back, piece by piece: also what was too long for the log.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/tool-calls/{call}/result",
    operation_id = "get_tool_call_result", tag = "tool calls", params(ChatPath, CallPath, Window),
    responses((status = 200, body = Piece), Reading))]
async fn result(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Path(path): Path<CallPath>,
    Query(window): Query<Window>,
) -> Result<Json<Piece>, Problem> {
    let id = CallId::new(path.call);
    let missing = |what: &str| Problem::not_found("result_not_found", format!("call {id} {what}"));
    let output = find(&app, &chat, &id).await?.output;
    let output = output.ok_or_else(|| missing("has no result yet; read it when it has ended"))?;
    let offset = window.offset.unwrap_or(0);
    let limit = window.limit.unwrap_or(PIECE).clamp(1, LONGEST_PIECE);
    let piece = match output.whole {
        Some(whole) => {
            let store = app.engine.store();
            let found = store.result(&chat.world, whole.digest, offset, limit).await?;
            found.ok_or_else(|| missing("has a result that is not stored any more"))?
        }
        None => cut(&output.text, offset, limit),
    };
    let end = offset.saturating_add(characters(&piece.text));
    Ok(Json(Piece {
        tool_call_id: id.to_string(),
        text: piece.text,
        offset,
        characters: piece.characters,
        next: (end < piece.characters).then_some(end),
    }))
}

pub(super) async fn find(app: &App, chat: &ChatView, id: &CallId) -> Result<CallView, Problem> {
    let found = app.engine.store().call(&chat.id, id).await?;
    found.ok_or_else(|| {
        let detail = format!("tool call {id} does not exist in this chat");
        Problem::not_found("call_not_found", detail)
    })
}

/// A part of a result that the log holds whole.
fn cut(text: &str, offset: u64, limit: u64) -> ResultPiece {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let piece = text.chars().skip(count(offset)).take(count(limit)).collect();
    ResultPiece { text: piece, characters: characters(text) }
}

fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
