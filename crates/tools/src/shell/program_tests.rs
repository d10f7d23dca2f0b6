//! Checks which program a name means and what is noted of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A folder with programs in `bin`, which is all there is to search.
struct Bench {
    folder: TempDir,
    search: OsString,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        Self { search: bin.into(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn place(&self) -> Place<'_> {
        Place { directory: self.folder.path(), search: Some(&self.search) }
    }

    fn facts(&self, arguments: Value) -> Facts {
        let arguments = Arguments::read(arguments).unwrap();
        facts(&arguments, self.place(), self.folder.path())
    }

    /// The names of the files whose content is noted.
    fn noted(&self, command: &str, parameters: &[&str]) -> Vec<String> {
        let facts = self.facts(json!({"command": command, "parameters": parameters}));
        let scripts = facts.iter().filter(|(name, _)| name.starts_with("script"));
        let name =
            |content: &String| content.split(' ').next()?.rsplit('/').next().map(str::to_owned);
        scripts.filter_map(|(_, content)| name(content)).collect()
    }
}

#[test]
fn a_name_is_searched_in_order_and_only_in_absolute_folders() {
    let bench = Bench::new();
    bench.program("tool", "binary");
    bench.program("bin/other", "binary");
    fs::create_dir(bench.path("bin/folder")).unwrap();
    fs::write(bench.path("bin/plain"), "").unwrap();
    let place = Place { search: Some(OsStr::new(":.:bin")), ..bench.place() };
    assert_eq!(place.find("tool").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(bench.place().find("other").unwrap(), bench.path("bin/other"));
    for name in ["folder", "plain"] {
        assert_eq!(bench.place().find(name).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
    assert!(bench.place().find("bin/other").is_ok() && bench.place().find("/bin/sh").is_ok());
    assert!(Place { search: None, ..bench.place() }.find("sh").is_ok());
}

#[test]
fn a_program_that_is_not_there_is_a_fact() {
    assert_eq!(Bench::new().facts(json!({"command": "none"}))[PROGRAM], NOT_FOUND);
}

#[test]
fn where_a_link_leads_is_noted_but_the_link_is_what_runs() {
    let bench = Bench::new();
    bench.program("bin/real", "binary");
    symlink("real", bench.path("bin/link")).unwrap();
    let facts = bench.facts(json!({"command": "link"}));
    assert!(facts[PROGRAM].ends_with("/bin/link"), "{facts:?}");
    assert!(facts["program_file"].ends_with("/bin/real"), "{facts:?}");
}

#[test]
fn a_program_that_an_agent_can_write_is_noted_with_its_content() {
    let bench = Bench::new();
    bench.program("tool", "binary");
    let before = bench.facts(json!({"command": "./tool"}));
    bench.program("tool", "changed");
    let after = bench.facts(json!({"command": "./tool"}));
    assert!(before["program_content"].contains("sha256:"), "{before:?}");
    assert_ne!(before["program_content"], after["program_content"]);
}

#[test]
fn scripts_are_noted_however_they_are_run() {
    let bench = Bench::new();
    bench.program("bin/own", "#!/bin/sh\n");
    for name in ["sh", "python3.12", "node", "env", "timeout", "cat"] {
        bench.program(&format!("bin/{name}"), "binary");
    }
    for name in ["a.sh", "b.py", "hook.js", "data"] {
        fs::write(bench.path(name), name).unwrap();
    }
    bench.program("self", "#!/bin/sh\n");
    let noted = |command: &str, parameters: &[&str]| bench.noted(command, parameters);
    assert_eq!(noted("own", &["data"]), ["own"]);
    assert_eq!(noted("sh", &["a.sh", "data"]), ["a.sh"]);
    // Data may change as it likes; a program is one wherever it stands.
    assert_eq!(noted("sh", &["./a.sh", "./data"]), ["a.sh"]);
    assert_eq!(noted("sh", &["a.sh", "./self"]), ["a.sh", "self"]);
    assert_eq!(noted("python3.12", &["-u", "b.py"]), ["b.py"]);
    assert_eq!(noted("node", &["-r", "hook.js", "a.sh", "data"]), ["hook.js", "a.sh"]);
    assert_eq!(noted("node", &["--require=hook.js", "a.sh"]), ["hook.js", "a.sh"]);
    assert_eq!(noted("env", &["-i", "X=1", "sh", "a.sh"]), ["a.sh"]);
    assert_eq!(noted("env", &["X=1", "timeout", "5", "sh", "a.sh"]), ["a.sh"]);
    assert_eq!(noted("timeout", &["5", "./self"]), ["self"]);
    assert_eq!(noted("sh", &["-c", "echo"]), [""; 0]);
    assert_eq!(noted("cat", &["data"]), [""; 0]);
}

#[test]
fn a_large_file_is_told_apart_without_reading_it() {
    let bench = Bench::new();
    let file = File::create(bench.path("large")).unwrap();
    file.set_len(LARGEST_READ + 1).unwrap();
    let told = content(&bench.path("large"));
    assert!(told.contains(&format!("{} bytes of ", LARGEST_READ + 1)), "{told}");
}
