//! Scenes in which tools come and go while the engine runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agent_world_core::command::Scope;
use agent_world_core::config::World;
use agent_world_llm::scripted::Answer;
use agent_world_tools::scripted::Scripted;
use agent_world_tools::{Registry, Source};
use async_trait::async_trait;

use crate::props::{call, doing, done, free, offered, shown, spec};
use crate::stage::{Backend, Setup, on_both_stores};

on_both_stores!(
    a_model_is_offered_what_a_source_has_when_it_is_asked,
    a_tool_of_the_program_is_not_replaced_by_one_from_a_source,
    an_approved_call_of_a_tool_that_is_gone_fails,
);

#[derive(Debug, Default)]
struct Shelf {
    tools: Mutex<Arc<Registry>>,
    late: Mutex<Option<Scripted>>,
    closed: AtomicBool,
}

impl Shelf {
    fn put(&self, tools: &[Scripted]) {
        let mut registry = Registry::default();
        for tool in tools {
            registry.add(Arc::new(tool.clone())).unwrap();
        }
        *self.tools.lock().unwrap() = Arc::new(registry);
    }
}

#[async_trait]
impl Source for Shelf {
    fn tools(&self, _world: &World) -> Arc<Registry> {
        Arc::clone(&self.tools.lock().unwrap())
    }

    async fn ready(&self, _world: &World) {
        let late = self.late.lock().unwrap().take();
        if let Some(tool) = late {
            self.put(&[tool]);
        }
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

async fn a_model_is_offered_what_a_source_has_when_it_is_asked(backend: Backend) {
    let shelf = Arc::new(Shelf::default());
    let tool = doing(free("far.act"));
    *shelf.late.lock().unwrap() = Some(tool.clone());
    let stage = Setup::of(&["ada"]).source(&shelf).open(backend).await;
    stage.model.push("ada", call("far.act", "it"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    stage.idle().await;
    assert_eq!(done(&tool), ["it"]);

    shelf.put(&[]);
    stage.model.push("ada", call("far.act", "it"));
    stage.model.push("ada", Answer::text("Gone."));
    stage.say("again").await;
    stage.idle().await;
    let requests = stage.model.requests();
    assert!(!offered(&requests[2]).contains(&"far.act".to_owned()));
    let told = shown(&requests[3]);
    assert!(told.last().unwrap().contains("unknown tool `far.act`"), "{told:?}");
    stage.engine.shutdown().await;
    assert!(shelf.closed.load(Ordering::SeqCst));
}

async fn a_tool_of_the_program_is_not_replaced_by_one_from_a_source(backend: Backend) {
    let (own, far) = (doing(spec("act")), doing(free("act")));
    let shelf = Arc::new(Shelf::default());
    shelf.put(std::slice::from_ref(&far));
    let stage = Setup::of(&["ada"]).tool(&own).source(&shelf).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    stage.approve(&asked.id, Scope::Once).await;
    stage.idle().await;
    assert_eq!((own.count(), far.count()), (1, 0));
}

async fn an_approved_call_of_a_tool_that_is_gone_fails(backend: Backend) {
    let shelf = Arc::new(Shelf::default());
    let tool = doing(spec("far.act"));
    shelf.put(std::slice::from_ref(&tool));
    let stage = Setup::of(&["ada"]).source(&shelf).open(backend).await;
    stage.model.push("ada", call("far.act", "it"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    shelf.put(&[]);
    stage.approve(&asked.id, Scope::Once).await;
    stage.idle().await;
    assert_eq!((tool.count(), stage.states().await), (0, vec!["failed"]));
}
