//! Decides how writes share transactions: one thread owns the writing connection and commits whatever is queued
//! in one go, so that many writers pay for one flush of the disk.
//! Fed by `Sqlite`. Never decides whether a write is allowed; see `append` and `worlds`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use tracing::error;

use super::schema;
use crate::error::Error;

/// The most writes that share one transaction.
const GROUP: usize = 256;
/// Writes that wait while a group is committed. When the queue is full, whoever wants to write waits for a place.
const QUEUE: usize = 1_024;

/// Something to be written in a transaction that it may share with others.
pub(super) trait Write: Send + 'static {
    type Output: Send + 'static;

    /// Refuses before it writes, or writes everything. After `Fault::Broken` the whole transaction is given up.
    fn write(&self, within: Within<'_>) -> Result<Self::Output, Fault>;
}

/// The open transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within<'a> {
    pub connection: &'a Connection,
    /// The epoch of the file's present worker.
    pub epoch: u64,
}

#[derive(Debug)]
pub(super) enum Fault {
    /// This write is not wanted; it has left no trace and its neighbours go on.
    Refused(Error),
    /// The file failed; the transaction may be gone.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Broken(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Refused(error)
    }
}

/// A write on its way, whatever it writes.
trait Queued: Send {
    fn perform(&mut self, within: Within<'_>) -> Result<(), rusqlite::Error>;
    fn answer(self: Box<Self>, fate: Result<(), &Failure>);
}

struct Job<W: Write> {
    write: W,
    result: Option<Result<W::Output, Error>>,
    reply: oneshot::Sender<Result<W::Output, Error>>,
}

/// Why a whole group was not committed.
enum Failure {
    Sqlite(rusqlite::Error),
    Panicked(String),
}

/// The way to the writing thread. Dropping it writes what is queued, then ends the thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Queued>>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for dyn Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queued")
    }
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, Error> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(connection, jobs))
            .map_err(|error| Error::Unavailable(format!("no thread for the writer: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a write and waits until it is on disk or refused.
    pub(super) async fn write<W: Write>(&self, write: W) -> Result<W::Output, Error> {
        let closed = || Error::Unavailable("the writer has ended; restart agent-world".to_owned());
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        let job = Box::new(Job { write, result: None, reply });
        queue.send(job).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        // The thread catches panics itself; joining one that ended otherwise has nothing to tell.
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            error!("the store's writer ended in a panic");
        }
    }
}

impl<W: Write> Queued for Job<W> {
    fn perform(&mut self, within: Within<'_>) -> Result<(), rusqlite::Error> {
        self.result = match self.write.write(within) {
            Ok(output) => Some(Ok(output)),
            Err(Fault::Refused(error)) => Some(Err(error)),
            Err(Fault::Broken(error)) => return Err(error),
        };
        Ok(())
    }

    fn answer(self: Box<Self>, fate: Result<(), &Failure>) {
        let result = match (fate, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(Error::Unavailable("the write was passed over".to_owned())),
            // A refusal may have been due to a neighbour that is not written now either.
            (Err(failure), _) => Err(failure.error()),
        };
        // Whoever asked may have gone; what was written stays written.
        drop(self.reply.send(result));
    }
}

impl Failure {
    fn error(&self) -> Error {
        match self {
            Failure::Panicked(message) => {
                Error::Unavailable(format!("the writer panicked: {message}"))
            }
            Failure::Sqlite(rusqlite::Error::SqliteFailure(code, message)) => {
                rusqlite::Error::SqliteFailure(*code, message.clone()).into()
            }
            Failure::Sqlite(other) => Error::Unavailable(other.to_string()),
        }
    }
}

fn run(mut connection: Connection, mut jobs: mpsc::Receiver<Box<dyn Queued>>) {
    let mut group = Vec::with_capacity(GROUP);
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        commit(&mut connection, &mut group);
    }
}

/// Writes a group in one transaction; if one of it breaks the transaction, each in its own.
fn commit(connection: &mut Connection, group: &mut Vec<Box<dyn Queued>>) {
    match attempt(connection, group) {
        Ok(()) => group.drain(..).for_each(|job| job.answer(Ok(()))),
        Err(Stage::Writing(_)) if group.len() > 1 => {
            for job in group.drain(..) {
                commit(connection, &mut vec![job]);
            }
        }
        Err(Stage::Writing(failure) | Stage::Committing(failure)) => {
            error!(error = %failure.error(), writes = group.len(), "the store cannot write");
            group.drain(..).for_each(|job| job.answer(Err(&failure)));
        }
    }
}

/// Where a group failed. Once a commit was tried nothing is repeated: its fate is not known.
enum Stage {
    Writing(Failure),
    Committing(Failure),
}

fn attempt(connection: &mut Connection, group: &mut [Box<dyn Queued>]) -> Result<(), Stage> {
    let committing = |error| Stage::Committing(Failure::Sqlite(error));
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(committing)?;
    // Dropping the transaction on any way out of here rolls it back.
    let written = catch_unwind(AssertUnwindSafe(|| {
        let within = Within { connection: &transaction, epoch: schema::epoch(&transaction)? };
        group.iter_mut().try_for_each(|job| {
            job.perform(within)?;
            // Some failures end the transaction by themselves; what came next would be committed one by one.
            if transaction.is_autocommit() { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
        })
    }));
    match written {
        Ok(Ok(())) => transaction.commit().map_err(committing),
        Ok(Err(error)) => Err(Stage::Writing(Failure::Sqlite(error))),
        Err(panic) => Err(Stage::Writing(Failure::Panicked(message_of(panic)))),
    }
}

fn message_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
