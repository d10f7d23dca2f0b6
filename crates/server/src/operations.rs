//! Tells machines how the server is: whether it lives, whether it is ready, and its numbers.
//! Asked by supervisors, load balancers and whoever collects metrics. The first two need no token and tell nothing about
//! anybody's worlds; the numbers are for readers.

mod follow;
mod measure;
mod metrics;
mod names;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use follow::{Following, follow};
pub(crate) use measure::measure;
pub(crate) use metrics::Metrics;

use crate::access::Viewer;
use crate::app::App;
use crate::problem::Problem;

/// The text format of OpenMetrics, which Prometheus reads.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Which server answers.
const INSTANCE: HeaderName = HeaderName::from_static("agent-world-instance");

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(numbers))
}

/// Whether the process answers at all, and which one it is.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses(
    (status = 200, body = String, headers(
        ("agent-world-instance" = String, description = "The `instance` that the server wrote into its `server.json`; another with every start."),
    )),
))]
async fn healthz(State(app): State<Arc<App>>) -> impl IntoResponse {
    let instance = app.instance.as_deref().and_then(|instance| instance.parse().ok());
    let headers: HeaderMap = instance.map(|instance| (INSTANCE, instance)).into_iter().collect();
    (headers, "ok\n")
}

/// Whether the server takes work: the store answers, and it is not about to stop.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses(
    (status = 200, body = String),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    let unready =
        |code: &str, detail: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
    if app.stopping.is_cancelled() {
        return Err(unready("shutting_down", "the server is shutting down"));
    }
    match app.engine.store().position().await {
        Ok(_) => Ok("ready\n"),
        Err(error) => {
            tracing::error!(%error, "the store does not answer");
            Err(unready(
                "store_unavailable",
                "the store does not answer; the server's log says why",
            ))
        }
    }
}

/// The server's numbers, for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "get_metrics", tag = "operations", responses(
    (status = 200, body = String, content_type = "application/openmetrics-text"),
))]
async fn numbers(State(app): State<Arc<App>>, _who: Viewer) -> Result<impl IntoResponse, Problem> {
    // What cannot be looked up keeps the number it had: the other numbers are as good as ever.
    match app.engine.store().position().await {
        Ok(position) => app.metrics.at_position(position),
        Err(error) => tracing::warn!(%error, "the store's position cannot be told"),
    }
    app.counting.catch_up().await;
    app.metrics.resident(app.engine.resident_chats());
    let text = app.metrics.text().map_err(Problem::internal)?;
    Ok(([(header::CONTENT_TYPE, FORMAT)], text))
}
