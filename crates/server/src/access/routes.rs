//! The routes about who is asking: `/api/me`, and the tokens under `/api/tokens`.
//! A token's text is in one answer only, the one to whoever made it.

use std::sync::Arc;

use agent_world_core::Timestamp;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::tokens::{self, Issued, Last, Left, Refusal, Token, Wanted};
use super::{Admin, Role, Viewer, signing_in};
use crate::app::App;
use crate::extract::{Body, Query};
use crate::listen::{Link, Reach};
use crate::problem::Problem;
use crate::wire::{Page, Paging};

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(signing_in::routes())
        .routes(routes!(me))
        .routes(routes!(list, create))
        .routes(routes!(revoke))
}

/// Who is asking.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    name: String,
    role: Role,
    /// By a token. False where there are none, and whoever is at this machine may do everything.
    authenticated: bool,
}

/// Who you are to this server, and what you may do.
#[utoipa::path(get, path = "/api/me", operation_id = "get_me", tag = "access", responses((status = 200, body = Me)))]
async fn me(Viewer(principal): Viewer) -> Json<Me> {
    let authenticated = principal.user().is_some();
    Json(Me { name: principal.name, role: principal.role, authenticated })
}

/// All tokens, without what they are recognised by.
#[utoipa::path(get, path = "/api/tokens", operation_id = "list_tokens", tag = "access", params(Paging), responses(
    (status = 200, body = Page<Token>),
    (status = 422, body = Problem, content_type = "application/problem+json"),
))]
async fn list(
    _: Admin,
    State(app): State<Arc<App>>,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Token>>, Problem> {
    let tokens = tokens::list(app.engine.store().as_ref()).await?;
    let after = paging.after.as_deref().unwrap_or_default();
    let later = tokens.into_iter().filter(|token| token.name.as_str() > after);
    let found: Vec<Token> = later.take(paging.limit() + 1).collect();
    Ok(Json(Page::cut(found, paging.limit(), |token| token.name.clone())))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewToken {
    /// 1 to 64 letters, digits, `.`, `_`, `-`, `+` or `@`; no other token has it, in whatever case.
    name: String,
    role: Role,
    /// From then on it is refused.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
struct NewTokenIssued {
    /// The token itself. It is shown this once and stored nowhere.
    token: String,
    #[serde(flatten)]
    about: Token,
}

/// Makes a token. From the first one on, every request needs one.
#[utoipa::path(post, path = "/api/tokens", operation_id = "create_token", tag = "access", request_body = NewToken, responses(
    (status = 201, body = NewTokenIssued),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
    (status = 415, body = Problem, content_type = "application/problem+json"),
    (status = 422, body = Problem, content_type = "application/problem+json"),
))]
async fn create(
    Admin(principal): Admin,
    State(app): State<Arc<App>>,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<NewTokenIssued>), Problem> {
    let NewToken { name, role, expires_at } = new;
    let wanted = Wanted { name, role, expires_at, by: principal.name };
    let issued = tokens::create(app.engine.store().as_ref(), wanted, app.register.now()).await?;
    app.register.forget();
    let Issued { token: about, text } = issued;
    tracing::info!(token = %about.name, role = about.role.name(), "a token was made");
    Ok((StatusCode::CREATED, Json(NewTokenIssued { token: text, about })))
}

/// What follows from taking the last token back.
#[derive(Debug, Serialize, ToSchema)]
struct LastRevoked {
    /// That nobody needs a token any more, and what to do about it.
    warning: &'static str,
}

const OPEN: &str = "that was the last token: from now on everybody on this machine may do everything, without one; \
                    make another with `agent-world token create NAME --role admin` to close the server again";

/// Takes a token back, by name or id. Its holder is refused from now on, and their open streams end.
///
/// Without any token the server is open to everybody on its machine; the answer says so. Where other machines reach the
/// server, the last token that lets anybody in cannot be taken back.
#[utoipa::path(delete, path = "/api/tokens/{token}", operation_id = "revoke_token", tag = "access",
    params(("token" = String, Path, description = "The token's name or id")),
    responses(
        (status = 200, description = "It is revoked, and was the last one", body = LastRevoked),
        (status = 204, description = "It is revoked"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is the last one, and other machines reach the server", body = Problem, content_type = "application/problem+json"),
    ))]
async fn revoke(
    Admin(principal): Admin,
    State(app): State<Arc<App>>,
    link: Option<axum::Extension<Arc<Link>>>,
    token: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<Response, Problem> {
    // What is no text cannot be anybody's name.
    let Ok(Path(token)) = token else {
        return Err(Problem::not_found("token_not_found", "there is no such token"));
    };
    let last = match link {
        Some(axum::Extension(link)) if link.reach == Reach::Beyond => Last::Stays,
        _ => Last::MayGo,
    };
    let store = app.engine.store().as_ref();
    let left = tokens::revoke(store, &token, last, app.register.now()).await?;
    app.register.forget();
    tracing::info!(%token, by = %principal.name, "a token was revoked");
    Ok(match left {
        Left::Tokens => StatusCode::NO_CONTENT.into_response(),
        Left::Nothing => {
            // Read at once, so that the log says it now and not with the next request.
            app.register.current().await?;
            Json(LastRevoked { warning: OPEN }).into_response()
        }
    })
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Name(_) => Self::unprocessable("token_name_invalid", detail),
            Refusal::Expired(_) => Self::unprocessable("token_expiry_invalid", detail),
            Refusal::Exists(_) => Self::conflict("token_exists", detail),
            Refusal::Last(_) => Self::conflict("last_token", detail),
            Refusal::Unknown(_) => Self::not_found("token_not_found", "there is no such token"),
            Refusal::Store(error) => error.into(),
        }
    }
}
