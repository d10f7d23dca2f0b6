//! Decides how a failed model call is named and explained.
//! Made by every vendor, read by the runtime (may it be tried again?) and by people. Never holds a key or a prompt.

use std::fmt;
use std::time::Duration;

/// A model call that gave no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{vendor}: {class}{}{}; {}", Cause(self), Trace(self), class.advice())]
pub struct Error {
    pub class: Class,
    pub vendor: String,
    /// What the vendor said, or what was noticed on our side. May be empty.
    pub message: String,
    pub status: Option<u16>,
    pub request_id: Option<String>,
}

/// What kind of failure it was; the same for every vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Auth,
    RateLimited {
        retry_after: Option<Duration>,
    },
    Quota,
    ContextTooLong,
    InvalidRequest,
    ContentRefused,
    Overloaded,
    Server,
    Network,
    Timeout,
    /// The stream ended before its terminal event; what came of it is not a reply.
    StreamCut,
    Cancelled,
    /// No such vendor is set up, or it has no such model.
    UnknownModel,
}

impl Error {
    pub fn new(class: Class, vendor: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class,
            vendor: vendor.into(),
            message: message.into(),
            status: None,
            request_id: None,
        }
    }

    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    pub fn with_request_id(mut self, request_id: impl Into<String>) -> Self {
        self.request_id = Some(request_id.into());
        self
    }

    /// Reads what `Display` wrote: a log keeps failures as people read them. None for any other text.
    pub fn from_told(told: &str) -> Option<Self> {
        let (vendor, rest) = told.split_once(": ")?;
        let named = |class: &Class| rest.starts_with(&class.to_string());
        let class = Class::ALL.into_iter().find(named)?;
        let message = rest.strip_prefix(&class.to_string())?;
        let message = message.strip_suffix(class.advice())?.strip_suffix("; ")?;
        let message = message.strip_prefix(':').unwrap_or(message).trim_start();
        Some(Self::new(class, vendor, message))
    }

    /// A model was named whose vendor nobody set up.
    pub fn unknown_vendor<'a>(vendor: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.collect();
        let message = match known.as_slice() {
            [] => "no vendor is set up".to_owned(),
            known => format!("no such vendor is set up, only {}", known.join(", ")),
        };
        let named = if vendor.is_empty() { "(no vendor)" } else { vendor };
        Self::new(Class::UnknownModel, named, message)
    }
}

impl Class {
    const ALL: [Self; 13] = [
        Self::Auth,
        Self::RateLimited { retry_after: None },
        Self::Quota,
        Self::ContextTooLong,
        Self::InvalidRequest,
        Self::ContentRefused,
        Self::Overloaded,
        Self::Server,
        Self::Network,
        Self::Timeout,
        Self::StreamCut,
        Self::Cancelled,
        Self::UnknownModel,
    ];

    /// The name used in logs and over the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimited { .. } => "rate_limited",
            Self::Quota => "quota",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::ContentRefused => "content_refused",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::StreamCut => "stream_cut",
            Self::Cancelled => "cancelled",
            Self::UnknownModel => "unknown_model",
        }
    }

    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded
            | Self::Server
            | Self::Network
            | Self::Timeout
            | Self::StreamCut => true,
            Self::Auth
            | Self::Quota
            | Self::ContextTooLong
            | Self::InvalidRequest
            | Self::ContentRefused
            | Self::Cancelled
            | Self::UnknownModel => false,
        }
    }

    /// How long the vendor asked us to wait.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => retry_after,
            _ => None,
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Auth => "check the key and what it may be used for",
            Self::RateLimited { .. } => "wait, then try again",
            Self::Quota => "check the plan and the billing of the account",
            Self::ContextTooLong => "start a new chat or choose a model with a larger context",
            Self::InvalidRequest => "check the settings of the agent and of its model",
            Self::ContentRefused => "say it differently or choose another model",
            Self::Overloaded | Self::Server | Self::StreamCut => "try again",
            Self::Network => "check the connection and the address, then try again",
            Self::Timeout => "try again or choose a faster model",
            Self::Cancelled => "ask again if the answer is still wanted",
            Self::UnknownModel => "check the name; models are written vendor/model",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auth => "no access",
            Self::RateLimited { retry_after: None } => "too many requests",
            Self::RateLimited { retry_after: Some(wait) } => {
                return write!(f, "too many requests for the next {}s", wait.as_secs_f64());
            }
            Self::Quota => "the quota is used up",
            Self::ContextTooLong => "the conversation is too long for the model",
            Self::InvalidRequest => "the request was not accepted",
            Self::ContentRefused => "the model refused the content",
            Self::Overloaded => "the vendor is overloaded",
            Self::Server => "the vendor failed",
            Self::Network => "the vendor cannot be reached",
            Self::Timeout => "no answer came in time",
            Self::StreamCut => "the answer broke off before its end",
            Self::Cancelled => "the call was cancelled",
            Self::UnknownModel => "the model cannot be asked",
        })
    }
}

/// The message, if there is one, as a continuation of the sentence.
struct Cause<'a>(&'a Error);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.message.trim().trim_end_matches('.') {
            "" => Ok(()),
            message => write!(f, ": {message}"),
        }
    }
}

/// What a vendor's support needs to find the call.
struct Trace<'a>(&'a Error);

impl fmt::Display for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.status, self.0.request_id.as_deref()) {
            (None, None) => Ok(()),
            (Some(status), None) => write!(f, " (status {status})"),
            (None, Some(id)) => write!(f, " (request {id})"),
            (Some(status), Some(id)) => write!(f, " (status {status}, request {id})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_who_what_and_what_to_do() {
        let error = Error::new(Class::Auth, "anthropic", "invalid x-api-key.")
            .with_status(401)
            .with_request_id("req_7");
        assert_eq!(
            error.to_string(),
            "anthropic: no access: invalid x-api-key (status 401, request req_7); \
             check the key and what it may be used for",
        );
        let wait = Some(Duration::from_millis(1_500));
        assert_eq!(
            Error::new(Class::RateLimited { retry_after: wait }, "openai", "").to_string(),
            "openai: too many requests for the next 1.5s; wait, then try again",
        );
    }

    #[test]
    fn what_was_told_can_be_read_again() {
        for class in Class::ALL {
            for message in ["", "try again: it failed"] {
                let error = Error::new(class, "openai", message);
                assert_eq!(Error::from_told(&error.to_string()), Some(error));
            }
            let traced = Error::new(class, "openai", "no").with_status(500).to_string();
            let read = Error::from_told(&traced).unwrap();
            assert_eq!((read.class, read.to_string()), (class, traced));
        }
        let wait = Some(Duration::from_secs(2));
        let told = Error::new(Class::RateLimited { retry_after: wait }, "xai", "slow").to_string();
        let read = Error::from_told(&told).unwrap();
        assert_eq!(read.class, Class::RateLimited { retry_after: None });
        assert!(read.message.contains("for the next 2s: slow"), "{}", read.message);
        for other in ["", "ada: no", "the call was cancelled", "agent ada was deleted"] {
            assert_eq!(Error::from_told(other), None, "{other}");
        }
    }

    #[test]
    fn an_unknown_vendor_is_answered_with_the_known_ones() {
        let error = Error::unknown_vendor("gpt", ["demo", "openai"].into_iter());
        assert_eq!(error.class, Class::UnknownModel);
        assert_eq!(
            error.to_string(),
            "gpt: the model cannot be asked: no such vendor is set up, only demo, openai; \
             check the name; models are written vendor/model",
        );
        let nothing = Error::unknown_vendor("", [].into_iter()).to_string();
        assert!(nothing.starts_with("(no vendor): "), "{nothing}");
        assert!(nothing.contains("no vendor is set up"), "{nothing}");
    }

    #[test]
    fn only_failures_that_pass_by_themselves_are_transient() {
        let wait = Some(Duration::from_secs(2));
        assert!(Class::RateLimited { retry_after: wait }.is_transient());
        assert_eq!(Class::RateLimited { retry_after: wait }.retry_after(), wait);
        assert!(Class::StreamCut.is_transient());
        assert!(!Class::Quota.is_transient());
        assert!(!Class::Cancelled.is_transient());
        assert_eq!(Class::Quota.retry_after(), None);
    }
}
