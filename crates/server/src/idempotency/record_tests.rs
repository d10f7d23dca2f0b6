//! What is kept of an answer, and for which requests.

use axum::response::IntoResponse;
use futures::stream;

use super::super::body::Reading;
use super::*;

async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

async fn kept(answer: impl IntoResponse, keeping: Keeping) -> (String, Option<Record>) {
    let (response, record) =
        Record::make(None, Sent::Unread, answer.into_response(), keeping).await;
    (text(response).await, record)
}

#[tokio::test]
async fn an_answer_is_kept_as_it_was() {
    let answer = (StatusCode::CREATED, [(header::LOCATION, "/x")], "made");
    let (given, record) = kept(answer, Keeping::Answer).await;
    assert_eq!(given, "made");
    let stored = Record::read(&record.unwrap().text()).unwrap();
    let again = stored.response().unwrap();
    assert_eq!(again.status(), StatusCode::CREATED);
    assert_eq!(again.headers()[header::LOCATION], "/x");
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(text(again).await, "made");
}

#[tokio::test]
async fn a_secret_and_a_long_answer_are_given_whole_and_not_kept() {
    let long = "x".repeat(LIMIT + 1);
    for (answer, keeping) in [("aw_secret", Keeping::Fact), (long.as_str(), Keeping::Answer)] {
        let (given, record) = kept(answer.to_owned(), keeping).await;
        assert_eq!(given, answer);
        let record = record.unwrap();
        assert!(!record.text().contains(answer));
        let problem = record.response().unwrap_err();
        assert_eq!(problem.code(), "idempotency_answer_not_kept");
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_is_not_kept() {
    let pieces = [Ok("half"), Err(std::io::Error::other("gone"))];
    let broken = Response::new(Body::from_stream(stream::iter(pieces)));
    let (response, record) = Record::make(None, Sent::Unread, broken, Keeping::Answer).await;
    assert_eq!(record, None);
    assert!(axum::body::to_bytes(response.into_body(), usize::MAX).await.is_err());
}

#[tokio::test]
async fn a_body_counts_when_it_was_read_to_its_end() {
    let (unread, reading) = Reading::follow(Body::from("sent"));
    drop(unread);
    assert_eq!(reading.digest(), Some(Sent::Unread));

    let (body, reading) =
        Reading::follow(Body::from_stream(stream::iter([Ok::<_, std::io::Error>("se"), Ok("nt")])));
    let mut pieces = body.into_data_stream();
    pieces.next().await.unwrap().unwrap();
    assert_eq!(reading.digest(), None, "a part of it says nothing about the rest");
    assert!(pieces.next().await.is_some() && pieces.next().await.is_none());
    let sent = reading.digest().unwrap();
    assert!(sent.is(Body::from("sent")).await);
    for other in ["", "sen", "Sent", "sent more"] {
        assert!(!sent.is(Body::from(other)).await, "{other}");
    }
}

#[test]
fn texts_that_are_joined_are_not_mistaken_for_others() {
    assert_ne!(digest_of(&["a", "bc"]), digest_of(&["ab", "c"]));
    assert_ne!(digest_of(&["a\",\"b"]), digest_of(&["a", "b"]));
}
