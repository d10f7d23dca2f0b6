//! Prints the OpenAPI document of the HTTP interface: the one a server gives at `/openapi.json`.
//! Called by `main`. Needs no data and no server.

use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::exit::Exit;

pub fn run() -> Result<Exit> {
    let document = agent_world_server::openapi().to_pretty_json();
    let document = document.context("the OpenAPI document cannot be written")?;
    writeln!(std::io::stdout().lock(), "{document}")?;
    Ok(Exit::Done)
}
