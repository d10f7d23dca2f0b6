//! Adds a vendor to `agent-world.toml` in the data folder. What somebody wrote there stays as it is, comments included.
//! Part of `init`. The file is its owner's alone, whatever is in it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use toml::Table;

use crate::data::DataFolder;
use crate::settings;

/// What became of the file.
#[derive(Debug)]
pub struct Written {
    pub path: PathBuf,
    /// Something was added.
    pub is_new: bool,
}

pub fn add(data: &DataFolder, vendor: &str, section: &str) -> Result<Written> {
    let path = data.path().join(settings::NAME);
    let path = fs::canonicalize(&path).unwrap_or(path);
    let before = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    let of_vendor = |text: &str| -> Result<Option<toml::Value>> {
        // The error quotes a line, which may hold a key.
        let table: Table = toml::from_str(text)
            .map_err(|_| anyhow!("{} cannot be read; repair it first", path.display()))?;
        Ok(table.get("vendors").and_then(|all| all.get(vendor)).cloned())
    };
    match of_vendor(&before)? {
        Some(there) if of_vendor(section)?.as_ref() == Some(&there) => {
            return Ok(Written { path, is_new: false });
        }
        Some(_) => {
            return Err(anyhow!(
                "{} says something else about {vendor} already; change it there, or remove [vendors.{vendor}] and try again",
                path.display()
            ));
        }
        None => {}
    }
    let space = if before.is_empty() { "" } else { "\n" };
    let text = format!("{}{space}{section}", with_line_end(before));
    of_vendor(&text)?;
    write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(Written { path, is_new: true })
}

fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Complete before it is there, and never with other rights than its owner's.
fn write(path: &PathBuf, text: &str) -> io::Result<()> {
    let new = path.with_extension("toml.new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}
