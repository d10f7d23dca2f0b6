//! Decides which programs a call of the shell tool runs, and whether that is everything it runs.
//! Called by `policy` for rules about commands. Never runs, expands or looks up anything.
//!
//! A call names a program with its parameters, or a script. A script is read by a parser of the shell's grammar,
//! and programs that run other programs are seen through: `env`, `sudo`, `xargs`, `find -exec`, `bash -c` and their
//! like contribute both themselves and what they run.
//!
//! Two readers use the result, and it errs on the safe side for both. Whoever forbids a program looks whether any
//! command is it: the list may therefore hold commands that only might run. Whoever permits one needs to know that
//! nothing else runs: what is not literal, or not understood beyond doubt, is a `Gap`, and one gap is enough for
//! nothing to be permitted by its commands.

mod script;
mod seeing_through;
mod word;
mod wrapper;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use word::Word;

/// The tool whose calls are command lines.
pub const TOOL: &str = "shell_cmd";

/// Bytes of a script that are read; a longer one is not.
const SCRIPT_LIMIT: usize = 10 * 1024;
/// Commands of a line that are looked at.
const COMMAND_LIMIT: usize = 400;
/// Scripts within scripts (`bash -c "bash -c …"`) and wrappers within wrappers.
const DEPTH_LIMIT: usize = 10;

/// What a call runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// In the order in which they stand, each wrapper before what it runs.
    pub commands: Vec<Command>,
    /// Why the commands may not be all that runs. Empty: they are.
    pub gaps: BTreeSet<Gap>,
}

/// One program with its parameters, as it would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub program: String,
    pub parameters: Vec<String>,
    /// Some of its parameters are only known when it runs: what `find` finds, or what `xargs` reads.
    pub is_open: bool,
}

/// Why a line says less than it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// It is not a script the parser understands, or names no program.
    Unreadable,
    TooLong,
    TooDeep,
    /// Control characters, or characters that look like others.
    Characters,
    /// A variable, a substitution or another expansion.
    Expansion,
    /// A pattern of file names where it could become a program or an option.
    FileNames,
    /// A variable is set that can change what a program does.
    Variable,
    /// Output goes to a file.
    Redirection,
    /// A function, an alias or a setting changes what later names mean.
    Redefinition,
    /// Text that is run by something that is not a shell, or elsewhere.
    ForeignCode,
    /// A shell or an interpreter that reads what it runs from a file or its input.
    Input,
    /// Options of a program that runs others, which are not known here.
    Options,
}

impl CommandLine {
    /// What a call of the shell tool runs: `{command, parameters}` or `{script}`.
    pub fn parse(arguments: &Value) -> Self {
        let mut reading = Reading::default();
        let script = arguments.get("script").filter(|script| !script.is_null());
        let command = arguments.get("command").filter(|command| !command.is_null());
        match (script, command) {
            (Some(Value::String(script)), None) => reading.script(script, 0),
            (None, Some(Value::String(program))) => {
                reading.arguments(program, arguments.get("parameters"));
            }
            // Which of both would run is not for us to guess: look at either, trust neither.
            (script, command) => {
                reading.gap(Gap::Unreadable);
                if let Some(Value::String(script)) = script {
                    reading.script(script, 0);
                }
                if let Some(Value::String(program)) = command {
                    reading.arguments(program, arguments.get("parameters"));
                }
            }
        }
        reading.line
    }

    /// Whether the commands are everything the line runs.
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }
}

impl Command {
    /// The program's name without its folder.
    pub fn name(&self) -> &str {
        name_of(&self.program)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.parameters.iter().try_for_each(|parameter| write!(f, " {parameter}"))
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gap::Unreadable => "it cannot be read as a command line",
            Gap::TooLong => "it is too long to be read",
            Gap::TooDeep => "it is nested too deeply to be read",
            Gap::Characters => "it holds characters that are not what they look like",
            Gap::Expansion => "a part of it is only known when it runs",
            Gap::FileNames => "a pattern of file names may become an option or a program",
            Gap::Variable => "it sets a variable that can change what a program does",
            Gap::Redirection => "it writes to a file",
            Gap::Redefinition => "it changes what later commands mean",
            Gap::ForeignCode => "it hands on code that is not a shell's, or runs elsewhere",
            Gap::Input => "a shell or an interpreter reads what it runs from a file or its input",
            Gap::Options => "it runs a program through another one in a way that is not known",
        })
    }
}

/// Whether a program runs others, or code of the caller's choice.
pub(crate) fn runs_others(name: &str) -> bool {
    wrapper::wrapper(name).is_some()
}

pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Collects what a line runs, within the limits.
#[derive(Debug, Default)]
struct Reading {
    line: CommandLine,
}

impl Reading {
    fn gap(&mut self, gap: Gap) {
        self.line.gaps.insert(gap);
    }

    fn arguments(&mut self, program: &str, parameters: Option<&Value>) {
        let mut words = vec![Word::literal(program)];
        match parameters {
            None | Some(Value::Null) => {}
            Some(Value::Array(values)) => {
                for value in values {
                    match value {
                        Value::String(text) => words.push(Word::literal(text)),
                        _ => self.gap(Gap::Unreadable),
                    }
                }
            }
            Some(_) => self.gap(Gap::Unreadable),
        }
        self.run(&words, 0);
    }

    fn push(&mut self, program: &str, parameters: &[Word]) {
        if self.line.commands.len() >= COMMAND_LIMIT {
            self.gap(Gap::TooLong);
            return;
        }
        self.line.commands.push(Command {
            program: program.to_owned(),
            parameters: parameters.iter().map(|word| word.text.clone()).collect(),
            is_open: parameters.iter().any(|word| word.text == "{}"),
        });
    }
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
