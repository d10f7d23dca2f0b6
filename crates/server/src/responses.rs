//! The OpenAI-compatible interface under `/v1`: models of every vendor that is set up, and agents as if they were models.
//! It translates and keeps; who answers, and under which rules, is the engine's business.

mod agent;
mod answer;
mod asked;
mod background;
mod compact;
mod completions;
mod create;
mod failure;
mod input;
mod kept;
mod models;
mod resource;
mod seal;
mod socket;
mod stored;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use background::Shared;
pub(crate) use failure::{refusal, shape};

/// Images and long conversations come whole in a body.
const LARGEST_BODY: usize = 16 * 1024 * 1024;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create::create, socket::open))
        .routes(routes!(compact::compact))
        .routes(routes!(stored::read, stored::delete))
        .routes(routes!(stored::cancel))
        .routes(routes!(stored::input_items))
        .routes(routes!(models::list))
        .routes(routes!(models::one))
        .route("/v1/models/{vendor}/{*rest}", get(models::one_of_vendor))
        .routes(routes!(completions::complete))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
}
