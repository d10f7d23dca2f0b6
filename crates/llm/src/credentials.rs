//! Decides where keys and tokens come from.
//! Asked by `Provider` before every request, for the user on whose behalf it is made. A source never prints what it
//! gives: secrets are in no `Debug`, no message and no log.

mod cache;
mod command;
mod environment;
mod oauth;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

use crate::Error;

pub use command::Command;
pub use environment::Environment;
pub use oauth::{Builder as OAuthBuilder, ClientAuthentication, Grant, OAuth};

/// Who asks for a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The name under which the vendor is set up.
    pub vendor: &'a str,
    /// On whose behalf the request is made, if on anybody's.
    pub user: Option<&'a str>,
}

/// What a vendor lets us in with.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A long-lived key. It goes where the vendor wants keys.
    Key(SecretString),
    /// An access token. It always goes as `Authorization: Bearer`.
    Token(SecretString),
}

impl Credential {
    /// A long-lived key.
    pub fn key(text: impl Into<String>) -> Self {
        Self::Key(SecretString::from(text.into()))
    }

    /// An access token.
    pub fn token(text: impl Into<String>) -> Self {
        Self::Token(SecretString::from(text.into()))
    }

    /// The text to send.
    pub fn secret(&self) -> &SecretString {
        match self {
            Self::Key(secret) | Self::Token(secret) => secret,
        }
    }

    /// Whether sending the other instead would change nothing.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.secret().expose_secret() == other.secret().expose_secret()
    }
}

/// A source of credentials.
#[async_trait]
pub trait Credentials: fmt::Debug + Send + Sync {
    /// The credential to use now; nothing when this source has none for whoever asks.
    ///
    /// # Errors
    /// When there should be one and it cannot be had.
    async fn get(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error>;

    /// The vendor did not accept a credential that came from here. A source that keeps what it fetched forgets it and
    /// says whether asking again may bring another; the request is then sent once more.
    fn rejected(&self, _ask: &Ask<'_>, _credential: &Credential) -> bool {
        false
    }
}

#[async_trait]
impl<T: Credentials + ?Sized> Credentials for Arc<T> {
    async fn get(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error> {
        (**self).get(ask).await
    }

    fn rejected(&self, ask: &Ask<'_>, credential: &Credential) -> bool {
        (**self).rejected(ask, credential)
    }
}

/// Always the same credential.
#[derive(Clone, Debug)]
pub struct Fixed(Credential);

impl Fixed {
    /// Gives this credential to everybody who asks.
    pub fn new(credential: Credential) -> Self {
        Self(credential)
    }

    /// Gives this key to everybody who asks.
    pub fn key(text: impl Into<String>) -> Self {
        Self(Credential::key(text))
    }
}

#[async_trait]
impl Credentials for Fixed {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        Ok(Some(self.0.clone()))
    }
}

/// The first of several sources that has a credential. A source that fails ends the search: what it says is more
/// useful than the silent use of another account.
#[derive(Debug, Default)]
pub struct FirstOf(Vec<Box<dyn Credentials>>);

impl FirstOf {
    /// Without any source yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks this source when those before have nothing.
    pub fn then(mut self, source: impl Credentials + 'static) -> Self {
        self.0.push(Box::new(source));
        self
    }
}

#[async_trait]
impl Credentials for FirstOf {
    async fn get(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error> {
        for source in &self.0 {
            if let Some(credential) = source.get(ask).await? {
                return Ok(Some(credential));
            }
        }
        Ok(None)
    }

    fn rejected(&self, ask: &Ask<'_>, credential: &Credential) -> bool {
        // Every source is told, since none knows which of them gave the credential.
        let mut fresh = false;
        for source in &self.0 {
            fresh |= source.rejected(ask, credential);
        }
        fresh
    }
}

/// A source for each user.
#[derive(Debug, Default)]
pub struct PerUser {
    users: BTreeMap<String, Box<dyn Credentials>>,
    otherwise: Option<Box<dyn Credentials>>,
}

impl PerUser {
    /// Without any user yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests on this user's behalf use this source.
    pub fn user(mut self, name: impl Into<String>, source: impl Credentials + 'static) -> Self {
        self.users.insert(name.into(), Box::new(source));
        self
    }

    /// Requests of other users, and on nobody's behalf, use this source. Without it they have no credential.
    pub fn otherwise(mut self, source: impl Credentials + 'static) -> Self {
        self.otherwise = Some(Box::new(source));
        self
    }

    fn source(&self, ask: &Ask<'_>) -> Option<&dyn Credentials> {
        ask.user
            .and_then(|user| self.users.get(user))
            .or(self.otherwise.as_ref())
            .map(|source| &**source)
    }
}

#[async_trait]
impl Credentials for PerUser {
    async fn get(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error> {
        match self.source(ask) {
            Some(source) => source.get(ask).await,
            None => Ok(None),
        }
    }

    fn rejected(&self, ask: &Ask<'_>, credential: &Credential) -> bool {
        self.source(ask).is_some_and(|source| source.rejected(ask, credential))
    }
}

type Answering = dyn Fn(String, Option<String>) -> BoxFuture<'static, Result<Option<Credential>, Error>>
    + Send
    + Sync;

/// Whatever a function answers to the vendor's name and the user's, for programs that keep credentials themselves. It
/// is called for every request and must do its own caching.
#[derive(Clone)]
pub struct Callback(Arc<Answering>);

impl Callback {
    /// Asks this function.
    pub fn new<F, A>(answer: F) -> Self
    where
        F: Fn(String, Option<String>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Option<Credential>, Error>> + Send + 'static,
    {
        Self(Arc::new(move |vendor, user| Box::pin(answer(vendor, user))))
    }
}

#[async_trait]
impl Credentials for Callback {
    async fn get(&self, ask: &Ask<'_>) -> Result<Option<Credential>, Error> {
        (self.0)(ask.vendor.to_owned(), ask.user.map(str::to_owned)).await
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
