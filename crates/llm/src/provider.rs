//! Decides how a vendor is asked: which address, whose key, how often, and how replies that come in several parts are
//! joined. The wire format is the dialect's and the network the transport's.
//! Used by whoever wants a reply of a vendor. Never runs a tool, and keeps nothing of a conversation.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use agent_world_llm::credentials::Environment;
//! # use agent_world_llm::dialect::Dialect;
//! # use agent_world_llm::provider::{KeyPlace, Provider};
//! # use agent_world_llm::{Error, Model as _, Request};
//! # async fn ask(dialect: Arc<dyn Dialect>) -> Result<(), Error> {
//! let provider = Provider::builder("openai", dialect)
//!     .base_url("https://api.openai.com/v1")
//!     .key_place(KeyPlace::Bearer)
//!     .credentials(Environment::new(["OPENAI_API_KEY"]))
//!     .key_hint("set OPENAI_API_KEY")
//!     .access_path("/models")
//!     .build()?;
//! let reply = provider.generate(Request::new("gpt-5", "Why is the sky blue?")).await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod builder;
mod listing;
mod reply;
mod round;
mod turn;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_stream::try_stream;
use async_trait::async_trait;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;

use crate::credentials::{Ask, Credential, Credentials};
use crate::dialect::{Asked, Caps, Dialect};
use crate::secret::{Mask, SecretString};
use crate::transport::{Retry, Timeouts, Transport, header};
use crate::{Capabilities, Class, Error, Events, Model, Request, Response};

pub use builder::Builder;

use address::Address;
use round::Round;
use turn::{Step, Turn};

/// Where a vendor wants its keys. A token goes as `Authorization: Bearer` wherever keys go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyPlace {
    /// As `Authorization: Bearer`.
    #[default]
    Bearer,
    /// In a header of this name.
    Header(std::borrow::Cow<'static, str>),
    /// Nowhere: the vendor takes none, and no credential is asked for.
    None,
}

/// A vendor that can be asked. Clones are the same provider.
#[derive(Clone)]
pub struct Provider(Arc<Setup>);

/// Everything that is settled before the first request.
struct Setup {
    name: Arc<str>,
    dialect: Arc<dyn Dialect>,
    transport: Transport,
    address: Address,
    headers: Vec<(HeaderName, HeaderValue)>,
    query: Vec<(String, String)>,
    key_place: KeyPlace,
    key_optional: bool,
    key_over_http: bool,
    key_hint: Option<String>,
    credentials: Option<Arc<dyn Credentials>>,
    /// Secrets among the settings.
    mask: Mask,
    models: Option<String>,
    aliases: BTreeMap<String, String>,
    overrides: BTreeMap<String, Capabilities>,
    timeouts: Timeouts,
    retry: Retry,
    caps: Caps,
    whole_by_stream: bool,
    access_path: Option<String>,
    unlisted: bool,
}

impl Provider {
    /// A provider under this name (the first part of `vendor/model`) that speaks this dialect.
    pub fn builder(name: impl Into<Arc<str>>, dialect: Arc<dyn Dialect>) -> Builder {
        Builder::new(name.into(), dialect)
    }

    /// The name under which the vendor is set up.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

#[async_trait]
impl Model for Provider {
    fn stream(&self, request: Request) -> Events {
        let setup = Arc::clone(&self.0);
        Box::pin(try_stream! {
            let mut turn = Turn::new(request);
            loop {
                let round = Round::prepare(&setup, turn.request(), true)?;
                let (mut events, mut reply) = round.begin().await?;
                'round: loop {
                    for event in events {
                        match turn.take(event) {
                            Step::Tell(event) => yield event,
                            Step::Skip => {}
                            Step::Again => break 'round,
                            Step::Over(event) => {
                                yield event;
                                return;
                            }
                        }
                    }
                    events = reply.next().await.map_err(|failed| failed.error)?;
                }
            }
        })
    }

    async fn generate(&self, request: Request) -> Result<Response, Error> {
        let mut turn = Turn::new(request);
        loop {
            let round = Round::prepare(&self.0, turn.request(), self.0.whole_by_stream)?;
            if let Some(response) = turn.join(round.whole().await?) {
                return Ok(response);
            }
        }
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.0.capabilities(model)
    }

    /// Asks for the path that the builder named. Without one, only that there is a credential is known.
    async fn validate_access(&self) -> Result<(), Error> {
        match &self.0.access_path {
            Some(path) => Round::access(&self.0, path)?.reach().await,
            None => {
                let ask = Ask { vendor: &self.0.name, user: None };
                self.0.credential(&ask).await.map(|_| ())
            }
        }
    }

    async fn lists(&self, model: &str) -> Result<Option<bool>, Error> {
        let Some(path) = self.0.access_path.as_ref().filter(|_| !self.0.unlisted) else {
            return self.validate_access().await.map(|()| None);
        };
        let list = Round::access(&self.0, path)?.fetch().await?;
        Ok(list.and_then(|list| listing::has(&list, self.0.vendors_name(model))))
    }
}

impl Setup {
    fn asked(&self, model: &str, stream: bool) -> Asked {
        Asked {
            vendor: Arc::clone(&self.name),
            model: self.vendors_name(model).to_owned(),
            capabilities: self.capabilities(model),
            stream,
        }
    }

    /// The model as the vendor names it.
    fn vendors_name<'a>(&'a self, model: &'a str) -> &'a str {
        self.aliases.get(model).map_or(model, String::as_str)
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let name = self.vendors_name(model);
        let told = self.overrides.get(model).or_else(|| self.overrides.get(name));
        told.cloned().unwrap_or_else(|| match &self.models {
            Some(table) => Capabilities::of(table, name),
            None => Capabilities::default(),
        })
    }

    /// The credential to send, if one is to be sent.
    async fn credential(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error> {
        let readable = !self.address.is_safe() && !self.key_over_http;
        if readable && !self.mask.is_empty() {
            return Err(self.unencrypted("a secret in a header or parameter"));
        }
        if self.key_place == KeyPlace::None {
            return Ok(None);
        }
        let found = match &self.credentials {
            Some(source) => source.get(ask).await.map_err(|error| self.named(error))?,
            None => None,
        };
        match found {
            None if !self.key_optional => Err(self.missing(ask)),
            Some(_) if readable => Err(self.unencrypted("the key")),
            found => Ok(found),
        }
    }

    /// The header that holds a credential.
    fn key_header(&self, credential: &Credential) -> Result<(HeaderName, HeaderValue), Error> {
        let secret = credential.secret().expose_secret();
        let (name, value) = match (credential, &self.key_place) {
            (Credential::Key(_), KeyPlace::Header(name)) => (name.as_ref(), secret.to_owned()),
            _ => ("authorization", format!("Bearer {secret}")),
        };
        header(name, &value).map_err(|error| self.error(Class::Auth, error.message))
    }

    fn unencrypted(&self, what: &str) -> Error {
        let message = format!(
            "{what} would go to {} unencrypted; use an https:// address, or allow it explicitly \
             for a network you trust",
            self.address.host(),
        );
        self.error(Class::InvalidRequest, message)
    }

    fn missing(&self, ask: &Ask<'_>) -> Error {
        let whose = match ask.user {
            Some(user) => format!("there is no key for {user}"),
            None => "there is no key".to_owned(),
        };
        let message = match &self.key_hint {
            Some(hint) => format!("{whose}: {hint}"),
            None => whose,
        };
        self.error(Class::Auth, message)
    }

    fn error(&self, class: Class, message: impl Into<String>) -> Error {
        Error::new(class, &*self.name, message)
    }

    /// As an error of this provider, whoever noticed it, and without secrets of the settings.
    fn named(&self, mut error: Error) -> Error {
        error.vendor = self.name.to_string();
        self.mask.error(error)
    }

    fn mask_with(&self, secret: Option<&SecretString>) -> Mask {
        secret.into_iter().fold(self.mask.clone(), Mask::with)
    }
}

impl fmt::Debug for Provider {
    /// Without values of headers and parameters: people put secrets there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setup = &self.0;
        f.debug_struct("Provider")
            .field("name", &setup.name)
            .field("dialect", &setup.dialect)
            .field("address", &setup.address)
            .field("key_place", &setup.key_place)
            .field("credentials", &setup.credentials)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
