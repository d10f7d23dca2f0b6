//! How streams begin, go on and end.

use std::time::Duration;

use agent_world_runtime::Engine;
use agent_world_server::Server;
use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt;

use super::reader::{Reader, numbers};
use super::stage::{Backend, Stage, WORLD, perform};

#[test]
fn a_stream_says_what_it_is_and_asks_nobody_to_keep_it() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let request =
            stage.host.get(&stage.topic()).header("Accept", "text/html, text/event-stream;q=0.9");
        let response = request.send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-accel-buffering"), "no");
    });
}

#[test]
fn a_deleted_chat_ends_its_stream_after_saying_so() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let mut reader = stage.follow(&stage.topic()).await;
        let mut indifferent = stage.follow(&format!("{}?types=message", stage.topic())).await;
        let mut world = stage.follow(&format!("/api/worlds/{WORLD}/events")).await;
        stage.engine.delete_chat(&stage.chat, "eve").await.unwrap();
        let rest = reader.rest().await;
        let last = rest.last().unwrap().json();
        assert_eq!(last["type"], "crud");
        let told = (&last["data"]["entity"], &last["data"]["action"], &last["data"]["id"]);
        assert_eq!(told, (&"chat".into(), &"deleted".into(), &stage.chat.to_string().into()));
        assert!(indifferent.rest().await.iter().all(|frame| frame.event.is_empty()));
        // The world goes on.
        let other = stage.engine.create_chat(&stage.world, None, "eve").await.unwrap();
        loop {
            let event = world.event().await.json();
            if event["chat_id"] == other.id.to_string() {
                assert_eq!(event["data"]["action"], "created");
                break;
            }
        }
        let gone = stage.host.get(&stage.topic()).send().await.unwrap();
        assert_eq!(gone.status(), 404);
    });
}

#[test]
fn a_deleted_world_ends_its_stream_and_those_of_its_chats() {
    perform(async {
        let stage = Stage::open(Backend::Sqlite, &[], Vec::new()).await;
        let [chat, world, all] = stage.topics();
        let mut chat = stage.follow(&chat).await;
        let mut world = stage.follow(&world).await;
        let mut all = stage.follow(&all).await;
        stage.engine.delete_world(&stage.world, "eve").await.unwrap();
        let told = chat.rest().await.last().unwrap().json();
        assert_eq!(told["data"]["action"], "deleted", "{told}");
        let told = world.rest().await.last().unwrap().json();
        assert_eq!(
            (&told["data"]["entity"], &told["data"]["action"]),
            (&"world".into(), &"deleted".into())
        );
        loop {
            let event = all.event().await.json();
            if event["data"]["entity"] == "world" && event["data"]["action"] == "deleted" {
                break;
            }
        }
    });
}

#[test]
fn a_world_made_again_can_be_followed_past_the_end_of_its_namesake() {
    perform(async {
        let stage = Stage::open(Backend::Sqlite, &[], Vec::new()).await;
        let settings = stage.engine.world(&stage.world).await.unwrap().as_ref().clone();
        stage.engine.delete_world(&stage.world, "eve").await.unwrap();
        stage.engine.create_world(settings, "eve").await.unwrap();
        let topic = &stage.topics()[1];
        let pages = numbers(&stage.pages(topic, 1000).await);
        let mut reader = stage.follow(topic).await;
        let read = reader.up_to(*pages.last().unwrap()).await;
        assert_eq!(read.iter().filter_map(|frame| frame.id).collect::<Vec<_>>(), pages);
    });
}

#[test]
fn streams_end_when_the_server_stops() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let mut readers = Vec::new();
        for topic in stage.topics() {
            readers.push(stage.follow(&topic).await);
        }
        stage.server.stopping().cancel();
        for mut reader in readers {
            reader.rest().await;
        }
        // And so does one that comes too late.
        stage.follow(&stage.topic()).await.rest().await;
    });
}

#[test]
fn whoever_claims_to_know_more_than_there_is_gets_what_comes() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let mut readers = Vec::new();
        for after in [u64::MAX, 1_000_000_000] {
            let mut reader = Reader::open(&stage.host, &stage.topic(), Some(after)).await;
            assert_eq!(reader.next().await.unwrap().other, "retry: 1000");
            readers.push(reader);
        }
        stage.say("hello").await;
        for reader in &mut readers {
            assert_eq!(reader.event().await.json()["data"]["content"], "hello");
        }
    });
}

#[test]
fn only_the_types_that_are_wanted_are_told_and_numbers_stay_the_same() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &["ada"], Vec::new()).await;
        let wanted = format!("{}?types=message,activity", stage.topic());
        let mut live = stage.follow(&wanted).await;
        for _ in 0..20 {
            stage.say("go").await;
            stage.idle().await;
        }
        let fits = |event: &String| {
            event.contains("\"type\":\"message\"") || event.contains("\"type\":\"activity\"")
        };
        let all = stage.pages(&stage.topic(), 1000).await;
        let expected: Vec<String> = all.iter().filter(|event| fits(event)).cloned().collect();
        assert!(expected.len() < all.len());
        assert_eq!(stage.pages(&wanted, 3).await, expected);
        let last = *numbers(&expected).last().unwrap();
        let read: Vec<String> =
            live.up_to(last).await.into_iter().map(|frame| frame.data).collect();
        assert_eq!(read, expected);
    });
}

#[test]
fn a_quiet_stream_says_every_fifteen_seconds_that_it_is_there() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = std::sync::Arc::new(agent_world_runtime::store::Memory::new());
        let engine = Engine::builder(store).start().unwrap();
        let server = Server::new(engine, Default::default());
        let request = Request::get("/api/events").header("Accept", "text/event-stream");
        let request = request.body(Body::empty()).unwrap();
        let response = server.router().oneshot(request).await.unwrap();
        let mut reader = Reader::of_router(response.into_body());
        assert_eq!(reader.next().await.unwrap().other, "retry: 1000");
        let began = tokio::time::Instant::now();
        for beat in 1..=3 {
            let frame = reader.next().await.unwrap();
            assert!(frame.other.starts_with(':') && frame.data.is_empty(), "{frame:?}");
            assert_eq!(began.elapsed().as_secs(), Duration::from_secs(15 * beat).as_secs());
        }
    });
}
