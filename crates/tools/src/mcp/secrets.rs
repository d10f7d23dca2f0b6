//! Keeps what must not be shown out of every text about a server.
//! Filled when a server's settings are expanded, used for errors, health and what a server wrote to its error output.

use std::fmt;

/// Shorter values occur in ordinary words, and hide nothing.
const SHORTEST: usize = 4;
const MASK: &str = "***";

#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    pub fn add(&mut self, value: impl Into<String>) {
        let value = value.into();
        if value.len() < SHORTEST || self.0.contains(&value) {
            return;
        }
        self.0.push(value);
        // The longest first: one secret may be a part of another.
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    pub fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_is_masked_the_longest_first() {
        let mut secrets = Secrets::default();
        for value in ["hunter", "hunter2-long", "abc", ""] {
            secrets.add(value);
        }
        assert_eq!(secrets.mask("hunter2-long, hunter, abc"), "***, ***, abc");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }
}
