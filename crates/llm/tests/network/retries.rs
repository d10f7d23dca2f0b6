//! Requests that are sent again, and requests that are not.

use std::time::{Duration, Instant};

use agent_world_llm::transport::Retry;
use agent_world_llm::{Class, Error, Event, Model as _};
use futures::StreamExt as _;

use crate::server::{Answer, Server};
use crate::toy::{builder, provider, question};

const DONE: &str = r#"{"start":"r1","say":"because","stop":"end"}"#;

fn overloaded() -> Answer {
    Answer::json(529, r#"{"error":{"type":"overloaded_error","message":"full"}}"#)
}

async fn streamed(server: &Server) -> Vec<Result<Event, Error>> {
    provider(server).stream(question()).collect().await
}

fn is_whole(events: &[Result<Event, Error>]) -> bool {
    matches!(events, [Ok(Event::Started(_)), .., Ok(Event::Completed(_))])
}

#[tokio::test]
async fn what_may_pass_is_tried_three_times() {
    let server = Server::start([overloaded(), overloaded(), Answer::json(200, DONE)]).await;
    assert!(provider(&server).generate(question()).await.is_ok());
    assert_eq!(server.requests().len(), 3);
    let server = Server::start([overloaded(), overloaded(), Answer::events(&[DONE])]).await;
    assert!(is_whole(&streamed(&server).await));
    assert_eq!(server.requests().len(), 3);

    let server = Server::start(vec![overloaded(); 4]).await;
    let error = provider(&server).generate(question()).await.unwrap_err();
    assert_eq!((error.class, error.status), (Class::Overloaded, Some(529)));
    assert_eq!(server.requests().len(), 3);
    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
}

#[tokio::test]
async fn what_will_not_pass_is_tried_once() {
    for (status, body, class) in [
        (401, r#"{"error":{"message":"bad key"}}"#, Class::Auth),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, Class::Quota),
        (400, r#"{"error":{"message":"bad temperature"}}"#, Class::InvalidRequest),
        (400, r#"{"error":{"code":"context_length_exceeded"}}"#, Class::ContextTooLong),
        (404, r#"{"error":{"message":"no such model"}}"#, Class::UnknownModel),
    ] {
        let server = Server::start(vec![Answer::json(status, body); 3]).await;
        let error = provider(&server).generate(question()).await.unwrap_err();
        assert_eq!((error.class, error.status), (class, Some(status)));
        let seen = streamed(&server).await;
        assert!(matches!(&seen[..], [Err(error)] if error.class == class), "{seen:?}");
        assert_eq!(server.requests().len(), 2, "{body}");
    }
}

#[tokio::test]
async fn the_vendors_delay_is_waited_for() {
    let limited = |headers: &[(&str, &str)]| Answer::with_headers(429, headers, "{}");
    for headers in [
        [("retry-after-ms", "150"), ("retry-after", "9")],
        [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "0.15")],
    ] {
        let server = Server::start([limited(&headers), Answer::json(200, DONE)]).await;
        let begun = Instant::now();
        assert!(provider(&server).generate(question()).await.is_ok());
        assert!(begun.elapsed() >= Duration::from_millis(150), "{headers:?}");
    }
    // Said in the body, also of a stream that had begun to answer.
    let said = r#"{"error":{"code":"rate_limit_exceeded","message":"try again in 150ms"}}"#;
    for first in [Answer::json(429, said), Answer::events(&[r#"{"start":"r0"}"#, said])] {
        let server = Server::start([first, Answer::events(&[DONE])]).await;
        let begun = Instant::now();
        assert!(is_whole(&streamed(&server).await));
        assert!(begun.elapsed() >= Duration::from_millis(150));
    }
}

#[tokio::test]
async fn a_delay_that_is_too_long_is_told_instead_of_waited_for() {
    for (headers, wait) in [
        (vec![("retry-after", "61")], 61),
        (
            vec![
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("retry-after", "Sun, 06 Nov 1994 08:51:37 GMT"),
            ],
            120,
        ),
    ] {
        let server = Server::start([Answer::with_headers(429, &headers, "{}")]).await;
        let error = provider(&server).generate(question()).await.unwrap_err();
        let retry_after = Some(Duration::from_secs(wait));
        assert_eq!(error.class, Class::RateLimited { retry_after });
        assert_eq!(server.requests().len(), 1);
    }
    let unavailable = Answer::with_headers(503, &[("retry-after", "3600")], "maintenance");
    let server = Server::start([unavailable]).await;
    let error = provider(&server).generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Overloaded);
    assert_eq!(error.message, "maintenance (asks to wait 3600s)");
}

#[tokio::test]
async fn a_stream_that_breaks_before_it_says_anything_is_asked_for_again() {
    let begun = || Answer::stream("text/event-stream");
    let failing = r#"{"error":{"type":"overloaded_error"}}"#;
    for first in [
        Answer::default().cut(),
        begun().cut(),
        begun().event(r#"{"start":"r0"}"#).cut(),
        begun().event(r#"{"start":"r0"}"#).end(),
        begun().event(r#"{"start":"r0"}"#).event(failing).end(),
        begun().piece("data: {\"sa").cut(),
    ] {
        let server = Server::start([first, Answer::events(&[DONE])]).await;
        let seen = streamed(&server).await;
        assert!(is_whole(&seen), "{seen:?}");
        let started = seen.iter().filter(|event| matches!(event, Ok(Event::Started(_)))).count();
        assert_eq!((started, server.requests().len()), (1, 2));
    }
}

#[tokio::test]
async fn nothing_is_asked_for_again_once_something_was_said() {
    let begun = || Answer::stream("text/event-stream").event(r#"{"say":"be"}"#);
    let failing = r#"{"error":{"type":"overloaded_error"}}"#;
    for (first, class) in [
        (begun().cut(), Class::StreamCut),
        (begun().end(), Class::StreamCut),
        (begun().event(failing).end(), Class::Overloaded),
        (begun().event("no json").end(), Class::Server),
    ] {
        let server = Server::start([first, Answer::events(&[DONE])]).await;
        let seen = streamed(&server).await;
        let Some(Err(error)) = seen.last() else { panic!("{seen:?}") };
        assert_eq!((error.class, server.requests().len()), (class, 1));
        assert_eq!(error.request_id.as_deref(), Some("req_stream"));
        assert_eq!(error.vendor, "toy");
    }
}

#[tokio::test]
async fn a_whole_reply_that_is_cut_is_asked_for_again_even_when_it_is_streamed() {
    let cut = Answer::stream("text/event-stream").event(r#"{"say":"be"}"#).cut();
    let server = Server::start([cut, Answer::events(&[DONE])]).await;
    let provider = builder(&server).whole_by_stream().build().unwrap();
    assert_eq!(provider.generate(question()).await.unwrap().output_text(), "because");
    let cut = Answer::stream("application/json").piece("{\"say\":").cut();
    let server = Server::start([cut, Answer::json(200, DONE)]).await;
    let reply = crate::toy::provider(&server).generate(question()).await.unwrap();
    assert_eq!(reply.output_text(), "because");
}

#[tokio::test]
async fn a_reply_after_its_end_may_break() {
    let answer = Answer::stream("text/event-stream").event(DONE).cut();
    let server = Server::start([answer]).await;
    assert!(is_whole(&streamed(&server).await));
}

#[tokio::test]
async fn the_number_of_attempts_is_a_setting() {
    let server = Server::start(vec![overloaded(); 3]).await;
    let provider = builder(&server).retry(Retry::never()).build().unwrap();
    assert!(provider.generate(question()).await.is_err());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_not_sent() {
    let server = Server::start([]).await;
    let mut request = question();
    request.input.clear();
    let error = provider(&server).generate(request).await.unwrap_err();
    assert_eq!((error.class, error.vendor.as_str()), (Class::InvalidRequest, "toy"));
    assert!(server.requests().is_empty());
}
