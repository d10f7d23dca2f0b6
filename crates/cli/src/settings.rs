//! Reads `agent-world.toml`: from the data folder, then from the current folder, whose word counts where both speak; or the
//! one file that was named in place of both.
//! Called by `setup`, `serve`, `logging`, `doctor` and `usual_models`; `init` adds to the data folder's. A file in the current folder may have come with somebody else's project, so it can add hosts of its
//! own, but not make this program run a command, hand on a secret, ask somebody else than its owner wants, or be reached in
//! another way: only the data folder's, which is its owner's alone, can, and one that the owner named.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agent_world_llm::settings::{Key, Secret, Settings, Source, Vendor};
use agent_world_llm::vendors;
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::data::DataFolder;
use crate::logging::Format;

pub const NAME: &str = "agent-world.toml";
/// No settings are longer. A file of the current folder may be a link to something without an end.
const LONGEST: u64 = 1 << 20;

/// Everything that can be set in a file.
#[derive(Debug, Default)]
pub struct Read {
    pub models: Settings,
    pub server: Server,
}

/// How the server behaves where neither a flag nor the environment says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Where it listens.
    pub listen: Option<SocketAddr>,
    /// How people reach it, such as `https://agents.example.com`, for links in what it sends.
    pub public_url: Option<String>,
    /// What it logs, as in `AGENT_WORLD_LOG`.
    pub log: Option<String>,
    pub log_format: Option<Format>,
}

/// A file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    vendors: BTreeMap<String, Vendor>,
    server: Server,
}

impl From<Document> for Read {
    fn from(Document { vendors, server }: Document) -> Self {
        Self { models: Settings { vendors }, server }
    }
}

/// What the file that was named says, or else what both usual ones say.
pub fn read(data: &DataFolder) -> Result<Read> {
    if let Some(named) = data.settings() {
        let folder = named.parent().unwrap_or(Path::new("."));
        check_owner(folder, named)?;
        let read = file(named)?;
        return read.map(Read::from).with_context(|| {
            format!(
                "the settings file {} is not there; name another with --config",
                named.display()
            )
        });
    }
    let current = std::env::current_dir().context("the current folder cannot be found")?;
    read_from(data.path(), &current)
}

/// The files that hold a key themselves, with their rights: the data folder's and the current folder's. One that cannot be
/// read is left to `read`, which says why.
pub fn holding_keys(data: &Path) -> Vec<(PathBuf, u32)> {
    let current = std::env::current_dir().unwrap_or_default();
    let mut places = vec![data.join(NAME), current.join(NAME)];
    places.dedup_by(|one, other| same(one, other));
    places.retain(|place| matches!(file(place), Ok(Some(found)) if holds_key(&found)));
    let with_mode = |place: PathBuf| {
        let mode = fs::metadata(&place).map_or(0, |found| found.permissions().mode());
        (place, mode & 0o777)
    };
    places.into_iter().map(with_mode).collect()
}

/// People put keys into headers and parameters, too.
fn holds_key(found: &Document) -> bool {
    let written = |key: &Key| match key {
        Key::Text(_) => true,
        Key::Source(Source::Oauth(oauth)) => {
            let secrets = [&oauth.client_secret, &oauth.refresh_token];
            secrets.into_iter().flatten().any(|secret| matches!(secret, Secret::Text(_)))
        }
        Key::Source(Source::Env(_) | Source::Command(_)) => false,
    };
    found.vendors.values().any(|vendor| {
        vendor.key.iter().chain(vendor.users.values()).any(written)
            || !vendor.headers.is_empty()
            || vendor.query.keys().any(|name| name != "api-version")
    })
}

fn check_owner(folder: &Path, own: &Path) -> Result<()> {
    if anybody_may_write(folder, own) {
        bail!(
            "{} can be changed by anybody on this machine, and it says where keys go; \
             take that right away: chmod o-w {0}",
            own.display()
        );
    }
    Ok(())
}

fn read_from(data: &Path, current: &Path) -> Result<Read> {
    let own = data.join(NAME);
    check_owner(data, &own)?;
    let mut settings = file(&own)?.unwrap_or_default();
    let beside = current.join(NAME);
    if same(&own, &beside) {
        return Ok(settings.into());
    }
    if let Some(others) = file(&beside)? {
        if others.server != Server::default() {
            bail!(
                "{}: how the server behaves can be set only in {}",
                beside.display(),
                own.display()
            );
        }
        for (name, vendor) in others.vendors {
            let known = vendors::is_known(&name) || settings.vendors.contains_key(&name);
            if let Some(problem) = overreaches(&vendor, known) {
                bail!(
                    "{}: the vendor `{name}` {problem}; that can be set only in {}",
                    beside.display(),
                    own.display()
                );
            }
            let before = settings.vendors.remove(&name).unwrap_or_default();
            settings.vendors.insert(name, if known { over(before, vendor) } else { vendor });
        }
    }
    Ok(settings.into())
}

/// What the current folder may say of a vendor that the owner has, over what the data folder says.
fn over(own: Vendor, beside: Vendor) -> Vendor {
    Vendor {
        models: own.models.into_iter().chain(beside.models).collect(),
        first_byte_seconds: beside.first_byte_seconds.or(own.first_byte_seconds),
        idle_seconds: beside.idle_seconds.or(own.idle_seconds),
        attempts: beside.attempts.or(own.attempts),
        ..own
    }
}

fn file(path: &Path) -> Result<Option<Document>> {
    let text = match text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    };
    // The error quotes the line it is about, and that line may hold a key: only its place is told.
    toml::from_str(&text).map(Some).map_err(|error| {
        let line =
            error.span().map(|span| 1 + text.get(..span.start).unwrap_or("").matches('\n').count());
        let place = line.map_or(String::new(), |line| format!(", line {line}"));
        anyhow::anyhow!("{}{place}: {}", path.display(), without_values(error.message()))
    })
}

fn text(path: &Path) -> io::Result<String> {
    let refused = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    if !fs::metadata(path)?.is_file() {
        return Err(refused("it is not a file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST { Err(refused("it is too large")) } else { Ok(text) }
}

/// A value of the wrong kind is quoted too, and may be a key in the wrong place. Names of fields stand in backticks.
fn without_values(message: &str) -> String {
    let (first, last) = (message.find('"'), message.rfind('"'));
    let unquoted = match (first, last) {
        (Some(first), Some(last)) => [message.get(..first), message.get(last + 1..)],
        _ => [Some(message), None],
    };
    let message: String = unquoted.into_iter().flatten().collect::<Vec<_>>().join("(hidden)");
    match message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`')) {
        Some((_, rest)) => format!("unknown variant (hidden){rest}"),
        None => message,
    }
}

/// Whether somebody else than the owner and the owner's group can change a file. In a folder that nobody else may
/// enter, its own rights do not matter.
fn anybody_may_write(folder: &Path, file: &Path) -> bool {
    let others =
        |path: &Path| fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o7);
    others(folder) & 0o1 != 0 && others(file) & 0o2 != 0
}

fn same(one: &PathBuf, other: &PathBuf) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// What a file that somebody else may have written must not do.
fn overreaches(vendor: &Vendor, known: bool) -> Option<&'static str> {
    let sources = vendor.key.iter().chain(vendor.users.values());
    if sources.into_iter().any(|key| matches!(key, Key::Source(_))) {
        return Some("takes its key from a command, the environment or a token server");
    }
    // A gateway is told by a header or a parameter where to pass a request on to, the key included.
    let Vendor { format, base_url, key, users, headers, query, allow_key_over_http, .. } = vendor;
    let elsewhere = *allow_key_over_http
        || format.is_some()
        || base_url.is_some()
        || key.is_some()
        || !(users.is_empty() && headers.is_empty() && query.is_empty());
    (known && elsewhere).then_some("is one you have, and would be asked elsewhere or otherwise")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(own: &str, beside: &str) -> (tempfile::TempDir, tempfile::TempDir) {
        let folder = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            if !text.is_empty() {
                fs::write(folder.path().join(NAME), text).unwrap();
            }
            folder
        };
        (folder(own), folder(beside))
    }

    fn read_both(own: &str, beside: &str) -> Result<Settings> {
        let (data, current) = folders(own, beside);
        read_from(data.path(), current.path()).map(|read| read.models)
    }

    fn read_named(text: &str) -> Result<Read> {
        let (data, _) = folders("[vendors.mine]\nbase_url = 'http://found'", "");
        let named = data.path().join("named.toml");
        fs::write(&named, text).unwrap();
        let data = DataFolder::locate(Some(data.path().to_owned())).unwrap();
        read(&data.with_settings(Some(named)))
    }

    #[test]
    fn a_file_that_is_named_is_read_in_place_of_the_others() {
        let text = "[server]\nlisten = '127.0.0.1:0'\nlog = 'info'\nlog_format = 'json'\n\
                    [vendors.openai]\nkey = { command = ['vault'] }";
        let Read { models, server } = read_named(text).unwrap();
        assert_eq!(server.listen, Some("127.0.0.1:0".parse().unwrap()));
        assert_eq!((server.log.as_deref(), server.log_format), (Some("info"), Some(Format::Json)));
        assert_eq!(models.vendors.keys().collect::<Vec<_>>(), ["openai"]);
        let nowhere = DataFolder::locate(Some("nowhere".into())).unwrap();
        let error = read(&nowhere.with_settings(Some("nowhere.toml".into()))).unwrap_err();
        assert!(error.to_string().contains("nowhere.toml is not there"), "{error}");
    }

    #[test]
    fn a_file_of_the_current_folder_says_nothing_about_the_server() {
        let beside = "[server]\nlisten = '0.0.0.0:80'";
        let error = read_both("", beside).unwrap_err().to_string();
        assert!(error.contains("can be set only in"), "{error}");
        assert!(read_both(beside, "").is_ok(), "the data folder's may");
        for wrong in ["listen = 'somewhere'", "log_format = 'xml'", "port = 80"] {
            assert!(read_both(&format!("[server]\n{wrong}"), "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_files_nothing_is_set() {
        assert!(read_both("", "").unwrap().vendors.is_empty());
    }

    #[test]
    fn the_current_folder_wins_where_it_may_speak() {
        let own = "[vendors.openai]\nbase_url = 'https://gateway'\nkey = { command = ['vault'] }\n\
                   attempts = 3\nidle_seconds = 5\nmodels = { a = 'one', b = 'two' }";
        let beside = "[vendors.openai]\nattempts = 1\nmodels = { b = 'three' }";
        let settings = read_both(own, beside).unwrap();
        let openai = &settings.vendors["openai"];
        assert_eq!(openai.base_url.as_deref(), Some("https://gateway"));
        assert!(matches!(openai.key, Some(Key::Source(_))), "{openai:?}");
        assert_eq!((openai.attempts, openai.idle_seconds), (Some(1), Some(5)));
        assert_eq!(openai.models.values().collect::<Vec<_>>(), ["one", "three"]);
    }

    #[test]
    fn a_file_of_the_current_folder_gets_no_secret_and_runs_nothing() {
        for beside in [
            "[vendors.openai]\nkey = { command = ['sh', '-c', 'rm -rf .'] }",
            "[vendors.mine]\nbase_url = 'http://x'\nkey = { env = 'OPENAI_API_KEY' }",
            "[vendors.openai]\nbase_url = 'http://x'",
            "[vendors.openai]\nbase_url = 'http://x'\nkey = 'y'",
            "[vendors.openai]\nformat = 'chat'",
            "[vendors.openai]\nallow_key_over_http = true",
            "[vendors.openai.users]\njoe = 'y'",
            "[vendors.azure]\nbase_url = 'http://x'",
            "[vendors.openai.headers]\nhost = 'x'",
            "[vendors.openai.headers]\nhelicone-target-url = 'http://x'",
            "[vendors.azure.query]\nforward = 'http://x'",
            "[vendors.mine]\nbase_url = 'http://x'\nkey = 'y'\n[vendors.mine.users]\njoe = { env = 'HOME' }",
        ] {
            let error = read_both("", beside).unwrap_err().to_string();
            assert!(error.contains("can be set only in"), "{error}");
            assert!(read_both(beside, "").is_ok(), "the data folder's may");
        }
        // Nor of a host that the owner described.
        let own = "[vendors.lab]\nbase_url = 'http://one'\nkey = 'secret'";
        let error =
            read_both(own, "[vendors.lab]\nbase_url = 'http://two'").unwrap_err().to_string();
        assert!(error.contains("can be set only in"), "{error}");
    }

    #[test]
    fn a_file_of_the_current_folder_may_add_hosts_of_its_own() {
        for key in ["", "\nkey = 'theirs'\nheaders = { a = 'b' }"] {
            let beside = format!("[vendors.lab]\nbase_url = 'http://localhost:8000/v1'{key}");
            assert!(read_both("", &beside).unwrap().vendors.contains_key("lab"));
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_without_its_text() {
        let error = read_both("[vendors.openai]\nkee = 'sk-secret'\n", "").unwrap_err().to_string();
        assert!(error.contains("agent-world.toml, line 2"), "{error}");
        assert!(error.contains("kee") && !error.contains("sk-secret"), "{error}");
    }

    #[test]
    fn a_key_in_the_wrong_place_is_not_repeated() {
        for text in [
            "[vendors]\nopenai = 'sk-secret'",
            "[vendors.openai]\nformat = 'sk-secret'",
            "[vendors.openai]\nattempts = 'sk-secret'",
            "[vendors.openai]\nusers = 'sk-\"secret'",
            "[vendors.openai]\nkey = { oauth = 'sk-secret' }",
            "[vendors.openai]\nkey = ['sk-secret']",
            "[vendors.openai]\nkey = 'sk-secret",
            "vendors = 'sk-secret'",
        ] {
            let error = read_both(text, "").unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("line"), "{error}");
        }
    }

    #[test]
    fn only_a_file_of_some_length_is_read() {
        let (data, current) = folders("", "");
        let beside = current.path().join(NAME);
        std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
        assert!(read_from(data.path(), current.path()).is_err());
        fs::remove_file(&beside).unwrap();
        fs::write(&beside, "#".repeat(2 << 20)).unwrap();
        let error = read_from(data.path(), current.path()).unwrap_err();
        assert!(format!("{error:#}").contains("too large"), "{error:#}");
    }

    #[test]
    fn a_file_that_anybody_may_change_is_not_believed() {
        let (data, current) = folders("[vendors.mine]\nbase_url = 'http://x'", "");
        let allow = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        allow(&data.path().join(NAME), 0o666);
        allow(data.path(), 0o700);
        assert!(read_from(data.path(), current.path()).is_ok(), "nobody else gets there");
        allow(data.path(), 0o755);
        let error = read_from(data.path(), current.path()).unwrap_err().to_string();
        assert!(error.contains("chmod o-w"), "{error}");
        allow(&data.path().join(NAME), 0o644);
        assert!(read_from(data.path(), current.path()).is_ok());
    }
}
