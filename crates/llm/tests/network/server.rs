//! A server for HTTP/1.1 that does what a script says and remembers what it was asked.
//! Used by every test of the network. It decides nothing: answers are taken in the order of the requests, and a request
//! too many gets status 599; or a function of the test answers each request.
#![allow(dead_code, reason = "each of the tests that it serves uses a part of it")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// A running server; it ends when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub state: Arc<State>,
    task: JoinHandle<()>,
}

type Play = dyn Fn(&Recorded) -> Answer + Send + Sync;

#[derive(Default)]
pub struct State {
    answers: Mutex<VecDeque<Answer>>,
    /// Answers in place of the script.
    play: Option<Box<Play>>,
    requests: Mutex<Vec<Recorded>>,
    connections: watch::Sender<usize>,
    closed: watch::Sender<usize>,
    received: watch::Sender<usize>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The first line.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What is sent for one request.
#[derive(Clone, Default)]
pub struct Answer(Vec<Step>);

#[derive(Clone)]
enum Step {
    Bytes(Vec<u8>),
    /// Goes on when the test gives a permit.
    Gate(Arc<Semaphore>),
    /// Says nothing any more and keeps the connection until the other side closes it.
    Silence,
    Pause(Duration),
    /// Closes the connection, whatever was announced.
    Cut,
}

impl Server {
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self::listen(State { answers, ..State::default() }).await
    }

    /// With an answer to every request, made when it comes.
    pub async fn answering(play: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(State { play: Some(Box::new(play)), ..State::default() }).await
    }

    async fn listen(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&shared).serve(connection));
            }
        });
        Self { address, state, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn push(&self, answer: Answer) {
        self.state.answers.lock().unwrap().push_back(answer);
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.state.connections.borrow()
    }

    /// Waits until the other side has closed this many connections.
    pub async fn closed(&self, wanted: usize) {
        let mut closed = self.state.closed.subscribe();
        let waiting = closed.wait_for(|closed| *closed >= wanted);
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
    }

    /// Waits until this many requests have come.
    pub async fn received(&self, wanted: usize) {
        let mut received = self.state.received.subscribe();
        let waiting = received.wait_for(|received| *received >= wanted);
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// Answers one request after the other on a connection.
    pub async fn serve(self: Arc<Self>, mut connection: impl AsyncRead + AsyncWrite + Unpin) {
        self.connections.send_modify(|count| *count += 1);
        while let Some(request) = read(&mut connection).await {
            let answer = {
                let next = match &self.play {
                    Some(play) => Some(play(&request)),
                    None => self.answers.lock().unwrap().pop_front(),
                };
                let mut requests = self.requests.lock().unwrap();
                requests.push(request);
                self.received.send_replace(requests.len());
                next.unwrap_or_else(|| Answer::json(599, "one request too many"))
            };
            if !self.perform(answer, &mut connection).await {
                return;
            }
        }
        self.closed.send_modify(|count| *count += 1);
    }

    /// Whether the connection can be used further.
    async fn perform(
        &self,
        answer: Answer,
        connection: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> bool {
        for step in answer.0 {
            let goes_on = match step {
                Step::Bytes(bytes) => {
                    connection.write_all(&bytes).await.is_ok() && connection.flush().await.is_ok()
                }
                Step::Gate(gate) => tokio::select! {
                    permit = gate.acquire() => { permit.unwrap().forget(); true }
                    () = until_closed(connection) => false,
                },
                Step::Silence => {
                    until_closed(connection).await;
                    false
                }
                Step::Pause(pause) => {
                    tokio::time::sleep(pause).await;
                    true
                }
                Step::Cut => return false,
            };
            if !goes_on {
                self.closed.send_modify(|count| *count += 1);
                return false;
            }
        }
        true
    }
}

fn chunk(bytes: &str) -> Step {
    Step::Bytes(format!("{:x}\r\n{bytes}\r\n", bytes.len()).into_bytes())
}

async fn until_closed(connection: &mut (impl AsyncRead + Unpin)) {
    let mut byte = [0];
    while matches!(connection.read(&mut byte).await, Ok(1)) {}
}

async fn read(connection: &mut (impl AsyncRead + Unpin)) -> Option<Recorded> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let mut request = Recorded { line, headers, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Answer {
    /// A whole reply.
    pub fn json(status: u16, body: &str) -> Self {
        Self::with_headers(status, &[("content-type", "application/json")], body)
    }

    pub fn with_headers(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self(vec![Step::Bytes(format!("{head}\r\n{body}").into_bytes())])
    }

    /// The head of a reply whose body comes piece by piece.
    pub fn stream(content_type: &str) -> Self {
        Self::begun(200, content_type)
    }

    /// As `stream`, with any status.
    pub fn begun(status: u16, content_type: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\nx-request-id: req_stream\r\n\
             transfer-encoding: chunked\r\n\r\n"
        );
        Self(vec![Step::Bytes(head.into_bytes())])
    }

    /// Server-sent events, each in a piece of its own, and the end.
    pub fn events(events: &[&str]) -> Self {
        let begun = Self::stream("text/event-stream");
        events.iter().fold(begun, |answer, event| answer.event(event)).end()
    }

    pub fn event(self, data: &str) -> Self {
        self.piece(&format!("data: {data}\n\n"))
    }

    pub fn piece(self, bytes: &str) -> Self {
        self.then(chunk(bytes))
    }

    pub fn end(self) -> Self {
        self.then(Step::Bytes(b"0\r\n\r\n".to_vec()))
    }

    /// A whole reply behind what comes before it.
    pub fn whole(mut self, status: u16, body: &str) -> Self {
        self.0.extend(Self::json(status, body).0);
        self
    }

    pub fn gate(self, gate: &Arc<Semaphore>) -> Self {
        self.then(Step::Gate(Arc::clone(gate)))
    }

    /// Comes a few bytes at a time, never two pieces closer than this.
    pub fn trickle(self, pieces: usize, pause: Duration) -> Self {
        let drops = (0..pieces).flat_map(|_| [Step::Pause(pause), chunk("x")]);
        drops.fold(self, Self::then)
    }

    pub fn silence(self) -> Self {
        self.then(Step::Silence)
    }

    pub fn cut(self) -> Self {
        self.then(Step::Cut)
    }

    fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}
