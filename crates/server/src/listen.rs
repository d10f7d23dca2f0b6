//! Decides who may connect, for how long a connection may be silent, and how all of them end.
//! `Server::serve` is called by whoever has a socket. Never looks at what is asked: that is for the layers and routes.

mod link;
mod sending;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Version;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Interval, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::Server;
use crate::held;
use crate::limits::Limits;

use link::{Between, Wire};
pub(crate) use link::{Link, Reach};
use sending::Sending;

/// How long to wait when the system has no connection to give: nearly always because files are used up.
const BREATH: Duration = Duration::from_millis(100);
/// How often connections are told that somebody waits for a place.
const CALL: Duration = Duration::from_millis(250);
/// How long connections have to notice that they were cut.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// What is read of heads that are too large, in order to answer them in words. Beyond that, bare 431.
const READ_ON: usize = 4;

impl Server {
    /// Whether an address may be listened on: others than this machine's need a token first.
    pub async fn may_listen(&self, address: SocketAddr) -> io::Result<()> {
        if address.ip().is_loopback() {
            return Ok(());
        }
        let register = &self.app.register;
        let known = register.current().await.map_err(io::Error::other)?;
        if known.any_usable(register.now()) {
            return Ok(());
        }
        let text = format!(
            "{address} can be reached by other machines and there is no token that would keep them out; \
             make one with `agent-world token create NAME --role admin`, or listen on 127.0.0.1"
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }

    /// Whether nobody gets in without a token.
    pub async fn wants_tokens(&self) -> io::Result<bool> {
        Ok(self.app.register.current().await.map_err(io::Error::other)?.any())
    }

    /// Serves and delivers webhooks until [`Server::stopping`] is cancelled; then lets requests under way finish, and ends
    /// streams. Returns when no connection is left.
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let router = self.site();
        let address = listener.local_addr()?;
        self.may_listen(address).await?;
        self.app.listens_on(address);
        let (served, ()) =
            tokio::join!(self.clone().serve_routes(listener, router), self.deliver_webhooks());
        served
    }

    async fn serve_routes(self, listener: TcpListener, router: Router) -> io::Result<()> {
        let address = listener.local_addr()?;
        self.may_listen(address).await?;
        let limits = self.app.gate.limits.clone();
        let cut = CancellationToken::new();
        // Nothing is ever sent: when all connections have dropped their end, all are gone.
        let (alive, mut all_gone) = mpsc::channel::<()>(1);
        let house = House {
            router,
            limits: limits.clone(),
            reach: Reach::of(address),
            stopping: self.stopping().clone(),
            cut: cut.clone(),
            crowded: Notify::new(),
        };
        welcome(&listener, Arc::new(house), alive).await;
        drop(listener);
        if timeout(limits.grace, all_gone.recv()).await.is_err() {
            tracing::warn!("requests did not finish in time and are cut off");
            cut.cancel();
            if timeout(LAST_MOMENT, all_gone.recv()).await.is_err() {
                tracing::warn!("a connection does not end and is left alone");
            }
        }
        Ok(())
    }
}

/// What all connections of a listener share.
#[derive(Debug)]
struct House {
    router: Router,
    limits: Limits,
    reach: Reach,
    stopping: CancellationToken,
    /// Cancelled when whoever is left must go.
    cut: CancellationToken,
    /// Told again and again while somebody waits for a place.
    crowded: Notify,
}

/// Accepts connections until the server stops.
async fn welcome(listener: &TcpListener, house: Arc<House>, alive: mpsc::Sender<()>) {
    let count = house.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(count));
    let stopping = house.stopping.clone();
    loop {
        let (stream, theirs) = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = accept(listener) => accepted,
        };
        // Where there is none, this connection waits, and those after it in the system's queue.
        let place = tokio::select! {
            () = stopping.cancelled() => return,
            place = place(&house, &places) => place,
        };
        let Some(place) = place else { return };
        // One that has no address any more is over before it began.
        let Ok(ours) = stream.local_addr() else { continue };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection cannot be told to send at once");
        }
        let link = Arc::new(Link::new(house.reach, Between { theirs, ours }, place));
        tokio::spawn(converse(Arc::clone(&house), stream, link, alive.clone()));
    }
}

/// A place for a connection. Who does nothing has to leave one: a thousand silent clients must not keep out a busy one.
async fn place(house: &House, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    if let Ok(free) = Arc::clone(places).try_acquire_owned() {
        return Some(free);
    }
    let mut waiting = pin!(Arc::clone(places).acquire_owned());
    let mut calls = tokio::time::interval(CALL);
    loop {
        tokio::select! {
            place = waiting.as_mut() => return place.ok(),
            _ = calls.tick() => house.crowded.notify_waiters(),
        }
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // The client has gone away before it was its turn.
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Answers what comes over one connection, until either side ends it.
async fn converse(house: Arc<House>, stream: TcpStream, link: Arc<Link>, alive: mpsc::Sender<()>) {
    let io = TokioIo::new(Wire::new(stream, Arc::clone(&link), house.limits.write_timeout, alive));
    let answering = {
        let (router, link) = (house.router.clone(), Arc::clone(&link));
        service_fn(move |request| answer(router.clone(), Arc::clone(&link), request))
    };
    let builder = builder(&house.limits);
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, answering));
    let Limits { header_timeout, write_timeout, crowded_idle, .. } = house.limits;
    let (mut looks, mut offers) = (every(header_timeout), every(write_timeout));
    let mut closing = Closing::No;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended with an error");
                }
                return;
            }
            () = house.cut.cancelled() => return,
            () = house.stopping.cancelled(), if closing == Closing::No => {
                closing = Closing::Asked;
                connection.as_mut().graceful_shutdown();
                continue;
            }
            _ = offers.tick() => {
                if link.is_stuck(write_timeout) {
                    tracing::debug!("a client takes nothing of what it is offered");
                    return;
                }
                continue;
            }
            _ = looks.tick() => if !link.is_idle(header_timeout) { continue },
            () = house.crowded.notified() => if !link.is_idle(crowded_idle) { continue },
        }
        // Asked politely first: a client that is there then knows that nothing of its next request was read.
        if closing == Closing::Asked {
            return;
        }
        closing = Closing::Asked;
        connection.as_mut().graceful_shutdown();
    }
}

fn every(period: Duration) -> Interval {
    let period = period.max(Duration::from_millis(1));
    let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    Asked,
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let header_bytes = limits.header_bytes.saturating_mul(READ_ON).max(16 << 10);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.headers.saturating_mul(READ_ON))
        .max_buf_size(header_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.header_timeout.saturating_mul(2))
        .keep_alive_timeout(limits.header_timeout);
    builder
}

async fn answer(
    router: Router,
    link: Arc<Link>,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let busy = link.begin();
    let version = request.version();
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(Arc::clone(&link));
    let response = held::holding(router.oneshot(request).await?, busy);
    // Of several answers on one connection each can be held up by the client, without the connection standing still.
    Ok(match version >= Version::HTTP_2 && !held::is_unhurried(&response) {
        true => response.map(|body| Body::new(Sending::new(body, link))),
        false => response,
    })
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
