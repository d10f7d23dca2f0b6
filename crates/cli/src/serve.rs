//! `serve`: the product as a server, with everything inside it. Also what the command does when nothing is asked of it.
//! Called by `main`. Works on the store until somebody ends it; then it finishes what it is answering, ends its children and
//! leaves the rest to the next start, within a time that supervisors can rely on.

use std::io::{self, IsTerminal as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use agent_world_llm::vendors::{self, Origin};
use agent_world_server::{Access, Options, Principal, Proof, Role, Server};
use agent_world_store::sqlite::worker_of;
use anyhow::{Context as _, Result, anyhow, bail};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::args::Serve;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::logging::SERVER;
use crate::running_server::{self, Found};
use crate::screen::{Screen, Tone};
use crate::secrets::Kept;
use crate::settings::Read;
use crate::setup::{Session, who};
use crate::signals::Signals;
use crate::{demo_world, settings, words};

/// Where it listens when nobody says otherwise.
const USUAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);
/// How long all of it may take; the unit in `deploy` waits a little longer.
const LAST_WORK: Duration = Duration::from_secs(20);

pub async fn run(data: DataFolder, wanted: Serve) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let settings = settings::read(&data)?;
    let address = wanted.listen.or(settings.server.listen).unwrap_or(USUAL);
    let public_url = wanted.public_url.or_else(|| settings.server.public_url.clone());
    if let Some(url) = &public_url {
        check_public(url)?;
    }
    let listener = listen(&data, address).await?;
    let address = listener.local_addr()?;
    let Some(session) = Session::work(data.clone()).await? else {
        return Err(in_use(&data).await);
    };
    let instance = running_server::instance();
    let options = Options { instance: Some(instance.clone()), ..options(&session, public_url) };
    let server = Server::new(session.engine.clone(), options);
    if let Err(refused) = server.may_listen(address).await {
        session.engine.shutdown().await;
        return Err(refused.into());
    }
    let is_first = demo_world::create_if_first(&session).await?;
    let announcement = running_server::announce(&data, address, instance)?;
    let stopping = server.stopping().clone();
    let mut serving = tokio::spawn(server.clone().serve(listener));
    let url = running_server::url(address);
    let header = match server.wants_tokens().await? {
        true => "-H \"Authorization: Bearer $TOKEN\" ",
        false => "",
    };
    let hint = format!("curl {header}{url}/api/worlds");
    if let Err(error) = welcome(&data, &settings, &url, hint, is_first) {
        tracing::warn!(%error, "nobody reads the screen");
    }
    tracing::info!(target: SERVER, %url, data = %data.path().display(), "started");
    if wanted.open {
        open_browser(&format!("{url}/"));
    }
    let failed = tokio::select! {
        _ = signals.next() => None,
        ended = &mut serving => Some(ended),
    };
    stopping.cancel();
    let still_serving = failed.is_none().then_some(serving);
    let exit = stop(still_serving, &session, &mut signals).await;
    drop(announcement);
    drop((server, session));
    tracing::info!(target: SERVER, "stopped");
    match failed {
        None => Ok(exit),
        Some(ended) => {
            ended.context("the server broke down")?.context("the server failed")?;
            bail!("the server stopped listening by itself; its log may say why")
        }
    }
}

async fn listen(data: &DataFolder, address: SocketAddr) -> Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let here = running_server::url(address);
            match running_server::find(data).await {
                Found::Answering(server) if server.url == here => Err(in_use(data).await),
                _ => Err(anyhow!(
                    "{address} is in use by another program; name another address with --listen, \
                     such as {}:0 for any free port",
                    address.ip()
                )),
            }
        }
        Err(error) => Err(error).with_context(|| {
            format!("{address} cannot be listened on; name another address with --listen")
        }),
    }
}

/// Why a second process cannot serve a data folder, and what to do.
async fn in_use(data: &DataFolder) -> anyhow::Error {
    let folder = data.path().display();
    match running_server::find(data).await {
        Found::Answering(server) | Found::Silent(server) => anyhow!(
            "a server runs on {folder} already, at {} (process {pid}); use it, or end it first: kill {pid}",
            server.url,
            pid = server.pid
        ),
        Found::Nobody | Found::Gone(_) => {
            let process = match worker_of(&data.database()) {
                Some(pid) => format!(" (process {pid})"),
                None => String::new(),
            };
            anyhow!(
                "another agent-world process works on {folder}{process}, such as `chat`, `send` or `resume`; \
                 end it, or name another folder with --data DIR"
            )
        }
    }
}

/// Links begin with it, so it must be the beginning of one.
fn check_public(url: &str) -> Result<()> {
    let parsed = reqwest::Url::parse(url).ok();
    let fits = parsed.is_some_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    if fits {
        return Ok(());
    }
    bail!(
        "the server's public_url is not the beginning of an address; write it as in https://agents.example.com"
    )
}

/// How a server of this program behaves, and the routes that answer within a command.
pub fn options(session: &Session, public_url: Option<String>) -> Options {
    let local = Principal { name: who(), role: Role::Admin, proof: Proof::Local };
    Options {
        access: Access { local },
        workspace: Some(session.data.workspace()),
        data_folder: Some(session.data.path().to_owned()),
        public_url,
        mcp: session.servers.clone(),
        secrets: Some(Arc::new(Kept::new(session.data.path()))),
        ..Options::default()
    }
}

/// Ends everything in order. A second signal, or the end of the time there is, ends the waiting.
async fn stop(
    still_serving: Option<JoinHandle<io::Result<()>>>,
    session: &Session,
    signals: &mut Signals,
) -> Exit {
    tracing::info!(target: SERVER, "stopping");
    // Only for a person: what reads the log is told in the log. Nobody may be there any more, and it must end all the same.
    if io::stderr().is_terminal() {
        Screen::stderr().line(Tone::Quiet, "stopping; Ctrl-C once more ends at once").ok();
    }
    let in_order = async {
        // The engine still works meanwhile: what is being answered may need it. The server bounds how long that takes.
        if let Some(serving) = still_serving
            && let Err(error) = serving.await
        {
            tracing::error!(%error, "the server broke down while it stopped");
        }
        session.engine.shutdown().await;
    };
    tokio::select! {
        biased;
        ended = tokio::time::timeout(LAST_WORK, in_order) => {
            if ended.is_err() {
                tracing::warn!("what is under way did not end in time; the next start settles it");
            }
            Exit::Done
        }
        _ = signals.next() => {
            tracing::warn!("ended at once; the next start settles what was under way");
            Exit::Failed
        }
    }
}

fn welcome(
    data: &DataFolder,
    settings: &Read,
    url: &str,
    hint: String,
    is_first: bool,
) -> Result<()> {
    let mut screen = Screen::stdout();
    screen.line(Tone::Name, &format!("agent-world listens on {url}"))?;
    let folder = data.path().display();
    let usual = DataFolder::locate(None).is_ok_and(|usual| usual.path() == data.path());
    let same = if usual { String::new() } else { format!(" --data {folder}") };
    let lines = [
        ("page", format!("{url}/")),
        ("interface", format!("{url}/docs")),
        ("data", folder.to_string()),
        ("models", models(settings)),
        ("try", hint),
        ("", format!("agent-world{same} chat")),
        ("stop", "Ctrl-C".to_owned()),
    ];
    for (what, text) in lines {
        screen.hint(Tone::Quiet, &format!("  {what:<10} {text}"))?;
    }
    if is_first {
        let text = "first start: made the world `demo`, with the agents ada and bob on the built-in demo model";
        screen.line(Tone::Plain, text)?;
    }
    Ok(())
}

fn models(settings: &Read) -> String {
    let keys = vendors::keys(&settings.models, &|name| std::env::var(name).ok());
    let usable =
        keys.iter().filter(|(_, origin)| !matches!(origin, Origin::Missing(_) | Origin::NotNeeded));
    let names: Vec<&str> = usable.map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => "demo; no vendor has a key yet, `agent-world doctor` says how".to_owned(),
        names => format!("demo; {} for {}", words::count(names.len(), "key"), names.join(", ")),
    }
}

/// Nothing depends on it: where there is no browser, the address is on the screen.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let nothing = Stdio::null;
    // Let go of at once: a browser that were a descendant of this process would be taken for what an agent runs.
    let started = Command::new("/bin/sh")
        .args(["-c", "\"$0\" \"$1\" &", program, url])
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
    match started {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
        }
        Err(error) => tracing::warn!(%error, program, "the browser cannot be opened"),
    }
}
