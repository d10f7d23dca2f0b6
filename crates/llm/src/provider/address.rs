//! Decides where a request goes: behind a base URL, and nowhere else.
//! Made when a provider is built, asked for every request. Never holds a name, a password or a query.

use std::fmt;

use reqwest::Url;

use crate::Error;
use crate::transport::{host_of, is_loopback, unusable};

/// A base URL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address(Url);

impl Address {
    /// # Errors
    /// Says what is wrong with the address, without repeating what may be a secret in it.
    pub fn read(base: &str) -> Result<Self, Error> {
        let mut url = Url::parse(base.trim())
            .map_err(|error| unusable(format!("the base URL cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(unusable("the base URL must begin with https:// or http:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unusable(
                "the base URL must not hold a name or a password; give them as credentials",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(unusable(
                "the base URL must end before its `?` or `#`; give query parameters apart",
            ));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// The address of a path behind the base URL. Of parameters with the same name the later holds.
    ///
    /// # Errors
    /// When the path leads back out: the name of a model is part of some paths, and anybody may have written it.
    pub fn join<'a>(
        &self,
        path: &str,
        query: impl Iterator<Item = &'a (String, String)> + Clone,
    ) -> Result<Url, Error> {
        if path.split(['/', '\\']).any(is_step) {
            return Err(unusable(
                "the name of the model must not have `.` or `..` between slashes",
            ));
        }
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/');
        let path = format!("{base}/{}", path.trim_start_matches('/'));
        url.set_path(&path);
        let last = |name: &str| query.clone().filter(|(other, _)| other == name).last();
        let mut told: Vec<&str> = Vec::new();
        for (name, _) in query.clone() {
            if let (false, Some((name, value))) = (told.contains(&name.as_str()), last(name)) {
                url.query_pairs_mut().append_pair(name, value);
                told.push(name);
            }
        }
        Ok(url)
    }

    /// Whether nobody on the way can read along.
    pub fn is_safe(&self) -> bool {
        self.0.scheme() == "https" || is_loopback(&self.0)
    }

    pub fn host(&self) -> String {
        host_of(&self.0)
    }
}

/// Whether a segment of a path is one that addresses are shortened by, however it is written.
fn is_step(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &str, query: &[(&str, &str)]) -> String {
        let query: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Address::read(base).unwrap().join(path, query.iter()).unwrap().to_string()
    }

    #[test]
    fn a_path_goes_behind_the_base_whatever_slashes_either_has() {
        for base in [
            "https://api.toy.example/v1",
            "https://api.toy.example/v1/",
            " https://api.toy.example/v1// ",
        ] {
            for path in ["/chat/completions", "chat/completions"] {
                let url = joined(base, path, &[]);
                assert_eq!(url, "https://api.toy.example/v1/chat/completions");
            }
        }
        assert_eq!(
            joined("http://localhost:11434", "/api/chat", &[]),
            "http://localhost:11434/api/chat"
        );
        assert_eq!(
            joined("https://toy.example/v1", "/models/a:streamGenerate", &[("alt", "sse")]),
            "https://toy.example/v1/models/a:streamGenerate?alt=sse",
        );
    }

    #[test]
    fn a_path_cannot_bring_a_query_or_another_host() {
        let url = joined("https://toy.example/v1", "/models/a?b#c", &[]);
        assert_eq!(url, "https://toy.example/v1/models/a%3Fb%23c");
        assert!(
            joined("https://toy.example", "//evil.example/x", &[])
                .starts_with("https://toy.example/")
        );
    }

    #[test]
    fn a_path_cannot_leave_the_base() {
        let base = Address::read("https://gateway.example/of-ada/v1").unwrap();
        for path in [
            "/../../of-bob/v1/files",
            "/models/../../../of-bob",
            "/models/%2e%2E/x",
            "/models/.%2e/x",
            "/models\\..\\..\\x",
            "/./x",
        ] {
            assert!(base.join(path, [].iter()).is_err(), "{path}");
        }
        assert!(base.join("/models/gemini-2.5..x:generate", [].iter()).is_ok());
    }

    #[test]
    fn parameters_are_encoded_and_the_later_of_two_holds() {
        let query = [("v", "1"), ("name", "a b&c"), ("v", "2")];
        assert_eq!(
            joined("https://toy.example", "/x", &query),
            "https://toy.example/x?v=2&name=a+b%26c",
        );
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_repeating_it() {
        for base in [
            "",
            "api.toy.example/v1",
            "ftp://toy.example",
            "file:///etc/passwd",
            "https://ada:secret-word@toy.example",
            "https://secret-word@toy.example",
            "https://toy.example/v1?key=secret-word",
            "https://toy.example/v1#secret-word",
        ] {
            let error = Address::read(base).unwrap_err();
            assert!(!error.to_string().contains("secret-word"), "{error}");
        }
    }

    #[test]
    fn only_this_machine_is_safe_without_encryption() {
        for base in [
            "https://toy.example",
            "http://localhost:1",
            "http://models.localhost",
            "http://127.0.0.2",
            "http://[::1]:8080",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(Address::read(base).unwrap().is_safe(), "{base}");
        }
        for base in
            ["http://toy.example", "http://192.168.1.5:11434", "http://localhost.toy.example"]
        {
            assert!(!Address::read(base).unwrap().is_safe(), "{base}");
        }
    }
}
