//! Has the real engine work on a store in memory and keeps what it appends, to write the same rows elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_world_core::ids::ChatId;
use agent_world_runtime::{Engine, NewMessage, Options};
use agent_world_store::memory::faults::{Fault, Operation};
use agent_world_store::{Append, Memory};

use crate::cast;
use crate::runtime;

/// Everything appended, in order.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<Append>>>);

impl Captured {
    fn from(memory: &Memory) -> Self {
        let captured = Self::default();
        let kept = captured.clone();
        memory.set_faults(move |operation: &Operation<'_>| {
            if let Operation::Append { append, .. } = operation {
                kept.0.lock().unwrap().push((*append).clone());
            }
            Fault::Proceed
        });
        captured
    }

    fn take(&self) -> Vec<Append> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The making of chats, and turns with an approved tool in all of them.
pub fn turns(chats: usize, turns: usize) -> (Vec<Append>, Vec<Append>) {
    let memory = Memory::new();
    let captured = Captured::from(&memory);
    runtime().block_on(async {
        let engine = cast::engine(Arc::new(memory));
        engine.create_world(cast::world(), "eve").await.unwrap();
        let chats = cast::new_chats(&engine, chats).await;
        let made = captured.take();
        cast::take_turns(&engine, &chats, turns).await;
        engine.shutdown().await;
        (made, captured.take())
    })
}

/// A chat of so many messages: half of them asked by a person, half answered by an agent.
pub fn conversation(messages: usize) -> (ChatId, Vec<Append>) {
    let memory = Memory::new();
    let captured = Captured::from(&memory);
    runtime().block_on(async {
        let engine = cast::engine(Arc::new(memory));
        engine.create_world(cast::world(), "eve").await.unwrap();
        captured.take();
        let chat = cast::new_chats(&engine, 1).await.remove(0);
        for _ in 0..messages / 2 {
            crate::length::exchange(&engine, &chat).await;
        }
        engine.shutdown().await;
        (chat, captured.take())
    })
}

/// Chats that each wait for an approval.
pub fn waiting(chats: usize) -> Vec<Append> {
    let memory = Memory::new();
    let captured = Captured::from(&memory);
    runtime().block_on(async {
        let options = Options { idle_grace: Duration::ZERO, ..Options::default() };
        let engine = cast::engine_with(Arc::new(memory), options);
        engine.create_world(cast::world(), "eve").await.unwrap();
        captured.take();
        for _ in 0..chats {
            let chat = cast::new_chats(&engine, 1).await.remove(0);
            post(&engine, &chat).await;
        }
        while captured.0.lock().unwrap().len() < 3 * chats {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        engine.shutdown().await;
        captured.take()
    })
}

async fn post(engine: &Engine, chat: &ChatId) {
    engine.post(chat, NewMessage::human("@ada tidy up, please")).await.unwrap();
}
