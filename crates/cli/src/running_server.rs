//! Says where a server runs on a data folder: in `server.json`, for other commands and for people.
//! Written by `serve` while it listens and removed when it ends; one that was killed leaves it behind, so whoever reads it
//! also looks whether somebody is there. Holds no secret, and is still only its owner's to read.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_runtime::{Environment as _, System};
use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::data::DataFolder;

/// How long a server on this machine may take to say that it is there. Whoever takes longer is as good as not there: the
/// store can be had without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer about how a server is.
const LONGEST: usize = 64 << 10;
/// Where a server says which one it is.
const INSTANCE: &str = "agent-world-instance";

/// A server as it was announced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// Where it is reached from this machine.
    pub url: String,
    /// Where it listens; a server of an earlier version did not say.
    #[serde(default)]
    pub listen: Option<SocketAddr>,
    pub pid: u32,
    /// What it answers when it is asked which one it is; a server of an earlier version did not say.
    #[serde(default)]
    pub instance: Option<String>,
    pub started_at: Timestamp,
}

impl RunningServer {
    /// Other machines get to it, too.
    pub fn is_reached_by_others(&self) -> bool {
        self.listen.is_some_and(|address| !address.ip().is_loopback())
    }
}

/// Whether somebody serves a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nobody,
    Answering(RunningServer),
    /// Its process is there and does not answer.
    Silent(RunningServer),
    /// Its process is gone, and could not say so.
    Gone(RunningServer),
}

/// Takes the announcement back when it is dropped.
#[derive(Debug)]
pub struct Announcement {
    path: PathBuf,
    announced: RunningServer,
}

/// What tells one start of a server from any other.
pub fn instance() -> String {
    format!("{:032x}", System.entropy())
}

/// Tells others of this process. Whoever holds the store replaces what an earlier one left.
pub fn announce(data: &DataFolder, address: SocketAddr, instance: String) -> Result<Announcement> {
    let announced = RunningServer {
        url: url(address),
        listen: Some(address),
        pid: std::process::id(),
        instance: Some(instance),
        started_at: Timestamp::now(),
    };
    let path = data.server();
    let new = path.with_extension("json.new");
    // Complete before it is there: nobody reads half of it.
    let written = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| writeln!(file, "{}", serde_json::to_string(&announced)?))
        .and_then(|()| fs::rename(&new, &path));
    written.with_context(|| format!("the file {} cannot be written", path.display()))?;
    Ok(Announcement { path, announced })
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let still_ours = read(&self.path).is_some_and(|found| found == self.announced);
        if still_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "is left behind");
        }
    }
}

/// Where a server was announced, whether or not somebody is there.
pub fn announced_at(data: &DataFolder) -> Option<String> {
    read(&data.server()).map(|announced| announced.url)
}

/// Looks whether a server runs on a data folder and answers. Whoever else listens there now must be given neither a token
/// nor anything that was meant for this store, so only the one that was announced counts.
pub async fn find(data: &DataFolder) -> Found {
    let Some(announced) = read(&data.server()) else {
        return Found::Nobody;
    };
    if !is_alive(announced.pid) {
        return Found::Gone(announced);
    }
    match answer(&announced.url, "/healthz").await {
        Ok((_, Some(instance))) if announced.instance.as_ref() == Some(&instance) => {
            Found::Answering(announced)
        }
        // Its number is another process's now, and so is its address.
        Ok(_) if announced.instance.is_some() => Found::Gone(announced),
        Ok(_) | Err(_) => Found::Silent(announced),
    }
}

/// Asks a server how it is, without a token and without a proxy. Its answer, if it is a good one.
pub async fn ask(url: &str, path: &str) -> Result<String> {
    answer(url, path).await.map(|(text, _)| text)
}

/// What a server answers, and which one it says it is.
async fn answer(url: &str, path: &str) -> Result<(String, Option<String>)> {
    let trust = agent_world_tools::trust::configure().map_err(|error| anyhow!(error))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(trust)
        .no_proxy()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .context("no client for HTTP can be made")?;
    let place = url.trim_end_matches('/');
    let url = format!("{place}{path}");
    let unreachable =
        |cause: String| agent_world_client::Error::Unreachable { place: place.to_owned(), cause };
    let answer = client.get(&url).send().await.map_err(|error| unreachable(why(&error)))?;
    let status = answer.status();
    let instance = answer.headers().get(INSTANCE).and_then(|value| value.to_str().ok());
    let instance = instance.map(str::to_owned);
    let text = text(answer).await.map_err(|error| unreachable(format!("{error:#}")))?;
    if status.is_success() {
        return Ok((text, instance));
    }
    // A problem document has a sentence for people.
    let detail = serde_json::from_str::<serde_json::Value>(&text).ok();
    let detail = detail.and_then(|problem| Some(problem.get("detail")?.as_str()?.to_owned()));
    Err(anyhow!(
        "{url} answered {status}{}",
        detail.map_or(String::new(), |why| format!(": {why}"))
    ))
}

/// Why nobody answered, without the layers that passed it on.
fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("nothing came within {} seconds", PATIENCE.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// As much of an answer as a server gives here. Another program may have more to say than fits into memory.
async fn text(mut answer: reqwest::Response) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        bytes.extend_from_slice(&piece);
        ensure!(bytes.len() <= LONGEST, "the answer is too long");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How an address is reached from this machine.
pub fn url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

/// None where there is none, and where it cannot be read: then nobody has announced anything.
fn read(path: &PathBuf) -> Option<RunningServer> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // One that is somebody else's is there, too.
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_reached_here() {
        for (listens, reached) in [
            ("127.0.0.1:7420", "http://127.0.0.1:7420"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("192.0.2.7:80", "http://192.0.2.7:80"),
        ] {
            assert_eq!(url(listens.parse().unwrap()), reached);
        }
    }

    #[tokio::test]
    async fn one_that_was_killed_is_told_from_one_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::find(Some(folder.path().to_owned())).unwrap();
        assert_eq!(find(&data).await, Found::Nobody);
        // Nobody listens on a port of which the listener is gone.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let announcement = announce(&data, address, instance()).unwrap();
        let mut announced = announcement.announced.clone();
        assert_eq!(find(&data).await, Found::Silent(announced.clone()));
        announced.pid = u32::try_from(i32::MAX).unwrap();
        fs::write(data.server(), serde_json::to_string(&announced).unwrap()).unwrap();
        assert_eq!(find(&data).await, Found::Gone(announced));
        drop(announcement);
        assert!(data.server().exists(), "it is another's now");
        drop(announce(&data, address, instance()).unwrap());
        assert!(!data.server().exists());
        fs::write(data.server(), "{").unwrap();
        assert_eq!(find(&data).await, Found::Nobody);
    }
}
