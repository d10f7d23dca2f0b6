//! What a message and its answer cost in chats of different lengths, with a model that does not read its prompt.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_core::ids::ChatId;
use agent_world_runtime::{Engine, FeedItem, NewMessage};
use agent_world_store::sqlite::Role;
use agent_world_store::{Append, Scope, Sqlite};

use crate::{Effort, bare, capture, cast, median, milliseconds, report, runtime};

/// How much more a message may cost in a long chat.
const REQUIRED: f64 = 1.5;

/// A message and its answer.
pub async fn exchange(engine: &Engine, chat: &ChatId) {
    let posted = engine.post(chat, NewMessage::human("@bob how is it going?")).await.unwrap();
    let mut events = engine.subscribe(Scope::Chat(chat.clone()), posted.position);
    while let Some(item) = events.next().await.unwrap() {
        if matches!(item, FeedItem::Stored(event) if event.sealed.kind == "turn_ended") {
            return;
        }
    }
}

pub fn measure(effort: Effort) {
    let lengths = effort.pick([10, 1_000, 10_000], [10, 200, 2_000]);
    let (chat, appends) = capture::conversation(lengths[2]);
    let folder = tempfile::tempdir().unwrap();
    let chats: Vec<LongChat> = lengths
        .iter()
        .map(|length| {
            // The chat's making is one append, each message with its answer two.
            let part = appends.iter().take(1 + *length).cloned().collect();
            LongChat::open(&folder.path().join(format!("{length}.db")), &chat, part)
        })
        .collect();
    // In turns, so that all lengths meet the same machine.
    let mut times = vec![Vec::new(); chats.len()];
    for _ in 0..effort.pick(300, 40) {
        for (times, long) in times.iter_mut().zip(&chats) {
            times.push(long.exchange().as_secs_f64());
        }
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for ((length, long), median) in lengths.iter().zip(&chats).zip(&medians) {
        let what = format!("message and answer after {length} messages");
        report(&what, &milliseconds(Duration::from_secs_f64(*median)), None);
        let what = format!("  the first one, from disk, after {length} messages");
        report(&what, &milliseconds(long.first), None);
    }
    for (length, median) in lengths.iter().zip(&medians).skip(1) {
        let ratio = median / medians[0];
        let verdict = ("<= 1.5", ratio <= REQUIRED);
        report(
            &format!("{length} / {} messages", lengths[0]),
            &format!("{ratio:.2}"),
            Some(verdict),
        );
    }
    chats.into_iter().for_each(LongChat::close);
}

/// An engine of its own on a store that holds one chat.
struct LongChat {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    chat: ChatId,
    /// What the first message took: the chat was not in memory.
    first: Duration,
}

impl LongChat {
    fn open(path: &Path, chat: &ChatId, appends: Vec<Append>) -> Self {
        let mut connection = bare::open(path);
        for group in bare::prepare(appends).chunks(256) {
            bare::write(&mut connection, group);
        }
        drop(connection);
        let runtime = runtime();
        let engine = runtime.block_on(async {
            let store = Sqlite::open(path, Role::Worker).unwrap();
            cast::engine(Arc::new(store))
        });
        let mut long = Self { runtime, engine, chat: chat.clone(), first: Duration::ZERO };
        long.first = long.exchange();
        long
    }

    fn exchange(&self) -> Duration {
        let begin = Instant::now();
        self.runtime.block_on(exchange(&self.engine, &self.chat));
        begin.elapsed()
    }

    fn close(self) {
        self.runtime.block_on(self.engine.shutdown());
    }
}
