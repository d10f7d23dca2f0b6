//! Decides which names become labels: people and models make names up, and each would be a series for ever.
//! Used by `metrics`. The first of them stand for themselves; all later ones are one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands for all names that came too late.
pub(crate) const OTHER: &str = "other";

/// The names of one kind of label.
#[derive(Debug)]
pub(crate) struct Names {
    known: Mutex<BTreeSet<Arc<str>>>,
    most: usize,
    longest: usize,
}

impl Names {
    pub fn up_to(most: usize) -> Self {
        Self { known: Mutex::default(), most, longest: 128 }
    }

    pub fn label(&self, name: &str) -> Arc<str> {
        if name.is_empty() || name.len() > self.longest {
            return Arc::from(OTHER);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(label) = known.get(name) {
            return Arc::clone(label);
        }
        if known.len() >= self.most {
            return Arc::from(OTHER);
        }
        let label: Arc<str> = Arc::from(name);
        known.insert(Arc::clone(&label));
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_stand_for_themselves_and_the_rest_are_one() {
        let names = Names::up_to(2);
        let label = |name: &str| names.label(name).to_string();
        assert_eq!([label("a"), label("b"), label("c"), label("a")], ["a", "b", OTHER, "a"]);
    }

    #[test]
    fn nobody_makes_a_label_of_nothing_or_of_a_book() {
        let names = Names::up_to(9);
        assert_eq!(&*names.label(""), OTHER);
        assert_eq!(&*names.label(&"x".repeat(10_000)), OTHER);
    }
}
