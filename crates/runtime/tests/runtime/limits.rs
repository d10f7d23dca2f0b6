//! Where one thing ends and another begins: keys, deleted worlds, what others wrote, snapshots of another time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_world_core::command::Scope as Reach;
use agent_world_core::item::Part;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Error, NewMessage};
use agent_world_store::memory::faults::{Fault, Operation};
use serde_json::json;

use crate::props::{approval_of, doing, free, gate, spec};
use crate::stage::{Backend, Setup, on_both_stores, perform, perform_in_virtual_time};

on_both_stores!(
    a_key_means_something_within_its_chat_only,
    a_key_used_for_something_else_is_refused,
    a_world_deleted_by_another_process_takes_its_work_along,
    a_deleted_chat_leaves_memory_at_once,
    a_decision_after_the_expiry_is_refused_though_nobody_kept_the_time,
);

fn keyed(text: &str) -> NewMessage {
    NewMessage { key: Some("key-1".to_owned()), ..NewMessage::human(text) }
}

async fn a_key_means_something_within_its_chat_only(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let other = stage.new_chat().await;
    stage.engine.post(&stage.chat, keyed("in one chat")).await.unwrap();
    let posted = stage.engine.post(&other, keyed("in the other")).await.unwrap();
    assert_eq!(posted.message.text, "in the other");
    stage.idle_in(&other).await;
    assert_eq!(stage.requests_of("ada").len(), 2);
}

async fn a_key_used_for_something_else_is_refused(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let first = stage.engine.post(&stage.chat, keyed("one thing")).await.unwrap();
    let again = stage.engine.post(&stage.chat, keyed("one thing")).await.unwrap();
    assert_eq!(again.message.id, first.message.id);
    let refused = stage.engine.post(&stage.chat, keyed("another thing")).await;
    assert!(matches!(refused, Err(Error::KeyReused)), "{refused:?}");
    // The same words about another picture are another thing.
    let image = Part::InputImage {
        image_url: Some("data:image/png;base64,AAAA".to_owned()),
        file_id: None,
        extra: Default::default(),
    };
    let shown = NewMessage { parts: vec![image], ..keyed("one thing") };
    let refused = stage.engine.post(&stage.chat, shown).await;
    assert!(matches!(refused, Err(Error::KeyReused)), "{refused:?}");
}

async fn a_world_deleted_by_another_process_takes_its_work_along(backend: Backend) {
    let held = gate();
    let tool = doing(free("act")).held_by(&held);
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        // Nobody leaves memory in this scene for want of something to do.
        .options(|options| options.idle_grace = Duration::from_secs(3_600))
        .open(backend)
        .await;
    stage.model.push("ada", Answer::call("act", json!({"what": "forever"})));
    stage.say("@ada go").await;
    tool.received(1).await;
    stage.visitor().delete_world(&stage.world, "joe").await.unwrap();
    // Nothing is stored any more that one could follow; the chats must leave memory by themselves.
    while stage.engine.resident_chats() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(tool.invocations()[0].cancelled.is_cancelled(), "its tool was ended");
    let refused = stage.engine.post(&stage.chat, NewMessage::human("anybody?")).await;
    assert!(refused.is_err(), "{refused:?}");
}

async fn a_deleted_chat_leaves_memory_at_once(backend: Backend) {
    let stage = Setup::of(&["ada"])
        .options(|options| options.idle_grace = Duration::from_secs(3_600))
        .open(backend)
        .await;
    stage.say("@ada hello").await;
    stage.idle().await;
    let others = stage.engine.resident_chats() - 1;
    stage.engine.delete_chat(&stage.chat, "joe").await.unwrap();
    while stage.engine.resident_chats() > others {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_decision_after_the_expiry_is_refused_though_nobody_kept_the_time(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        .world(|world| world.approval_timeout_seconds = Some(1))
        // Nobody looks at the time in this scene.
        .options(|options| {
            options.poll = Duration::from_secs(3_600);
            options.idle_grace = Duration::ZERO;
        })
        .open(backend)
        .await;
    stage.model.push("ada", Answer::call("act", json!({"what": "late"})));
    stage.say("@ada go").await;
    let asked = stage.pending(1).await.remove(0);
    let expires_at = asked.expires_at.unwrap();
    while stage.now() < expires_at {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = stage.answer(&asked.id, approval_of(Reach::Once)).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(tool.count(), 0);
}

#[test]
fn what_others_write_does_not_have_history_read_from_the_beginning() {
    perform_in_virtual_time(async |backend| {
        let stage = Setup::of(&["ada"]).open(backend).await;
        let visitor = stage.visitor();
        // Several pages of events.
        for number in 0..600 {
            stage.say(&format!("@ada number {number}")).await;
            stage.idle().await;
        }
        let pages = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&pages);
        stage.memory().set_faults(move |operation: &Operation<'_>| {
            if let Operation::Read("events") = operation {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            Fault::Proceed
        });
        visitor.post(&stage.chat, NewMessage::human("@ada from elsewhere")).await.unwrap();
        let asked = stage.requests_of("ada").len();
        stage.model.received(asked + 1).await;
        stage.memory().clear_faults();
        let request = stage.requests_of("ada").pop().unwrap();
        assert_eq!(request.input.len(), 1_201, "all that was said before, and the new message");
        assert!(
            pages.load(Ordering::SeqCst) <= 2,
            "{} pages were read",
            pages.load(Ordering::SeqCst)
        );
    });
}

#[test]
fn a_snapshot_that_cannot_be_read_is_made_good_by_the_log() {
    perform(Backend::Sqlite, async |backend| {
        let stage = Setup::of(&["ada"]).open(backend).await;
        for number in 0..20 {
            stage.say(&format!("@ada number {number}")).await;
            stage.idle().await;
        }
        let path = stage.path();
        let closed = stage.crash().await;
        let file = rusqlite::Connection::open(path).unwrap();
        let spoiled = file.execute("UPDATE snapshots SET state = '{\"format\":0}'", []).unwrap();
        assert!(spoiled > 0, "there was no snapshot to spoil");
        let stage = closed.open().await;
        stage.say("@ada are you there?").await;
        stage.idle().await;
        let request = stage.requests_of("ada").pop().unwrap();
        assert_eq!(request.input.len(), 41);
    });
}
