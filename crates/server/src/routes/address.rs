//! Decides what the ids in an address stand for. Taken by every route about a chat, after the role that it needs.
//! Never tells a chat of another world from one that does not exist.

use std::sync::Arc;

use agent_world_core::ids::{ChatId, WorldId};
use agent_world_core::view::ChatView;
use agent_world_runtime::Error;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::extract::Path;
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct WorldPath {
    /// The world's id.
    pub world: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ChatPath {
    /// The world's id.
    pub world: String,
    /// The chat's id.
    pub chat: String,
}

impl ChatPath {
    fn not_found(&self) -> Problem {
        let detail = format!("chat {} does not exist in world {}", self.chat, self.world);
        Problem::not_found("chat_not_found", detail)
    }
}

/// A world that exists.
#[derive(Debug)]
pub(super) struct InWorld(pub WorldId);

impl FromRequestParts<Arc<App>> for InWorld {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(path) = Path::<WorldPath>::from_request_parts(parts, app).await?;
        let world = app.engine.world(&WorldId::new(path.world)).await?;
        Ok(Self(world.id.clone()))
    }
}

/// A chat that is there, in the world of the address.
#[derive(Debug)]
pub(super) struct InChat(pub ChatView);

impl FromRequestParts<Arc<App>> for InChat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(path) = Path::<ChatPath>::from_request_parts(parts, app).await?;
        let found = app.engine.store().chat(&ChatId::new(path.chat.as_str())).await?;
        let here = found.filter(|chat| chat.world.as_str() == path.world);
        here.map(Self).ok_or_else(|| path.not_found())
    }
}

/// The same, of which nothing but its place is known: a chat that is active need not be looked up.
#[derive(Debug)]
pub(super) struct AtChat {
    pub world: WorldId,
    pub id: ChatId,
}

impl FromRequestParts<Arc<App>> for AtChat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(path) = Path::<ChatPath>::from_request_parts(parts, app).await?;
        let id = ChatId::new(path.chat.as_str());
        match app.engine.world_of(&id).await {
            Ok(world) if world.as_str() == path.world => Ok(Self { world, id }),
            Ok(_) | Err(Error::UnknownChat(_)) => Err(path.not_found()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A cursor that names nothing: whoever holds it must begin anew rather than miss something.
pub(super) fn unknown_cursor(field: &'static str, id: &str) -> Problem {
    let detail = format!("`{field}` names {id}, which is not in this list; begin without it");
    Problem::unprocessable("cursor_unknown", detail).with("field", field)
}
