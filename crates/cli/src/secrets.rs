//! Keeps what must not stand in a world's settings: keys that were written into the description of an MCP server.
//! Used by the routes when one is sent, through `serve` and `connect`, and by `setup` when servers are started. Settings are shown, exported and logged; this
//! file is its owner's alone, and a setting only names what is in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_world_core::binding::digest;
use agent_world_core::config::{McpServer, McpTransport};
use agent_world_server::is_secret;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

pub use agent_world_server::REFERENCE;

const NAME: &str = "mcp-secrets.json";
/// Held while the file is read, changed and written: a server and a command may do it at the same time.
const LOCK: &str = "mcp-secrets.lock";

type Secrets = BTreeMap<String, Secret>;

/// A key, and who gets it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Secret {
    Bound {
        value: String,
        /// The host that it was given for, or the program and what it was to run.
        place: String,
    },
    /// Of an earlier version, which did not say.
    Unbound(String),
}

/// Where they are.
pub fn path(data: &Path) -> PathBuf {
    data.join(NAME)
}

/// Says what is wrong with the file, if anything is.
pub fn check(data: &Path) -> Result<()> {
    read(data).map(drop)
}

/// What was put away for a server, as variables that its settings may name. Settings can be written by anybody whose world is
/// imported: one that names another server's key, or sends its own to another host, gets nothing.
pub fn variables(
    data: &Path,
    world: &str,
    name: &str,
    server: &McpServer,
) -> Result<Vec<(OsString, OsString)>> {
    let (prefix, here) = (prefix(world, name), place(server));
    let secrets = read(data)?.into_iter().filter(|(variable, _)| variable.starts_with(&prefix));
    let values = secrets.filter_map(|(variable, secret)| match secret {
        Secret::Bound { value, place } => (place == here).then_some((variable, value)),
        Secret::Unbound(value) => Some((variable, value)),
    });
    Ok(values.map(|(variable, value)| (variable.into(), value.into())).collect())
}

/// Who gets what is given to a server: a host, or a program. An interpreter runs anything, so that its arguments and the
/// folder in which they are looked for are part of which program that is.
fn place(server: &McpServer) -> String {
    match &server.transport {
        McpTransport::Stdio { command, args, cwd, .. } => {
            let run = serde_json::json!([command, args, cwd]).to_string();
            format!("program {command} {}", digest(run.as_bytes()))
        }
        McpTransport::Http { url, .. } => {
            let parsed = reqwest::Url::parse(url).map(|url| url.origin());
            // What cannot be read is like nothing else.
            match parsed.ok().filter(|origin| origin.is_tuple()) {
                Some(origin) => origin.ascii_serialization(),
                None => url.clone(),
            }
        }
    }
}

/// Puts away what looks like a secret and leaves its name in its place, a new one every time. Says which keys these were.
pub fn put_away(
    data: &Path,
    world: &str,
    name: &str,
    server: &mut McpServer,
) -> Result<Vec<String>> {
    let _held = hold(data)?;
    let mut secrets = read(data)?;
    let place = place(server);
    let written = match &mut server.transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. } => headers,
    };
    let mut names = Vec::new();
    for (key, value) in written.iter_mut().filter(|(key, value)| is_secret(key, value)) {
        let variable = variable(world, name, key, rand::random());
        let secret = Secret::Bound { value: std::mem::take(value), place: place.clone() };
        secrets.insert(variable.clone(), secret);
        *value = format!("${{{variable}}}");
        names.push(key.clone());
    }
    if !names.is_empty() {
        write(data, &secrets)?;
    }
    Ok(names)
}

/// Forgets variables that were put away for a server. Those of others, which its settings may name since they were copied, stay.
pub fn forget(data: &Path, world: &str, name: &str, variables: &[String]) -> Result<()> {
    if variables.is_empty() {
        return Ok(());
    }
    let _held = hold(data)?;
    let mut secrets = read(data)?;
    let (before, prefix) = (secrets.len(), prefix(world, name));
    secrets.retain(|variable, _| !(variables.contains(variable) && variable.starts_with(&prefix)));
    if secrets.len() < before { write(data, &secrets) } else { Ok(()) }
}

/// Keys that are sent over HTTP go the same way.
#[derive(Debug)]
pub struct Kept {
    data: PathBuf,
}

impl Kept {
    pub fn new(data: &Path) -> Self {
        Self { data: data.to_owned() }
    }
}

impl agent_world_server::Secrets for Kept {
    fn put_away(
        &self,
        world: &str,
        name: &str,
        server: &mut McpServer,
    ) -> Result<Vec<String>, String> {
        put_away(&self.data, world, name, server).map_err(|error| format!("{error:#}"))
    }

    fn forget(&self, world: &str, name: &str, variables: &[String]) -> Result<(), String> {
        forget(&self.data, world, name, variables).map_err(|error| format!("{error:#}"))
    }
}

/// Waits until nobody else changes the file, and keeps them waiting until it is dropped.
fn hold(data: &Path) -> Result<File> {
    let path = data.join(LOCK);
    let held = (|| {
        let options = &mut File::options();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        file.lock()?;
        Ok::<_, io::Error>(file)
    })();
    held.with_context(|| format!("{} cannot be locked", path.display()))
}

// The number makes it a new name: what earlier settings name is not overwritten by a key whose settings may be refused.
fn variable(world: &str, server: &str, key: &str, number: u64) -> String {
    format!("{}{}_{}_{number:016x}", prefix(world, server), plain(key), mark(&[key]))
        .to_ascii_uppercase()
}

// Letters are lost on the way to a variable's name; the mark is of the names as they are written, so that no two
// servers, of whatever worlds, share one.
fn prefix(world: &str, server: &str) -> String {
    format!("MCP_{}_{}_{}_", plain(world), plain(server), mark(&[world, server]))
        .to_ascii_uppercase()
}

fn mark(parts: &[&str]) -> String {
    let whole = serde_json::to_string(parts).unwrap_or_default();
    digest(whole.as_bytes()).chars().skip("sha256:".len()).take(16).collect()
}

fn plain(part: &str) -> String {
    part.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect()
}

fn read(data: &Path) -> Result<Secrets> {
    let path = data.join(NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Secrets::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    };
    // The error would quote what it does not understand.
    serde_json::from_str(&text).map_err(|error| {
        anyhow::anyhow!(
            "{} is not as it was written (line {}); mend or remove it and add the servers again",
            path.display(),
            error.line()
        )
    })
}

fn write(data: &Path, secrets: &Secrets) -> Result<()> {
    let (path, draft) = (data.join(NAME), data.join(format!("{NAME}.new")));
    let text = serde_json::to_string_pretty(secrets)?;
    let written = (|| {
        let options = &mut File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    })();
    written.with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn server(env: &[(&str, &str)]) -> McpServer {
        let env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        McpServer::new(McpTransport::Stdio {
            command: "server".to_owned(),
            args: Vec::new(),
            env: env.collect(),
            cwd: None,
        })
    }

    /// The variables that a server's settings name.
    fn named(server: &McpServer) -> Vec<String> {
        let values = match &server.transport {
            McpTransport::Stdio { env, .. } => env,
            McpTransport::Http { headers, .. } => headers,
        };
        values.values().flat_map(|value| agent_world_server::named_in(value)).collect()
    }

    #[test]
    fn a_secret_is_put_away_and_only_named_in_the_settings() {
        let data = tempfile::tempdir().unwrap();
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let mut one = server(&[("GITHUB_TOKEN", token), ("LANG", "C"), ("API_KEY", "${MY_KEY}")]);
        let names = put_away(data.path(), "w", "git-hub", &mut one).unwrap();
        assert_eq!(names, ["GITHUB_TOKEN"]);
        let written = serde_json::to_string(&one).unwrap();
        assert!(!written.contains(token), "{written}");
        assert!(written.contains("\"LANG\":\"C\"") && written.contains("${MY_KEY}"), "{written}");
        let known = variables(data.path(), "w", "git-hub", &one).unwrap();
        let (name, value) = &known[0];
        assert_eq!(value, token);
        assert!(written.contains(&format!("${{{}}}", name.to_str().unwrap())), "{written}");
        let mode = fs::metadata(data.path().join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let names = named(&one);
        assert_eq!(names, [name.to_str().unwrap()]);
        let mut other = server(&[("GITHUB_TOKEN", "ghp_9876543210abcdefghijABCDEFGHIJ543210")]);
        put_away(data.path(), "w", "git-hub", &mut other).unwrap();
        assert!(named(&other) != names, "an earlier one is not overwritten");
        let value = |name: &str| {
            let known = variables(data.path(), "w", "git-hub", &one).unwrap().into_iter();
            known.filter(|(known, _)| known == name).map(|(_, value)| value).next()
        };
        assert_eq!(value(&names[0]).unwrap(), token);
        forget(data.path(), "w", "git-hub", &names).unwrap();
        assert_eq!(value(&names[0]), None);
        forget(data.path(), "elsewhere", "git-hub", &named(&other)).unwrap();
        assert!(value(&named(&other)[0]).is_some(), "it is not theirs to forget");
    }

    #[test]
    fn servers_of_like_names_do_not_share_a_secret() {
        let all = [("a", "b_c"), ("a_b", "c"), ("a-b", "c")].map(|(w, s)| variable(w, s, "KEY", 1));
        assert!(all[0] != all[1] && all[1] != all[2], "{all:?}");
        let data = tempfile::tempdir().unwrap();
        let [x, _] = ["x", "x_y"].map(|name| {
            let mut one = server(&[("API_KEY", "sk-0123456789abcdef0123456789")]);
            put_away(data.path(), "w", name, &mut one).unwrap();
            one
        });
        forget(data.path(), "w", "x", &named(&x)).unwrap();
        assert_eq!(variables(data.path(), "w", "x", &x).unwrap(), []);
        assert_eq!(variables(data.path(), "w", "x_y", &x).unwrap().len(), 1);
    }

    fn at(url: &str) -> McpServer {
        let token = ("Authorization".to_owned(), "Bearer sk-0123456789abcdef0123".to_owned());
        McpServer::new(McpTransport::Http { url: url.to_owned(), headers: BTreeMap::from([token]) })
    }

    #[test]
    fn a_key_goes_only_to_the_server_and_the_host_it_was_given_for() {
        let data = tempfile::tempdir().unwrap();
        let mut mine = at("https://mine.example/mcp");
        put_away(data.path(), "w", "mine", &mut mine).unwrap();
        let given = |world: &str, name: &str, server: &McpServer| {
            variables(data.path(), world, name, server).unwrap().len()
        };
        assert_eq!(given("w", "mine", &mine), 1);
        assert_eq!(given("w", "mine", &at("https://mine.example/other")), 1, "the same host");
        for url in
            ["https://evil.example/mcp", "http://mine.example/mcp", "https://mine.example:8/"]
        {
            assert_eq!(given("w", "mine", &at(url)), 0, "{url}");
        }
        assert_eq!(given("w", "other", &mine), 0);
        assert_eq!(given("elsewhere", "mine", &mine), 0);
        assert_eq!(given("w", "mine", &server(&[])), 0, "a program is no host");
    }

    #[test]
    fn a_key_goes_only_to_the_program_it_was_given_for_with_the_arguments_it_had() {
        let data = tempfile::tempdir().unwrap();
        let run = |args: &[&str], cwd: Option<&str>| {
            let key = ("API_KEY".to_owned(), "sk-0123456789abcdef0123456789".to_owned());
            McpServer::new(McpTransport::Stdio {
                command: "npx".to_owned(),
                args: args.iter().map(|one| (*one).to_owned()).collect(),
                env: BTreeMap::from([key]),
                cwd: cwd.map(ToOwned::to_owned),
            })
        };
        let mut mine = run(&["-y", "good"], None);
        put_away(data.path(), "w", "mine", &mut mine).unwrap();
        let given = |server: &McpServer| variables(data.path(), "w", "mine", server).unwrap().len();
        assert_eq!(given(&mine), 1);
        assert_eq!(given(&run(&["-y", "good"], None)), 1, "the same");
        for other in [
            run(&["-y", "evil"], None),
            run(&["-y good"], None),
            run(&[], None),
            run(&["-y", "good"], Some("/tmp")),
        ] {
            assert_eq!(given(&other), 0, "{other:?}");
        }
    }

    #[test]
    fn keys_of_an_earlier_version_still_go_to_their_server() {
        let data = tempfile::tempdir().unwrap();
        let name = variable("w", "mine", "KEY", 1);
        fs::write(data.path().join(NAME), format!("{{\"{name}\": \"s3cret\"}}")).unwrap();
        let one = server(&[]);
        let known = variables(data.path(), "w", "mine", &one).unwrap();
        assert_eq!(known, [(name.into(), "s3cret".into())]);
        assert_eq!(variables(data.path(), "w", "other", &one).unwrap(), []);
    }

    #[test]
    fn a_broken_file_is_told_of_without_its_text() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(NAME), "{\n\"KEY\": sk-secret").unwrap();
        let error = format!("{:#}", check(data.path()).unwrap_err());
        assert!(error.contains("line 2") && !error.contains("sk-secret"), "{error}");
    }
}
