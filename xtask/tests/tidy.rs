//! Holds the project to the rules that the compiler cannot: who may depend on whom, what opens a
//! file, what may not be in one. Each rule is a pure function in a module of its own, with a test
//! that shows it a violation; the tests here apply the rules to the project itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

// A plain `mod` would look beside this file, where cargo takes every file for a test of its own.
#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/manifests.rs"]
mod manifests;
#[path = "tidy/map.rs"]
mod map;
#[path = "tidy/project.rs"]
mod project;
#[path = "tidy/sources.rs"]
mod sources;
#[path = "tidy/text.rs"]
mod text;

/// Fails with every violation at once: fixing them one run at a time is tedious.
#[track_caller]
fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n  {}\n", violations.join("\n  "));
}

#[test]
fn dependencies_point_one_way() {
    let (packages, graph) = project::dependencies();
    assert_none(&dependencies::violations(&packages, &graph));
}

#[test]
fn packages_inherit_lints_and_licence() {
    let manifests = project::manifests();
    assert!(manifests.iter().any(|path| path == "xtask/Cargo.toml"), "{manifests:?}");
    assert_none(&project::check_each(&manifests, manifests::violations));
}

#[test]
fn sources_say_what_they_are_for_and_stay_short() {
    let sources = project::sources();
    assert!(sources.iter().any(|path| path == "xtask/tests/tidy.rs"), "{sources:?}");
    assert_none(&project::check_each(&sources, sources::violations));
}

#[test]
fn files_hold_nothing_forbidden() {
    assert_none(&project::check_each(&project::files(), text::violations));
}

#[test]
fn the_map_is_true() {
    let map = project::read("ARCHITECTURE.md").expect("ARCHITECTURE.md must be in the root");
    assert_none(&map::violations(&map, project::has));
}
