//! Decides what can be set of a provider and what holds when nothing is.
//! Used by whoever sets vendors up. Checks every setting once, so that no request fails for one later.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::SecretString;

use super::address::Address;
use super::{KeyPlace, Provider, Setup};
use crate::credentials::Credentials;
use crate::dialect::{Caps, Dialect};
use crate::secret::{Mask, is_named_secret};
use crate::transport::{Retry, Timeouts, Transport, header, unusable};
use crate::{Capabilities, Error};

/// What a provider is made from. Only the base URL has no default.
#[derive(Debug)]
pub struct Builder {
    name: Arc<str>,
    dialect: Arc<dyn Dialect>,
    transport: Option<Transport>,
    base_url: Option<String>,
    headers: Hidden,
    query: Hidden,
    key_place: KeyPlace,
    key_optional: bool,
    key_over_http: bool,
    key_hint: Option<String>,
    credentials: Option<Arc<dyn Credentials>>,
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

impl Builder {
    pub(super) fn new(name: Arc<str>, dialect: Arc<dyn Dialect>) -> Self {
        Self {
            name,
            dialect,
            transport: None,
            base_url: None,
            headers: Hidden::default(),
            query: Hidden::default(),
            key_place: KeyPlace::default(),
            key_optional: false,
            key_over_http: false,
            key_hint: None,
            credentials: None,
            models: None,
            aliases: BTreeMap::new(),
            overrides: BTreeMap::new(),
            timeouts: Timeouts::default(),
            retry: Retry::default(),
            caps: Caps::default(),
            whole_by_stream: false,
            access_path: None,
            unlisted: false,
        }
    }

    /// What stands before every path: `https://api.openai.com/v1`. An end in slashes is tolerated; names, passwords
    /// and queries are not.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// A header sent with every request, over one of the same name that the dialect sends.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.0.push((name.into(), value.into()));
        self
    }

    /// A parameter in the address of every request, such as Azure's `api-version`.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.0.push((name.into(), value.into()));
        self
    }

    /// Where the vendor wants its key; as a bearer unless told.
    pub fn key_place(mut self, place: KeyPlace) -> Self {
        self.key_place = place;
        self
    }

    /// The vendor wants its key in a header of this name.
    pub fn key_header(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.key_place(KeyPlace::Header(name.into()))
    }

    /// Where keys come from.
    pub fn credentials(mut self, source: impl Credentials + 'static) -> Self {
        self.credentials = Some(Arc::new(source));
        self
    }

    /// What to do when there is no key, as in `set OPENAI_API_KEY`.
    pub fn key_hint(mut self, hint: impl Into<String>) -> Self {
        self.key_hint = Some(hint.into());
        self
    }

    /// The vendor can be asked without a key too: a local server often has none.
    pub fn key_optional(mut self) -> Self {
        self.key_optional = true;
        self
    }

    /// Sends the key even unencrypted to another machine. Without this, only a request that has no key goes to an
    /// `http://` address elsewhere: a model server at home needs none, and a key sent that way is anybody's.
    pub fn allow_key_over_http(mut self) -> Self {
        self.key_over_http = true;
        self
    }

    /// Whose table knows what the models can do, as in `Capabilities::of`. Without it every model is taken to be able.
    pub fn models(mut self, table: impl Into<String>) -> Self {
        self.models = Some(table.into());
        self
    }

    /// Calls a model by another name than the vendor does.
    pub fn alias(mut self, ours: impl Into<String>, vendors: impl Into<String>) -> Self {
        self.aliases.insert(ours.into(), vendors.into());
        self
    }

    /// What a model can do, whatever the table says. The model may be named by its alias.
    pub fn capabilities(mut self, model: impl Into<String>, can: Capabilities) -> Self {
        self.overrides.insert(model.into(), can);
        self
    }

    /// How long the vendor is waited for.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How often a request is sent again that failed in a way that may pass.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How large a reply may be.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.caps = caps;
        self
    }

    /// Asks for a stream even when the reply is wanted whole: for vendors that refuse long replies otherwise.
    pub fn whole_by_stream(mut self) -> Self {
        self.whole_by_stream = true;
        self
    }

    /// What is asked for to see whether the vendor takes the key: a path that costs nothing, such as `/models`.
    pub fn access_path(mut self, path: impl Into<String>) -> Self {
        self.access_path = Some(path.into());
        self
    }

    /// Its models go by names that their users gave them, which stand in no list.
    pub fn unlisted(mut self) -> Self {
        self.unlisted = true;
        self
    }

    /// The connections to use. Providers should share one; without it this one makes its own.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// # Errors
    /// Names the setting that cannot be used.
    pub fn build(self) -> Result<Provider, Error> {
        let name = Arc::clone(&self.name);
        self.checked().map_err(|mut error| {
            error.vendor = name.to_string();
            error
        })
    }

    fn checked(self) -> Result<Provider, Error> {
        let base = self.base_url.as_deref();
        let address = Address::read(base.ok_or_else(|| unusable("a base URL must be set"))?)?;
        if let KeyPlace::Header(name) = &self.key_place {
            header(name, "")?;
        }
        let headers: Result<_, _> =
            self.headers.0.iter().map(|(name, value)| header(name, value)).collect();
        let mask = self.headers.mask(self.query.mask(Mask::default()));
        let transport = match self.transport {
            Some(transport) => transport,
            None => Transport::new()?,
        };
        Ok(Provider(Arc::new(Setup {
            name: self.name,
            dialect: self.dialect,
            transport,
            address,
            headers: headers?,
            query: self.query.0,
            key_place: self.key_place,
            key_optional: self.key_optional,
            key_over_http: self.key_over_http,
            key_hint: self.key_hint,
            credentials: self.credentials,
            mask,
            models: self.models,
            aliases: self.aliases,
            overrides: self.overrides,
            timeouts: self.timeouts,
            retry: self.retry,
            caps: self.caps,
            whole_by_stream: self.whole_by_stream,
            access_path: self.access_path,
            unlisted: self.unlisted,
        })))
    }
}

/// Names and values, of which only the names are printed.
#[derive(Default)]
struct Hidden(Vec<(String, String)>);

impl Hidden {
    /// Adds the values that are secrets by their name.
    fn mask(&self, mask: Mask) -> Mask {
        let secrets = self.0.iter().filter(|(name, _)| is_named_secret(name));
        secrets.fold(mask, |mask, (_, value)| {
            // Behind the name of a scheme, such as `Bearer` or `Basic`.
            let value = value.split_once(' ').map_or(value.as_str(), |(_, secret)| secret);
            mask.with(&SecretString::from(value))
        })
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
