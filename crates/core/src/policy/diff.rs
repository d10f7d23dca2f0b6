//! Decides what a changed policy would have decided otherwise about calls that were made.
//! Called before a policy is replaced. Grants of chats are left out: they come and go, and rules are what is compared.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Grant, Policy, Question, Verdict, judge};
use crate::config::ToolSpec;
use crate::display;
use crate::ids::AgentId;

/// Characters of a call that a line shows.
const SHOWN: usize = 160;

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Past {
    /// What its reader knows it by.
    pub id: String,
    pub agent: AgentId,
    pub spec: Arc<ToolSpec>,
    pub arguments: Value,
    pub directory: Option<String>,
}

/// A call about which two policies differ.
#[derive(Clone, Debug)]
pub struct Change {
    pub call: Past,
    pub before: Verdict,
    pub after: Verdict,
}

/// The calls about which `new` rules otherwise than `old`, in their order.
pub fn diff(old: &Policy, new: &Policy, history: impl Iterator<Item = Past>) -> Vec<Change> {
    history
        .filter_map(|call| {
            let verdict = |policy: &Policy| {
                let question = Question {
                    agent: &call.agent,
                    tool: &call.spec.name,
                    arguments: &call.arguments,
                    directory: call.directory.as_deref(),
                };
                judge(policy, std::iter::empty::<&Grant>(), &call.spec, question)
            };
            let (before, after) = (verdict(old), verdict(new));
            (before.ruling != after.ruling).then_some(Change { call, before, after })
        })
        .collect()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = display::compact(&self.call.arguments);
        if let Some((end, _)) = arguments.char_indices().nth(SHOWN) {
            arguments.truncate(end);
            arguments.push('…');
        }
        write!(
            f,
            "{}: {} -> {} for {} by {}: {arguments} ({} -> {})",
            self.call.id,
            self.before.ruling,
            self.after.ruling,
            display::reveal_line(&self.call.spec.name),
            self.call.agent,
            self.before.ground,
            self.after.ground,
        )
    }
}
