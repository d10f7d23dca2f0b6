//! Decides what a vendor's error body means. One reader for all: envelopes differ between vendors, between hosts of the
//! same format and even between the endpoints of one vendor, and their content types lie.
//! Called by dialects, for replies with a status of failure and for errors inside a stream. Bodies are judged by what
//! they say first and by the status second.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Class, Error};

/// Characters of a vendor's message that are kept: some repeat the whole prompt.
const LONGEST_MESSAGE: usize = 2_000;

/// Bytes of a page that are looked at.
const LONGEST_PAGE: usize = 64 << 10;

/// Codes, types and reasons that are kept.
const MOST_WORDS: usize = 50;

const LONGEST_DELAY: Duration = Duration::from_hours(7 * 24);

/// What a body of failure says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Everything that names the kind of failure, in lower case: codes, types, reasons.
    pub words: Vec<String>,
    pub message: String,
    pub retry_after: Option<Duration>,
    pub request_id: Option<String>,
    /// The status inside the body.
    pub status: Option<u16>,
}

/// Reads the body of a reply with a status of failure.
pub fn body(vendor: &str, status: u16, body: &[u8]) -> Error {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => said(&value),
        Err(_) => Said { message: plain(body), ..Said::default() }.complete(),
    };
    said.into_error(vendor, Some(status))
}

/// Reads an error that came inside a stream or a body of success.
pub fn value(vendor: &str, value: &Value) -> Error {
    let said = said(value);
    let status = said.status;
    said.into_error(vendor, status)
}

/// Reads any of the known envelopes.
pub fn said(value: &Value) -> Said {
    // Gemini wraps a stream's error in a list.
    let value = match value {
        Value::Array(list) => list.first().unwrap_or(value),
        value => value,
    };
    let mut said = Said::default();
    read(value, &mut said, Depth::Outer);
    said.complete()
}

/// Whether a text that is JSON itself is looked into.
#[derive(Clone, Copy)]
enum Depth {
    Outer,
    Inner,
}

fn read(value: &Value, said: &mut Said, depth: Depth) {
    let Value::Object(fields) = value else {
        if let Value::String(text) = value {
            said.add_message(text);
        }
        return;
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("error" | "detail" | "message", Value::String(text)) => said.add_message(text),
            ("error" | "detail" | "message" | "response" | "innererror", Value::Object(_)) => {
                read(value, said, depth);
            }
            ("error" | "errors" | "detail" | "details", Value::Array(list)) => {
                list.iter().for_each(|one| detail(one, said));
            }
            ("metadata", Value::Object(metadata)) => passed_on(metadata, said, depth),
            ("code" | "type" | "status" | "reason", Value::String(word)) => said.add_word(word),
            ("code" | "status" | "status_code" | "raw_status_code", Value::Number(number)) => {
                said.set_status(number.as_u64());
            }
            ("request_id", Value::String(id)) => said.request_id = Some(id.clone()),
            _ => {}
        }
    }
}

/// What a host passes on from the vendor behind it, as OpenRouter does.
fn passed_on(metadata: &Map<String, Value>, said: &mut Said, depth: Depth) {
    if metadata.contains_key("flagged_input") {
        said.add_word("moderation_blocked");
    }
    let Some(Value::String(raw)) = metadata.get("raw") else { return };
    match (depth, serde_json::from_str::<Value>(raw)) {
        (Depth::Outer, Ok(inner @ Value::Object(_))) => read(&inner, said, Depth::Inner),
        _ => said.add_message(raw),
    }
}

/// An entry of Gemini's `details`, or of a list of what is wrong with a request.
fn detail(value: &Value, said: &mut Said) {
    if let Some(delay) = value.get("retryDelay").and_then(Value::as_str) {
        said.retry_after = seconds(delay);
    }
    if let Some(reason) = value.get("reason").and_then(Value::as_str) {
        said.add_word(reason);
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let Some(message) = value.as_str().or_else(|| text("msg")).or_else(|| text("message")) {
        said.add_message(message);
    }
}

impl Said {
    /// Longer than what is kept it need not grow, so a body cannot make this slow.
    fn add_message(&mut self, text: &str) {
        let text = first(text.trim(), LONGEST_MESSAGE);
        if !text.is_empty()
            && self.message.len() < 4 * LONGEST_MESSAGE
            && !self.message.contains(text)
        {
            if !self.message.is_empty() {
                self.message.push_str(": ");
            }
            self.message.push_str(text);
        }
    }

    /// Some write a status as a text.
    fn add_word(&mut self, word: &str) {
        match word.parse() {
            Ok(number) => self.set_status(Some(number)),
            Err(_) if self.words.len() < MOST_WORDS => {
                self.words.push(first(word, LONGEST_MESSAGE).to_lowercase());
            }
            Err(_) => {}
        }
    }

    /// Vendors number their failures in other ways too; only what can be a status is one.
    fn set_status(&mut self, number: Option<u64>) {
        let status = number.and_then(|number| u16::try_from(number).ok());
        self.status = status.filter(|status| (400..600).contains(status)).or(self.status);
    }

    fn complete(mut self) -> Self {
        self.message.truncate(first(&self.message, LONGEST_MESSAGE).len());
        if self.retry_after.is_none() {
            self.retry_after = delay_in_words(&self.message);
        }
        self
    }

    pub fn into_error(self, vendor: &str, status: Option<u16>) -> Error {
        let mut error = Error::new(self.class(status), vendor, self.message);
        error.status = status;
        error.request_id = self.request_id;
        error
    }

    /// By what was said first, by the status second. A sentence counts for less than a code: it may only mention a
    /// thing, so it is believed where the status does not speak against it.
    pub fn class(&self, status: Option<u16>) -> Class {
        let message = self.message.to_lowercase();
        let named =
            |names: &[&str]| self.words.iter().any(|word| names.iter().any(|name| word == name));
        let says = |phrases: &[&str], statuses: &[u16]| {
            status.is_none_or(|status| statuses.contains(&status))
                && phrases.iter().any(|phrase| message.contains(phrase))
        };
        let limited = named(RATE) || status == Some(429);
        if named(QUOTA) || says(QUOTA_PHRASES, &[400, 402, 403, 429]) {
            Class::Quota
        } else if named(CONTEXT)
            || status == Some(413)
            || message.contains(NEVER_FITS)
            || (!limited && says(CONTEXT_PHRASES, &[400, 422, 500]))
        {
            Class::ContextTooLong
        } else if named(REFUSED) || says(REFUSED_PHRASES, &[400, 403, 422]) {
            Class::ContentRefused
        } else if named(AUTH) || says(AUTH_PHRASES, &[400, 401, 403, 422]) {
            Class::Auth
        } else if named(OVERLOADED) {
            Class::Overloaded
        } else if limited {
            Class::RateLimited { retry_after: self.retry_after }
        } else if named(UNKNOWN_MODEL) || says(UNKNOWN_MODEL_PHRASES, &[400, 404, 422]) {
            Class::UnknownModel
        } else {
            self.by_status(status, &message)
        }
    }

    fn by_status(&self, status: Option<u16>, message: &str) -> Class {
        let named = |names: &[&str]| self.words.iter().any(|word| names.contains(&word.as_str()));
        match status {
            Some(401 | 403) => Class::Auth,
            Some(402) => Class::Quota,
            Some(404) if message.contains("model") => Class::UnknownModel,
            Some(408 | 504 | 522 | 524) => Class::Timeout,
            Some(503 | 529) => Class::Overloaded,
            Some(500..) => Class::Server,
            Some(_) => Class::InvalidRequest,
            None if named(&["timeout_error", "deadline_exceeded"]) => Class::Timeout,
            None if named(&["not_found_error", "not_found"]) && message.contains("model") => {
                Class::UnknownModel
            }
            None if self.words.iter().any(|word| word.starts_with("invalid")) => {
                Class::InvalidRequest
            }
            None => Class::Server,
        }
    }
}

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
];
const QUOTA_PHRASES: &[&str] = &[
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "used all available credits",
];
const CONTEXT: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "context_window_exceeded",
];
const CONTEXT_PHRASES: &[&str] = &[
    "maximum context length",
    "max context length",
    "context length exceeded",
    "exceeds the context window",
    "exceed the context window",
    "exceeded the context window",
    "exceeds the model's context window",
    "exceeds this model's context window",
    "context window exceeded",
    "exceed context limit",
    "prompt is too long",
    "prompt too long",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "exceeds the limit of the model's context",
    "maximum prompt length",
    "input is too long",
];
/// A request that is larger than what a minute allows comes as a rate limit, but waiting does not help it.
const NEVER_FITS: &str = "tokens must be reduced in order to run";
const AUTH: &[&str] = &[
    "invalid_api_key",
    "api_key_invalid",
    "authentication_error",
    "permission_error",
    "unauthenticated",
    "permission_denied",
    "unauthorized",
    "invalid_authentication",
];
const AUTH_PHRASES: &[&str] = &[
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "invalid x-api-key",
    "no auth credentials",
];
const REFUSED: &[&str] = &[
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "moderation_blocked",
    "safety",
];
const REFUSED_PHRASES: &[&str] = &[
    "content management policy",
    "content filtering policy",
    "violates usage guidelines",
    "flagged as potentially violating",
    "rejected by the safety system",
    "rejected as a result of our safety system",
];
const OVERLOADED: &[&str] = &[
    "overloaded_error",
    "overloaded",
    "unavailable",
    "service_unavailable",
    "server_is_overloaded",
    "capacity_exceeded",
];
const RATE: &[&str] = &[
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit",
    "resource_exhausted",
    "too_many_requests",
    "slow_down",
];
const UNKNOWN_MODEL: &[&str] = &[
    "model_not_found",
    "model_not_available",
    "model_decommissioned",
    "invalid_model",
    "deploymentnotfound",
];
const UNKNOWN_MODEL_PHRASES: &[&str] = &["is not a valid model id", "model not exist"];

/// Some vendors write the delay into the sentence: "try again in 1m2.5s", "retry after 20 seconds".
fn delay_in_words(message: &str) -> Option<Duration> {
    let lower = message.to_lowercase();
    let (_, behind) = ["try again in ", "retry in ", "retry after ", "try again after "]
        .iter()
        .find_map(|phrase| lower.split_once(phrase))?;
    let mut words =
        behind.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')']));
    let first = words.next()?;
    let unit = match words.next() {
        Some("millisecond" | "milliseconds" | "ms") => "ms",
        Some("second" | "seconds" | "sec" | "s") => "s",
        Some("minute" | "minutes" | "min") => "m",
        Some("hour" | "hours") => "h",
        _ => "",
    };
    // The number may have its unit with it, and the next word be anything.
    seconds(first).or_else(|| seconds(&format!("{first}{unit}")))
}

/// `34.4s`, `20ms`, `1m2.5s` or `1h`. A delay nobody can wait for is no delay.
fn seconds(text: &str) -> Option<Duration> {
    let mut total = 0.0_f64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let (unit, behind) = match behind.strip_prefix("ms") {
            Some(behind) => (0.001, behind),
            None => match behind.split_at_checked(1)? {
                ("s", behind) => (1.0, behind),
                ("m", behind) => (60.0, behind),
                ("h", behind) => (3_600.0, behind),
                ("d", behind) => (86_400.0, behind),
                _ => return None,
            },
        };
        total += number * unit;
        rest = behind;
    }
    let delay = Duration::try_from_secs_f64(total).ok()?;
    (!delay.is_zero() && delay <= LONGEST_DELAY).then_some(delay)
}

/// A text in one line; of an error page of a proxy what a person would see.
fn plain(body: &[u8]) -> String {
    let body = body.get(..LONGEST_PAGE).unwrap_or(body);
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let seen = if text.starts_with('<') { without_markup(text) } else { text.to_owned() };
    let words: Vec<&str> = seen.split_whitespace().collect();
    words.join(" ")
}

fn without_markup(page: &str) -> String {
    let mut seen = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        seen.push_str(before);
        seen.push(' ');
        // What these hold is not for people. One that never ends hides the rest, as in a browser.
        let hidden = ["script", "style", "!--"].into_iter().find(|name| {
            tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        let end = match hidden {
            Some("!--") => "-->",
            Some("script") => "</script>",
            Some(_) => "</style>",
            None => ">",
        };
        rest = tag.split_once(end).map_or("", |(_, behind)| behind);
    }
    seen.push_str(rest);
    seen
}

/// The first characters of a text.
fn first(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
