//! Decides what is kept of one chat in memory, and how rows change it.
//! Used by `data` inside an append. Never sees another chat or a world.

use std::collections::BTreeMap;

use agent_world_core::chain::Head;
use agent_world_core::chat::Life;
use agent_world_core::event::Position;
use agent_world_core::ids::{AgentId, CallId, TurnId, WorldId};
use agent_world_core::item::Usage;
use agent_world_core::policy::Grant;
use agent_world_core::view::{CallView, ChatView, MessageView, Row, UsageView};

use crate::types::{MessagePage, Snapshot, UsageTotal};

#[derive(Debug)]
pub(super) struct ChatRecord {
    /// The order of arrival among all chats.
    pub ordinal: u64,
    pub world: WorldId,
    pub head: Head,
    pub life: Life,
    pub wake_at: Option<i64>,
    pub view: ChatView,
    pub snapshot: Option<Snapshot>,
    /// The positions of its events, in order.
    pub positions: Vec<u64>,
    pub messages: BTreeMap<Position, MessageView>,
    pub calls: Vec<CallView>,
    pub grants: Vec<Grant>,
    pub usage: BTreeMap<(Option<TurnId>, Option<AgentId>), (u64, Usage)>,
}

impl ChatRecord {
    pub fn new(ordinal: u64, world: WorldId, view: ChatView) -> Self {
        Self {
            ordinal,
            world,
            head: Head::default(),
            life: Life::Unborn,
            wake_at: None,
            view,
            snapshot: None,
            positions: Vec::new(),
            messages: BTreeMap::new(),
            calls: Vec::new(),
            grants: Vec::new(),
            usage: BTreeMap::new(),
        }
    }

    pub fn waits(&self) -> bool {
        self.life == Life::Living && !self.view.activity.waiting.is_empty()
    }

    /// Changes the chat's own read models; approvals, rules and the audit are kept elsewhere.
    pub fn write(&mut self, row: &Row) {
        match row {
            Row::Message(view) => {
                self.messages.insert(view.position, view.clone());
            }
            Row::MessagesCut(from) => {
                self.messages.split_off(from);
            }
            Row::Call(view) => match self.calls.iter_mut().find(|call| call.id == view.id) {
                Some(call) => *call = view.clone(),
                None => self.calls.push(view.clone()),
            },
            Row::Grant(grant) => self.grants.push(grant.clone()),
            Row::GrantRevoked(id) => self.grants.retain(|grant| grant.id != *id),
            Row::Usage(view) => self.add_usage(view),
            Row::Approval(_) | Row::Rule(_) | Row::Audit { .. } | Row::Glance { .. } => {}
        }
    }

    fn add_usage(&mut self, view: &UsageView) {
        let key = (view.turn.clone(), view.agent.clone());
        let (calls, usage) = self.usage.entry(key).or_default();
        *calls += 1;
        *usage += view.usage;
    }

    /// What a deleted chat said cannot be looked up any more.
    pub fn hide(&mut self) {
        self.messages.clear();
        self.grants.clear();
    }

    pub fn page(&self, page: MessagePage) -> Vec<MessageView> {
        match page {
            MessagePage::After(place, limit) => {
                let after = |view: &&MessageView| place.is_none_or(|place| view.position > place);
                self.messages.values().filter(after).take(limit).cloned().collect()
            }
            MessagePage::Before(place, limit) => {
                let before = |view: &&MessageView| place.is_none_or(|place| view.position < place);
                let mut page: Vec<MessageView> =
                    self.messages.values().rev().filter(before).take(limit).cloned().collect();
                page.reverse();
                page
            }
        }
    }

    pub fn calls_after(&self, after: Option<&CallId>, limit: usize) -> Vec<CallView> {
        let place = after.and_then(|id| self.calls.iter().position(|call| call.id == *id));
        self.calls.iter().skip(place.map_or(0, |place| place + 1)).take(limit).cloned().collect()
    }
}

/// One total for each agent, by agent; first what no agent used.
pub(super) fn totals<'a>(
    used: impl Iterator<Item = (&'a (Option<TurnId>, Option<AgentId>), &'a (u64, Usage))>,
) -> Vec<UsageTotal> {
    let mut totals: BTreeMap<Option<AgentId>, (u64, Usage)> = BTreeMap::new();
    for ((_, agent), (calls, usage)) in used {
        let (all_calls, all_usage) = totals.entry(agent.clone()).or_default();
        *all_calls += calls;
        *all_usage += *usage;
    }
    let total = |(agent, (model_calls, usage))| UsageTotal { agent, model_calls, usage };
    totals.into_iter().map(total).collect()
}
