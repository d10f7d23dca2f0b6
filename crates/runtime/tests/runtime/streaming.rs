//! Pieces of a reply while it is being made: in order, complete, and the same reply without them.

use std::sync::{Arc, Mutex};

use agent_world_core::event::Event;
use agent_world_llm::scripted::Answer;
use agent_world_llm::{Draft, Events, Model, Request};
use agent_world_runtime::{Chunk, FeedItem, Subscription};
use agent_world_store::Scope;
use tokio::sync::mpsc;

use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    pieces_come_in_order_and_make_up_the_reply,
    who_joins_in_the_middle_gets_the_text_so_far_and_then_the_rest,
    without_streaming_there_are_no_pieces_and_the_reply_is_the_same,
    an_agent_may_stream_where_its_world_does_not,
    a_reply_that_is_stopped_leaves_no_pieces_behind,
);

/// A model that says what it is given, piece by piece, until there is no more.
#[derive(Debug)]
struct Dictated {
    pieces: Mutex<Option<mpsc::UnboundedReceiver<String>>>,
}

impl Model for Dictated {
    fn stream(&self, _: Request) -> Events {
        let mut pieces = self.pieces.lock().unwrap().take().unwrap();
        Box::pin(async_stream::stream! {
            let mut draft = Draft::new();
            while let Some(piece) = pieces.recv().await {
                draft.say(&piece);
                for event in draft.take_events() {
                    yield Ok(event);
                }
            }
            draft.complete();
            for event in draft.take_events() {
                yield Ok(event);
            }
        })
    }
}

async fn stage_with_dictation(backend: Backend) -> (Stage, mpsc::UnboundedSender<String>) {
    let (dictate, pieces) = mpsc::unbounded_channel();
    let model = Dictated { pieces: Mutex::new(Some(pieces)) };
    let stage = Setup::of(&["ada"])
        .vendor("dictated", model)
        .world(|world| world.agents[0].model = Some("dictated/any".to_owned()))
        .open(backend)
        .await;
    (stage, dictate)
}

async fn next_chunk(events: &mut Subscription) -> Arc<Chunk> {
    loop {
        if let FeedItem::Chunk(chunk) = events.next().await.unwrap().unwrap() {
            return chunk;
        }
    }
}

/// Reads to the end of the turn: the pieces on the way, and the reply that is stored.
async fn read_turn(events: &mut Subscription) -> (Vec<(usize, String)>, String) {
    let (mut chunks, mut reply) = (Vec::new(), String::new());
    loop {
        match events.next().await.unwrap().unwrap() {
            FeedItem::Chunk(chunk) => chunks.push((chunk.offset, chunk.text.clone())),
            FeedItem::Output(_) => {}
            FeedItem::Stored(event) => match event.sealed.open().unwrap().event {
                Event::MessagePosted(posted) if posted.message.turn.is_some() => {
                    reply = posted.message.text;
                }
                Event::TurnEnded { .. } => return (chunks, reply),
                _ => {}
            },
        }
    }
}

fn joined(chunks: &[(usize, String)]) -> String {
    let mut text = String::new();
    for (offset, piece) in chunks {
        assert_eq!(*offset, text.chars().count(), "{chunks:?}");
        text.push_str(piece);
    }
    text
}

async fn pieces_come_in_order_and_make_up_the_reply(backend: Backend) {
    let (stage, dictate) = stage_with_dictation(backend).await;
    let mut events = stage.engine.subscribe(Scope::Chat(stage.chat.clone()), 0);
    stage.say("hello").await;
    let pieces = ["Grüß ", "Gott", ", ", "wie geht ", "es?"];
    let mut seen = Vec::new();
    for piece in pieces {
        dictate.send(piece.to_owned()).unwrap();
        let chunk = next_chunk(&mut events).await;
        assert_eq!((chunk.chat.clone(), chunk.agent.as_str()), (stage.chat.clone(), "ada"));
        seen.push((chunk.offset, chunk.text.clone()));
    }
    drop(dictate);
    let (rest, reply) = read_turn(&mut events).await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(joined(&seen), reply);
    assert_eq!(reply, pieces.concat());
}

async fn who_joins_in_the_middle_gets_the_text_so_far_and_then_the_rest(backend: Backend) {
    let (stage, dictate) = stage_with_dictation(backend).await;
    let scope = Scope::Chat(stage.chat.clone());
    let mut early = stage.engine.subscribe(scope.clone(), 0);
    stage.say("hello").await;
    for piece in ["Hel", "lo, "] {
        dictate.send(piece.to_owned()).unwrap();
        next_chunk(&mut early).await;
    }
    let mut late = stage.engine.subscribe(scope.clone(), 0);
    let mut elsewhere = stage.engine.subscribe(Scope::World("other".into()), 0);
    for piece in ["wor", "ld"] {
        dictate.send(piece.to_owned()).unwrap();
        next_chunk(&mut early).await;
    }
    let mut later = stage.engine.subscribe(scope, 0);
    drop(dictate);
    let expected = |pieces: &[(usize, &str)]| -> Vec<(usize, String)> {
        pieces.iter().map(|(offset, text)| (*offset, (*text).to_owned())).collect()
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let chunk = next_chunk(&mut late).await;
        seen.push((chunk.offset, chunk.text.clone()));
    }
    assert_eq!(seen, expected(&[(0, "Hello, "), (7, "wor"), (10, "ld")]));
    let chunk = next_chunk(&mut later).await;
    assert_eq!((chunk.offset, chunk.text.as_str()), (0, "Hello, world"));
    assert_eq!(read_turn(&mut early).await, (Vec::new(), "Hello, world".to_owned()));

    // Whoever follows another world hears nothing of it.
    stage.engine.shutdown().await;
    assert_eq!(elsewhere.next().await.unwrap(), None);
}

async fn without_streaming_there_are_no_pieces_and_the_reply_is_the_same(backend: Backend) {
    let stage = Setup::of(&["ada"]).world(|world| world.streaming = false).open(backend).await;
    let mut events = stage.engine.subscribe(Scope::Chat(stage.chat.clone()), 0);
    stage.model.push("ada", Answer::text("Word for word.").in_chunks(2));
    stage.say("hello").await;
    assert_eq!(read_turn(&mut events).await, (Vec::new(), "Word for word.".to_owned()));
    assert!(!stage.model.requests()[0].stream);
    stage.engine.shutdown().await;
    let left = events.next().await.unwrap();
    assert!(!matches!(left, Some(FeedItem::Chunk(_))), "{left:?}");
}

async fn an_agent_may_stream_where_its_world_does_not(backend: Backend) {
    let stage = Setup::of(&["ada"])
        .world(|world| {
            world.streaming = false;
            world.agents[0].streaming = Some(true);
        })
        .open(backend)
        .await;
    let mut events = stage.engine.subscribe(Scope::Chat(stage.chat.clone()), 0);
    let held = crate::props::gate();
    stage.model.push("ada", Answer::text("Word for word.").in_chunks(5).ended_by(&held));
    stage.say("hello").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let chunk = next_chunk(&mut events).await;
        seen.push((chunk.offset, chunk.text.clone()));
    }
    assert_eq!(joined(&seen), "Word for word.");
    held.add_permits(1);
    assert_eq!(read_turn(&mut events).await.1, "Word for word.");
}

async fn a_reply_that_is_stopped_leaves_no_pieces_behind(backend: Backend) {
    let (stage, dictate) = stage_with_dictation(backend).await;
    let scope = Scope::Chat(stage.chat.clone());
    let mut events = stage.engine.subscribe(scope.clone(), 0);
    stage.say("hello").await;
    dictate.send("I was about to".to_owned()).unwrap();
    next_chunk(&mut events).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    // The call is over when nobody listens to the dictation any more.
    dictate.closed().await;
    let position = stage.store.position().await.unwrap();
    let mut late = stage.engine.subscribe(scope, position);
    stage.engine.rename_chat(&stage.chat, "Stopped", "eve").await.unwrap();
    let next = late.next().await.unwrap().unwrap();
    assert!(matches!(next, FeedItem::Stored(_)), "{next:?}");
}
