//! Decides how the audit is kept and looked up in memory.
//! Used by `data` inside an append. Entries are only added; nothing here can change or remove one.

use std::collections::BTreeMap;
use std::ops::Bound;

use agent_world_core::audit::{Entry, Statistics, Tally};
use agent_world_core::ids::WorldId;

use crate::types::{AuditFilter, AuditPage, Audited};

#[derive(Debug, Default)]
pub(super) struct Audit {
    /// By the position of the event each tells of.
    entries: BTreeMap<u64, Entry>,
}

impl Audit {
    pub fn insert(&mut self, position: u64, entry: Entry) {
        self.entries.entry(position).or_insert(entry);
    }

    pub fn page(&self, filter: &AuditFilter, page: AuditPage) -> Vec<Audited> {
        let fits = |(_, entry): &(&u64, &Entry)| fits(filter, entry);
        let audited = |(position, entry): (&u64, &Entry)| Audited {
            position: *position,
            entry: entry.clone(),
        };
        match page {
            AuditPage::After(position, limit) => {
                let later = self.entries.range((Bound::Excluded(position), Bound::Unbounded));
                later.filter(fits).take(limit).map(audited).collect()
            }
            AuditPage::Before(position, limit) => {
                let end = position.map_or(Bound::Unbounded, Bound::Excluded);
                let earlier = self.entries.range((Bound::Unbounded, end)).rev();
                let mut page: Vec<Audited> =
                    earlier.filter(fits).take(limit).map(audited).collect();
                page.reverse();
                page
            }
        }
    }

    pub fn statistics(&self, world: Option<&WorldId>) -> Vec<Statistics> {
        let wanted = |entry: &&Entry| world.is_none_or(|world| entry.world == *world);
        let mut tally = Tally::default();
        self.entries.values().filter(wanted).for_each(|entry| tally.add(entry));
        tally.finish()
    }
}

fn fits(filter: &AuditFilter, entry: &Entry) -> bool {
    let AuditFilter { world, chat, agent, tool, call, kind, actor, since, until } = filter;
    world.as_ref().is_none_or(|world| entry.world == *world)
        && (chat.is_none() || entry.chat == *chat)
        && (agent.is_none() || entry.agent == *agent)
        && (tool.is_none() || entry.tool == *tool)
        && (call.is_none() || entry.call == *call)
        && kind.as_ref().is_none_or(|kind| entry.what.kind() == kind)
        && actor.as_ref().is_none_or(|actor| entry.actor.person() == Some(actor))
        && since.is_none_or(|since| entry.at >= since)
        && until.is_none_or(|until| entry.at < until)
}
