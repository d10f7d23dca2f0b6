//! Finds whoever answers a command: a server that was named, one that runs on the data folder, or the store itself.
//! Called by every command that talks to a world. All of them speak HTTP's language: where there is no server, the same
//! routes answer within this process, so that a command cannot behave differently with and without one.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use agent_world_client::{Answer, Client, Error, Path, Remote, Token, Transport, Unencrypted};
use agent_world_server::{Limits, Options, Principal, Proof, Role, Server};
use agent_world_tools::trust;
use anyhow::Result;
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Request;
use serde::de::IgnoredAny;
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use crate::data::DataFolder;
use crate::running_server::{self, Found};
use crate::serve;
use crate::setup::{Session, who};

/// Pieces of an answer that are on their way within this process.
const PIECES: usize = 16;

/// How long a server on the data folder may take to let somebody in. It has just said that it is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a command's answers are to come from.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    /// A server that was named; none is looked for then.
    pub server: Option<String>,
    /// What it knows the person by.
    pub token: Option<Token>,
    pub data: DataFolder,
}

/// What a command does with the store, where it opens it itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Looks, changes settings, decides. Nothing runs in this process.
    Visit,
    /// As `Visit`, and the MCP servers of worlds it asks about are started.
    VisitWithServers,
    /// Does what is owed, unless another process does.
    Work,
}

/// Somebody who answers.
#[derive(Debug)]
pub struct Connection {
    pub client: Client,
    /// Where the server was found, and what all clients go through: it can be found elsewhere later.
    found: Option<(String, Arc<Line>)>,
    within: Option<Within>,
}

/// A way to somebody that can lead to somebody else later, for everybody who has it.
#[derive(Debug)]
struct Line(RwLock<Arc<dyn Transport>>);

impl Line {
    fn new(to: Arc<dyn Transport>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(to)))
    }

    fn end(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn lead_to(&self, to: Arc<dyn Transport>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

#[async_trait]
impl Transport for Line {
    async fn exchange(&self, request: Request<Bytes>) -> agent_world_client::Result<Answer> {
        self.end().exchange(request).await
    }

    fn place(&self) -> String {
        self.end().place()
    }
}

/// The store, opened by this process.
#[derive(Debug)]
struct Within {
    session: Session,
    server: Server,
    routes: Arc<Routes>,
}

impl Connection {
    pub async fn open(to: Whereabouts, purpose: Purpose) -> Result<Self> {
        if let Some(url) = &to.server {
            let remote = remote(url, to.token.clone())?;
            return Ok(Self { client: Client::new(remote), found: None, within: None });
        }
        match Self::announced(&to).await? {
            Some(connection) => Ok(connection),
            None => Self::on_store(to.data, purpose).await,
        }
    }

    /// The server that runs on the data folder, if it lets this person in. Without its token the owner of the store still
    /// has the store.
    async fn announced(to: &Whereabouts) -> Result<Option<Self>> {
        let Some((url, remote)) = answering(to).await? else {
            return Ok(None);
        };
        let line = Line::new(remote);
        let client = Client::new(Arc::<Line>::clone(&line));
        Ok(Some(Self { client, found: Some((url, line)), within: None }))
    }

    /// Looks whether the server that was found on the data folder is elsewhere now. All clients lead there from then on;
    /// gives back where that is. One that was named is waited for where it was.
    pub async fn find_again(&mut self, to: &Whereabouts) -> Result<Option<String>> {
        let Some((known, line)) = &mut self.found else {
            return Ok(None);
        };
        let is_elsewhere = |url: &String| url != known;
        if running_server::announced_at(&to.data).is_none_or(|url| !is_elsewhere(&url)) {
            return Ok(None);
        }
        let Some((url, remote)) = answering(to).await?.filter(|(url, _)| is_elsewhere(url)) else {
            return Ok(None);
        };
        line.lead_to(remote);
        known.clone_from(&url);
        Ok(Some(url))
    }

    /// The store itself, also where a server runs on it.
    pub async fn on_store(data: DataFolder, purpose: Purpose) -> Result<Self> {
        let session = match purpose {
            Purpose::Visit => Session::visit(data).await?,
            Purpose::VisitWithServers => Session::visit_with_servers(data).await?,
            Purpose::Work => Session::open(data).await?,
        };
        let server = Server::new(session.engine.clone(), options(&session));
        let routes = Arc::new(Routes {
            router: RwLock::new(server.router_for(person())),
            place: session.data.path().display().to_string(),
        });
        let client = Client::new(Arc::<Routes>::clone(&routes));
        let within = Some(Within { session, server, routes });
        Ok(Self { client, found: None, within })
    }

    /// The store, where this process has opened it.
    pub fn session(&self) -> Option<&Session> {
        self.within.as_ref().map(|within| &within.session)
    }

    /// Takes the work over if this process has the store open, is only a visitor and the one that worked is gone.
    pub async fn take_over(&mut self) -> Result<bool> {
        let Some(within) = &mut self.within else {
            return Ok(false);
        };
        if !within.session.take_over().await? {
            return Ok(false);
        }
        within.server.stopping().cancel();
        within.server = Server::new(within.session.engine.clone(), options(&within.session));
        within.routes.replace(within.server.router_for(person()));
        Ok(true)
    }

    /// Ends what this process runs.
    pub async fn close(self) {
        if let Some(within) = self.within {
            within.server.stopping().cancel();
            within.session.engine.shutdown().await;
        }
    }
}

/// The way to the server that runs on the data folder, and where that is, if it lets this person in.
async fn answering(to: &Whereabouts) -> Result<Option<(String, Arc<Remote>)>> {
    let Found::Answering(server) = running_server::find(&to.data).await else {
        return Ok(None);
    };
    // It runs on this machine, whichever of its addresses it listens on.
    let token = to.token.clone().map(|token| token.sent(Unencrypted::Anywhere));
    let remote = remote(&server.url, token)?;
    let client = Client::new(Arc::<Remote>::clone(&remote));
    let probe = client.get::<IgnoredAny>(Path::new("/api/worlds").with("limit", "1"));
    match tokio::time::timeout(PATIENCE, probe).await {
        Ok(Ok(_)) => Ok(Some((server.url, remote))),
        Err(_) | Ok(Err(Error::Unreachable { .. })) => Ok(None),
        Ok(Err(error)) if error.status() == Some(401) && to.token.is_none() => Ok(None),
        Ok(Err(error)) => Err(error.into()),
    }
}

fn remote(url: &str, token: Option<Token>) -> Result<Arc<Remote>> {
    Ok(Arc::new(Remote::new(url, token, trust::configure)?))
}

/// As a server of this program, but for what keeps others from filling its memory: here somebody works on their own.
fn options(session: &Session) -> Options {
    let usual = serve::options(session, None);
    let limits = Limits { import_bytes: usize::MAX, ..usual.limits.clone() };
    Options { limits, ..usual }
}

fn person() -> Principal {
    Principal { name: who(), role: Role::Admin, proof: Proof::Local }
}

/// The routes of a server, asked without a connection.
#[derive(Debug)]
struct Routes {
    router: RwLock<Router>,
    place: String,
}

impl Routes {
    fn replace(&self, router: Router) {
        *self.router.write().unwrap_or_else(PoisonError::into_inner) = router;
    }
}

#[async_trait]
impl Transport for Routes {
    async fn exchange(&self, request: Request<Bytes>) -> agent_world_client::Result<Answer> {
        let router = self.router.read().unwrap_or_else(PoisonError::into_inner).clone();
        let place = self.place.clone();
        let unreachable =
            |place: &str, cause: String| Error::Unreachable { place: place.to_owned(), cause };
        // In tasks of their own, as in a server: an answer that nobody reads for a while may hold what the next request needs.
        let answered = tokio::spawn(router.oneshot(request.map(Body::from))).await;
        let response = match answered.map_err(|error| unreachable(&place, error.to_string()))? {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (parts, body) = response.into_parts();
        let mut body =
            body.into_data_stream().map_err(move |error| unreachable(&place, error.to_string()));
        // When it is full the answer waits for its reader, as on a connection.
        let (sender, receiver) = mpsc::channel(PIECES);
        tokio::spawn(async move {
            loop {
                let piece = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    piece = body.next() => piece,
                };
                let Some(piece) = piece else { return };
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
        });
        let body = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|piece| (piece, receiver))
        });
        Ok(Answer::new(parts.status, &parts.headers, body.boxed()))
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}
