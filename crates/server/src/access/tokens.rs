//! Decides what a token is: how it is made, named, stored and taken back.
//! Used by the routes under `/api/tokens` and by the command line, on the bare store, also while a server runs.
//! Never stores a token's text: it is shown once, to whoever made it.

use std::fmt;

use agent_world_core::Timestamp;
use agent_world_runtime::store::{self, Document, DocumentWrite, Expected, Store};
use rand::distr::{Alphanumeric, SampleString as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::Role;

/// The kind of the documents that tokens are stored as.
const KIND: &str = "token";
/// What every token begins with, so that scanners for leaked secrets can find one.
pub(super) const PREFIX: &str = "awt_";
/// Letters and digits of a token: 62^43 is just above 2^256.
const LENGTH: usize = 43;
/// Characters of the longest name.
pub const LONGEST_NAME: usize = 64;
const PAGE: usize = 500;
/// Names that the log uses for somebody else.
const RESERVED: [&str; 2] = ["system", "world"];

/// A token as it can be shown: without its text, which nobody has but its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Token {
    pub id: String,
    /// Recorded with everything its holder posts and decides.
    pub name: String,
    pub role: Role,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// From then on it is refused; absent when it lasts until it is revoked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to about ten minutes.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<Timestamp>,
}

impl Token {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// What somebody wants a token for.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    pub role: Role,
    pub expires_at: Option<Timestamp>,
    /// Who makes it.
    pub by: String,
}

/// A new token, with the only copy of its text.
pub struct Issued {
    pub token: Token,
    pub text: String,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("token", &self.token).finish_non_exhaustive()
    }
}

/// Why a token was not made or not revoked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "`{0}` cannot be a token's name; use 1 to 64 letters, digits, `.`, `_`, `-`, `+` or `@`, and neither `system` nor `world`"
    )]
    Name(String),
    #[error("a token cannot expire at {0}, which has passed; name a later moment")]
    Expired(Timestamp),
    #[error("there is a token named {0} already; revoke it first, or choose another name")]
    Exists(String),
    #[error("there is no token {0}; `agent-world token list` shows those there are")]
    Unknown(String),
    #[error(
        "{0} is the last token that lets anybody in, and the server that runs can be reached by other machines; make \
         another with `agent-world token create NAME --role admin`, or end the server first"
    )]
    Last(String),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Whether the last token that lets somebody in may be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Nobody but this machine reaches the server.
    MayGo,
    /// Other machines do, and nobody could come in any more.
    Stays,
}

/// What there is once a token is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Tokens,
    /// A server lets in whoever is at its machine, as admin.
    Nothing,
}

pub(super) type Fingerprint = [u8; 32];

/// A token's document. What it holds is of no use to whoever reads the store.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    name: String,
    role: Role,
    hash: String,
    created_at: Timestamp,
    created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
}

/// What is known of one document of this kind.
#[derive(Debug)]
pub(super) enum Found {
    Readable {
        token: Token,
        fingerprint: Fingerprint,
        version: u64,
    },
    /// Written by a newer program, or damaged. It lets nobody in, but it is there.
    Unreadable {
        key: String,
    },
}

impl Found {
    fn key(&self) -> &str {
        match self {
            Self::Readable { token, .. } => &token.id,
            Self::Unreadable { key } => key,
        }
    }

    fn is_usable(&self, now: Timestamp) -> bool {
        matches!(self, Self::Readable { token, .. } if !token.is_expired(now))
    }
}

/// Makes a token and stores what recognises it.
pub async fn create(store: &dyn Store, wanted: Wanted, now: Timestamp) -> Result<Issued, Refusal> {
    check_name(&wanted.name)?;
    if let Some(end) = wanted.expires_at.filter(|end| *end <= now) {
        return Err(Refusal::Expired(end));
    }
    // The thread's generator is a cryptographic one, seeded by the system.
    let text = format!("{PREFIX}{}", Alphanumeric.sample_string(&mut rand::rng(), LENGTH));
    let id = id_of(&wanted.name);
    let Wanted { name, role, expires_at, by } = wanted;
    let token =
        Token { id, name, role, created_at: now, created_by: by, expires_at, last_used: None };
    let write = written(&token, &fingerprint(&text), Expected::Nothing, now)?;
    match store.write_document(write).await {
        Ok(_) => Ok(Issued { token, text }),
        Err(store::Error::DocumentConflict { .. }) => Err(Refusal::Exists(token.name)),
        Err(error) => Err(error.into()),
    }
}

/// All tokens that can be read, by name.
pub async fn list(store: &dyn Store) -> Result<Vec<Token>, store::Error> {
    let mut tokens: Vec<Token> = all(store).await?.into_iter().filter_map(readable).collect();
    tokens.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tokens)
}

/// Takes a token back, by its name or its id. Whoever holds it is refused within about a second.
pub async fn revoke(
    store: &dyn Store,
    name_or_id: &str,
    last: Last,
    now: Timestamp,
) -> Result<Left, Refusal> {
    let mut found = all(store).await?;
    let id = id_of(name_or_id);
    let is_meant = |found: &Found| found.key() == name_or_id || found.key() == id;
    // A document that cannot be read can be removed all the same.
    let Some(key) = found.iter().find(|found| is_meant(found)).map(|found| found.key().to_owned())
    else {
        return Err(Refusal::Unknown(name_or_id.to_owned()));
    };
    found.retain(|found| found.key() != key);
    if last == Last::Stays && !found.iter().any(|found| found.is_usable(now)) {
        return Err(Refusal::Last(name_or_id.to_owned()));
    }
    if !store.delete_document(KIND, &key).await? {
        return Err(Refusal::Unknown(name_or_id.to_owned()));
    }
    // Looked at again: somebody may have made or revoked another meanwhile.
    let is_empty = store.documents(KIND, None, 1).await?.is_empty();
    Ok(if is_empty { Left::Nothing } else { Left::Tokens })
}

/// Notes that a token was used, unless it was changed or revoked meanwhile.
pub(super) async fn note_use(
    store: &dyn Store,
    token: &Token,
    fingerprint: &Fingerprint,
    version: u64,
    at: Timestamp,
) -> Result<(), store::Error> {
    let used = Token { last_used: Some(at), ..token.clone() };
    let write = written(&used, fingerprint, Expected::Version(version), at)?;
    match store.write_document(write).await {
        Ok(_) | Err(store::Error::DocumentConflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Every document of this kind.
pub(super) async fn all(store: &dyn Store) -> Result<Vec<Found>, store::Error> {
    let mut found: Vec<Found> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.documents(KIND, after.as_deref(), PAGE).await?;
        after = page.last().map(|document| document.key.clone());
        let is_last = page.len() < PAGE;
        found.extend(page.into_iter().map(read));
        if is_last {
            return Ok(found);
        }
    }
}

/// What a token is recognised by. A plain SHA-256 is right for it: slow hashes protect what people can think of, and
/// nobody can try 2^256 texts.
pub(super) fn fingerprint(text: &str) -> Fingerprint {
    fingerprint_of(text.as_bytes())
}

pub(super) fn fingerprint_of(bytes: &[u8]) -> Fingerprint {
    Sha256::digest(bytes).into()
}

fn readable(found: Found) -> Option<Token> {
    match found {
        Found::Readable { token, .. } => Some(token),
        Found::Unreadable { .. } => None,
    }
}

fn read(document: Document) -> Found {
    let Document { key, version, body, .. } = document;
    let Ok(stored) = serde_json::from_str::<Stored>(&body) else {
        return Found::Unreadable { key };
    };
    let Some(fingerprint) = from_hex(&stored.hash) else {
        return Found::Unreadable { key };
    };
    let Stored { name, role, created_at, created_by, expires_at, last_used, .. } = stored;
    let token = Token { id: key, name, role, created_at, created_by, expires_at, last_used };
    Found::Readable { token, fingerprint, version }
}

fn written(
    token: &Token,
    fingerprint: &Fingerprint,
    expected: Expected,
    at: Timestamp,
) -> Result<DocumentWrite, store::Error> {
    let Token { id, name, role, created_at, created_by, expires_at, last_used } = token.clone();
    let hash = hex(fingerprint);
    let stored = Stored { name, role, hash, created_at, created_by, expires_at, last_used };
    let body = serde_json::to_string(&stored)?;
    Ok(DocumentWrite { kind: KIND.to_owned(), key: id, expected, body, at })
}

/// An id follows from the name, so the store itself sees to it that no two tokens have the same one, whoever makes them.
fn id_of(name: &str) -> String {
    let digest: Fingerprint = Sha256::digest(name.to_lowercase().as_bytes()).into();
    format!("tok_{}", hex(&digest).chars().take(16).collect::<String>())
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let usual = |one: char| one.is_alphanumeric() || matches!(one, '.' | '_' | '-' | '+' | '@');
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && name.chars().all(usual);
    // One that looks like an id could be mistaken for it when it is revoked.
    let misleads = name.starts_with("tok_") || name.starts_with(PREFIX);
    if fits && !misleads && !RESERVED.contains(&name.to_lowercase().as_str()) {
        return Ok(());
    }
    Err(Refusal::Name(name.chars().take(LONGEST_NAME).collect()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Fingerprint> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let bytes: Vec<u8> = digits?
        .chunks_exact(2)
        .filter_map(|pair| Some(pair.first()? << 4 | pair.last()?))
        .collect();
    (text.len() == 64).then(|| bytes.try_into().ok()).flatten()
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
