//! Decides which vendors a program has without being told anything but a key, and makes models of what it is told.
//! Called by programs once, at their start. Asks no vendor anything.

mod keys;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::anthropic::Anthropic;
use crate::chat::{self, Chat};
use crate::credentials::{Command, Credential, Credentials, FirstOf, Fixed, Grant, OAuth, PerUser};
use crate::dialect::Dialect;
use crate::google::Google;
use crate::ollama::Ollama;
use crate::openai::{self, Responses};
use crate::provider::{Builder, KeyPlace, Provider};
use crate::settings::{Format, Key, Oauth, Secret, Settings, Source, Vendor};
use crate::transport::{Retry, Timeouts, Transport};
use crate::{Class, Error, Events, Model, Models, Request, whole};
use secrecy::ExposeSecret as _;

pub use keys::{Origin, keys};

/// A vendor this program knows by name.
#[derive(Debug)]
struct Known {
    name: &'static str,
    speaks: Speaks,
    base_url: &'static str,
    /// The environment variable that names another address.
    base_url_variable: &'static str,
    /// The environment variables that may hold the key.
    key_variables: &'static [&'static str],
    key_header: Option<&'static str>,
    /// A server of one's own needs no key.
    key_optional: bool,
    access_path: &'static str,
}

/// A dialect in the words of one vendor.
#[derive(Clone, Copy, Debug)]
enum Speaks {
    Responses(openai::Flavour),
    Chat(chat::Flavour),
    Anthropic,
    Google,
    Ollama,
}

const fn hosted(
    name: &'static str,
    speaks: Speaks,
    base_url: &'static str,
    base_url_variable: &'static str,
    key_variables: &'static [&'static str],
) -> Known {
    Known {
        name,
        speaks,
        base_url,
        base_url_variable,
        key_variables,
        key_header: None,
        key_optional: false,
        access_path: "/models",
    }
}

const KNOWN: &[Known] = &[
    hosted(
        "openai",
        Speaks::Responses(openai::Flavour::OpenAi),
        "https://api.openai.com/v1",
        "OPENAI_BASE_URL",
        &["OPENAI_API_KEY"],
    ),
    Known {
        key_header: Some("x-api-key"),
        ..hosted(
            "anthropic",
            Speaks::Anthropic,
            "https://api.anthropic.com/v1",
            "ANTHROPIC_BASE_URL",
            &["ANTHROPIC_API_KEY"],
        )
    },
    Known {
        key_header: Some("x-goog-api-key"),
        ..hosted(
            "google",
            Speaks::Google,
            "https://generativelanguage.googleapis.com/v1beta",
            "GEMINI_BASE_URL",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        )
    },
    hosted(
        "xai",
        Speaks::Responses(openai::Flavour::Xai),
        "https://api.x.ai/v1",
        "XAI_BASE_URL",
        &["XAI_API_KEY"],
    ),
    hosted(
        "groq",
        Speaks::Chat(chat::Flavour::GROQ),
        "https://api.groq.com/openai/v1",
        "GROQ_BASE_URL",
        &["GROQ_API_KEY"],
    ),
    hosted(
        "together",
        Speaks::Chat(chat::Flavour::TOGETHER),
        "https://api.together.xyz/v1",
        "TOGETHER_BASE_URL",
        &["TOGETHER_API_KEY"],
    ),
    hosted(
        "mistral",
        Speaks::Chat(chat::Flavour::MISTRAL),
        "https://api.mistral.ai/v1",
        "MISTRAL_BASE_URL",
        &["MISTRAL_API_KEY"],
    ),
    hosted(
        "deepseek",
        Speaks::Chat(chat::Flavour::DEEPSEEK),
        "https://api.deepseek.com",
        "DEEPSEEK_BASE_URL",
        &["DEEPSEEK_API_KEY"],
    ),
    hosted(
        "openrouter",
        Speaks::Chat(chat::Flavour::OPENROUTER),
        "https://openrouter.ai/api/v1",
        "OPENROUTER_BASE_URL",
        &["OPENROUTER_API_KEY"],
    ),
    Known {
        key_optional: true,
        access_path: "/api/tags",
        ..hosted(
            "ollama",
            Speaks::Ollama,
            "http://localhost:11434",
            "OLLAMA_BASE_URL",
            &["OLLAMA_API_KEY"],
        )
    },
    Known {
        key_optional: true,
        ..hosted(
            "llamacpp",
            Speaks::Chat(chat::Flavour::LLAMACPP),
            "http://localhost:8080/v1",
            "LLAMACPP_BASE_URL",
            &["LLAMACPP_API_KEY"],
        )
    },
    Known {
        key_optional: true,
        ..hosted(
            "vllm",
            Speaks::Chat(chat::Flavour::VLLM),
            "http://localhost:8000/v1",
            "VLLM_BASE_URL",
            &["VLLM_API_KEY"],
        )
    },
];

/// Azure has no address that holds for everybody, and two ways of being addressed.
const AZURE: &str = "azure";
const AZURE_ENDPOINT: &str = "AZURE_OPENAI_ENDPOINT";
const AZURE_KEY: &str = "AZURE_OPENAI_API_KEY";
const AZURE_VERSION: &str = "AZURE_OPENAI_API_VERSION";

/// The environment a program runs in.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Every vendor known by name and every one the settings name. A vendor that lacks something in the environment is there
/// too, and says when it is asked what is missing.
///
/// # Errors
/// Names the vendor whose settings cannot be used, and why.
pub fn models(settings: &Settings, variables: Variables<'_>) -> Result<Models, Error> {
    let setup = Setup { transport: Transport::new()?, variables };
    let mut models = Models::default();
    for known in KNOWN {
        let found = match settings.vendors.get(known.name) {
            Some(vendor) => Ok(setup.known(known, vendor)?),
            // A mistake in the environment concerns this vendor alone, and whoever asks it.
            None => setup.known(known, &Vendor::default()).map_err(|mut error| {
                error.message = format!("{}: {}", known.base_url_variable, error.message);
                error
            }),
        };
        models = models.with(known.name, reachable(found));
    }
    let azure = match settings.vendors.get(AZURE) {
        Some(vendor) => Ok(setup.azure(vendor)?),
        None => setup.azure(&Vendor::default()),
    };
    models = models.with(AZURE, reachable(azure));
    for (name, vendor) in settings.vendors.iter().filter(|(name, _)| !is_known(name)) {
        models = models.with(name, Arc::new(setup.named(name, vendor)?));
    }
    Ok(models)
}

/// A vendor, or what is wrong with it for whoever asks it.
fn reachable(found: Result<Provider, Error>) -> Arc<dyn Model> {
    match found {
        Ok(provider) => Arc::new(provider),
        Err(error) => Arc::new(Unreachable(error)),
    }
}

/// A vendor that could not be set up.
#[derive(Debug)]
struct Unreachable(Error);

#[async_trait]
impl Model for Unreachable {
    fn stream(&self, _: Request) -> Events {
        let error = self.0.clone();
        whole(async move { Err(error) })
    }

    async fn validate_access(&self) -> Result<(), Error> {
        Err(self.0.clone())
    }

    async fn lists(&self, _: &str) -> Result<Option<bool>, Error> {
        Err(self.0.clone())
    }
}

/// Whether a vendor of this name is set up without being described, its key being taken from the environment.
pub fn is_known(name: &str) -> bool {
    name == AZURE || KNOWN.iter().any(|known| known.name == name)
}

/// The vendors of this process's environment, without any settings.
///
/// # Errors
/// Names the vendor whose address cannot be used.
pub fn from_environment() -> Result<Models, Error> {
    models(&Settings::default(), &|name| std::env::var(name).ok())
}

struct Setup<'a> {
    transport: Transport,
    variables: Variables<'a>,
}

impl Setup<'_> {
    fn known(&self, known: &Known, vendor: &Vendor) -> Result<Provider, Error> {
        let dialect = match vendor.format {
            Some(format) => plain(format),
            None => known.speaks.dialect(),
        };
        let base_url = vendor
            .base_url
            .clone()
            .or_else(|| self.variable(known.base_url_variable))
            .unwrap_or_else(|| known.base_url.to_owned());
        let mut builder = Provider::builder(known.name, dialect)
            .base_url(base_url)
            .models(known.name)
            .access_path(known.access_path)
            .key_hint(hint(known.name, known.key_variables));
        if let Some(header) = known.key_header {
            builder = builder.key_header(header);
        }
        if known.key_optional {
            builder = builder.key_optional();
        }
        self.finish(known.name, builder, vendor, known.key_variables)
    }

    /// By its deployments where a version of the interface is named, otherwise by the address without versions.
    fn azure(&self, vendor: &Vendor) -> Result<Provider, Error> {
        let endpoint = vendor.base_url.clone().or_else(|| self.variable(AZURE_ENDPOINT));
        let Some(endpoint) = endpoint else {
            let message = format!("set {AZURE_ENDPOINT} to the address of your resource");
            return Err(Error::new(Class::InvalidRequest, AZURE, message));
        };
        let endpoint = endpoint.trim_end_matches('/');
        let version =
            vendor.query.get("api-version").cloned().or_else(|| self.variable(AZURE_VERSION));
        let builder = match version {
            Some(version) => Provider::builder(AZURE, Arc::new(Chat::new(chat::Flavour::AZURE)))
                .base_url(endpoint)
                .query("api-version", version)
                .access_path("/openai/models"),
            None => {
                let base = match endpoint.ends_with("/openai/v1") {
                    true => endpoint.to_owned(),
                    false => format!("{endpoint}/openai/v1"),
                };
                Provider::builder(AZURE, Arc::new(Responses::new(openai::Flavour::Azure)))
                    .base_url(base)
                    .access_path("/models")
            }
        };
        let builder = builder
            .unlisted()
            .models("openai")
            .key_header("api-key")
            .key_hint(hint(AZURE, &[AZURE_KEY]));
        let mut vendor = vendor.clone();
        vendor.query.remove("api-version");
        self.finish(AZURE, builder, &vendor, &[AZURE_KEY])
    }

    /// A vendor that only the settings know.
    fn named(&self, name: &str, vendor: &Vendor) -> Result<Provider, Error> {
        let usable = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !usable {
            let message = "a vendor's name has letters, digits, - and _ only";
            return Err(Error::new(Class::InvalidRequest, name, message));
        }
        let Some(base_url) = vendor.base_url.clone() else {
            let message = "this vendor is not known by name; give it a base_url";
            return Err(Error::new(Class::InvalidRequest, name, message));
        };
        let format = vendor.format.unwrap_or(Format::Chat);
        let mut builder = Provider::builder(name, plain(format))
            .base_url(base_url)
            .models(format.table())
            .access_path(if format == Format::Ollama { "/api/tags" } else { "/models" })
            .key_place(format.key_place())
            .key_hint(format!("set `key` under [vendors.{name}] in agent-world.toml"));
        if vendor.key.is_none() {
            builder = builder.key_optional();
        }
        self.finish(name, builder, vendor, &[])
    }

    fn finish(
        &self,
        name: &str,
        mut builder: Builder,
        vendor: &Vendor,
        variables: &[&str],
    ) -> Result<Provider, Error> {
        for (header, value) in &vendor.headers {
            builder = builder.header(header, value);
        }
        for (key, value) in &vendor.query {
            builder = builder.query(key, value);
        }
        for (ours, theirs) in &vendor.models {
            builder = builder.alias(ours, theirs);
        }
        if vendor.allow_key_over_http {
            builder = builder.allow_key_over_http();
        }
        if let Some(problem) = unreasonable(vendor) {
            return Err(Error::new(Class::InvalidRequest, name, problem));
        }
        if let Some(Key::Source(Source::Env(variables))) = &vendor.key {
            builder = builder.key_hint(format!("set {}", variables.names().join(" or ")));
        }
        let mut retry = Retry::default();
        retry.attempts = vendor.attempts.unwrap_or(retry.attempts);
        builder
            .timeouts(timeouts(vendor))
            .retry(retry)
            .transport(self.transport.clone())
            .credentials(self.credentials(name, vendor, variables)?)
            .build()
    }

    /// What the settings say, or else the environment.
    fn credentials(
        &self,
        name: &str,
        vendor: &Vendor,
        variables: &[&str],
    ) -> Result<PerUser, Error> {
        let mut users = PerUser::new();
        for (user, key) in &vendor.users {
            users = users.user(user, self.source(name, key)?);
        }
        let otherwise = match &vendor.key {
            Some(key) => self.source(name, key)?,
            None => Arc::new(self.first_set(variables)),
        };
        Ok(users.otherwise(otherwise))
    }

    /// The key in the first of these variables that is set. Looked up here and now, in the environment this was given:
    /// the process's may be another one.
    fn first_set<N: AsRef<str>>(&self, variables: &[N]) -> FirstOf {
        match variables.iter().find_map(|name| self.variable(name.as_ref())) {
            Some(key) => FirstOf::new().then(Fixed::key(key)),
            None => FirstOf::new(),
        }
    }

    fn source(&self, name: &str, key: &Key) -> Result<Arc<dyn Credentials>, Error> {
        Ok(match key {
            Key::Text(key) => Arc::new(Fixed::new(Credential::Key(key.clone()))),
            Key::Source(Source::Env(variables)) => Arc::new(self.first_set(&variables.names())),
            Key::Source(Source::Command(words)) => match words.split_first() {
                Some((program, arguments)) => {
                    Arc::new(Command::new(program.clone(), arguments.to_vec()))
                }
                None => {
                    let message = "the command for the key is empty; name a program";
                    return Err(Error::new(Class::InvalidRequest, name, message));
                }
            },
            Key::Source(Source::Oauth(oauth)) => Arc::new(self.oauth(name, oauth)?),
        })
    }

    fn oauth(&self, name: &str, oauth: &Oauth) -> Result<OAuth, Error> {
        let client_secret = match &oauth.client_secret {
            Some(secret) => Some(self.secret(name, secret)?),
            None => None,
        };
        let client_id = oauth.client_id.clone();
        let grant = match (&oauth.refresh_token, client_secret) {
            (Some(token), client_secret) => {
                let refresh_token = self.secret(name, token)?;
                Grant::RefreshToken { client_id, client_secret, refresh_token }
            }
            (None, Some(client_secret)) => Grant::ClientCredentials { client_id, client_secret },
            (None, None) => {
                let message = "oauth needs a client_secret or a refresh_token";
                return Err(Error::new(Class::InvalidRequest, name, message));
            }
        };
        let named = |mut error: Error| {
            error.vendor = name.to_owned();
            error
        };
        let mut builder =
            OAuth::builder(self.transport.clone(), &oauth.token_url, grant).map_err(named)?;
        if let Some(scope) = &oauth.scope {
            builder = builder.scope(scope);
        }
        if let Some(audience) = &oauth.audience {
            builder = builder.parameter("audience", audience);
        }
        Ok(builder.build())
    }

    fn secret(&self, name: &str, secret: &Secret) -> Result<secrecy::SecretString, Error> {
        match secret {
            Secret::Text(text) => Ok(text.expose_secret().into()),
            Secret::Env { env } => match self.variable(env) {
                Some(value) => Ok(value.into()),
                None => {
                    let message = format!("the environment variable {env} is not set");
                    Err(Error::new(Class::Auth, name, message))
                }
            },
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        variable(self.variables, name)
    }
}

impl Speaks {
    fn dialect(self) -> Arc<dyn Dialect> {
        match self {
            Self::Responses(flavour) => Arc::new(Responses::new(flavour)),
            Self::Chat(flavour) => Arc::new(Chat::new(flavour)),
            Self::Anthropic => Arc::new(Anthropic),
            Self::Google => Arc::new(Google),
            Self::Ollama => Arc::new(Ollama),
        }
    }
}

impl Format {
    /// Whose models a server that speaks this format most likely has.
    fn table(self) -> &'static str {
        match self {
            Self::Responses => "openai",
            Self::Chat => "",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Ollama => "ollama",
        }
    }

    fn key_place(self) -> KeyPlace {
        match self {
            Self::Responses | Self::Chat | Self::Ollama => KeyPlace::Bearer,
            Self::Anthropic => KeyPlace::Header("x-api-key".into()),
            Self::Google => KeyPlace::Header("x-goog-api-key".into()),
        }
    }
}

/// A format as a server of unknown make speaks it.
fn plain(format: Format) -> Arc<dyn Dialect> {
    let speaks = match format {
        Format::Responses => Speaks::Responses(openai::Flavour::OpenAi),
        Format::Chat => Speaks::Chat(chat::Flavour::GENERIC),
        Format::Anthropic => Speaks::Anthropic,
        Format::Google => Speaks::Google,
        Format::Ollama => Speaks::Ollama,
    };
    speaks.dialect()
}

/// An empty variable is as good as none.
fn variable(variables: Variables<'_>, name: &str) -> Option<String> {
    variables(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn hint(name: &str, variables: &[&str]) -> String {
    format!("set {}, or `key` under [vendors.{name}] in agent-world.toml", variables.join(" or "))
}

/// A limit that no request can keep.
fn unreasonable(vendor: &Vendor) -> Option<&'static str> {
    let zero = |seconds: Option<u64>| seconds == Some(0);
    if vendor.attempts.is_some_and(|attempts| !(1..=10).contains(&attempts)) {
        Some("attempts must be between 1 and 10")
    } else if zero(vendor.first_byte_seconds) || zero(vendor.idle_seconds) {
        Some("first_byte_seconds and idle_seconds must be at least 1")
    } else {
        None
    }
}

fn timeouts(vendor: &Vendor) -> Timeouts {
    let mut timeouts = Timeouts::default();
    if let Some(seconds) = vendor.first_byte_seconds {
        timeouts.whole = Duration::from_secs(seconds);
        timeouts.stream = Duration::from_secs(seconds);
    }
    if let Some(seconds) = vendor.idle_seconds {
        timeouts.idle = Duration::from_secs(seconds);
    }
    timeouts
}

#[cfg(test)]
#[path = "vendors_tests.rs"]
mod tests;
