//! What must be true when everything has come to rest, whatever happened on the way.

use std::collections::BTreeMap;

use agent_world_core::apply::apply;
use agent_world_core::chain::Recorded;
use agent_world_core::chat::Chat;
use agent_world_core::event::{Decision, Event, Outcome};
use agent_world_core::ids::{ApprovalId, CallId, ChatId, WorldId};
use agent_world_core::outstanding::outstanding;
use agent_world_core::policy::Ruling;
use agent_world_store::verify::{compare_read_models, verify};
use agent_world_store::{Scope, Store, StoredEvent};
use serde_json::Value;

use crate::node::{Node, Parts};
use crate::outside::Deed;
use crate::people::People;
use crate::run::Report;

pub async fn check(node: &Node, people: &People, parts: &Parts) -> Result<Report, String> {
    let store: &dyn Store = &node.memory;
    let all = store.events(&Scope::All, 0, usize::MAX).await.map_err(|error| error.to_string())?;
    readers_missed_nothing(&all, parts)?;
    let mut report = Report { events: all.len() as u64, ..Report::default() };
    let deeds = parts.deeds.lock().unwrap().clone();
    report.tools_run = deeds.len() as u64;
    let chats = store.chats(&WorldId::new("sim"), None, 100).await.unwrap();
    let mut calls = BTreeMap::new();
    for chat in &chats {
        verify(store, &chat.id).await.map_err(|broken| format!("{broken}"))?;
        compare_read_models(store, &chat.id).await.map_err(|broken| format!("{broken}"))?;
        let log = log_of(&all, &chat.id)?;
        nothing_is_owed(&chat.id, &log)?;
        decided_once(&log, people, &mut report)?;
        posted_once(&chat.id, &log, people)?;
        calls.extend(lives(&log)?);
    }
    done_as_approved(&calls, &deeds)?;
    report.interrupted =
        calls.values().filter(|life| life.ended == Some(Outcome::Interrupted)).count() as u64;
    report.fingerprint = all.last().map(|event| event.sealed.hash.to_string()).unwrap_or_default();
    Ok(report)
}

/// Every stored event, once, in order, across all crashes.
fn readers_missed_nothing(all: &[StoredEvent], parts: &Parts) -> Result<(), String> {
    let stored: Vec<u64> = all.iter().map(|event| event.position).collect();
    let seen = parts.seen.lock().unwrap();
    if *seen == stored {
        return Ok(());
    }
    let at = seen.iter().zip(&stored).position(|(seen, stored)| seen != stored);
    Err(format!("a reader saw {} of {} events, first unlike at {at:?}", seen.len(), stored.len()))
}

fn log_of(all: &[StoredEvent], chat: &ChatId) -> Result<Vec<Recorded>, String> {
    all.iter()
        .filter(|event| event.chat.as_ref() == Some(chat))
        .map(|event| event.sealed.open().map_err(|error| error.to_string()))
        .collect()
}

/// No turn, call, request or unread message is left, and nothing is outstanding.
fn nothing_is_owed(id: &ChatId, log: &[Recorded]) -> Result<(), String> {
    let mut chat = Chat::unborn(id.clone());
    log.iter().for_each(|recorded| apply(&mut chat, recorded));
    let unread = chat.agents.values().any(|desk| !desk.inbox.is_empty());
    if !chat.is_idle() || unread || !chat.approvals.is_empty() || !outstanding(&chat).is_empty() {
        return Err(format!("{id} is not at rest: {chat:#?}"));
    }
    if !chat.calls.is_empty() {
        return Err(format!("{id} keeps calls that are over: {:#?}", chat.calls));
    }
    Ok(())
}

fn decided_once(log: &[Recorded], people: &People, report: &mut Report) -> Result<(), String> {
    let mut requested: BTreeMap<ApprovalId, u32> = BTreeMap::new();
    for recorded in log {
        let settled = match &recorded.event {
            Event::ApprovalRequested(asked) => {
                requested.insert(asked.approval.clone(), 0);
                continue;
            }
            Event::ApprovalDecided(decided) => {
                report.decisions += 1;
                &decided.approval
            }
            Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
                approval
            }
            _ => continue,
        };
        *requested.get_mut(settled).ok_or(format!("{settled} was settled, never asked"))? += 1;
    }
    match requested.iter().find(|(_, times)| **times != 1) {
        Some((approval, times)) => Err(format!("{approval} was settled {times} times")),
        None => match people.taken.iter().find(|(_, times)| **times > 1) {
            Some((approval, times)) => {
                Err(format!("{times} people were told that their answer to {approval} counts"))
            }
            None => Ok(()),
        },
    }
}

/// Accepted means kept, and a repeated request is not a second message.
fn posted_once(chat: &ChatId, log: &[Recorded], people: &People) -> Result<(), String> {
    let mut posted: BTreeMap<&str, u32> = BTreeMap::new();
    for recorded in log {
        if let Event::MessagePosted(post) = &recorded.event {
            *posted.entry(post.message.text.as_str()).or_default() += 1;
        }
    }
    for (_, text) in people.accepted.iter().filter(|(accepted_in, _)| accepted_in == chat) {
        match posted.get(text.as_str()) {
            Some(1) => {}
            times => {
                return Err(format!("accepted `{text}` stands in the log {times:?} times"));
            }
        }
    }
    Ok(())
}

/// What the log says of a call.
#[derive(Debug, Default)]
pub struct Life {
    tool: String,
    arguments: Value,
    may_repeat: bool,
    allowed: bool,
    starts: u32,
    ended: Option<Outcome>,
}

fn lives(log: &[Recorded]) -> Result<BTreeMap<CallId, Life>, String> {
    let mut lives: BTreeMap<CallId, Life> = BTreeMap::new();
    let mut asked: BTreeMap<ApprovalId, CallId> = BTreeMap::new();
    for recorded in log {
        match &recorded.event {
            Event::ToolCalled(called) => {
                let ruling = called.verdict.as_ref().map(|verdict| verdict.ruling);
                let life = Life {
                    tool: called.name.clone(),
                    arguments: called.arguments.clone(),
                    may_repeat: called.may_repeat,
                    allowed: ruling == Some(Ruling::Allow),
                    ..Life::default()
                };
                lives.insert(called.call.clone(), life);
            }
            Event::ApprovalRequested(request) => {
                asked.insert(request.approval.clone(), request.call.clone());
            }
            Event::ApprovalDecided(decided) => {
                let life = asked.get(&decided.approval).and_then(|call| lives.get_mut(call));
                let life = life.ok_or(format!("{} decides nothing", decided.approval))?;
                if let Decision::Approved { arguments, .. } = &decided.decision {
                    life.allowed = true;
                    life.arguments = arguments.clone().unwrap_or_else(|| life.arguments.clone());
                }
            }
            Event::ToolStarted { call, .. } => {
                let life = lives.get_mut(call).ok_or(format!("{call} was started, never made"))?;
                life.starts += 1;
                if life.ended.is_some() || !life.allowed || (life.starts > 1 && !life.may_repeat) {
                    return Err(format!("{call} must not have been started: {life:?}"));
                }
            }
            Event::ToolFinished(finished) => {
                let call = &finished.call;
                let life = lives.get_mut(call).ok_or(format!("{call} ended, never made"))?;
                if life.ended.replace(finished.outcome).is_some() {
                    return Err(format!("{call} ended twice: {life:?}"));
                }
            }
            _ => {}
        }
    }
    match lives.iter().find(|(_, life)| life.ended.is_none()) {
        Some((call, life)) => Err(format!("{call} never ended: {life:?}")),
        None => Ok(lives),
    }
}

/// The world outside agrees: nothing was done that was not started, allowed, and exactly so.
fn done_as_approved(calls: &BTreeMap<CallId, Life>, deeds: &[Deed]) -> Result<(), String> {
    let mut times: BTreeMap<&CallId, u32> = BTreeMap::new();
    for deed in deeds {
        let life = calls.get(&deed.call).ok_or(format!("{deed:?} stands in no log"))?;
        let count = times.entry(&deed.call).or_default();
        *count += 1;
        if *count > life.starts {
            return Err(format!("{deed:?} was done {count} times: {life:?}"));
        }
        if deed.arguments != life.arguments || deed.tool != life.tool {
            return Err(format!("{deed:?} is not what was approved: {life:?}"));
        }
    }
    for (call, life) in calls {
        if life.ended == Some(Outcome::Completed) && !times.contains_key(call) {
            return Err(format!("{call} is said to be completed and was never done: {life:?}"));
        }
    }
    Ok(())
}
