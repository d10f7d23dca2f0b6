//! Decides which call a result answers. Vendors repeat ids, within a turn and from turn to turn, and histories are cut.
//! Used by dialects on their way through a conversation. A result belongs to the newest turn that has an open call of
//! its id, and there to the first; so a call that was never answered takes no later one's result.

use std::collections::{HashMap, VecDeque};

/// Calls that have no result yet, with whatever a dialect keeps of each.
#[derive(Debug)]
pub(crate) struct OpenCalls<'a, T> {
    /// By id, then by turn.
    calls: HashMap<&'a str, Vec<(usize, VecDeque<T>)>>,
    turn: usize,
    /// Somebody else spoke since the last call: the next one is in another turn.
    interrupted: bool,
}

impl<T> Default for OpenCalls<'_, T> {
    fn default() -> Self {
        Self { calls: HashMap::new(), turn: 0, interrupted: false }
    }
}

impl<'a, T> OpenCalls<'a, T> {
    /// The model calls something.
    pub fn called(&mut self, id: &'a str, kept: T) {
        if std::mem::take(&mut self.interrupted) {
            self.turn += 1;
        }
        let turns = self.calls.entry(id).or_default();
        match turns.last_mut() {
            Some((turn, calls)) if *turn == self.turn => calls.push_back(kept),
            _ => turns.push((self.turn, VecDeque::from([kept]))),
        }
    }

    /// Somebody else than the model speaks.
    pub fn interrupted(&mut self) {
        self.interrupted = true;
    }

    /// A result comes; gives what was kept of the call it answers.
    pub fn answered(&mut self, id: &str) -> Option<T> {
        self.interrupted = true;
        let turns = self.calls.get_mut(id)?;
        let (_, newest) = turns.last_mut()?;
        let first = newest.pop_front();
        if newest.is_empty() {
            turns.pop();
        }
        first
    }

    /// What nobody answered, in no order.
    pub fn unanswered(self) -> impl Iterator<Item = T> {
        self.calls.into_values().flatten().flat_map(|(_, calls)| calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_turn_are_answered_in_order() {
        let mut open = OpenCalls::default();
        open.called("a", 1);
        open.called("a", 2);
        open.called("b", 3);
        assert_eq!(
            [open.answered("a"), open.answered("b"), open.answered("a")],
            [Some(1), Some(3), Some(2)]
        );
        assert_eq!(open.answered("a"), None);
    }

    #[test]
    fn an_old_call_takes_no_newer_ones_result() {
        let mut open = OpenCalls::default();
        open.called("a", "old");
        open.interrupted();
        open.called("a", "new");
        assert_eq!(open.answered("a"), Some("new"));
        assert_eq!(open.unanswered().collect::<Vec<_>>(), ["old"]);
    }

    #[test]
    fn a_late_result_finds_its_call() {
        let mut open = OpenCalls::default();
        open.called("a", "slow");
        open.called("b", "quick");
        assert_eq!(open.answered("b"), Some("quick"));
        open.called("c", "next turn");
        assert_eq!(open.answered("a"), Some("slow"));
    }
}
