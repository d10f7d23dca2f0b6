//! Decides what stands in place of a key when settings leave this machine: a variable's name.
//! Used by exports that others may read, and by updates that come back from them. Everything given to an MCP server as a
//! variable or a header counts as a key, whatever it looks like; elsewhere only what looks like one.

use agent_world_core::config::{McpServer, McpTransport, World};
use agent_world_core::display::{mask_secrets, mask_text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A value that was not taken along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingSecret {
    /// The variable that the settings name now.
    pub name: String,
    pub server: String,
    /// Where in the server's settings it stood.
    pub field: String,
}

/// Names a variable wherever a key stands. Says which.
pub fn replace_literals(world: &mut World) -> Vec<MissingSecret> {
    let mut missing = Vec::new();
    for (name, server) in &mut world.mcp_servers {
        Replacing { server: name, missing: &mut missing }.server(server);
    }
    missing
}

/// Puts the keys of the present settings back where new ones only have the variables named for them. A server that is another
/// program or at another host than before gets none: files come from anywhere.
pub fn keep_literals(world: &mut World, present: &World) {
    let mut shown = present.clone();
    replace_literals(&mut shown);
    for (name, server) in &mut world.mcp_servers {
        if let (Some(present), Some(shown)) =
            (present.mcp_servers.get(name), shown.mcp_servers.get(name))
        {
            keep_in(server, present, shown);
        }
    }
}

fn keep_in(server: &mut McpServer, present: &McpServer, shown: &McpServer) {
    match (&mut server.transport, &present.transport, &shown.transport) {
        (
            McpTransport::Stdio { command, args, env, .. },
            McpTransport::Stdio { command: own_command, args: own_args, env: own_env, .. },
            McpTransport::Stdio { args: shown_args, env: shown_env, .. },
        ) => {
            // Arguments say what a program does; it is the program that gets the keys.
            if command != own_command {
                return;
            }
            if args == shown_args {
                args.clone_from(own_args);
            }
            for (key, value) in env {
                keep(value, own_env.get(key), shown_env.get(key));
            }
        }
        (
            McpTransport::Http { url, headers },
            McpTransport::Http { url: own_url, headers: own_headers },
            McpTransport::Http { url: shown_url, headers: shown_headers },
        ) => {
            keep(url, Some(own_url), Some(shown_url));
            if host(url) != host(own_url) {
                return;
            }
            for (key, value) in headers {
                keep(value, own_headers.get(key), shown_headers.get(key));
            }
        }
        _ => {}
    }
    for (key, value) in &mut server.extra {
        keep(value, present.extra.get(key), shown.extra.get(key));
    }
}

/// What says to whom an address leads, as it is written. Only the same text is the same host.
fn host(url: &str) -> &str {
    let path = url.match_indices('/').nth(2).map_or(url.len(), |(place, _)| place);
    url.split_at_checked(path).map_or(url, |(host, _)| host)
}

fn keep<T: Clone + PartialEq>(value: &mut T, present: Option<&T>, shown: Option<&T>) {
    if let (Some(present), Some(shown)) = (present, shown)
        && value == shown
    {
        value.clone_from(present);
    }
}

struct Replacing<'a> {
    server: &'a str,
    missing: &'a mut Vec<MissingSecret>,
}

impl Replacing<'_> {
    fn server(&mut self, server: &mut McpServer) {
        match &mut server.transport {
            McpTransport::Stdio { args, env, .. } => {
                for (key, value) in env.iter_mut().filter(|(_, value)| !is_reference(value)) {
                    self.replace(value, &format!("env.{key}"));
                }
                // Seen together: what follows `--token` is one.
                let masked = mask_secrets(&json!(args));
                for (number, arg) in args.iter_mut().enumerate() {
                    let hidden = masked.get(number).and_then(Value::as_str) != Some(arg);
                    if hidden && !is_reference(arg) {
                        self.replace(arg, &format!("args.{number}"));
                    }
                }
            }
            McpTransport::Http { url, headers } => {
                for (key, value) in headers.iter_mut().filter(|(_, value)| !is_reference(value)) {
                    self.replace(value, &format!("headers.{key}"));
                }
                if has_secret(url) && !is_reference(url) {
                    self.replace(url, "url");
                }
            }
        }
        let extra = Value::Object(server.extra.clone());
        let masked = mask_secrets(&extra);
        self.object(&mut server.extra, &masked, "");
    }

    fn object(&mut self, fields: &mut Map<String, Value>, masked: &Value, place: &str) {
        for (key, value) in fields {
            self.value(value, masked.get(key), &format!("{place}{key}"));
        }
    }

    fn value(&mut self, value: &mut Value, masked: Option<&Value>, place: &str) {
        if masked == Some(value) {
            return;
        }
        match (value, masked) {
            (Value::Object(fields), Some(masked @ Value::Object(_))) => {
                self.object(fields, masked, &format!("{place}."));
            }
            (Value::Array(items), Some(Value::Array(masked))) => {
                for (number, (item, masked)) in items.iter_mut().zip(masked).enumerate() {
                    self.value(item, Some(masked), &format!("{place}.{number}"));
                }
            }
            (Value::String(text), _) if is_reference(text) => {}
            // Masked as a whole, whatever it is.
            (value, _) => {
                let mut text = String::new();
                self.replace(&mut text, place);
                *value = Value::String(text);
            }
        }
    }

    fn replace(&mut self, value: &mut String, field: &str) {
        let name = format!("MCP_{}_{}", plain(self.server), plain(field));
        let taken = |name: &String| self.missing.iter().any(|other| other.name == *name);
        // Different letters may have become the same: no two values share a name.
        let name = (1..)
            .map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") })
            .find(|name| !taken(name))
            .unwrap_or(name);
        *value = format!("${{{name}}}");
        let (server, field) = (self.server.to_owned(), field.to_owned());
        self.missing.push(MissingSecret { name, server, field });
    }
}

/// A value that only names a variable tells nothing.
fn is_reference(value: &str) -> bool {
    ["", "Bearer ", "Basic ", "token "].iter().any(|prefix| {
        let rest = value.strip_prefix(prefix);
        let name = rest.and_then(|rest| rest.strip_prefix("${")?.strip_suffix('}'));
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'_')
        })
    })
}

/// An address with a user, a password or a key in it.
fn has_secret(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    authority.contains('@') || mask_text(url) != url
}

fn plain(part: &str) -> String {
    let plain = part.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' });
    plain.collect::<String>().to_ascii_uppercase()
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
