//! Who is asking, as the server knows them.

use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Me {
    pub name: String,
    /// By a token. Otherwise whoever is at the machine has no name of their own beside what they say.
    #[serde(default)]
    pub authenticated: bool,
}

impl Me {
    /// Whether this person has said something, by the user it is of.
    pub fn said(&self, user: Option<&str>) -> bool {
        user == self.authenticated.then_some(self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_one_has_said_is_ones_own() {
        let local = Me { name: "ada".to_owned(), authenticated: false };
        assert!(local.said(None) && !local.said(Some("ada")));
        let known = Me { name: "ada".to_owned(), authenticated: true };
        assert!(known.said(Some("ada")) && !known.said(Some("bob")) && !known.said(None));
    }
}
