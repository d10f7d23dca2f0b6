//! The routes by which a browser signs in and out: `/api/session`. With them a token is typed in once and kept in no page.
//! Asks for no role: whoever is not signed in is told so. Attempts are few at a time, whoever makes them.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::sessions::{self, Over};
use super::{Identity, Pass, Role};
use crate::app::App;
use crate::extract::Body;
use crate::limits;
use crate::listen::{Link, Reach};
use crate::problem::Problem;

pub(crate) const PATH: &str = "/api/session";

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(show, sign_in, sign_out))
}

/// Whether somebody is signed in, and who.
#[derive(Debug, Serialize, ToSchema)]
struct SessionState {
    /// Whether one must sign in: there are tokens.
    required: bool,
    /// Absent where nobody is signed in, as the two after it.
    name: Option<String>,
    role: Option<Role>,
    /// What requests with the session's cookie carry as `X-CSRF-Token` when they change something.
    csrf: Option<String>,
}

/// Who is signed in with this browser. Never refused.
#[utoipa::path(get, path = "/api/session", operation_id = "get_session", tag = "access",
    responses((status = 200, body = SessionState)))]
async fn show(
    State(app): State<Arc<App>>,
    link: Option<Extension<Arc<Link>>>,
    identity: Option<Extension<Identity>>,
    headers: HeaderMap,
) -> Result<Json<SessionState>, Problem> {
    let beyond = link.is_some_and(|link| link.reach == Reach::Beyond);
    let required = beyond || app.register.current().await?.any();
    let Some(Extension(identity)) = identity else {
        return Ok(Json(SessionState { required, name: None, role: None, csrf: None }));
    };
    let session = match identity.pass {
        Pass::Session { .. } => app.sessions.find(&headers, app.register.now()),
        Pass::Local | Pass::Token(_) => None,
    };
    let (name, role) = (Some(identity.principal.name), Some(identity.principal.role));
    Ok(Json(SessionState { required, name, role, csrf: session.map(|session| session.csrf) }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// As `agent-world token create` has shown it.
    token: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct SignedIn {
    name: String,
    role: Role,
    /// What requests with the session's cookie carry as `X-CSRF-Token` when they change something.
    csrf: String,
}

/// Signs a browser in: its cookie then stands for the token, for a week or until the token is revoked.
///
/// Scripts cannot read the cookie, and browsers do not send it for other sites. Requests that change something carry
/// `X-CSRF-Token` besides, or are refused with `csrf_token_missing`. Programs send the token itself and need no session.
#[utoipa::path(post, path = "/api/session", operation_id = "sign_in", tag = "access", request_body = SignIn, responses(
    (status = 200, body = SignedIn, headers(("Set-Cookie" = String, description = "HttpOnly, SameSite=Strict"))),
    (status = 401, description = "The token is not known, was revoked or has expired", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "There are no tokens, so nobody needs to sign in", body = Problem, content_type = "application/problem+json"),
    (status = 429, description = "Too many attempts", body = Problem, content_type = "application/problem+json"),
))]
async fn sign_in(
    State(app): State<Arc<App>>,
    link: Option<Extension<Arc<Link>>>,
    headers: HeaderMap,
    Body(given): Body<SignIn>,
) -> Result<Response, Problem> {
    let from = link.map_or_else(|| "here".to_owned(), |link| link.address().to_string());
    if let Err(wait) = app.gate.sign_ins.take(&from, Instant::now()) {
        return Ok(limits::too_fast(&from, wait));
    }
    let known = app.register.current().await?;
    if !known.any() {
        let detail = "there are no tokens, so nobody needs to sign in; make one with `agent-world token create NAME`";
        return Err(Problem::conflict("sign_in_not_needed", detail));
    }
    let now = app.register.now();
    let found = known.find(given.token.trim()).filter(|(token, _)| !token.is_expired(now));
    let Some((token, fingerprint)) = found else {
        tracing::warn!(%from, "somebody tried to sign in with a token that is not known");
        return Err(Problem::unauthorized(
            "this token is not known, was revoked or has expired; ask an admin for another",
        ));
    };
    // One cookie, one session: the one before is not left behind.
    if let Some(before) = app.sessions.find(&headers, now) {
        app.sessions.end(&before.key);
    }
    app.register.note_use(fingerprint);
    let begun = app.sessions.begin(fingerprint, now);
    tracing::info!(name = %token.name, role = token.role.name(), "somebody signed in");
    let cookie = sessions::set_cookie(&begun.id, over(&app, &headers));
    let body = SignedIn { name: token.name.clone(), role: token.role, csrf: begun.csrf };
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(body)).into_response())
}

/// Signs this browser out. Its open streams end.
#[utoipa::path(delete, path = "/api/session", operation_id = "sign_out", tag = "access",
    responses((status = 204, description = "Nobody is signed in with this browser any more")))]
async fn sign_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Some(session) = app.sessions.find(&headers, app.register.now()) {
        app.sessions.end(&session.key);
    }
    let cookie = AppendHeaders([(header::SET_COOKIE, sessions::remove_cookie())]);
    (StatusCode::NO_CONTENT, cookie).into_response()
}

/// What a browser says of where its page comes from was checked before any route was taken.
fn over(app: &App, headers: &HeaderMap) -> Over {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let by_origin = origin.is_some_and(|origin| origin.starts_with("https://"));
    if by_origin || app.is_public_over_https() { Over::Https } else { Over::Anything }
}
