//! Looks at the data folder, what lies in it and who else may read it.
//! Part of `doctor`. Makes no folder and no store where there is none.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agent_world_core::config::World;
use agent_world_store::Store as _;
use agent_world_store::sqlite::SCHEMA;
use rustix::fs::Access;

use super::Findings;
use crate::data::DataFolder;
use crate::setup::open_to_look;
use crate::{secrets, settings, words};

/// What was found, and the worlds that are stored.
pub async fn look(data: &DataFolder) -> (Findings, Vec<World>) {
    let mut findings = Findings::about("data");
    let folder = data.path();
    let worlds = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {
            look_at_folder(&mut findings, folder, &found);
            look_at_store(&mut findings, data, &found).await
        }
        Ok(_) => {
            let fix = "move it away, or name another folder with --data DIR";
            findings.fail(format!("{} is not a folder", folder.display()), fix);
            Vec::new()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            look_where_it_would_be(&mut findings, folder);
            Vec::new()
        }
        Err(error) => {
            let says = format!("the folder {} cannot be looked into: {error}", folder.display());
            findings.fail(says, "give yourself the right to, or name another with --data DIR");
            Vec::new()
        }
    };
    look_at_keys(&mut findings, folder);
    (findings, worlds)
}

fn look_at_folder(findings: &mut Findings, folder: &Path, found: &Metadata) {
    let name = folder.display();
    if !is_writable(folder) {
        let fix = format!(
            "give yourself the right to: chmod u+rwx {name}; or name another with --data DIR"
        );
        findings.fail(format!("the folder {name} cannot be written to"), fix);
    } else if mode(found) & 0o077 != 0 {
        let says = format!("the folder {name} is open to others (mode {:03o})", mode(found));
        findings.warn(says, format!("chmod 700 {name}"));
    } else {
        findings.ok(format!("the folder {name} is there, for its owner only"));
    }
}

fn look_where_it_would_be(findings: &mut Findings, folder: &Path) {
    let name = folder.display();
    let there = folder.ancestors().skip(1).find(|parent| parent.exists());
    if there.is_some_and(|parent| parent.is_dir() && is_writable(parent)) {
        findings.ok(format!("the folder {name} is made at the first use"));
    } else {
        let says = format!("the folder {name} is not there and cannot be made");
        findings.fail(says, "name another with --data DIR or AGENT_WORLD_DATA");
    }
}

async fn look_at_store(
    findings: &mut Findings,
    data: &DataFolder,
    folder: &Metadata,
) -> Vec<World> {
    let path = data.database();
    let name = path.display();
    let found = match fs::metadata(&path) {
        Ok(found) if found.is_file() && found.len() > 0 => found,
        // An empty one is a store that nobody has used.
        Ok(found) if found.is_file() => {
            findings.ok(format!("the store {name} is empty"));
            return Vec::new();
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.ok(format!("the store {name} is made at the first use"));
            return Vec::new();
        }
        Ok(_) | Err(_) => {
            findings.fail(format!("{name} is no file that can be read"), "move it away");
            return Vec::new();
        }
    };
    if mode(&found) & 0o077 != 0 && can_be_entered(folder) {
        let says = format!("the store {name} can be read by others (mode {:03o})", mode(&found));
        findings.warn(says, format!("chmod 600 {name}*"));
    }
    let worlds = match open_to_look(data).await {
        Ok(store) => store.worlds().await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    match worlds {
        Ok(worlds) => {
            let number = words::count(worlds.len(), "world");
            findings.ok(format!("the store {name} opens, schema {SCHEMA}, with {number}"));
            worlds
        }
        Err(error) => {
            let fix = "keep a copy of it, and try `agent-world verify` or another --data DIR";
            findings.fail(format!("{error:#}"), fix);
            Vec::new()
        }
    }
}

/// A file with a key in it is nobody else's to read. What lies in a folder that others cannot enter is safe there.
fn look_at_keys(findings: &mut Findings, data: &Path) {
    let mut files = settings::holding_keys(data);
    let put_away = secrets::path(data);
    files.extend(fs::metadata(&put_away).map(|found| (put_away, mode(&found))));
    for (path, rights) in files {
        let name = path.display();
        let entered = path.parent().and_then(|folder| fs::metadata(folder).ok());
        if rights & 0o044 != 0 && entered.is_some_and(|folder| can_be_entered(&folder)) {
            let says = format!("{name} holds keys and can be read by others (mode {rights:03o})");
            findings.warn(says, format!("chmod 600 {name}"));
        } else {
            findings.ok(format!("{name} holds keys, and only its owner can read it"));
        }
    }
}

/// By this process, now: rights, read-only disks and all.
pub fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn mode(found: &Metadata) -> u32 {
    found.permissions().mode() & 0o777
}

fn can_be_entered(folder: &Metadata) -> bool {
    mode(folder) & 0o011 != 0
}
