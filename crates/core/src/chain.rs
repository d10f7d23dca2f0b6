//! Decides how a log proves that it was not edited: each event carries the hash of its predecessor.
//! Used when events are appended and by `verify`. Never reads or writes a log itself.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Timestamp;
use crate::event::{Event, FORMAT};

/// Where a log ends: how many events it has, and the hash of the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub seq: u64,
    pub hash: Hash,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

/// An event with its place in its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// An event in the form that is stored and hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub version: u32,
    /// JSON text, byte for byte what the hash covers.
    pub payload: String,
    pub hash: Hash,
}

/// Why a stored event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error(
        "event {seq} has format {version}, newer than this program's {FORMAT}; update agent-world"
    )]
    Newer { seq: u64, version: u32 },
    #[error("event {seq} of type `{kind}` cannot be read: {source}")]
    Payload { seq: u64, kind: String, source: serde_json::Error },
    #[error("event {seq} is filed as `{kind}` and says that it is `{actual}`")]
    Mislabelled { seq: u64, kind: String, actual: &'static str },
    #[error("event {seq} cannot be written: {source}")]
    Unwritable { seq: u64, source: serde_json::Error },
}

/// Puts an event behind a head. Returns it with its hash, which makes the next head.
pub fn seal(head: Head, recorded: &Recorded) -> Result<Sealed, Unreadable> {
    let payload = serde_json::to_string(&recorded.event)
        .map_err(|source| Unreadable::Unwritable { seq: recorded.seq, source })?;
    let mut sealed = Sealed {
        seq: recorded.seq,
        at: recorded.at,
        kind: recorded.event.kind().to_owned(),
        version: FORMAT,
        payload,
        hash: Hash::default(),
    };
    sealed.hash = sealed.hash_after(head.hash);
    Ok(sealed)
}

impl Sealed {
    pub fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }

    /// The hash this event must have behind `previous`.
    pub fn hash_after(&self, previous: Hash) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(previous.0);
        hasher.update(self.seq.to_be_bytes());
        hasher.update(self.at.as_millisecond().to_be_bytes());
        hasher.update(self.version.to_be_bytes());
        hasher.update(self.payload.as_bytes());
        Hash(hasher.finalize().into())
    }

    pub fn open(&self) -> Result<Recorded, Unreadable> {
        if self.version > FORMAT {
            return Err(Unreadable::Newer { seq: self.seq, version: self.version });
        }
        let event: Event = serde_json::from_str(&self.payload).map_err(|source| {
            Unreadable::Payload { seq: self.seq, kind: self.kind.clone(), source }
        })?;
        if event.kind() != self.kind {
            let (seq, kind) = (self.seq, self.kind.clone());
            return Err(Unreadable::Mislabelled { seq, kind, actual: event.kind() });
        }
        Ok(Recorded { seq: self.seq, at: self.at, event })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Hash {
    /// The SHA-256 of some content.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hash::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a hash has 64 hexadecimal digits"))
    }
}
