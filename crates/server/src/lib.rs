//! Agent World over HTTP: resources, live events and an OpenAI-compatible interface, around a running engine.
//!
//! A [`Server`] is a router that a program can mount in its own axum application, or serve as it is. It translates:
//! every rule is in `core`, every effect in `runtime`. Only this crate knows HTTP.

mod access;
mod app;
mod documentation;
mod events;
mod extract;
mod headers;
mod held;
mod idempotency;
mod limits;
mod listen;
mod operations;
mod page;
mod problem;
mod queries;
mod rendering;
mod responses;
mod routes;
mod secrets;
mod transfer;
mod webhook;
mod wire;

use std::sync::Arc;

use agent_world_runtime::Engine;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;

pub use access::{Access, Clock, Principal, Proof, Role, tokens};
pub use app::Options;
pub use limits::Limits;
pub use secrets::{REFERENCE, Secrets, is_secret, named_in};

use app::App;

/// An engine, ready to be reached over HTTP. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Server {
    app: Arc<App>,
}

impl Server {
    pub fn new(engine: Engine, options: Options) -> Self {
        Self { app: Arc::new(App::new(engine, options)) }
    }

    /// The interface without the web page, to be mounted beside what a program has of its own. Whoever serves it otherwise
    /// than by [`Server::serve`] asks [`Server::may_listen`] first, and bounds connections and the time that headers may take.
    pub fn router(&self) -> Router {
        self.layered(interface().fallback(problem::no_route))
    }

    /// The interface and the web page, which has the addresses that people see.
    pub fn site(&self) -> Router {
        self.layered(interface().merge(page::routes()).fallback(page::nowhere))
    }

    /// All routes, for somebody whom the program that calls it knows: nobody is asked for a token, and nothing is counted
    /// against anybody's pace. Never to be listened with.
    pub fn router_for(&self, principal: Principal) -> Router {
        let app = Arc::clone(&self.app);
        let (routes, _) = described().split_for_parts();
        routes
            .fallback(problem::no_route)
            .method_not_allowed_fallback(problem::no_method)
            .layer(from_fn_with_state(Arc::clone(&app), idempotency::once))
            .layer(from_fn(queries::refuse_unknown))
            // Whoever holds the store may put anything into it.
            .layer(DefaultBodyLimit::disable())
            .layer(Extension(principal))
            .layer(CatchPanicLayer::custom(headers::panicked))
            .layer(from_fn(responses::shape))
            .with_state(app)
    }

    /// Routes with all that is around them.
    fn layered(&self, routes: Router<Arc<App>>) -> Router {
        let app = Arc::clone(&self.app);
        // Read from the bottom: the last one is the outermost.
        routes
            .method_not_allowed_fallback(problem::no_method)
            .layer(from_fn_with_state(Arc::clone(&app), idempotency::once))
            .layer(from_fn(queries::refuse_unknown))
            .layer(DefaultBodyLimit::max(app.gate.limits.body_bytes))
            .layer(from_fn_with_state(Arc::clone(&app), limits::pace))
            .layer(from_fn_with_state(Arc::clone(&app), access::identify))
            .layer(from_fn_with_state(Arc::clone(&app), limits::admit))
            .layer(CatchPanicLayer::custom(headers::panicked))
            .layer(from_fn_with_state(Arc::clone(&app), operations::measure))
            .layer(from_fn(responses::shape))
            .layer(from_fn(headers::dress))
            .with_state(app)
    }

    /// Tells webhooks of what waits for approval, until the server is to stop. Whoever serves the router runs it beside it.
    pub async fn deliver_webhooks(&self) {
        webhook::deliver(Arc::clone(&self.app)).await;
    }

    /// Cancelled when the server is to stop: streams then end, so that no connection is waited for in vain.
    pub fn stopping(&self) -> &CancellationToken {
        &self.app.stopping
    }
}

/// The `Last-Event-ID` of whoever knows the log up to a position, and all that it was told as.
pub fn last_event_id(position: u64) -> u64 {
    events::last_id_of(position)
}

/// The OpenAPI document of all routes.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = described().split_for_parts().1;
    documentation::complete(&mut document);
    document
}

fn interface() -> Router<Arc<App>> {
    let (routes, mut document) = described().split_for_parts();
    documentation::complete(&mut document);
    routes.merge(documentation::routes(&document))
}

fn described() -> OpenApiRouter<Arc<App>> {
    let mut routes = OpenApiRouter::with_openapi(documentation::outline())
        .merge(operations::routes())
        .merge(access::routes())
        .merge(routes::all())
        .merge(events::routes())
        .merge(rendering::routes())
        .merge(responses::routes())
        .merge(transfer::routes())
        .merge(webhook::routes());
    idempotency::describe(routes.get_openapi_mut());
    routes
}
