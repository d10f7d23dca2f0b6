//! Reads and writes the files of exports: a document that only its owner may read, and the few files of a world's folder.
//! Called by `transfer`. Touches nothing in a folder but the files a world's folder has.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_world_core::ids::is_slug;
use agent_world_runtime::transfer::Files;
use anyhow::{Context as _, Result, anyhow};

use crate::screen::escape_hidden;

const WORLD: &str = "world.toml";
const POLICY: &str = "policy.toml";
const AGENTS: &str = "agents";
/// No file that people write is longer. What is named may be something without an end.
const LONGEST: u64 = 8 << 20;

/// A file that takes its place when it is complete.
pub struct Draft {
    out: Box<dyn Write>,
    /// Somebody looks at it: nothing hidden in it may move their cursor. What is piped or in a file is exact.
    is_looked_at: bool,
    /// Where it is written, and where it belongs.
    place: Option<(File, PathBuf, PathBuf)>,
}

impl Draft {
    /// A new file for its owner alone, or stdout.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            let is_looked_at = io::stdout().is_terminal();
            let out = Box::new(BufWriter::new(io::stdout()));
            return Ok(Self { out, is_looked_at, place: None });
        };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let draft = path.with_file_name(name);
        let options = &mut File::options();
        // Made anew, so that no other rights than these were ever on it.
        fs::remove_file(&draft).or_else(ignore_missing)?;
        let file = options.write(true).create_new(true).mode(0o600).open(&draft);
        let file = file.with_context(|| format!("{} cannot be written", draft.display()))?;
        let place = Some((file.try_clone()?, draft, path.to_owned()));
        Ok(Self { out: Box::new(BufWriter::new(file)), is_looked_at: false, place })
    }

    /// A piece of a JSON document.
    pub fn write(&mut self, text: &str) -> Result<()> {
        match self.is_looked_at {
            true => self.out.write_all(escape_hidden(text).as_bytes())?,
            false => self.out.write_all(text.as_bytes())?,
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.out.flush()?;
        if let Some((file, draft, path)) = &self.place {
            file.sync_all()?;
            fs::rename(draft, path)
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A whole file, or stdin.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path.to_str() {
        Some("-") => io::stdin().lock().read_to_end(&mut bytes),
        _ => File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    }
    .with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(bytes)
}

/// The files of a world's folder. Others beside them are somebody's own.
pub fn read_folder(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for name in [WORLD, POLICY] {
        if let Some(text) = read_text(&folder.join(name))? {
            files.insert(name.to_owned(), text);
        }
    }
    for name in agent_files(folder)? {
        if let Some(text) = read_text(&folder.join(AGENTS).join(&name))? {
            files.insert(format!("{AGENTS}/{name}"), text);
        }
    }
    Ok(files)
}

/// The names of the files that hold agents, or look as if they should.
fn agent_files(folder: &Path) -> Result<Vec<String>> {
    let path = folder.join(AGENTS);
    let entries = match fs::read_dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn read_text(path: &Path) -> Result<Option<String>> {
    let unreadable = || format!("{} cannot be read", path.display());
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.with_context(unreadable)?,
    };
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).with_context(unreadable)?;
    if text.len() as u64 > LONGEST {
        return Err(anyhow!("{} is too long for a world's settings", path.display()));
    }
    Ok(Some(text))
}

/// Writes a world's folder, and removes the files of agents it does not have any more.
pub fn write_folder(folder: &Path, files: &Files) -> Result<()> {
    let is_new = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        entries => entries
            .with_context(|| format!("{} cannot be written to", folder.display()))?
            .next()
            .is_none(),
    };
    if !is_new && !folder.join(WORLD).is_file() {
        return Err(anyhow!(
            "{} is not empty and holds no {WORLD}; name another folder with --out",
            folder.display()
        ));
    }
    for (name, text) in files {
        let path = folder.join(name);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let agents = agent_files(folder)?;
    let stale = agents.iter().filter(|name| name.strip_suffix(".md").is_some_and(is_slug));
    let stale = stale.map(|name| format!("{AGENTS}/{name}")).chain([POLICY.to_owned()]);
    for name in stale.filter(|name| !files.contains_key(name)) {
        fs::remove_file(folder.join(&name))
            .or_else(ignore_missing)
            .with_context(|| format!("{name} cannot be removed"))?;
    }
    Ok(())
}
