//! Decides whether a world's settings and granted rules are what its events say, by folding them.
//! Called by `verify_world` once the world's own log was found whole. Never repairs anything.

use agent_world_core::config::World;
use agent_world_core::event::{Decision, Event, Permission};
use agent_world_core::ids::WorldId;
use agent_world_core::policy::Rule;

use super::{Broken, PAGE};
use crate::Store;
use crate::error::Error;
use crate::types::{Scope, StoredEvent, WorldChange};

/// How often a world may change while it is looked at.
const TRIES: usize = 8;

/// The kind of the events among which rules are granted.
const APPROVAL_DECIDED: &str = "approval_decided";

/// Compares what is stored for a world with what its own events and those of its chats say.
pub(super) async fn compare(store: &dyn Store, world: &WorldId) -> Result<(), Broken> {
    let mut told = Told::default();
    told.read_on(store, world).await?;
    for _ in 0..TRIES {
        let stored = store.world(world).await?;
        let changes = told.changes;
        // The events and the settings are read one after another; they are of one moment only if nothing was
        // changed in between.
        told.read_on(store, world).await?;
        if told.changes == changes {
            return told.check(world, stored);
        }
    }
    Err(Error::Busy(format!("world {world} never stands still")).into())
}

/// A world as its events tell it.
#[derive(Default)]
struct Told {
    /// The last event that was read.
    position: u64,
    /// How many events changed anything here.
    changes: u64,
    /// Without granted rules. Absent before the first event that holds settings: older ones did not.
    settings: Option<World>,
    granted: Vec<Rule>,
}

impl Told {
    async fn read_on(&mut self, store: &dyn Store, world: &WorldId) -> Result<(), Broken> {
        loop {
            let scope = Scope::World(world.clone());
            let page = store.events(&scope, self.position, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            self.position = last.position;
            for event in &page {
                self.take(event)?;
            }
        }
    }

    fn take(&mut self, event: &StoredEvent) -> Result<(), Error> {
        match &event.chat {
            None => self.changed(serde_json::from_str(&event.sealed.payload)?),
            Some(_) if event.sealed.kind == APPROVAL_DECIDED => {
                self.decided(event.sealed.open()?.event);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    fn changed(&mut self, change: WorldChange) -> Result<(), Error> {
        self.changes += 1;
        match (change.entity.as_str(), change.action.as_str()) {
            ("world", "deleted") => (self.settings, self.granted) = (None, Vec::new()),
            ("rule", "deleted") => {
                self.granted.retain(|rule| rule.id.as_str() != change.id);
                self.count_up();
            }
            _ => {}
        }
        if let Some(settings) = change.settings {
            self.settings = Some(serde_json::from_value(settings)?);
        }
        Ok(())
    }

    fn decided(&mut self, event: Event) {
        if let Event::ApprovalDecided(decided) = event
            && let Decision::Approved { scope: Permission::Always(rule), .. } = decided.decision
        {
            self.changes += 1;
            self.granted.push(rule);
            self.count_up();
        }
    }

    /// Granting and revoking a rule make a new version, too.
    fn count_up(&mut self) {
        if let Some(settings) = &mut self.settings {
            settings.version += 1;
        }
    }

    fn check(self, world: &WorldId, stored: Option<World>) -> Result<(), Broken> {
        let differs = |what, why| Broken::Settings { world: world.clone(), what, why };
        let mut stored = stored;
        let granted = stored
            .as_mut()
            .map(|stored| std::mem::take(&mut stored.policy.granted))
            .unwrap_or_default();
        if *granted != self.granted {
            let why = format!("stored is {granted:?}, the log says {:?}", self.granted);
            return Err(differs("granted rules", why));
        }
        match (stored, self.settings) {
            (stored, Some(settings)) if stored.as_ref() != Some(&settings) => {
                let why = format!("stored is {stored:?}, the log says {settings:?}");
                Err(differs("settings", why))
            }
            _ => Ok(()),
        }
    }
}
