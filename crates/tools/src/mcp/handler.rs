//! Answers what a server asks or tells between calls: questions, folders, progress, changes of its list.
//! Called by rmcp. A question reaches the call it belongs to, or is refused; it never reaches another.
//!
//! Over HTTP a question comes on the stream of its call. Over stdio in the older era nothing says which call it belongs to:
//! with one call running it is that one's. With several it is refused, and from then on the server's calls run one at a time.
#![expect(deprecated, reason = "servers of the older era still ask for folders")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::elicitation;
use crate::person::Person;
use crate::watcher::{Channel, Watcher};

/// Bytes of one message about progress that are shown.
const PROGRESS_LIMIT: usize = 500;

/// Who is to hear of a call while it runs.
#[derive(Clone, Debug)]
pub struct Running {
    pub token: ProgressToken,
    pub person: Arc<dyn Person>,
    pub watcher: Arc<dyn Watcher>,
    /// How many questions of this call are open; its time stands still meanwhile.
    pub asking: watch::Sender<usize>,
}

/// The calls that run on one connection.
#[derive(Debug)]
pub struct Calls {
    running: Mutex<HashMap<RequestId, Running>>,
    /// Held while a call is sent and noted, so that nothing about it arrives in between.
    noting: tokio::sync::Mutex<()>,
    one_at_a_time: AtomicBool,
    turn: Arc<Semaphore>,
}

/// The client's side of one connection.
#[derive(Debug)]
pub struct Handler {
    server: String,
    folder: Option<PathBuf>,
    calls: Arc<Calls>,
    list_changed: Arc<Notify>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            noting: tokio::sync::Mutex::default(),
            one_at_a_time: AtomicBool::new(false),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Calls {
    /// Sends a call and notes who is to hear of it.
    pub async fn note<T, E>(
        &self,
        send: impl Future<Output = Result<T, E>>,
        describe: impl FnOnce(&T) -> (RequestId, Running),
    ) -> Result<T, E> {
        let _noting = self.noting.lock().await;
        let sent = send.await?;
        let (id, running) = describe(&sent);
        self.running().insert(id, running);
        Ok(sent)
    }

    pub fn forget(&self, id: &RequestId) {
        self.running().remove(id);
    }

    pub fn is_idle(&self) -> bool {
        self.running().is_empty()
    }

    /// A place among the running calls. Waits only where calls have to run one at a time.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        if self.one_at_a_time.load(Ordering::Acquire) {
            // An error would mean that somebody closed it, and nobody does.
            Arc::clone(&self.turn).acquire_owned().await.ok()
        } else {
            None
        }
    }

    async fn by_token(&self, token: &ProgressToken) -> Option<Running> {
        let _noting = self.noting.lock().await;
        self.running().values().find(|running| &running.token == token).cloned()
    }

    /// The call a question belongs to, or why that cannot be said.
    async fn by_origin(
        &self,
        origin: Option<&InboundStreamOrigin>,
    ) -> Result<Running, &'static str> {
        let _noting = self.noting.lock().await;
        let calls = self.running();
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return calls.get(id).cloned().ok_or("the call that it belongs to has ended");
        }
        let mut all = calls.values();
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err("no call is running"),
            (Some(_), Some(_)) => {
                self.one_at_a_time.store(true, Ordering::Release);
                Err("several calls are running and nothing says which of them asks; call again")
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RequestId, Running>> {
        // Nothing can panic while it is held.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handler {
    pub fn new(
        server: String,
        folder: Option<PathBuf>,
        calls: Arc<Calls>,
        list_changed: Arc<Notify>,
    ) -> Self {
        Self { server, folder, calls, list_changed }
    }
}

/// The world's folder, as a server is told of it.
pub fn roots(folder: Option<&PathBuf>) -> ListRootsResult {
    let roots = folder
        .and_then(|folder| reqwest::Url::from_directory_path(folder).ok())
        .map(|url| Root::new(url.as_str().trim_end_matches('/')));
    ListRootsResult::new(roots.into_iter().collect())
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let form = FormElicitationCapability::new();
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation = Some(
            ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::new()),
        );
        ClientConfig::new(
            capabilities,
            Implementation::new("agent-world", env!("CARGO_PKG_VERSION")),
        )
        // The newest that begins with a greeting; without one, every message names its version.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(roots(self.folder.as_ref()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let running = self
            .calls
            .by_origin(context.extensions.get::<InboundStreamOrigin>())
            .await
            .map_err(|reason| ErrorData::invalid_request(reason, None))?;
        let _asking = Asking::new(&running.asking);
        tokio::select! {
            told = elicitation::ask(&self.server, request, &*running.person) => Ok(told),
            // The server no longer wants to know.
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(running) = self.calls.by_token(&progress.progress_token).await {
            running.watcher.wrote(Channel::Progress, &told(&progress));
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }
}

fn told(progress: &ProgressNotificationParam) -> String {
    let mut told = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    if let Some(message) = &progress.message {
        let end = message.floor_char_boundary(PROGRESS_LIMIT);
        told = format!("{told}: {}", message.get(..end).unwrap_or_default());
    }
    told
}

/// Counts a question as open until it is dropped.
pub struct Asking<'a>(&'a watch::Sender<usize>);

impl<'a> Asking<'a> {
    pub fn new(asking: &'a watch::Sender<usize>) -> Self {
        asking.send_modify(|open| *open += 1);
        Self(asking)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}
