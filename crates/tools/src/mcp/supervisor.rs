//! Keeps one server of one world running: starts it, reads its list, notices its end, starts it again with growing delays.
//! Started by `Servers`, one task per server. Holds up nobody: whoever calls a server that is not there is told so at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agent_world_core::Timestamp;
use agent_world_core::config::McpServer;
use agent_world_core::ids::WorldId;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use rmcp::service::{Peer, RoleClient};
use tokio::sync::{Notify, OnceCell, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::catalog::{self, Catalog};
use super::connection::{Connection, Purpose, Refused};
use super::failure;
use super::handler::Calls;
use super::health::{Problem, Ready, ServerHealth, State};
use super::http::{Http, Redirects, Route, client};
use super::oauth::Authorizer;
use super::plan::{Endpoint, Plan, target};
use super::secrets::Secrets;
use super::{FRAME_LIMIT, Options, Protocol, Starting};

/// After this long a server counts as well again, and its next failure as its first.
const STABLE: Duration = Duration::from_secs(60);
/// How often we log in during one start before giving up.
const LOGINS: usize = 3;
/// Pings in a row that may go unanswered.
const MISSED: u32 = 2;

/// One server of one world.
pub struct Server {
    pub name: String,
    pub world: WorldId,
    pub settings: McpServer,
    /// The world's working directory: where a child starts, and what a server is told of.
    pub folder: Option<PathBuf>,
    pub options: Arc<Options>,
    status: watch::Sender<Status>,
    /// Counts the changes of the world's tools.
    changes: Arc<AtomicU64>,
    /// Where the server may ask who we are, and its settings do not say.
    authorizer: OnceCell<Authorizer>,
    restart: Notify,
    /// A call found the connection wanting.
    suspected: Notify,
}

#[derive(Clone, Debug)]
pub struct Status {
    pub health: ServerHealth,
    pub live: Option<Live>,
    /// What was listed last, also while the server is away.
    pub catalog: Arc<Catalog>,
    /// Name and version, as it said last.
    pub identity: String,
}

/// What a call needs of a connection.
#[derive(Clone)]
pub struct Live {
    pub peer: Peer<RoleClient>,
    pub calls: Arc<Calls>,
    pub secrets: Arc<Secrets>,
}

/// Why a server is no longer served.
enum End {
    Stopped,
    /// A person wants it started anew.
    Restart,
    Failed(String),
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

impl Server {
    pub fn new(
        world: WorldId,
        name: String,
        settings: McpServer,
        folder: Option<PathBuf>,
        options: Arc<Options>,
        changes: Arc<AtomicU64>,
    ) -> Self {
        let state = if settings.disabled { State::Stopped } else { State::Starting };
        let health = ServerHealth {
            name: name.clone(),
            state,
            since: Timestamp::now(),
            last_error: None,
            authorize_at: None,
            notes: Vec::new(),
        };
        let identity = name.clone();
        let status = Status { health, live: None, catalog: Arc::default(), identity };
        Self {
            name,
            world,
            settings,
            folder,
            options,
            status: watch::Sender::new(status),
            changes,
            authorizer: OnceCell::new(),
            restart: Notify::new(),
            suspected: Notify::new(),
        }
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub fn authorizer(&self) -> Option<&Authorizer> {
        self.authorizer.get()
    }

    pub fn restart(&self) {
        self.restart.notify_one();
    }

    pub fn suspect(&self) {
        self.suspected.notify_one();
    }

    /// How long one call may take.
    pub fn call_limit(&self) -> Duration {
        self.settings.timeout_seconds.map_or(self.options.call_limit, Duration::from_secs)
    }

    /// Name, version and way there, for a person and as a fact that an approval holds for.
    pub fn identity(&self) -> String {
        let identity = self.status.borrow().identity.clone();
        format!("{identity} at {}", target(&self.settings.transport))
    }

    /// Runs until it is cancelled.
    pub async fn supervise(self: Arc<Self>, cancelled: CancellationToken) {
        let mut delays = self.delays();
        while !cancelled.is_cancelled() {
            self.enter(State::Starting);
            let mut secrets = Secrets::default();
            let mut ready_since = None;
            let end = tokio::select! {
                biased;
                () = cancelled.cancelled() => End::Stopped,
                connected = self.connect(&mut secrets) => match connected {
                    Ok(connection) => {
                        ready_since = Some(Instant::now());
                        self.serve(connection, &cancelled, &secrets).await
                    }
                    Err(problem) => End::Failed(problem),
                },
            };
            if ready_since.is_some_and(|since| since.elapsed() > STABLE) {
                delays = self.delays();
            }
            match end {
                End::Stopped => break,
                End::Restart => delays = self.delays(),
                End::Failed(problem) => {
                    let delay = delays.next().unwrap_or(self.options.longest_delay);
                    self.fail(&secrets.mask(&problem), Some(delay));
                    tokio::select! {
                        () = tokio::time::sleep(delay) => {}
                        () = cancelled.cancelled() => break,
                        () = self.restart.notified() => delays = self.delays(),
                    }
                }
            }
        }
        self.enter(State::Stopped);
    }

    async fn connect(&self, secrets: &mut Secrets) -> Result<(Connection, Catalog), String> {
        let folder = self.folder.as_deref();
        let Self { world, name: server, settings, .. } = self;
        let variables = self.options.variables(Starting { world, server, settings });
        let plan = Plan::make(settings, &variables, folder, secrets)?;
        if let Plan::Http(endpoint) = &plan
            && !endpoint.has_credentials()
        {
            self.authorizer.get_or_try_init(|| self.make_authorizer(endpoint)).await?;
        }
        for logins in 0..=LOGINS {
            let seen = self.authorizer().map_or(0, Authorizer::times_let_in);
            let attempt = timeout(self.options.start_limit, self.attempt(&plan));
            let challenge = match attempt.await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(Refused::Failed(problem) | Refused::Puzzling(problem))) => {
                    return Err(problem);
                }
                Ok(Err(Refused::Asked(challenge))) => challenge,
                Err(_) => {
                    let limit = self.options.start_limit.as_secs_f64();
                    return Err(format!("the server was not ready within {limit} s"));
                }
            };
            let Some(authorizer) = self.authorizer() else {
                return Err(
                    "the server does not accept the Authorization header of its settings; \
                            correct it"
                        .to_owned(),
                );
            };
            if logins == LOGINS {
                break;
            }
            self.fail("the server wants somebody to log in", None);
            authorizer.authorize(&challenge, seen, None, &|url| self.publish(url)).await?;
            self.enter(State::Starting);
        }
        Err("the server asks us to log in again and again".to_owned())
    }

    async fn attempt(&self, plan: &Plan) -> Result<(Connection, Catalog), Refused> {
        let connection = match self.open(plan, self.options.protocol).await {
            // Servers of the older era answer a question they do not know in many ways; some end.
            Err(Refused::Puzzling(_)) if self.options.protocol == Protocol::Either => {
                self.open(plan, Protocol::Older).await?
            }
            opened => opened?,
        };
        match self.read(&connection).await {
            Ok(catalog) => Ok((connection, catalog)),
            Err(refused) => {
                let ended = connection.close().await;
                match (refused, ended) {
                    (Refused::Failed(problem), Some(ended)) => {
                        Err(Refused::Failed(format!("{problem}; {ended}")))
                    }
                    (refused, _) => Err(refused),
                }
            }
        }
    }

    async fn open(&self, plan: &Plan, protocol: Protocol) -> Result<Connection, Refused> {
        let purpose = Purpose { server: self.name.clone(), folder: self.folder.clone(), protocol };
        match plan {
            Plan::Stdio(program) => Connection::to_child(purpose, program).await,
            Plan::Http(endpoint) => {
                let http = http(endpoint).map_err(Refused::Failed)?;
                Connection::to_endpoint(purpose, endpoint, http, self.authorizer()).await
            }
        }
    }

    async fn make_authorizer(&self, endpoint: &Endpoint) -> Result<Authorizer, String> {
        let file = self.options.tokens.as_ref().map(|folder| {
            let whose = format!("{}\n{}\n{}", self.world, self.name, endpoint.url);
            let digest = agent_world_core::binding::digest(whose.as_bytes());
            folder.join(format!("{}.json", digest.trim_start_matches("sha256:")))
        });
        let (url, oauth) = (endpoint.url.clone(), endpoint.oauth.clone());
        Authorizer::new(url, oauth, http(endpoint)?, self.options.redirect.clone(), file).await
    }

    async fn read(&self, connection: &Connection) -> Result<Catalog, Refused> {
        let tools = if connection.has_tools() {
            catalog::read(&connection.peer).await.map_err(|error| {
                match failure::challenge_in_request(&error) {
                    Some(challenge) => Refused::Asked(challenge),
                    None => Refused::Failed(failure::in_request(&error)),
                }
            })?
        } else {
            Vec::new()
        };
        Ok(Catalog::of(&self.name, &self.settings, self.call_limit(), tools))
    }

    async fn serve(
        &self,
        (mut connection, catalog): (Connection, Catalog),
        cancelled: &CancellationToken,
        secrets: &Secrets,
    ) -> End {
        let live = Live {
            peer: connection.peer.clone(),
            calls: Arc::clone(&connection.calls),
            secrets: Arc::new(secrets.clone()),
        };
        self.ready(&connection, catalog, live);
        let end = self.watch(&mut connection, cancelled).await;
        self.status.send_modify(|status| status.live = None);
        let ended = connection.close().await;
        match (end, ended) {
            (End::Failed(problem), Some(ended)) => End::Failed(format!("{problem}; {ended}")),
            (end, _) => end,
        }
    }

    async fn watch(&self, connection: &mut Connection, cancelled: &CancellationToken) -> End {
        let list_changed = Arc::clone(&connection.list_changed);
        let start = tokio::time::Instant::now() + self.options.ping_every;
        let mut pings = tokio::time::interval_at(start, self.options.ping_every);
        pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut missed = 0;
        loop {
            let probe = tokio::select! {
                () = cancelled.cancelled() => return End::Stopped,
                () = self.restart.notified() => return End::Restart,
                () = connection.ended() => return End::Failed("the server ended".to_owned()),
                () = list_changed.notified() => None,
                // In the newer era, asking costs the server more than it tells us. One that works on a call may be busy.
                _ = pings.tick(), if connection.is_of_older_era() => {
                    if !connection.calls.is_idle() {
                        continue;
                    }
                    Some(MISSED)
                }
                () = self.suspected.notified() => Some(1),
            };
            let looked = async {
                match probe {
                    Some(_) => connection.probe(self.options.ping_limit).await,
                    None => {
                        self.list_again(connection).await;
                        Ok(())
                    }
                }
            };
            let looked = tokio::select! {
                () = cancelled.cancelled() => return End::Stopped,
                looked = looked => looked,
            };
            match looked {
                Ok(()) => missed = 0,
                Err(problem) => {
                    missed += 1;
                    if missed >= probe.unwrap_or(MISSED) {
                        return End::Failed(problem);
                    }
                }
            }
        }
    }

    async fn list_again(&self, connection: &Connection) {
        match timeout(self.options.start_limit, self.read(connection)).await {
            Ok(Ok(catalog)) => self.list(catalog),
            // The old list stands; whether the server is still there is found out.
            Ok(Err(_)) | Err(_) => self.suspect(),
        }
    }

    fn ready(&self, connection: &Connection, catalog: Catalog, live: Live) {
        let about = connection.info.server_info.as_ref();
        let word = |text: Option<&String>| failure::short(text.map_or("", |text| text.as_str()));
        let ready = Ready {
            protocol_version: connection.info.protocol_version.as_str().to_owned(),
            server_name: word(about.map(|about| &about.name)),
            server_version: word(about.map(|about| &about.version)),
            tools: catalog.tools.len(),
        };
        tracing::info!(world = %self.world, server = self.name, tools = ready.tools, "MCP server ready");
        let version = Some(&ready.server_version).filter(|version| !version.is_empty());
        let identity = match version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        };
        self.status.send_modify(|status| {
            status.identity = identity;
            status.live = Some(live);
        });
        self.list(catalog);
        self.enter(State::Ready(ready));
    }

    fn list(&self, catalog: Catalog) {
        let changed = self.status.borrow().catalog.tools != catalog.tools;
        self.status.send_modify(|status| {
            if let State::Ready(ready) = &mut status.health.state {
                ready.tools = catalog.tools.len();
            }
            status.health.notes = catalog.notes.clone();
            status.catalog = Arc::new(catalog);
        });
        if changed {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn fail(&self, error: &str, delay: Option<Duration>) {
        tracing::warn!(world = %self.world, server = self.name, error, "MCP server not running");
        let now = Timestamp::now();
        let next_attempt = delay.and_then(|delay| now.checked_add(delay).ok());
        self.status.send_modify(|status| {
            status.health.last_error = Some(Problem { error: error.to_owned(), at: now });
        });
        self.enter(State::Failed { error: error.to_owned(), next_attempt });
    }

    fn enter(&self, state: State) {
        self.status.send_modify(|status| {
            status.health.state = state;
            status.health.since = Timestamp::now();
        });
    }

    /// Says where a person is to go, or that nobody has to any more.
    pub fn publish(&self, url: Option<String>) {
        self.status.send_modify(|status| status.health.authorize_at = url);
    }

    fn delays(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.options.first_delay)
            .with_max_delay(self.options.longest_delay)
            .with_jitter()
            .without_max_times()
            .build()
    }
}

fn http(endpoint: &Endpoint) -> Result<Http, String> {
    let client = client(Redirects::WithinOrigin, Route::to(&endpoint.url), None)?;
    Ok(Http::new(client, endpoint.headers.clone(), FRAME_LIMIT))
}
