//! Decides whom a message is for.
//! Called when a message is posted (`route`); `finish_reply` is called when a turn ends in text.
//! Never decides whether an addressed agent may take a turn: limits and queues are decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::AgentId;
use crate::sender::{Sender, is_reserved};

pub use self::reply::finish_reply;

mod reply;

const GREETINGS: [&str; 4] = ["hey", "hi", "hello", "to"];

/// The agents that can be mentioned, found by id or display name without regard to case.
#[derive(Clone, Debug, Default)]
pub struct Roster<'a> {
    agents: Vec<&'a AgentId>,
    by_name: BTreeMap<String, &'a AgentId>,
}

/// The known agents a text names, each once, in the order of their first mention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Named in the leading run of mentions of some line.
    pub addressed: Vec<AgentId>,
    /// Named elsewhere in a line, and addressed nowhere.
    pub referenced: Vec<AgentId>,
}

/// Who is to answer a message, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The message addresses these.
    Addressed(Vec<AgentId>),
    /// It addresses nobody, and the world names an agent for that case.
    MainAgent(AgentId),
    /// It mentions nobody, so it is for all of them.
    Everyone(Vec<AgentId>),
    /// It only speaks about these, so none answers and the sender is told why.
    OnlyReferenced(Vec<AgentId>),
    /// It asks for no answer: nothing need be said about that.
    Nobody,
}

impl<'a> Roster<'a> {
    /// Takes the id and display name of each agent. An id goes before a name; of two equal names
    /// the first is found. A reserved name finds nobody, so that `@human` cannot reach an agent.
    pub fn new(agents: impl IntoIterator<Item = (&'a AgentId, &'a str)>) -> Self {
        let (agents, names): (Vec<_>, Vec<_>) = agents.into_iter().unzip();
        let ids = agents.iter().map(|id| (id.as_str(), *id));
        let names = names.into_iter().zip(agents.iter().copied());
        let mut by_name = BTreeMap::new();
        for (name, id) in ids.chain(names) {
            if !name.trim().is_empty() && !is_reserved(name) {
                by_name.entry(fold_case(name)).or_insert(id);
            }
        }
        Self { agents, by_name }
    }

    pub fn find(&self, name: &str) -> Option<&'a AgentId> {
        self.by_name.get(&fold_case(name)).copied()
    }

    // `@ada-` and `@ada_` mean ada, unless an agent is really called that.
    fn find_token(&self, token: &str) -> Option<&'a AgentId> {
        self.find(token).or_else(|| self.find(token.trim_end_matches(['-', '_'])))
    }
}

/// Finds the agents a text addresses and those it only speaks about.
pub fn parse(text: &str, roster: &Roster<'_>) -> Mentions {
    let (mut addressed, mut referenced) = (Unique::default(), Unique::default());
    for line in text.split('\n') {
        let start = LineStart::read(line, roster);
        addressed.extend(start.run.iter().filter_map(|mention| mention.agent));
        // A mention needs white space before it. The first piece of the tail has none: it opens
        // the line without being a mention, or it sticks to the last mention of the run.
        for word in start.tail.split(char::is_whitespace).skip(1) {
            let token = split_token(word).map(|(token, _)| token);
            referenced.extend(token.and_then(|token| roster.find_token(token)));
        }
    }
    referenced.order.retain(|id| !addressed.seen.contains(id));
    Mentions {
        addressed: addressed.order.into_iter().cloned().collect(),
        referenced: referenced.order.into_iter().cloned().collect(),
    }
}

/// Decides who answers a message.
///
/// A main agent also gets a human's message that only refers to others: it addresses nobody, and
/// somebody is there to take it. A main agent that does not exist is as good as none.
pub fn route(
    sender: &Sender,
    text: &str,
    roster: &Roster<'_>,
    main_agent: Option<&AgentId>,
) -> Route {
    let author = match sender {
        Sender::System => return Route::Nobody,
        Sender::Agent(author) => Some(author),
        Sender::Human | Sender::World => None,
    };
    let mut mentions = parse(text, roster);
    if let Some(author) = author {
        mentions.addressed.retain(|id| !same_agent(id, author));
    }
    if !mentions.addressed.is_empty() {
        return Route::Addressed(mentions.addressed);
    }
    if author.is_some() {
        return Route::Nobody;
    }
    if let Some(main_agent) = main_agent.and_then(|id| roster.find(id.as_str())) {
        return Route::MainAgent(main_agent.clone());
    }
    if mentions.referenced.is_empty() {
        Route::Everyone(roster.agents.iter().copied().cloned().collect())
    } else {
        Route::OnlyReferenced(mentions.referenced)
    }
}

impl Route {
    pub fn recipients(&self) -> &[AgentId] {
        match self {
            Self::Addressed(agents) | Self::Everyone(agents) => agents,
            Self::MainAgent(agent) => std::slice::from_ref(agent),
            Self::OnlyReferenced(_) | Self::Nobody => &[],
        }
    }

    /// What the sender is told when nobody answers although somebody is named.
    pub fn notice(&self) -> Option<String> {
        let Self::OnlyReferenced(agents) = self else {
            return None;
        };
        let names: Vec<String> = agents.iter().map(mention_of).collect();
        let example = names.first()?;
        Some(format!(
            "Nobody answers: {} only mentioned inside a line, which does not address an agent. \
             To get an answer, put the mention at the start of a line: {example} ...",
            match names.as_slice() {
                [one] => format!("{one} is"),
                _ => format!("{} are", names.join(", ")),
            },
        ))
    }
}

/// A mention in a leading run: who it names, and all its text up to what follows it.
struct Mention<'t, 'a> {
    token: &'t str,
    text: &'t str,
    agent: Option<&'a AgentId>,
}

impl Mention<'_, '_> {
    fn is_of(&self, author: &AgentId) -> bool {
        self.agent.is_some_and(|id| same_agent(id, author))
    }

    fn names_somebody(&self) -> bool {
        self.agent.is_some() || Sender::parse(self.token) == Sender::Human
    }
}

/// A line taken apart. Without a leading run of mentions, all of it is the tail.
struct LineStart<'t, 'a> {
    /// White space, commas and greeting before the run.
    lead: &'t str,
    run: Vec<Mention<'t, 'a>>,
    tail: &'t str,
}

impl<'t, 'a> LineStart<'t, 'a> {
    fn read(line: &'t str, roster: &Roster<'a>) -> Self {
        let start = line.trim_start_matches(is_separator);
        Self::read_run(line, skip_greeting(start), roster)
    }

    // An unknown mention does not end the run: in `@nobody @ada hi` a mistyped or departed name
    // must not turn ada, who stands among those addressed, into somebody only spoken about.
    fn read_run(line: &'t str, start: &'t str, roster: &Roster<'a>) -> Self {
        let mut run = Vec::new();
        let mut rest = start;
        while let Some((token, after)) = split_token(rest) {
            let after = after.trim_start_matches(is_separator);
            run.push(Mention { token, text: before(rest, after), agent: roster.find_token(token) });
            let separated = rest.len() - after.len() > token.len() + 1;
            rest = after;
            if !separated {
                break;
            }
        }
        if run.is_empty() {
            return Self { lead: "", run, tail: line };
        }
        Self { lead: before(line, start), run, tail: rest }
    }
}

fn mention_of(id: &AgentId) -> String {
    format!("@{}", id.as_str())
}

// The greeting must be a word of its own: `hi@ada` greets nobody.
fn skip_greeting(text: &str) -> &str {
    let after_greeting = GREETINGS.iter().find_map(|greeting| {
        let (word, after) = text.split_at_checked(greeting.len())?;
        let matches = word.eq_ignore_ascii_case(greeting) && after.starts_with(is_separator);
        matches.then(|| after.trim_start_matches(is_separator))
    });
    after_greeting.unwrap_or(text)
}

// The word after `@`, and what follows it, so that `@ada:` and `@ada!` are mentions of ada.
fn split_token(text: &str) -> Option<(&str, &str)> {
    let token = text.strip_prefix('@')?;
    let after = token.trim_start_matches(is_token_character);
    let token = before(token, after);
    (!token.is_empty()).then_some((token, after))
}

// What stands before `rest`, which must be an end of `whole`.
fn before<'t>(whole: &'t str, rest: &str) -> &'t str {
    let length = whole.len().saturating_sub(rest.len());
    whole.get(..length).unwrap_or_default()
}

fn is_token_character(character: char) -> bool {
    character.is_alphanumeric() || character == '-' || character == '_'
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || character == ','
}

fn fold_case(name: &str) -> String {
    name.trim().to_lowercase()
}

fn same_agent(left: &AgentId, right: &AgentId) -> bool {
    left == right || fold_case(left.as_str()) == fold_case(right.as_str())
}

#[derive(Default)]
struct Unique<'a> {
    order: Vec<&'a AgentId>,
    seen: BTreeSet<&'a AgentId>,
}

impl<'a> Unique<'a> {
    fn extend(&mut self, agents: impl IntoIterator<Item = &'a AgentId>) {
        for id in agents {
            if self.seen.insert(id) {
                self.order.push(id);
            }
        }
    }
}

#[cfg(test)]
#[path = "mention_tests.rs"]
mod tests;
