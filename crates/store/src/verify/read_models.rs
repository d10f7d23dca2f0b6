//! Decides whether a chat's read models and snapshot are what its log makes of them, by making them again.
//! Called by whoever verifies a store. Never repairs anything.

use std::collections::BTreeMap;
use std::fmt::Debug;

use agent_world_core::apply::apply;
use agent_world_core::chain::Sealed;
use agent_world_core::chat::{Chat, Life};
use agent_world_core::event::{Copied, Event, Position, Whole};
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_core::item::Usage;
use agent_world_core::policy::Grant;
use agent_world_core::view::{ApprovalView, CallView, MessageView, Row, chat_view, glance, rows};

use super::{Broken, PAGE};
use crate::Store;
use crate::error::Error;
use crate::types::{
    ApprovalFilter, AuditFilter, AuditPage, Audited, Loaded, MessagePage, Scope, StoredEvent,
    UsageScope,
};

/// Characters of a long result read at a time.
const RESULT_PIECE: u64 = 100_000;
/// How often a chat may move on while it is looked at.
const TRIES: usize = 8;

/// Folds a chat's log and compares all that is stored beside it: messages, calls, approvals, grants, usage, the audit,
/// long results, the chat's own view, and the snapshot.
pub async fn compare_read_models(store: &dyn Store, chat: &ChatId) -> Result<(), Broken> {
    for _ in 0..TRIES {
        let before = load(store, chat).await?;
        let compared = Comparison { store, id: chat }.run(&before).await;
        // The log and the read models are read one after another; they are of one moment only if nothing was
        // appended in between.
        if load(store, chat).await?.head == before.head {
            return compared;
        }
    }
    Err(Error::Busy(format!("chat {chat} never stands still")).into())
}

async fn load(store: &dyn Store, chat: &ChatId) -> Result<Loaded, Broken> {
    store.load(chat).await?.ok_or_else(|| Broken::UnknownChat(chat.clone()))
}

/// The read models as the log makes them.
#[derive(Default)]
struct Models {
    messages: BTreeMap<Position, MessageView>,
    calls: Vec<CallView>,
    approvals: Vec<ApprovalView>,
    grants: Vec<Grant>,
    usage: BTreeMap<Option<AgentId>, (u64, Usage)>,
    audit: Vec<Audited>,
    /// The position of its first event.
    first: u64,
    /// Long results that the log names.
    wholes: BTreeMap<CallId, Whole>,
}

impl Models {
    fn write(&mut self, position: u64, row: Row) {
        match row {
            Row::Message(view) => {
                self.messages.insert(view.position, view);
            }
            Row::MessagesCut(from) => {
                self.messages.split_off(&from);
            }
            Row::Call(view) => match self.calls.iter_mut().find(|call| call.id == view.id) {
                Some(call) => *call = view,
                None => self.calls.push(view),
            },
            Row::Approval(view) => match self.approvals.iter_mut().find(|one| one.id == view.id) {
                Some(approval) => *approval = ApprovalView::clone(&view),
                None => self.approvals.push(ApprovalView::clone(&view)),
            },
            Row::Grant(grant) => self.grants.push(grant),
            Row::GrantRevoked(id) => self.grants.retain(|grant| grant.id != id),
            Row::Usage(view) => {
                let (calls, usage) = self.usage.entry(view.agent).or_default();
                *calls += 1;
                *usage += view.usage;
            }
            // A rule may be revoked without the chat's knowledge; see `settings`.
            Row::Rule(_) => {}
            Row::Audit { entry, .. } => self.audit.push(Audited { position, entry: *entry }),
            // Kept with its event, and compared there.
            Row::Glance { .. } => {}
        }
    }
}

impl Models {
    fn note_wholes(&mut self, event: &Event) {
        match event {
            Event::ToolFinished(finished) => {
                let whole = finished.output.whole.as_deref();
                self.wholes.extend(whole.map(|whole| (finished.call.clone(), *whole)));
            }
            Event::HistoryCopied { events } => {
                events.iter().for_each(|Copied { event, .. }| self.note_wholes(event));
            }
            _ => {}
        }
    }
}

struct Comparison<'a> {
    store: &'a dyn Store,
    id: &'a ChatId,
}

impl Comparison<'_> {
    async fn run(&self, loaded: &Loaded) -> Result<(), Broken> {
        let (chat, models) = self.fold(loaded).await?;
        self.check_resumed(loaded, &chat)?;
        self.check_view(&chat).await?;
        let messages: Vec<MessageView> = match chat.life {
            Life::Deleted => Vec::new(),
            _ => models.messages.into_values().collect(),
        };
        self.same("messages", &self.messages().await?, &messages)?;
        self.same("calls", &self.calls().await?, &models.calls)?;
        self.same("approvals", &self.approvals().await?, &models.approvals)?;
        let grants = if chat.life == Life::Deleted { Vec::new() } else { models.grants };
        self.same("grants", &self.store.grants(self.id).await?, &grants)?;
        let usage = self.store.usage(&UsageScope::Chat(self.id.clone())).await?;
        let usage: BTreeMap<_, _> = usage
            .into_iter()
            .map(|total| (total.agent, (total.model_calls, total.usage)))
            .collect();
        self.same("usage", &usage, &models.usage)?;
        self.same("audit", &self.audit(models.first).await?, &models.audit)?;
        for (call, whole) in &models.wholes {
            self.check_result(&chat.world, call, *whole).await?;
        }
        Ok(())
    }

    /// What was kept of what went on is what went on right after the event. Most events have none.
    fn check_glance(&self, event: &StoredEvent, chat: &Chat) -> Result<(), Broken> {
        let derived = glance(chat);
        match &event.glance {
            Some(kept) if **kept != derived => {
                let why = format!("of event {}: {kept:?}, not {derived:?}", event.sealed.seq);
                Err(self.differs("what went on", why))
            }
            _ => Ok(()),
        }
    }

    /// A text that stands beside the log must be the one that was recorded.
    async fn check_result(
        &self,
        world: &WorldId,
        call: &CallId,
        whole: Whole,
    ) -> Result<(), Broken> {
        let mut text = String::new();
        let mut offset = 0;
        loop {
            let piece = self.store.result(world, whole.digest, offset, RESULT_PIECE).await?;
            let piece = piece.ok_or_else(|| {
                self.differs("a result", format!("the text of call {call} is not stored"))
            })?;
            if piece.text.is_empty() {
                break;
            }
            offset += RESULT_PIECE;
            text.push_str(&piece.text);
        }
        if Whole::of(&text) != whole {
            let why = format!("the text of call {call} is not the one that was recorded");
            return Err(self.differs("a result", why));
        }
        Ok(())
    }

    /// A chat that was deleted with its world and restored from a file has entries from before: they are believed.
    async fn audit(&self, first: u64) -> Result<Vec<Audited>, Error> {
        let filter = AuditFilter { chat: Some(self.id.clone()), ..AuditFilter::default() };
        let mut all: Vec<Audited> = Vec::new();
        loop {
            let after = all.last().map_or(first.saturating_sub(1), |last| last.position);
            let page = self.store.audit(&filter, AuditPage::After(after, PAGE)).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// The whole log folded, with the read models it makes; a snapshot on the way is compared.
    async fn fold(&self, loaded: &Loaded) -> Result<(Chat, Models), Broken> {
        let mut chat = Chat::unborn(self.id.clone());
        let mut models = Models::default();
        let mut after = 0;
        loop {
            let page = self.store.events(&Scope::Chat(self.id.clone()), after, PAGE).await?;
            let Some(end) = page.last() else {
                return Ok((chat, models));
            };
            after = end.position;
            for event in &page {
                if event.sealed.seq == 1 {
                    models.first = event.position;
                }
                let recorded = event.sealed.open().map_err(Error::from)?;
                let before = chat.clone();
                apply(&mut chat, &recorded);
                let changed = rows(&before, &chat, &recorded);
                self.check_glance(event, &chat)?;
                changed.into_iter().for_each(|row| models.write(event.position, row));
                models.note_wholes(&recorded.event);
                match &loaded.snapshot {
                    Some(snapshot) if snapshot.seq == event.sealed.seq => {
                        // One that another version wrote is not used by anybody.
                        if let Some(stored) = Chat::from_snapshot(&snapshot.state) {
                            self.same("the snapshot", &stored, &chat)?;
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Going on from the snapshot must lead to where the whole log leads.
    fn check_resumed(&self, loaded: &Loaded, folded: &Chat) -> Result<(), Broken> {
        let mut chat = match &loaded.snapshot {
            Some(snapshot) => match Chat::from_snapshot(&snapshot.state) {
                Some(chat) => chat,
                None => return Ok(()),
            },
            None => Chat::unborn(self.id.clone()),
        };
        for sealed in &loaded.events {
            apply(&mut chat, &Sealed::open(sealed).map_err(Error::from)?);
        }
        self.same("the state from the snapshot on", &chat, folded)
    }

    async fn check_view(&self, chat: &Chat) -> Result<(), Broken> {
        let stored = self.store.chat(self.id).await?;
        let made = (chat.life == Life::Living).then(|| {
            // When a chat was last touched is the writer's to say.
            let updated_at = stored.as_ref().map_or(chat.created_at, |view| view.updated_at);
            chat_view(chat, updated_at)
        });
        self.same("the view", &stored, &made)
    }

    async fn messages(&self) -> Result<Vec<MessageView>, Error> {
        let mut all: Vec<MessageView> = Vec::new();
        loop {
            let after = all.last().map(|message| message.position);
            let page = self.store.messages(self.id, MessagePage::After(after, PAGE)).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    async fn calls(&self) -> Result<Vec<CallView>, Error> {
        let mut all: Vec<CallView> = Vec::new();
        loop {
            let after = all.last().map(|call| &call.id);
            let page = self.store.calls(self.id, after, PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    async fn approvals(&self) -> Result<Vec<ApprovalView>, Error> {
        let filter = ApprovalFilter { chat: Some(self.id.clone()), ..ApprovalFilter::default() };
        let mut all: Vec<ApprovalView> = Vec::new();
        loop {
            let after = all.last().map(|approval| &approval.id);
            let page = self.store.approvals(&filter, after, PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    fn same<T: PartialEq + Debug>(
        &self,
        model: &'static str,
        stored: &T,
        made: &T,
    ) -> Result<(), Broken> {
        if stored == made {
            return Ok(());
        }
        Err(self.differs(model, format!("stored is {stored:?}, the log says {made:?}")))
    }

    fn differs(&self, model: &'static str, why: String) -> Broken {
        Broken::ReadModel { chat: self.id.clone(), model, why }
    }
}
