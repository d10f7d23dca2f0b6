//! Encrypted connections: made with the cryptography that this crate names, to servers that are trusted.

use std::sync::Arc;

use agent_world_llm::provider::{KeyPlace, Provider};
use agent_world_llm::transport::{Proxies, Retry, Transport};
use agent_world_llm::{Class, Model as _};
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::rustls::{ServerConfig, crypto};
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor};

use crate::server::{Answer, Server};
use crate::toy::{Toy, question};

struct Secure {
    url: String,
    certificate: Vec<u8>,
    /// The protocols that the first client offered.
    offered: oneshot::Receiver<Vec<Vec<u8>>>,
}

/// A certificate of its own, and what a server needs to show it.
fn certified() -> (Vec<u8>, ServerConfig) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (certificate.to_vec(), config)
}

/// Encrypts what another server says.
async fn secure(server: &Server) -> Secure {
    let (certificate, config) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    let (tell, offered) = oneshot::channel();
    let (state, config) = (Arc::clone(&server.state), Arc::new(config));
    tokio::spawn(async move {
        let mut tell = Some(tell);
        while let Ok((connection, _)) = listener.accept().await {
            let Ok(hello) = LazyConfigAcceptor::new(Acceptor::default(), connection).await else {
                continue;
            };
            if let (Some(tell), Some(protocols)) = (tell.take(), hello.client_hello().alpn()) {
                tell.send(protocols.map(<[u8]>::to_vec).collect()).ok();
            }
            if let Ok(connection) = hello.into_stream(Arc::clone(&config)).await {
                tokio::spawn(Arc::clone(&state).serve(connection));
            }
        }
    });
    Secure { url, certificate, offered }
}

fn provider(url: &str, transport: Transport) -> Provider {
    Provider::builder("toy", Arc::new(Toy))
        .base_url(url)
        .key_place(KeyPlace::None)
        .transport(transport)
        .retry(Retry::never())
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_asked_encrypted() {
    let server = Server::start([Answer::json(200, r#"{"say":"because","stop":"end"}"#)]).await;
    let Secure { url, certificate, offered } = secure(&server).await;
    let transport = Transport::builder().proxies(Proxies::none()).trust(certificate);
    let reply = provider(&url, transport.build().unwrap()).generate(question()).await.unwrap();
    assert_eq!(reply.output_text(), "because");
    // Both versions are offered, the newer first; this server knows the older.
    assert_eq!(offered.await.unwrap(), [b"h2".to_vec(), b"http/1.1".to_vec()]);
}

#[tokio::test]
async fn the_newer_http_is_spoken_where_the_server_does_and_shares_a_connection() {
    let (certificate, mut config) = certified();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    let server = tokio::spawn(async move {
        // One connection only: a second would never be accepted.
        let (connection, _) = listener.accept().await.unwrap();
        let connection = TlsAcceptor::from(Arc::new(config)).accept(connection).await.unwrap();
        let mut connection = h2::server::handshake(connection).await.unwrap();
        let mut waiting = Vec::new();
        while let Some(Ok((request, respond))) = connection.accept().await {
            assert_eq!(request.uri().path(), "/v1/talk");
            waiting.push(respond);
            if waiting.len() == 2 {
                // Both are answered only when both have come.
                for mut respond in waiting.drain(..) {
                    let mut body = respond.send_response(http::Response::new(()), false).unwrap();
                    let reply = r#"{"say":"because","stop":"end"}"#;
                    body.send_data(Bytes::from_static(reply.as_bytes()), true).unwrap();
                }
            }
        }
    });
    let transport = Transport::builder().proxies(Proxies::none()).trust(certificate);
    let provider = provider(&url, transport.build().unwrap());
    let both = tokio::join!(provider.generate(question()), provider.generate(question()));
    assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
    server.abort();
}

#[tokio::test]
async fn a_server_that_nobody_trusts_is_told_with_what_to_do() {
    let server = Server::start([]).await;
    let Secure { url, .. } = secure(&server).await;
    let transport = Transport::builder().proxies(Proxies::none()).build().unwrap();
    let error = provider(&url, transport).generate(question()).await.unwrap_err();
    assert_eq!(error.class, Class::Network);
    let host = url.trim_start_matches("https://").trim_end_matches("/v1");
    assert!(error.message.starts_with(&format!("no secure connection to {host}: ")), "{error}");
    assert!(error.message.contains("certificate"), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_server_without_encryption_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Held open, so that the client reads what came and not only that it ended.
        connection
    });
    let transport = Transport::builder().proxies(Proxies::none()).build().unwrap();
    let error = provider(&url, transport).generate(question()).await.unwrap_err();
    drop(server.await);
    assert_eq!(error.class, Class::Network);
    assert!(error.message.starts_with("no secure connection to 127.0.0.1:"), "{error}");
}
