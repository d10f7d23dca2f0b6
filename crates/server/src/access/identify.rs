//! Decides who is asking, before any route is taken: by a token, by a session that began with one or, where there are none,
//! by being at this machine.
//! A layer around every route. Never decides what somebody may do: routes name the role they need.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::origin::{self, Showing};
use super::register::{Known, Pass};
use super::{Principal, Proof, SESSION, sessions, tokens};
use crate::app::App;
use crate::held::{self, Kind};
use crate::listen::{Link, Reach};
use crate::page;
use crate::problem::Problem;

/// How often an open stream asks whether its reader may still read.
const RECHECK: Duration = Duration::from_secs(1);
/// How long streams have to say goodbye when the server stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// Somebody who was let in, and by what.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub principal: Principal,
    pub pass: Pass,
}

/// Finds out who is asking before any route is taken.
pub(crate) async fn identify(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let identity = match admit(&app, &parts).await {
        Ok(identity) => identity,
        Err(problem) => return problem.into_response(),
    };
    if let Some(identity) = &identity {
        tracing::Span::current().record("principal", &identity.principal.name);
        parts.extensions.insert(identity.principal.clone());
        parts.extensions.insert(identity.clone());
    }
    let link = parts.extensions.get::<Arc<Link>>().cloned();
    let method = parts.method.clone();
    let response = next.run(Request::from_parts(parts, body)).await;
    match identity {
        Some(identity) => watched(&app, identity.pass, &method, link, response),
        None => response,
    }
}

async fn admit(app: &App, parts: &Parts) -> Result<Option<Identity>, Problem> {
    let showing = showing(&parts.method, parts.uri.path());
    check_query(&parts.uri)?;
    let host = origin::host(parts)?;
    let link = parts.extensions.get::<Arc<Link>>();
    origin::check_origin(parts, host.as_ref(), showing)?;
    let known = app.register.current().await?;
    if !known.any() && link.is_none_or(|link| link.reach == Reach::Loopback) {
        match (&host, link) {
            (Some(host), _) => {
                origin::check_loopback(host)?;
                origin::check_direct(&parts.headers)?;
            }
            (None, Some(_)) => return Err(origin::no_host()),
            // It did not come over a connection of ours: a program calls its own router.
            (None, None) => {}
        }
        if let Some(link) = link
            && let Err(problem) = origin::check_peer(link.peer().await)
        {
            return if showing == Showing::Public { Ok(None) } else { Err(problem) };
        }
        let principal = app.access.local.clone();
        return Ok(Some(Identity { principal, pass: Pass::Local }));
    }
    let is_browser =
        !parts.headers.contains_key(header::AUTHORIZATION) && sessions::has_cookie(&parts.headers);
    let found = match is_browser {
        true => signed_in(app, &known, parts),
        false => holder(app, &known, parts),
    };
    let found = match (found, link) {
        // A browser sends its cookie to every port of a host, so also to what an agent serves there.
        (Ok(identity), Some(link)) if is_browser && link.is_from_here() => {
            origin::check_peer(link.peer().await).map(|()| identity)
        }
        (found, _) => found,
    };
    match found {
        Ok(identity) => Ok(Some(identity)),
        Err(_) if showing == Showing::Public => Ok(None),
        // Whoever signs in has no session yet, or one that is of no use.
        Err(_) if parts.uri.path() == SESSION && parts.method == Method::POST => Ok(None),
        Err(problem)
            if parts.uri.path() == SESSION && problem.status() == StatusCode::UNAUTHORIZED =>
        {
            Ok(None)
        }
        Err(problem) => Err(problem),
    }
}

fn holder(app: &App, known: &Known, parts: &Parts) -> Result<Identity, Problem> {
    let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
    let text = match (given.next(), given.next()) {
        (Some(value), None) => value.to_str().ok().and_then(bearer),
        (None, _) if !known.any() => {
            return Err(Problem::unauthorized(
                "there is no token, and this server can be reached by other machines; \
                 make one with `agent-world token create NAME --role admin`",
            ));
        }
        (None, _) => {
            let detail = "this needs a token; send it as `Authorization: Bearer TOKEN`";
            return Err(Problem::unauthorized(detail));
        }
        (Some(_), Some(_)) => None,
    };
    let found = text.and_then(|text| known.find(text));
    // One that expired is refused in the same words: nobody learns that it was right once.
    let Some((token, fingerprint)) =
        found.filter(|(token, _)| !token.is_expired(app.register.now()))
    else {
        return Err(Problem::unauthorized(
            "this token is not known, was revoked or has expired; ask an admin for another",
        ));
    };
    app.register.note_use(fingerprint);
    let principal = Principal { name: token.name.clone(), role: token.role, proof: Proof::Token };
    Ok(Identity { principal, pass: Pass::Token(fingerprint) })
}

/// Whoever has signed in may do what the token may that it was done with.
fn signed_in(app: &App, known: &Known, parts: &Parts) -> Result<Identity, Problem> {
    let now = app.register.now();
    let session = app.sessions.find(&parts.headers, now);
    let found = session.and_then(|session| {
        let token = known.holder(&session.token).filter(|token| !token.is_expired(now))?;
        Some((session, token))
    });
    let Some((session, token)) = found else {
        let detail = "the session has ended, or its token was revoked; sign in again";
        return Err(Problem::unauthorized(detail));
    };
    sessions::check_csrf(parts, &session.csrf)?;
    app.register.note_use(session.token);
    let principal = Principal { name: token.name.clone(), role: token.role, proof: Proof::Token };
    Ok(Identity { principal, pass: Pass::Session { key: session.key, token: session.token } })
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, text) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(text.trim())
}

/// Addresses end up in histories, logs and other people's `Referer`: a token in one is refused, so that nobody gets
/// used to it. The answer does not repeat it.
fn check_query(uri: &Uri) -> Result<(), Problem> {
    let Some(query) = uri.query() else {
        return Ok(());
    };
    let named = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let by_name = named.is_ok_and(|Query(pairs)| {
        pairs.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("token") || name.eq_ignore_ascii_case("access_token")
        })
    });
    if by_name || query.contains(tokens::PREFIX) {
        let detail = "a token does not belong in an address, where others can read it; \
                      send it as `Authorization: Bearer TOKEN`, and revoke this one if it is in use";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "token_in_url", detail));
    }
    Ok(())
}

/// What tells nothing about anybody's worlds needs no token.
fn showing(method: &Method, path: &str) -> Showing {
    let is_public = matches!(path, "/healthz" | "/readyz" | "/docs" | "/openapi.json")
        || path.starts_with("/docs/")
        || page::is_of_page(path);
    let only_reads = matches!(*method, Method::GET | Method::HEAD);
    if is_public && only_reads { Showing::Public } else { Showing::Private }
}

/// Ends a stream when its reader would not be let in any more, and when the server stops.
fn watched(
    app: &Arc<App>,
    pass: Pass,
    method: &Method,
    link: Option<Arc<Link>>,
    response: Response,
) -> Response {
    match held::kind(&response) {
        Kind::Whole | Kind::Parts => response,
        Kind::Stream => {
            // An answer to a request that did something may finish; one that only listens would never end.
            let ends_with_server = *method == Method::GET;
            held::until(response, Box::pin(unwelcome(Arc::clone(app), pass, ends_with_server)))
        }
        Kind::Upgrade => {
            if let Some(link) = link {
                link.end_when(Box::pin(unwelcome(Arc::clone(app), pass, true)));
            }
            response
        }
    }
}

async fn unwelcome(app: Arc<App>, pass: Pass, ends_with_server: bool) {
    let stopped = async {
        app.stopping.cancelled().await;
        tokio::time::sleep(FAREWELL).await;
    };
    let mut stopped: Pin<Box<dyn Future<Output = ()> + Send>> =
        if ends_with_server { Box::pin(stopped) } else { Box::pin(std::future::pending()) };
    loop {
        tokio::select! {
            () = &mut stopped => return,
            () = tokio::time::sleep(RECHECK) => {}
        }
        let is_signed_out = match pass {
            Pass::Session { key, .. } => !app.sessions.has(&key, app.register.now()),
            Pass::Local | Pass::Token(_) => false,
        };
        if is_signed_out || !app.register.still_allows(pass).await {
            return;
        }
    }
}
