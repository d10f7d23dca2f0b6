//! Decides which file a path means: one inside the working directory, or none.
//! Called by every tool for files. Follows a path name by name, each from the open folder before it, and resolves
//! links itself; what it hands on are open folders and bare names, so that nothing put in between later is followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use agent_world_core::display::reveal_line;
use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, FileTypeExt as _, OpenOptions};

/// Links in one path; more is a circle.
const LINKS: usize = 40;
/// Folders below each other; each is held open while a path is followed.
pub const DEEPEST: usize = 100;

/// The working directory.
#[derive(Debug)]
pub struct Root {
    folder: Dir,
    /// With all links resolved.
    path: PathBuf,
    /// As it was set.
    named: PathBuf,
}

/// Where a path led.
#[derive(Debug)]
pub struct Found {
    /// The folder itself, or the one that the rest is in.
    pub folder: Dir,
    /// From the working directory, without links.
    pub path: PathBuf,
    pub what: What,
}

#[derive(Debug, PartialEq, Eq)]
pub enum What {
    Folder,
    File(OsString),
    /// Neither folder nor file: a pipe, a socket, a device.
    Special(&'static str),
    /// Nothing yet. The names that would have to be made in the folder.
    Missing(Vec<OsString>),
}

/// What is in a folder under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Link,
    Special(&'static str),
}

enum Step {
    Up,
    Into(OsString),
}

impl Root {
    /// The world's working directory, or the current one.
    pub fn open(working_directory: Option<&Path>) -> Result<Self, String> {
        let unusable = |error: io::Error| {
            format!("cannot use the working directory: {error}; set one that exists")
        };
        let named = match working_directory {
            Some(path) => path.to_owned(),
            None => std::env::current_dir().map_err(unusable)?,
        };
        let path = named.canonicalize().map_err(unusable)?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority()).map_err(unusable)?;
        Ok(Self { folder, path, named })
    }

    /// Follows a path. Nothing at its end is an answer; a way out of the working directory is an error.
    pub fn find(&self, path: &str) -> Result<Found, String> {
        if path.is_empty() {
            return Err("the path is empty; name a file in the working directory".to_owned());
        }
        if path.contains('\0') {
            return Err(format!("`{}` has a NUL in it, as no path can", reveal_line(path)));
        }
        let found = Way::new(self, path)?.follow()?;
        if path.ends_with('/') && found.what != What::Folder {
            return Err(format!("`{}` is not a folder", reveal_line(path)));
        }
        Ok(found)
    }

    /// The open folder with this path, which has no links, and all folders on the way to it, the root first.
    pub fn folders_to(&self, path: &Path) -> io::Result<Vec<Dir>> {
        let mut folders = vec![self.folder.try_clone()?];
        for name in path {
            let next = match folders.last() {
                Some(folder) => folder.open_dir_nofollow(name)?,
                None => break,
            };
            folders.push(next);
        }
        Ok(folders)
    }

    /// A path in the working directory as it is on this machine.
    pub fn absolute(&self, path: &Path) -> String {
        shown(&self.path.join(path))
    }

    /// What comes after the working directory in an absolute path.
    fn inside<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.named)).ok()
    }
}

/// A path that is being followed.
struct Way<'a> {
    root: &'a Root,
    /// As it was given, for words.
    given: &'a str,
    /// What is still to be done, the next one last.
    steps: Vec<Step>,
    folders: Vec<(OsString, Dir)>,
    /// What was found that is not a folder: nothing leads on from it.
    leaf: Option<(OsString, Kind)>,
    missing: Vec<OsString>,
    links: usize,
}

impl<'a> Way<'a> {
    fn new(root: &'a Root, given: &'a str) -> Result<Self, String> {
        let mut way = Self {
            root,
            given,
            steps: Vec::new(),
            folders: Vec::new(),
            leaf: None,
            missing: Vec::new(),
            links: 0,
        };
        way.go(Path::new(given))?;
        Ok(way)
    }

    fn follow(mut self) -> Result<Found, String> {
        while let Some(step) = self.steps.pop() {
            match step {
                _ if self.leaf.is_some() => return Err(self.not_a_folder()),
                Step::Up => self.up()?,
                Step::Into(name) if !self.missing.is_empty() => self.missing.push(name),
                Step::Into(name) => self.enter(name)?,
            }
        }
        self.found()
    }

    /// Puts a path in front of what is still to be done.
    fn go(&mut self, path: &Path) -> Result<(), String> {
        let path = if path.is_absolute() {
            self.folders.clear();
            self.root.inside(path).ok_or_else(|| self.outside())?
        } else {
            path
        };
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.steps.push(Step::Into(name.to_owned())),
                Component::ParentDir => self.steps.push(Step::Up),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(self.outside()),
            }
        }
        Ok(())
    }

    fn up(&mut self) -> Result<(), String> {
        if !self.missing.is_empty() {
            return Err(format!("`{}` goes through a folder that is not there", self.name()));
        }
        self.folders.pop().map(|_| ()).ok_or_else(|| self.outside())
    }

    fn enter(&mut self, name: OsString) -> Result<(), String> {
        let kind = match self.here().symlink_metadata(&name) {
            Ok(metadata) => kind_of(metadata.file_type()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing.push(name);
                return Ok(());
            }
            Err(error) => return Err(self.unreachable(&error)),
        };
        match kind {
            Kind::Folder => self.descend(name),
            Kind::Link => self.follow_link(&name),
            Kind::File | Kind::Special(_) => {
                self.leaf = Some((name, kind));
                Ok(())
            }
        }
    }

    fn descend(&mut self, name: OsString) -> Result<(), String> {
        if self.folders.len() >= DEEPEST {
            return Err(format!("`{}` is more than {DEEPEST} folders deep", self.name()));
        }
        let next = self.here().open_dir_nofollow(&name);
        let next = next.map_err(|error| self.unreachable(&error))?;
        self.folders.push((name, next));
        Ok(())
    }

    fn follow_link(&mut self, name: &OsStr) -> Result<(), String> {
        self.links += 1;
        if self.links > LINKS {
            return Err(format!("the links in `{}` lead in a circle", self.name()));
        }
        let target = self.here().read_link_contents(name);
        let target = target.map_err(|error| self.unreachable(&error))?;
        self.go(&target)
    }

    fn found(mut self) -> Result<Found, String> {
        let mut path: PathBuf = self.folders.iter().map(|(name, _)| name).collect();
        let what = match self.leaf.take() {
            Some((name, Kind::Special(kind))) => {
                path.push(name);
                What::Special(kind)
            }
            Some((name, _)) => {
                path.push(&name);
                What::File(name)
            }
            None if self.missing.is_empty() => What::Folder,
            None => {
                path.extend(&self.missing);
                What::Missing(std::mem::take(&mut self.missing))
            }
        };
        let folder = match self.folders.pop() {
            Some((_, folder)) => folder,
            None => self.root.folder.try_clone().map_err(|error| self.unreachable(&error))?,
        };
        Ok(Found { folder, path, what })
    }

    fn here(&self) -> &Dir {
        self.folders.last().map_or(&self.root.folder, |(_, folder)| folder)
    }

    fn name(&self) -> String {
        reveal_line(self.given).into_owned()
    }

    fn outside(&self) -> String {
        format!(
            "`{}` leads outside the working directory; name something inside it, with a path \
             relative to it",
            self.name()
        )
    }

    fn not_a_folder(&self) -> String {
        format!("`{}` goes through something that is not a folder", self.name())
    }

    fn unreachable(&self, error: &io::Error) -> String {
        format!("cannot reach `{}`: {error}", self.name())
    }
}

impl Found {
    /// The file's name in its folder.
    pub fn file(&self) -> Result<&OsStr, String> {
        let path = shown(&self.path);
        match &self.what {
            What::File(name) => Ok(name),
            What::Folder => Err(format!("`{path}` is a folder; list_files shows what is in it")),
            What::Special(kind) => Err(format!("`{path}` is a {kind}, not a file")),
            What::Missing(_) => Err(format!("there is no file `{path}`; look with list_files")),
        }
    }
}

pub fn kind_of(found: FileType) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Folder
    } else if found.is_symlink() {
        Kind::Link
    } else if found.is_fifo() {
        Kind::Special("pipe")
    } else if found.is_socket() {
        Kind::Special("socket")
    } else {
        Kind::Special("device")
    }
}

/// Opens a file by its bare name. What took its place since it was found is refused, and without waiting for it.
pub fn open(folder: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file any longer"));
    }
    Ok(file)
}

/// A path as models and people see it: on one line, with everything hidden made visible. A byte that is no part of
/// a character is written as `\xFF`.
pub fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return ".".to_owned();
    }
    path.as_os_str().as_bytes().utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(&reveal_line(chunk.valid()));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
