//! The names that are marked when they are mentioned.
//! Made by whoever renders. Decides nothing about who is addressed: that is decided when a message is posted.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The agents that can be mentioned, by id and display name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<BTreeSet<String>>);

impl Names {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().filter(|name| !name.trim().is_empty());
        Self(Arc::new(names.map(str::to_lowercase).collect()))
    }

    /// How much of a text after its `@` is a known name.
    pub(crate) fn length_of(&self, text: &str) -> Option<usize> {
        let is_part = |one: char| one.is_alphanumeric() || matches!(one, '-' | '_');
        let end = text.find(|one| !is_part(one)).unwrap_or(text.len());
        let token = text.get(..end)?;
        // `@ada-` means ada, unless somebody is really called that.
        let shorter = token.trim_end_matches(['-', '_']);
        [token, shorter].into_iter().find(|name| self.has(name)).map(str::len)
    }

    fn has(&self, name: &str) -> bool {
        !name.is_empty() && self.0.contains(&name.to_lowercase())
    }
}
