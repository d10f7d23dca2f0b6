//! Access tokens from a token server, in time and one for all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_world_llm::credentials::{
    Ask, ClientAuthentication, Credential, Credentials as _, Grant, OAuth, OAuthBuilder,
};
use agent_world_llm::provider::KeyPlace;
use agent_world_llm::{Class, ExposeSecret as _, Model as _, SecretString};
use futures::future::join_all;
use tokio::sync::Semaphore;

use crate::server::{Answer, Server};
use crate::toy::{builder, question, transport};

const ASK: Ask<'static> = Ask { vendor: "toy", user: None };
const SECRET: &str = "client-secret-0123456789";
const REFRESH: &str = "refresh-token-0123456789";

fn client() -> Grant {
    Grant::ClientCredentials { client_id: "agent world".to_owned(), client_secret: SECRET.into() }
}

fn person() -> Grant {
    Grant::RefreshToken {
        client_id: "agent world".to_owned(),
        client_secret: None,
        refresh_token: REFRESH.into(),
    }
}

fn oauth(server: &Server, grant: Grant) -> OAuthBuilder {
    OAuth::builder(transport(), &format!("http://{}/token", server.address), grant).unwrap()
}

fn token(name: &str, expires_in: &str) -> Answer {
    let body =
        format!(r#"{{"access_token":"{name}","token_type":"Bearer","expires_in":{expires_in}}}"#);
    Answer::json(200, &body)
}

fn text(credential: Option<Credential>) -> String {
    match credential {
        Some(Credential::Token(token)) => token.expose_secret().to_owned(),
        other => panic!("{other:?} is no token"),
    }
}

#[tokio::test]
async fn a_client_gets_a_token_and_keeps_it() {
    let server = Server::start([token("t1", "3600")]).await;
    let source = oauth(&server, client()).scope("models read").parameter("audience", "toy").build();
    for _ in 0..3 {
        assert_eq!(text(source.get(&ASK).await.unwrap()), "t1");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].line, "POST /token HTTP/1.1");
    assert_eq!(requests[0].header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        requests[0].body,
        format!(
            "grant_type=client_credentials&client_id=agent+world&client_secret={SECRET}\
             &scope=models+read&audience=toy"
        ),
    );
}

#[tokio::test]
async fn a_client_may_name_itself_in_a_header() {
    let server = Server::start([token("t1", "3600")]).await;
    let source = oauth(&server, client()).authentication(ClientAuthentication::Basic).build();
    source.get(&ASK).await.unwrap();
    let request = &server.requests()[0];
    // The name and the secret, each encoded as in a form.
    let expected = "Basic YWdlbnQrd29ybGQ6Y2xpZW50LXNlY3JldC0wMTIzNDU2Nzg5";
    assert_eq!(request.header("authorization"), Some(expected));
    assert_eq!(request.body, "grant_type=client_credentials");
}

#[tokio::test]
async fn a_token_is_renewed_before_its_end() {
    // Of a lifetime that is shorter than the margin, half is used; of an hour, all but the margin.
    let server = Server::start([token("t1", "\"0.1\""), token("t2", "3600")]).await;
    let source = oauth(&server, client()).build();
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t1");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t2");
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t2");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn one_renewal_serves_all_who_wait() {
    let gate = Arc::new(Semaphore::new(0));
    let slow = Answer::default().gate(&gate);
    let body = r#"{"access_token":"t1"}"#;
    let server = Server::start([slow.whole(200, body)]).await;
    let source = oauth(&server, client()).build();
    let all = join_all((0..20).map(|_| source.get(&ASK)));
    let release = async {
        server.received(1).await;
        gate.add_permits(1);
    };
    let (tokens, ()) = tokio::join!(all, release);
    assert!(tokens.into_iter().all(|token| text(token.unwrap()) == "t1"));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_failure_is_told_to_all_who_wait_and_the_next_tries_again() {
    let gate = Arc::new(Semaphore::new(0));
    let said = format!(
        r#"{{"error":"invalid_client","error_description":"no {SECRET} known","error_uri":"x"}}"#
    );
    let server = Server::start([Answer::default().gate(&gate).whole(401, &said)]).await;
    let source = oauth(&server, client()).build();
    let all = join_all((0..5).map(|_| source.get(&ASK)));
    let release = async {
        server.received(1).await;
        gate.add_permits(1);
    };
    let (outcomes, ()) = tokio::join!(all, release);
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert_eq!((error.class, error.status), (Class::Auth, Some(401)));
        let expected =
            format!("no access token from {}: invalid_client: no [hidden] known", server.address);
        assert_eq!(error.message, expected);
    }
    assert_eq!(server.requests().len(), 1);
    server.push(token("t1", "3600"));
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t1");
}

#[tokio::test]
async fn a_renewal_goes_on_when_nobody_waits_any_more() {
    let gate = Arc::new(Semaphore::new(0));
    let body = r#"{"access_token":"t1","refresh_token":"refresh-token-2"}"#;
    let server = Server::start([Answer::default().gate(&gate).whole(200, body)]).await;
    let source = oauth(&server, person()).build();
    let waiting = tokio::spawn({
        let source = source.clone();
        async move { source.get(&ASK).await }
    });
    server.received(1).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t1");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_new_refresh_token_replaces_the_old_one() {
    let body = r#"{"access_token":"t1","expires_in":0,"refresh_token":"refresh-token-2"}"#;
    let server = Server::start([Answer::json(200, body), token("t2", "0"), token("t3", "0")]).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&told);
    let source = oauth(&server, person())
        .rotated(move |token: &SecretString| {
            noting.lock().unwrap().push(token.expose_secret().to_owned());
        })
        .build();
    for expected in ["t1", "t2", "t3"] {
        assert_eq!(text(source.get(&ASK).await.unwrap()), expected);
    }
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    let form = |token: &str| {
        format!("grant_type=refresh_token&refresh_token={token}&client_id=agent+world")
    };
    assert_eq!(sent, [form(REFRESH), form("refresh-token-2"), form("refresh-token-2")]);
    assert_eq!(*told.lock().unwrap(), ["refresh-token-2"]);
}

#[tokio::test]
async fn a_token_that_a_vendor_refuses_is_renewed_once_for_all() {
    let tokens = Server::start([token("t1", "3600"), token("t2", "3600")]).await;
    let gate = Arc::new(Semaphore::new(0));
    let refused = Answer::default().gate(&gate).whole(401, "{}");
    let done = Answer::json(200, r#"{"say":"because","stop":"end"}"#);
    let vendor = Server::start([refused.clone(), refused, done.clone(), done]).await;
    let source = oauth(&tokens, client()).build();
    let provider =
        builder(&vendor).key_place(KeyPlace::Bearer).credentials(source).build().unwrap();
    let both = join_all([provider.generate(question()), provider.generate(question())]);
    let release = async {
        vendor.received(2).await;
        gate.add_permits(2);
    };
    let (replies, ()) = tokio::join!(both, release);
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    let requests = vendor.requests();
    let sent: Vec<_> = requests.iter().map(|it| it.header("authorization").unwrap()).collect();
    assert_eq!(sent, ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"]);
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn replies_that_are_no_tokens_are_errors_that_show_nothing() {
    for (body, class) in [
        (r#"{"id_token":"secret-word"}"#, Class::Auth),
        (r#"{"access_token":""}"#, Class::Auth),
        ("access_token=secret-word", Class::Server),
        ("", Class::Server),
    ] {
        let server = Server::start([Answer::json(200, body)]).await;
        let error = oauth(&server, client()).build().get(&ASK).await.unwrap_err();
        assert_eq!(error.class, class, "{body}");
        assert!(!error.to_string().contains("secret-word"), "{error}");
    }
    let server = Server::start([Answer::json(503, "{}")]).await;
    let error = oauth(&server, client()).build().get(&ASK).await.unwrap_err();
    assert_eq!(error.class, Class::Overloaded);
}

#[tokio::test]
async fn secrets_are_not_sent_unencrypted_and_not_printed() {
    let refused = OAuth::builder(transport(), "http://tokens.example/token", client());
    let message = refused.unwrap_err().message;
    assert!(message.contains("https://"), "{message}");
    let server = Server::start([token("token-secret-1", "3600")]).await;
    for grant in [client(), person()] {
        let builder = oauth(&server, grant.clone());
        let printed = format!("{grant:?} {builder:?}");
        let printed = format!("{printed} {:?}", builder.build());
        assert!(!printed.contains("0123456789"), "{printed}");
    }
    let source = oauth(&server, client()).build();
    source.get(&ASK).await.unwrap();
    assert!(!format!("{source:?}").contains("token-secret-1"), "{source:?}");
}

#[tokio::test]
async fn a_token_server_that_trickles_keeps_nobody_waiting_for_ever() {
    let pause = Duration::from_millis(10);
    let trickle = Answer::stream("application/json").trickle(5_000, pause);
    let server = Server::start([trickle, token("t1", "3600")]).await;
    let source = oauth(&server, client()).limit(Duration::from_millis(50)).build();
    let asking = join_all((0..100).map(|_| source.get(&ASK)));
    let asked = tokio::time::timeout(Duration::from_secs(20), asking).await.unwrap();
    for outcome in asked {
        let error = outcome.unwrap_err();
        assert_eq!(error.class, Class::Timeout);
        assert!(error.message.ends_with("no whole reply within 0.05s"), "{error}");
    }
    assert_eq!(server.requests().len(), 1);
    let patient = oauth(&server, client()).build();
    assert_eq!(text(patient.get(&ASK).await.unwrap()), "t1");
}

#[tokio::test]
async fn whoever_is_told_of_a_new_refresh_token_may_break_down() {
    let rotated = r#"{"access_token":"t1","refresh_token":"refresh-token-2"}"#;
    let server = Server::start([Answer::json(200, rotated), token("t2", "3600")]).await;
    let source = oauth(&server, person()).rotated(|_| panic!("as the test wants")).build();
    let asked = join_all((0..10).map(|_| source.get(&ASK))).await;
    assert!(asked.iter().all(Result::is_err), "{asked:?}");
    assert_eq!(text(source.get(&ASK).await.unwrap()), "t2");
    assert!(server.requests()[1].body.contains("refresh-token-2"), "the newest is kept");
}

#[tokio::test]
async fn a_thousand_requests_share_one_renewal_and_the_first_may_leave() {
    let gate = Arc::new(Semaphore::new(0));
    let slow = Answer::default().gate(&gate).whole(200, r#"{"access_token":"t1"}"#);
    let server = Server::start([slow]).await;
    let source = Arc::new(oauth(&server, client()).build());
    let ask = || {
        let source = Arc::clone(&source);
        tokio::spawn(async move { source.get(&ASK).await })
    };
    let first = ask();
    server.received(1).await;
    let others: Vec<_> = (0..1_000).map(|_| ask()).collect();
    first.abort();
    assert!(first.await.is_err());
    gate.add_permits(1);
    for other in others {
        assert_eq!(text(other.await.unwrap().unwrap()), "t1");
    }
    assert_eq!(server.requests().len(), 1);
}
