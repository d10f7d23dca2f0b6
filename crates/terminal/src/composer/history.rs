//! What was typed before: recalled with Up and Down, and kept in a file for the next time.
//! Used by `composer`; the file is written by whoever runs the loop. Holds messages and commands, never what was typed into
//! an approval.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Entries that are kept, and bytes of one.
const KEPT: usize = 1_000;
const LONGEST: usize = 64 * 1024;
/// Bytes of a file that are read: more was not written by this program.
const FILE: u64 = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<String>,
    /// Which one is recalled, counted from the end; none while something new is typed.
    at: Option<usize>,
    /// What was being typed before something was recalled.
    draft: String,
}

/// Where entries are kept. One on a line, as JSON, since they may have several lines.
#[derive(Clone, Debug)]
pub struct Kept {
    path: PathBuf,
}

impl History {
    pub fn new(entries: Vec<String>) -> Self {
        Self { entries, at: None, draft: String::new() }
    }

    pub fn add(&mut self, text: &str) {
        self.at = None;
        if !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
        let surplus = self.entries.len().saturating_sub(KEPT);
        self.entries.drain(..surplus);
    }

    pub fn older(&mut self, present: &str) -> Option<String> {
        let next = self.at.map_or(0, |at| at + 1);
        let index = self.entries.len().checked_sub(next + 1)?;
        if self.at.is_none() {
            present.clone_into(&mut self.draft);
        }
        self.at = Some(next);
        self.entries.get(index).cloned()
    }

    pub fn newer(&mut self, _present: &str) -> Option<String> {
        let at = self.at?;
        let Some(next) = at.checked_sub(1) else {
            self.at = None;
            return Some(std::mem::take(&mut self.draft));
        };
        self.at = Some(next);
        let index = self.entries.len().checked_sub(next + 1)?;
        self.entries.get(index).cloned()
    }
}

impl Kept {
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// What is kept. A file that is not there or cannot be read is an empty one: nobody waits for it.
    pub fn load(&self) -> Vec<String> {
        let mut text = String::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(FILE).read_to_string(&mut text));
        if read.is_err() {
            return Vec::new();
        }
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut entries: Vec<String> = lines.collect();
        let surplus = entries.len().saturating_sub(KEPT);
        entries.drain(..surplus);
        entries
    }

    /// Adds one, for its owner's eyes only. The file is made anew when it has grown to twice what is kept.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, text: &str) -> io::Result<()> {
        if text.len() > LONGEST {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600);
        file.open(&self.path)?.write_all(line(text).as_bytes())?;
        match lines_of(&self.path)? > 2 * KEPT {
            true => self.shorten(),
            false => Ok(()),
        }
    }

    fn shorten(&self) -> io::Result<()> {
        let kept: String = self.load().iter().map(|entry| line(entry)).collect();
        let new = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600);
        file.open(&new)?.write_all(kept.as_bytes())?;
        std::fs::rename(new, &self.path)
    }
}

fn line(text: &str) -> String {
    format!("{}\n", serde_json::Value::from(text))
}

fn lines_of(path: &Path) -> io::Result<usize> {
    Ok(std::fs::read(path)?.iter().filter(|byte| **byte == b'\n').count())
}
