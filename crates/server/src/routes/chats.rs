//! Chats: listed, opened, renamed, deleted, stopped, forked, retried. Merged in `routes::work`.
//! Never decides what stopping or forking means: the engine does.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::ids::{AgentId, ChatId, MessageId};
use agent_world_core::view::ChatView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{ChatPath, InChat, InWorld, WorldPath, unknown_cursor};
use super::refusals::{Changing, Reading, Writing};
use crate::access::{Member, Viewer};
use crate::app::App;
use crate::extract::{Body, OptionalBody, Query};
use crate::problem::Problem;
use crate::wire::{Chat, ForkPoint, NewChat, OfAgent, Page, Paging, Rename, Standing};

/// Characters of a title.
const TITLE: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, rename, delete))
        .routes(routes!(standing))
        .routes(routes!(stop))
        .routes(routes!(fork))
        .routes(routes!(retry))
}

/// A world's chats, oldest first.
#[utoipa::path(get, path = "/api/worlds/{world}/chats", operation_id = "list_chats", tag = "chats",
    params(WorldPath, Paging), responses((status = 200, body = Page<Chat>), Reading))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    InWorld(world): InWorld,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Chat>>, Problem> {
    let limit = paging.limit();
    let after = paging.after.map(ChatId::new);
    if let Some(id) = &after {
        let known = app.engine.store().chat(id).await?;
        if known.is_none_or(|chat| chat.world != world) {
            return Err(unknown_cursor("after", id.as_str()));
        }
    }
    let found = app.engine.store().chats(&world, after.as_ref(), limit + 1).await?;
    let chats = found.iter().map(Chat::from_view).collect();
    Ok(Json(Page::cut(chats, limit, |chat: &Chat| chat.id.clone())))
}

/// Opens a chat. Without a title a model names it later.
#[utoipa::path(post, path = "/api/worlds/{world}/chats", operation_id = "create_chat", tag = "chats",
    params(WorldPath), request_body = Option<NewChat>, responses((status = 201, body = Chat), Writing))]
async fn create(
    State(app): State<Arc<App>>,
    who: Member,
    InWorld(world): InWorld,
    OptionalBody(new): OptionalBody<NewChat>,
) -> Result<(StatusCode, Json<Chat>), Problem> {
    let title = new.unwrap_or_default().title;
    if let Some(title) = &title {
        check_title(title)?;
    }
    let chat = app.engine.create_chat(&world, title, &who.name).await?;
    Ok((StatusCode::CREATED, Json(Chat::from_view(&chat))))
}

/// One chat, with what goes on in it.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}", operation_id = "get_chat", tag = "chats",
    params(ChatPath), responses((status = 200, body = Chat), Reading))]
async fn show(_: Viewer, InChat(chat): InChat) -> Json<Chat> {
    Json(Chat::from_view(&chat))
}

/// Whether anything is under way in a chat that needs no person, and what waits for one: for programs that wait until a
/// message is done with.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/standing", operation_id = "get_standing", tag = "chats",
    params(ChatPath), responses((status = 200, body = Standing), Reading))]
async fn standing(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
) -> Result<Json<Standing>, Problem> {
    let store = app.engine.store().as_ref();
    let standing = agent_world_runtime::Standing::of(store, &chat.id, Timestamp::now()).await?;
    Ok(Json(Standing::new(&standing)))
}

/// Names a chat. No model renames it afterwards.
#[utoipa::path(patch, path = "/api/worlds/{world}/chats/{chat}", operation_id = "rename_chat", tag = "chats",
    params(ChatPath), request_body = Rename, responses((status = 200, body = Chat), Writing))]
async fn rename(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Body(Rename { title }): Body<Rename>,
) -> Result<Json<Chat>, Problem> {
    check_title(&title)?;
    app.engine.rename_chat(&chat.id, &title, &who.name).await?;
    now(&app, &chat).await
}

/// Ends all work in a chat and removes it.
#[utoipa::path(delete, path = "/api/worlds/{world}/chats/{chat}", operation_id = "delete_chat", tag = "chats",
    params(ChatPath), responses((status = 204), Changing))]
async fn delete(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
) -> Result<StatusCode, Problem> {
    app.engine.delete_chat(&chat.id, &who.name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancels model calls, ends running tools and withdraws what waits: of one agent, or of the whole chat.
#[utoipa::path(post, path = "/api/worlds/{world}/chats/{chat}/stop", operation_id = "stop_chat", tag = "chats",
    params(ChatPath), request_body = Option<OfAgent>, responses((status = 200, body = Chat), Writing))]
async fn stop(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    OptionalBody(of): OptionalBody<OfAgent>,
) -> Result<Json<Chat>, Problem> {
    app.engine.stop(&chat.id, agent(of), &who.name).await?;
    now(&app, &chat).await
}

/// Opens a chat with the history up to a message. Nothing in it runs again, and no permission comes along.
#[utoipa::path(post, path = "/api/worlds/{world}/chats/{chat}/fork", operation_id = "fork_chat", tag = "chats",
    params(ChatPath), request_body = ForkPoint, responses((status = 201, body = Chat), Writing))]
async fn fork(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Body(ForkPoint { message_id }): Body<ForkPoint>,
) -> Result<(StatusCode, Json<Chat>), Problem> {
    let fork = app.engine.fork(&chat.id, &MessageId::new(message_id), &who.name).await?;
    Ok((StatusCode::CREATED, Json(Chat::from_view(&fork))))
}

/// Takes failed turns up again: of one agent, or of the whole chat.
#[utoipa::path(post, path = "/api/worlds/{world}/chats/{chat}/retry", operation_id = "retry_chat", tag = "chats",
    params(ChatPath), request_body = Option<OfAgent>, responses((status = 202, body = Chat), Writing))]
async fn retry(
    State(app): State<Arc<App>>,
    _: Member,
    InChat(chat): InChat,
    OptionalBody(of): OptionalBody<OfAgent>,
) -> Result<(StatusCode, Json<Chat>), Problem> {
    app.engine.retry(&chat.id, agent(of)).await?;
    Ok((StatusCode::ACCEPTED, now(&app, &chat).await?))
}

fn agent(of: Option<OfAgent>) -> Option<AgentId> {
    of.unwrap_or_default().agent_id.map(AgentId::new)
}

async fn now(app: &App, chat: &ChatView) -> Result<Json<Chat>, Problem> {
    Ok(Json(Chat::from_view(&app.engine.chat(&chat.id).await?)))
}

fn check_title(title: &str) -> Result<(), Problem> {
    if title.chars().count() <= TITLE {
        return Ok(());
    }
    let detail = format!("the title is longer than {TITLE} characters; shorten it");
    Err(Problem::unprocessable("title_too_long", detail).with("field", "title"))
}
