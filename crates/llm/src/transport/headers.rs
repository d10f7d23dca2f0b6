//! Decides what a reply's headers say beside its body: how long to wait, and by which name the vendor's support finds
//! the request.
//! Called by `Provider` for every reply of failure. Never fails: a header that makes no sense says nothing.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// From the most to the least telling.
const REQUEST_IDS: &[&str] =
    &["x-request-id", "request-id", "x-goog-request-id", "apim-request-id", "cf-ray"];
/// Characters of an id that are kept.
const LONGEST_ID: usize = 200;
/// Nobody waits for a longer delay, and no arithmetic fails for this one.
const LONGEST_DELAY: Duration = Duration::from_secs(365 * 24 * 3_600);

pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut ids = REQUEST_IDS.iter().filter_map(|name| text(headers, name));
    ids.find(|id| !id.is_empty()).map(|id| id.chars().take(LONGEST_ID).collect())
}

/// How long the vendor asks to wait.
pub(crate) fn asked_delay(headers: &HeaderMap) -> Option<Duration> {
    if let Some(milliseconds) = text(headers, "retry-after-ms").and_then(number) {
        return Some(delay(milliseconds / 1_000.0));
    }
    let after = text(headers, RETRY_AFTER.as_str())?;
    number(after).map(delay).or_else(|| until(after, headers))
}

/// The vendor's date is counted from the vendor's clock, where the reply shows it.
fn until(date: &str, headers: &HeaderMap) -> Option<Duration> {
    let read = |date: &str| DateTimeParser::new().parse_timestamp(date).ok();
    let now = text(headers, DATE.as_str()).and_then(read).unwrap_or_else(Timestamp::now);
    let wait = read(date)?.duration_since(now);
    Some(Duration::try_from(wait).unwrap_or_default().min(LONGEST_DELAY))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| *number >= 0.0)
}

fn delay(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_DELAY).min(LONGEST_DELAY)
}
