//! What the build script does with files: which ones it watches, where the page goes, who builds at a time.
//! Called by the build script. Knows nothing of Node.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What is beside the page's sources and is not built into it.
const BESIDE: [&str; 4] = ["node_modules", "dist", "test", "tests"];

/// Runs the script again when a source of the page changes, and not when packages are installed beside them.
pub fn watch(manifest: &Path) -> Result<(), String> {
    let page = manifest.join("page");
    let entries = fs::read_dir(&page).map_err(|error| about(&page, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| about(&page, &error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && !BESIDE.contains(&name.as_ref()) {
            println!("cargo::rerun-if-changed={}", entry.path().display());
        }
    }
    // The page offers the same templates as the command line.
    println!("cargo::rerun-if-changed={}", manifest.join("../cli/src/templates").display());
    println!("cargo::rerun-if-changed={}", manifest.join("build").display());
    println!("cargo::rerun-if-changed={}", manifest.join("build.rs").display());
    Ok(())
}

/// Runs the script again when a program was installed: it may be Node. What is built meanwhile is not built twice.
pub fn watch_programs() {
    println!("cargo::rerun-if-env-changed=PATH");
    let path = env::var_os("PATH").unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    for folder in env::split_paths(&path) {
        // A folder with this one inside would change with every build.
        if folder.is_dir() && folder.is_absolute() && !here.starts_with(&folder) {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
    }
}

/// Runs the script again whatever happens: a file that is not there always counts as changed.
pub fn try_again(out: &Path) {
    println!("cargo::rerun-if-changed={}", out.join("never").display());
}

/// Held while it is not dropped.
pub fn lock(page: &Path) -> Result<File, String> {
    let path = state(page)?.join("lock");
    let file = File::create(&path).map_err(|error| about(&path, &error))?;
    file.lock().map_err(|error| about(&path, &error))?;
    Ok(file)
}

/// Where the script notes what it did.
pub fn state(page: &Path) -> Result<PathBuf, String> {
    let path = page.join(".build");
    fs::create_dir_all(&path).map_err(|error| about(&path, &error))?;
    Ok(path)
}

pub fn empty(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| about(folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| about(folder, &error))
}

/// Leaves the page that stands in for the real one.
pub fn leave(out: &Path, page: &Path) -> Result<(), String> {
    empty(out)?;
    fs::copy(page, out.join("index.html")).map_err(|error| about(page, &error))?;
    Ok(())
}

pub fn about(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
