//! What small documents promise: no lost update, pages in the order of keys, and kinds that do not mix.

use agent_world_core::Timestamp;
use agent_world_store::{Document, DocumentWrite, Error, Expected, Store};

use crate::backend::{Backend, on_every_store};

on_every_store!(
    a_document_is_read_as_it_was_written_also_after_a_restart,
    a_write_that_expects_something_else_is_refused_and_changes_nothing,
    of_racing_writes_that_expect_the_same_one_wins,
    pages_come_in_the_order_of_keys_and_leave_nothing_out,
    kinds_do_not_mix,
    what_is_deleted_is_gone_and_counts_anew,
    what_is_old_is_removed_and_the_rest_stays,
    keys_and_bodies_may_be_any_text,
);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn write(kind: &str, key: &str, expected: Expected, body: &str) -> DocumentWrite {
    let (kind, key, body) = (kind.to_owned(), key.to_owned(), body.to_owned());
    DocumentWrite { kind, key, expected, body, at: at(0) }
}

async fn put(store: &dyn Store, kind: &str, key: &str) {
    store.write_document(write(kind, key, Expected::Anything, key)).await.unwrap();
}

async fn keys(store: &dyn Store, kind: &str, after: Option<&str>, limit: usize) -> Vec<String> {
    let page = store.documents(kind, after, limit).await.unwrap();
    page.into_iter().map(|document| document.key).collect()
}

async fn a_document_is_read_as_it_was_written_also_after_a_restart(mut backend: impl Backend) {
    let store = backend.store();
    assert_eq!(store.document("k", "a").await.unwrap(), None);
    let written = DocumentWrite {
        at: Timestamp::from_nanosecond(1_800_000_000_123_456_789).unwrap(),
        ..write("k", "a", Expected::Nothing, "{\"x\":1}")
    };
    assert_eq!(store.write_document(written.clone()).await.unwrap(), 1);
    let stored =
        Document { key: "a".to_owned(), version: 1, at: written.at, body: "{\"x\":1}".to_owned() };
    assert_eq!(store.document("k", "a").await.unwrap(), Some(stored.clone()));
    drop(store);
    backend.restart();
    assert_eq!(backend.store().document("k", "a").await.unwrap(), Some(stored.clone()));
    assert_eq!(backend.store().documents("k", None, 9).await.unwrap(), [stored]);
}

async fn a_write_that_expects_something_else_is_refused_and_changes_nothing(backend: impl Backend) {
    let store = backend.store();
    let attempt =
        async |expected, body: &str| store.write_document(write("k", "a", expected, body)).await;
    for expected in [Expected::Version(0), Expected::Version(1)] {
        let error = attempt(expected, "x").await.unwrap_err();
        assert!(matches!(error, Error::DocumentConflict { actual: None, .. }), "{error:?}");
    }
    assert_eq!(attempt(Expected::Nothing, "first").await.unwrap(), 1);
    assert_eq!(attempt(Expected::Version(1), "second").await.unwrap(), 2);
    for expected in [Expected::Nothing, Expected::Version(1), Expected::Version(3)] {
        match attempt(expected, "lost").await {
            Err(Error::DocumentConflict { kind, key, actual }) => {
                assert_eq!((kind.as_str(), key.as_str(), actual), ("k", "a", Some(2)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.document("k", "a").await.unwrap().unwrap().body, "second");
    assert_eq!(attempt(Expected::Anything, "third").await.unwrap(), 3);
}

async fn of_racing_writes_that_expect_the_same_one_wins(backend: impl Backend) {
    let store = backend.store();
    let racers: Vec<_> = (0..16)
        .map(|number| {
            let store = backend.store();
            let body = number.to_string();
            tokio::spawn(async move {
                let write = write("k", "a", Expected::Nothing, &body);
                store.write_document(write).await.ok().map(|_| body)
            })
        })
        .collect();
    let mut winners = Vec::new();
    for racer in racers {
        winners.extend(racer.await.unwrap());
    }
    let stored = store.document("k", "a").await.unwrap().unwrap();
    assert_eq!((winners, stored.version), (vec![stored.body], 1));
}

async fn pages_come_in_the_order_of_keys_and_leave_nothing_out(backend: impl Backend) {
    let store = backend.store();
    for key in ["b", "a", "é", "ab", "B", "z"] {
        put(&*store, "k", key).await;
    }
    let all = ["B", "a", "ab", "b", "z", "é"];
    assert_eq!(keys(&*store, "k", None, 100).await, all);
    let mut seen: Vec<String> = Vec::new();
    loop {
        let page = keys(&*store, "k", seen.last().map(String::as_str), 4).await;
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    assert_eq!(seen, all);
    // A key that is gone is still a place to go on from.
    store.delete_document("k", "ab").await.unwrap();
    assert_eq!(keys(&*store, "k", Some("ab"), 2).await, ["b", "z"]);
    assert_eq!(keys(&*store, "k", None, 0).await, Vec::<String>::new());
}

async fn kinds_do_not_mix(backend: impl Backend) {
    let store = backend.store();
    for kind in ["k", "k2", "K"] {
        store.write_document(write(kind, "a", Expected::Nothing, kind)).await.unwrap();
    }
    assert_eq!(store.document("k2", "a").await.unwrap().unwrap().body, "k2");
    assert!(store.delete_document("k", "a").await.unwrap());
    assert_eq!(store.delete_documents("K", at(9)).await.unwrap(), 1);
    assert_eq!(store.document("k2", "a").await.unwrap().unwrap().version, 1);
    assert_eq!(store.document("k", "a").await.unwrap(), None);
}

async fn what_is_deleted_is_gone_and_counts_anew(backend: impl Backend) {
    let store = backend.store();
    assert!(!store.delete_document("k", "a").await.unwrap());
    put(&*store, "k", "a").await;
    put(&*store, "k", "a").await;
    assert!(store.delete_document("k", "a").await.unwrap());
    assert!(!store.delete_document("k", "a").await.unwrap());
    assert_eq!(store.document("k", "a").await.unwrap(), None);
    // Whoever still holds the old version cannot bring it back.
    let late = store.write_document(write("k", "a", Expected::Version(2), "late")).await;
    assert!(matches!(late, Err(Error::DocumentConflict { actual: None, .. })), "{late:?}");
    let again = store.write_document(write("k", "a", Expected::Nothing, "new")).await;
    assert_eq!(again.unwrap(), 1);
}

async fn what_is_old_is_removed_and_the_rest_stays(backend: impl Backend) {
    let store = backend.store();
    for (key, second) in [("a", 1), ("b", 2), ("c", 3)] {
        let write = write("k", key, Expected::Nothing, key);
        store.write_document(DocumentWrite { at: at(second), ..write }).await.unwrap();
    }
    // Written again, and so not old any more.
    let again = DocumentWrite { at: at(9), ..write("k", "a", Expected::Anything, "a") };
    store.write_document(again).await.unwrap();
    assert_eq!(store.delete_documents("k", at(3)).await.unwrap(), 1);
    assert_eq!(keys(&*store, "k", None, 9).await, ["a", "c"]);
    assert_eq!(store.delete_documents("k", at(3)).await.unwrap(), 0);
}

async fn keys_and_bodies_may_be_any_text(backend: impl Backend) {
    let store = backend.store();
    let long = "x".repeat(100_000);
    let odd = ["", "'; DROP TABLE documents; --", "%", "a\0b", "\u{10ffff}", long.as_str()];
    for text in odd {
        store.write_document(write("k", text, Expected::Nothing, text)).await.unwrap();
        assert_eq!(store.document("k", text).await.unwrap().unwrap().body, text);
    }
    assert_eq!(keys(&*store, "k", None, 100).await.len(), odd.len());
    assert!(store.delete_document("k", "a\0b").await.unwrap());
    assert_eq!(store.document("k", "a").await.unwrap(), None);
}
