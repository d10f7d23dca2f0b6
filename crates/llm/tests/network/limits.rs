//! Vendors that are late, silent or never stop.

use std::time::Duration;

use agent_world_llm::dialect::Caps;
use agent_world_llm::transport::{Proxies, Retry, Timeouts, Transport};
use agent_world_llm::{Class, Error, Event, Model as _};
use futures::StreamExt as _;
use tokio::net::TcpListener;

use crate::server::{Answer, Server};
use crate::toy::{builder, question};

const SHORT: Duration = Duration::from_millis(50);

fn once(server: &Server) -> agent_world_llm::provider::Builder {
    builder(server).retry(Retry::never())
}

async fn last(events: agent_world_llm::Events) -> Result<Event, Error> {
    events.collect::<Vec<_>>().await.pop().unwrap()
}

#[tokio::test]
async fn a_reply_must_begin_in_time() {
    let server = Server::start(vec![Answer::default().silence(); 2]).await;
    let timeouts = Timeouts { stream: SHORT, ..Timeouts::default() };
    let provider = once(&server).timeouts(timeouts).build().unwrap();
    let error = last(provider.stream(question())).await.unwrap_err();
    assert_eq!(error.class, Class::Timeout);
    assert_eq!(error.message, format!("no reply began at {} within 0.05s", server.address));
    let timeouts = Timeouts { whole: SHORT, ..Timeouts::default() };
    let provider = once(&server).timeouts(timeouts).build().unwrap();
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Timeout);
    assert!(error.message.contains("no reply began"), "{error}");
    server.closed(2).await;
}

#[tokio::test]
async fn a_reply_must_not_stop() {
    let stream = Answer::stream("text/event-stream").event(r#"{"say":"be"}"#).silence();
    let whole = Answer::stream("application/json").piece("{").silence();
    let server = Server::start([stream, whole]).await;
    let timeouts = Timeouts { idle: SHORT, ..Timeouts::default() };
    let provider = once(&server).timeouts(timeouts).build().unwrap();
    let error = last(provider.stream(question())).await.unwrap_err();
    assert_eq!(error.class, Class::Timeout);
    assert_eq!(error.message, "the reply stopped: nothing came for 0.05s");
    assert_eq!(error.request_id.as_deref(), Some("req_stream"));
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Timeout);
    server.closed(2).await;
}

#[tokio::test]
async fn a_connection_must_be_ready_in_time() {
    // It is accepted, and then nobody speaks.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let transport = Transport::builder().proxies(Proxies::none()).connect_timeout(SHORT);
    let server = Server::start([]).await;
    let provider = once(&server)
        .base_url(format!("https://{address}/v1"))
        .transport(transport.build().unwrap())
        .build()
        .unwrap();
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Timeout);
    assert_eq!(error.message, format!("no connection to {address} within 0.05s"));
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_refused_while_it_comes() {
    let large = format!(r#"{{"say":"{}"}}"#, "x".repeat(600));
    let stream = Answer::stream("text/event-stream").event(&large).event(&large).silence();
    let whole = Answer::stream("application/json").piece(&large).piece(&large).silence();
    let server = Server::start([stream, whole]).await;
    let caps = Caps { event: 1_000, reply: 1_000 };
    let provider = once(&server).caps(caps).build().unwrap();
    for error in [
        last(provider.stream(question())).await.unwrap_err(),
        provider.generate(question()).await.unwrap_err(),
    ] {
        assert_eq!(error.class, Class::Server);
        assert_eq!(error.message, "the reply is larger than 1000 bytes");
        assert_eq!(error.vendor, "toy");
    }
    server.closed(2).await;
}

#[tokio::test]
async fn an_event_that_is_too_large_is_refused_while_it_comes() {
    let piece = "x".repeat(600);
    let answer =
        Answer::stream("text/event-stream").piece("data: ").piece(&piece).piece(&piece).silence();
    let server = Server::start([answer]).await;
    let caps = Caps { event: 1_000, reply: 100_000 };
    let provider = once(&server).caps(caps).build().unwrap();
    let error = last(provider.stream(question())).await.unwrap_err();
    assert!(error.message.contains("one event"), "{error}");
    server.closed(1).await;
}

#[tokio::test]
async fn nobody_at_the_address_is_told_with_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Server::start([]).await;
    let provider = once(&server).base_url(format!("http://{address}/v1?")).build();
    assert!(provider.is_err(), "even an empty query is one");
    let provider = once(&server)
        .base_url(format!("http://{address}/v1"))
        .query("code", "secret-word")
        .build()
        .unwrap();
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Network);
    assert_eq!(
        error.message,
        format!(
            "{address} refuses connections; check that the server is running and the port is right"
        ),
    );
}

#[tokio::test]
async fn a_name_that_nobody_has_is_told_with_what_to_do() {
    let server = Server::start([]).await;
    // The name is too long for any name service, so none is asked.
    let host = format!("{}.invalid", "a".repeat(64));
    let provider = once(&server).base_url(format!("http://{host}/v1")).build().unwrap();
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Network);
    assert!(error.message.starts_with(&format!("the name {host} was not found")), "{error}");
    assert!(!error.message.contains("/v1"), "{error}");
}

#[tokio::test]
async fn a_failure_that_trickles_in_is_not_waited_for() {
    let trickle = Answer::begun(503, "text/plain").trickle(5_000, SHORT / 5);
    let server = Server::start([trickle]).await;
    let timeouts = Timeouts { idle: SHORT, ..Timeouts::default() };
    let provider = once(&server).timeouts(timeouts).build().unwrap();
    let asked = tokio::time::timeout(Duration::from_secs(20), provider.generate(question())).await;
    let error = asked.unwrap().unwrap_err();
    assert_eq!((error.class, error.status), (Class::Overloaded, Some(503)));
    assert!(error.message.contains('x'), "what came in time is told: {error}");
    server.closed(1).await;
}

#[tokio::test]
async fn replies_that_make_no_sense_are_errors() {
    let large = "x".repeat(2 << 20);
    for answer in [
        Answer::with_headers(204, &[], ""),
        Answer::with_headers(200, &[], ""),
        Answer::with_headers(200, &[("content-type", "text/html")], "<html>Sign in</html>"),
        // Nobody asked for it.
        Answer::with_headers(200, &[("content-encoding", "gzip")], "\u{1f}\u{8b}\u{8}"),
        Answer::with_headers(200, &[("x-large", &large)], "{}"),
        Answer::with_headers(
            200,
            &[("content-type", "\u{fc}\u{ff}"), ("x-request-id", "\u{fc}")],
            "?",
        ),
        Answer::with_headers(304, &[], ""),
        Answer::with_headers(302, &[("location", "\u{fc}")], ""),
        Answer::stream("text/event-stream").piece("data: {\"say\":\"\u{0}").end(),
    ] {
        for stream in [false, true] {
            let server = Server::start([answer.clone()]).await;
            let provider = once(&server).build().unwrap();
            let asked = async {
                match stream {
                    true => last(provider.stream(question())).await.map(|_| ()),
                    false => provider.generate(question()).await.map(|_| ()),
                }
            };
            let asked = tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap();
            let error = asked.unwrap_err();
            assert_eq!(error.vendor, "toy", "{error}");
        }
    }
}
