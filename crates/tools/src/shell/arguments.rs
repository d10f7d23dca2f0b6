//! Reads the arguments of a `shell_cmd` call: what to run, where and for how long.
//! Called by `shell`. Refuses what cannot be meant; never guesses and never looks outside the working directory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::TIMEOUT_SECONDS;
use crate::Failure;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    pub command: String,
    #[serde(default)]
    pub parameters: Vec<String>,
    #[serde(default)]
    directory: Option<String>,
    /// Seconds.
    #[serde(default)]
    timeout: Option<f64>,
}

pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "minLength": 1,
                "description": "The program's name or path, without parameters",
            },
            "parameters": {
                "type": "array",
                "items": { "type": "string" },
                "description": "The program's parameters, one in each element",
            },
            "directory": {
                "type": "string",
                "description": "Where to start it, relative to the working directory and inside it",
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": format!("Seconds after which it is killed, at most {TIMEOUT_SECONDS}"),
            },
        },
        "required": ["command"],
        "additionalProperties": false,
    })
}

impl Arguments {
    pub fn read(arguments: Value) -> Result<Self, Failure> {
        let read: Self = serde_json::from_value(arguments)
            .map_err(|error| Failure::text(format!("the arguments cannot be used: {error}")))?;
        if read.command.trim().is_empty() {
            return Err(Failure::text("`command` is empty; name the program to run"));
        }
        Ok(read)
    }

    /// The call's own limit, no longer than any call may run.
    pub fn time_limit(&self) -> Option<Duration> {
        let longest = Duration::from_secs(TIMEOUT_SECONDS);
        self.timeout.map(|seconds| {
            // What is too large to be a duration is too long; what is negative or no number is no time.
            let asked = Duration::try_from_secs_f64(seconds);
            asked.unwrap_or(if seconds > 0.0 { longest } else { Duration::ZERO }).min(longest)
        })
    }

    /// Where to start the program, with all links resolved.
    pub fn directory_in(&self, working_directory: Option<&Path>) -> Result<PathBuf, Failure> {
        let root = match working_directory {
            Some(path) => path.canonicalize(),
            None => std::env::current_dir().and_then(|path| path.canonicalize()),
        };
        let root = root.map_err(|error| self.cannot_run(&in_directory("the working", &error)))?;
        let Some(directory) = &self.directory else {
            return Ok(root);
        };
        let named = format!("`{directory}` as");
        let path = root
            .join(directory)
            .canonicalize()
            .map_err(|error| self.cannot_run(&in_directory(&named, &error)))?;
        if !path.starts_with(&root) {
            return Err(self.cannot_run(&format!(
                "the directory `{directory}` is outside the working directory; name one inside it"
            )));
        }
        if !path.is_dir() {
            return Err(self.cannot_run(&format!("`{directory}` is not a directory")));
        }
        Ok(path)
    }

    pub fn cannot_run(&self, problem: &str) -> Failure {
        Failure::text(format!("cannot run `{}`: {problem}", self.command))
    }

    pub fn not_started(&self, error: &io::Error) -> Failure {
        self.cannot_run(&match error.kind() {
            io::ErrorKind::NotFound => {
                "no such program was found; `command` takes only its name or path, parameters go into \
                 `parameters`, and there is no shell to understand built-in commands"
                    .to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                "it may not be executed; check that it is a program and its permissions".to_owned()
            }
            _ => error.to_string(),
        })
    }
}

fn in_directory(which: &str, error: &io::Error) -> String {
    format!("cannot use {which} directory: {error}; name one that exists")
}
