//! Lists, adds, imports, checks, switches and removes the MCP servers of a world.
//! Called by `main`. Changes settings only; the process that works starts and ends servers. Keys that stand in a server's
//! description are put away by whoever keeps the world, and never shown.

mod args;
mod check;

use std::io::Read as _;
use std::path::Path;

use agent_world_client::wire;
use agent_world_core::display::{MASKED, mask_text};
use anyhow::{Context as _, Result, anyhow};
use serde_json::{Map, Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::secrets::REFERENCE;
use crate::{place, words};
use args::Switched;
pub use args::{Add, Mcp};

/// No description of servers is longer.
const LONGEST: u64 = 1 << 20;

pub async fn run(to: Whereabouts, wanted: Mcp) -> Result<Exit> {
    let purpose = match &wanted {
        Mcp::List { check: true, .. } => Purpose::VisitWithServers,
        _ => Purpose::Visit,
    };
    let connection = Connection::open(to, purpose).await?;
    let done = carry_out(&connection, wanted).await;
    connection.close().await;
    done
}

async fn carry_out(connection: &Connection, wanted: Mcp) -> Result<Exit> {
    match wanted {
        Mcp::List { world, check, json } => {
            let world = place::world(connection, world.as_deref()).await?;
            list(connection, &world, check, json).await
        }
        Mcp::Add(wanted) => {
            let world = place::world(connection, wanted.world.as_deref()).await?;
            let json = wanted.json;
            let server = added(wanted)?;
            add(connection, &world, &server, json).await
        }
        Mcp::Import { file, world, json } => {
            let world = place::world(connection, world.as_deref()).await?;
            import(connection, &world.id, &text(&file)?, json).await
        }
        Mcp::Enable(wanted) => switch(connection, wanted, Power::On).await,
        Mcp::Disable(wanted) => switch(connection, wanted, Power::Off).await,
        Mcp::Remove { name, world, json } => {
            let world = place::world(connection, world.as_deref()).await?;
            remove(connection, &world, &name, json).await
        }
    }
}

fn path(world: &str) -> agent_world_client::Path {
    place::path(world).then("mcp-servers")
}

async fn list(
    connection: &Connection,
    world: &wire::World,
    check: bool,
    json: bool,
) -> Result<Exit> {
    let servers = match check {
        true => check::settled(connection, &world.id).await?,
        false => connection.client.all(path(&world.id).with("limit", "1000")).await?,
    };
    let mut screen = Screen::stdout();
    let mut failed = false;
    for server in &servers {
        let health = server.get("health").filter(|_| check);
        failed |= health.is_some_and(check::has_failed);
        if json {
            screen.json(server)?;
            continue;
        }
        screen.row(Tone::Plain, &words::unbroken(&line(server)))?;
        if let Some(health) = health {
            check::tell(&mut screen, health)?;
        }
    }
    if servers.is_empty() && !json {
        let id = &world.id;
        let text = format!(
            "world {id} has no MCP servers; `agent-world mcp add NAME -w {id} -- COMMAND` or \
             `agent-world mcp import FILE -w {id}` gives it some"
        );
        screen.hint(Tone::Plain, &text)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// A server as the interface takes it.
fn added(wanted: Add) -> Result<Value> {
    let texts = |pairs: Vec<(String, String)>| -> Map<String, Value> {
        pairs.into_iter().map(|(name, value)| (name, Value::from(value))).collect()
    };
    let mut server = Map::new();
    let mut set = |field: &str, value: Value| drop(server.insert(field.to_owned(), value));
    set("name", json!(wanted.name));
    let mut command = wanted.command.into_iter();
    match (wanted.url, command.next()) {
        (Some(url), _) => {
            set("url", json!(url));
            set("headers", Value::Object(texts(wanted.headers)));
        }
        (None, Some(program)) => {
            set("command", json!(program));
            set("args", command.collect());
            set("env", Value::Object(texts(wanted.env)));
        }
        (None, None) => return Err(Usage("name a --url, or a command after --".to_owned()).into()),
    }
    set("trusted", json!(wanted.trusted));
    if let Some(seconds) = wanted.timeout {
        set("timeout_seconds", json!(seconds));
    }
    Ok(Value::Object(server))
}

async fn add(
    connection: &Connection,
    world: &wire::World,
    server: &Value,
    json: bool,
) -> Result<Exit> {
    let name = server.get("name").and_then(Value::as_str).unwrap_or_default();
    let servers = world.more.get("mcp_servers").and_then(Value::as_object);
    let is_known = servers.is_some_and(|servers| servers.contains_key(name));
    let before: Option<Value> = match is_known {
        true => Some(connection.client.get(path(&world.id).then(name)).await?),
        false => None,
    };
    let added: Value = connection.client.post(path(&world.id), server).await?;
    if let Some(before) = before {
        let text = format!("this replaced the server {}", line(&before));
        Screen::stderr().line(Tone::Warning, &words::unbroken(&text))?;
    }
    tell_added(&world.id, &[added], json)
}

/// Gives a world the servers of a file that other programs write.
pub async fn import(connection: &Connection, world: &str, text: &str, json: bool) -> Result<Exit> {
    let servers = servers_of(text)?;
    let servers =
        servers.ok_or_else(|| anyhow!("the file has neither `mcpServers` nor `servers`"))?;
    let body = json!({ "mcpServers": servers });
    let mut added: Value = connection.client.post(path(world), &body).await?;
    let added: Vec<Value> = match added.get_mut("data").map(Value::take) {
        Some(Value::Array(added)) => added,
        _ => vec![added],
    };
    tell_added(world, &added, json)
}

/// The servers by name, in a file with `mcpServers` or, as some write it, `servers`. None where it has neither.
pub fn servers_of(text: &str) -> Result<Option<Value>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut file: Value = serde_json::from_str(text)
        .map_err(|error| anyhow!("the file is not JSON: {error}; comments are not allowed"))?;
    let mut take = |key: &str| file.get_mut(key).map(Value::take);
    match (take("mcpServers"), take("servers")) {
        (Some(_), Some(_)) => {
            Err(anyhow!("the file has `mcpServers` and `servers`; keep one of them"))
        }
        (found, None) | (None, found) => Ok(found),
    }
}

fn tell_added(world: &str, added: &[Value], json: bool) -> Result<Exit> {
    let mut screen = Screen::stdout();
    for server in added {
        if json {
            screen.json(server)?;
            continue;
        }
        screen.line(Tone::Plain, &words::unbroken(&format!("{world} has {}", line(server))))?;
        let away = put_away(server);
        if !away.is_empty() {
            let text = format!("    put away in the data folder: {}", away.join(", "));
            screen.line(Tone::Quiet, &words::unbroken(&text))?;
        }
        if holds_a_key(server) {
            let text = "    its arguments or address hold a key, which stays in the world's settings and is seen by \
                        every program here: better move it to --env or --header, or write ${NAME}";
            screen.line(Tone::Warning, text)?;
        }
    }
    if !json {
        let text = format!("`agent-world mcp list -w {world} --check` says whether they work");
        screen.hint(Tone::Quiet, &text)?;
    }
    Ok(Exit::Done)
}

/// The variables and headers whose values are kept elsewhere.
fn put_away(server: &Value) -> Vec<&str> {
    let values = ["env", "headers"].into_iter().filter_map(|field| server.get(field)?.as_object());
    let away = |value: &Value| value.as_str().is_some_and(|value| value.starts_with(REFERENCE));
    values.flatten().filter(|(_, value)| away(value)).map(|(name, _)| name.as_str()).collect()
}

/// Whether something else than a variable or header was masked when it was shown.
fn holds_a_key(server: &Value) -> bool {
    ["command", "args", "url"]
        .iter()
        .any(|field| server.get(field).is_some_and(|value| value.to_string().contains(MASKED)))
}

/// Whether a server is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    On,
    Off,
}

async fn switch(connection: &Connection, wanted: Switched, power: Power) -> Result<Exit> {
    let Switched { name, world, json } = wanted;
    let world = place::world(connection, world.as_deref()).await?;
    let before = known(connection, &world, &name).await?;
    let body = json!({ "disabled": power == Power::Off });
    let after: Value = connection.client.patch(path(&world.id).then(&name), &body).await?;
    let mut screen = Screen::stdout();
    if json {
        screen.json(&after)?;
        return Ok(Exit::Done);
    }
    let state = match (power, before.get("disabled") == after.get("disabled")) {
        (Power::On, false) => "is switched on",
        (Power::Off, false) => "is switched off: its tools are gone",
        (Power::On, true) => "is switched on already",
        (Power::Off, true) => "is switched off already",
    };
    screen.line(Tone::Plain, &words::unbroken(&format!("{name} {state}")))?;
    if power == Power::On {
        screen.line(Tone::Plain, &words::unbroken(&format!("  {}", line(&after))))?;
        let text = format!("`agent-world mcp list -w {} --check` says whether it works", world.id);
        screen.hint(Tone::Quiet, &text)?;
    }
    Ok(Exit::Done)
}

/// A server of a world, by its name.
async fn known(connection: &Connection, world: &wire::World, name: &str) -> Result<Value> {
    let id = &world.id;
    match connection.client.get(path(id).then(name)).await {
        Err(error) if error.code() == Some("mcp_server_not_found") => {
            let known = world.more.get("mcp_servers").and_then(Value::as_object);
            let known: Vec<&str> =
                known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(anyhow!("world {id} has no MCP server `{name}`; it has: {known}"))
        }
        found => Ok(found?),
    }
}

async fn remove(
    connection: &Connection,
    world: &wire::World,
    name: &str,
    json: bool,
) -> Result<Exit> {
    let id = &world.id;
    let server = known(connection, world, name).await?;
    connection.client.delete(path(id).then(name)).await?;
    let mut screen = Screen::stdout();
    if json {
        screen.json(&server)?;
    } else {
        screen.line(Tone::Plain, &words::unbroken(&format!("{id} no longer has {name}")))?;
    }
    Ok(Exit::Done)
}

/// A server on one line, without the values that it is given.
fn line(server: &Value) -> String {
    let text = |field: &str| server.get(field).and_then(Value::as_str).unwrap_or_default();
    let is = |field: &str| server.get(field) == Some(&Value::Bool(true));
    let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = [text("url"), text("command")].into_iter().chain(args.filter_map(Value::as_str));
    let target: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let target = target.join(" ");
    let trusted = if is("trusted") { ", trusted" } else { "" };
    let disabled = if is("disabled") { ", switched off" } else { "" };
    format!("{}: {}{trusted}{disabled}", text("name"), mask_text(&target))
}

fn text(file: &Path) -> Result<String> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(LONGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
    };
    read.with_context(|| format!("{} cannot be read", file.display()))?;
    if text.len() as u64 > LONGEST {
        return Err(anyhow!("{} is too long to be a list of servers", file.display()));
    }
    Ok(text)
}
