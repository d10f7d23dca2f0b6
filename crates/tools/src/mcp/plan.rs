//! Decides how a server is reached: its settings with variables filled in, checked, and with their secrets noted.
//! Made before every start, so that a variable that was set meanwhile counts. Never printed: it holds the secrets.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agent_world_core::binding::digest;
use agent_world_core::config::{McpServer, McpTransport};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::expand::expand;
use super::secrets::Secrets;
use crate::shell::environment;

/// Headers that the protocol sets itself.
const RESERVED: [&str; 6] =
    ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id", "host"];

pub enum Plan {
    Stdio(Program),
    Http(Box<Endpoint>),
}

pub struct Program {
    pub command: String,
    pub args: Vec<String>,
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
}

pub struct Endpoint {
    pub url: Url,
    pub headers: HeaderMap,
    pub oauth: Oauth,
}

/// What the settings' `oauth` says about who we are to an authorization server.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Oauth {
    #[serde(alias = "client_id")]
    pub client_id: Option<String>,
    #[serde(alias = "client_secret")]
    pub client_secret: Option<String>,
    #[serde(alias = "client_metadata_url")]
    pub client_metadata_url: Option<String>,
    pub scopes: Vec<String>,
    pub grant: Grant,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// A person logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client's own id and secret are enough.
    ClientCredentials,
}

/// The variables that settings may name, and of which programs get the harmless ones.
pub type Environment = [(OsString, OsString)];

impl Plan {
    /// # Errors
    /// Says which setting cannot be used, without its value.
    pub fn make(
        server: &McpServer,
        environment: &Environment,
        working_directory: Option<&Path>,
        secrets: &mut Secrets,
    ) -> Result<Self, String> {
        let variable = |name: &str| {
            environment
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.to_string_lossy().into_owned())
        };
        let mut fill = |text: &str| {
            let filled = expand(text, &variable)?;
            // What was not written out is not meant to be seen.
            note_variables(text, &variable, secrets);
            Ok::<_, String>(filled)
        };
        match &server.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let command = fill(command)?;
                let args = args.iter().map(|arg| fill(arg)).collect::<Result<_, _>>()?;
                let mut own = Vec::new();
                for (name, value) in env {
                    own.push((name.clone(), fill(value)?));
                }
                let cwd = cwd.as_deref().map(&mut fill).transpose()?;
                for (_, value) in &own {
                    secrets.add(value.clone());
                }
                let directory = directory(cwd.as_deref(), working_directory)?;
                let mut allowed = environment::allowed(environment.iter().cloned());
                allowed.retain(|(name, _)| !own.iter().any(|(other, _)| name == other.as_str()));
                allowed.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
                Ok(Self::Stdio(Program { command, args, environment: allowed, directory }))
            }
            McpTransport::Http { url, headers } => {
                let url = fill(url)?;
                let mut filled = Vec::new();
                for (name, value) in headers {
                    filled.push((name.clone(), fill(value)?));
                }
                let mut oauth = Oauth::read(server)?;
                for text in [&mut oauth.client_id, &mut oauth.client_secret].into_iter().flatten() {
                    *text = fill(text)?;
                }
                if let Some(secret) = &oauth.client_secret {
                    secrets.add(secret.clone());
                }
                let url = address(&url, secrets)?;
                let headers = read_headers(filled, secrets)?;
                Ok(Self::Http(Box::new(Endpoint { url, headers, oauth })))
            }
        }
    }
}

impl Endpoint {
    /// Whether the settings say by themselves how we are let in.
    pub fn has_credentials(&self) -> bool {
        self.headers.contains_key(AUTHORIZATION)
    }
}

impl Oauth {
    fn read(server: &McpServer) -> Result<Self, String> {
        match server.extra.get("oauth") {
            None | Some(Value::Null | Value::Bool(_)) => Ok(Self::default()),
            // The reason would quote the value.
            Some(value) => serde_json::from_value(value.clone())
                .map_err(|_| "the server's `oauth` settings cannot be read".to_owned()),
        }
    }
}

/// How a server is reached, as its settings write it and without anything that may be secret.
pub fn target(transport: &McpTransport) -> String {
    match transport {
        McpTransport::Stdio { command, args, cwd, .. } => {
            let rest = format!("{args:?} {cwd:?}");
            let mark: String = digest(rest.as_bytes()).chars().take("sha256:".len() + 12).collect();
            format!("{command} with arguments {mark}")
        }
        McpTransport::Http { url, .. } => {
            let plain = url.split(['?', '#']).next().unwrap_or_default();
            match plain.split_once("://") {
                Some((scheme, rest)) => {
                    // Paths hold keys as well; what is behind the host is told apart by a mark only.
                    let host = rest.split('/').next().unwrap_or_default();
                    let host = host.rsplit('@').next().unwrap_or_default();
                    let mark: String =
                        digest(url.as_bytes()).chars().take("sha256:".len() + 12).collect();
                    format!("{scheme}://{host} ({mark})")
                }
                None => plain.to_owned(),
            }
        }
    }
}

fn note_variables(text: &str, variable: &dyn Fn(&str) -> Option<String>, secrets: &mut Secrets) {
    for piece in text.split("${").skip(1) {
        let Some((inside, _)) = piece.split_once('}') else { continue };
        let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
        if !environment::is_allowed(name.as_ref())
            && let Some(value) = variable(name)
        {
            secrets.add(value);
        }
    }
}

fn directory(cwd: Option<&str>, working_directory: Option<&Path>) -> Result<PathBuf, String> {
    let base = match working_directory {
        Some(directory) => directory.to_owned(),
        None => std::env::current_dir()
            .map_err(|error| format!("the current folder cannot be found: {error}"))?,
    };
    let directory = match cwd {
        Some(cwd) => base.join(cwd),
        None => base,
    };
    if directory.is_dir() {
        Ok(directory)
    } else {
        Err(format!(
            "the folder {} to start the server in does not exist; set `cwd`",
            directory.display()
        ))
    }
}

fn address(text: &str, secrets: &mut Secrets) -> Result<Url, String> {
    let wrong = || "the server's `url` is no http or https address".to_owned();
    let url = Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    if let Some(password) = url.password() {
        secrets.add(password);
    }
    for (_, value) in url.query_pairs() {
        secrets.add(value);
    }
    Ok(url)
}

fn read_headers(
    headers: Vec<(String, String)>,
    secrets: &mut Secrets,
) -> Result<HeaderMap, String> {
    let mut read = HeaderMap::new();
    for (name, value) in headers {
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(format!("the header {name} is set by the protocol itself; remove it"));
        }
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("{name:?} is no name for a header"))?;
        secrets.add(value.clone());
        // Behind its scheme a token may be quoted alone.
        if let Some((_, token)) = value.split_once(' ') {
            secrets.add(token.trim());
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            format!("the value of the header {name} has characters that cannot be sent")
        })?;
        value.set_sensitive(true);
        read.append(name, value);
    }
    Ok(read)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
