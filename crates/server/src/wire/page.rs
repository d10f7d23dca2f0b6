//! Decides how lists are cut into pages: `?limit=&after=`, and the place to go on from.
//! Used by every route that lists. Never skips: the next page begins right after the last thing of this one.

use std::io;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Things of one page when nobody says how many.
const DEFAULT: usize = 100;
/// The most things of one page.
pub(crate) const MOST: usize = 1_000;

/// Bytes after which a page ends however few things it has: each may be large.
pub(crate) const BYTES: usize = 8 * 1024 * 1024;
/// Things that are read at once where each may be large.
pub(crate) const STEP: usize = 16;

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// How many; 100 unless said, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// The id that ended the page before: `next` of that page.
    pub after: Option<String>,
}

impl Paging {
    pub fn limit(&self) -> usize {
        limit(self.limit)
    }
}

/// How many things a page has.
pub(crate) fn limit(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(DEFAULT).clamp(1, MOST)
}

/// How much of a page a thing takes.
pub(crate) fn size(thing: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    // Counting cannot fail; what cannot be written takes nothing.
    serde_json::to_writer(&mut counted, thing).map_or(0, |()| counted.0)
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    pub data: Vec<T>,
    /// Where the next page begins, as `after`; absent at the end.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of what was found when one more was asked for than it may hold.
    pub fn cut(mut found: Vec<T>, limit: usize, key: impl Fn(&T) -> String) -> Self {
        let more = found.len() > limit;
        found.truncate(limit);
        let next = if more { found.last().map(key) } else { None };
        Self { data: found, next }
    }
}
