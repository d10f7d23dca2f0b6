//! Decides which tools a client may offer for a chat.
//! Called by `decide`. A client's tool never takes the place of one of ours or of another client, and what it says about
//! being harmless is not believed: only its own side knows.

use std::collections::BTreeSet;

use crate::arguments;
use crate::command::Rejection;
use crate::config::{Location, Source, ToolSpec, is_tool_name};
use crate::event::Event;
use crate::ids::GrantId;
use crate::nesting;

use super::Draft;

/// Tools one client may offer for a chat.
const TOOLS_LIMIT: usize = 128;
/// Clients that may offer tools for a chat.
const CLIENTS_LIMIT: usize = 32;
/// Bytes of one tool's description and schema.
const SIZE_LIMIT: usize = 64 * 1024;

impl Draft<'_> {
    pub(super) fn offer_tools(
        &mut self,
        client: String,
        tools: Vec<ToolSpec>,
        by: String,
    ) -> Result<(), Rejection> {
        let refused = |problem: String| Err(Rejection::InvalidTools(problem));
        if client.trim().is_empty() || client.len() > 200 {
            return refused("a client needs a name of at most 200 bytes".to_owned());
        }
        let known = self.chat.client_tools.contains_key(&client);
        if !known && self.chat.client_tools.len() >= CLIENTS_LIMIT {
            return refused(format!("{CLIENTS_LIMIT} clients offer tools here already"));
        }
        if tools.len() > TOOLS_LIMIT {
            return refused(format!("a client can offer at most {TOOLS_LIMIT} tools"));
        }
        let mut names = BTreeSet::new();
        for spec in &tools {
            if !names.insert(spec.name.as_str()) {
                return refused(format!("`{}` is offered twice", spec.name));
            }
            self.check_offered_tool(&client, spec).map_err(Rejection::InvalidTools)?;
        }
        let tools: Vec<ToolSpec> =
            tools.into_iter().map(|spec| as_offered(spec, &client)).collect();
        let same = |known: &imbl::Vector<std::sync::Arc<ToolSpec>>| {
            known.iter().map(AsRef::as_ref).eq(tools.iter())
        };
        if self.chat.client_tools.get(&client).is_some_and(same) {
            return Ok(());
        }
        self.revoke_withdrawn(&client, &names_of(&tools), &by);
        self.emit(Event::ClientToolsOffered { client, tools, by });
        Ok(())
    }

    /// A permission is for a tool as somebody saw it. Once its client takes it back, another may offer one of that name.
    fn revoke_withdrawn(&mut self, client: &str, offered: &BTreeSet<String>, by: &str) {
        let before = self.chat.client_tools.get(client).cloned().unwrap_or_default();
        let gone: BTreeSet<String> = before
            .iter()
            .map(|spec| spec.name.clone())
            .filter(|name| !offered.contains(name))
            .collect();
        let grants: Vec<GrantId> = self
            .chat
            .grants
            .values()
            .filter(|grant| gone.contains(&grant.tool))
            .map(|grant| grant.id.clone())
            .collect();
        for grant in grants {
            self.emit(Event::GrantRevoked { grant, by: by.to_owned() });
        }
    }

    fn check_offered_tool(&self, client: &str, spec: &ToolSpec) -> Result<(), String> {
        let name = &spec.name;
        // A point is in the names of servers' tools: a client must not offer what looks like one.
        if !is_tool_name(name) || name.contains('.') {
            return Err(format!(
                "a client's tool cannot be called `{}`; use letters, digits, _ and -, at most 64",
                crate::display::reveal_line(name)
            ));
        }
        if self.rules.tools.get(name).is_some() {
            return Err(format!("`{name}` is a tool of this world; choose another name"));
        }
        let others = self.chat.client_tools.iter().filter(|(other, _)| *other != client);
        if others.flat_map(|(_, tools)| tools).any(|other| other.name == *name) {
            return Err(format!("another client offers `{name}` already; choose another name"));
        }
        if nesting::is_too_deep(&spec.parameters) {
            return Err(format!("the schema of `{name}` is nested too deeply"));
        }
        if spec.description.len() + spec.parameters.to_string().len() > SIZE_LIMIT {
            return Err(format!("`{name}` is described in more than {SIZE_LIMIT} bytes"));
        }
        if spec.timeout_seconds == 0 {
            return Err(format!("`{name}` leaves its client no time: timeout_seconds is 0"));
        }
        arguments::check_schema(&spec.parameters)
            .map_err(|problem| format!("the schema of `{name}` cannot be used: {problem}"))
    }
}

fn names_of(tools: &[ToolSpec]) -> BTreeSet<String> {
    tools.iter().map(|spec| spec.name.clone()).collect()
}

fn as_offered(spec: ToolSpec, client: &str) -> ToolSpec {
    ToolSpec {
        location: Location::Client,
        source: Source::Client(client.to_owned()),
        read_only: false,
        idempotent: false,
        destructive: true,
        ..spec
    }
}
