//! Tests of connections, streams, panics and the end of a server, with routes made for them, over real sockets.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_runtime::store::Memory;
use agent_world_runtime::{Engine, store::Store};
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::routing::{get, post};
use futures::StreamExt as _;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite;

use super::*;
use crate::access::tokens::{self, Last};
use crate::access::{Role, Viewer};
use crate::app::App;
use crate::{Options, described};

#[path = "listen_unread_tests.rs"]
mod unread;

/// Far longer than anything here takes; reached only when something is broken.
const DEADLINE: Duration = Duration::from_secs(30);

struct Stage {
    server: Server,
    store: Arc<dyn Store>,
    address: SocketAddr,
    serving: JoinHandle<io::Result<()>>,
    /// Lets `/test/wait` go on.
    go: Arc<Notify>,
    /// Told when `/test/wait` has begun.
    begun: Arc<Notify>,
    /// Told when nothing holds the bytes of `/test/large` or `/test/parts` any more.
    gone: Arc<Notify>,
}

impl Stage {
    async fn start(limits: Limits) -> Self {
        Self::start_on("127.0.0.1:0", Arc::new(Memory::new()), limits).await
    }

    async fn start_on(address: &str, store: Arc<dyn Store>, limits: Limits) -> Self {
        let engine = Engine::builder(Arc::clone(&store)).start().unwrap();
        let server = Server::new(engine, Options { limits, ..Options::default() });
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (go, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let gone = Arc::new(Notify::new());
        let routes = test_routes(Arc::clone(&go), Arc::clone(&begun))
            .merge(unread::routes(Arc::clone(&gone)));
        let router = server.layered(described().split_for_parts().0.merge(routes));
        let serving = tokio::spawn(server.clone().serve_routes(listener, router));
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Self { server, store, address, serving, go, begun, gone }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        client().get(self.url(path)).send().await.unwrap()
    }

    async fn token(&self, name: &str, role: Role) -> String {
        let wanted =
            tokens::Wanted { name: name.to_owned(), role, expires_at: None, by: "t".to_owned() };
        let issued = tokens::create(&*self.store, wanted, Timestamp::now()).await;
        self.server.app.register.forget();
        issued.unwrap().text
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn stop(self) {
        self.server.stopping().cancel();
        timeout(DEADLINE, self.serving).await.expect("it stops").unwrap().unwrap();
    }
}

fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

fn client_builder() -> reqwest::ClientBuilder {
    // It wants one even where nothing is encrypted; whoever was first has installed it.
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().no_proxy()
}

fn test_routes(go: Arc<Notify>, begun: Arc<Notify>) -> Router<Arc<App>> {
    let wait = move || {
        let (go, begun) = (Arc::clone(&go), Arc::clone(&begun));
        async move {
            begun.notify_one();
            go.notified().await;
            "done"
        }
    };
    async fn stream(_: Viewer, State(_): State<Arc<App>>) -> impl axum::response::IntoResponse {
        let events = futures::stream::once(async { Ok::<_, Infallible>("data: hello\n\n") });
        let events = events.chain(futures::stream::pending());
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events))
    }
    async fn socket(_: Viewer, upgrade: WebSocketUpgrade) -> Response {
        upgrade.on_upgrade(async |mut socket| {
            while let Some(Ok(message)) = socket.recv().await {
                if matches!(message, Message::Text(_)) && socket.send(message).await.is_err() {
                    return;
                }
            }
        })
    }
    async fn fall(Path(word): Path<String>) -> &'static str {
        panic!("secret {word}")
    }
    Router::new()
        .route("/test/wait", get(wait))
        .route("/test/stream", get(stream))
        .route("/test/socket", get(socket))
        .route("/test/fall/{word}", get(fall))
        .route("/test/body", post(async |body: crate::extract::Body<Value>| body.0.to_string()))
}

/// Everything the server sends until it closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A reset is an end, too: what was sent before it is there.
    timeout(DEADLINE, stream.read_to_end(&mut all)).await.expect("it is closed").ok();
    String::from_utf8_lossy(&all).into_owned()
}

/// Waits for the first piece of a stream.
async fn first(response: &mut reqwest::Response) {
    let piece = timeout(DEADLINE, response.chunk()).await.expect("a piece").unwrap().unwrap();
    assert_eq!(piece, "data: hello\n\n");
}

#[tokio::test]
async fn a_request_under_way_is_finished_and_streams_end_when_the_server_stops() {
    let stage = Stage::start(Limits::default()).await;
    let mut stream = stage.get("/test/stream").await;
    first(&mut stream).await;
    let (mut socket, _) =
        connect_async(format!("ws://{}/test/socket", stage.address)).await.unwrap();
    let idle = stage.connect().await;
    let waiting = tokio::spawn(client().get(stage.url("/test/wait")).send());
    stage.begun.notified().await;
    stage.server.stopping().cancel();
    // The stream ends, as a whole.
    assert_eq!(timeout(DEADLINE, stream.chunk()).await.expect("it ends").unwrap(), None);
    let ended = timeout(DEADLINE, socket.next()).await.expect("the socket ends");
    assert!(!matches!(ended, Some(Ok(tungstenite::Message::Text(_)))), "{ended:?}");
    // Nobody is let in any more, and the request under way is still waited for.
    assert!(TcpStream::connect(stage.address).await.is_err());
    assert!(!stage.serving.is_finished());
    stage.go.notify_one();
    let answer = waiting.await.unwrap().unwrap();
    assert_eq!(
        (answer.status(), answer.text().await.unwrap()),
        (StatusCode::OK, "done".to_owned())
    );
    stage.stop().await;
    drop(idle);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut_off() {
    let grace = Duration::from_millis(50);
    let stage = Stage::start(Limits { grace, ..Limits::default() }).await;
    let waiting = tokio::spawn(client().get(stage.url("/test/wait")).send());
    stage.begun.notified().await;
    stage.stop().await;
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn a_panic_is_a_problem_of_its_request_alone_and_tells_nothing() {
    let stage = Stage::start(Limits::default()).await;
    let answer = stage.get("/test/fall/hunter2").await;
    assert_eq!(answer.status(), 500);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert!(!answer.text().await.unwrap().contains("hunter2"));
    assert_eq!(stage.get("/healthz").await.status(), 200);
    stage.stop().await;
}

#[tokio::test]
async fn requests_beyond_the_bound_are_refused_until_one_is_answered() {
    let stage = Stage::start(Limits { requests: 1, ..Limits::default() }).await;
    let waiting = tokio::spawn(client().get(stage.url("/test/wait")).send());
    stage.begun.notified().await;
    let refused = stage.get("/api/me").await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "too_busy");
    // It lives, and streams are counted apart.
    assert_eq!(stage.get("/healthz").await.status(), 200);
    let request = client().get(stage.url("/test/stream")).header("accept", "text/event-stream");
    first(&mut request.send().await.unwrap()).await;
    stage.go.notify_one();
    waiting.await.unwrap().unwrap();
    assert_eq!(stage.get("/api/me").await.status(), 200);
    stage.stop().await;
}

#[tokio::test]
async fn streams_and_sockets_beyond_their_bound_are_refused_until_one_ends() {
    let stage = Stage::start(Limits { streams: 2, ..Limits::default() }).await;
    let ask =
        || client().get(stage.url("/test/stream")).header("accept", "text/event-stream").send();
    let mut stream = ask().await.unwrap();
    first(&mut stream).await;
    let address = format!("ws://{}/test/socket", stage.address);
    let (socket, _) = connect_async(&address).await.unwrap();
    let refused = ask().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "too_many_streams");
    assert!(matches!(connect_async(&address).await, Err(tungstenite::Error::Http(_))));
    assert_eq!(stage.get("/api/me").await.status(), 200);
    drop((stream, socket));
    let again = async {
        while ask().await.unwrap().status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, again).await.expect("there is room again");
    stage.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_and_those_with_a_stream_do_not_count() {
    let stage = Stage::start(Limits { connections: 1, ..Limits::default() }).await;
    let request = client().get(stage.url("/test/stream"));
    let mut stream = request.send().await.unwrap();
    first(&mut stream).await;
    // The stream's connection has left its place to this one.
    let mut held = stage.connect().await;
    held.write_all(b"GET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut start = [0; 15];
    timeout(DEADLINE, held.read_exact(&mut start)).await.expect("an answer").unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    let mut waits = stage.connect().await;
    waits
        .write_all(b"GET /api/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let early = timeout(Duration::from_millis(100), waits.readable()).await;
    assert!(early.is_err(), "it was answered beside the bound");
    drop(held);
    assert!(rest(&mut waits).await.starts_with("HTTP/1.1 200 OK"));
    stage.stop().await;
}

#[tokio::test]
async fn whoever_dribbles_headers_or_sends_nothing_is_closed() {
    let header_timeout = Duration::from_millis(50);
    let stage = Stage::start(Limits { header_timeout, ..Limits::default() }).await;
    for beginning in ["", "GET / HTT", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", "PRI * HT"] {
        let mut stream = stage.connect().await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let said = rest(&mut stream).await;
        assert!(!said.starts_with("HTTP/1.1 2"), "{beginning:?}: {said}");
    }
    // The preface of HTTP/2 and its settings, then silence.
    let mut stream = stage.connect().await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    rest(&mut stream).await;
    stage.stop().await;
}

#[tokio::test]
async fn a_body_that_stands_still_is_given_up_and_one_that_keeps_coming_is_not() {
    let body_timeout = Duration::from_secs(1);
    let stage = Stage::start(Limits { body_timeout, ..Limits::default() }).await;
    let head = "POST /test/body HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Type: application/json\r\nContent-Length: 8\r\n\r\n";
    let mut still = stage.connect().await;
    still.write_all(format!("{head}[1,").as_bytes()).await.unwrap();
    let said = rest(&mut still).await;
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    assert!(said.contains("body_too_slow"), "{said}");
    let mut steady = stage.connect().await;
    steady.write_all(head.as_bytes()).await.unwrap();
    for piece in ["[1", ",", "2", ",", "3", "] "] {
        tokio::time::sleep(Duration::from_millis(250)).await;
        steady.write_all(piece.as_bytes()).await.unwrap();
    }
    let said = rest(&mut steady).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    stage.stop().await;
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused_whether_or_not_they_say_so() {
    let stage = Stage::start(Limits { body_bytes: 1_000, ..Limits::default() }).await;
    let large = format!("\"{}\"", "x".repeat(1_000));
    let request =
        || client().post(stage.url("/test/body")).header("content-type", "application/json");
    let pieces: Vec<Result<String, io::Error>> = large
        .as_bytes()
        .chunks(100)
        .map(|one| Ok(String::from_utf8(one.to_vec()).unwrap()))
        .collect();
    let chunked = reqwest::Body::wrap_stream(futures::stream::iter(pieces));
    for body in [reqwest::Body::from(large.clone()), chunked] {
        let answer = request().body(body).send().await.unwrap();
        assert_eq!(answer.status(), 413);
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "body_too_large");
    }
    let fits = format!("\"{}\"", "x".repeat(998));
    assert_eq!(request().body(fits).send().await.unwrap().status(), 200);
    stage.stop().await;
}

#[tokio::test]
async fn headers_that_are_too_large_or_too_many_are_refused() {
    let stage = Stage::start(Limits::default()).await;
    let ask = async |headers: String| {
        let mut stream = stage.connect().await;
        let head = format!(
            "GET /api/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.ok();
        rest(&mut stream).await
    };
    let large = |bytes: usize| format!("X-Large: {}\r\n", "x".repeat(bytes));
    let many = |count: usize| (0..count).map(|at| format!("X-{at}: 1\r\n")).collect::<String>();
    assert!(ask(large(60_000)).await.starts_with("HTTP/1.1 200"));
    assert!(ask(many(98)).await.starts_with("HTTP/1.1 200"));
    for headers in [large(70_000), many(99), many(390)] {
        let said = ask(headers).await;
        assert!(said.starts_with("HTTP/1.1 431"), "{said}");
        assert!(
            said.contains("headers_too_large") && said.contains("application/problem+json"),
            "{said}"
        );
    }
    assert!(ask(large(400_000)).await.starts_with("HTTP/1.1 431"));
    assert!(ask(many(1_000)).await.starts_with("HTTP/1.1 431"));
    stage.stop().await;
}

#[tokio::test]
async fn open_streams_end_when_their_token_is_revoked_and_others_go_on() {
    let stage = Stage::start(Limits::default()).await;
    let mut local = stage.get("/test/stream").await;
    first(&mut local).await;
    let ada = stage.token("ada", Role::Viewer).await;
    let bob = stage.token("bob", Role::Viewer).await;
    let open = async |token: &str| {
        let request = client().get(stage.url("/test/stream")).bearer_auth(token);
        let mut stream = request.send().await.unwrap();
        first(&mut stream).await;
        stream
    };
    let socket_of = |token: &str| {
        let mut request = tungstenite::client::IntoClientRequest::into_client_request(format!(
            "ws://{}/test/socket",
            stage.address
        ))
        .unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        connect_async(request)
    };
    let (mut of_ada, mut of_bob) = (open(&ada).await, open(&bob).await);
    let (mut socket, _) = socket_of(&ada).await.unwrap();
    // Who was let in because there were no tokens has to go as well.
    assert_eq!(timeout(DEADLINE, local.chunk()).await.expect("it ends").unwrap(), None);
    tokens::revoke(&*stage.store, "ada", Last::MayGo, Timestamp::now()).await.unwrap();
    assert_eq!(timeout(DEADLINE, of_ada.chunk()).await.expect("it ends").unwrap(), None);
    let ended = timeout(DEADLINE, socket.next()).await.expect("the socket ends");
    assert!(!matches!(ended, Some(Ok(_))), "{ended:?}");
    assert!(timeout(Duration::from_millis(50), of_bob.chunk()).await.is_err());
    drop(of_bob);
    stage.stop().await;
}

#[tokio::test]
async fn beyond_this_machine_nobody_is_let_in_without_a_token() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let open = Stage::start_on("0.0.0.0:0", Arc::clone(&store), Limits::default()).await;
    let refused = timeout(DEADLINE, open.serving).await.expect("it ends").unwrap().unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    assert!(
        refused.to_string().contains("agent-world token create NAME --role admin"),
        "{refused}"
    );

    let wanted = tokens::Wanted {
        name: "ada".to_owned(),
        role: Role::Admin,
        expires_at: None,
        by: "t".to_owned(),
    };
    let issued = tokens::create(&*store, wanted, Timestamp::now()).await.unwrap();
    let stage = Stage::start_on("0.0.0.0:0", Arc::clone(&store), Limits::default()).await;
    let ask = || client().get(stage.url("/api/me")).bearer_auth(&issued.text).send();
    assert_eq!(ask().await.unwrap().status(), 200);
    tokens::revoke(&*store, "ada", Last::MayGo, Timestamp::now()).await.unwrap();
    let shut = async {
        while ask().await.unwrap().status() != 401 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, shut).await.expect("the last token is revoked");
    assert_eq!(stage.get("/api/me").await.status(), 401);
    assert_eq!(stage.get("/test/stream").await.status(), 401);
    stage.stop().await;
}
