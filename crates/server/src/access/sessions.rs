//! Remembers who has signed in with a browser: a random id in a cookie stands for a token, for a while.
//! Asked by `identify` and by the routes under `/api/session`. In memory alone: whoever was signed in before a restart signs
//! in again. Keeps no id, only what recognises one, and lets nobody in whose token is not let in itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use rand::distr::{Alphanumeric, SampleString as _};

use super::tokens::{self, Fingerprint};
use crate::problem::Problem;

pub(crate) const COOKIE: &str = "agent_world_session";
pub(super) const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");
/// How long somebody stays signed in.
const LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Sessions at a time. With more, those that end first are ended.
const MOST: usize = 4_096;
/// Letters and digits of an id: 62^43 is just above 2^256.
const LENGTH: usize = 43;

#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Fingerprint, Session>>);

#[derive(Clone, Debug)]
struct Session {
    token: Fingerprint,
    csrf: String,
    ends: Timestamp,
}

/// Somebody's session, found by its cookie.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub key: Fingerprint,
    pub token: Fingerprint,
    pub csrf: String,
}

/// A new session. The only copy of its id goes into the cookie.
pub(super) struct Begun {
    pub id: String,
    pub csrf: String,
}

impl Sessions {
    pub(super) fn begin(&self, token: Fingerprint, now: Timestamp) -> Begun {
        // The thread's generator is a cryptographic one, seeded by the system.
        let random = || Alphanumeric.sample_string(&mut rand::rng(), LENGTH);
        let (id, csrf) = (random(), random());
        let ends = now.checked_add(LASTS).unwrap_or(now);
        let mut all = self.all();
        all.retain(|_, session| session.ends > now);
        if all.len() >= MOST {
            let first = all.iter().min_by_key(|(_, session)| session.ends);
            let first = first.map(|(key, _)| *key);
            first.and_then(|key| all.remove(&key));
        }
        all.insert(tokens::fingerprint(&id), Session { token, csrf: csrf.clone(), ends });
        Begun { id, csrf }
    }

    /// The session of a request's cookie.
    pub(super) fn find(&self, headers: &HeaderMap, now: Timestamp) -> Option<Found> {
        let key = tokens::fingerprint(cookie(headers)?);
        let session = self.all().get(&key).filter(|session| session.ends > now).cloned()?;
        Some(Found { key, token: session.token, csrf: session.csrf })
    }

    pub fn has(&self, key: &Fingerprint, now: Timestamp) -> bool {
        self.all().get(key).is_some_and(|session| session.ends > now)
    }

    pub fn end(&self, key: &Fingerprint) {
        self.all().remove(key);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Fingerprint, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request has a session's cookie, of whatever worth.
pub(super) fn has_cookie(headers: &HeaderMap) -> bool {
    cookie(headers).is_some()
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// A browser sends its cookie with whatever a page makes it send. What changes something must also carry what only a page
/// of this server can have read. Nothing can be put into the head of a WebSocket's request, so it is for tokens alone.
pub(super) fn check_csrf(parts: &Parts, csrf: &str) -> Result<(), Problem> {
    let only_reads = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS)
        && !parts.headers.contains_key(header::UPGRADE);
    let given = parts.headers.get(CSRF).map(|value| tokens::fingerprint_of(value.as_bytes()));
    // Compared by digest: how long it takes tells nothing.
    if only_reads || given == Some(tokens::fingerprint(csrf)) {
        return Ok(());
    }
    let detail = "a request with a session's cookie that changes something needs the header X-CSRF-Token; \
                  GET /api/session tells its value";
    Err(Problem::new(StatusCode::FORBIDDEN, "csrf_token_missing", detail))
}

/// Whether a cookie is to be sent over encrypted connections alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Https,
    Anything,
}

pub(super) fn set_cookie(id: &str, over: Over) -> String {
    let secure = if over == Over::Https { "; Secure" } else { "" };
    let seconds = LASTS.as_secs();
    format!("{COOKIE}={id}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

pub(super) fn remove_cookie() -> String {
    format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}
