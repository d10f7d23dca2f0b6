//! Opens one connection to a server, in whichever era it speaks, and notices when it ends.
//! Called by `supervisor`. Dropping a connection ends it, a child process included.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ClientServiceExt;
use rmcp::model::{PingRequest, ProtocolVersion, ServerPeerInfo, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::failure;
use super::handler::{Calls, Handler};
use super::http::Http;
use super::oauth::{Authorizer, Challenge};
use super::plan::{Endpoint, Program};
use super::stdio::{Running, Said};
use super::{FRAME_LIMIT, Protocol};

/// How long a server may take to let go.
const CLOSING: Duration = Duration::from_secs(2);
/// How often a broken stream is taken up again before its call is given up.
const RESUMPTIONS: usize = 3;

/// Why there is no connection.
#[derive(Debug)]
pub enum Refused {
    /// The server wants to know first who we are.
    Asked(Challenge),
    /// It answered, and made no sense, or ended at the newer era's first question.
    Puzzling(String),
    Failed(String),
}

/// A connection that is ready.
pub struct Connection {
    pub peer: Peer<RoleClient>,
    pub info: Arc<ServerPeerInfo>,
    pub calls: Arc<Calls>,
    pub list_changed: Arc<Notify>,
    ended: CancellationToken,
    /// Dropped, it ends the connection.
    end: Option<DropGuard>,
    child: Option<Running>,
    _listening: Option<DropGuard>,
}

/// What a connection is opened for.
pub struct Purpose {
    pub server: String,
    pub folder: Option<PathBuf>,
    pub protocol: Protocol,
}

impl Connection {
    /// Starts a child and greets it.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer as a server.
    pub async fn to_child(purpose: Purpose, program: &Program) -> Result<Self, Refused> {
        let (mut running, stdout, stdin) = Running::start(program).map_err(Refused::Failed)?;
        let transport =
            AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(usize::MAX);
        let parts = Parts::default();
        let served =
            parts.handler(&purpose).serve_with_lifecycle(transport, purpose.protocol.mode());
        match served.await {
            Ok(service) => Ok(parts.connect(service, Some(running))),
            Err(error) => {
                // It has mostly ended by itself, and then its last words are complete.
                timeout(Duration::from_millis(500), running.exited()).await.ok();
                let said = running.said();
                let status = running.end().await.ok().map(|status| status.to_string());
                Err(match refused(&error) {
                    Refused::Failed(text) => Refused::Failed(with_last_words(text, status, &said)),
                    Refused::Puzzling(text) => {
                        Refused::Puzzling(with_last_words(text, status, &said))
                    }
                    Refused::Asked(challenge) => Refused::Asked(challenge),
                })
            }
        }
    }

    /// Greets a server over HTTP.
    ///
    /// # Errors
    /// When it cannot be reached, does not answer as a server, or wants to know first who we are.
    pub async fn to_endpoint(
        purpose: Purpose,
        endpoint: &Endpoint,
        http: Http,
        authorizer: Option<&Authorizer>,
    ) -> Result<Self, Refused> {
        let url = endpoint.url.as_str();
        let connection = match authorizer {
            Some(authorizer) => Self::over(purpose, url, authorizer.client(http.clone())).await,
            None => Self::over(purpose, url, http.clone()).await,
        }?;
        http.stream_settled().await;
        Ok(connection)
    }

    async fn over<C>(purpose: Purpose, url: &str, client: C) -> Result<Self, Refused>
    where
        C: StreamableHttpClient + Send + Sync,
    {
        let mut retry = ExponentialBackoff::default();
        retry.max_times = Some(RESUMPTIONS);
        retry.base_duration = Duration::from_millis(500);
        retry.max_delay = Some(Duration::from_secs(10));
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.max_sse_event_size = FRAME_LIMIT;
        config.retry_config = Arc::new(retry);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let parts = Parts::default();
        let served =
            parts.handler(&purpose).serve_with_lifecycle(transport, purpose.protocol.mode());
        match served.await {
            Ok(service) => Ok(parts.connect(service, None)),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Returns when the connection has ended.
    pub async fn ended(&mut self) {
        let Self { ended, child, .. } = self;
        match child {
            Some(child) => tokio::select! {
                () = ended.cancelled() => {}
                // A grandchild may hold the pipes open.
                () = child.exited() => {}
            },
            None => ended.cancelled().await,
        }
    }

    /// Ends the connection in an orderly way and says how the child ended, if there is one.
    pub async fn close(mut self) -> Option<String> {
        self.end.take();
        // Killed below if it does not let go.
        timeout(CLOSING, self.ended.cancelled()).await.ok();
        let child = self.child.take()?;
        let said = child.said();
        let status = child.end().await.ok()?.to_string();
        Some(with_last_words(String::new(), Some(status), &said))
    }

    /// Whether anybody is still there.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn probe(&self, limit: Duration) -> Result<(), String> {
        let answered = async {
            if self.info.protocol_version.has_initialize() {
                self.peer.send_request(PingRequest::default().into()).await.map(|_| ())
            } else {
                // The newer era has no ping.
                super::catalog::read(&self.peer).await.map(|_| ())
            }
        };
        match timeout(limit, answered).await {
            Ok(Ok(()) | Err(ServiceError::McpError(_))) => Ok(()),
            Ok(Err(error)) => Err(failure::in_request(&error)),
            Err(_) => Err(format!("the server did not answer within {} s", limit.as_secs_f64())),
        }
    }

    pub fn is_of_older_era(&self) -> bool {
        self.info.protocol_version.has_initialize()
    }

    pub fn has_tools(&self) -> bool {
        self.info.capabilities.tools.is_some()
    }
}

/// What the handler and the connection share.
#[derive(Default)]
struct Parts {
    calls: Arc<Calls>,
    list_changed: Arc<Notify>,
}

impl Parts {
    fn handler(&self, purpose: &Purpose) -> Handler {
        Handler::new(
            purpose.server.clone(),
            purpose.folder.clone(),
            Arc::clone(&self.calls),
            Arc::clone(&self.list_changed),
        )
    }

    fn connect(
        self,
        service: RunningService<RoleClient, Handler>,
        child: Option<Running>,
    ) -> Connection {
        let peer = service.peer().clone();
        let info = peer.peer_info().unwrap_or_else(|| {
            Arc::new(ServerPeerInfo::new(ProtocolVersion::default(), Default::default()))
        });
        let (end, ended) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(wait(service, end.clone(), ended.clone()));
        let changes = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        let listening = (!info.protocol_version.has_initialize() && changes == Some(true))
            .then(|| listen(peer.clone(), Arc::clone(&self.list_changed)));
        Connection {
            peer,
            info,
            calls: self.calls,
            list_changed: self.list_changed,
            ended,
            end: Some(end.drop_guard()),
            child,
            _listening: listening,
        }
    }
}

/// Says when a connection has ended, by itself or because it was asked to.
async fn wait(
    service: RunningService<RoleClient, Handler>,
    end: CancellationToken,
    ended: CancellationToken,
) {
    let _ended = ended.drop_guard();
    let closing = service.cancellation_token();
    let waiting = service.waiting();
    tokio::pin!(waiting);
    tokio::select! {
        _ = &mut waiting => return,
        () = end.cancelled() => closing.cancel(),
    }
    // However it quits, it has.
    waiting.await.ok();
}

/// In the newer era changes are told only to those who ask for them.
fn listen(peer: Peer<RoleClient>, list_changed: Arc<Notify>) -> DropGuard {
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let listening = async move {
        let mut delay = Duration::from_secs(1);
        while !peer.is_transport_closed() {
            let mut filter = SubscriptionFilter::default();
            filter.tools_list_changed = Some(true);
            match peer.listen(filter).await {
                Ok(mut subscription) => {
                    delay = Duration::from_secs(1);
                    while let Ok(Some(_)) = subscription.next().await {
                        list_changed.notify_one();
                    }
                }
                // The server does not offer it after all.
                Err(ServiceError::McpError(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(Duration::from_secs(60));
            // Something may have changed while nobody listened.
            list_changed.notify_one();
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = listening => {}
            () = ended.cancelled() => {}
        }
    });
    guard
}

fn refused(error: &ClientInitializeError) -> Refused {
    if let Some(challenge) = failure::challenge_at_start(error) {
        return Refused::Asked(challenge);
    }
    let text = failure::at_start(error);
    match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => Refused::Puzzling(text),
        _ => Refused::Failed(text),
    }
}

fn with_last_words(mut what: String, status: Option<String>, said: &Said) -> String {
    if let Some(status) = status {
        let before = if what.is_empty() { "it ended with " } else { "; it ended with " };
        what.push_str(before);
        what.push_str(&status);
    }
    if let Some(lines) = said.last_lines() {
        what.push_str("; it last wrote: ");
        what.push_str(&failure::short(&lines));
    }
    what
}

impl Protocol {
    fn mode(&self) -> ClientLifecycleMode {
        match self {
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Self::Older => ClientLifecycleMode::Initialize,
            Self::Newer => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}
