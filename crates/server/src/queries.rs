//! Decides which fields the query of an address may have: those that the OpenAPI document lists for it, and no others.
//! A layer around all routes, so that none can forget it. Never looks at values: each route reads its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, ParameterIn};

use crate::documentation::operations;
use crate::problem::Problem;

/// The fields of each route's query, by its path and its method.
static KNOWN: LazyLock<BTreeMap<String, Fields>> = LazyLock::new(known);

type Fields = BTreeMap<&'static str, BTreeSet<String>>;

pub(crate) async fn refuse_unknown(request: Request, next: Next) -> Response {
    match check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(request: &Request) -> Result<(), Problem> {
    let uri = request.uri();
    if uri.query().is_none_or(str::is_empty) || !is_strict(uri.path()) {
        return Ok(());
    }
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    // `HEAD` is answered by whatever answers `GET`.
    let method = match *request.method() {
        Method::HEAD => "GET",
        ref method => method.as_str(),
    };
    let Some(fields) = matched.and_then(|path| KNOWN.get(path)?.get(method)) else {
        return Ok(());
    };
    // What is no list of fields is refused by whoever reads it.
    let Ok(Query(given)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else {
        return Ok(());
    };
    match given.iter().find(|(name, _)| !fields.contains(name)) {
        Some((name, _)) => Err(unknown(name, fields)),
        None => Ok(()),
    }
}

/// Clients of the OpenAI-compatible interface send what other servers understand, and whoever asks whether this one lives
/// must not be refused for how they ask.
fn is_strict(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

fn unknown(name: &str, fields: &BTreeSet<String>) -> Problem {
    let listed: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    let expected = match listed.as_slice() {
        [] => "this address takes none".to_owned(),
        listed => format!("this address takes {}", listed.join(", ")),
    };
    let detail =
        format!("the query of this address is refused: unknown field `{name}`; {expected}");
    Problem::unprocessable("query_invalid", detail).with("field", name)
}

fn known() -> BTreeMap<String, Fields> {
    let mut document = crate::described().into_openapi();
    let paths = std::mem::take(&mut document.paths.paths);
    let of = |operation: &Operation| {
        let all = operation.parameters.iter().flatten();
        let in_query = all.filter_map(|one| match one {
            RefOr::T(one) if matches!(one.parameter_in, ParameterIn::Query) => Some(&one.name),
            _ => None,
        });
        in_query.cloned().collect()
    };
    paths
        .into_iter()
        .map(|(path, mut item)| {
            let fields = operations(&mut item).map(|(method, operation)| (method, of(operation)));
            (path, fields.collect())
        })
        .collect()
}
