//! Builds the page with Node and Vite into the build's own folder, from where it goes into the binary.
//! Run by cargo when the page's sources change. Without Node it leaves a short page that says how to get the real one;
//! never writes into the sources but for `page/node_modules` and `page/.build`.

#[path = "build/files.rs"]
mod files;
#[path = "build/node.rs"]
mod node;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use node::Node;

/// `auto` (the default), `require` or `skip`.
const CHOICE: &str = "AGENT_WORLD_WEB";

/// Whether the page is to be built.
enum Choice {
    /// Where Node is there.
    Auto,
    Require,
    Skip,
}

/// Why there is no page.
enum Without {
    /// Nobody wants one.
    Skipped,
    /// Node is missing or too old. Looked for again when something was installed.
    Node(String),
    /// It may work the next time.
    Failed(String),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={CHOICE}");
    let choice = match env::var(CHOICE).as_deref() {
        Err(_) | Ok("" | "auto") => Choice::Auto,
        Ok("require") => Choice::Require,
        Ok("skip") => Choice::Skip,
        Ok(other) => return Err(format!("{CHOICE} is `{other}`; it takes auto, require and skip")),
    };
    let manifest = folder("CARGO_MANIFEST_DIR")?;
    let page = manifest.join("page");
    let out = folder("OUT_DIR")?.join("page");
    files::watch(&manifest)?;
    let why = match choice {
        Choice::Skip => Without::Skipped,
        Choice::Auto | Choice::Require => match build(&page, &out) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        },
    };
    if let (Choice::Require, Without::Node(why) | Without::Failed(why)) = (&choice, &why) {
        return Err(format!("{CHOICE}=require, and the page cannot be built: {why}"));
    }
    match why {
        Without::Skipped => {}
        Without::Node(why) => {
            println!("cargo::warning=built without the web page: {why}");
            files::watch_programs();
        }
        Without::Failed(why) => {
            println!("cargo::warning=built without the web page: {why}");
            files::try_again(&out);
        }
    }
    files::leave(&out, &manifest.join("build/without.html"))
}

fn build(page: &Path, out: &Path) -> Result<(), Without> {
    let node = Node::find().map_err(Without::Node)?;
    let failed = Without::Failed;
    // Two builds at once, with target folders of their own, share the page's packages.
    let _only_one_builds = files::lock(page).map_err(failed)?;
    node.install(page).map_err(failed)?;
    files::empty(out).map_err(failed)?;
    node.bundle(page, out).map_err(failed)?;
    node.compress(out).map_err(failed)
}

fn folder(variable: &str) -> Result<PathBuf, String> {
    env::var_os(variable).map(PathBuf::from).ok_or_else(|| format!("cargo sets no {variable}"))
}
