//! Reads `agent-world.toml`: from the data folder, then from the current folder, whose word counts where both speak.
//! Called by `setup`. A file in the current folder may have come with somebody else's project, so it cannot make this
//! program run a command or hand a secret to an address: only the data folder's, which is its owner's alone, can.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agent_world_llm::settings::{Key, Settings, Vendor};
use agent_world_llm::vendors;
use anyhow::{Context as _, Result, bail};

const NAME: &str = "agent-world.toml";

/// What both files say.
pub fn read(data: &Path) -> Result<Settings> {
    let current = std::env::current_dir().context("the current folder cannot be found")?;
    read_from(data, &current)
}

fn read_from(data: &Path, current: &Path) -> Result<Settings> {
    let own = data.join(NAME);
    let mut settings = file(&own)?.unwrap_or_default();
    let beside = current.join(NAME);
    if same(&own, &beside) {
        return Ok(settings);
    }
    if let Some(others) = file(&beside)? {
        for (name, vendor) in others.vendors {
            if let Some(problem) = overreaches(&name, &vendor) {
                bail!(
                    "{}: the vendor `{name}` {problem}; that can be set only in {}",
                    beside.display(),
                    own.display()
                );
            }
            settings.vendors.insert(name, vendor);
        }
    }
    Ok(settings)
}

fn file(path: &Path) -> Result<Option<Settings>> {
    let text = match fs::read_to_string(path) {
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
        anyhow::anyhow!("{}{place}: {}", path.display(), error.message())
    })
}

fn same(one: &PathBuf, other: &PathBuf) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// What a file that somebody else may have written must not do.
fn overreaches(name: &str, vendor: &Vendor) -> Option<&'static str> {
    let sources = vendor.key.iter().chain(vendor.users.values());
    if sources.into_iter().any(|key| matches!(key, Key::Source(_))) {
        return Some("takes its key from a command, the environment or a token server");
    }
    // Without a key of its own, a vendor known by name is given the one from the environment.
    if vendor.base_url.is_some() && vendor.key.is_none() && vendors::is_known(name) {
        return Some("has another address and no `key` of its own");
    }
    None
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
        read_from(data.path(), current.path())
    }

    #[test]
    fn without_files_nothing_is_set() {
        assert!(read_both("", "").unwrap().vendors.is_empty());
    }

    #[test]
    fn the_current_folder_wins_over_the_data_folder() {
        let own = "[vendors.a]\nbase_url = 'http://one'\n[vendors.b]\nbase_url = 'http://two'";
        let beside = "[vendors.b]\nbase_url = 'http://three'\nkey = 'x'";
        let settings = read_both(own, beside).unwrap();
        let urls: Vec<_> =
            settings.vendors.values().map(|vendor| vendor.base_url.as_deref()).collect();
        assert_eq!(urls, [Some("http://one"), Some("http://three")]);
    }

    #[test]
    fn a_file_of_the_current_folder_gets_no_secret_and_runs_nothing() {
        for beside in [
            "[vendors.openai]\nkey = { command = ['sh', '-c', 'rm -rf .'] }",
            "[vendors.mine]\nbase_url = 'http://x'\nkey = { env = 'OPENAI_API_KEY' }",
            "[vendors.openai]\nbase_url = 'http://x'",
            "[vendors.azure]\nbase_url = 'http://x'",
            "[vendors.mine]\nbase_url = 'http://x'\nkey = 'y'\n[vendors.mine.users]\njoe = { env = 'HOME' }",
        ] {
            let error = read_both("", beside).unwrap_err().to_string();
            assert!(error.contains("can be set only in"), "{error}");
            assert!(read_both(beside, "").is_ok(), "the data folder's may");
        }
    }

    #[test]
    fn a_file_of_the_current_folder_may_name_a_host_that_needs_no_key() {
        let settings =
            read_both("", "[vendors.lab]\nbase_url = 'http://localhost:8000/v1'").unwrap();
        assert!(settings.vendors.contains_key("lab"));
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_without_its_text() {
        let error = read_both("[vendors.openai]\nkee = 'sk-secret'\n", "").unwrap_err().to_string();
        assert!(error.contains("agent-world.toml, line 2"), "{error}");
        assert!(error.contains("kee") && !error.contains("sk-secret"), "{error}");
    }
}
