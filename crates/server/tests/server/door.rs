//! A server on a loopback port, with a clock that is set by hand, and ways to knock at it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agent_world_runtime::core::Timestamp;
use agent_world_runtime::store::{Memory, Store};
use agent_world_runtime::{Engine, Environment};
use agent_world_server::tokens::{self, Wanted};
use agent_world_server::{Clock, Limits, Options, Role, Server};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Far longer than anything here takes; reached only when something is broken.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub struct Door {
    pub store: Arc<dyn Store>,
    pub address: SocketAddr,
    pub clock: Arc<HandSet>,
    pub client: reqwest::Client,
    server: Server,
}

/// Shows the time somebody set.
#[derive(Debug)]
pub struct HandSet(AtomicI64);

impl HandSet {
    pub fn forward(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Environment for HandSet {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn entropy(&self) -> u128 {
        0
    }
}

impl Door {
    pub async fn open() -> Self {
        Self::open_with(Limits::default()).await
    }

    pub async fn open_with(limits: Limits) -> Self {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let engine = Engine::builder(Arc::clone(&store)).start().unwrap();
        let clock = Arc::new(HandSet(AtomicI64::new(1_800_000_000_000)));
        let environment: Arc<dyn Environment> = clock.clone();
        let options = Options { limits, clock: Clock(environment), ..Options::default() };
        let server = Server::new(engine, options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(server.clone().serve(listener));
        // The client wants one even where nothing is encrypted; whoever was first has installed it.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { store, address, clock, client, server }
    }

    /// Makes a token as another process would, and waits until the server knows it.
    pub async fn token(&self, name: &str, role: Role) -> String {
        self.token_until(name, role, None).await
    }

    pub async fn token_until(&self, name: &str, role: Role, end: Option<Duration>) -> String {
        let expires_at = end.map(|end| self.clock.now().checked_add(end).unwrap());
        let wanted = Wanted { name: name.to_owned(), role, expires_at, by: "tester".to_owned() };
        let text = tokens::create(&*self.store, wanted, self.clock.now()).await.unwrap().text;
        self.until(&text, 200).await;
        text
    }

    /// Waits until a token is answered with a status.
    pub async fn until(&self, token: &str, status: u16) {
        let so = async {
            while self.ask(Method::GET, "/api/me", Some(token)).await.status() != status {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(DEADLINE, so).await.expect("the server notices");
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    pub async fn ask(&self, method: Method, path: &str, token: Option<&str>) -> reqwest::Response {
        let mut request = self.request(method.clone(), path);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if method != Method::GET {
            request = request.header("content-type", "application/json").body("{}");
        }
        request.send().await.unwrap()
    }

    /// Sends these bytes, and returns everything that comes back.
    pub async fn raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut all));
        read.await.expect("the connection is closed").ok();
        String::from_utf8_lossy(&all).into_owned()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.server.stopping().cancel();
    }
}
