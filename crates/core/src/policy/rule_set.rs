//! Decides when the index over a list of rules is built: at the first call judged by it, and anew after any change.
//! Held by `Policy`, shared by all who hold the same world. Never lets a change leave an old index behind: the list
//! can only be changed through here.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::Rule;
use super::index::Index;

/// An ordered list of rules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleSet {
    rules: Vec<Rule>,
    #[serde(skip)]
    index: OnceLock<Arc<Index>>,
}

impl RuleSet {
    pub(super) fn index(&self) -> &Index {
        self.index.get_or_init(|| Arc::new(Index::new(&self.rules)))
    }
}

impl Deref for RuleSet {
    type Target = Vec<Rule>;

    fn deref(&self) -> &Vec<Rule> {
        &self.rules
    }
}

impl DerefMut for RuleSet {
    fn deref_mut(&mut self) -> &mut Vec<Rule> {
        self.index = OnceLock::new();
        &mut self.rules
    }
}

impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl From<Vec<Rule>> for RuleSet {
    fn from(rules: Vec<Rule>) -> Self {
        Self { rules, index: OnceLock::new() }
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Vec::from_iter(rules).into()
    }
}

impl<'a> IntoIterator for &'a RuleSet {
    type Item = &'a Rule;
    type IntoIter = std::slice::Iter<'a, Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.rules.iter()
    }
}

impl IntoIterator for RuleSet {
    type Item = Rule;
    type IntoIter = std::vec::IntoIter<Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.rules.into_iter()
    }
}
