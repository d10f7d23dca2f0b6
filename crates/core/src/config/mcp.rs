//! Decides what a world says about the MCP servers its tools come from: the format everyone uses, kept as it stands.
//! Part of a world's settings. Never starts or asks a server.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::display::mask_secrets;

/// What stands for a value that is not shown.
pub const SET: &str = "(set)";

/// One entry of `mcpServers`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct McpServer {
    pub transport: McpTransport,
    /// A person vouches for it: what it says about its tools is believed.
    pub trusted: bool,
    pub disabled: bool,
    /// How long one call may take.
    pub timeout_seconds: Option<u64>,
    /// What other programs write there. Kept, and not understood.
    pub extra: Map<String, Value>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process, spoken to over its standard input and output.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<String> },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, String> },
}

impl McpServer {
    pub fn new(transport: McpTransport) -> Self {
        Self {
            transport,
            trusted: false,
            disabled: false,
            timeout_seconds: None,
            extra: Map::new(),
        }
    }

    /// Without the values of variables and headers: they are the server's business, and often keys.
    pub fn shown(&self) -> Map<String, Value> {
        let Value::Object(fields) = json!(self) else {
            return Map::new();
        };
        let shown = fields.into_iter().map(|(field, value)| match value {
            Value::Object(values) if field == "env" || field == "headers" => {
                (field, values.into_iter().map(|(key, value)| (key, named(value))).collect())
            }
            value => {
                // Together with its name: what a secret is called is what tells it.
                let mut masked = mask_secrets(&json!({ &field: value }));
                let masked = masked.get_mut(&field).map(Value::take);
                (field, masked.unwrap_or_default())
            }
        });
        shown.collect()
    }
}

/// The name of a variable is no secret; anything else may be one.
fn named(value: Value) -> Value {
    match value.as_str() {
        Some(text) if text.starts_with("${") && text.ends_with('}') => value,
        _ => Value::from(SET),
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_false")]
    trusted: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    disabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TryFrom<Written> for McpServer {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { command, args, env, cwd, url, headers, .. } = written;
        let transport = match (command, url) {
            (Some(_), Some(_)) => return Err("an MCP server has either `command` or `url`"),
            (None, None) => return Err("an MCP server needs a `command` or a `url`"),
            (Some(command), None) => McpTransport::Stdio { command, args, env, cwd },
            (None, Some(url)) => McpTransport::Http { url, headers },
        };
        Ok(Self {
            transport,
            trusted: written.trusted,
            disabled: written.disabled,
            timeout_seconds: written.timeout_seconds,
            extra: written.extra,
        })
    }
}

impl From<McpServer> for Written {
    fn from(server: McpServer) -> Self {
        let rest = Self {
            trusted: server.trusted,
            disabled: server.disabled,
            timeout_seconds: server.timeout_seconds,
            extra: server.extra,
            ..Self::default()
        };
        match server.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                Self { command: Some(command), args, env, cwd, ..rest }
            }
            McpTransport::Http { url, headers } => Self { url: Some(url), headers, ..rest },
        }
    }
}

// Variables, headers, addresses and what others write here hold keys: only their names are printed.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("transport", &self.transport)
            .field("trusted", &self.trusted)
            .field("disabled", &self.disabled)
            .field("timeout_seconds", &self.timeout_seconds)
            .field("extra", &self.extra.keys())
            .finish()
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &format_args!("{} characters", url.len()))
                .field("headers", &headers.keys())
                .finish(),
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_format_is_read_and_kept_as_it_stands() {
        for text in [
            r#"{"command":"npx","args":["-y","server"],"env":{"A":"b"},"autoApprove":["x"]}"#,
            r#"{"url":"https://example.com/mcp","headers":{"X":"y"},"type":"http"}"#,
            r#"{"command":"x","trusted":true,"timeout_seconds":5}"#,
        ] {
            let server: McpServer = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&server).unwrap(), text);
        }
    }

    #[test]
    fn no_secret_is_printed() {
        for text in [
            r#"{"command":"x","args":["--key=s3cret"],"env":{"KEY":"s3cret"}}"#,
            r#"{"url":"https://u:s3cret@x/?k=s3cret","headers":{"X":"s3cret"},"oauth":{"clientSecret":"s3cret"}}"#,
        ] {
            let server: McpServer = serde_json::from_str(text).unwrap();
            let printed = format!("{server:?}");
            assert!(!printed.contains("s3cret"), "{printed}");
        }
    }

    #[test]
    fn a_server_is_reached_in_exactly_one_way() {
        for text in ["{}", r#"{"command":"x","url":"y"}"#] {
            let error = serde_json::from_str::<McpServer>(text).unwrap_err().to_string();
            assert!(error.contains("`command`") && error.contains("`url`"), "{error}");
        }
    }
}
