//! Decides what a store in memory holds and how writes change it: checks first, then everything or nothing.
//! Called by `Memory` under its lock. Never fails half way: nothing after the checks can go wrong.

use std::collections::BTreeMap;
use std::ops::Bound;

use agent_world_core::Timestamp;
use agent_world_core::audit::Entry;
use agent_world_core::chain::{Hash, Head, Sealed};
use agent_world_core::chat::Life;
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, ChatId, RuleId, WorldId};
use agent_world_core::outstanding::Wake;
use agent_world_core::policy::Rule;
use agent_world_core::view::{ApprovalState, ApprovalView, ChatView, Glance, Row};

use super::audit::Audit;
use super::chats::ChatRecord;
use super::documents::Documents;
use super::faults::Sabotage;
use crate::error::Error;
use crate::placing::{
    AT_ONCE, check_order, check_settings, entry_of_change, next_head, position_of, seal_change,
    tell_settings, wake_after, wake_at,
};
use crate::types::{
    Append, Appended, ApprovalFilter, AtHand, Changes, Loaded, ResultPiece, Scope, StoredEvent,
    WorldChange, WorldWrite,
};

#[derive(Debug, Default)]
pub(super) struct Data {
    pub epoch: u64,
    pub sabotage: Sabotage,
    pub chats: BTreeMap<ChatId, ChatRecord>,
    pub outcomes: BTreeMap<String, String>,
    /// Outlives the worlds it tells of.
    pub audit: Audit,
    pub documents: Documents,
    /// Long results, by the digest of their text.
    results: BTreeMap<(WorldId, [u8; 32]), String>,
    worlds: BTreeMap<WorldId, WorldRecord>,
    /// Where each world's own log ends; it outlives the world.
    changes: BTreeMap<WorldId, Head>,
    events: BTreeMap<u64, StoredEvent>,
    last_position: u64,
    last_ordinal: u64,
    approvals: BTreeMap<u64, ApprovalView>,
    approval_ordinals: BTreeMap<ApprovalId, u64>,
}

#[derive(Debug)]
struct WorldRecord {
    /// Without granted rules.
    world: World,
    /// The version that the latest granted rule made.
    ruled: u64,
    /// Granted rules, each with the position at which it was granted.
    rules: Vec<(u64, Rule)>,
}

impl WorldRecord {
    fn merged(&self) -> World {
        let mut world = self.world.clone();
        world.policy.granted = self.rules.iter().map(|(_, rule)| rule.clone()).collect();
        world
    }
}

impl Data {
    /// Empty, in the hands of a first process.
    pub fn first() -> Self {
        Self { epoch: 1, ..Self::default() }
    }

    pub fn write_world(&mut self, write: &WorldWrite) -> Result<World, Error> {
        let id = &write.world.id;
        let actual = self.worlds.get(id).map(|record| record.world.version);
        if write.expected.is_some() && actual.is_none() {
            return Err(Error::UnknownWorld(id.clone()));
        }
        if write.expected != actual {
            let expected = write.expected;
            return Err(Error::WorldConflict { world: id.clone(), expected, actual });
        }
        let mut world = write.world.clone();
        world.version = actual.unwrap_or(0) + 1;
        world.policy.granted.clear();
        self.tell(id, &tell_settings(&write.change, &world)?)?;
        let record = self.worlds.entry(id.clone()).or_insert_with(|| WorldRecord {
            world: world.clone(),
            ruled: 0,
            rules: Vec::new(),
        });
        record.world = world;
        Ok(record.merged())
    }

    pub fn delete_world(&mut self, id: &WorldId, change: &WorldChange) -> Result<(), Error> {
        if !self.worlds.contains_key(id) {
            return Err(Error::UnknownWorld(id.clone()));
        }
        self.tell(id, change)?;
        self.worlds.remove(id);
        self.events.retain(|_, event| event.world != *id || event.chat.is_none());
        self.chats.retain(|_, chat| chat.world != *id);
        self.results.retain(|(world, _), _| world != id);
        self.approvals.retain(|_, approval| approval.world != *id);
        let approvals = &self.approvals;
        self.approval_ordinals.retain(|_, ordinal| approvals.contains_key(ordinal));
        Ok(())
    }

    pub fn revoke_rule(
        &mut self,
        world: &WorldId,
        rule: &RuleId,
        change: &WorldChange,
    ) -> Result<(), Error> {
        let record = self.worlds.get(world).ok_or_else(|| Error::UnknownWorld(world.clone()))?;
        if !record.rules.iter().any(|(_, granted)| granted.id == *rule) {
            return Err(Error::UnknownRule { world: world.clone(), rule: rule.clone() });
        }
        self.tell(world, change)?;
        if let Some(record) = self.worlds.get_mut(world) {
            record.rules.retain(|(_, granted)| granted.id != *rule);
            record.world.version += 1;
        }
        Ok(())
    }

    pub fn world(&self, id: &WorldId) -> Option<World> {
        self.worlds.get(id).map(WorldRecord::merged)
    }

    pub fn worlds(&self) -> Vec<World> {
        self.worlds.values().map(WorldRecord::merged).collect()
    }

    fn tell(&mut self, world: &WorldId, change: &WorldChange) -> Result<(), Error> {
        let head = self.changes.get(world).copied().unwrap_or_default();
        let sealed = seal_change(head, change)?;
        self.changes.insert(world.clone(), sealed.head());
        let position = self.store_event(world, None, sealed, None);
        self.audit.insert(position, entry_of_change(world, change));
        Ok(())
    }

    fn store_event(
        &mut self,
        world: &WorldId,
        chat: Option<&ChatId>,
        sealed: Sealed,
        glance: Option<Box<Glance>>,
    ) -> u64 {
        self.last_position += 1;
        let position = self.last_position;
        let (world, chat) = (world.clone(), chat.cloned());
        let event =
            StoredEvent { position, world, chat, sealed, glance, at_hand: AtHand::default() };
        self.events.insert(position, event);
        position
    }

    fn next_ordinal(&mut self) -> u64 {
        self.last_ordinal += 1;
        self.last_ordinal
    }

    pub fn append(&mut self, append: &Append) -> Result<Appended, Error> {
        self.check(append)?;
        let Append { chat, world, .. } = append;
        let mut positions = Vec::new();
        for event in &append.events {
            let glance = append.rows.iter().find_map(|row| match row {
                Row::Glance { seq, glance } if *seq == event.seq => Some(Box::new(glance.clone())),
                _ => None,
            });
            positions.push(self.store_event(world, Some(chat), event.clone(), glance));
        }
        let position = positions.last().copied().unwrap_or_else(|| self.position());
        let ordinal = self.next_ordinal();
        let fresh = || ChatRecord::new(ordinal, world.clone(), append.view.clone());
        let record = self.chats.entry(chat.clone()).or_insert_with(fresh);
        record.positions.extend(&positions);
        record.head = next_head(append);
        record.life = append.life;
        record.wake_at = wake_after(append);
        record.view = append.view.clone();
        append.rows.iter().for_each(|row| record.write(row));
        if append.snapshot.is_some() {
            record.snapshot = append.snapshot.clone();
        }
        if append.life == Life::Deleted {
            record.hide();
        }
        for row in &append.rows {
            match row {
                Row::Approval(view) => self.write_approval(chat, view),
                Row::Rule(rule) => self.add_rule(world, chat, position, rule),
                Row::Audit { seq, entry } => {
                    if let Some(position) = position_of(append, &positions, *seq) {
                        self.audit.insert(position, Entry::clone(entry));
                    }
                }
                _ => {}
            }
        }
        if let Some(idempotency) = &append.idempotency {
            self.outcomes.insert(idempotency.key.clone(), idempotency.outcome.clone());
        }
        Ok(Appended { position, positions })
    }

    fn check(&self, append: &Append) -> Result<(), Error> {
        check_order(append)?;
        let chat = append.chat.clone();
        if let Some(idempotency) = &append.idempotency
            && let Some(outcome) = self.outcomes.get(&idempotency.key)
        {
            return Err(Error::Repeated { outcome: outcome.clone() });
        }
        let stale = append.fence.is_some_and(|fence| fence.0 != self.epoch);
        if stale && !self.sabotage.skip_fence_check {
            return Err(Error::Fenced { chat });
        }
        let Some(world) = self.worlds.get(&append.world) else {
            return Err(Error::UnknownWorld(append.world.clone()));
        };
        let record = self.chats.get(&chat);
        if record.is_some_and(|record| record.world != append.world) {
            let why = format!("it is not a chat of world {}", append.world);
            return Err(Error::Misplaced { chat, why });
        }
        let head = record.map(|record| record.head).unwrap_or_default();
        if head != append.expected && !self.sabotage.skip_head_check {
            return Err(Error::Conflict { chat, head: head.seq });
        }
        check_settings(append, world.world.version)
    }

    // A request belongs to its chat for good: another chat's append cannot take it over.
    fn write_approval(&mut self, chat: &ChatId, view: &ApprovalView) {
        let known = self.approval_ordinals.get(&view.id).copied();
        let ordinal = known.unwrap_or_else(|| self.next_ordinal());
        if self.approvals.get(&ordinal).is_none_or(|before| before.chat == *chat) {
            self.approval_ordinals.insert(view.id.clone(), ordinal);
            self.approvals.insert(ordinal, view.clone());
        }
    }

    fn add_rule(&mut self, world: &WorldId, granted_in: &ChatId, position: u64, rule: &Rule) {
        if let Some(record) = self.worlds.get_mut(world) {
            record.rules.push((position, rule.clone()));
            record.world.version += 1;
            record.ruled = record.world.version;
        }
        for (id, chat) in &mut self.chats {
            if chat.world == *world && id != granted_in && chat.waits() {
                chat.wake_at = Some(AT_ONCE);
            }
        }
    }

    pub fn keep_result(&mut self, world: &WorldId, text: String) -> Result<Hash, Error> {
        if !self.worlds.contains_key(world) {
            return Err(Error::UnknownWorld(world.clone()));
        }
        let digest = Hash::of(text.as_bytes());
        self.results.insert((world.clone(), digest.0), text);
        Ok(digest)
    }

    pub fn result(
        &self,
        world: &WorldId,
        digest: Hash,
        offset: u64,
        limit: u64,
    ) -> Option<ResultPiece> {
        let text = self.results.get(&(world.clone(), digest.0))?;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let piece = text.chars().skip(count(offset)).take(count(limit)).collect();
        let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        Some(ResultPiece { text: piece, characters })
    }

    pub fn set_wake(
        &mut self,
        chat: &ChatId,
        head: u64,
        world_version: u64,
        wake: Wake,
    ) -> Result<(), Error> {
        let actual = self.chats.get(chat).map_or(0, |record| record.head.seq);
        if actual != head && !self.sabotage.skip_head_check {
            return Err(Error::Conflict { chat: chat.clone(), head: actual });
        }
        let Some(record) = self.chats.get_mut(chat) else {
            return Ok(());
        };
        if record.life == Life::Living {
            let ruled = self.worlds.get(&record.world).map_or(0, |world| world.ruled);
            let missed = record.waits() && ruled > world_version;
            record.wake_at = if missed { Some(AT_ONCE) } else { wake_at(wake) };
        }
        Ok(())
    }

    pub fn load(&self, chat: &ChatId) -> Option<Loaded> {
        let record = self.chats.get(chat)?;
        let after = record.snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
        let events = record.positions.iter().filter_map(|position| self.events.get(position));
        let events = events.map(|event| &event.sealed).filter(|sealed| sealed.seq > after);
        Some(Loaded {
            snapshot: record.snapshot.clone(),
            events: events.cloned().collect(),
            head: record.head,
        })
    }

    pub fn events(&self, scope: &Scope, after: u64, limit: usize) -> Vec<StoredEvent> {
        if let Scope::Chat(chat) = scope {
            let positions = self.chats.get(chat).map_or(&[][..], |record| &record.positions);
            let positions = positions.iter().skip_while(|position| **position <= after);
            let events = positions.filter_map(|position| self.events.get(position));
            return events.take(limit).cloned().collect();
        }
        let wanted = |event: &&StoredEvent| match scope {
            Scope::World(world) => event.world == *world,
            Scope::All | Scope::Chat(_) => true,
        };
        self.after(after).filter(wanted).take(limit).cloned().collect()
    }

    pub fn last_events(&self, scope: &Scope, until: u64, limit: usize) -> Vec<StoredEvent> {
        let wanted = |event: &&StoredEvent| match scope {
            Scope::All => true,
            Scope::World(world) => event.world == *world,
            Scope::Chat(chat) => event.chat.as_ref() == Some(chat),
        };
        let earlier = self.events.range(..=until).rev().map(|(_, event)| event);
        let mut last: Vec<StoredEvent> = earlier.filter(wanted).take(limit).cloned().collect();
        last.reverse();
        last
    }

    /// A chat's events are numbered from 1 without a gap.
    pub fn log(&self, chat: &ChatId, after: u64, limit: usize) -> Vec<StoredEvent> {
        let positions = self.chats.get(chat).map_or(&[][..], |record| &record.positions);
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let events = positions.iter().skip(after).filter_map(|position| self.events.get(position));
        events.take(limit).cloned().collect()
    }

    fn after(&self, position: u64) -> impl Iterator<Item = &StoredEvent> {
        self.events.range((Bound::Excluded(position), Bound::Unbounded)).map(|(_, event)| event)
    }

    pub fn position(&self) -> u64 {
        self.events.last_key_value().map_or(0, |(position, _)| *position)
    }

    pub fn changes(&self, after: u64) -> Changes {
        let mut chats = BTreeMap::new();
        let mut worlds: Vec<WorldId> = Vec::new();
        for event in self.after(after) {
            match &event.chat {
                Some(chat) => {
                    chats.insert(chat.clone(), event.sealed.seq);
                }
                None => worlds.push(event.world.clone()),
            }
        }
        for (id, record) in &self.worlds {
            if record.rules.iter().any(|(position, _)| *position > after) {
                worlds.push(id.clone());
            }
        }
        worlds.sort();
        worlds.dedup();
        Changes { position: self.position(), chats: chats.into_iter().collect(), worlds }
    }

    pub fn due(&self, now: Timestamp, after: Option<&ChatId>, limit: usize) -> Vec<ChatId> {
        let now = now.as_millisecond();
        let place = |id: &ChatId| {
            let wake_at = self.chats.get(id).and_then(|record| record.wake_at)?;
            (wake_at <= now).then(|| (wake_at, id.clone()))
        };
        let mut due: Vec<(i64, ChatId)> = self.chats.keys().filter_map(place).collect();
        due.sort();
        let after = after.and_then(place);
        let later = due.into_iter().filter(|one| after.as_ref().is_none_or(|after| one > after));
        later.take(limit).map(|(_, id)| id).collect()
    }

    pub fn chats_of(&self, world: &WorldId, after: Option<&ChatId>, limit: usize) -> Vec<ChatView> {
        let after = after.and_then(|id| self.chats.get(id)).map_or(0, |record| record.ordinal);
        let mut living: Vec<&ChatRecord> = self
            .chats
            .values()
            .filter(|chat| chat.world == *world && chat.life == Life::Living)
            .filter(|chat| chat.ordinal > after)
            .collect();
        living.sort_by_key(|chat| chat.ordinal);
        living.into_iter().take(limit).map(|chat| chat.view.clone()).collect()
    }

    pub fn approvals(
        &self,
        filter: &ApprovalFilter,
        after: Option<&ApprovalId>,
        limit: usize,
    ) -> Vec<ApprovalView> {
        let after = after.and_then(|id| self.approval_ordinals.get(id)).copied().unwrap_or(0);
        let wanted = |view: &&ApprovalView| {
            (!filter.only_pending || view.state == ApprovalState::Pending)
                && filter.world.as_ref().is_none_or(|world| view.world == *world)
                && filter.chat.as_ref().is_none_or(|chat| view.chat == *chat)
                && filter.agent.as_ref().is_none_or(|agent| view.agent == *agent)
        };
        let later = self.approvals.range((Bound::Excluded(after), Bound::Unbounded));
        later.map(|(_, view)| view).filter(wanted).take(limit).cloned().collect()
    }

    pub fn approval(&self, id: &ApprovalId) -> Option<ApprovalView> {
        self.approvals.get(self.approval_ordinals.get(id)?).cloned()
    }
}
