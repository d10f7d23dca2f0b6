//! Reads the files in which other programs keep their MCP servers: `mcpServers`, or `servers` as VS Code writes it.
//! Called by whoever imports settings. Starts nothing; keeps what it does not understand.

use std::collections::BTreeMap;

use agent_world_core::config::McpServer;
use serde_json::Value;

const KEYS: [&str; 2] = ["mcpServers", "servers"];

/// # Errors
/// Says what is wrong, and with which server.
pub fn import(text: &str) -> Result<BTreeMap<String, McpServer>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let file: Value = serde_json::from_str(text)
        .map_err(|error| format!("the file is not JSON: {error}; comments are not allowed"))?;
    let Some(fields) = file.as_object() else {
        return Err("the file holds no object; expected {\"mcpServers\": {...}}".to_owned());
    };
    let found: Vec<(&str, &Value)> =
        KEYS.iter().filter_map(|key| fields.get(*key).map(|value| (*key, value))).collect();
    let (key, servers) = match found.as_slice() {
        [one] => *one,
        [] => return Err("the file has neither `mcpServers` nor `servers`".to_owned()),
        _ => return Err("the file has `mcpServers` and `servers`; keep one of them".to_owned()),
    };
    let Some(servers) = servers.as_object() else {
        return Err(format!("`{key}` must be an object of servers by name"));
    };
    servers.iter().map(|(name, settings)| Ok((name.clone(), read(name, settings)?))).collect()
}

fn read(name: &str, settings: &Value) -> Result<McpServer, String> {
    if name.trim().is_empty() {
        return Err("a server has no name; give it one".to_owned());
    }
    let kind = settings.get("type").or_else(|| settings.get("transport")).and_then(Value::as_str);
    match kind {
        Some("sse") => {
            return Err(format!(
                "server `{name}` uses the old `sse` transport, which is not supported; \
                 ask its vendor for the address of streamable HTTP"
            ));
        }
        Some("stdio") if settings.get("command").is_none() => {
            return Err(format!("server `{name}` is of type `stdio` and has no `command`"));
        }
        Some("http" | "streamable-http" | "streamableHttp") if settings.get("url").is_none() => {
            return Err(format!("server `{name}` is of type `http` and has no `url`"));
        }
        _ => {}
    }
    serde_json::from_value(settings.clone()).map_err(|error| format!("server `{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use agent_world_core::config::McpTransport;

    use super::*;

    #[test]
    fn both_kinds_of_file_are_read() {
        let usual = r#"{"mcpServers": {
            "memory": {"command": "npx", "args": ["-y", "memory"], "env": {"A": "${A}"}},
            "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}}
        }, "theme": "dark"}"#;
        let servers = import(usual).unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["docs", "memory"]);
        assert!(matches!(&servers["docs"].transport, McpTransport::Http { url, .. }
            if url == "https://example.com/mcp"));
        let code = r#"{"inputs": [], "servers": {"x": {"type": "stdio", "command": "x"}}}"#;
        let servers = import(code).unwrap();
        assert_eq!(servers["x"].extra["type"], "stdio");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("{", "not JSON"),
            ("[]", "holds no object"),
            ("{}", "neither `mcpServers` nor `servers`"),
            (r#"{"servers": {}, "mcpServers": {}}"#, "keep one"),
            (r#"{"mcpServers": []}"#, "must be an object"),
            (r#"{"mcpServers": {"a": {}}}"#, "server `a`: an MCP server needs a `command`"),
            (r#"{"mcpServers": {"a": {"command": 3}}}"#, "server `a`: invalid type"),
            (r#"{"mcpServers": {"a": {"type": "sse", "url": "http://x"}}}"#, "old `sse`"),
            (r#"{"mcpServers": {"a": {"type": "http", "command": "x"}}}"#, "has no `url`"),
            (r#"{"mcpServers": {" ": {"command": "x"}}}"#, "has no name"),
        ] {
            let error = import(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
