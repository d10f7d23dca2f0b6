//! Decides whether a condition of a rule or a grant holds for a call, read narrowly or widely.
//! Called through `judge` and `index`. What is invalid here was stored before it was checked: it keeps an `allow`
//! from covering anything and an `ask` or `deny` from missing anything.

use std::cell::OnceCell;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::paths::{self, Folder, Place};
use super::pattern::{glob, whole};
use super::{Annotations, CommandPattern, Match, Question, Ruling, Test};
use crate::command_line::{self, Command, CommandLine, name_of};
use crate::config::ToolSpec;

/// Folders in which a program of the system lies: what a bare name finds.
const SYSTEM_FOLDERS: [&str; 9] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/run/current-system/sw/bin",
];

/// How far a condition reaches where a call leaves room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// For permissions: only what is certainly meant.
    Narrow,
    /// For what asks or denies: whatever might be meant.
    Wide,
}

impl From<Ruling> for Reach {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Allow => Reach::Narrow,
            Ruling::Ask | Ruling::Deny => Reach::Wide,
        }
    }
}

/// A call with everything that conditions look at.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub question: Question<'a>,
    /// For calls of the shell tool.
    pub line: Option<CommandLine>,
    /// Absent when nobody knows the tool any more.
    pub declared: Option<Annotations>,
    /// Of all arguments known to hold paths, once somebody asks.
    places: OnceCell<Vec<Option<Place>>>,
}

impl<'a> Facts<'a> {
    pub fn new(question: Question<'a>, spec: Option<&ToolSpec>) -> Self {
        let is_shell = question.tool == command_line::TOOL;
        Self {
            question,
            line: is_shell.then(|| CommandLine::parse(question.arguments)),
            declared: spec.map(Annotations::of),
            places: OnceCell::new(),
        }
    }

    pub fn commands(&self) -> &[Command] {
        self.line.as_ref().map_or(&[], |line| &line.commands)
    }

    pub fn is_certain(&self) -> bool {
        self.line.as_ref().is_none_or(CommandLine::is_complete)
    }
}

/// The conditions of one rule or grant, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// What is asked of the call as a whole.
    pub call: Vec<Ready>,
    /// What is asked of one command of the line.
    pub commands: Vec<ReadyCommand>,
    pins: Pins,
}

#[derive(Clone, Debug)]
pub(super) struct ReadyCommand {
    pub pattern: CommandPattern,
    /// What a wide reading compares.
    plain: String,
}

#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub pointer: String,
    pub test: ReadyTest,
}

#[derive(Clone, Debug)]
pub(super) enum ReadyTest {
    Equals(Value),
    Glob(String),
    Regex(Option<Arc<Regex>>),
    Paths(Vec<Folder>),
    Annotations(Annotations),
}

/// Which arguments are named exactly.
#[derive(Clone, Copy, Debug, Default)]
struct Pins {
    all: bool,
    script: bool,
    command: bool,
    parameters: bool,
}

impl Conditions {
    /// Whether nothing is asked of a call.
    pub fn is_empty(&self) -> bool {
        self.call.is_empty() && self.commands.is_empty()
    }

    pub fn new(matches: &[Match]) -> Self {
        let mut conditions = Self { call: Vec::new(), commands: Vec::new(), pins: Pins::default() };
        for one in matches {
            let test = match &one.test {
                Test::Command(pattern) => {
                    let plain = plain_name(&pattern.program);
                    conditions.commands.push(ReadyCommand { pattern: pattern.clone(), plain });
                    continue;
                }
                Test::Equals(value) => {
                    conditions.pins.note(&one.pointer);
                    ReadyTest::Equals(value.clone())
                }
                Test::Glob(pattern) => ReadyTest::Glob(pattern.clone()),
                Test::Regex(expression) => ReadyTest::Regex(whole(expression).ok().map(Arc::new)),
                Test::Paths(pattern) => ReadyTest::Paths(
                    pattern.within.iter().map(|folder| Folder::new(folder)).collect(),
                ),
                Test::Annotations(asked) => ReadyTest::Annotations(*asked),
            };
            conditions.call.push(Ready { pointer: one.pointer.clone(), test });
        }
        conditions
    }

    /// Whether everything holds that is asked of the call as a whole.
    pub fn hold(&self, facts: &Facts<'_>, reach: Reach) -> bool {
        self.call.iter().all(|one| {
            let value = facts.question.arguments.pointer(&one.pointer);
            one.holds(value, facts, reach)
        })
    }

    pub fn cover(&self, command: &Command, reach: Reach) -> bool {
        self.cover_named(command, &plain_name(&command.program), reach)
    }

    /// For callers who ask many: `plain` is the program's `plain_name`.
    pub fn cover_named(&self, command: &Command, plain: &str, reach: Reach) -> bool {
        self.commands.iter().all(|one| match reach {
            Reach::Narrow => one.pattern.covers_narrowly(command),
            Reach::Wide => glob(&one.plain, plain) && one.pattern.finds_parameters(command),
        })
    }

    /// Whether these name what a line runs word for word, so that nothing need be understood of it.
    pub fn pin(&self, facts: &Facts<'_>) -> bool {
        let given =
            |name: &str| facts.question.arguments.get(name).is_some_and(|one| !one.is_null());
        let pins = self.pins;
        pins.all
            || match (given("script"), given("command")) {
                (true, false) => pins.script,
                (false, true) => pins.command && (pins.parameters || !given("parameters")),
                _ => false,
            }
    }

    /// Whether a permission with these conditions permits all of a call.
    pub fn permit(&self, facts: &Facts<'_>) -> bool {
        self.fit(facts) && (facts.is_certain() || self.pin(facts))
    }

    /// Whether they hold for a call, read narrowly, certain or not.
    fn fit(&self, facts: &Facts<'_>) -> bool {
        self.hold(facts, Reach::Narrow)
            && (self.commands.is_empty()
                || facts.is_certain()
                    && !facts.commands().is_empty()
                    && facts.commands().iter().all(|command| self.cover(command, Reach::Narrow)))
    }

    /// Whether a rule that asks or denies speaks about a call.
    pub fn touch(&self, facts: &Facts<'_>) -> bool {
        self.hold(facts, Reach::Wide)
            && (self.commands.is_empty()
                || facts.commands().iter().any(|command| self.cover(command, Reach::Wide)))
    }
}

/// Whether the conditions of an answer hold for the call it is given for.
pub fn fits(matches: &[Match], question: Question<'_>, spec: Option<&ToolSpec>) -> bool {
    Conditions::new(matches).fit(&Facts::new(question, spec))
}

impl Ready {
    /// `value` is what stands at the pointer.
    pub fn holds(&self, value: Option<&Value>, facts: &Facts<'_>, reach: Reach) -> bool {
        match &self.test {
            ReadyTest::Equals(expected) => value == Some(expected),
            ReadyTest::Glob(pattern) => text(value).is_some_and(|text| glob(pattern, text)),
            ReadyTest::Regex(Some(regex)) => text(value).is_some_and(|text| regex.is_match(text)),
            ReadyTest::Regex(None) => reach == Reach::Wide,
            ReadyTest::Paths(within) => self.paths(within, facts, reach),
            ReadyTest::Annotations(asked) => match &facts.declared {
                Some(declared) => asked.hold(declared),
                None => reach == Reach::Wide,
            },
        }
    }

    fn paths(&self, within: &[Folder], facts: &Facts<'_>, reach: Reach) -> bool {
        let question = facts.question;
        let find = || paths::places(question.arguments, &self.pointer, question.directory);
        let found;
        let places = if self.pointer.is_empty() {
            facts.places.get_or_init(find)
        } else {
            found = find();
            &found
        };
        let inside = |place: &Place| within.iter().any(|folder| place.is_within(folder));
        match reach {
            Reach::Narrow => {
                !places.is_empty() && places.iter().all(|place| place.as_ref().is_some_and(inside))
            }
            Reach::Wide => places.iter().any(|place| place.as_ref().is_none_or(inside)),
        }
    }
}

impl CommandPattern {
    fn covers_narrowly(&self, command: &Command) -> bool {
        let program = command.program.as_str();
        let named = if self.program.starts_with('/') {
            self.program == program
        } else {
            match program.rsplit_once('/') {
                None => glob(&self.program, program),
                Some((folder, name)) => {
                    SYSTEM_FOLDERS.contains(&folder) && glob(&self.program, name)
                }
            }
        };
        named
            && command.parameters.len() >= self.parameters.len()
            && self.parameters.iter().zip(&command.parameters).all(|(one, other)| glob(one, other))
    }

    fn finds_parameters(&self, command: &Command) -> bool {
        if command.is_open {
            return true;
        }
        let mut patterns = self.parameters.iter().peekable();
        for parameter in &command.parameters {
            patterns.next_if(|pattern| glob(pattern, parameter) || may_become(parameter, pattern));
        }
        patterns.peek().is_none()
    }
}

/// Whether a pattern of file names may find a file that is called what is looked for: `git pus?` beside a file `push`.
fn may_become(parameter: &str, pattern: &str) -> bool {
    let Some(end) = parameter.find(['*', '?', '[']) else { return false };
    let beginning = parameter.get(..end).unwrap_or_default();
    match pattern.split_once('*') {
        None => pattern.starts_with(beginning),
        Some((literal, _)) => literal.starts_with(beginning) || beginning.starts_with(literal),
    }
}

/// A program's name as a careless file system would compare it.
pub(super) fn plain_name(program: &str) -> String {
    let name = name_of(program).to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

impl Pins {
    fn note(&mut self, pointer: &str) {
        match pointer {
            "" => self.all = true,
            "/script" => self.script = true,
            "/command" => self.command = true,
            "/parameters" => self.parameters = true,
            _ => {}
        }
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}
