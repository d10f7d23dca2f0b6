//! What a piece of a reply costs on its way to readers of the event stream, through the real router over loopback.
//!
//! Run it with `cargo bench -p agent-world-server --bench events`; `-- --quick` takes a shorter look. Costs are CPU time of
//! the server's threads alone, with the engine and its model on them; readers have threads of their own. What the same
//! frames cost in bare writes to a socket is measured beside it. Absolute numbers are the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_core::config::{Agent, World};
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_runtime::llm::scripted::{Answer, Scripted};
use agent_world_runtime::store::Memory;
use agent_world_runtime::{Engine, NewMessage};
use agent_world_server::Server;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

const SERVING: &str = "serving";
const READING: &str = "reading";
const WRITING: &str = "writing";
/// Characters of one piece: what vendors send.
const PIECE: usize = 8;

fn main() {
    let quick = std::env::args().any(|word| word == "--quick" || word == "--test");
    let rounds = if quick { 3 } else { 21 };
    // Nothing here is encrypted, and readers want to know with what all the same.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let stage = Stage::open();
    let (frame, bare) = bare(if quick { 2_000 } else { 50_000 });
    println!("a frame has {} bytes; a bare write of it takes {}", frame, shown(bare));
    let none = stage.measure(0, 1_000, rounds);
    println!("a piece without readers: {} (the engine and the scripted model)", shown(none.cpu));
    for (readers, pieces) in [(1, 1_000), (500, 100)] {
        let measured = stage.measure(readers, pieces, rounds);
        let own = measured.cpu.saturating_sub(none.cpu);
        let each = own / u32::try_from(readers).unwrap();
        println!(
            "a piece with {readers} readers: {} of CPU for each reader ({:.2} bare writes), {} until all have it",
            shown(each),
            each.as_secs_f64() / bare.as_secs_f64(),
            shown(measured.wall),
        );
    }
}

/// What one piece took, the median of all rounds.
struct Measured {
    cpu: Duration,
    wall: Duration,
}

struct Stage {
    serving: Runtime,
    reading: Runtime,
    engine: Engine,
    model: Scripted,
    chat: ChatId,
    address: SocketAddr,
}

impl Stage {
    fn open() -> Self {
        let runtime = |name: &str| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(2).thread_name(name).enable_all().build().unwrap()
        };
        let (serving, reading) = (runtime(SERVING), runtime(READING));
        let model = Scripted::new();
        let (engine, chat, address) = serving.block_on(async {
            let engine = Engine::builder(Arc::new(Memory::new()));
            let engine = engine.model("scripted", Arc::new(model.clone())).start().unwrap();
            let began = "2026-01-01T00:00:00Z".parse().unwrap();
            let mut world = World::new(WorldId::new("bench"), "Bench", began);
            let model = Some("scripted/ada".to_owned());
            world.agents = vec![Agent { model, ..Agent::new("ada") }];
            let world = engine.create_world(world, "eve").await.unwrap().id;
            let title = Some("Bench".to_owned());
            let chat = engine.create_chat(&world, title, "eve").await.unwrap().id;
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let router = Server::new(engine.clone(), Default::default()).router();
            tokio::spawn(async move { axum::serve(listener, router).await });
            (engine, chat, address)
        });
        Self { serving, reading, engine, model, chat, address }
    }

    fn measure(&self, readers: usize, pieces: usize, rounds: usize) -> Measured {
        let (heard, mut ends) = mpsc::unbounded_channel();
        let following: Vec<_> =
            (0..readers).map(|_| self.reading.spawn(follow(self.url(), heard.clone()))).collect();
        self.reading.block_on(async {
            for _ in 0..readers {
                assert_eq!(ends.recv().await.unwrap(), Heard::Joined);
            }
        });
        let mut measured = Vec::new();
        for _ in 0..rounds {
            measured.push(self.round(readers, pieces, &mut ends));
        }
        for reader in following {
            reader.abort();
        }
        let per_piece = |mut all: Vec<Duration>| {
            all.sort();
            all[all.len() / 2] / u32::try_from(pieces).unwrap()
        };
        let (cpu, wall) = measured.into_iter().unzip();
        Measured { cpu: per_piece(cpu), wall: per_piece(wall) }
    }

    /// One reply, until everybody has heard its end.
    fn round(
        &self,
        readers: usize,
        pieces: usize,
        ends: &mut mpsc::UnboundedReceiver<Heard>,
    ) -> (Duration, Duration) {
        self.model.push("ada", Answer::text("x".repeat(PIECE * pieces)).in_chunks(PIECE));
        let (cpu, began) = (cpu_of(SERVING), Instant::now());
        self.serving.block_on(async {
            self.engine.post(&self.chat, NewMessage::human("speak")).await.unwrap();
            let mut events = self.engine.subscribe(
                agent_world_runtime::store::Scope::Chat(self.chat.clone()),
                u64::MAX / 32,
            );
            while self.engine.chat(&self.chat).await.unwrap().activity.busy {
                tokio::time::timeout(Duration::from_millis(5), events.next()).await.ok();
            }
        });
        for _ in 0..readers {
            let heard = self.reading.block_on(ends.recv()).unwrap();
            assert_eq!(heard, Heard::Reply(pieces), "every piece reaches every reader");
        }
        let wall = began.elapsed();
        (cpu_of(SERVING) - cpu, wall)
    }

    fn url(&self) -> String {
        format!("http://{}/api/worlds/bench/chats/{}/events", self.address, self.chat)
    }
}

#[derive(Debug, PartialEq)]
enum Heard {
    Joined,
    /// A reply came to its end after so many pieces.
    Reply(usize),
}

async fn follow(url: String, heard: mpsc::UnboundedSender<Heard>) {
    let request = reqwest::Client::new().get(url).header("Accept", "text/event-stream");
    let request = request.header("Last-Event-ID", u64::MAX);
    let mut response = request.send().await.unwrap();
    let mut text: Vec<u8> = Vec::new();
    let mut pieces = 0;
    while let Some(bytes) = response.chunk().await.unwrap() {
        text.extend_from_slice(&bytes);
        let mut from = 0;
        while let Some(length) = text[from..].windows(2).position(|two| two == b"\n\n") {
            let frame = &text[from..from + length];
            from += length + 2;
            if frame.starts_with(b"retry") {
                heard.send(Heard::Joined).unwrap();
            } else if frame.starts_with(b"event: stream") {
                pieces += 1;
            } else if frame.windows(13).any(|some| some == b"\"phase\":\"end\"") {
                heard.send(Heard::Reply(std::mem::take(&mut pieces))).unwrap();
            }
        }
        text.drain(..from);
    }
}

/// The size of a frame, and what one takes that is written to a socket by itself.
fn bare(writes: u32) -> (usize, Duration) {
    let id = "chat_01k5wq3v6e0000000000000000";
    let frame = format!(
        "event: stream\ndata: {{\"type\":\"stream\",\"world_id\":\"bench\",\"chat_id\":\"{id}\",\"data\":{{\"phase\":\
         \"chunk\",\"message_id\":\"{id}\",\"agent_id\":\"ada\",\"offset\":1000,\"delta\":\"xxxxxxxx\",\"reasoning_delta\":\
         \"\"}}}}\n\n"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut writer, _) = listener.accept().unwrap();
    writer.set_nodelay(true).unwrap();
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while reader.read(&mut buffer).unwrap() > 0 {}
    });
    let length = frame.len();
    let writing = std::thread::Builder::new().name(WRITING.to_owned()).spawn(move || {
        let cpu = cpu_of(WRITING);
        for _ in 0..writes {
            writer.write_all(frame.as_bytes()).unwrap();
        }
        (cpu_of(WRITING) - cpu) / writes
    });
    let each = writing.unwrap().join().unwrap();
    reading.join().unwrap();
    (length, each)
}

/// The CPU time of the threads with a name, as the kernel has counted it.
fn cpu_of(name: &str) -> Duration {
    let mut total = Duration::ZERO;
    for task in std::fs::read_dir("/proc/self/task").expect("the kernel counts time in /proc") {
        let path = task.unwrap().path();
        let of_thread = |file: &str| std::fs::read_to_string(path.join(file)).unwrap_or_default();
        if of_thread("comm").trim() == name {
            let counted = of_thread("schedstat");
            let nanoseconds = counted.split(' ').next().and_then(|count| count.parse().ok());
            total += Duration::from_nanos(nanoseconds.unwrap_or_default());
        }
    }
    total
}

fn shown(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}
