//! Decides whom a token belongs to, from memory, and reads the tokens again when what it knows is older than half a second.
//! Asked by `identify` for every request and by open streams. Other processes make and revoke tokens while this one
//! runs, so nothing is believed for long; and a store that does not answer lets nobody in after a while.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_runtime::store::{self, Store};
use agent_world_runtime::{Environment, System};
use tokio::time::Instant;

use super::tokens::{self, Fingerprint, Found, Token};

/// For how long what was read is taken for true.
const FRESH: Duration = Duration::from_millis(500);
/// For how long it is used on when the store does not answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How exactly the last use of a token is stored.
const USE_STEP: Duration = Duration::from_secs(600);

/// Where the time comes from that tokens expire by.
#[derive(Clone, Debug)]
pub struct Clock(pub Arc<dyn Environment>);

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(System))
    }
}

#[derive(Debug)]
pub(crate) struct Register {
    store: Arc<dyn Store>,
    clock: Clock,
    known: Mutex<Option<Arc<Known>>>,
    /// Held by the one who reads; the others wait for what it finds.
    reading: tokio::sync::Mutex<()>,
    /// Whether there were any when they were last read.
    had_any: AtomicBool,
    used: Mutex<HashMap<Fingerprint, Timestamp>>,
}

/// The tokens at a moment.
#[derive(Debug)]
pub(crate) struct Known {
    read_at: Instant,
    /// A lookup may take longer for some fingerprints than for others. That tells nothing: who does not know a token
    /// cannot choose its fingerprint.
    by_fingerprint: HashMap<Fingerprint, Entry>,
    /// Tokens that cannot be read let nobody in, and keep the door from standing open.
    any: bool,
}

#[derive(Debug)]
struct Entry {
    token: Token,
    version: u64,
}

/// By what somebody was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// There are no tokens, and they are at this machine.
    Local,
    Token(Fingerprint),
    /// They have signed in with that token.
    Session {
        key: Fingerprint,
        token: Fingerprint,
    },
}

impl Register {
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            store,
            clock,
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            had_any: AtomicBool::new(false),
            used: Mutex::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.0.now()
    }

    /// The tokens as they are or were a moment ago.
    pub async fn current(&self) -> Result<Arc<Known>, store::Error> {
        if let Some(known) = self.believed(FRESH) {
            return Ok(known);
        }
        let _only_one_reads = self.reading.lock().await;
        if let Some(known) = self.believed(FRESH) {
            return Ok(known);
        }
        match self.read().await {
            Ok(known) => {
                *self.lock_known() = Some(Arc::clone(&known));
                Ok(known)
            }
            Err(error) => {
                tracing::error!(%error, "the tokens cannot be read");
                self.believed(PATIENCE).ok_or(error)
            }
        }
    }

    /// Makes the next request read the tokens anew: this process has changed them.
    pub fn forget(&self) {
        *self.lock_known() = None;
    }

    /// Whether somebody who was let in would be let in again.
    pub async fn still_allows(&self, pass: Pass) -> bool {
        match self.current().await {
            Ok(known) => known.allows(pass, self.now()),
            Err(_) => false,
        }
    }

    /// Notes that a token is in use; stored with the next reading.
    pub fn note_use(&self, fingerprint: Fingerprint) {
        self.lock_used().insert(fingerprint, self.now());
    }

    fn believed(&self, age: Duration) -> Option<Arc<Known>> {
        self.lock_known().as_ref().filter(|known| known.read_at.elapsed() < age).cloned()
    }

    async fn read(&self) -> Result<Arc<Known>, store::Error> {
        // Taken before reading: what changes meanwhile must not count as known.
        let read_at = Instant::now();
        let found = tokens::all(&*self.store).await?;
        let any = !found.is_empty();
        if self.had_any.swap(any, Ordering::Relaxed) && !any {
            tracing::warn!(
                "the last token was revoked: everybody on this machine may do everything, without one"
            );
        }
        let mut by_fingerprint = HashMap::new();
        for found in found {
            match found {
                Found::Readable { token, fingerprint, version } => {
                    by_fingerprint.insert(fingerprint, Entry { token, version });
                }
                Found::Unreadable { key } => {
                    tracing::error!(token = %key, "a token cannot be read; revoke it and make another");
                }
            }
        }
        let known = Arc::new(Known { read_at, by_fingerprint, any });
        self.store_uses(&known).await;
        Ok(known)
    }

    /// Stores when tokens were last used, seldom enough to cost nothing.
    async fn store_uses(&self, known: &Known) {
        let used = std::mem::take(&mut *self.lock_used());
        for (fingerprint, at) in used {
            let Some(Entry { token, version }) = known.by_fingerprint.get(&fingerprint) else {
                continue;
            };
            let since = token.last_used.map(|before| at.duration_since(before).unsigned_abs());
            if since.is_some_and(|since| since < USE_STEP) {
                continue;
            }
            let noted = tokens::note_use(&*self.store, token, &fingerprint, *version, at).await;
            if let Err(error) = noted {
                tracing::warn!(%error, token = %token.name, "the use of a token cannot be noted");
            }
        }
    }

    fn lock_known(&self) -> std::sync::MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_used(&self) -> std::sync::MutexGuard<'_, HashMap<Fingerprint, Timestamp>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Whether there are any, usable or not.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Whether somebody could come in with one.
    pub fn any_usable(&self, now: Timestamp) -> bool {
        self.by_fingerprint.values().any(|entry| !entry.token.is_expired(now))
    }

    /// Whose token this is, expired or not.
    pub fn find(&self, text: &str) -> Option<(&Token, Fingerprint)> {
        let fingerprint = tokens::fingerprint(text);
        self.by_fingerprint.get(&fingerprint).map(|entry| (&entry.token, fingerprint))
    }

    pub fn holder(&self, fingerprint: &Fingerprint) -> Option<&Token> {
        self.by_fingerprint.get(fingerprint).map(|entry| &entry.token)
    }

    fn allows(&self, pass: Pass, now: Timestamp) -> bool {
        match pass {
            Pass::Local => !self.any,
            Pass::Token(fingerprint) | Pass::Session { token: fingerprint, .. } => {
                let entry = self.by_fingerprint.get(&fingerprint);
                entry.is_some_and(|entry| !entry.token.is_expired(now))
            }
        }
    }
}
