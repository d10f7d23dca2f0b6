//! Checks `shell_cmd` with a real launcher and real programs: what they cannot do, and that nothing of them is left.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "tools/bench.rs"]
mod bench;
#[path = "tools/confinement.rs"]
mod confinement;
#[path = "tools/endings.rs"]
mod endings;
#[path = "tools/leftovers.rs"]
mod leftovers;
#[path = "tools/limits.rs"]
mod limits;
