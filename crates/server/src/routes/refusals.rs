//! Which problems every route can answer with, for the OpenAPI document. Named by the routes beside what they give.
//! Decides nothing at run time.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use utoipa::IntoResponses;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::{RefOr, Response, ResponseBuilder};

/// Of a route that only reads.
pub(super) struct Reading;

/// Of a route that changes something and takes no body.
pub(super) struct Changing;

/// Of a route that changes something and takes a body.
pub(super) struct Writing;

impl IntoResponses for Reading {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[401, 403, 404, 422, 503])
    }
}

impl IntoResponses for Changing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[401, 403, 404, 409, 422, 429, 503])
    }
}

impl IntoResponses for Writing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 401, 403, 404, 409, 413, 415, 422, 429, 503])
    }
}

fn problems(statuses: &[u16]) -> BTreeMap<String, RefOr<Response>> {
    statuses.iter().map(|status| (status.to_string(), problem(*status))).collect()
}

/// A problem document with this status.
pub(crate) fn problem(status: u16) -> RefOr<Response> {
    let words = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let schema = RefOr::Ref(Ref::from_schema_name("Problem"));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new()
        .description(words.unwrap_or_default())
        .content("application/problem+json", content)
        .build()
        .into()
}
