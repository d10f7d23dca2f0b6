//! Follows what happens, without a gap and without a repeat, over any number of lost connections.
//! Used by everything that watches. Tells when the connection is lost and when it is back; gives up only when the server
//! says that there is nothing to follow.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use sse_stream::SseByteStream;

use crate::client::Client;
use crate::transport::{Answer, Body};
use crate::wire::event::{self, Told};
use crate::wire::{Event, Output, Piece};
use crate::{Error, Path, Result};

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// Known to be after everything: whoever claims to know it gets what comes.
const LATEST: u64 = u64::MAX;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    World(String),
    Chat { world: String, chat: String },
}

/// What one who follows hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Event(Box<Event>),
    Piece(Piece),
    Output(Output),
    /// The connection is gone; what happens meanwhile is told when it is back.
    Lost(String),
    Back,
}

/// An open stream of what happens.
pub struct Following {
    client: Client,
    path: Path,
    /// The newest event that was told.
    known: u64,
    stream: Option<Frames>,
    /// A new connection that is being made. Kept, so that whoever stops waiting for a while does not begin anew each time.
    opening: Option<BoxFuture<'static, Result<Answer>>>,
    pauses: ExponentialBackoff,
    lost: bool,
}

type Frames = SseByteStream<Body>;

impl Scope {
    pub fn path(&self) -> Path {
        match self {
            Self::All => Path::new("/api/events"),
            Self::World(world) => Path::new("/api/worlds").then(world).then("events"),
            Self::Chat { world, chat } => {
                Path::new("/api/worlds").then(world).then("chats").then(chat).then("events")
            }
        }
    }
}

impl Client {
    /// Follows what happens after an event, or from now on. When this returns, nothing that happens later is missed.
    ///
    /// # Errors
    /// When nobody answers, or there is nothing to follow.
    pub async fn follow(&self, scope: &Scope, after: Option<u64>) -> Result<Following> {
        let path = scope.path();
        let answer = self.open(&path, Some(after.unwrap_or(LATEST))).await?;
        let known = match after {
            Some(after) => after,
            None => answer.cursor.ok_or_else(|| Error::Unreadable {
                place: self.place(),
                request: format!("GET {}", path.text()),
                cause: "it does not say where the stream begins".to_owned(),
            })?,
        };
        Ok(Following {
            client: self.clone(),
            path,
            known,
            stream: Some(SseByteStream::new(answer.body)),
            opening: None,
            pauses: pauses(),
            lost: false,
        })
    }
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(SHORTEST)
        .with_max_delay(LONGEST)
        .without_max_times()
        .with_jitter()
        .build()
}

impl Following {
    /// The newest event that was told: where another could go on.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// The next thing. May be dropped while it waits: nothing is lost by that.
    ///
    /// # Errors
    /// When there is nothing to follow any more.
    pub async fn next(&mut self) -> Result<Heard> {
        loop {
            let Some(stream) = &mut self.stream else {
                self.reconnect().await?;
                if std::mem::take(&mut self.lost) {
                    return Ok(Heard::Back);
                }
                continue;
            };
            let cause = match stream.next().await {
                Some(Ok(frame)) => match (frame.event.as_deref(), frame.data) {
                    (_, None) => continue,
                    // Cut off for being slow, or the log cannot be read now: what was missed is told again.
                    (Some("error"), Some(_)) => {
                        self.stream = None;
                        continue;
                    }
                    (_, Some(data)) => match event::read(&data) {
                        Ok(told) => match self.take(told) {
                            Some(heard) => return Ok(heard),
                            None => continue,
                        },
                        Err(error) => return Err(self.unreadable(&error.to_string())),
                    },
                },
                Some(Err(error)) => error.to_string(),
                None => "the server ended the stream".to_owned(),
            };
            self.stream = None;
            self.lost = true;
            return Ok(Heard::Lost(cause));
        }
    }

    fn take(&mut self, told: Told) -> Option<Heard> {
        self.pauses = pauses();
        Some(match told {
            Told::Event(event) if event.seq <= self.known => return None,
            Told::Event(event) => {
                self.known = event.seq;
                Heard::Event(event)
            }
            Told::Piece(piece) => Heard::Piece(piece),
            Told::Output(output) => Heard::Output(output),
        })
    }

    async fn reconnect(&mut self) -> Result<()> {
        loop {
            let pause = &mut self.pauses;
            let (client, path, known) = (&self.client, &self.path, self.known);
            let opening = self.opening.get_or_insert_with(|| {
                let pause = pause.next().unwrap_or(LONGEST);
                let (client, path) = (client.clone(), path.clone());
                let open = async move {
                    tokio::time::sleep(pause).await;
                    client.open(&path, Some(known)).await
                };
                open.boxed()
            });
            let opened = opening.await;
            self.opening = None;
            match opened {
                Ok(answer) => {
                    self.stream = Some(SseByteStream::new(answer.body));
                    return Ok(());
                }
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn unreadable(&self, cause: &str) -> Error {
        Error::Unreadable {
            place: self.client.place(),
            request: format!("GET {}", self.path.text()),
            cause: cause.to_owned(),
        }
    }
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.text();
        f.debug_struct("Following")
            .field("path", &path)
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}
