//! Names commands as they have to be typed to get to the same place: with the flags that this one was given.
//! Told once by `main`; used wherever a next step is named. What the environment says needs no repeating. Only our own words
//! go through here, and the text of an error, which may quote somebody: nothing is put in but what this command was given.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _};

use crate::args::Arguments;

const PROGRAM: &str = "agent-world ";
/// Commands that are about the machine they run on, and know no server elsewhere.
const WITHOUT_SERVER: [&str; 4] = ["serve", "token", "doctor", "init"];
/// Commands that only print what the program knows of itself.
const WITHOUT_PLACE: [&str; 3] = ["openapi", "completions", "man"];

static NAMING: OnceLock<Naming> = OnceLock::new();

/// The flags that say where everything is, as far as they were typed, ready to be typed again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    data: Option<String>,
    server: Option<String>,
}

impl Flags {
    pub fn of(matches: &ArgMatches, data: Option<&Path>, server: Option<&str>) -> Self {
        let is_typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let data = data.filter(|_| is_typed("data"));
        let server = server.filter(|_| is_typed("server"));
        Self {
            data: data.map(|path| format!("--data {} ", quoted(&path.to_string_lossy()))),
            server: server.map(|url| {
                let plain = if is_typed("plain_http") { "--plain-http " } else { "" };
                format!("--server {} {plain}", quoted(url))
            }),
        }
    }

    /// What stands between the program's name and that of a command.
    fn before(&self, command: &str) -> String {
        let data = self.data.as_deref().filter(|_| !WITHOUT_PLACE.contains(&command));
        let knows_server = !WITHOUT_PLACE.contains(&command) && !WITHOUT_SERVER.contains(&command);
        let server = self.server.as_deref().filter(|_| knows_server);
        [data, server].into_iter().flatten().collect()
    }
}

/// How commands are named in this process.
#[derive(Debug)]
struct Naming {
    flags: Flags,
    commands: Vec<String>,
}

/// Says which flags this command was given. Only the first word counts: a process has one command line.
pub fn remember(flags: Flags) {
    if flags == Flags::default() {
        return;
    }
    let commands = Arguments::command();
    let commands = commands.get_subcommands().map(|command| command.get_name().to_owned());
    NAMING.get_or_init(|| Naming { flags, commands: commands.collect() });
}

/// A text of ours, with every command in it as it has to be typed.
pub fn typed(text: &str) -> Cow<'_, str> {
    match NAMING.get() {
        Some(naming) => Cow::Owned(naming.typed(text)),
        None => Cow::Borrowed(text),
    }
}

impl Naming {
    fn typed(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(PROGRAM) {
            out.push_str(before);
            out.push_str(PROGRAM);
            let end = behind.find(|one: char| !one.is_ascii_lowercase()).unwrap_or(behind.len());
            let command = behind.get(..end).unwrap_or_default();
            // Where another word follows, the program itself is meant.
            if self.commands.iter().any(|known| known == command) {
                out.push_str(&self.flags.before(command));
            }
            rest = behind;
        }
        out + rest
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=@%+,".contains(one);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(words: &[&str]) -> Naming {
        let matches = Arguments::command().get_matches_from(words);
        let data = matches.get_one::<std::path::PathBuf>("data");
        let server = matches.get_one::<String>("server");
        let flags = Flags::of(&matches, data.map(AsRef::as_ref), server.map(String::as_str));
        let commands = Arguments::command();
        let commands = commands.get_subcommands().map(|command| command.get_name().to_owned());
        Naming { flags, commands: commands.collect() }
    }

    #[test]
    fn a_command_is_named_with_the_flags_that_lead_to_the_same_place() {
        let naming =
            naming(&["agent-world", "send", "--data", "my data", "--server", "http://x:1", "hi"]);
        for (said, typed) in [
            (
                "`agent-world chat -w x`",
                "`agent-world --data 'my data' --server http://x:1 chat -w x`",
            ),
            (
                "next: agent-world resume",
                "next: agent-world --data 'my data' --server http://x:1 resume",
            ),
            ("`agent-world serve`, or", "`agent-world --data 'my data' serve`, or"),
            ("`agent-world openapi`", "`agent-world openapi`"),
            ("another agent-world process is", "another agent-world process is"),
            ("a running agent-world takes it up", "a running agent-world takes it up"),
        ] {
            assert_eq!(naming.typed(said), typed);
        }
    }

    #[test]
    fn without_flags_a_command_is_named_as_it_is() {
        assert_eq!(
            naming(&["agent-world", "chat"]).typed("`agent-world chat`"),
            "`agent-world chat`"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
