//! Decides how secrets are kept out of what people read.
//! Used by `Provider` and by the credentials' sources on every error they pass on. Never prints what it looks for.

pub use secrecy::{ExposeSecret, SecretString};

use crate::Error;

/// What stands where a secret stood.
const HIDDEN: &str = "[hidden]";

/// Shorter texts are no secrets of any vendor, but placeholders like `none` that local servers are given; hiding those
/// would only garble messages.
const SHORTEST: usize = 8;

/// Secrets that must not appear in messages. Vendors repeat keys in theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask {
    secrets: Vec<SecretString>,
}

impl Mask {
    pub fn with(mut self, secret: &SecretString) -> Self {
        self.secrets.push(secret.clone());
        self
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.secrets {
            let secret = secret.expose_secret().trim();
            if secret.len() >= SHORTEST && masked.contains(secret) {
                masked = masked.replace(secret, HIDDEN);
            }
            // Messages are cut to a length, maybe in the middle of a secret.
            if let Some(begun) = begun_at_the_end(&masked, secret) {
                masked.truncate(masked.len() - begun);
                masked.push_str(HIDDEN);
            }
        }
        masked
    }

    pub fn error(&self, mut error: Error) -> Error {
        error.message = self.text(&error.message);
        error.request_id = error.request_id.map(|id| self.text(&id));
        error
    }
}

/// How many bytes at the end of a text are the beginning of a secret, if they are enough to tell.
fn begun_at_the_end(text: &str, secret: &str) -> Option<usize> {
    let cuts = secret.char_indices().map(|(place, _)| place).rev();
    let beginnings = cuts.take_while(|place| *place >= SHORTEST);
    beginnings.into_iter().find(|place| secret.get(..*place).is_some_and(|it| text.ends_with(it)))
}

/// Whether a header or parameter of this name is likely to hold a secret.
pub(crate) fn is_named_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password", "signature"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn a_key_in_a_message_is_hidden() {
        let mask = Mask::default().with(&SecretString::from("sk-live-123456"));
        let said = "incorrect key sk-live-123456, also written 'sk-live-123456'";
        let error = Error::new(Class::Auth, "toy", said).with_request_id("r-sk-live-123456");
        let masked = mask.error(error);
        assert_eq!(masked.message, "incorrect key [hidden], also written '[hidden]'");
        assert_eq!(masked.request_id.as_deref(), Some("r-[hidden]"));
        assert!(!format!("{mask:?}").contains("123456"));
    }

    #[test]
    fn a_key_that_a_message_was_cut_in_is_hidden_too() {
        let mask = Mask::default().with(&SecretString::from("sk-live-123456"));
        assert_eq!(mask.text("incorrect key sk-live-12345"), "incorrect key [hidden]");
        assert_eq!(mask.text("keys begin with sk-live"), "keys begin with sk-live");
        assert_eq!(mask.text("sk-live-123 is no key"), "sk-live-123 is no key");
    }

    #[test]
    fn a_placeholder_for_a_key_garbles_nothing() {
        let mask = Mask::default().with(&SecretString::from("none")).with(&SecretString::from(""));
        assert_eq!(mask.text("none of the models fits"), "none of the models fits");
    }

    #[test]
    fn secrets_are_known_by_the_name_of_what_holds_them() {
        for name in ["Authorization", "x-api-key", "sig_token", "Cookie"] {
            assert!(is_named_secret(name), "{name}");
        }
        for name in ["api-version", "anthropic-version", "user-agent"] {
            assert!(!is_named_secret(name), "{name}");
        }
    }
}
