//! Decides what of an MCP server's settings is a key, and where such keys go instead.
//! Used by the routes that take settings of servers. Settings are shown, exported and logged: they only name a key, and the
//! program that runs the server keeps it.

use std::fmt::Debug;

use agent_world_core::config::{McpServer, McpTransport, SET};
use agent_world_core::display::mask_secrets;
use serde_json::json;

use crate::app::App;
use crate::problem::Problem;

/// How settings name what was put away.
pub const REFERENCE: &str = "${MCP_";
/// What stands where a secret was masked.
const MASKED: &str = "[secret masked: ";

/// Keeps keys that must not stand in a world's settings. May take the time of a small file.
pub trait Secrets: Debug + Send + Sync {
    /// Puts away what [`is_secret`] and leaves its name in its place: a variable that begins with [`REFERENCE`]. Says
    /// which keys of `env` or `headers` these were.
    ///
    /// # Errors
    /// In words for the log; they never quote a key.
    fn put_away(
        &self,
        world: &str,
        name: &str,
        server: &mut McpServer,
    ) -> Result<Vec<String>, String>;

    /// Forgets what was put away for a server.
    ///
    /// # Errors
    /// In words for the log.
    fn forget(&self, world: &str, name: &str) -> Result<(), String>;
}

/// Whether a variable or header holds a key. A value that names a variable holds none.
pub fn is_secret(key: &str, value: &str) -> bool {
    let whole = json!({ key: value });
    !value.contains("${") && mask_secrets(&whole) != whole
}

/// Takes over what the sender was not shown and so could not send, and refuses what names another server's keys.
pub(crate) fn fill_in(
    name: &str,
    server: &mut McpServer,
    stored: Option<&McpServer>,
) -> Result<(), Problem> {
    let known = stored.map(values);
    let known = |key: &str| known.and_then(|known| known.get(key));
    let refused = |why: String| {
        Problem::unprocessable("mcp_server_invalid", format!("server `{name}` {why}"))
            .with("server", name)
    };
    for (key, value) in values_mut(server) {
        match known(key) {
            Some(stored) if value == SET => value.clone_from(stored),
            None if value == SET => {
                return Err(refused(format!("has no value for `{key}` yet; send one")));
            }
            Some(stored) if value == stored => {}
            _ if value.contains(REFERENCE) => return Err(refused(foreign())),
            _ => {}
        }
    }
    let mut rest = server.clone();
    values_mut(&mut rest).clear();
    let rest = serde_json::to_string(&rest).unwrap_or_default();
    if rest.contains(REFERENCE) {
        return Err(refused(foreign()));
    }
    if rest.contains(MASKED) {
        return Err(refused(
            "holds the mark of a masked secret; write what stood there".to_owned(),
        ));
    }
    Ok(())
}

fn foreign() -> String {
    format!(
        "names a variable that begins with {REFERENCE}, which are kept for keys that were put away; write the key \
         itself, and it is put away"
    )
}

/// Puts away the keys of a server that somebody sent. Says whether there were any.
pub(crate) async fn put_away(
    app: &App,
    world: &str,
    name: &str,
    server: &mut McpServer,
) -> Result<bool, Problem> {
    let found = values(server).iter().any(|(key, value)| is_secret(key, value));
    if !found {
        return Ok(false);
    }
    let Some(secrets) = app.secrets.clone() else {
        let detail = format!(
            "server `{name}` is given a key, and this program has no place to keep one; put it into the environment and \
             write ${{NAME}}"
        );
        return Err(Problem::unprocessable("keys_not_kept", detail).with("server", name));
    };
    let (world, name, mut sent) = (world.to_owned(), name.to_owned(), server.clone());
    let work = tokio::task::spawn_blocking(move || {
        secrets.put_away(&world, &name, &mut sent).map(|_| sent)
    });
    *server = work.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
    Ok(true)
}

/// Forgets the keys of a server that is gone. What stays behind is named by nothing.
pub(crate) async fn forget(app: &App, world: &str, name: &str) {
    let Some(secrets) = app.secrets.clone() else {
        return;
    };
    let (world, name) = (world.to_owned(), name.to_owned());
    let work = tokio::task::spawn_blocking(move || secrets.forget(&world, &name));
    if let Err(error) = work.await.map_err(|error| error.to_string()).flatten() {
        tracing::error!(error, "the keys of a server that was removed cannot be forgotten");
    }
}

fn values(server: &McpServer) -> &std::collections::BTreeMap<String, String> {
    match &server.transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. } => headers,
    }
}

fn values_mut(server: &mut McpServer) -> &mut std::collections::BTreeMap<String, String> {
    match &mut server.transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. } => headers,
    }
}
