//! Keeps the settings of worlds at hand. Dropped whenever somebody, here or in another process, changes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_store::Store;

use crate::error::Error;

#[derive(Debug, Default)]
pub(crate) struct Worlds {
    known: Mutex<HashMap<WorldId, Arc<World>>>,
}

impl Worlds {
    pub async fn get(&self, store: &dyn Store, id: &WorldId) -> Result<Arc<World>, Error> {
        if let Some(world) = self.lock().get(id) {
            return Ok(Arc::clone(world));
        }
        let world = store.world(id).await?.ok_or_else(|| Error::UnknownWorld(id.clone()))?;
        let world = Arc::new(world);
        self.lock().insert(id.clone(), Arc::clone(&world));
        Ok(world)
    }

    pub fn forget(&self, id: &WorldId) {
        self.lock().remove(id);
    }

    // A thread that panicked while holding the lock left the map as it was: every change is one call.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WorldId, Arc<World>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
