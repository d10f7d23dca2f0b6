//! Keys: where they go, what happens without one, with a wrong one, and where they must not go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_world_llm::credentials::{
    Ask, Callback, Command, Credential, Credentials, Fixed, PerUser,
};
use agent_world_llm::provider::{KeyPlace, Provider};
use agent_world_llm::{Class, Error, Model as _, Request};
use async_trait::async_trait;
use futures::StreamExt as _;

use crate::server::{Answer, Server};
use crate::toy::{Toy, builder, question, transport};

const DONE: &str = r#"{"start":"r1","say":"because","stop":"end"}"#;
const KEY: &str = "sk-very-secret-0123456789";

fn keyed(server: &Server, place: KeyPlace, source: impl Credentials + 'static) -> Provider {
    builder(server).key_place(place).credentials(source).build().unwrap()
}

fn refused() -> Answer {
    Answer::json(401, &format!(r#"{{"error":{{"message":"incorrect api key: {KEY}"}}}}"#))
}

#[tokio::test]
async fn a_key_goes_where_the_vendor_wants_it_and_a_token_as_bearer() {
    let in_header = || KeyPlace::Header("x-api-key".into());
    let cases: [(KeyPlace, Credential, &str, &str); 4] = [
        (KeyPlace::Bearer, Credential::key(KEY), "authorization", &format!("Bearer {KEY}")),
        (in_header(), Credential::key(KEY), "x-api-key", KEY),
        (in_header(), Credential::token(KEY), "authorization", &format!("Bearer {KEY}")),
        (KeyPlace::Bearer, Credential::token(KEY), "authorization", &format!("Bearer {KEY}")),
    ];
    for (place, credential, header, value) in cases {
        let server = Server::start([Answer::json(200, DONE)]).await;
        let provider = keyed(&server, place, Fixed::new(credential));
        provider.generate(question()).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!(request.header(header), Some(value));
        let sent = request.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
        assert_eq!(sent, 1);
    }
    let server = Server::start([Answer::json(200, DONE)]).await;
    keyed(&server, KeyPlace::None, Fixed::key(KEY)).generate(question()).await.unwrap();
    let request = &server.requests()[0];
    assert!(!request.headers.iter().any(|(_, value)| value.contains(KEY)), "{request:?}");
}

#[tokio::test]
async fn settings_of_headers_and_parameters_are_sent() {
    let server = Server::start([Answer::json(200, DONE)]).await;
    let provider = builder(&server)
        .header("toy-version", "8")
        .header("x-title", "Agent World")
        .query("api-version", "2026-01-01")
        .alias("small", "toy-small-2026")
        .build()
        .unwrap();
    provider.generate(question()).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/talk?toy=1&api-version=2026-01-01 HTTP/1.1");
    assert_eq!(request.header("toy-version"), Some("8"));
    assert_eq!(request.header("x-title"), Some("Agent World"));
    assert_eq!(request.json()["model"], "toy-small-2026");
}

#[tokio::test]
async fn a_missing_key_is_told_with_what_to_do_and_nothing_is_sent() {
    let server = Server::start([]).await;
    let provider = builder(&server)
        .key_place(KeyPlace::Bearer)
        .credentials(PerUser::new().user("ada", Fixed::key(KEY)))
        .key_hint("set TOY_API_KEY")
        .access_path("/models")
        .build()
        .unwrap();
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(
        (error.class, error.message.as_str()),
        (Class::Auth, "there is no key: set TOY_API_KEY")
    );
    let of_bob = Request { user: Some("bob".to_owned()), ..question() };
    let error = provider.stream(of_bob).next().await.unwrap().unwrap_err();
    assert_eq!(error.message, "there is no key for bob: set TOY_API_KEY");
    assert_eq!(provider.validate_access().await.unwrap_err().class, Class::Auth);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_optional_key_may_be_missing() {
    let server = Server::start([Answer::json(200, DONE)]).await;
    let provider = builder(&server).key_place(KeyPlace::Bearer).key_optional().build().unwrap();
    provider.generate(question()).await.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn each_user_has_a_key() {
    let server = Server::start(vec![Answer::json(200, DONE); 3]).await;
    let source = PerUser::new()
        .user("ada", Fixed::key("key-of-ada"))
        .user(
            "bob",
            Callback::new(|vendor, user| async move {
                Ok(Some(Credential::key(format!("{vendor}-key-of-{}", user.unwrap_or_default()))))
            }),
        )
        .otherwise(Fixed::key("key-of-all"));
    let provider = keyed(&server, KeyPlace::Bearer, source);
    for user in [Some("ada"), Some("bob"), None] {
        let request = Request { user: user.map(str::to_owned), ..question() };
        provider.generate(request).await.unwrap();
    }
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(sent, ["Bearer key-of-ada", "Bearer toy-key-of-bob", "Bearer key-of-all"]);
    assert!(server.requests().iter().all(|request| !request.body.contains("ada")));
}

#[tokio::test]
async fn a_key_that_the_vendor_repeats_is_hidden() {
    let in_stream = format!(r#"{{"error":{{"type":"server_error","message":"lost {KEY}"}}}}"#);
    let said = Answer::stream("text/event-stream").event(r#"{"say":"x"}"#).event(&in_stream).end();
    let id = [("x-request-id", KEY)];
    let answers = [refused(), Answer::with_headers(400, &id, KEY), said];
    let server = Server::start(answers).await;
    let provider = keyed(&server, KeyPlace::Bearer, Fixed::key(KEY));
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Auth);
    assert_eq!(error.message, "incorrect api key: [hidden]");
    let error = provider.generate(question()).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error}");
    let events: Vec<_> = provider.stream(question()).collect().await;
    assert!(!format!("{events:?}").contains(KEY), "{events:?}");
    assert!(format!("{events:?}").contains("lost [hidden]"), "{events:?}");
    assert!(!format!("{provider:?}").contains(KEY), "{provider:?}");
}

#[tokio::test]
async fn a_key_in_which_a_long_message_is_cut_is_hidden() {
    let long = |before: usize| format!("{}{KEY} is wrong", "x".repeat(before));
    let answers = (1_960..2_010)
        .map(|before| Answer::json(400, &format!(r#"{{"error":"{}"}}"#, long(before))));
    let server = Server::start(answers).await;
    let provider = keyed(&server, KeyPlace::Bearer, Fixed::key(KEY));
    for _ in 1_960..2_010 {
        let error = provider.generate(question()).await.unwrap_err();
        assert!(!error.message.contains("sk-very-"), "{}", error.message.trim_start_matches('x'));
    }
}

#[tokio::test]
async fn secrets_among_the_settings_are_hidden_too() {
    let server =
        Server::start([Answer::json(400, &format!(r#"{{"error":"no {KEY} here"}}"#))]).await;
    let builder = builder(&server)
        .header("x-auth", format!("Basic {KEY}"))
        .query("code", KEY)
        .query("key", "x");
    assert!(!format!("{builder:?}").contains(KEY), "{builder:?}");
    let provider = builder.build().unwrap();
    assert!(!format!("{provider:?}").contains(KEY), "{provider:?}");
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.message, "no [hidden] here");
}

/// Gives another token each time it has been told that one was refused.
#[derive(Debug, Default)]
struct Renewing {
    refused: AtomicUsize,
    stubborn: bool,
}

#[async_trait]
impl Credentials for Renewing {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        let number = if self.stubborn { 0 } else { self.refused.load(Ordering::SeqCst) };
        Ok(Some(Credential::token(format!("token-number-{number}"))))
    }

    fn rejected(&self, _: &Ask<'_>, _: &Credential) -> bool {
        self.refused.fetch_add(1, Ordering::SeqCst);
        true
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let server = Server::start([refused(), Answer::json(200, DONE)]).await;
    let source = Arc::new(Renewing::default());
    keyed(&server, KeyPlace::Bearer, Arc::clone(&source)).generate(question()).await.unwrap();
    let sent = |server: &Server| -> Vec<_> {
        let requests = server.requests();
        requests.iter().map(|it| it.header("authorization").unwrap().to_owned()).collect()
    };
    assert_eq!(sent(&server), ["Bearer token-number-0", "Bearer token-number-1"]);

    let server = Server::start(vec![refused(); 4]).await;
    let provider = keyed(&server, KeyPlace::Bearer, Renewing::default());
    let events: Vec<_> = provider.stream(question()).collect().await;
    assert!(matches!(&events[..], [Err(error)] if error.class == Class::Auth), "{events:?}");
    assert_eq!(sent(&server), ["Bearer token-number-0", "Bearer token-number-1"]);

    // Sending the same one again would change nothing.
    let server = Server::start(vec![refused(); 4]).await;
    let stubborn = Renewing { stubborn: true, ..Renewing::default() };
    keyed(&server, KeyPlace::Bearer, stubborn).generate(question()).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_is_run_again_when_its_key_is_refused() {
    let folder = std::env::temp_dir().join(format!("agent-world-key-{}", std::process::id()));
    let script = "echo x >> \"$0\"; echo key-number-$(wc -l < \"$0\")";
    let arguments = ["-c", script, folder.to_str().unwrap()];
    let server = Server::start([Answer::json(200, DONE), refused(), Answer::json(200, DONE)]).await;
    let source = Command::new("sh", arguments).keep(Duration::from_secs(600));
    let provider = keyed(&server, KeyPlace::Bearer, source);
    provider.generate(question()).await.unwrap();
    provider.generate(question()).await.unwrap();
    std::fs::remove_file(&folder).unwrap();
    let requests = server.requests();
    let sent: Vec<_> = requests.iter().map(|it| it.header("authorization").unwrap()).collect();
    assert_eq!(sent, ["Bearer key-number-1", "Bearer key-number-1", "Bearer key-number-2"]);
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_refused_without_showing_it() {
    let server = Server::start([]).await;
    let provider = keyed(&server, KeyPlace::Bearer, Fixed::key("two\nlines-of-secret"));
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Auth);
    assert!(!error.to_string().contains("lines-of-secret"), "{error}");
}

#[tokio::test]
async fn access_is_checked_with_one_cheap_request() {
    let answers = [
        Answer::json(200, "{}"),
        refused(),
        Answer::json(529, r#"{"error":{"type":"overloaded_error"}}"#),
    ];
    let server = Server::start(answers).await;
    let provider = builder(&server)
        .key_place(KeyPlace::Bearer)
        .credentials(Fixed::key(KEY))
        .access_path("/models")
        .query("api-version", "1")
        .build()
        .unwrap();
    provider.validate_access().await.unwrap();
    let error = provider.validate_access().await.unwrap_err();
    assert_eq!((error.class, error.status), (Class::Auth, Some(401)));
    assert_eq!(provider.validate_access().await.unwrap_err().class, Class::Overloaded);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].line, "GET /v1/models?api-version=1 HTTP/1.1");
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([Answer::json(200, DONE)]).await;
    let location = format!("http://{}/v2/talk?code=secret-word", elsewhere.address);
    let server = Server::start([Answer::with_headers(307, &[("location", &location)], "")]).await;
    let provider = keyed(&server, KeyPlace::Bearer, Fixed::key(KEY));
    let error = provider.generate(question()).await.unwrap_err();
    assert_eq!((error.class, error.status), (Class::InvalidRequest, Some(307)));
    assert!(error.message.contains(&format!("http://{}/v2/talk;", elsewhere.address)), "{error}");
    assert!(!error.message.contains("secret-word"), "{error}");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_key_does_not_go_unencrypted_to_another_machine_unless_allowed() {
    let builder = || {
        Provider::builder("toy", Arc::new(Toy))
            .base_url("http://192.0.2.1:9/v1")
            .transport(transport())
            .key_place(KeyPlace::None)
    };
    for builder in [
        builder().key_place(KeyPlace::Bearer).credentials(Fixed::key(KEY)),
        builder().header("authorization", format!("Basic {KEY}")),
        builder().query("key", KEY),
    ] {
        let error = builder.build().unwrap().generate(question()).await.unwrap_err();
        assert_eq!(error.class, Class::InvalidRequest);
        assert!(error.message.contains("192.0.2.1:9 unencrypted"), "{error}");
    }
}

#[tokio::test]
async fn ids_of_requests_are_taken_from_headers() {
    let ids = [("cf-ray", "ray"), ("apim-request-id", "azure"), ("request-id", "req_9")];
    for (count, expected) in [(1, "ray"), (2, "azure"), (3, "req_9")] {
        let server = Server::start([Answer::with_headers(400, &ids[..count], "{}")]).await;
        let provider = crate::toy::provider(&server);
        let error = provider.generate(question()).await.unwrap_err();
        assert_eq!(error.request_id.as_deref(), Some(expected));
    }
}
