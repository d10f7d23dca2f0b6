//! Decides what people can set about vendors: where each is, how it is spoken to and where its key comes from.
//! Read from a settings file by programs; `vendors` makes models of it. Holds secrets only where a person wrote one into
//! the file, and never shows it.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::SecretString;
use serde::Deserialize;

/// Everything about vendors in a settings file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// By the name that stands in `vendor/model`.
    pub vendors: BTreeMap<String, Vendor>,
}

/// One vendor. What is left out is as this program knows it; a name this program does not know needs at least a format
/// and a base URL.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vendor {
    /// How it is spoken to.
    pub format: Option<Format>,
    pub base_url: Option<String>,
    /// Where its key comes from.
    pub key: Option<Key>,
    /// Keys of single users, by the user's name; everybody else uses `key`.
    pub users: BTreeMap<String, Key>,
    /// Sent with every request.
    pub headers: BTreeMap<String, String>,
    /// Added to every address.
    pub query: BTreeMap<String, String>,
    /// Models by names of your own: the name you use, then the vendor's.
    pub models: BTreeMap<String, String>,
    /// Seconds until the vendor must have begun to answer.
    pub first_byte_seconds: Option<u64>,
    /// Seconds a stream may pause.
    pub idle_seconds: Option<u64>,
    /// How often a request is sent at most.
    pub attempts: Option<usize>,
    /// Sends the key even unencrypted to another machine, for a network that you trust.
    pub allow_key_over_http: bool,
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// OpenAI's *Responses*.
    Responses,
    /// OpenAI's chat completions, as most hosts speak them.
    Chat,
    Anthropic,
    Google,
    Ollama,
}

/// Where a key comes from. A text is the key itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a key is a text, or one of { env = .. }, { command = [..] } and { oauth = .. }"
)]
pub enum Key {
    Text(SecretString),
    Source(Source),
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// The first of these environment variables that is set.
    Env(OneOrMany),
    /// The first line this program prints: its name, then its arguments. No shell is involved.
    Command(Vec<String>),
    Oauth(Oauth),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a variable, or a list of names")]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// OAuth 2. With a refresh token that grant is used, otherwise that of client credentials.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth {
    pub token_url: String,
    pub client_id: String,
    #[serde(default)]
    pub client_secret: Option<Secret>,
    #[serde(default)]
    pub refresh_token: Option<Secret>,
    #[serde(default)]
    pub scope: Option<String>,
    #[serde(default)]
    pub audience: Option<String>,
}

/// A secret of its own, or the environment variable that holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a secret is a text, or { env = .. }")]
pub enum Secret {
    Text(SecretString),
    Env { env: String },
}

impl OneOrMany {
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name.clone()],
            Self::Many(names) => names.clone(),
        }
    }
}

impl fmt::Debug for Vendor {
    /// Of headers and parameters only the names: people put secrets there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vendor")
            .field("format", &self.format)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("users", &self.users)
            .field("headers", &self.headers.keys())
            .field("query", &self.query.keys())
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Source {
    /// Of a command only the program: people put secrets into arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(variables) => f.debug_tuple("Env").field(variables).finish(),
            Self::Command(words) => f.debug_tuple("Command").field(&words.first()).finish(),
            Self::Oauth(oauth) => f.debug_tuple("Oauth").field(oauth).finish(),
        }
    }
}
