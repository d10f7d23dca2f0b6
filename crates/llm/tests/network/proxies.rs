//! Proxies: used when the environment says so, and not for this machine.

use std::sync::Arc;

use agent_world_llm::credentials::Fixed;
use agent_world_llm::provider::{KeyPlace, Provider};
use agent_world_llm::transport::{Proxies, Retry, Transport};
use agent_world_llm::{Class, Error, Model as _, Response};

use crate::server::{Answer, Server};
use crate::toy::{Toy, question};

const DONE: &str = r#"{"say":"because","stop":"end"}"#;

/// Asks a vendor through whatever these variables say.
async fn ask(
    base_url: &str,
    variables: &[(&str, &str)],
    even_loopback: bool,
) -> Result<Response, Error> {
    let read = |name: &str| {
        let found = variables.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let proxies = Proxies::read(read);
    let proxies = if even_loopback { proxies.even_loopback() } else { proxies };
    let transport = Transport::builder().proxies(proxies).build()?;
    let provider = Provider::builder("toy", Arc::new(Toy))
        .base_url(base_url)
        .key_place(KeyPlace::None)
        .transport(transport)
        .retry(Retry::never())
        .build()?;
    provider.generate(question()).await
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let proxy = Server::start([Answer::json(200, DONE)]).await;
        let address = format!("http://ada:pass@{}", proxy.address);
        ask("http://vendor.example/v1", &[(name, &address)], false).await.unwrap();
        let request = &proxy.requests()[0];
        assert_eq!(request.line, "POST http://vendor.example/v1/talk?toy=1 HTTP/1.1");
        assert_eq!(request.header("proxy-authorization"), Some("Basic YWRhOnBhc3M="));
    }
}

#[tokio::test]
async fn an_encrypted_request_is_tunnelled() {
    let proxy = Server::start([Answer::json(403, "")]).await;
    // An address may leave its scheme out.
    let address = proxy.address.to_string();
    let asked = ask("https://vendor.example/v1", &[("HTTPS_PROXY", &address)], false).await;
    let error = asked.unwrap_err();
    assert_eq!(error.class, Class::Network);
    assert!(error.message.contains("vendor.example"), "{error}");
    assert!(error.message.contains("check HTTPS_PROXY"), "{error}");
    assert_eq!(proxy.requests()[0].line, "CONNECT vendor.example:443 HTTP/1.1");
}

#[tokio::test]
async fn this_machine_is_reached_without_a_proxy_unless_asked() {
    let proxy = Server::start([Answer::json(200, DONE)]).await;
    let server = Server::start([Answer::json(200, DONE), Answer::json(200, DONE)]).await;
    let variables = [("HTTP_PROXY", &*format!("http://{}", proxy.address))];
    ask(&server.url(), &variables, false).await.unwrap();
    let by_name = format!("http://localhost:{}/v1", server.address.port());
    ask(&by_name, &variables, false).await.unwrap();
    assert_eq!((server.requests().len(), proxy.requests().len()), (2, 0));
    // However the address is written: a key may go there unencrypted, and a proxy would read it.
    for host in ["[::ffff:127.0.0.1]", "models.localhost"] {
        let written = format!("http://{host}:{}/v1", server.address.port());
        // Whether anybody is found there is up to the machine.
        ask(&written, &variables, false).await.ok();
        assert_eq!(proxy.requests().len(), 0, "{host}");
    }
    let server = Server::start([Answer::json(200, DONE), Answer::json(200, DONE)]).await;
    ask(&server.url(), &variables, true).await.unwrap();
    assert_eq!((server.requests().len(), proxy.requests().len()), (0, 1));
}

#[tokio::test]
async fn hosts_can_be_excepted() {
    let proxy = Server::start([]).await;
    let variables = [
        ("HTTP_PROXY", &*format!("http://{}", proxy.address)),
        ("NO_PROXY", "a.example, 127.0.0.1"),
    ];
    let server = Server::start([Answer::json(200, DONE)]).await;
    ask(&server.url(), &variables, true).await.unwrap();
    assert!(proxy.requests().is_empty());
}

#[tokio::test]
async fn a_proxy_that_is_none_is_told_without_its_password() {
    for address in ["socks5://ada:secret-word@proxy.example:1", "http://", "::secret-word"] {
        let asked = ask("http://vendor.example", &[("HTTP_PROXY", address)], false).await;
        let error = asked.unwrap_err();
        assert_eq!(error.class, Class::InvalidRequest);
        assert!(error.message.contains("HTTP_PROXY"), "{error}");
        assert!(!error.message.contains("secret-word"), "{error}");
    }
}

#[tokio::test]
async fn a_key_through_a_proxy_goes_to_the_vendor_alone() {
    let proxy = Server::start([Answer::json(200, DONE)]).await;
    let proxies = Proxies::all(format!("http://ada:secret-word@{}", proxy.address));
    let transport = Transport::builder().proxies(proxies);
    assert!(!format!("{transport:?}").contains("secret-word"), "{transport:?}");
    let transport = transport.build().unwrap();
    assert!(!format!("{transport:?}").contains("secret-word"), "{transport:?}");
    let provider = Provider::builder("toy", Arc::new(Toy))
        .base_url("http://vendor.example")
        .credentials(Fixed::key("sk-0123456789"))
        .transport(transport);
    // Unencrypted, the proxy reads it: nothing is sent before somebody allows it.
    let provider = provider.build().unwrap();
    assert_eq!(provider.generate(question()).await.unwrap_err().class, Class::InvalidRequest);
    assert!(proxy.requests().is_empty());
}

#[tokio::test]
async fn a_key_goes_unencrypted_where_that_is_allowed() {
    let proxy = Server::start([Answer::json(200, DONE)]).await;
    let proxies = Proxies::all(format!("http://{}", proxy.address));
    let provider = Provider::builder("toy", Arc::new(Toy))
        .base_url("http://models.home.arpa")
        .credentials(Fixed::key("sk-0123456789"))
        .allow_key_over_http()
        .transport(Transport::builder().proxies(proxies).build().unwrap())
        .build()
        .unwrap();
    provider.generate(question()).await.unwrap();
    assert_eq!(proxy.requests()[0].header("authorization"), Some("Bearer sk-0123456789"));
}
