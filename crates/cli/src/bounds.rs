//! Says how far the agents of a world may go, as it is written on the command line.
//! Part of the arguments of `world` and `policy`. Only names what there is; what it means is decided by `core`.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

/// How far the agents of a world may go.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Bounds {
    /// What holds where no rule of the world's policy speaks
    #[arg(long, value_enum, alias = "policy-preset")]
    pub preset: Option<NamedPreset>,
    /// Whether programs that agents run are confined
    #[arg(long, value_enum, value_name = "MODE")]
    pub sandbox: Option<NamedMode>,
    /// Whether programs in the sandbox may open sockets
    #[arg(long, value_enum, value_name = "STATE")]
    pub network: Option<Switch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamedPreset {
    /// Tools that only read are as they declare, everything else is denied
    ReadOnly,
    /// What each tool declares
    Ask,
    /// Tools that do not destroy are allowed; of servers and clients those that only read
    Trusted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamedMode {
    /// As much as this system supports
    On,
    /// Not at all
    Off,
    /// Where this system cannot confine them, they do not run
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Bounds {
    /// Adds what is said to a change of a world.
    pub fn add_to(self, change: &mut Map<String, Value>) {
        if let Some(preset) = self.preset {
            change.insert("policy".to_owned(), json!({ "preset": preset.name() }));
        }
        let mut sandbox = Map::new();
        if let Some(mode) = self.sandbox {
            sandbox.insert("mode".to_owned(), json!(mode.name()));
        }
        if let Some(network) = self.network {
            sandbox.insert("network".to_owned(), json!(network.is_on()));
        }
        if !sandbox.is_empty() {
            change.insert("sandbox".to_owned(), Value::Object(sandbox));
        }
    }
}

impl NamedPreset {
    /// As the interface calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Ask => "ask",
            Self::Trusted => "trusted",
        }
    }
}

impl NamedMode {
    fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Required => "required",
        }
    }
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}
