//! Messages of a chat: read, posted, edited, taken back. Merged in `routes::work`.
//! A post is answered once it is durable; what it leads to is told on the event stream. Never waits for an agent.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_world_core::event::{Attendance, Position};
use agent_world_core::ids::{ChatId, MessageId};
use agent_world_core::item::Part;
use agent_world_core::sender::Sender;
use agent_world_core::view::{ChatView, MessageView};
use agent_world_runtime::store::{MessagePage, Store};
use agent_world_runtime::{Delivery, NewMessage, Posted};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{AtChat, ChatPath, InChat, unknown_cursor};
use super::refusals::{Changing, Reading, Writing};
use crate::access::{Member, Principal, Role, Viewer};
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::idempotency;
use crate::problem::Problem;
use crate::rendering::{self, Render};
use crate::wire::{self, Edit, Message, OnApproval, Page, PostedMessage, limit};

/// Bytes of one message's text.
const TEXT: usize = 1024 * 1024;
/// Bytes of the images and files beside it: they must fit a request, and a store that is asked for a page of them.
const BESIDE: usize = 6 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, post)).routes(routes!(show, edit, delete))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct MessagePath {
    /// The message's id.
    message: String,
}

impl MessagePath {
    fn id(self) -> MessageId {
        MessageId::new(self.message)
    }
}

/// Which messages are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Window {
    /// How many; 100 unless said, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The first messages after this one.
    after: Option<String>,
    /// The last messages before this one; with nothing in it, the last of all.
    before: Option<String>,
    /// With `html`, messages have their text as HTML, too.
    #[param(inline)]
    render: Option<Render>,
}

/// A chat's messages, oldest first: from the beginning, after a message or before one.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/messages", operation_id = "list_messages",
    tag = "messages", params(ChatPath, Window), responses((status = 200, body = Page<Message>), Reading))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Query(window): Query<Window>,
) -> Result<Json<Page<Message>>, Problem> {
    let store = app.engine.store();
    let limit = limit(window.limit);
    let told = |view: &MessageView| Message::from_view(&chat.id, view);
    let id = |message: &Message| message.id.clone();
    let mut page = match (window.after, window.before) {
        (Some(_), Some(_)) => {
            let detail = "`after` and `before` go in different directions; give one of them";
            return Err(Problem::unprocessable("query_invalid", detail));
        }
        (after, None) => {
            let place = place(&app, &chat, "after", after.as_deref()).await?;
            let found = forwards(store.as_ref(), &chat.id, place, limit).await?;
            let next = found.more.then(|| found.views.last().map(|view| view.id.to_string()));
            Page { data: found.views.iter().map(told).collect(), next: next.flatten() }
        }
        (None, Some(before)) => {
            let before = Some(before.as_str()).filter(|before| !before.is_empty());
            let place = place(&app, &chat, "before", before).await?;
            let found = backwards(store.as_ref(), &chat.id, place, limit).await?;
            let data: Vec<Message> = found.iter().map(told).collect();
            let next = place.and(data.last().map(id));
            Page { data, next }
        }
    };
    if window.render == Some(Render::Html) {
        rendering::add(store.as_ref(), &chat.world, page.data.iter_mut()).await?;
    }
    Ok(Json(page))
}

/// Messages read at once, and the bytes after which a page ends: each may hold images.
const STEP: usize = 4;
const BYTES: usize = 8 * 1024 * 1024;

struct Found {
    views: Vec<MessageView>,
    /// Whether there are further ones.
    more: bool,
}

async fn forwards(
    store: &dyn Store,
    chat: &ChatId,
    mut place: Option<Position>,
    limit: usize,
) -> Result<Found, Problem> {
    let (mut views, mut bytes) = (Vec::new(), 0);
    loop {
        let step = STEP.min(limit - views.len()) + 1;
        let mut found = store.messages(chat, MessagePage::After(place, step)).await?;
        let more = found.len() == step;
        found.truncate(step - 1);
        bytes += found.iter().map(size).sum::<usize>();
        views.append(&mut found);
        place = views.last().map(|view| view.position);
        if !more || views.len() >= limit || bytes > BYTES {
            return Ok(Found { views, more });
        }
    }
}

async fn backwards(
    store: &dyn Store,
    chat: &ChatId,
    mut place: Option<Position>,
    limit: usize,
) -> Result<Vec<MessageView>, Problem> {
    let (mut views, mut bytes) = (VecDeque::new(), 0);
    loop {
        let step = STEP.min(limit - views.len());
        let found = store.messages(chat, MessagePage::Before(place, step)).await?;
        let more = found.len() == step;
        bytes += found.iter().map(size).sum::<usize>();
        found.into_iter().rev().for_each(|view| views.push_front(view));
        place = views.front().map(|view: &MessageView| view.position);
        if !more || views.len() >= limit || bytes > BYTES {
            return Ok(views.into());
        }
    }
}

/// About how much of a page a message takes.
fn size(view: &MessageView) -> usize {
    let beside = |part: &Part| serde_json::to_string(part).map_or(0, |json| json.len());
    view.text.len() + view.parts.iter().map(beside).sum::<usize>()
}

async fn place(
    app: &App,
    chat: &ChatView,
    field: &'static str,
    id: Option<&str>,
) -> Result<Option<Position>, Problem> {
    let Some(id) = id else { return Ok(None) };
    let found = app.engine.store().message(&chat.id, &MessageId::new(id)).await?;
    found.map(|view| Some(view.position)).ok_or_else(|| unknown_cursor(field, id))
}

/// Posts a message. It is durable when this answers; the agents it addresses take it up by themselves.
#[utoipa::path(post, path = "/api/worlds/{world}/chats/{chat}/messages", operation_id = "post_message",
    tag = "messages", params(ChatPath), request_body = wire::NewMessage,
    responses((status = 202, body = PostedMessage), Writing))]
async fn post(
    State(app): State<Arc<App>>,
    who: Member,
    chat: AtChat,
    headers: HeaderMap,
    Body(sent): Body<wire::NewMessage>,
) -> Result<Response, Problem> {
    // Within a chat; a key has no space in it, so whose key it is cannot be mistaken.
    let key = idempotency::key(&headers)?.map(|key| format!("{} {key}", who.name));
    let message = NewMessage { key, ..read(&app, &chat, &who, sent).await? };
    let posted = app.engine.post(&chat.id, message).await?;
    let mut response = accepted(&chat.id, &posted).into_response();
    if posted.delivery == Delivery::Repeated {
        idempotency::mark_replayed(&mut response);
    }
    Ok(response)
}

async fn read(
    app: &App,
    chat: &AtChat,
    who: &Principal,
    sent: wire::NewMessage,
) -> Result<NewMessage, Problem> {
    let sender = match &sent.sender {
        Some(name) => sender(app, who, chat, name).await?,
        None => Sender::Human,
    };
    let reply_to = sent.reply_to.map(MessageId::new);
    if let Some(id) = &reply_to
        && app.engine.store().message(&chat.id, id).await?.is_none()
    {
        let detail = format!("`reply_to` names {id}, which is no message of this chat");
        return Err(Problem::unprocessable("reply_to_unknown", detail).with("field", "reply_to"));
    }
    let (text, parts) = sent.content.split()?;
    check_size(&text, &parts)?;
    Ok(NewMessage {
        sender,
        user: who.user(),
        parts,
        reply_to,
        attendance: match sent.on_approval {
            OnApproval::Ask => Attendance::Attended,
            OnApproval::Deny => Attendance::Unattended,
        },
        ..NewMessage::human(text)
    })
}

/// Whoever is no agent of the world cannot have said anything in it.
async fn sender(app: &App, who: &Principal, chat: &AtChat, name: &str) -> Result<Sender, Problem> {
    let sender = Sender::parse(name);
    // In the name of an agent or of the system only whoever may change both: others would take it for theirs.
    if matches!(sender, Sender::Agent(_) | Sender::System) {
        who.require(Role::Admin)?;
    }
    if let Sender::Agent(agent) = &sender {
        let world = app.engine.world(&chat.world).await?;
        if world.agent(agent).is_none() {
            let detail = "`sender` is no agent of this world; leave it out to speak for yourself";
            return Err(Problem::unprocessable("agent_not_found", detail).with("field", "sender"));
        }
    }
    Ok(sender)
}

fn check_size(text: &str, parts: &[Part]) -> Result<(), Problem> {
    let length = |part: &Part| serde_json::to_string(part).map_or(usize::MAX, |json| json.len());
    let beside = parts.iter().map(length).fold(0, usize::saturating_add);
    let detail = if text.len() > TEXT {
        format!("the message has {} bytes of text and can have {TEXT}; shorten it", text.len())
    } else if beside > BESIDE {
        format!(
            "the message's images and files have {beside} bytes and can have {BESIDE}; \
             make them smaller, or put them where the agent can read them"
        )
    } else {
        return Ok(());
    };
    Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_large", detail)
        .with("field", "content"))
}

fn accepted(chat: &ChatId, posted: &Posted) -> (StatusCode, Json<PostedMessage>) {
    let message = Message::from_posted(chat, posted);
    (StatusCode::ACCEPTED, Json(PostedMessage { message }))
}

/// One message.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/messages/{message}", operation_id = "get_message",
    tag = "messages", params(ChatPath, MessagePath), responses((status = 200, body = Message), Reading))]
async fn show(
    State(app): State<Arc<App>>,
    _: Viewer,
    InChat(chat): InChat,
    Path(path): Path<MessagePath>,
) -> Result<Json<Message>, Problem> {
    let id = path.id();
    let found = app.engine.store().message(&chat.id, &id).await?;
    let view = found.ok_or_else(|| {
        let detail = format!("message {id} does not exist in this chat, or was taken back");
        Problem::not_found("message_not_found", detail)
    })?;
    Ok(Json(Message::from_view(&chat.id, &view)))
}

/// Takes a human message and everything after it back, and posts a new text in its place.
#[utoipa::path(put, path = "/api/worlds/{world}/chats/{chat}/messages/{message}", operation_id = "edit_message",
    tag = "messages", params(ChatPath, MessagePath), request_body = Edit,
    responses((status = 202, body = PostedMessage), Writing))]
async fn edit(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Path(path): Path<MessagePath>,
    Body(Edit { content }): Body<Edit>,
) -> Result<(StatusCode, Json<PostedMessage>), Problem> {
    check_size(&content, &[])?;
    let posted =
        app.engine.edit_message(&chat.id, &path.id(), &content, who.user(), &who.name).await?;
    Ok(accepted(&chat.id, &posted))
}

/// Takes a human message and everything after it back.
#[utoipa::path(delete, path = "/api/worlds/{world}/chats/{chat}/messages/{message}",
    operation_id = "delete_message", tag = "messages", params(ChatPath, MessagePath),
    responses((status = 204), Changing))]
async fn delete(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Path(path): Path<MessagePath>,
) -> Result<StatusCode, Problem> {
    app.engine.delete_message(&chat.id, &path.id(), &who.name).await?;
    Ok(StatusCode::NO_CONTENT)
}
