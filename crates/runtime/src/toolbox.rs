//! Knows which tools a world has now: the program's own, and those that come and go.
//! Asked by chat tasks and the engine. Never runs a tool, and knows nothing of what clients offer: that is in the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_world_core::config::{ToolSpec, Tools, World};
use agent_world_core::ids::WorldId;
use agent_world_tools::{Registry, Source, Tool};

#[derive(Debug)]
pub(crate) struct Toolbox {
    own: Arc<Registry>,
    own_specs: Arc<Tools>,
    sources: Vec<Arc<dyn Source>>,
    /// What was put together last for each world, and from what.
    known: Mutex<HashMap<WorldId, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    parts: Vec<Arc<Registry>>,
    specs: Arc<Tools>,
}

impl Toolbox {
    pub fn new(own: Registry, sources: Vec<Arc<dyn Source>>) -> Self {
        Self {
            own_specs: Arc::new(own.specs()),
            own: Arc::new(own),
            sources,
            known: Mutex::default(),
        }
    }

    /// What the program's own tools say about themselves.
    pub fn own_specs(&self) -> &Tools {
        &self.own_specs
    }

    /// What a world's tools say about themselves.
    pub fn specs(&self, world: &World) -> Arc<Tools> {
        if self.sources.is_empty() {
            return Arc::clone(&self.own_specs);
        }
        let parts = self.parts(world);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&world.id).filter(|known| same(&known.parts, &parts)) {
            return Arc::clone(&known.specs);
        }
        // The program's own come last and win: nothing from outside takes the place of one of them.
        let all = parts.iter().map(|part| part.specs()).chain([Tools::clone(&self.own_specs)]);
        let specs: Vec<ToolSpec> = all
            .flat_map(|tools| tools.iter().map(|spec| ToolSpec::clone(spec)).collect::<Vec<_>>())
            .collect();
        let specs: Arc<Tools> = Arc::new(specs.into_iter().collect());
        known.insert(world.id.clone(), Known { parts, specs: Arc::clone(&specs) });
        specs
    }

    pub fn find(&self, world: &World, name: &str) -> Option<Arc<dyn Tool>> {
        let others = || self.parts(world).iter().find_map(|part| part.get(name));
        self.own.get(name).or_else(others)
    }

    /// Returns when a world's tools are known, or known not to be had for now.
    pub async fn ready(&self, world: &World) {
        for source in &self.sources {
            source.ready(world).await;
        }
    }

    /// For a world that is gone.
    pub fn forget(&self, world: &WorldId) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(world);
        self.sources.iter().for_each(|source| source.forget(world));
    }

    pub async fn close(&self) {
        for source in &self.sources {
            source.close().await;
        }
    }

    fn parts(&self, world: &World) -> Vec<Arc<Registry>> {
        self.sources.iter().map(|source| source.tools(world)).collect()
    }
}

fn same(one: &[Arc<Registry>], other: &[Arc<Registry>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}
