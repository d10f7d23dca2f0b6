//! Decides what is known of one connection: whether it is at work, which place it takes, and when it must end.
//! Made by `listen` for each connection; the layers find it with each request of it.

use std::any::Any;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use agent_world_runtime::tools::launcher::{Peer, peer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, Sleep, sleep};

use crate::held::Until;

/// From where a listener can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This machine only.
    Loopback,
    /// Other machines, too.
    Beyond,
}

impl Reach {
    pub fn of(address: SocketAddr) -> Self {
        if address.ip().is_loopback() { Self::Loopback } else { Self::Beyond }
    }
}

/// One connection, as long as it lasts.
pub(crate) struct Link {
    pub reach: Reach,
    between: Between,
    /// Who is at the other end, once it is certain: a connection stays whose it is.
    peer: OnceCell<Peer>,
    requests: AtomicUsize,
    /// Whether a write waits for the client.
    writes: AtomicBool,
    /// Whether it may do so without a bound of its own. It is idle all the same once its answer is made.
    has_time: AtomicBool,
    inner: Mutex<Inner>,
}

/// The two addresses of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub theirs: SocketAddr,
    pub ours: SocketAddr,
}

struct Inner {
    /// Its place among the connections.
    place: Option<OwnedSemaphorePermit>,
    /// What is given back when it ends.
    kept: Vec<Box<dyn Any + Send>>,
    /// When it last began or ended an answer, or sent something. What a client sends does not count: it could dribble.
    moved: Instant,
    ends: Ends,
    /// Pieces of answers that the client has to take before anything goes on.
    offered: usize,
    /// When it last took one, or was offered the first.
    took: Instant,
}

impl Inner {
    fn check(&self) -> io::Result<()> {
        match self.ends {
            Ends::Now => Err(io::ErrorKind::ConnectionAborted.into()),
            Ends::WithItself | Ends::When(_) => Ok(()),
        }
    }
}

enum Ends {
    WithItself,
    When(Until),
    Now,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("reach", &self.reach).finish_non_exhaustive()
    }
}

impl Link {
    pub fn new(reach: Reach, between: Between, place: OwnedSemaphorePermit) -> Self {
        let inner = Inner {
            place: Some(place),
            kept: Vec::new(),
            moved: Instant::now(),
            ends: Ends::WithItself,
            offered: 0,
            took: Instant::now(),
        };
        Self {
            reach,
            between,
            peer: OnceCell::new(),
            requests: AtomicUsize::new(0),
            writes: AtomicBool::new(false),
            has_time: AtomicBool::new(false),
            inner: Mutex::new(inner),
        }
    }

    /// Where the other end is.
    pub fn address(&self) -> IpAddr {
        self.between.theirs.ip()
    }

    /// Whether the other end is on this machine.
    pub fn is_from_here(&self) -> bool {
        let Between { theirs, ours } = self.between;
        theirs.ip().is_loopback() || theirs.ip() == ours.ip()
    }

    /// Who is at the other end. Looked up with the first request; what is not certain is looked up again with the next.
    pub async fn peer(&self) -> Peer {
        let Between { theirs, ours } = self.between;
        let look = async || match tokio::task::spawn_blocking(move || peer(theirs, ours)).await {
            Ok(peer @ (Peer::Own | Peer::Other)) => Ok(peer),
            Ok(peer) => Err(peer),
            Err(error) => {
                tracing::error!(%error, "who is at the other end of a connection cannot be looked up");
                Err(Peer::Unclear)
            }
        };
        self.peer.get_or_try_init(look).await.copied().unwrap_or_else(|unclear| unclear)
    }

    /// It is at work until what is returned is dropped.
    pub fn begin(self: &Arc<Self>) -> Busy {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    fn is_at_work(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// Nothing is answered or waits for being sent, and nothing has moved for that long.
    pub fn is_idle(&self, long: Duration) -> bool {
        !self.is_at_work()
            && (!self.writes.load(Ordering::Relaxed) || self.has_time.load(Ordering::Relaxed))
            && self.lock().moved.elapsed() >= long
    }

    /// The client is offered a piece of an answer, and has taken or refused it when what is returned is dropped.
    pub fn offer(self: &Arc<Self>) -> Offer {
        let mut inner = self.lock();
        if inner.offered == 0 {
            inner.took = Instant::now();
        }
        inner.offered += 1;
        drop(inner);
        Offer(Arc::clone(self))
    }

    /// The client was offered something, and has taken nothing for that long.
    pub fn is_stuck(&self, long: Duration) -> bool {
        let inner = self.lock();
        inner.offered > 0 && inner.took.elapsed() >= long
    }

    /// Its client may leave an answer unread for as long as it is made: somebody else decides when that is too much.
    pub fn leave_time(&self) {
        self.has_time.store(true, Ordering::Relaxed);
    }

    /// Makes room for another connection: this one is counted elsewhere from now on.
    pub fn leave_place(&self) {
        self.lock().place = None;
    }

    /// Keeps something until the connection ends.
    pub fn keep(&self, kept: impl Any + Send) {
        self.lock().kept.push(Box::new(kept));
    }

    /// Ends the connection when something is over, also after it has become a WebSocket.
    pub fn end_when(&self, until: Until) {
        self.lock().ends = Ends::When(until);
    }

    fn moved(&self) {
        self.lock().moved = Instant::now();
    }

    /// An error once the connection must end. Only whoever reads is woken for it, so only they ask whether it is time.
    fn check_as_reader(&self, context: &mut Context<'_>) -> io::Result<()> {
        let mut inner = self.lock();
        if let Ends::When(until) = &mut inner.ends
            && until.as_mut().poll(context).is_ready()
        {
            inner.ends = Ends::Now;
        }
        inner.check()
    }

    fn check_as_writer(&self) -> io::Result<()> {
        self.lock().check()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a connection, until its answer was handed over.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Link>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.moved();
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A piece of an answer, until the client has taken it.
#[derive(Debug)]
pub(crate) struct Offer(Arc<Link>);

impl Drop for Offer {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.offered = inner.offered.saturating_sub(1);
        inner.took = Instant::now();
    }
}

/// The bytes of a connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    link: Arc<Link>,
    /// How long a write may stand still.
    patience: Duration,
    /// Runs while one does.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Dropped with the connection, which is how the server knows that it is gone.
    _alive: mpsc::Sender<()>,
}

impl Wire {
    pub fn new(
        stream: TcpStream,
        link: Arc<Link>,
        patience: Duration,
        alive: mpsc::Sender<()>,
    ) -> Self {
        Self { stream, link, patience, stalled: None, _alive: alive }
    }

    /// What a write came to. One that stands still for too long has failed: what it holds is held for nobody.
    fn sent(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.link.writes.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.stalled = None;
            if matches!(written, Poll::Ready(Ok(1..))) {
                self.link.moved();
            }
            return written;
        }
        if self.link.has_time.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        match stalled.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                tracing::debug!("a client takes nothing of what it is sent");
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.link.check_as_reader(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.link.check_as_writer()?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.link.check_as_writer()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.sent(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
