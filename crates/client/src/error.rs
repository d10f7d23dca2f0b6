//! What can go wrong between a client and a server: nobody answers, the server refuses, or its answer makes no sense.
//! Returned by everything here. A refusal is told in the server's own words.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not known whether the server has seen the request.
    #[error("nobody answers at {place}: {cause}")]
    Unreachable { place: String, cause: String },
    /// The server has seen the request and did not do it.
    #[error(transparent)]
    Refused(Box<Problem>),
    #[error(
        "the answer of {place} to {request} cannot be read: {cause}; is it an agent-world server of this version?"
    )]
    Unreadable { place: String, request: String, cause: String },
    /// A token would have gone where others can read it. Nothing was sent.
    #[error(
        "the token was not sent: {host} is another machine, and without https everybody on the way to it can read it"
    )]
    Exposed { host: String },
    /// What was to be asked can be no request.
    #[error("this cannot be asked: {0}")]
    Unaskable(String),
}

/// Why a server did not do something.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Problem {
    pub status: u16,
    /// Stable name for programs; empty where whoever answered is no agent-world server.
    #[serde(default)]
    pub code: String,
    /// For people: what happened, to what, and what to do.
    #[serde(default)]
    pub detail: String,
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

impl Error {
    /// The stable name of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(problem) => Some(&problem.code),
            _ => None,
        }
    }

    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(problem) => Some(problem.status),
            _ => None,
        }
    }

    /// The same may go well later, without anybody changing anything.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 502 | 503 | 504),
            Self::Unreadable { .. } | Self::Exposed { .. } | Self::Unaskable(_) => false,
        }
    }
}

impl Problem {
    /// Reads what a server answered with a status that is no success.
    pub fn read(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<Self>(body) {
            Ok(problem) => Self { status, ..problem },
            Err(_) => Self {
                status,
                code: String::new(),
                detail: format!(
                    "the server answered with status {status} and said nothing that agent-world says; \
                     is there another program at this address?"
                ),
                facts: Map::new(),
            },
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.as_str() {
            "" => write!(f, "the server refused with status {} ({})", self.status, self.code),
            detail => f.write_str(detail),
        }
    }
}

impl std::error::Error for Problem {}
