//! A process of the simulation: a worker and a visitor on one store, and a reader that follows along and picks up
//! where it was after every crash.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_world_runtime::{Engine, FeedItem, Mode, Options};
use agent_world_store::{Memory, Scope};
use tokio::task::JoinHandle;

use crate::outside::{Deeds, Outside, RandomModel, tools};
use crate::random::Random;

/// What a reader saw, over all processes.
pub type Seen = Arc<Mutex<Vec<u64>>>;

pub struct Node {
    pub memory: Memory,
    pub worker: Engine,
    pub visitor: Engine,
    reader: JoinHandle<()>,
}

/// What every process of one run is started with.
#[derive(Clone)]
pub struct Parts {
    pub random: Random,
    pub began: tokio::time::Instant,
    pub deeds: Deeds,
    pub seen: Seen,
}

impl Node {
    pub fn start(memory: Memory, parts: &Parts) -> Self {
        let worker = engine(&memory, parts, Mode::Worker);
        let visitor = engine(&memory, parts, Mode::Visitor);
        let reader = tokio::spawn(read(worker.clone(), Arc::clone(&parts.seen)));
        Self { memory, worker, visitor, reader }
    }

    /// The process dies; another one is started on what is stored.
    pub async fn restart(self, parts: &Parts) -> Self {
        self.memory.crash();
        self.worker.abandon();
        self.visitor.abandon();
        self.reader.abort();
        // Lets the dead be buried before the next one is born.
        tokio::time::sleep(Duration::from_millis(1)).await;
        Self::start(self.memory.restart(), parts)
    }
}

fn engine(memory: &Memory, parts: &Parts, mode: Mode) -> Engine {
    let random = parts.random.clone();
    let environment = Outside { began: parts.began, random: random.clone() };
    let mut builder = Engine::builder(Arc::new(memory.clone()))
        .mode(mode)
        .environment(Arc::new(environment))
        .model("random", Arc::new(RandomModel { random: random.clone() }))
        .options(Options { idle_grace: random.milliseconds(3_000), ..Options::default() });
    for tool in tools(&parts.deeds, &random) {
        builder = builder.tool(tool).unwrap();
    }
    builder.start().unwrap()
}

async fn read(engine: Engine, seen: Seen) {
    loop {
        let cursor = seen.lock().unwrap().last().copied().unwrap_or(0);
        let mut subscription = engine.subscribe(Scope::All, cursor);
        loop {
            match subscription.next().await {
                Ok(Some(FeedItem::Stored(event))) => seen.lock().unwrap().push(event.position),
                Ok(Some(FeedItem::Chunk(_) | FeedItem::Output(_))) => {}
                Ok(None) => return,
                Err(_) => break,
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
