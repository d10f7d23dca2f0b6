//! Decides when a fetched credential is used again and when another is fetched: once for all who wait, and in a task of
//! its own, since a token server may already have spent what a cancelled request would throw away.
//! Used by the sources that fetch. Never fetches by itself, and never keeps a failure.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Credential;
use crate::{Class, Error};

/// A credential and how long it may be used.
pub(super) struct Fetched {
    pub credential: Credential,
    /// Nothing: until it is rejected.
    pub until: Option<Instant>,
}

type Fetching = Shared<BoxFuture<'static, Result<Credential, Error>>>;

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Held(Fetched),
    Fetching(Fetching, AbortHandle),
}

/// One credential that is fetched when it is needed.
#[derive(Clone, Default)]
pub(super) struct Cache(Arc<Mutex<State>>);

impl Cache {
    /// The credential held, or the one that everybody waits for now. A failure is told to all who wait; whoever asks
    /// after that begins anew.
    pub async fn get(
        &self,
        fetch: impl FnOnce() -> BoxFuture<'static, Result<Fetched, Error>>,
    ) -> Result<Credential, Error> {
        let fetching = {
            let mut state = self.state();
            match &*state {
                State::Held(Fetched { credential, until })
                    if until.is_none_or(|until| Instant::now() < until) =>
                {
                    return Ok(credential.clone());
                }
                // A task that has ended and left itself noted as under way was ended by force.
                State::Fetching(fetching, task) if !task.is_finished() => fetching.clone(),
                _ => {
                    let (fetching, task) = self.start(fetch());
                    *state = State::Fetching(fetching.clone(), task);
                    fetching
                }
            }
        };
        fetching.await
    }

    /// Forgets the credential if it is the one held. Whatever is held or fetched after this is another one, also when
    /// somebody else had reported the same one before.
    pub fn forget(&self, credential: &Credential) {
        let mut state = self.state();
        if let State::Held(held) = &*state
            && held.credential.is_same(credential)
        {
            *state = State::Empty;
        }
    }

    /// The task ends by itself: every fetch has a time limit.
    fn start(&self, fetch: BoxFuture<'static, Result<Fetched, Error>>) -> (Fetching, AbortHandle) {
        let cache = self.clone();
        let task = tokio::spawn(async move {
            let fetched = fetch.await;
            let credential = fetched.as_ref().map(|fetched| fetched.credential.clone());
            let credential = credential.map_err(Clone::clone);
            *cache.state() = fetched.map_or(State::Empty, State::Held);
            credential
        });
        let handle = task.abort_handle();
        let outcome = async move {
            task.await.unwrap_or_else(|_| {
                Err(Error::new(Class::Cancelled, "", "the credential was no longer waited for"))
            })
        };
        (outcome.boxed().shared(), handle)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.state() {
            State::Empty => "Empty",
            State::Held(_) => "Held",
            State::Fetching(..) => "Fetching",
        })
    }
}
