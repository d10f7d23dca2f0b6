//! Decides what a world says about the confinement of the programs its agents run.
//! Part of a world's settings. Never confines anything: the tools do, and say what was in force.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// Whether programs may open sockets.
    pub network: bool,
    /// Whether `fetch_url` may reach this machine and its own networks.
    pub private_addresses: bool,
    /// What programs may read; absent for everything that is not hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readable: Option<Vec<String>>,
    /// What programs may not read, besides this program's own data and the usual homes of keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// Where programs may write, besides the working directory and a temporary folder of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Processes one call may have at the same time.
    pub processes: u32,
    /// Memory of all processes of one call together.
    pub memory_bytes: u64,
    /// The largest file that may be written.
    pub file_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// As much as the system supports; the result says what was in force.
    #[default]
    On,
    Off,
    /// Without all of it nothing runs.
    Required,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            mode: SandboxMode::On,
            network: false,
            private_addresses: false,
            readable: None,
            hidden: Vec::new(),
            writable: Vec::new(),
            processes: 512,
            memory_bytes: 8 << 30,
            file_bytes: 8 << 30,
        }
    }
}
