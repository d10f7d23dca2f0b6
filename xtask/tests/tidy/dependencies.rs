//! Decides whether the workspace's packages depend only on what they may.
//! Called by `tidy`. Knows packages by name alone; `project` finds them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    pub kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Part of what is built, build scripts included.
    Normal,
    Development,
}

/// From "name version" to those of its normal dependencies.
pub type Graph = BTreeMap<String, Vec<String>>;

const CORE: &str = "agent-world-core";
const STORE: &str = "agent-world-store";
const LLM: &str = "agent-world-llm";
const TOOLS: &str = "agent-world-tools";
const RUNTIME: &str = "agent-world-runtime";
const SERVER: &str = "agent-world-server";
const CLIENT: &str = "agent-world-client";
const TERMINAL: &str = "agent-world-terminal";
const WEB: &str = "agent-world-web";
const RENDER: &str = "agent-world-render";
const CLI: &str = "agent-world";

/// Which of the workspace's packages each may use. In its tests a package may also use itself, and a client a real server.
const MAY_USE: &[(&str, &[&str])] = &[
    (CORE, &[]),
    (STORE, &[CORE]),
    (LLM, &[CORE]),
    (TOOLS, &[CORE]),
    (RUNTIME, &[CORE, STORE, LLM, TOOLS]),
    (WEB, &[]),
    (RENDER, &[]),
    (SERVER, &[CORE, RUNTIME, RENDER, WEB]),
    (CLIENT, &[]),
    (TERMINAL, &[CORE, CLIENT]),
    (CLI, &[CORE, STORE, LLM, TOOLS, RUNTIME, SERVER, CLIENT, TERMINAL]),
    ("xtask", &[]),
];

/// What only the tests of a package may use.
const IN_TESTS: &[(&str, &[&str])] = &[(CLIENT, &[RUNTIME, SERVER])];

/// What must not be reached through any chain of normal dependencies; `*` stands for any ending.
const NEVER_REACHES: &[(&str, &[&str], &str)] = &[
    (
        CORE,
        &[
            "async-*",
            "futures",
            "futures-*",
            "hyper",
            "mio",
            "reqwest",
            "rusqlite",
            "tokio",
            "tokio-*",
        ],
        "core holds rules, without IO or async",
    ),
    (LLM, &["rusqlite"], "a provider never touches storage"),
    (
        CLI,
        &["aws-lc-*", "openssl-sys"],
        "TLS is rustls with ring; nothing needs CMake or the system's OpenSSL",
    ),
    (TOOLS, &["rusqlite"], "a tool never touches storage"),
];

const HTTP: &[&str] = &["axum", "http", "hyper"];
/// Tools reach MCP servers: rmcp takes its headers, and its requests for tokens, in these types.
const MAY_KNOW_HTTP: &[&str] = &[TOOLS, SERVER, CLIENT, CLI];

pub fn violations(packages: &[Package], graph: &Graph) -> Vec<String> {
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut violations = Vec::new();
    for package in packages {
        violations.extend(wrong_direction(package, &members));
        violations.extend(http_outside_server(package));
    }
    for (package, banned, reason) in NEVER_REACHES {
        if let Some(chain) = chain_to_banned(graph, package, banned) {
            violations.push(format!("{}: {reason}", chain.join(" -> ")));
        }
    }
    violations
}

fn wrong_direction(package: &Package, members: &BTreeSet<&str>) -> Vec<String> {
    let Package { name, dependencies } = package;
    let Some((_, may_use)) = MAY_USE.iter().find(|(listed, _)| listed == name) else {
        return vec![format!("{name} is not in the table of who may use whom; add it there")];
    };
    let allowed = |dependency: &Dependency| {
        let in_tests = [name.as_str()].into_iter().chain(
            IN_TESTS
                .iter()
                .filter(|(user, _)| user == name)
                .flat_map(|(_, used)| used.iter().copied()),
        );
        may_use.contains(&dependency.name.as_str())
            || dependency.kind == Kind::Development
                && in_tests.into_iter().any(|used| used == dependency.name)
    };
    dependencies
        .iter()
        .filter(|dependency| members.contains(dependency.name.as_str()) && !allowed(dependency))
        .map(|dependency| format!("{name} must not depend on {}", dependency.name))
        .collect()
}

fn http_outside_server(package: &Package) -> Vec<String> {
    if MAY_KNOW_HTTP.contains(&package.name.as_str()) {
        return Vec::new();
    }
    package
        .dependencies
        .iter()
        .filter(|found| found.kind == Kind::Normal && HTTP.contains(&found.name.as_str()))
        .map(|found| {
            format!("{} must not depend on {}: only server knows HTTP", package.name, found.name)
        })
        .collect()
}

/// The shortest chain of names from a package to something banned.
fn chain_to_banned<'a>(graph: &'a Graph, from: &str, banned: &[&str]) -> Option<Vec<&'a str>> {
    let start = graph.keys().find(|label| name(label) == from)?;
    let mut seen = BTreeSet::from([start]);
    let mut chains = VecDeque::from([vec![start]]);
    while let Some(chain) = chains.pop_front() {
        for next in graph.get(*chain.last()?).into_iter().flatten() {
            if !seen.insert(next) {
                continue;
            }
            let chain: Vec<&String> = chain.iter().copied().chain([next]).collect();
            if banned.iter().any(|pattern| matches(pattern, name(next))) {
                return Some(chain.into_iter().map(|label| name(label)).collect());
            }
            chains.push_back(chain);
        }
    }
    None
}

fn name(label: &str) -> &str {
    label.split_once(' ').map_or(label, |(name, _version)| name)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, normal: &[&str], development: &[&str]) -> Package {
        let dependency = |name: &&str, kind: Kind| Dependency { name: (*name).to_owned(), kind };
        let normal = normal.iter().map(|name| dependency(name, Kind::Normal));
        let development = development.iter().map(|name| dependency(name, Kind::Development));
        Package { name: name.to_owned(), dependencies: normal.chain(development).collect() }
    }

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        let owned = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
        edges.iter().map(|(from, to)| ((*from).to_owned(), owned(to))).collect()
    }

    #[track_caller]
    fn check_packages(packages: &[Package], expected: &[&str]) {
        assert_eq!(violations(packages, &Graph::new()), expected);
    }

    #[test]
    fn the_intended_direction_passes() {
        check_packages(
            &[
                package(CORE, &["serde"], &["proptest", CORE]),
                package(STORE, &[CORE, "rusqlite"], &[]),
                package(RUNTIME, &[CORE, STORE, "tokio"], &[]),
                package(SERVER, &[CORE, RUNTIME, "axum", "http"], &[]),
                package(CLI, &[CORE, STORE, RUNTIME, SERVER, "axum"], &[]),
            ],
            &[],
        );
    }

    #[test]
    fn siblings_do_not_see_each_other_not_even_in_tests() {
        let store = package(STORE, &[CORE], &[]);
        check_packages(
            &[package(LLM, &[STORE], &[]), package(TOOLS, &[], &[STORE]), store],
            &[
                "agent-world-llm must not depend on agent-world-store",
                "agent-world-tools must not depend on agent-world-store",
            ],
        );
    }

    #[test]
    fn a_package_must_be_in_the_table() {
        check_packages(
            &[package("agent-world-extra", &[], &[])],
            &["agent-world-extra is not in the table of who may use whom; add it there"],
        );
    }

    #[test]
    fn only_the_server_knows_http() {
        check_packages(
            &[package(LLM, &["http", "reqwest"], &["axum"])],
            &["agent-world-llm must not depend on http: only server knows HTTP"],
        );
    }

    #[test]
    fn what_is_banned_is_found_at_any_depth() {
        let graph = graph(&[
            ("agent-world-core 0.1.0", &["clock 1.0.0", "serde 1.0.0"]),
            ("clock 1.0.0", &["async-lock 3.0.0"]),
            ("agent-world-llm 0.1.0", &["cache 2.0.0"]),
            ("cache 2.0.0", &["rusqlite 0.41.0", "cache 2.0.0"]),
            ("agent-world-store 0.1.0", &["rusqlite 0.41.0", "tokio 1.0.0"]),
        ]);
        assert_eq!(
            violations(&[], &graph),
            [
                "agent-world-core -> clock -> async-lock: core holds rules, without IO or async",
                "agent-world-llm -> cache -> rusqlite: a provider never touches storage",
            ],
        );
    }

    #[test]
    fn another_version_of_a_dependency_is_another_package() {
        let graph = graph(&[
            ("agent-world-core 0.1.0", &["clock 2.0.0"]),
            ("clock 1.0.0", &["tokio 1.0.0"]),
            ("clock 2.0.0", &[]),
        ]);
        assert!(violations(&[], &graph).is_empty());
    }

    #[test]
    fn a_pattern_covers_a_name_or_all_with_its_beginning() {
        assert!(matches("tokio", "tokio"));
        assert!(!matches("tokio", "tokio-util"));
        assert!(matches("async-*", "async-trait"));
        assert!(!matches("async-*", "asynchronous"));
    }
}
