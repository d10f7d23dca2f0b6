//! The routes about who is asking: `/api/me`, and the tokens under `/api/tokens`.
//! A token's text is in one answer only, the one to whoever made it.

use std::sync::Arc;

use agent_world_core::Timestamp;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::tokens::{self, Issued, Refusal, Token, Wanted};
use super::{Admin, Identity, Pass, Role, Viewer};
use crate::app::App;
use crate::extract::{Body, Query};
use crate::problem::Problem;
use crate::wire::{Page, Paging};

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(me)).routes(routes!(list, create)).routes(routes!(revoke))
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
async fn me(Viewer(principal): Viewer, identity: axum::Extension<Identity>) -> Json<Me> {
    let authenticated = identity.pass != Pass::Local;
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

/// Takes a token back, by name or id. Its holder is refused from now on, and their open streams end.
#[utoipa::path(delete, path = "/api/tokens/{token}", operation_id = "revoke_token", tag = "access",
    params(("token" = String, Path, description = "The token's name or id")),
    responses(
        (status = 204, description = "It is revoked"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn revoke(
    Admin(principal): Admin,
    State(app): State<Arc<App>>,
    token: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<StatusCode, Problem> {
    // What is no text cannot be anybody's name.
    let Ok(Path(token)) = token else {
        return Err(Problem::not_found("token_not_found", "there is no such token"));
    };
    tokens::revoke(app.engine.store().as_ref(), &token).await?;
    app.register.forget();
    tracing::info!(%token, by = %principal.name, "a token was revoked");
    Ok(StatusCode::NO_CONTENT)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Name(_) => Self::unprocessable("token_name_invalid", detail),
            Refusal::Expired(_) => Self::unprocessable("token_expiry_invalid", detail),
            Refusal::Exists(_) => Self::conflict("token_exists", detail),
            Refusal::Unknown(_) => Self::not_found("token_not_found", "there is no such token"),
            Refusal::Store(error) => error.into(),
        }
    }
}
