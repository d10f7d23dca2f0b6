//! Goes through a folder and those below it, in order, without what is hidden or ignored.
//! Called by `list` and `search`. Never follows a link, and goes by open folders only: a folder that turns into a link
//! on the way leads nowhere. What is ignored is told by the `.gitignore` and `.ignore` files in the working directory.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio_util::sync::CancellationToken;

use super::place::{self, Kind, Root};

/// Names read of one folder.
const ENTRIES: usize = 200_000;
/// Bytes read of a file that says what is ignored.
const RULES: u64 = 1024 * 1024;
/// In order of weight, the heavier last.
const RULE_FILES: &[&str] = &[".gitignore", ".ignore"];
/// Its insides are nobody's files.
const REPOSITORY: &str = ".git";

/// Which entries are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not what begins with a dot, nor what is ignored.
    Usual,
    Everything,
}

/// Something on the way.
#[derive(Debug)]
pub struct Entry<'a> {
    pub folder: &'a Dir,
    pub name: &'a OsStr,
    /// From the working directory.
    pub path: &'a Path,
    pub kind: Kind,
}

/// What became of a walk.
#[derive(Debug, Default)]
pub struct Tally {
    /// Hidden and ignored entries. What is below them is not counted.
    pub left_out: u64,
    /// Folders that could not be read, or only in part.
    pub unreadable: u64,
}

pub struct Walk<'a> {
    pub seen: Seen,
    /// How many folders deep; 1 is the first folder alone.
    pub depth: usize,
    pub cancelled: &'a CancellationToken,
    rules: Vec<Gitignore>,
    tally: Tally,
}

impl<'a> Walk<'a> {
    pub fn new(seen: Seen, depth: usize, cancelled: &'a CancellationToken) -> Self {
        let depth = depth.min(place::DEEPEST);
        Self { seen, depth, cancelled, rules: Vec::new(), tally: Tally::default() }
    }

    /// Visits all that is in the folder with this path, a folder before what is in it, until the visitor has enough.
    pub fn go(
        mut self,
        root: &Root,
        path: &Path,
        visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Tally, String> {
        let mut folders = root
            .folders_to(path)
            .map_err(|error| format!("cannot reach `{}`: {error}", place::shown(path)))?;
        let start = folders.pop();
        // The rules of the folders above hold here as well.
        let above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
        for (folder, path) in folders.iter().zip(above.iter().rev()) {
            self.read_rules(folder, path);
        }
        if let Some(folder) = start {
            // Whether it went to its end is for the visitor and whoever cancels to know.
            let (ControlFlow::Continue(()) | ControlFlow::Break(())) =
                self.folder(&folder, path, 1, visit);
        }
        Ok(self.tally)
    }

    fn folder(
        &mut self,
        folder: &Dir,
        path: &Path,
        depth: usize,
        visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let above = self.rules.len();
        self.read_rules(folder, path);
        let mut flow = ControlFlow::Continue(());
        for (name, kind) in self.entries(folder) {
            if self.cancelled.is_cancelled() {
                flow = ControlFlow::Break(());
            }
            if flow.is_break() {
                break;
            }
            let path = path.join(&name);
            if self.is_left_out(&name, &path, kind) {
                self.tally.left_out += 1;
                continue;
            }
            flow = visit(&Entry { folder, name: &name, path: &path, kind });
            if flow.is_continue()
                && kind == Kind::Folder
                && depth < self.depth
                && name != REPOSITORY
            {
                flow = match folder.open_dir_nofollow(&name) {
                    Ok(next) => self.folder(&next, &path, depth + 1, visit),
                    Err(_) => {
                        self.tally.unreadable += 1;
                        ControlFlow::Continue(())
                    }
                };
            }
        }
        self.rules.truncate(above);
        flow
    }

    fn entries(&mut self, folder: &Dir) -> Vec<(OsString, Kind)> {
        let mut found = Vec::new();
        let Ok(entries) = folder.entries() else {
            self.tally.unreadable += 1;
            return found;
        };
        for entry in entries {
            if self.cancelled.is_cancelled() {
                break;
            }
            let known = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
            match known {
                Ok((name, kind)) if found.len() < ENTRIES => {
                    found.push((name, place::kind_of(kind)));
                }
                Ok(_) | Err(_) => {
                    self.tally.unreadable += 1;
                    break;
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }

    fn is_left_out(&self, name: &OsStr, path: &Path, kind: Kind) -> bool {
        self.seen == Seen::Usual
            && (name.as_encoded_bytes().starts_with(b".") || self.is_ignored(path, kind))
    }

    // The rules of the nearest folder decide.
    fn is_ignored(&self, path: &Path, kind: Kind) -> bool {
        let path = Path::new("/").join(path);
        for rules in self.rules.iter().rev() {
            match rules.matched(&path, kind == Kind::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    fn read_rules(&mut self, folder: &Dir, path: &Path) {
        if self.seen == Seen::Everything {
            return;
        }
        for name in RULE_FILES {
            let Some(text) = read_whole(folder, OsStr::new(name)) else { continue };
            let mut builder = GitignoreBuilder::new(Path::new("/").join(path));
            for line in text.trim_start_matches('\u{FEFF}').lines() {
                // A line that is no pattern ignores nothing, as with git.
                builder.add_line(None, line).ok();
            }
            if let Ok(rules) = builder.build() {
                self.rules.push(rules);
            }
        }
    }
}

fn read_whole(folder: &Dir, name: &OsStr) -> Option<String> {
    let kind = folder.symlink_metadata(name).ok()?.file_type();
    if place::kind_of(kind) != Kind::File {
        return None;
    }
    let mut text = Vec::new();
    place::open(folder, name).ok()?.take(RULES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Which paths are meant: with a `/` in the pattern those that match as a whole, otherwise those whose name does.
#[derive(Debug)]
pub struct Pattern {
    glob: GlobMatcher,
    whole: bool,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Self, String> {
        let pattern = text.trim_start_matches("./");
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("the pattern cannot be used: {error}"))?;
        Ok(Self { glob: glob.compile_matcher(), whole: pattern.contains('/') })
    }

    /// Both without the folder in which the search began.
    pub fn fits(&self, path: &Path, start: &Path) -> bool {
        if self.whole {
            self.glob.is_match(path.strip_prefix(start).unwrap_or(path))
        } else {
            path.file_name().is_some_and(|name| self.glob.is_match(name))
        }
    }
}
