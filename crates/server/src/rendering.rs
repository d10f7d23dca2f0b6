//! Texts as HTML, where somebody asks for it: in messages, on event streams, and at `POST /api/render`.
//! `render` makes the HTML; here it is decided for whom, with which names marked, and that nobody waits for somebody's
//! long text meanwhile.

use std::sync::Arc;

use agent_world_core::ids::WorldId;
use agent_world_core::view::MessageRole;
use agent_world_render::{Names, render};
use agent_world_runtime::store::{self, Store};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Viewer;
use crate::app::App;
use crate::extract::Body;
use crate::problem::Problem;
use crate::wire::Message;

/// Bytes of a text that are rendered at once; what is longer is rendered beside what goes on.
const AT_ONCE: usize = 8 * 1024;
/// Bytes of a text that is shown before it is stored.
const TEXT: usize = 1024 * 1024;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(preview))
}

/// A form that texts are wanted in besides their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Render {
    Html,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TextToRender {
    /// Markdown, at most 1 MiB.
    text: String,
    /// The world whose agents are marked where they are mentioned.
    world: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RenderedText {
    /// One block after another, each complete in itself.
    html: Vec<String>,
}

/// Shows a text as it would look in a message. Nothing is stored.
///
/// What comes back can be put into a page as it is: raw HTML in the text is text there, images are links, and links lead to
/// the web and to mail alone.
#[utoipa::path(post, path = "/api/render", operation_id = "render_text", tag = "messages", request_body = TextToRender,
    responses((status = 200, body = RenderedText), (status = 422, body = Problem, content_type = "application/problem+json")))]
async fn preview(
    State(app): State<Arc<App>>,
    _: Viewer,
    Body(TextToRender { text, world }): Body<TextToRender>,
) -> Result<Json<RenderedText>, Problem> {
    if text.len() > TEXT {
        let detail = "the text is longer than 1 MiB; send less at a time";
        return Err(Problem::unprocessable("text_too_long", detail).with("field", "text"));
    }
    let names = match world {
        Some(world) => names(app.engine.store().as_ref(), &WorldId::from(world)).await?,
        None => Names::default(),
    };
    Ok(Json(RenderedText { html: html(text, names).await? }))
}

/// Adds HTML to messages of a world.
pub(crate) async fn add(
    store: &dyn Store,
    world: &WorldId,
    messages: impl Iterator<Item = &mut Message>,
) -> Result<(), store::Error> {
    let has_prose =
        |message: &&mut Message| message.role != MessageRole::Tool && !message.content.is_empty();
    let messages: Vec<&mut Message> = messages.filter(has_prose).collect();
    if messages.is_empty() {
        return Ok(());
    }
    let names = names(store, world).await?;
    for message in messages {
        let made = html(message.content.clone(), names.clone()).await;
        message.html = Some(made.unwrap_or_else(|Lost| Vec::new()));
    }
    Ok(())
}

/// What the agents of a world are called; nothing where it is gone.
pub(crate) async fn names(store: &dyn Store, world: &WorldId) -> Result<Names, store::Error> {
    let found = store.world(world).await?;
    let agents = found.iter().flat_map(|found| found.agents.iter());
    Ok(Names::new(agents.flat_map(|agent| [agent.id.as_str(), agent.name.as_str()])))
}

/// The task that rendered is gone: the server stops.
#[derive(Debug)]
pub(crate) struct Lost;

impl From<Lost> for Problem {
    fn from(Lost: Lost) -> Self {
        Self::internal("a text was not rendered")
    }
}

pub(crate) async fn html(text: String, names: Names) -> Result<Vec<String>, Lost> {
    if text.len() <= AT_ONCE {
        return Ok(render(&text, &names));
    }
    tokio::task::spawn_blocking(move || render(&text, &names)).await.map_err(|_| Lost)
}
