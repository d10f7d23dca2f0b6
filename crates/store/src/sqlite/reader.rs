//! Decides how reads run beside the writer: on a few connections of their own, off the async threads.
//! Used by `Sqlite`. Never writes: its connections are read-only.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::connection::{self, Options};
use crate::error::Error;

/// Reads at the same time; more wait for their turn.
const CONNECTIONS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Readers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    options: Options,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: Options) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        Self { shared: Arc::new(Shared { path, options, idle: Mutex::default(), places }) }
    }

    /// Runs a query. Everything it reads is of one moment.
    pub(super) async fn read<T, Query>(&self, query: Query) -> Result<T, Error>
    where
        T: Send + 'static,
        Query: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let stopped = |_| Error::Unavailable("the store is closed".to_owned());
        let place = self.shared.places.clone().acquire_owned().await.map_err(stopped)?;
        let shared = self.shared.clone();
        let answer = spawn_blocking(move || {
            let answer = shared.query(query);
            drop(place);
            answer
        });
        answer.await.map_err(|error| Error::Unavailable(format!("a read was cut off: {error}")))?
    }
}

impl Shared {
    fn query<T>(&self, query: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::reading(&self.path, self.options)?,
        };
        let transaction = connection.unchecked_transaction()?;
        let answer = query(&transaction)?;
        transaction.finish()?;
        // A connection on which something failed is not used again.
        self.idle().push(connection);
        Ok(answer)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
