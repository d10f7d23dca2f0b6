//! Decides whether and when a failed request is sent again.
//! Called by `Provider` around everything that happens before the first piece of a reply is passed on, and around
//! nothing else: what a consumer has seen cannot be taken back.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};

use crate::{Class, Error};

/// How often and how patiently a request is sent again that failed in a way that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is sent in all; once at least.
    pub attempts: usize,
    /// The first pause. The following are each twice as long; up to as much again is added by chance, so that many
    /// who failed together do not come back together.
    pub first_delay: Duration,
    /// What a pause grows to before chance adds to it.
    pub longest_delay: Duration,
    /// The longest pause at all. A vendor that asks for more gets no second request: the caller is told instead.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(8),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub error: Error,
    /// How long the vendor asked to wait.
    pub wait: Option<Duration>,
}

impl Failed {
    /// With what a reply's headers say about waiting.
    pub fn asked_to_wait(mut self, wait: Option<Duration>) -> Self {
        let Some(wait) = wait else { return self };
        self.wait = Some(wait);
        match &mut self.error.class {
            Class::RateLimited { retry_after } => *retry_after = Some(wait),
            class if class.is_transient() => {
                let asked = format!(" (asks to wait {}s)", wait.as_secs_f64());
                self.error.message.push_str(&asked);
            }
            _ => {}
        }
        self
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { wait: error.class.retry_after(), error }
    }
}

impl Retry {
    /// Never sends anything twice.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Makes attempts until one succeeds or no other is allowed.
    pub(crate) async fn run<T, F, A>(&self, vendor: &str, attempt: F) -> Result<T, Error>
    where
        F: FnMut() -> A,
        A: Future<Output = Result<T, Failed>>,
    {
        let pauses = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.longest_delay)
            .with_max_times(self.attempts.saturating_sub(1));
        attempt
            .retry(pauses)
            .when(|failed: &Failed| failed.error.class.is_transient())
            .adjust(|failed, pause| self.pause(failed, pause?))
            .notify(|failed, pause| {
                tracing::warn!(
                    vendor,
                    class = failed.error.class.as_str(),
                    status = failed.error.status,
                    request = failed.error.request_id,
                    pause = ?pause,
                    "a request failed and is sent again"
                );
            })
            .await
            .map_err(|failed| failed.error)
    }

    /// The pause before the next attempt; nothing when there must be none.
    pub(super) fn pause(&self, failed: &Failed, pause: Duration) -> Option<Duration> {
        match failed.wait {
            None => Some(pause.min(self.longest_wait)),
            Some(wait) if wait > self.longest_wait => None,
            // A little more than asked for, by chance: others were asked the same.
            Some(wait) => Some((wait + pause / 10).min(self.longest_wait)),
        }
    }
}
