//! Decides how a SQLite file is opened: journal, durability, waiting, and which failures mean what.
//! Called when a store is opened and by its readers. Never knows a table.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Error;

/// Pages of the write-ahead log after which it is folded into the file: seldom enough to stay out of most commits.
const CHECKPOINT_PAGES: u32 = 4_000;
/// Every statement of this crate fits.
const STATEMENTS: usize = 128;

/// Settings that seldom need another value.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to wait for another process that is writing, before `Error::Busy`.
    pub busy_wait: Duration,
    /// The most pages (of 4 kB) the file may grow to; past it, writes fail as on a full disk.
    pub page_limit: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { busy_wait: Duration::from_secs(10), page_limit: None }
    }
}

/// The connection that writes. Every commit is on disk when it returns.
pub(super) fn writing(path: &Path, options: Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| {
        Error::Unavailable(format!("{} cannot be opened: {error}", path.display()))
    })?;
    connection.busy_timeout(options.busy_wait)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    if let Some(pages) = options.page_limit {
        // Answers with the limit that holds, which an update does not expect.
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    plan_once(&connection)?;
    Ok(connection)
}

/// A connection that can only look.
pub(super) fn reading(path: &Path, options: Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy_wait)?;
    plan_once(&connection)?;
    Ok(connection)
}

/// No statement is compiled twice: neither because it was forgotten nor to suit the values of the moment.
fn plan_once(connection: &Connection) -> Result<(), Error> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn is_of_a_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::Busy("another process is writing to it".to_owned())
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Error::Corrupt(error.to_string())
            }
            // What is there is not what was written there; it stays so however often it is read.
            None if is_of_a_value(&error) => Error::Corrupt(error.to_string()),
            _ => Error::Unavailable(error.to_string()),
        }
    }
}
