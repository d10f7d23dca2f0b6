//! Serves what describes this interface: the OpenAPI document made from the routes, and a page to read it.
//! Needs no token: it tells nothing about anybody's worlds. What every route can answer is added here, once for all.

mod page;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, header};
use axum::response::Html;
use axum::routing::get;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::Tag;
use utoipa::openapi::{Content, OpenApi as Document, Ref, RefOr, Required, Response, Server};
use utoipa::{Modify, OpenApi};

use crate::access::{SESSION, SESSION_COOKIE};
use crate::app::App;
use crate::problem::Problem;

/// Nothing from elsewhere, no script at all, and no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// What requests with a session's cookie carry when they change something.
const CSRF: &str = "X-CSRF-Token";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Agent World",
        description = "Agents that live in worlds, talk by mention and act under human control.\n\nErrors are RFC 9457 problem \
                       documents with a stable `code`. Lists are pages: `?limit=&after=` with `next` of the page before. \
                       Fields that nobody knows are refused. Settings have a version: `ETag` tells it, `If-Match` asks for it.",
        version = env!("CARGO_PKG_VERSION"),
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    components(schemas(Problem)),
    modifiers(&Frame),
)]
struct Outline;

/// What is said of the interface as a whole.
struct Frame;

impl Modify for Frame {
    fn modify(&self, document: &mut Document) {
        document.servers = Some(vec![Server::new("/")]);
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some(
            "A token with a role: viewer (reads), member (posts), approver (decides), admin (changes settings). \
             Each may do what those before it may. Without tokens the server listens to this machine only."
                .to_owned(),
        );
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let about = format!(
            "What a browser has after it signed in at `POST {SESSION}`; it stands for a token and its role. Requests with \
             it that change something carry the session's `csrf` as `{CSRF}`, else they are refused with \
             `csrf_token_missing`."
        );
        let cookie = ApiKeyValue::with_description(SESSION_COOKIE.to_owned(), about);
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// The document without its routes.
pub(crate) fn outline() -> Document {
    Outline::openapi()
}

/// What a kind of routes is about, in the order in which they are shown.
const TAGS: [(&str, &str); 14] = [
    ("worlds", "Worlds and their settings."),
    ("agents", "The agents of a world: who they are and which model they speak with."),
    ("chats", "Chats of a world, and the work in them."),
    ("messages", "What was said in a chat, and saying something."),
    ("approvals", "What waits for a person's decision."),
    ("tool calls", "What agents called, and what came of it."),
    ("policy", "What agents may do: allow, ask or deny."),
    ("tools", "What agents can do."),
    ("mcp servers", "Servers that tools come from."),
    ("events", "What happens, live and from any point on."),
    ("audit", "Who did what, by which rule and with which result; and how often."),
    ("transfer", "Worlds as files."),
    ("responses", "The OpenAI-compatible interface."),
    ("operations", "How the server is."),
];

/// Adds what holds for every route: who may use it, and what it answers when that is not so.
pub(crate) fn complete(document: &mut Document) {
    let mut used = BTreeSet::new();
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            used.extend(operation.tags.iter().flatten().cloned());
            complete_operation(method, path, operation);
        }
    }
    let known = TAGS.iter().filter(|(name, _)| used.contains(*name)).map(|(name, about)| {
        let mut tag = Tag::new(*name);
        tag.description = Some((*about).to_owned());
        tag
    });
    let is_new = |name: &&String| !TAGS.iter().any(|(known, _)| known == name);
    let new = used.iter().filter(is_new).map(Tag::new);
    document.tags = Some(known.chain(new).collect());
}

pub(crate) fn operations(
    item: &mut PathItem,
) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [("GET", get), ("PUT", put), ("POST", post), ("DELETE", delete), ("PATCH", patch)]
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// The least role a route asks for. The routes themselves decide by what they take; a test holds the two together.
fn least_role(method: &str, path: &str) -> &'static str {
    let of_admins = ["/api/tokens", "/api/webhooks", "/api/worlds/import"];
    let of_approvers = ["/grants/", "/policy/rules/", "/api/approvals/"];
    if path.starts_with("/v1/") {
        "member"
    } else if of_admins.iter().any(|start| path.starts_with(start)) || path.ends_with("/export") {
        "admin"
    } else if method == "GET" || reads(path) {
        "viewer"
    } else if of_approvers.iter().any(|part| path.contains(part)) {
        "approver"
    } else if path.contains("/chats") {
        "member"
    } else {
        "admin"
    }
}

/// What is sent as a body and changes nothing.
fn reads(path: &str) -> bool {
    path.ends_with("/policy/test") || path.ends_with("/policy/diff") || path == "/api/render"
}

fn complete_operation(method: &str, path: &str, operation: &mut Operation) {
    let of_resources = path.starts_with("/api/") || path.starts_with("/v1/") || path == "/metrics";
    if of_resources && path != SESSION {
        let role = least_role(method, path);
        let none: [&str; 0] = [];
        operation.security = Some(vec![
            SecurityRequirement::new("bearer", [role]),
            SecurityRequirement::new("session", none),
        ]);
    }
    if of_resources && method != "GET" && !(path == SESSION && method == "POST") {
        operation.parameters.get_or_insert_default().push(RefOr::T(csrf()));
    }
    let asks = |place: &str| {
        let parameters = operation.parameters.iter().flatten();
        parameters
            .into_iter()
            .any(|one| matches!(one, RefOr::T(one) if serde_json::json!(one.parameter_in) == place))
    };
    let has_body = operation.request_body.is_some();
    let has_query = asks("query");
    let mut common = vec![
        (400, "The request cannot be read, or a token stands in its address"),
        (421, "The host is not one this server is known by"),
        (431, "The headers are too large"),
    ];
    if of_resources {
        common.extend([
            (401, "A token is needed, or is not known"),
            (403, "The token's role is not enough, or the request comes from another site"),
            (429, "Too many requests; try again in a moment"),
            (503, "The server cannot take it now; try again in a moment"),
        ]);
    }
    if has_body {
        common.extend([
            (408, "The body stood still"),
            (413, "The body is too large"),
            (415, "The body is not said to be JSON"),
        ]);
    }
    if has_body || has_query {
        common.push((422, "Something is not acceptable; `field` names it where it can be named"));
    }
    for (status, description) in common {
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_string()).or_insert_with(|| answer(path, description).into());
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = usual(status).to_owned();
        }
    }
}

/// What a browser's session adds to whatever is not only read.
fn csrf() -> Parameter {
    let mut header = Parameter::new(CSRF);
    header.parameter_in = ParameterIn::Header;
    header.required = Required::False;
    header.description = Some("The session's `csrf`, where a browser's session is used".to_owned());
    header.schema = Some(Object::with_type(Type::String).into());
    header
}

/// An error, in the format of its part of the interface.
fn answer(path: &str, description: &str) -> Response {
    let mut response = Response::new(description);
    // What is compatible with another interface has that one's errors.
    if !path.starts_with("/v1/") {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        response.content.insert("application/problem+json".to_owned(), problem.into());
    }
    response
}

/// What is meant where a route says nothing more.
fn usual(status: &str) -> &'static str {
    match status {
        "200" => "Done",
        "201" => "Made",
        "202" => "Accepted; it is being done",
        "204" => "Done; there is nothing to say",
        "400" => "The request cannot be read",
        "401" => "A token is needed, or is not known",
        "403" => "The token's role is not enough, or the request comes from another site",
        "404" => "There is no such thing",
        "409" => "It cannot be done as things are",
        "410" => "It is gone",
        "413" => "It is too large",
        "415" => "The body is not said to be JSON",
        "429" => "Too many requests; try again in a moment",
        "426" => "This is for WebSockets; upgrade the connection",
        "500" => "The vendor failed",
        "502" => "The vendor refused our key, or cannot be reached",
        "504" => "The vendor did not answer in time",
        "101" => "The connection is a WebSocket from here on",
        "503" => "The server cannot take it now; try again in a moment",
        "422" => "Something is not acceptable; `field` names it where it can be named",
        _ => "",
    }
}

pub(crate) fn routes(document: &Document) -> Router<Arc<App>> {
    let json = document.to_pretty_json().unwrap_or_default();
    let html = page::page(&serde_json::json!(document));
    let guarded: [(HeaderName, &str); 2] =
        [(header::CONTENT_SECURITY_POLICY, POLICY), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    let described = move || async move { ([(header::CONTENT_TYPE, "application/json")], json) };
    let read = move || async move { (guarded, Html(html)) };
    let styled = || async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE) };
    Router::new()
        .route("/openapi.json", get(described))
        .route("/docs", get(read))
        .route("/docs/style.css", get(styled))
}
