//! Long results: stored once in their world, read in pieces, and gone with it.

use agent_world_core::chain::Hash;
use agent_world_core::command::{Command, Scope as Reach, ToolResult};
use agent_world_core::event::Output;
use agent_world_core::long_result;
use agent_world_store::verify::{Broken, compare_read_models};
use agent_world_store::{Error, ResultPiece, Store};
use rusqlite::Connection;

use crate::backend::{Backend, OnDisk, on_every_store};
use crate::teller::{Teller, change, create_world};

on_every_store!(
    a_result_is_read_in_pieces_of_any_size,
    a_result_is_stored_once_and_lasts,
    a_result_belongs_to_its_world_and_goes_with_it,
    a_result_named_by_the_log_is_verified,
);

/// Every place unlike its neighbours, with characters of one to four bytes, and with what ends a text in C.
fn long_text() -> String {
    let mut text: String = (0..9_000).map(|number| format!("{number} äßλ🦀\0")).collect();
    text.push_str("end");
    text
}

async fn piece(
    store: &dyn Store,
    world: &str,
    digest: Hash,
    offset: u64,
    limit: u64,
) -> Option<ResultPiece> {
    store.result(&world.into(), digest, offset, limit).await.unwrap()
}

async fn a_result_is_read_in_pieces_of_any_size(backend: impl Backend) {
    let store = backend.store();
    create_world(&*store, "w").await;
    let text = long_text();
    let digest = store.keep_result(&"w".into(), text.clone()).await.unwrap();
    assert_eq!(digest, Hash::of(text.as_bytes()));
    let characters: Vec<char> = text.chars().collect();
    let total = characters.len() as u64;
    for (offset, limit) in [
        (0, 1),
        (0, 8_192),
        (0, 8_193),
        (8_191, 2),
        (8_192, 8_192),
        (5, 20_000),
        (total - 1, 10),
        (total, 10),
        (total + 50_000, 10),
        (0, u64::MAX),
        (u64::MAX, u64::MAX),
        (3, 0),
    ] {
        let start = usize::try_from(offset).unwrap().min(characters.len());
        let end = usize::try_from(offset.saturating_add(limit)).unwrap().min(characters.len());
        let expected: String = characters[start..end].iter().collect();
        let found = piece(&*store, "w", digest, offset, limit).await.unwrap();
        assert_eq!(found.characters, total);
        assert!(found.text == expected, "{offset} {limit}");
    }
}

async fn a_result_is_stored_once_and_lasts(mut backend: impl Backend) {
    let store = backend.store();
    create_world(&*store, "w").await;
    let first = store.keep_result(&"w".into(), long_text()).await.unwrap();
    let again = store.keep_result(&"w".into(), long_text()).await.unwrap();
    assert_eq!(first, again);
    let empty = store.keep_result(&"w".into(), String::new()).await.unwrap();
    drop(store);
    backend.restart();
    let found = piece(&*backend.store(), "w", first, 0, u64::MAX).await.unwrap();
    assert!(found.text == long_text());
    let nothing = ResultPiece { text: String::new(), characters: 0 };
    assert_eq!(piece(&*backend.store(), "w", empty, 0, 10).await, Some(nothing));
}

async fn a_result_belongs_to_its_world_and_goes_with_it(backend: impl Backend) {
    let store = backend.store();
    create_world(&*store, "w").await;
    create_world(&*store, "x").await;
    let refused = store.keep_result(&"none".into(), "text".to_owned()).await;
    assert!(matches!(refused, Err(Error::UnknownWorld(_))));
    let digest = store.keep_result(&"w".into(), "text".to_owned()).await.unwrap();
    assert_eq!(piece(&*store, "x", digest, 0, 10).await, None);
    store.keep_result(&"x".into(), "text".to_owned()).await.unwrap();
    store.delete_world(&"w".into(), change("world", "deleted", "w")).await.unwrap();
    assert_eq!(piece(&*store, "w", digest, 0, 10).await, None);
    assert!(piece(&*store, "x", digest, 0, 10).await.is_some());
}

/// A call whose long result is stored apart or, so that it can be missed, is not.
async fn run_long(teller: &mut Teller, store_it: bool) {
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("cat").await;
    teller.approve(&approval, Reach::Once).await;
    let call = teller.chat.runnable().next().unwrap().made.call.clone();
    teller.tell(Command::StartTool { call: call.clone(), look: None }).await.unwrap();
    let (cut, text) = long_result::set_apart(&call, &Output::text(long_text()), 4_000).unwrap();
    if store_it {
        teller.store.keep_result(&teller.world.id, text).await.unwrap();
    }
    let result = ToolResult::Completed(cut);
    teller.tell(Command::RecordToolResult { call, attempt: 1, result }).await.unwrap();
}

async fn a_result_named_by_the_log_is_verified(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    run_long(&mut teller, true).await;
    compare_read_models(&*store, &teller.id()).await.unwrap();
    let stored = store.calls(&teller.id(), None, 1).await.unwrap().remove(0).output.unwrap();
    assert!(stored.text.chars().count() < 4_300 && stored.whole.is_some());
    let mut other = Teller::begin(store.clone(), &create_world(&*store, "x").await).await;
    run_long(&mut other, false).await;
    match compare_read_models(&*store, &other.id()).await {
        Err(Broken::ReadModel { model: "a result", why, .. }) => {
            assert!(why.contains("is not stored"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_edited_result_is_found_also_from_a_fork() {
    let edits = [
        "UPDATE result_pieces SET text = 'forged' WHERE first = 16384",
        "DELETE FROM result_pieces WHERE first = 8192",
    ];
    for sql in edits {
        let backend = OnDisk::empty();
        let store = backend.store();
        let world = create_world(&*store, "w").await;
        let mut teller = Teller::begin(store.clone(), &world).await;
        run_long(&mut teller, true).await;
        teller.answer_text("done").await;
        let mut fork = Teller::unborn(store.clone(), &world);
        fork.begin_fork_of(&teller).await;
        compare_read_models(&*store, &fork.id()).await.unwrap();
        let connection = Connection::open(backend.path()).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
        for chat in [teller.id(), fork.id()] {
            let found = compare_read_models(&*store, &chat).await;
            let named = matches!(&found, Err(Broken::ReadModel { model: "a result", .. }));
            assert!(named, "{sql}: {found:?}");
        }
    }
}
