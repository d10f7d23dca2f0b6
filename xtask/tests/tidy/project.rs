//! Finds the project's files, packages and dependencies for the rules to look at.
//! Called by the tests in `tidy`. Judges nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::dependencies::{Dependency, Graph, Kind, Package};

/// Folders that hold what tools made.
const GENERATED: &[&str] = &[".git", "node_modules", "target"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The text of a file; none if it is not there or is not text.
pub fn read(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

pub fn check_each(paths: &[String], rule: fn(&str, &str) -> Vec<String>) -> Vec<String> {
    paths
        .iter()
        .filter_map(|path| Some((path, read(path)?)))
        .flat_map(|(path, text)| rule(path, &text))
        .collect()
}

/// Whether a path named in a document is there, seen from the root or from `crates/`. The bare name
/// of a source may be anywhere.
pub fn has(path: &str) -> bool {
    let named_so = |file: &String| file.rsplit('/').next() == Some(path);
    root().join(path).exists()
        || root().join("crates").join(path).exists()
        || sources().iter().any(named_so)
}

/// All files under version control, or, where git cannot tell, all files not made by tools.
pub fn files() -> Vec<String> {
    tracked().unwrap_or_else(|| walk(""))
}

/// Sources count from the moment they are written, before git knows of them.
pub fn sources() -> Vec<String> {
    let mut files = walk("crates");
    files.extend(walk("xtask"));
    files.retain(|path| path.ends_with(".rs"));
    files
}

/// None without git, outside a checkout and before the first commit: a list that lacks the
/// workspace's own manifest is not a list of the project's files.
fn tracked() -> Option<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().ok()?;
    let list = String::from_utf8(output.stdout).ok()?;
    let files: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
    files.iter().any(|path| path == "Cargo.toml").then_some(files)
}

fn walk(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().unwrap();
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && !GENERATED.contains(&name.as_str()) {
            files.extend(walk(&path));
        }
    }
    files.sort();
    files
}

/// The manifest of every workspace package.
pub fn manifests() -> Vec<String> {
    let metadata = metadata();
    let root = metadata.workspace_root.clone();
    let relative = |manifest: &cargo_metadata::camino::Utf8Path| {
        manifest.strip_prefix(&root).unwrap().to_string()
    };
    metadata.workspace_packages().iter().map(|package| relative(&package.manifest_path)).collect()
}

/// What the workspace's packages declare, and the graph of everything that is built from it.
pub fn dependencies() -> (Vec<Package>, Graph) {
    let metadata = metadata();
    let packages = metadata.workspace_packages().into_iter().map(declared).collect();
    (packages, resolved(&metadata))
}

fn declared(package: &cargo_metadata::Package) -> Package {
    let dependencies = package.dependencies.iter().map(|dependency| Dependency {
        name: dependency.name.to_string(),
        kind: match dependency.kind {
            DependencyKind::Development => Kind::Development,
            _ => Kind::Normal,
        },
    });
    Package { name: package.name.to_string(), dependencies: dependencies.collect() }
}

fn resolved(metadata: &Metadata) -> Graph {
    let labels: BTreeMap<_, _> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, format!("{} {}", package.name, package.version)))
        .collect();
    let mut graph = Graph::new();
    for node in &metadata.resolve.as_ref().unwrap().nodes {
        let normal = node.deps.iter().filter(|dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        });
        let targets = normal.map(|dependency| labels[&dependency.pkg].clone()).collect();
        graph.insert(labels[&node.id].clone(), targets);
    }
    graph
}

/// For this machine's platform only: other platforms' crates need not have been downloaded.
fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked", "--filter-platform", "host-tuple"].map(str::to_owned))
        .exec()
        .unwrap()
}

#[test]
fn walking_finds_sources_and_skips_what_tools_made() {
    let files = walk("");
    assert!(files.iter().any(|path| path == "xtask/tests/tidy/project.rs"), "{files:?}");
    assert!(!files.iter().any(|path| path.starts_with(".git/")), "{files:?}");
}

#[test]
fn a_path_is_found_from_the_root_from_crates_and_by_its_bare_name() {
    for path in ["xtask/tests/tidy.rs", "core/Cargo.toml", "project.rs"] {
        assert!(has(path), "{path}");
    }
    for path in ["xtask/tests/missing.rs", "missing.rs", "tests/tidy.rs"] {
        assert!(!has(path), "{path}");
    }
}

#[test]
fn the_graph_follows_normal_dependencies_only() {
    let (packages, graph) = dependencies();
    let xtask = packages.iter().find(|package| package.name == "xtask").unwrap();
    let declared = xtask.dependencies.iter().find(|found| found.name == "cargo_metadata");
    assert_eq!(declared.unwrap().kind, Kind::Development);

    let uses = |package: &str| {
        let node = graph.iter().find(|(label, _)| label.split(' ').next() == Some(package));
        node.unwrap().1.iter().map(|label| label.split(' ').next().unwrap()).collect::<Vec<_>>()
    };
    assert!(uses("xtask").is_empty());
    assert!(uses("cargo_metadata").contains(&"serde_json"));
}
