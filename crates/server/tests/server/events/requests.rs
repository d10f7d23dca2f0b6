//! What is asked for in vain.

use super::stage::{Backend, Stage, WORLD, perform};

#[test]
fn what_does_not_exist_is_not_found_live_and_in_pages() {
    perform(async {
        let stage = Stage::open(Backend::Sqlite, &[], Vec::new()).await;
        let chat = &stage.chat;
        let long = "x".repeat(5_000);
        for path in [
            "/api/worlds/nowhere/events".to_owned(),
            format!("/api/worlds/nowhere/chats/{chat}/events"),
            format!("/api/worlds/{WORLD}/chats/chat_none/events"),
            format!("/api/worlds/{WORLD}/chats/%00/events"),
            format!("/api/worlds/{WORLD}/chats/%ff/events"),
            format!("/api/worlds/{long}/events"),
        ] {
            for accept in ["text/event-stream", "application/json"] {
                let request = stage.host.get(&path);
                let response = request.header("Accept", accept).send().await.unwrap();
                assert_eq!(response.status(), 404, "{path}");
                assert_eq!(response.headers()["content-type"], "application/problem+json");
            }
        }
    });
}

#[test]
fn what_cannot_be_meant_is_refused_and_named() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let page = |query: &str| stage.host.get(&format!("/api/events{query}"));
        for query in [
            "?after=-1",
            "?after=x",
            "?limit=many",
            "?types=message,nothing",
            "?types=",
            "?before=x",
            "?behind=3",
        ] {
            let response = page(query).send().await.unwrap();
            assert_eq!(response.status(), 422, "{query}");
        }
        for last in ["x", "-1", "1.5", "", "99999999999999999999"] {
            let request = page("").header("Last-Event-ID", last);
            let response = request.header("Accept", "text/event-stream").send().await.unwrap();
            assert_eq!(response.status(), 422, "{last}");
            let problem: serde_json::Value =
                serde_json::from_str(&response.text().await.unwrap()).unwrap();
            assert_eq!(problem["code"], "last_event_id_invalid");
        }
        let page = page("?after=18446744073709551615&limit=0").send().await.unwrap();
        assert_eq!(page.text().await.unwrap(), r#"{"data":[],"next":null}"#);
    });
}
