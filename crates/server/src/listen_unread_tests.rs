//! Tests of clients that take nothing of what they are sent, and of those that keep a place for nothing.

use agent_world_core::Timestamp;
use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_runtime::NewMessage;
use axum::body::Bytes;

use super::*;

/// More than the system keeps for a connection on both sides.
const LARGE: usize = 64 << 20;
/// Longer than any test takes: what it bounds is not what ends a connection here.
const LONG: Duration = Duration::from_secs(3_600);

/// Tells when it is gone.
struct Told(Arc<Notify>, Vec<u8>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl AsRef<[u8]> for Told {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

pub(super) fn routes(gone: Arc<Notify>) -> Router<Arc<App>> {
    let told = Arc::clone(&gone);
    let large = move || {
        let bytes = Bytes::from_owner(Told(Arc::clone(&told), vec![b'x'; LARGE]));
        async move { Body::from(bytes) }
    };
    let parts = move || {
        let kept = Told(Arc::clone(&gone), Vec::new());
        let parts = futures::stream::repeat_with(move || {
            assert!(kept.1.is_empty());
            Ok::<_, Infallible>(vec![b'x'; 64 << 10])
        });
        async move { Body::from_stream(parts) }
    };
    Router::new().route("/test/large", get(large)).route("/test/parts", get(parts))
}

fn hasty() -> Limits {
    let write_timeout = Duration::from_millis(200);
    Limits { write_timeout, header_timeout: LONG, ..Limits::default() }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_not_held_for_ever() {
    let stage = Stage::start(hasty()).await;
    for path in ["/test/large", "/test/parts"] {
        let mut silent = stage.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        silent.write_all(request.as_bytes()).await.unwrap();
        timeout(DEADLINE, stage.gone.notified()).await.expect("what is not read is let go");
        let read = rest(&mut silent).await;
        assert!(read.starts_with("HTTP/1.1 200 OK"));
        assert!(read.len() < LARGE, "all of it was sent");
    }
    stage.stop().await;
}

#[tokio::test]
async fn an_answer_beside_others_on_a_connection_is_not_held_for_ever_either() {
    let stage = Stage::start(hasty()).await;
    for (path, window) in
        [("/test/large", 0), ("/test/large", 65_535), ("/test/parts", 0), ("/test/parts", 65_535)]
    {
        // The connection as a whole has room: only what is asked for is not taken.
        let client = client_builder()
            .http2_prior_knowledge()
            .http2_initial_stream_window_size(window)
            .http2_initial_connection_window_size(1 << 20);
        let answer = client.build().unwrap().get(stage.url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        timeout(DEADLINE, stage.gone.notified()).await.expect("what is not read is let go");
        assert!(answer.bytes().await.is_err(), "{path}");
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_large_answer_that_is_read_comes_whole() {
    let stage = Stage::start(Limits::default()).await;
    let prior = client_builder().http2_prior_knowledge().build().unwrap();
    for client in [client(), prior] {
        let answer = client.get(stage.url("/test/large")).send().await.unwrap();
        assert_eq!(answer.bytes().await.unwrap().len(), LARGE);
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_slow_reader_of_events_is_told_so_however_long_it_reads_nothing() {
    let write_timeout = Duration::from_millis(500);
    let stage =
        Stage::start(Limits { write_timeout, header_timeout: LONG, ..Limits::default() }).await;
    let engine = &stage.server.app.engine;
    let world = World::new(WorldId::new("w"), "W", Timestamp::now());
    let world = engine.create_world(world, "ada").await.unwrap();
    let chat = engine.create_chat(&world.id, Some("Chat".to_owned()), "ada").await.unwrap();
    let mut slow = stage.connect().await;
    let request =
        "GET /api/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    slow.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 15];
    slow.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    let text = "x".repeat(256 << 10);
    for _ in 0..100 {
        engine.post(&chat.id, NewMessage::human(&text)).await.unwrap();
    }
    let read = rest(&mut slow).await;
    let end = read.get(read.len().saturating_sub(300)..).unwrap_or_default();
    assert!(end.contains("event: error") && end.contains("slow_reader"), "{end}");
    stage.stop().await;
}

#[tokio::test]
async fn a_silent_connection_leaves_its_place_to_one_that_waits() {
    let crowded_idle = Duration::from_millis(50);
    let limits = Limits { connections: 1, header_timeout: LONG, crowded_idle, ..Limits::default() };
    let stage = Stage::start(limits).await;
    let ask = b"GET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // One that has been answered, one that has said nothing yet, and one that has not ended its sentence.
    for beginning in [&ask[..], b"", b"GET /api/me HTTP/1.1\r\nHost: loc"] {
        let mut silent = stage.connect().await;
        silent.write_all(beginning).await.unwrap();
        let mut waits = stage.connect().await;
        waits.write_all(ask).await.unwrap();
        let mut start = [0; 15];
        timeout(DEADLINE, waits.read_exact(&mut start)).await.expect("an answer").unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 OK");
        rest(&mut silent).await;
    }
    // Who is being answered keeps its place.
    let waiting = tokio::spawn(client().get(stage.url("/test/wait")).send());
    stage.begun.notified().await;
    let mut waits = stage.connect().await;
    waits.write_all(ask).await.unwrap();
    let early = timeout(Duration::from_millis(600), waits.readable()).await;
    assert!(early.is_err(), "it was answered beside the bound");
    stage.go.notify_one();
    assert_eq!(waiting.await.unwrap().unwrap().status(), 200);
    stage.stop().await;
}
