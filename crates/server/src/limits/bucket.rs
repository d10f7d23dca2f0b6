//! Decides how fast each person may go: a bucket that fills at a steady rate and is emptied by what they do.
//! Asked by `limits::pace`. Keeps one bucket for each name in use, and forgets those that are full again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Buckets that are kept before the full ones are forgotten.
const MANY: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Buckets {
    per_second: f64,
    most: f64,
    by_name: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    filled: f64,
    at: Instant,
}

impl Buckets {
    /// A rate or a size of nothing would refuse for ever; both are at least a little.
    pub fn new(per_second: f64, most: u32) -> Self {
        let per_second = per_second.max(0.001);
        Self { per_second, most: f64::from(most.max(1)), by_name: Mutex::default() }
    }

    /// Takes one, or says how long it takes until there is one.
    pub fn take(&self, name: &str, now: Instant) -> Result<(), Duration> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if by_name.len() >= MANY {
            by_name.retain(|_, bucket| self.filled(bucket, now) < self.most);
        }
        let bucket =
            by_name.entry(name.to_owned()).or_insert(Bucket { filled: self.most, at: now });
        let filled = self.filled(bucket, now);
        if filled < 1.0 {
            *bucket = Bucket { filled, at: now };
            return Err(Duration::from_secs_f64((1.0 - filled) / self.per_second));
        }
        *bucket = Bucket { filled: filled - 1.0, at: now };
        Ok(())
    }

    fn filled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.filled + since * self.per_second).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_a_burst_then_its_rate_and_each_name_has_its_own() {
        let buckets = Buckets::new(2.0, 3);
        let start = Instant::now();
        for _ in 0..3 {
            buckets.take("ada", start).unwrap();
        }
        assert_eq!(buckets.take("ada", start), Err(Duration::from_millis(500)));
        buckets.take("bob", start).unwrap();
        let soon = start + Duration::from_millis(500);
        buckets.take("ada", soon).unwrap();
        buckets.take("ada", soon).unwrap_err();
        let later = start + Duration::from_secs(3_600);
        for _ in 0..3 {
            buckets.take("ada", later).unwrap();
        }
        buckets.take("ada", later).unwrap_err();
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let buckets = Buckets::new(1.0, 1);
        let start = Instant::now();
        for number in 0..MANY {
            buckets.take(&number.to_string(), start).unwrap();
        }
        buckets.take("one more", start + Duration::from_secs(2)).unwrap();
        assert_eq!(buckets.by_name.lock().unwrap().len(), 1);
    }
}
