//! Decides in which words a failure of the protocol is told, and which failures are a server asking who we are.
//! Called by everything that speaks to a server. Never quotes an address with its query, or a whole message.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use super::oauth::Challenge;

/// Bytes of a server's own words in an error.
const TOLD: usize = 1000;

/// What a server wants to know first, if that is why it could not be started.
pub fn challenge_at_start(error: &ClientInitializeError) -> Option<Challenge> {
    match error {
        ClientInitializeError::TransportError { error, .. } => challenge(&*error.error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            challenge_at_start(fallback)
        }
        _ => None,
    }
}

/// What a server wants to know first, if that is why a request failed.
pub fn challenge_in_request(error: &ServiceError) -> Option<Challenge> {
    match error {
        ServiceError::TransportSend(error) => challenge(&*error.error),
        _ => None,
    }
}

fn challenge(error: &(dyn Error + 'static)) -> Option<Challenge> {
    let mut current = Some(error);
    while let Some(one) = current {
        if let Some(required) = one.downcast_ref::<AuthRequiredError>() {
            return Some(Challenge::Login(required.www_authenticate_header.clone()));
        }
        if let Some(insufficient) = one.downcast_ref::<InsufficientScopeError>() {
            return insufficient.required_scope.clone().map(Challenge::Scope);
        }
        current = one.source();
    }
    None
}

/// Why a server could not be started.
pub fn at_start(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "the server ended before it was ready".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => transport(&*error.error),
        ClientInitializeError::JsonRpcError(error) => {
            format!("the server refused to start: {}", short(&error.message))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().map(|one| one.as_str()).collect();
            format!(
                "the server speaks only versions that are not known here: {}",
                versions.join(", ")
            )
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => at_start(fallback),
        ClientInitializeError::Cancelled => "the start was cancelled".to_owned(),
        _ => "the server answered with something that is not of the protocol".to_owned(),
    }
}

/// Why a request to a running server failed.
pub fn in_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            format!("the server refused: {} (code {})", short(&error.message), error.code.0)
        }
        ServiceError::TransportSend(error) => transport(&*error.error),
        ServiceError::TransportClosed => {
            "the server ended before it answered; the call may or may not have taken effect"
                .to_owned()
        }
        ServiceError::Timeout { timeout } => {
            format!("the server did not answer within {} s", timeout.as_secs_f64())
        }
        ServiceError::Cancelled { .. } => "the request was cancelled".to_owned(),
        _ => "the server answered with something that is not of the protocol".to_owned(),
    }
}

/// Whether the connection may be at fault rather than the request.
pub fn is_of_connection(error: &ServiceError) -> bool {
    matches!(error, ServiceError::TransportSend(_) | ServiceError::TransportClosed)
}

fn transport(error: &(dyn Error + 'static)) -> String {
    if let Some(challenge) = challenge(error) {
        return match challenge {
            Challenge::Login(_) => "the server does not know us (HTTP 401)".to_owned(),
            Challenge::Scope(scope) => {
                format!(
                    "the server does not allow it (HTTP 403); it wants the scope {}",
                    short(&scope)
                )
            }
        };
    }
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    short(&innermost.to_string())
}

pub fn short(text: &str) -> String {
    let end = text.floor_char_boundary(TOLD);
    let kept = text.get(..end).unwrap_or_default();
    let plain = |letter: char| if letter.is_control() && letter != '\n' { ' ' } else { letter };
    let mut short: String = kept.chars().map(plain).collect();
    if end < text.len() {
        short.push('…');
    }
    short
}
