//! Decides what identifies a thing, and how new ids are made.
//! Used everywhere. Never asks a clock or a random source: both come in with a command.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::Timestamp;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }
    };
}

macro_rules! sortable {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        identifier!($(#[$doc])* $name);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// A new id that sorts after every id made earlier.
            pub fn next(ids: &mut Ids) -> Self {
                Self::new(format!(concat!($prefix, "_{}"), ids.next()))
            }
        }
    };
}

identifier!(
    /// A world's slug, chosen by people: `my-world`.
    WorldId
);
identifier!(
    /// An agent's slug, unique in its world.
    AgentId
);
sortable!(
    /// A chat: the unit of order, of transaction and of ownership.
    ChatId, "chat"
);
sortable!(
    /// A message somebody said, or a model's reply.
    MessageId, "msg"
);
sortable!(
    /// One agent's turn: from a trigger to its final text.
    TurnId, "turn"
);
sortable!(
    /// One tool call. Ours, whatever the vendor called it.
    CallId, "call"
);
sortable!(
    /// A request for a person's decision.
    ApprovalId, "apr"
);
sortable!(
    /// A permission for the rest of a chat.
    GrantId, "grant"
);
sortable!(
    /// A policy rule of a world.
    RuleId, "rule"
);

/// Longest slug accepted for a world or an agent.
pub const SLUG_LIMIT: usize = 64;

/// Whether a text may be the id of a world or an agent: what a mention can name.
pub fn is_slug(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= SLUG_LIMIT
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
}

/// Makes the ids one command needs out of its time and its random bits.
#[derive(Debug)]
pub struct Ids {
    milliseconds: u64,
    random: u128,
}

impl Ids {
    pub fn new(at: Timestamp, entropy: u128) -> Self {
        Self { milliseconds: u64::try_from(at.as_millisecond()).unwrap_or(0), random: entropy }
    }

    // Counting up keeps the ids of one command in the order in which they were made.
    fn next(&mut self) -> String {
        let id = Ulid::from_parts(self.milliseconds, self.random);
        self.random = self.random.wrapping_add(1);
        id.to_string().to_ascii_lowercase()
    }
}
