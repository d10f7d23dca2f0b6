//! Decides which values a setting can have at all: what no vendor takes, nobody reads, or nothing could run with is refused.
//! Called before settings are written. Only what a change touches is looked at: a world that was stored by a program which
//! knew less goes on, and the rest of it can be changed.

use std::collections::BTreeMap;

use super::{Agent, Invalid, McpServer, McpTransport, World};

/// Characters of names, of models, and of what else is one word.
const NAME: usize = 200;
/// Characters of what a person writes about a world.
const DESCRIPTION: usize = 20_000;
/// Characters of what an agent is told with every request.
const INSTRUCTIONS: usize = 200_000;
const VARIABLE: usize = 100_000;
/// What vendors take at the most.
const TEMPERATURE: f64 = 2.0;
/// Ten years: whoever wants to be waited for longer sets no limit.
const LONGEST_WAIT: u64 = 10 * 365 * 24 * 60 * 60;

impl World {
    /// Refuses values that `before` did not have and that nobody can mean.
    pub fn check_bounds(&self, before: Option<&Self>) -> Result<(), Invalid> {
        let is_new = Changed { before, after: self };
        refuse([
            ("name", is_new.in_part(|world| &world.name), too_long(&self.name, NAME)),
            (
                "description",
                is_new.in_part(|world| &world.description),
                too_long(&self.description, DESCRIPTION),
            ),
            (
                "approval_timeout_seconds",
                is_new.in_part(|world| &world.approval_timeout_seconds),
                self.approval_timeout_seconds.and_then(not_a_wait),
            ),
            (
                "default_model",
                is_new.in_part(|world| &world.default_model),
                self.default_model.as_deref().and_then(no_word),
            ),
            (
                "title_model",
                is_new.in_part(|world| &world.title_model),
                self.title_model.as_deref().and_then(no_word),
            ),
            (
                "result_limit",
                is_new.in_part(|world| &world.result_limit),
                (self.result_limit == 0).then(at_least_one),
            ),
        ])?;
        let none = BTreeMap::new();
        let variables = before.map_or(&none, |before| &before.variables);
        for (name, value) in &self.variables {
            let why = no_word(name).or_else(|| too_long(value, VARIABLE));
            let is_new = variables.get(name) != Some(value);
            refuse([("variables", is_new, why)]).map_err(|invalid| invalid.of(name))?;
        }
        for agent in &self.agents {
            let before = before.and_then(|before| before.agent(&agent.id));
            let checked = agent.check_bounds(before);
            checked.map_err(|invalid| invalid.within("agents", agent.id.as_str()))?;
        }
        for (name, server) in &self.mcp_servers {
            let before = before.and_then(|before| before.mcp_servers.get(name));
            let why = before.is_none().then(|| no_word(name)).flatten();
            refuse([("name", true, why)])
                .and_then(|()| server.check_bounds(before))
                .map_err(|invalid| invalid.within("mcp_servers", name))?;
        }
        Ok(())
    }
}

impl Agent {
    /// The same for one agent.
    pub fn check_bounds(&self, before: Option<&Self>) -> Result<(), Invalid> {
        let is_new = Changed { before, after: self };
        let odd = |given: f64| !(0.0..=TEMPERATURE).contains(&given);
        refuse([
            ("name", is_new.in_part(|agent| &agent.name), too_long(&self.name, NAME)),
            (
                "model",
                is_new.in_part(|agent| &agent.model),
                self.model.as_deref().and_then(no_word),
            ),
            (
                "instructions",
                is_new.in_part(|agent| &agent.instructions),
                too_long(&self.instructions, INSTRUCTIONS),
            ),
            (
                "temperature",
                is_new.in_part(|agent| &agent.temperature),
                self.temperature.is_some_and(odd).then(|| "must be from 0 to 2".to_owned()),
            ),
            (
                "max_output_tokens",
                is_new.in_part(|agent| &agent.max_output_tokens),
                (self.max_output_tokens == Some(0)).then(at_least_one),
            ),
            (
                "reasoning_effort",
                is_new.in_part(|agent| &agent.reasoning_effort),
                self.reasoning_effort.as_deref().and_then(no_word),
            ),
            (
                "tools",
                is_new.in_part(|agent| &agent.tools),
                self.tools.iter().find_map(|name| no_word(name)),
            ),
        ])
    }
}

impl McpServer {
    /// The same for one server.
    pub fn check_bounds(&self, before: Option<&Self>) -> Result<(), Invalid> {
        let is_new = Changed { before, after: self };
        let (field, target) = match &self.transport {
            McpTransport::Stdio { command, .. } => ("command", command),
            McpTransport::Http { url, .. } => ("url", url),
        };
        let empty = target.trim().is_empty().then(|| "cannot be empty".to_owned());
        refuse([
            (field, is_new.in_part(|server| &server.transport), empty),
            (
                "timeout_seconds",
                is_new.in_part(|server| &server.timeout_seconds),
                (self.timeout_seconds == Some(0)).then(at_least_one),
            ),
        ])
    }
}

/// Settings before and after a change.
struct Changed<'a, T> {
    before: Option<&'a T>,
    after: &'a T,
}

impl<T> Changed<'_, T> {
    fn in_part<P: PartialEq>(&self, part: impl Fn(&T) -> &P) -> bool {
        self.before.is_none_or(|before| part(before) != part(self.after))
    }
}

/// The first field that is new and cannot be so.
fn refuse<const N: usize>(fields: [(&str, bool, Option<String>); N]) -> Result<(), Invalid> {
    for (field, is_new, why) in fields {
        if let (true, Some(why)) = (is_new, why) {
            return Err(Invalid::OutOfBounds { field: field.to_owned(), why });
        }
    }
    Ok(())
}

impl Invalid {
    /// The setting that is refused, where it is one: `agents.ada.temperature`.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::OutOfBounds { field, .. } => Some(field),
            Self::Zero { field } => Some(field),
            Self::MainAgent(_) => Some("main_agent"),
            Self::Policy(_) => Some("policy"),
            Self::Slug(_) | Self::Reserved(_) | Self::Ambiguous(_) => None,
        }
    }

    /// The same, told from outside the thing it is about.
    #[must_use]
    pub fn within(self, list: &str, name: &str) -> Self {
        match self {
            Self::OutOfBounds { field, why } => {
                Self::OutOfBounds { field: format!("{list}.{name}.{field}"), why }
            }
            other => other,
        }
    }

    fn of(self, name: &str) -> Self {
        match self {
            Self::OutOfBounds { field, why } => {
                Self::OutOfBounds { field: format!("{field}.{name}"), why }
            }
            other => other,
        }
    }
}

fn too_long(text: &str, most: usize) -> Option<String> {
    // Bytes are never fewer than characters, and counted already.
    let characters = if text.len() > most { text.chars().count() } else { 0 };
    (characters > most)
        .then(|| format!("has {characters} characters and can have {most}; shorten it"))
}

fn no_word(text: &str) -> Option<String> {
    match text.trim().is_empty() {
        true => Some("cannot be empty; leave it out, or write something".to_owned()),
        false => too_long(text, NAME),
    }
}

fn not_a_wait(seconds: u64) -> Option<String> {
    let wrong = !(1..=LONGEST_WAIT).contains(&seconds);
    wrong.then(|| format!("must be from 1 to {LONGEST_WAIT}; leave it out to wait without end"))
}

fn at_least_one() -> String {
    "must be at least 1".to_owned()
}
