//! Keeps the settings of worlds at hand. Dropped whenever somebody, here or in another process, changes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_store::Store;

use crate::error::Error;

#[derive(Debug, Default)]
pub(crate) struct Worlds {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    worlds: HashMap<WorldId, Arc<World>>,
    /// Counts how often something was dropped: what was read before may be out of date.
    dropped: u64,
}

impl Worlds {
    pub async fn get(&self, store: &dyn Store, id: &WorldId) -> Result<Arc<World>, Error> {
        let dropped = {
            let known = self.lock();
            if let Some(world) = known.worlds.get(id) {
                return Ok(Arc::clone(world));
            }
            known.dropped
        };
        let world = store.world(id).await?.ok_or_else(|| Error::UnknownWorld(id.clone()))?;
        let world = Arc::new(world);
        let mut known = self.lock();
        // If the settings changed during the read, it may have seen the old ones: they must not stay.
        if known.dropped == dropped {
            known.worlds.insert(id.clone(), Arc::clone(&world));
        }
        Ok(world)
    }

    pub fn forget(&self, id: &WorldId) {
        let mut known = self.lock();
        known.worlds.remove(id);
        known.dropped += 1;
    }

    // A thread that panicked while holding the lock left the map usable: at worst something is read again.
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
