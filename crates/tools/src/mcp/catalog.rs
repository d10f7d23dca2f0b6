//! Decides what is believed and kept of a server's list of tools.
//! Called by `supervisor` whenever a list is read. A tool that cannot be used is left out with a note; what a server says
//! about its tools' harmlessness counts only where a person vouches for the server.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use agent_world_core::arguments::check_schema;
use agent_world_core::binding::digest;
use agent_world_core::config::{Approval, McpServer, Source, ToolSpec};
use agent_world_core::nesting;
use rmcp::model::{ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::naming;

/// Pages of one list; a server that has more never comes to an end.
const PAGES: usize = 100;
const TOOLS: usize = 1000;
/// Bytes of one list; what comes after them is not asked for.
const WHOLE: usize = 16 * 1024 * 1024;
/// Bytes of one tool's description.
const DESCRIPTION: usize = 8 * 1024;
/// Bytes of one tool's schema.
const SCHEMA: usize = 64 * 1024;
/// Notes that are kept; a hostile list is long.
const NOTES: usize = 20;

/// A server's tools, by the names they have here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    pub tools: BTreeMap<String, Listed>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What the server calls it.
    pub original: String,
    pub spec: ToolSpec,
    /// Of everything the server says about it.
    pub digest: String,
}

/// Reads the whole list, page by page. Never from a cache: what was listed is what is called.
///
/// # Errors
/// When the server does not answer, or not with a list.
pub async fn read(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    let mut size = 0;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = ListToolsRequest::with_param(params);
        let ServerResult::ListToolsResult(page) = peer.send_request(request.into()).await? else {
            return Err(ServiceError::UnexpectedResponse);
        };
        for tool in page.tools {
            size += serde_json::to_vec(&tool).map_or(0, |text| text.len());
            tools.push(tool);
        }
        if size > WHOLE {
            break;
        }
        if page.next_cursor.is_none() || page.next_cursor == cursor || tools.len() > TOOLS {
            break;
        }
        cursor = page.next_cursor;
    }
    Ok(tools)
}

impl Catalog {
    pub fn of(server: &str, settings: &McpServer, limit: Duration, listed: Vec<Tool>) -> Self {
        let mut catalog = Self::default();
        let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
        for tool in listed {
            if tools.len() >= TOOLS {
                catalog.note(format!("only the first {TOOLS} tools are used"));
                break;
            }
            match tools.entry(tool.name.to_string()) {
                Entry::Vacant(free) => {
                    free.insert(tool);
                }
                Entry::Occupied(taken) => {
                    catalog
                        .note(format!("tool {:?} is listed twice; the first is used", taken.key()));
                }
            }
        }
        let names = naming::tools(server, tools.keys().map(String::as_str));
        let names: BTreeMap<String, String> =
            names.into_iter().map(|(original, name)| (original.to_owned(), name)).collect();
        for (original, tool) in tools {
            let Some(name) = names.get(&original) else { continue };
            match listed_as(server, settings, limit, name, tool) {
                Ok(listed) => {
                    catalog.tools.insert(name.clone(), listed);
                }
                Err(problem) => catalog.note(format!("tool {original:?} is left out: {problem}")),
            }
        }
        catalog
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn listed_as(
    server: &str,
    settings: &McpServer,
    limit: Duration,
    name: &str,
    tool: Tool,
) -> Result<Listed, String> {
    let whole = serde_json::to_vec(&tool).map_err(|error| error.to_string())?;
    let parameters = Value::Object(tool.input_schema.as_ref().clone());
    let length = parameters.to_string().len();
    if length > SCHEMA {
        return Err(format!("its schema has {length} bytes, more than {SCHEMA}"));
    }
    if nesting::is_too_deep(&parameters) {
        return Err("its schema is nested too deeply".to_owned());
    }
    check_schema(&parameters).map_err(|error| format!("its schema cannot be used: {error}"))?;
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let hints = tool.annotations.clone().filter(|_| settings.trusted).unwrap_or_default();
    let read_only = hints.read_only_hint == Some(true);
    let message = Some(format!("Call {name} of an MCP server"));
    let spec = ToolSpec {
        approval: Approval { required: !read_only, message, options: None },
        timeout_seconds: limit.as_secs().max(1),
        read_only,
        idempotent: hints.idempotent_hint == Some(true),
        destructive: !read_only && hints.destructive_hint != Some(false),
        source: Source::McpServer(server.to_owned()),
        ..ToolSpec::new(name, cut(description), parameters)
    };
    Ok(Listed { original: tool.name.into_owned(), spec, digest: digest(&whole) })
}

fn cut(description: &str) -> String {
    if description.len() <= DESCRIPTION {
        return description.to_owned();
    }
    let end = description.floor_char_boundary(DESCRIPTION);
    format!("{} [cut]", description.get(..end).unwrap_or_default())
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
