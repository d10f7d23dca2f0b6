//! Decides whether a document can be believed: every hash chain unbroken, every log one that folds, every text there that
//! a log names. Makes the plan that `write` carries out, in which no chat owes anything.
//! Called by `Engine::import` before anything is written. Never touches a store.

use std::collections::{BTreeMap, BTreeSet};

use agent_world_core::Timestamp;
use agent_world_core::apply::apply;
use agent_world_core::chain::{self, Head, Recorded, Sealed};
use agent_world_core::chat::{Chat, Life};
use agent_world_core::command::{Command, Input};
use agent_world_core::config::{Rules, Tools, World};
use agent_world_core::decide::decide;
use agent_world_core::event::{Copied, Event, Whole};
use agent_world_core::fork;
use agent_world_core::ids::{ApprovalId, ChatId, GrantId, RuleId, WorldId};
use agent_world_core::outstanding::{Effect, outstanding};
use agent_world_core::policy::Rule;
use agent_world_core::view::{self, Row};

use super::document::{ChatLog, Document, Revocation, is_chat_id};
use super::reference::MissingSecret;
use super::{ImportError, can_be_stored};

/// Who takes the world in, and with which time and random bits what is under way is stopped.
pub(super) struct Importer {
    pub by: String,
    pub at: Timestamp,
    pub entropy: u128,
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct Plan {
    pub world: World,
    pub missing_secrets: Vec<MissingSecret>,
    /// Absent: settings only.
    pub chats: Option<Vec<Log>>,
    /// Rules that the logs grant and that are not in force any more.
    pub revoked: Vec<Revocation>,
    pub results: Vec<String>,
}

/// A chat's log, with the end of all its work where something was under way.
#[derive(Debug)]
pub(super) struct Log {
    pub chat: ChatId,
    pub events: Vec<Sealed>,
    pub was_stopped: bool,
    pub approvals: Vec<ApprovalId>,
}

pub(super) fn check(document: Document, importer: &Importer) -> Result<Plan, ImportError> {
    document.check_format()?;
    let mut world = document.settings()?;
    for at in [world.created_at, world.updated_at] {
        if !can_be_stored(at) {
            return Err(ImportError::Unreadable(format!("world: {at} is too far away")));
        }
    }
    world.version = 0;
    let mut book = Book::of(world.id.clone());
    let chats = match document.chats {
        None => None,
        Some(chats) => {
            let rules = Rules { world: &world, tools: &Tools::default() };
            let logs = chats.into_iter().map(|chat| book.log(chat, rules, importer));
            Some(logs.collect::<Result<Vec<_>, _>>()?)
        }
    };
    let revoked = book.revoked(&document.granted, document.revoked, importer)?;
    let mut results = Vec::new();
    for result in document.results {
        let whole = Whole::of(&result.text);
        if whole.digest != result.digest || book.wholes.remove(&whole.digest.0) != Some(whole) {
            let why = format!(
                "results: {} is not the digest of its text, or no event names it",
                result.digest
            );
            return Err(ImportError::Unreadable(why));
        }
        results.push(result.text);
    }
    if let Some(whole) = book.wholes.values().next() {
        let why = format!("results: the text {} is missing, which an event names", whole.digest);
        return Err(ImportError::Unreadable(why));
    }
    Ok(Plan { world, missing_secrets: document.missing_secrets, chats, revoked, results })
}

/// What all logs of a document come to.
struct Book {
    world: WorldId,
    chats: BTreeSet<ChatId>,
    approvals: BTreeSet<ApprovalId>,
    rules: BTreeMap<RuleId, Rule>,
    /// Texts that the logs name.
    wholes: BTreeMap<[u8; 32], Whole>,
}

/// A log while it is walked.
struct Walk {
    chat: Chat,
    head: Head,
    grants: BTreeSet<GrantId>,
    approvals: Vec<ApprovalId>,
}

impl Book {
    fn of(world: WorldId) -> Self {
        Self {
            world,
            chats: BTreeSet::new(),
            approvals: BTreeSet::new(),
            rules: BTreeMap::new(),
            wholes: BTreeMap::new(),
        }
    }

    fn log(
        &mut self,
        log: ChatLog,
        rules: Rules<'_>,
        importer: &Importer,
    ) -> Result<Log, ImportError> {
        let ChatLog { id, events } = log;
        if !is_chat_id(&id) || !self.chats.insert(id.clone()) {
            let why = format!("chats: `{id}` is not the id of a chat, or stands there twice");
            return Err(ImportError::Unreadable(why));
        }
        let mut events: Vec<Sealed> = events.into_iter().map(Sealed::from).collect();
        let mut walk = Walk {
            chat: Chat::unborn(id.clone()),
            head: Head::default(),
            grants: BTreeSet::new(),
            approvals: Vec::new(),
        };
        for sealed in &events {
            self.event(&mut walk, sealed).map_err(|why| ImportError::Log {
                chat: id.clone(),
                event: sealed.seq,
                why,
            })?;
        }
        let refused = |why: &str| ImportError::Log {
            chat: id.clone(),
            event: events.last().map_or(0, |last| last.seq),
            why: why.to_owned(),
        };
        if walk.chat.life == Life::Unborn {
            return Err(refused("it is empty"));
        }
        let stop = stop(&mut walk, rules, importer).map_err(|why| refused(&why))?;
        if !is_quiet(&walk.chat) {
            return Err(refused("something in it stays open even when all work is stopped"));
        }
        let was_stopped = !stop.is_empty();
        events.extend(stop);
        Ok(Log { chat: id, events, was_stopped, approvals: walk.approvals })
    }

    fn event(&mut self, walk: &mut Walk, sealed: &Sealed) -> Result<(), String> {
        if sealed.seq != walk.head.seq + 1 {
            return Err(format!("event {} must stand there", walk.head.seq + 1));
        }
        if sealed.hash != sealed.hash_after(walk.head.hash) {
            return Err("it or the event before it was changed".to_owned());
        }
        if !can_be_stored(sealed.at) {
            return Err(format!("its time {} is too far away", sealed.at));
        }
        let recorded = sealed.open().map_err(|error| error.to_string())?;
        self.place(&walk.chat, &recorded.event)?;
        self.note_wholes(&recorded.event)?;
        let before = walk.chat.clone();
        apply(&mut walk.chat, &recorded);
        walk.head = sealed.head();
        let rows = view::rows(&before, &walk.chat, &recorded);
        self.rows(walk, &recorded.event, rows)
    }

    /// Refuses what could not have come to stand there.
    fn place(&self, before: &Chat, event: &Event) -> Result<(), String> {
        match (event, before.life) {
            (Event::ChatCreated(created), Life::Unborn) => {
                if created.chat != before.id || created.world != self.world {
                    return Err(format!(
                        "it is about chat {} of world {}",
                        created.chat, created.world
                    ));
                }
            }
            (Event::ChatCreated(_), _) => return Err("the chat exists already".to_owned()),
            (_, Life::Unborn) => return Err("the chat was not created yet".to_owned()),
            (_, Life::Deleted) => return Err("the chat was deleted before".to_owned()),
            (_, Life::Living) => {}
        }
        match event {
            Event::HistoryCopied { events } => match events.iter().find(|copied| !copyable(copied))
            {
                Some(copied) => {
                    Err(format!("a copied history cannot hold `{}`", copied.event.kind()))
                }
                None => Ok(()),
            },
            Event::ApprovalDecided(decided)
                if !before.approvals.contains_key(&decided.approval) =>
            {
                Err(format!("nobody waited for a decision on {}", decided.approval))
            }
            Event::ApprovalRequested(asked) if !before.calls.contains_key(&asked.call) => {
                Err(format!("there is no call {}", asked.call))
            }
            _ => Ok(()),
        }
    }

    /// Takes note of what must be there once only.
    fn rows(&mut self, walk: &mut Walk, event: &Event, rows: Vec<Row>) -> Result<(), String> {
        for row in rows {
            let repeated = match row {
                Row::Approval(view) if matches!(event, Event::ApprovalRequested(_)) => {
                    walk.approvals.push(view.id.clone());
                    (!self.approvals.insert(view.id.clone()))
                        .then(|| format!("approval {} was asked for twice", view.id))
                }
                Row::Grant(grant) => (!walk.grants.insert(grant.id.clone()))
                    .then(|| format!("grant {} was given twice", grant.id)),
                Row::Rule(rule) => {
                    let id = rule.id.clone();
                    let earlier = self.rules.insert(id.clone(), rule);
                    earlier.map(|_| format!("rule {id} was granted twice"))
                }
                _ => None,
            };
            if let Some(repeated) = repeated {
                return Err(repeated);
            }
        }
        Ok(())
    }

    fn note_wholes(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::ToolFinished(finished) => {
                let Some(whole) = finished.output.whole.as_deref() else { return Ok(()) };
                match self.wholes.insert(whole.digest.0, *whole) {
                    Some(other) if other != *whole => {
                        Err(format!("the text {} cannot have two lengths", whole.digest))
                    }
                    _ => Ok(()),
                }
            }
            Event::HistoryCopied { events } => {
                events.iter().try_for_each(|copied| self.note_wholes(&copied.event))
            }
            _ => Ok(()),
        }
    }

    /// The rules of the logs that are not in force any more.
    fn revoked(
        &mut self,
        granted: &[Rule],
        told: Vec<Revocation>,
        importer: &Importer,
    ) -> Result<Vec<Revocation>, ImportError> {
        for rule in granted {
            if self.rules.remove(&rule.id).as_ref() != Some(rule) {
                let why = format!("granted: no chat of the file granted {} as it stands", rule.id);
                return Err(ImportError::Unreadable(why));
            }
        }
        let mut revoked = Vec::new();
        for revocation in told {
            if self.rules.remove(&revocation.rule).is_none() || !can_be_stored(revocation.at) {
                let why = format!(
                    "revoked: {} is in force, or no chat of the file granted it",
                    revocation.rule
                );
                return Err(ImportError::Unreadable(why));
            }
            revoked.push(revocation);
        }
        let rest = std::mem::take(&mut self.rules).into_keys();
        revoked.extend(rest.map(|rule| Revocation {
            rule,
            by: importer.by.clone(),
            at: importer.at,
        }));
        Ok(revoked)
    }
}

fn copyable(copied: &Copied) -> bool {
    fork::can_be_copied(&copied.event)
}

/// Ends whatever is under way, behind the end of the log.
fn stop(walk: &mut Walk, rules: Rules<'_>, importer: &Importer) -> Result<Vec<Sealed>, String> {
    if is_quiet(&walk.chat) {
        return Ok(Vec::new());
    }
    let command = Command::Stop { agent: None, by: importer.by.clone() };
    let input = Input { at: importer.at, entropy: importer.entropy, command };
    let events = decide(&walk.chat, rules, input).map_err(|error| error.to_string())?;
    let mut sealed = Vec::new();
    for event in events {
        let recorded = Recorded { seq: walk.head.seq + 1, at: importer.at, event };
        let seal = chain::seal(walk.head, &recorded).map_err(|error| error.to_string())?;
        walk.head = seal.head();
        apply(&mut walk.chat, &recorded);
        sealed.push(seal);
    }
    Ok(sealed)
}

/// Nothing is under way in a chat, nobody is waited for, and nothing would be started for it but a model asked for a
/// title, which waits until somebody uses the chat.
pub(super) fn is_quiet(chat: &Chat) -> bool {
    let only_a_title = outstanding(chat).iter().all(|effect| matches!(effect, Effect::NameChat));
    chat.is_idle() && chat.approvals.is_empty() && only_a_title
}
