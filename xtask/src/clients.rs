//! Installs the clients that tests run against the server: vendors' own libraries, and a fuzzer that reads OpenAPI.
//! Called by `suite`. What is installed, and how, is in `installed`.

use std::path::PathBuf;

use crate::installed::{bring_up_to_date, root, target};
use crate::report::Outcome;

/// Tells the tests where the clients are.
pub const VARIABLE: &str = "AGENT_WORLD_TEST_CLIENTS";

pub const FOLDER: &str = "crates/cli/tests/clients";

/// Where the clients are, once `install` has run.
pub fn folder() -> PathBuf {
    target().join("test-clients")
}

pub fn install() -> Result<Outcome, String> {
    bring_up_to_date(&root().join(FOLDER), &folder())?;
    Ok(Outcome::Passed)
}
