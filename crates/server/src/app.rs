//! What all routes share: the engine, who may do what, and how the server behaves where a choice is reasonable.
//! Made once by `Server`. Holds no rule and no conversation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_world_runtime::Engine;
use agent_world_runtime::tools::mcp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Clock, Register, Sessions};
use crate::events::Hub;
use crate::idempotency::UnderWay;
use crate::limits::{Gate, Limits};
use crate::operations::{Following, Metrics, follow};
use crate::responses;
use crate::secrets::Secrets;

/// How a server behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub access: Access,
    pub limits: Limits,
    /// What tokens expire by.
    pub clock: Clock,
    /// Below it, a new world that names no folder gets one of its own.
    pub workspace: Option<PathBuf>,
    /// This program's own data: no world may work in it, but for the workspace.
    pub data_folder: Option<PathBuf>,
    /// How people reach the server, such as `https://agents.example.com`; otherwise where it listens is taken for it.
    pub public_url: Option<String>,
    /// What tells this server from any other, where somebody must know that they talk to this one; told by `/healthz`.
    pub instance: Option<String>,
    /// What runs the MCP servers of worlds: the same that the engine has as a source of tools.
    pub mcp: Option<Arc<mcp::Servers>>,
    /// Where keys are kept that somebody writes into the settings of a server. Without it they are refused.
    pub secrets: Option<Arc<dyn Secrets>>,
}

#[derive(Debug)]
pub(crate) struct App {
    pub engine: Engine,
    pub access: Access,
    pub register: Register,
    pub sessions: Sessions,
    pub gate: Gate,
    pub workspace: Option<PathBuf>,
    pub data_folder: Option<PathBuf>,
    public_url: Option<String>,
    pub instance: Option<String>,
    /// Where it listens, once it does.
    address: OnceLock<SocketAddr>,
    pub mcp: Option<Arc<mcp::Servers>>,
    pub secrets: Option<Arc<dyn Secrets>>,
    pub stopping: CancellationToken,
    pub events: Hub,
    pub under_way: UnderWay,
    pub responses: responses::Shared,
    /// Told when a webhook is made or removed.
    pub webhooks: Notify,
    pub metrics: Arc<Metrics>,
    pub counting: Following,
}

impl App {
    pub fn new(engine: Engine, options: Options) -> Self {
        let stopping = CancellationToken::new();
        let metrics = Arc::new(Metrics::new());
        let counting = follow(&engine, &metrics);
        let events = Hub::new(engine.clone(), stopping.clone());
        Self {
            register: Register::new(Arc::clone(engine.store()), options.clock),
            sessions: Sessions::default(),
            gate: Gate::new(options.limits),
            engine,
            access: options.access,
            workspace: options.workspace,
            data_folder: options.data_folder,
            public_url: options.public_url,
            instance: options.instance,
            address: OnceLock::new(),
            mcp: options.mcp,
            secrets: options.secrets,
            stopping,
            events,
            under_way: UnderWay::default(),
            responses: responses::Shared::default(),
            webhooks: Notify::new(),
            metrics,
            counting,
        }
    }

    /// Notes where the server listens. The first one stays.
    pub fn listens_on(&self, address: SocketAddr) {
        self.address.get_or_init(|| address);
    }

    /// Whether people are known to reach it over encrypted connections.
    pub fn is_public_over_https(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// A path as somebody outside finds it; the bare path where it is not known how the server is reached.
    pub fn link(&self, path: &str) -> String {
        let base = match (&self.public_url, self.address.get()) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(address)) => format!("http://{}", reachable(*address)),
            (None, None) => String::new(),
        };
        format!("{base}{path}")
    }
}

/// An address that stands for all of a machine's is none to connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
