//! Puts content into a file so that nobody ever sees half of it.
//! Called by `write` and `edit`. Writes a temporary file in the same folder, has it on the disk, and gives it the
//! name; a failure leaves what was there and nothing else. Keeps permissions, and owner and group where it may.
//!
//! The file is a new one afterwards: other hard links to the old one keep the old content, and access lists and
//! extended attributes are not carried over.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt as _};
use cap_std::fs::{Permissions, PermissionsExt as _};
use rustix::fs::{Gid, Uid};

use super::place::{self, Kind};

/// What the content may take the place of.
#[derive(Clone, Copy, Debug)]
pub enum Over<'a> {
    Nothing,
    /// A file or nothing.
    Anything,
    /// The file that was read, if nobody has changed it since.
    Exactly(&'a Stamp),
}

/// Tells a file from every other and from itself before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug)]
pub enum Problem {
    /// Something is there that must not be replaced.
    Exists,
    /// Somebody wrote to it since it was read.
    Changed,
    NotAFile,
    ReadOnly,
    Io(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists,
            _ => Self::Io(error),
        }
    }
}

impl Problem {
    /// Why a file was not written, in words.
    pub fn explain(&self, path: &str) -> String {
        match self {
            Self::Exists => {
                format!("`{path}` exists already; leave out `create_only` to replace it")
            }
            Self::Changed => {
                format!("`{path}` was changed by somebody else at the same time; read it again")
            }
            Self::NotAFile => format!("`{path}` is not a file any longer; nothing was written"),
            Self::ReadOnly => {
                format!("`{path}` is read-only; nothing was written, change its permissions first")
            }
            Self::Io(error) => format!("cannot write `{path}`: {error}; it is as it was"),
        }
    }
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Keeps the calls of this process from changing the same file at the same time: each must see what the one before
/// it left. Some other files wait along; a change is short.
pub fn alone(folder: &Dir, name: &OsStr) -> io::Result<MutexGuard<'static, ()>> {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let folder = folder.dir_metadata()?;
    let mut key = std::hash::DefaultHasher::new();
    key.write_u64(folder.dev());
    key.write_u64(folder.ino());
    key.write(name.as_encoded_bytes());
    let index = usize::try_from(key.finish() % LOCKS.len() as u64).unwrap_or_default();
    let [first, ..] = &LOCKS;
    Ok(LOCKS.get(index).unwrap_or(first).lock().unwrap_or_else(PoisonError::into_inner))
}

/// Writes the whole content under this name, or changes nothing.
pub fn save(folder: &Dir, name: &OsStr, content: &[u8], over: Over<'_>) -> Result<(), Problem> {
    let present = present(folder, name)?;
    match (&present, over) {
        (Some(_), Over::Nothing) => return Err(Problem::Exists),
        (Some(found), _) if found.mode() & 0o222 == 0 => return Err(Problem::ReadOnly),
        (Some(_), _) => writable(folder, name)?,
        (None, Over::Exactly(_)) => return Err(Problem::Changed),
        (None, _) => {}
    }
    let mut temporary = Temporary::create(folder, present.as_ref())?;
    temporary.file.write_all(content)?;
    temporary.file.sync_all()?;
    match over {
        Over::Nothing => temporary.become_new(name)?,
        Over::Anything => temporary.replace(name)?,
        Over::Exactly(stamp) => {
            let now = self::present(folder, name)?;
            if now.as_ref().map(Stamp::of).as_ref() != Some(stamp) {
                return Err(Problem::Changed);
            }
            temporary.replace(name)?;
        }
    }
    // The content is safe; that the name is, too, is more than some file systems can promise.
    folder.open(".").and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

fn present(folder: &Dir, name: &OsStr) -> Result<Option<Metadata>, Problem> {
    match folder.symlink_metadata(name) {
        Ok(found) if place::kind_of(found.file_type()) == Kind::File => Ok(Some(found)),
        Ok(_) => Err(Problem::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problem::Io(error)),
    }
}

// Replacing needs only the folder's permission; a file that may not be written is not to be replaced either.
fn writable(folder: &Dir, name: &OsStr) -> Result<(), Problem> {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
    let mut options = OpenOptions::new();
    options.write(true).follow(FollowSymlinks::No).nonblock(true);
    match folder.open_with(name, &options) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Problem::ReadOnly),
        Err(error) => Err(Problem::Io(error)),
    }
}

/// A file that is gone again unless it gets its name.
#[derive(Debug)]
struct Temporary<'a> {
    folder: &'a Dir,
    name: OsString,
    file: File,
    is_named: bool,
}

impl<'a> Temporary<'a> {
    /// Nobody who could not read the file before can read its content while it is written.
    fn create(folder: &'a Dir, like: Option<&Metadata>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if like.is_some() {
            options.mode(0o600);
        }
        let name = OsString::from(format!(
            ".agent-world-{:016x}.tmp",
            RandomState::new().build_hasher().finish()
        ));
        let file = folder.open_with(&name, &options)?;
        let temporary = Self { folder, name, file, is_named: false };
        if let Some(like) = like {
            temporary.resemble(like)?;
        }
        Ok(temporary)
    }

    fn resemble(&self, like: &Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            let (owner, group) = (Uid::from_raw(like.uid()), Gid::from_raw(like.gid()));
            // Only root may give a file away; whoever else writes it owns it.
            rustix::fs::fchown(&self.file, Some(owner), Some(group))
                .or_else(|_| rustix::fs::fchown(&self.file, None, Some(group)))
                .ok();
        }
        // Rights to act as the owner end with a change of the content, as they do for every write.
        self.file.set_permissions(Permissions::from_mode(like.mode() & 0o777))
    }

    fn replace(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.is_named = true;
        Ok(())
    }

    /// Unlike a renaming, a second name never takes the place of another file.
    fn become_new(self, name: &OsStr) -> io::Result<()> {
        self.folder.hard_link(&self.name, self.folder, name)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            // Nothing more can be done about a file that cannot be removed.
            self.folder.remove_file(&self.name).ok();
        }
    }
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
