//! Finds the corpus and reads its cases.
//! Called by every vendor's test. Decides nothing about what a case means.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One recorded exchange.
#[derive(Debug)]
pub struct Case {
    /// Its folder in the corpus.
    pub vendor: String,
    pub name: String,
    pub status: u16,
    pub path: String,
    pub query: Value,
    /// A stream was asked for, though an error may have answered whole.
    pub stream_requested: bool,
    /// The reply is a stream.
    pub streamed: bool,
    pub request: Option<Value>,
    pub reply: Vec<u8>,
}

/// Where the corpus is, if it is anywhere.
pub fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("AGENT_WORLD_CORPUS") {
        let named = PathBuf::from(named);
        assert!(
            named.join("index.json").is_file(),
            "AGENT_WORLD_CORPUS={} holds no corpus",
            named.display()
        );
        return Some(named);
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/provider-corpus");
    beside.join("index.json").is_file().then_some(beside)
}

/// The names of all cases, as `vendor/name`.
pub fn names(folder: &Path) -> Vec<String> {
    let index = json(&folder.join("index.json")).expect("the corpus has an index");
    let cases = index["cases"].as_array().expect("a list of cases");
    let name = |case: &Value| {
        let text = |key: &str| case[key].as_str().expect("a name").to_owned();
        format!("{}/{}", text("vendor"), text("case"))
    };
    cases.iter().map(name).collect()
}

/// One vendor's cases; none, with a word about it, where there is no corpus.
pub fn of(vendor: &str, expected: usize) -> Vec<Case> {
    let Some(folder) = folder() else {
        println!("skipped {expected} cases of {vendor}: the provider corpus is not here");
        return Vec::new();
    };
    names(&folder)
        .iter()
        .filter_map(|name| name.split_once('/'))
        .filter(|(of, _)| *of == vendor)
        .map(|(_, name)| read(&folder, vendor, name))
        .collect()
}

fn read(folder: &Path, vendor: &str, name: &str) -> Case {
    let folder = folder.join(vendor).join(name);
    let meta = json(&folder.join("meta.json")).expect("a case has a meta.json");
    let flag = |key: &str| meta[key].as_bool().unwrap_or_default();
    let reply = folder.join(meta["response_file"].as_str().expect("a reply"));
    Case {
        vendor: vendor.to_owned(),
        name: name.to_owned(),
        status: meta["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .expect("a status"),
        path: meta["endpoint"]["path"].as_str().expect("a path").to_owned(),
        query: meta["endpoint"]["query"].clone(),
        stream_requested: flag("stream_requested"),
        streamed: flag("streaming"),
        request: json(&folder.join("request.json")),
        reply: fs::read(&reply).unwrap_or_else(|error| panic!("{}: {error}", reply.display())),
    }
}

fn json(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}
