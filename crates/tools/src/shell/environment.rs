//! Decides which variables a program gets: those it needs to find files and speak the user's language.
//! Called by `shell`. Nothing is on the list that could hold a key.

use std::ffi::{OsStr, OsString};

const ALLOWED: [&str; 9] =
    ["PATH", "HOME", "LANG", "TERM", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];
const ALLOWED_PREFIX: &str = "LC_";

pub fn allowed(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| is_allowed(name)).collect()
}

pub fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| ALLOWED.contains(&name) || name.starts_with(ALLOWED_PREFIX))
}
