//! Decides what can be followed, and by which addresses: a chat, a world, everything; live or page by page.
//!
//! Both forms say the same, byte for byte: one function tells what an event of the log means to a client (`tell`),
//! from what never changes afterwards (`facts`), and it is encoded once (`telling`). The log is the only memory:
//!
//! - a page is read from it, from any number on (`page`) or back from it (`backwards`);
//! - a stream reads it up to its end and then goes on with what the hub hands to all (`follow`, `hub`).
//!
//! A stream ends when its chat or world is deleted, when its reader is too slow, and when the server stops; whoever
//! comes back with the number of the last event it has seen gets every later one, once and in order. Nothing here
//! decides a rule or changes anything.

mod backwards;
mod facts;
mod follow;
mod frame;
mod hub;
mod live;
mod mailbox;
mod number;
mod page;
mod tell;
mod telling;
mod wire;

use std::sync::Arc;

use agent_world_core::ids::{ChatId, WorldId};
use agent_world_runtime::store::Scope;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Viewer;
use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::rendering::Render;
use crate::wire as shared;

pub(crate) use hub::Hub;

use number::Number;
use wire::{Event, Form, Types, Wish};

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(events_of_chat))
        .routes(routes!(events_of_world))
        .routes(routes!(events_of_all))
}

/// The number of the last that an event of the log can be told as.
pub(crate) fn last_id_of(position: u64) -> u64 {
    Number::end_of(position).0
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The number of the last event that is known; those after it are told.
    after: Option<u64>,
    /// Instead of `after`, for pages: the last events before this number. A number beyond all gives the newest; `next` leads
    /// back, and is null where the log begins.
    before: Option<u64>,
    /// How many events a page has; 100 unless said, at most 1000. Streams have no such limit.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only these: some of `message`, `stream`, `tool`, `approval`, `activity`, `system` and `crud`, separated by commas.
    types: Option<String>,
    /// With `html`, messages have their text as HTML, too, and pieces of replies the `blocks` that have changed.
    #[param(inline)]
    render: Option<Render>,
}

/// What happens in a chat.
///
/// With `Accept: text/event-stream` a live stream, else a page.
#[utoipa::path(get, path = "/api/worlds/{world}/chats/{chat}/events", tag = "events",
    params(
        ("world" = String, Path, description = "The world's id"),
        ("chat" = String, Path, description = "The chat's id"),
        ("Last-Event-ID" = Option<u64>, Header, description = "As `after`, which it overrides"),
        Wanted,
    ),
    responses(
        (status = 200, description = "A page, or a stream that does not end by itself", content(
            (shared::Page<Event> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn events_of_chat(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path((world, chat)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let topic = Topic::Chat(WorldId::from(world), ChatId::from(chat));
    answer(&app, topic, &wanted, &headers).await
}

/// What happens in a world: in all its chats, and to its settings.
///
/// With `Accept: text/event-stream` a live stream, else a page.
#[utoipa::path(get, path = "/api/worlds/{world}/events", tag = "events",
    params(
        ("world" = String, Path, description = "The world's id"),
        ("Last-Event-ID" = Option<u64>, Header, description = "As `after`, which it overrides"),
        Wanted,
    ),
    responses(
        (status = 200, description = "A page, or a stream that does not end by itself", content(
            (shared::Page<Event> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn events_of_world(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(world): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(&app, Topic::World(WorldId::from(world)), &wanted, &headers).await
}

/// What happens anywhere.
///
/// With `Accept: text/event-stream` a live stream, else a page.
#[utoipa::path(get, path = "/api/events", tag = "events",
    params(
        ("Last-Event-ID" = Option<u64>, Header, description = "As `after`, which it overrides"),
        Wanted,
    ),
    responses(
        (status = 200, description = "A page, or a stream that does not end by itself", content(
            (shared::Page<Event> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn events_of_all(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(&app, Topic::All, &wanted, &headers).await
}

async fn answer(
    app: &App,
    topic: Topic,
    wanted: &Wanted,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let types = wanted.types.as_deref().map_or(Ok(Types::ALL), Types::read)?;
    let wish = Wish { types, form: Form::of(wanted.render) };
    let last_seen = last_seen(headers)?.or(wanted.after);
    let is_stream = wants_stream(headers);
    if wanted.before.is_some() && (last_seen.is_some() || is_stream) {
        let detail = "`before` is for pages, and in place of `after`; leave one of them out";
        return Err(Problem::unprocessable("query_invalid", detail).with("field", "before"));
    }
    let after = last_seen.map_or(Number::START, Number);
    if is_stream {
        return follow::follow(&app.events, topic, wish, after).await;
    }
    topic.check(app.events.store()).await?;
    if let Some(before) = wanted.before {
        let (before, limit) = (Number(before), shared::limit(wanted.limit));
        return backwards::read(&app.events, &topic, wish, before, limit).await;
    }
    page::read(&app.events, &topic, wish, after, shared::limit(wanted.limit)).await
}

/// What a stream or a page is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Topic {
    All,
    World(WorldId),
    Chat(WorldId, ChatId),
}

impl Topic {
    fn scope(&self) -> Scope {
        match self {
            Self::All => Scope::All,
            Self::World(world) => Scope::World(world.clone()),
            Self::Chat(_, chat) => Scope::Chat(chat.clone()),
        }
    }

    /// Refuses what does not exist now.
    async fn check(&self, store: &dyn agent_world_runtime::store::Store) -> Result<(), Problem> {
        use agent_world_runtime::Error;
        match self {
            Self::All => Ok(()),
            Self::World(world) => match store.world(world).await? {
                Some(_) => Ok(()),
                None => Err(Error::UnknownWorld(world.clone()).into()),
            },
            Self::Chat(world, chat) => match store.chat(chat).await? {
                Some(view) if view.world == *world => Ok(()),
                _ => Err(Error::UnknownChat(chat.clone()).into()),
            },
        }
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/event-stream")
    })
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let detail =
            "`Last-Event-ID` is not a number; send the `id` of the last event you have seen";
        Problem::unprocessable("last_event_id_invalid", detail).with("field", "Last-Event-ID")
    })
}
