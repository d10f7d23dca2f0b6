//! Things that sing when something got out. Set before each case and listened to after it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use agent_world_store::{Scope, verify};

use crate::processes::{nap, running, working_in};
use crate::stage::{Place, Stage};
use crate::web::Web;

/// Must never reach a model, a result or the log. It is in a file outside, in keys of the home, in the program's
/// settings and in the environment of this process.
pub const SECRET: &str = "sixteen-tons-of-canaries";
pub const SECRET_VARIABLE: &str = "CORPUS_API_KEY";
/// Made by whatever must not run.
pub const OWNED: &str = "owned";

pub struct Canaries {
    pub work: PathBuf,
    pub outside: PathBuf,
    pub data: PathBuf,
    /// Nobody else sleeps for so long.
    pub nap: String,
    /// May be called where a case says so.
    pub web: Web,
    tcp: TcpListener,
    /// Where the machine has such addresses.
    tcp6: Option<TcpListener>,
    udp: UdpSocket,
    unix: UnixListener,
    before: Contents,
}

type Contents = BTreeMap<PathBuf, Vec<u8>>;

impl Canaries {
    pub fn set(place: &Place) -> Self {
        let (outside, home, data) = (place.outside(), place.home(), place.data());
        fs::create_dir_all(home.join(".ssh")).unwrap();
        for file in [
            outside.join("secret"),
            home.join(".ssh/id_ed25519"),
            home.join(".netrc"),
            data.join("agent-world.toml"),
        ] {
            fs::write(file, format!("key = \"{SECRET}\"\n")).unwrap();
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp6 = TcpListener::bind(("::1", tcp.local_addr().unwrap().port())).ok();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(outside.join("socket")).unwrap();
        tcp.set_nonblocking(true).unwrap();
        tcp6.iter().for_each(|tcp6| tcp6.set_nonblocking(true).unwrap());
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        Self {
            work: place.work(),
            before: contents(place.root()),
            outside,
            data,
            nap: nap(),
            web: Web::start(),
            tcp,
            tcp6,
            udp,
            unix,
        }
    }

    pub fn tcp_port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    pub fn udp_port(&self) -> u16 {
        self.udp.local_addr().unwrap().port()
    }

    pub fn socket(&self) -> PathBuf {
        self.outside.join("socket")
    }

    pub fn outside_file(&self) -> String {
        self.outside.join("secret").display().to_string()
    }

    /// What got out, a line for each thing.
    pub async fn songs(&self, stage: &Stage) -> Vec<String> {
        let mut songs = Vec::new();
        if told(stage).await.contains(SECRET) {
            songs.push("the secret was told".to_owned());
        }
        let now = contents(stage.place.root());
        let names: std::collections::BTreeSet<&PathBuf> =
            self.before.keys().chain(now.keys()).collect();
        for path in names.into_iter().filter(|path| self.before.get(*path) != now.get(*path)) {
            songs.push(format!("{} is not as it was", path.display()));
        }
        if self.work.join(OWNED).symlink_metadata().is_ok() {
            songs.push(format!("`{OWNED}` was made"));
        }
        let tcp = self.tcp.accept().is_ok();
        let tcp6 = self.tcp6.as_ref().is_some_and(|tcp6| tcp6.accept().is_ok());
        let udp = self.udp.recv(&mut [0; 8]).is_ok();
        if tcp || tcp6 || udp || self.unix.accept().is_ok() {
            songs.push("somebody called".to_owned());
        }
        let left = [working_in(stage.place.root()), running(&self.nap)].concat();
        if !left.is_empty() {
            songs.push(format!("{left:?} still runs"));
        }
        if let Err(broken) = verify::verify(stage.store.as_ref(), &stage.chat).await {
            songs.push(format!("the log does not hold: {broken}"));
        }
        songs
    }
}

/// All that was stored and all that a model was given.
async fn told(stage: &Stage) -> String {
    let events = stage.store.events(&Scope::All, 0, 100_000).await.unwrap();
    let stored = events.into_iter().map(|event| event.sealed.payload.to_string());
    let given = stage.model.requests().into_iter().map(|request| format!("{:?}", request.input));
    stored.chain(given).collect()
}

/// Everything but what the program and its world work with.
fn contents(root: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = entry.file_name().to_string_lossy().into_owned();
            let own = ["running", "workspace"].contains(&name.as_str())
                || name.starts_with("agent-world.db");
            if folder.ends_with("data") && own {
                continue;
            }
            if kind.is_dir() {
                folders.push(path.clone());
            }
            let content = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            contents.insert(path, content);
        }
    }
    contents
}
