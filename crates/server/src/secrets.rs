//! Decides what of an MCP server's settings is a key, and where such keys go instead.
//! Used by the routes that take settings of servers. Settings are shown, exported and logged: they only name a key, and the
//! program that runs the server keeps it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use agent_world_core::config::{McpServer, McpTransport, SET, World};
use agent_world_core::display::{MASKED, mask_secrets};
use serde_json::{Value, json};

use crate::app::App;
use crate::problem::Problem;

/// How settings name what was put away.
pub const REFERENCE: &str = "${MCP_";

/// Keeps keys that must not stand in a world's settings. May take the time of a small file.
pub trait Secrets: Debug + Send + Sync {
    /// Puts away what [`is_secret`] and leaves its name in its place: a variable that begins with [`REFERENCE`]. Says
    /// which keys of `env` or `headers` these were. The name is a new one every time: which key is in force is decided by
    /// the settings that come to be stored, so one that is put away for settings which are then refused must change none.
    ///
    /// # Errors
    /// In words for the log; they never quote a key.
    fn put_away(
        &self,
        world: &str,
        name: &str,
        server: &mut McpServer,
    ) -> Result<Vec<String>, String>;

    /// Forgets variables that were put away for a server, and none that were put away for another.
    ///
    /// # Errors
    /// In words for the log.
    fn forget(&self, world: &str, name: &str, variables: &[String]) -> Result<(), String>;
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
    folder: Folder,
) -> Result<(), Problem> {
    let refused = |why: String| refused(name, &why);
    if let Some(stored) = stored {
        unmask(server, stored);
    }
    let moved = stored.is_some_and(|stored| has_moved(server, stored, folder));
    let known = stored.map(values);
    let known = |key: &str| known.and_then(|known| known.get(key));
    for (key, value) in values_mut(server) {
        match known(key) {
            Some(stored) if moved && (value == SET || value == stored && is_kept(stored)) => {
                return Err(refused(format!(
                    "is another program (or has other arguments, variables or another folder) or at another host than before, \
                     and what is kept for `{key}` does not go there; send the value of `{key}` again, or leave it out"
                )));
            }
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

/// Puts back what the sender was shown masked, and sends as it was shown: it is to stay as it is.
fn unmask(server: &mut McpServer, stored: &McpServer) {
    let (Value::Object(mut sent), Value::Object(mut kept)) = (json!(server), json!(stored)) else {
        return;
    };
    let mut is_changed = false;
    for (field, shown) in stored.shown() {
        let is_same = sent.get(&field) == Some(&shown) && shown.to_string().contains(MASKED);
        if let Some(value) = kept.remove(&field).filter(|_| is_same) {
            sent.insert(field, value);
            is_changed = true;
        }
    }
    if is_changed && let Ok(unmasked) = serde_json::from_value(Value::Object(sent)) {
        *server = unmasked;
    }
}

fn refused(name: &str, why: &str) -> Problem {
    Problem::unprocessable("mcp_server_invalid", format!("server `{name}` {why}"))
        .with("server", name)
}

/// Whether the folder of a world is the one that it was. Its programs are looked for there first, and so are theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    Same,
    Moved,
}

impl Folder {
    pub fn between(before: &World, after: &World) -> Self {
        match before.working_directory == after.working_directory {
            true => Self::Same,
            false => Self::Moved,
        }
    }
}

/// Refuses to take a server with kept keys to another folder of its world. Those in `sent` are looked at with [`fill_in`].
pub(crate) fn check_left<T>(
    world: &World,
    sent: &BTreeMap<String, T>,
    folder: Folder,
) -> Result<(), Problem> {
    let left = world.mcp_servers.iter().filter(|(name, _)| !sent.contains_key(*name));
    for (name, server) in left.filter(|(_, server)| has_moved(server, server, folder)) {
        if let Some((key, _)) = values(server).iter().find(|(_, value)| is_kept(value)) {
            let why = format!(
                "runs in the world's folder, and what is kept for `{key}` does not go to another one; give the server a `cwd` \
                 that is an absolute path, or send it in the same change with the value of `{key}`"
            );
            return Err(refused(name, &why));
        }
    }
    Ok(())
}

/// Whether what was given to a server would now reach somebody else: another host, or another program. An interpreter runs
/// anything, and variables say where it finds it and whom it calls, so that a program with other arguments or variables, or
/// in another folder, is another one.
fn has_moved(server: &McpServer, stored: &McpServer, folder: Folder) -> bool {
    match (&server.transport, &stored.transport) {
        (
            McpTransport::Stdio { command, args, cwd, env },
            McpTransport::Stdio {
                command: command_before,
                args: args_before,
                cwd: cwd_before,
                env: env_before,
            },
        ) => {
            let follows_world = cwd.as_deref().is_none_or(|cwd| !cwd.starts_with('/'));
            (command, args, cwd) != (command_before, args_before, cwd_before)
                || (folder == Folder::Moved && follows_world)
                || steers_elsewhere(env, env_before)
        }
        (McpTransport::Http { url, .. }, McpTransport::Http { url: before, .. }) => {
            url != before && origin(url).is_none_or(|now| origin(before) != Some(now))
        }
        _ => true,
    }
}

/// Whether variables that are no keys differ. What is a key is told by its name here: a path could be given a key's form.
fn steers_elsewhere(env: &BTreeMap<String, String>, before: &BTreeMap<String, String>) -> bool {
    let differs = |name: &String| match (env.get(name), before.get(name)) {
        (Some(now), Some(before)) => now != SET && now != before,
        _ => true,
    };
    env.keys().chain(before.keys()).any(|name| !is_secret(name, "any") && differs(name))
}

/// Scheme, host and port. None for what cannot be read, which is then like nothing else.
fn origin(url: &str) -> Option<(String, String, u16)> {
    let url = reqwest::Url::parse(url).ok()?;
    Some((url.scheme().to_owned(), url.host_str()?.to_owned(), url.port_or_known_default()?))
}

fn is_kept(value: &str) -> bool {
    value.contains(REFERENCE)
}

fn foreign() -> String {
    format!(
        "names a variable that begins with {REFERENCE}, which are kept for keys that were put away; write the key \
         itself, and it is put away"
    )
}

/// A server that somebody sent, with its keys put away.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    as_sent: McpServer,
    /// By which variables its keys are named now.
    away: BTreeMap<String, String>,
}

impl Sent {
    /// Puts away the keys of a server.
    pub async fn put_away(
        app: &App,
        world: &str,
        name: &str,
        server: McpServer,
    ) -> Result<Self, Problem> {
        let mut sent = Self { as_sent: server, away: BTreeMap::new() };
        if !values(&sent.as_sent).iter().any(|(key, value)| is_secret(key, value)) {
            return Ok(sent);
        }
        let Some(secrets) = app.secrets.clone() else {
            let detail = format!(
                "server `{name}` is given a key, and this program has no place to keep one; put it into the environment \
                 and write ${{NAME}}"
            );
            return Err(Problem::unprocessable("keys_not_kept", detail).with("server", name));
        };
        let (world, name, mut server) = (world.to_owned(), name.to_owned(), sent.as_sent.clone());
        let work = tokio::task::spawn_blocking(move || {
            secrets.put_away(&world, &name, &mut server).map(|keys| (keys, server))
        });
        let (keys, named) = work.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
        let named = values(&named).iter().filter(|(key, _)| keys.contains(key));
        sent.away = named.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(sent)
    }

    /// As it is to stand in the settings, in place of what stands there.
    pub fn settled(
        &self,
        name: &str,
        stored: Option<&McpServer>,
        folder: Folder,
    ) -> Result<McpServer, Problem> {
        let mut server = self.as_sent.clone();
        // Only now, on what is replaced: what was kept a moment ago may be forgotten by now.
        fill_in(name, &mut server, stored, folder)?;
        for (key, variable) in &self.away {
            values_mut(&mut server).insert(key.clone(), variable.clone());
        }
        Ok(server)
    }

    /// Forgets its keys again: nothing came of it.
    pub async fn take_back(&self, app: &App, world: &str, name: &str) {
        let variables = self.away.values().flat_map(|value| named_in(value)).collect();
        forget(app, world, name, variables).await;
    }
}

/// Forgets what no server of this name has any more. What a crash leaves behind is named by nothing.
pub(crate) async fn forget_replaced(
    app: &App,
    world: &str,
    name: &str,
    before: Option<&McpServer>,
    after: Option<&McpServer>,
) {
    let named = |server: Option<&McpServer>| -> Vec<String> {
        let values = server.into_iter().flat_map(|server| values(server).values());
        values.flat_map(|value| named_in(value)).collect()
    };
    let in_use = named(after);
    let gone = named(before).into_iter().filter(|variable| !in_use.contains(variable)).collect();
    forget(app, world, name, gone).await;
}

async fn forget(app: &App, world: &str, name: &str, variables: Vec<String>) {
    let Some(secrets) = app.secrets.clone().filter(|_| !variables.is_empty()) else {
        return;
    };
    let (world, name) = (world.to_owned(), name.to_owned());
    let work = tokio::task::spawn_blocking(move || secrets.forget(&world, &name, &variables));
    if let Err(error) = work.await.map_err(|error| error.to_string()).flatten() {
        tracing::error!(error, "keys that no server needs any more cannot be forgotten");
    }
}

/// The variables of put away keys that a value names.
pub fn named_in(value: &str) -> Vec<String> {
    let named = value.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    let named = named.map(|(variable, _)| variable.to_owned());
    named.filter(|variable| format!("${{{variable}").starts_with(REFERENCE)).collect()
}

fn values(server: &McpServer) -> &BTreeMap<String, String> {
    match &server.transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. } => headers,
    }
}

fn values_mut(server: &mut McpServer) -> &mut BTreeMap<String, String> {
    match &mut server.transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. } => headers,
    }
}
