//! Replies of success: whole, streamed, in the wrong shape, in parts, and given up halfway.

use std::sync::Arc;

use agent_world_llm::{Class, Delta, Error, Event, Model as _, Response, Status};
use futures::StreamExt as _;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::server::{Answer, Server};
use crate::toy::{builder, provider, question, spoken};

/// What a consumer sees, in short.
fn brief(event: &Event) -> String {
    match event {
        Event::Started(response) => format!("started {}", response.id),
        Event::ItemStarted { index, item } => format!("item {index} {:?}", spoken(item)),
        Event::Delta { index, part, delta: Delta::Text(text) } => format!("{index}.{part} {text}"),
        Event::Delta { delta, .. } => format!("{delta:?}"),
        Event::ItemDone { index, item } => format!("done {index} {:?}", spoken(item)),
        Event::Completed(response) => format!("completed {}", summary(response)),
    }
}

fn summary(response: &Response) -> String {
    let texts: Vec<String> = response.output.iter().map(spoken).collect();
    let tokens = response.usage.as_ref().map_or(0, |usage| usage.total_tokens);
    format!("{} {} {:?} {tokens}", response.id, texts.join("|"), response.status)
}

async fn told(server: &Server) -> Vec<Result<String, Error>> {
    let events = provider(server).stream(question());
    events.map(|event| event.map(|event| brief(&event))).collect().await
}

const WHOLE: &str = r#"{"start":"r1","say":"because","stop":"end","in":3,"out":4}"#;

#[tokio::test]
async fn a_whole_reply_is_asked_for_and_read_whole() {
    let server = Server::start([Answer::json(200, WHOLE)]).await;
    let reply = provider(&server).generate(question()).await.unwrap();
    assert_eq!(summary(&reply), "r1 because Completed 7");
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/talk?toy=1 HTTP/1.1");
    assert_eq!(request.header("toy-version"), Some("7"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept"), Some("application/json"));
    let agent = concat!("agent-world/", env!("CARGO_PKG_VERSION"));
    assert_eq!(request.header("user-agent"), Some(agent));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.json()["stream"], json!(false));
}

#[tokio::test]
async fn a_streamed_reply_is_told_as_it_comes() {
    let gate = Arc::new(Semaphore::new(0));
    let answer = Answer::stream("text/event-stream")
        .event(r#"{"start":"r1"}"#)
        .event(r#"{"say":"be"}"#)
        .gate(&gate)
        .piece("data: {\"say\":")
        .gate(&gate)
        .piece("\"cause\"}\n\n")
        .gate(&gate)
        .event(r#"{"stop":"end","in":3,"out":4}"#)
        .end();
    let server = Server::start([answer]).await;
    let mut events = provider(&server).stream(question());
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(brief(&event.unwrap()));
        match seen.last().map(String::as_str) {
            // Each piece is sent only when what came before it was seen.
            Some("0.0 be") => gate.add_permits(2),
            Some("0.0 cause") => gate.add_permits(1),
            _ => {}
        }
    }
    assert_eq!(
        seen,
        [
            "started r1",
            "item 0 \"\"",
            "0.0 be",
            "0.0 cause",
            "done 0 \"because\"",
            "completed r1 because Completed 7"
        ],
    );
    assert_eq!(server.requests()[0].json()["stream"], json!(true));
}

#[tokio::test]
async fn a_stream_that_comes_as_one_json_body_is_told_as_events_all_the_same() {
    // The content type lies one time and is right the other.
    for content_type in ["text/event-stream", "application/json"] {
        let answer = Answer::stream(content_type).piece(" \n").piece(WHOLE).end();
        let server = Server::start([answer]).await;
        let seen: Vec<_> = told(&server).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(
            seen,
            [
                "started r1",
                "item 0 \"\"",
                "0.0 because",
                "done 0 \"because\"",
                "completed r1 because Completed 7"
            ],
        );
    }
}

#[tokio::test]
async fn an_error_in_a_json_body_with_a_status_of_success_is_an_error() {
    let body = r#"{"error":{"type":"authentication_error","message":"who are you"}}"#;
    let server = Server::start([Answer::json(200, body), Answer::json(200, body)]).await;
    let seen = told(&server).await;
    let [Err(error)] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(error.class, Class::Auth);
    let error = provider(&server).generate(question()).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (Class::Auth, "who are you"));
}

#[tokio::test]
async fn a_page_instead_of_a_reply_is_an_error_of_the_vendor() {
    let page = "<!doctype html><title>Welcome</title>";
    let server = Server::start([Answer::with_headers(200, &[("content-type", "text/html")], page)]);
    let server = server.await;
    let builder = builder(&server).retry(agent_world_llm::transport::Retry::never());
    let events = builder.build().unwrap().stream(question());
    let seen: Vec<_> = events.collect().await;
    assert!(matches!(&seen[..], [Err(error)] if error.class == Class::Server), "{seen:?}");
}

#[tokio::test]
async fn a_whole_reply_that_comes_as_a_stream_is_joined() {
    let answer = Answer::events(&[
        r#"{"start":"r1"}"#,
        r#"{"say":"be"}"#,
        r#"{"say":"cause"}"#,
        r#"{"stop":"end"}"#,
    ]);
    let server = Server::start([answer.clone(), answer]).await;
    let reply = provider(&server).generate(question()).await.unwrap();
    assert_eq!(summary(&reply), "r1 because Completed 0");
    let by_stream = builder(&server).whole_by_stream().build().unwrap();
    let reply = by_stream.generate(question()).await.unwrap();
    assert_eq!(summary(&reply), "r1 because Completed 0");
    let asked: Vec<_> = server.requests().iter().map(|it| it.json()["stream"].clone()).collect();
    assert_eq!(asked, [json!(false), json!(true)]);
}

#[tokio::test]
async fn connections_are_used_again() {
    let stream = Answer::stream("text/event-stream")
        .event(r#"{"start":"r1","say":"x","stop":"end"}"#)
        .piece("data: [DONE]\n\n")
        .end();
    let answers = [Answer::json(200, WHOLE), stream.clone(), stream, Answer::json(200, WHOLE)];
    let server = Server::start(answers).await;
    let provider = provider(&server);
    provider.generate(question()).await.unwrap();
    for _ in 0..2 {
        let seen: Vec<_> = provider.stream(question()).collect().await;
        assert!(seen.iter().all(Result::is_ok), "{seen:?}");
    }
    provider.generate(question()).await.unwrap();
    assert_eq!((server.requests().len(), server.connections()), (4, 1));
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let answer = Answer::stream("text/event-stream").event(r#"{"say":"be"}"#).silence();
    let server = Server::start([answer]).await;
    let mut events = provider(&server).stream(question());
    let first = events.next().await.unwrap().unwrap();
    assert!(matches!(first, Event::Started(_)), "{first:?}");
    drop(events);
    server.closed(1).await;
}

#[tokio::test]
async fn dropping_a_request_closes_its_connection() {
    let server = Server::start([Answer::default().silence()]).await;
    let provider = provider(&server);
    let asking = tokio::spawn(async move { provider.generate(question()).await });
    server.received(1).await;
    asking.abort();
    server.closed(1).await;
}

#[tokio::test]
async fn a_paused_reply_is_continued_and_told_as_one() {
    let part = |id: &str, text: &str, stop: &str| {
        let (start, say) = (json!({"start": id}), json!({"say": text}));
        let stop = json!({"stop": stop, "in": 10, "out": 1});
        Answer::events(&[&start.to_string(), &say.to_string(), &stop.to_string()])
    };
    let answers = || {
        [
            part("r1", "one", "pause_turn"),
            part("r2", "two", "pause_turn"),
            part("r3", "three", "end"),
        ]
    };
    let server = Server::start(answers()).await;
    let seen: Vec<_> = told(&server).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        seen,
        [
            "started r1",
            "item 0 \"\"",
            "0.0 one",
            "done 0 \"one\"",
            "item 1 \"\"",
            "1.0 two",
            "done 1 \"two\"",
            "item 2 \"\"",
            "2.0 three",
            "done 2 \"three\"",
            "completed r1 one|two|three Completed 33"
        ],
    );
    let inputs: Vec<_> =
        server.requests().iter().map(|it| it.json()["input"].as_array().unwrap().len()).collect();
    assert_eq!(inputs, [1, 2, 3]);
    let last = server.requests()[2].json();
    assert_eq!(last["input"][2]["content"][0]["text"], json!("two"));
    assert_eq!(last["input"][2]["origin"]["vendor"], json!("toy"));

    let server = Server::start(answers()).await;
    let whole = provider(&server).generate(question()).await.unwrap();
    assert_eq!(summary(&whole), "r1 one|two|three Completed 33");
}

#[tokio::test]
async fn a_vendor_that_pauses_for_ever_is_asked_nine_times() {
    let pause = Answer::json(200, r#"{"start":"r","say":"x","stop":"pause_turn"}"#);
    let server = Server::start(vec![pause; 20]).await;
    let reply = provider(&server).generate(question()).await.unwrap();
    assert_eq!((reply.output.len(), server.requests().len()), (9, 9));
    assert_eq!(reply.status, Status::Incomplete);
    assert_eq!(reply.incomplete_details.unwrap().reason, "pause_turn");
}
