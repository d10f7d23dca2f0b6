//! Replies that are being made, as HTML: one rendering of each for all who want it, which every piece carries on.
//! Called by `hub` while somebody wants HTML. A rendering that is not there, or not at a piece's place, is made from what
//! the engine has of the reply; it always stands for the text up to and with the last piece it was asked for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_world_render::{Names, Rendering};
use agent_world_runtime::store::{Scope, Store};
use agent_world_runtime::{Chunk, Engine};

use super::frame::Block;
use crate::rendering;

/// Replies at a time. Beyond, one that came early is made again when its next piece comes.
const MOST: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Live(Mutex<HashMap<String, Reply>>);

#[derive(Debug)]
struct Reply {
    rendering: Rendering,
    /// Characters it stands for.
    length: usize,
    /// The last piece: which of several was not used for long.
    number: u64,
}

impl Live {
    /// The blocks that a piece changes; all of them where nobody has followed so far.
    pub async fn changed(&self, store: &dyn Store, engine: &Engine, chunk: &Chunk) -> Vec<Block> {
        // Thoughts are no part of the text.
        if chunk.text.is_empty() {
            return Vec::new();
        }
        let id = chunk.message.to_string();
        let added = chunk.text.chars().count();
        if chunk.offset > 0
            && let Some(reply) = self.replies().get_mut(&id)
            && reply.length == chunk.offset
        {
            (reply.length, reply.number) = (chunk.offset + added, chunk.number);
            return blocks(reply.rendering.push(&chunk.text));
        }
        let Some(text) = so_far(engine, chunk, added) else {
            return Vec::new();
        };
        // A reply is worth more than its marks.
        let names = rendering::names(store, &chunk.world).await.unwrap_or_default();
        let mut rendering = Rendering::new(names);
        let changed = blocks(rendering.push(&text));
        let mut replies = self.replies();
        if replies.len() >= MOST {
            let oldest = replies.iter().min_by_key(|(_, reply)| reply.number);
            let oldest = oldest.map(|(id, _)| id.clone());
            oldest.and_then(|id| replies.remove(&id));
        }
        let length = chunk.offset + added;
        replies.insert(id, Reply { rendering, length, number: chunk.number });
        changed
    }

    /// All blocks of a reply as somebody finds it who joins.
    pub async fn all(&self, store: &dyn Store, reply: &Chunk) -> Vec<Block> {
        let length = reply.text.chars().count();
        let known = self.replies().get(reply.message.as_str()).and_then(|known| {
            (known.length == length && reply.offset == 0).then(|| known.rendering.blocks())
        });
        let all = match known {
            Some(all) => all,
            None => {
                let names: Names = rendering::names(store, &reply.world).await.unwrap_or_default();
                rendering::html(reply.text.clone(), names).await.unwrap_or_default()
            }
        };
        all.into_iter().enumerate().map(|(index, html)| Block { index, html }).collect()
    }

    /// Nothing more comes of a reply.
    pub fn forget(&self, message: &str) {
        self.replies().remove(message);
    }

    fn replies(&self) -> MutexGuard<'_, HashMap<String, Reply>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a reply up to and with a piece. The engine may be further by now, or done.
fn so_far(engine: &Engine, chunk: &Chunk, added: usize) -> Option<String> {
    if chunk.offset == 0 {
        return Some(chunk.text.clone());
    }
    let begun = engine.begun(&Scope::Chat(chunk.chat.clone()));
    let reply = begun.replies.iter().find(|reply| reply.message == chunk.message)?;
    let text: String = reply.text.chars().take(chunk.offset + added).collect();
    text.ends_with(&chunk.text).then_some(text)
}

fn blocks(changed: Vec<agent_world_render::Block>) -> Vec<Block> {
    changed.into_iter().map(|block| Block { index: block.index, html: block.html }).collect()
}
