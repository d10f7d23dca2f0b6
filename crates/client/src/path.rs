//! Makes the paths of requests. Whatever is put into one stays one segment, or one value of the query: an id that holds a
//! slash cannot reach another route.

use std::fmt::Write as _;

/// A path with its query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    path: String,
    query: String,
}

impl Path {
    /// Begins with what is known to be a path, such as `/api/worlds`.
    pub fn new(start: &str) -> Self {
        Self { path: start.to_owned(), query: String::new() }
    }

    #[must_use]
    pub fn then(mut self, segment: &str) -> Self {
        self.path.push('/');
        // Clients of HTTP take these for steps in a tree, and walk.
        match segment {
            "." => self.path.push_str("%2E"),
            ".." => self.path.push_str("%2E%2E"),
            segment => escape(segment, &mut self.path),
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        if !self.query.is_empty() {
            self.query.push('&');
        }
        escape(name, &mut self.query);
        self.query.push('=');
        escape(value.as_ref(), &mut self.query);
        self
    }

    /// Only where there is a value.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn text(&self) -> String {
        match self.query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }
}

impl From<&str> for Path {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

fn escape(text: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                into.push(char::from(byte));
            }
            // Writing to a text cannot fail.
            byte => drop(write!(into, "%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_put_in_stays_where_it_was_put() {
        let path = Path::new("/api/worlds").then("a/../b?c#d").then("..").then("ü");
        let path = path.with("after", "x&y=z").maybe("agent", None::<&str>).with("n", "1 2");
        assert_eq!(
            path.text(),
            "/api/worlds/a%2F..%2Fb%3Fc%23d/%2E%2E/%C3%BC?after=x%26y%3Dz&n=1%202"
        );
    }
}
