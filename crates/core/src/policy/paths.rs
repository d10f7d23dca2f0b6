//! Decides where a path leads, as it is written, and whether that is inside a folder.
//! Called for conditions on paths. Never looks at a disk: links are the tool's to resolve.

use serde_json::Value;

use super::pattern::glob;

/// Arguments that are known to hold paths.
const ARGUMENTS: [&str; 12] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "directory",
    "folder",
    "source",
    "destination",
    "old_path",
    "new_path",
    "cwd",
];

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// From the root, if that can be known.
    absolute: Option<Vec<String>>,
    /// From the working directory, if it lies in it.
    relative: Option<Vec<String>>,
}

/// The paths of a call, or of the argument at a pointer. Where something that is not a path stands, or a path that
/// leads nobody knows where, `None`.
pub(super) fn places(
    arguments: &Value,
    pointer: &str,
    directory: Option<&str>,
) -> Vec<Option<Place>> {
    let mut found = Vec::new();
    let mut add = |value: &Value| match value {
        Value::Null => {}
        Value::Array(values) => {
            found.extend(values.iter().map(|one| place(one.as_str()?, directory)));
        }
        other => found.push(other.as_str().and_then(|path| place(path, directory))),
    };
    if pointer.is_empty() {
        ARGUMENTS.iter().filter_map(|name| arguments.get(name)).for_each(add);
    } else if let Some(value) = arguments.pointer(pointer) {
        add(value);
    }
    found
}

pub(super) fn place(path: &str, directory: Option<&str>) -> Option<Place> {
    let odd = |character: char| character == '\\' || character.is_control();
    if path.is_empty() || path.starts_with('~') || path.contains(odd) {
        return None;
    }
    let root = directory
        .filter(|directory| directory.starts_with('/'))
        .and_then(|directory| normalised(Vec::new(), directory));
    let absolute = if path.starts_with('/') {
        Some(normalised(Vec::new(), path)?)
    } else {
        match &root {
            Some(root) => Some(normalised(root.clone(), path)?),
            None => None,
        }
    };
    let relative = match (&absolute, &root) {
        (Some(absolute), Some(root)) => absolute.strip_prefix(root.as_slice()).map(<[_]>::to_vec),
        (None, _) => Some(normalised(Vec::new(), path)?),
        (Some(_), None) => None,
    };
    Some(Place { absolute, relative })
}

/// A folder that a rule names.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    rooted: bool,
    segments: Vec<String>,
}

impl Folder {
    pub fn new(folder: &str) -> Self {
        let segments = folder.split('/').filter(|segment| !matches!(*segment, "" | "."));
        Self { rooted: folder.starts_with('/'), segments: segments.map(str::to_owned).collect() }
    }
}

impl Place {
    pub fn is_within(&self, folder: &Folder) -> bool {
        let segments = if folder.rooted { &self.absolute } else { &self.relative };
        segments.as_ref().is_some_and(|segments| begins_with(segments, &folder.segments))
    }

    /// The folder it lies in, as a rule may name it.
    pub fn folder(&self) -> Option<String> {
        let parent =
            |segments: &[String]| segments.split_last().map(|(_, parent)| parent.join("/"));
        match (&self.relative, &self.absolute) {
            (Some(relative), _) => parent(relative).map(|folder| match folder {
                folder if folder.is_empty() => ".".to_owned(),
                folder => folder,
            }),
            (None, Some(absolute)) => parent(absolute)
                .filter(|folder| !folder.is_empty())
                .map(|folder| format!("/{folder}")),
            (None, None) => None,
        }
    }
}

/// Takes `.` and `..` out; nothing lies above the start.
fn normalised(start: Vec<String>, path: &str) -> Option<Vec<String>> {
    let mut segments = start;
    let rooted = path.starts_with('/');
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            // Above the root is the root; above an unknown place is another unknown place.
            ".." => {
                if segments.pop().is_none() && !rooted {
                    return None;
                }
            }
            name => segments.push(name.to_owned()),
        }
    }
    Some(segments)
}

// As with stars in a text, one backtrack point is enough for `**`.
fn begins_with(segments: &[String], pattern: &[String]) -> bool {
    let mut pieces = pattern.split(|part| part == "**");
    let mut rest = segments;
    let fits = |rest: &[String], piece: &[String]| {
        rest.len() >= piece.len()
            && rest.iter().zip(piece).all(|(segment, part)| glob(part, segment))
    };
    let first = pieces.next().unwrap_or_default();
    if !fits(rest, first) {
        return false;
    }
    rest = rest.get(first.len()..).unwrap_or_default();
    for piece in pieces {
        let found =
            (0..=rest.len()).find(|start| fits(rest.get(*start..).unwrap_or_default(), piece));
        match found {
            Some(start) => rest = rest.get(start + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}
