//! Reads the arguments of a `shell_cmd` call: what to run, where and for how long.
//! Called by `shell`. Refuses what cannot be meant; never guesses and never looks outside the working directory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::TIMEOUT_SECONDS;

/// What understands scripts.
const SHELL: &str = "bash";
const SHELL_PARAMETERS: [&str; 3] = ["--noprofile", "--norc", "-c"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    parameters: Vec<String>,
    #[serde(default)]
    script: Option<String>,
    #[serde(default)]
    directory: Option<String>,
    /// Seconds.
    #[serde(default)]
    timeout: Option<f64>,
    /// Read by the runtime: here every call runs to its end.
    #[serde(default, rename = "blocking")]
    _blocking: Option<bool>,
}

/// A call that makes sense so far.
#[derive(Debug)]
pub struct Arguments {
    /// The program's name or path.
    pub command: String,
    pub parameters: Vec<String>,
    kind: Kind,
    directory: Option<String>,
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Command,
    /// A shell is the program.
    Script,
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
            "script": {
                "type": "string",
                "minLength": 1,
                "description": "Instead of `command`: a script for bash, where pipes and redirections are needed",
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
            "blocking": {
                "type": "boolean",
                "description": "False to go on while it runs; the result comes later by itself",
            },
        },
        "additionalProperties": false,
    })
}

impl Arguments {
    pub fn read(arguments: Value) -> Result<Self, String> {
        let given: Given = serde_json::from_value(arguments)
            .map_err(|error| format!("the arguments cannot be used: {error}"))?;
        let Given { command, parameters, script, directory, timeout, .. } = given;
        let (kind, command, parameters) = match (command, script) {
            (Some(_), Some(_)) => {
                return Err(
                    "`command` and `script` cannot be given together; choose one".to_owned()
                );
            }
            (None, None) => {
                return Err("nothing to run; give `command`, or `script` for bash".to_owned());
            }
            (Some(command), None) => (Kind::Command, command, parameters),
            (None, Some(_)) if !parameters.is_empty() => {
                return Err("`parameters` go with `command`; write them into the script".to_owned());
            }
            (None, Some(script)) => {
                let parameters = SHELL_PARAMETERS.map(str::to_owned).into_iter().chain([script]);
                (Kind::Script, SHELL.to_owned(), parameters.collect())
            }
        };
        let read = Self { command, parameters, kind, directory, timeout };
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        let empty = |text: &str| text.trim().is_empty();
        match self.kind {
            Kind::Command if empty(&self.command) => {
                return Err("`command` is empty; name the program to run".to_owned());
            }
            Kind::Script if self.parameters.last().is_some_and(|script| empty(script)) => {
                return Err("`script` is empty; write what to run".to_owned());
            }
            Kind::Command | Kind::Script => {}
        }
        let mut texts = [&self.command].into_iter().chain(&self.parameters).chain(&self.directory);
        if texts.any(|text| text.contains('\0')) {
            return Err(self.cannot_run(
                "there is a NUL character in the arguments, and no program can be given one; leave it out",
            ));
        }
        Ok(())
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
    pub fn directory_in(&self, root: &Path) -> Result<PathBuf, String> {
        let Some(directory) = &self.directory else {
            return Ok(root.to_owned());
        };
        let named = format!("`{directory}` as");
        let path = root
            .join(directory)
            .canonicalize()
            .map_err(|error| self.cannot_run(&in_directory(&named, &error)))?;
        if !path.starts_with(root) {
            return Err(self.cannot_run(&format!(
                "the directory `{directory}` is outside the working directory; name one inside it"
            )));
        }
        if !path.is_dir() {
            return Err(self.cannot_run(&format!("`{directory}` is not a directory")));
        }
        Ok(path)
    }

    /// Whether the directory, as it is written, could only be missing: an earlier call may make it.
    pub fn may_come_to_be(&self, root: &Path) -> bool {
        let Some(directory) = &self.directory else { return false };
        let path = root.join(directory);
        let missing = |path: &Path| matches!(path.canonicalize(), Err(error) if error.kind() == io::ErrorKind::NotFound);
        let inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(root));
        // What is there of it must be inside already.
        missing(&path)
            && path.components().all(|part| part != std::path::Component::ParentDir)
            && path.ancestors().find(|ancestor| !missing(ancestor)).is_some_and(inside)
    }

    /// With all links resolved.
    pub fn root(&self, working_directory: Option<&Path>) -> Result<PathBuf, String> {
        let root = match working_directory {
            Some(path) => path.canonicalize(),
            None => std::env::current_dir().and_then(|path| path.canonicalize()),
        };
        root.map_err(|error| self.cannot_run(&in_directory("the working", &error)))
    }

    /// What is run, as it was given.
    pub fn written(&self) -> Value {
        match self.kind {
            Kind::Command => json!({"command": self.command, "parameters": self.parameters}),
            Kind::Script => json!({"script": self.parameters.last()}),
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn cannot_run(&self, problem: &str) -> String {
        match self.kind {
            Kind::Command => format!("cannot run `{}`: {problem}", self.command),
            Kind::Script => format!("cannot run the script: {problem}"),
        }
    }

    pub fn not_started(&self, error: &io::Error) -> String {
        self.cannot_run(&match (error.kind(), self.kind) {
            (io::ErrorKind::NotFound, Kind::Script) => {
                format!("there is no {SHELL} on this system; use `command`")
            }
            (io::ErrorKind::NotFound, Kind::Command) => {
                "no such program was found; `command` takes only its name or path, parameters go into \
                 `parameters`, and there is no shell to understand built-in commands"
                    .to_owned()
            }
            (io::ErrorKind::PermissionDenied, _) => {
                "it may not be executed; check that it is a program, its permissions, and whether the \
                 sandbox hides it"
                    .to_owned()
            }
            _ => error.to_string(),
        })
    }
}

fn in_directory(which: &str, error: &io::Error) -> String {
    format!("cannot use {which} directory: {error}; name one that exists")
}
