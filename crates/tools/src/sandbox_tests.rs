//! Checks what settings become before anything is confined. What the kernel then holds to is checked with real programs.

use std::fs;

use tempfile::TempDir;

use super::*;

fn surroundings(home: &Path) -> Surroundings {
    Surroundings { home: Some(home.to_owned()), temporary: "/tmp".into(), private: Vec::new() }
}

fn confined(settings: &Sandbox, work: &Path, surroundings: &Surroundings) -> Confinement {
    Confinement::new(settings, work, surroundings, Err("none".to_owned())).unwrap()
}

#[test]
fn every_setting_changes_the_description() {
    let changes: [fn(&mut Sandbox); 9] = [
        |_| {},
        |settings| settings.mode = SandboxMode::Off,
        |settings| settings.network = true,
        |settings| settings.readable = Some(vec!["/a".to_owned()]),
        |settings| settings.hidden = vec!["/a".to_owned()],
        |settings| settings.writable = vec!["/a".to_owned()],
        |settings| settings.processes = 1,
        |settings| settings.memory_bytes = 1,
        |settings| settings.file_bytes = 1,
    ];
    let mut seen = std::collections::BTreeSet::new();
    for change in changes {
        let mut settings = Sandbox::default();
        change(&mut settings);
        assert!(seen.insert(describe(&settings)), "{}", describe(&settings));
    }
}

#[test]
fn a_world_without_a_sandbox_confines_nothing() {
    let settings = Sandbox { mode: SandboxMode::Off, ..Sandbox::default() };
    let nobody = surroundings(Path::new("/"));
    assert!(Confinement::new(&settings, Path::new("/"), &nobody, Err(String::new())).is_none());
}

#[test]
fn paths_are_relative_to_the_home_or_the_working_directory() {
    let (home, work) = (Path::new("/no/home"), Path::new("/no/place"));
    let placed = |name: &str| place(name, Some(home), work);
    assert_eq!(placed("~"), "/no/home");
    assert_eq!(placed("~/a"), "/no/home/a");
    assert_eq!(placed("~a"), "/no/place/~a");
    assert_eq!(placed("a/b"), "/no/place/a/b");
    assert_eq!(placed("/a"), "/a");
}

#[test]
fn keys_are_hidden_unless_somebody_works_on_them() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().canonicalize().unwrap();
    for name in [".ssh/work", ".aws", "project", "data/inner"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    let hidden = |work: &str, private: &[&str]| -> Vec<PathBuf> {
        let private = private.iter().map(|name| home.join(name)).collect();
        let surroundings = Surroundings { private, ..surroundings(&home) };
        let confinement = confined(&Sandbox::default(), &home.join(work), &surroundings);
        let inside = |path: PathBuf| path.strip_prefix(&home).map(Path::to_owned).ok();
        confinement.hidden.into_iter().filter_map(|path| inside(path.into())).collect()
    };
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(hidden("project", &[]), paths(&[".aws", ".ssh"]));
    assert_eq!(hidden(".ssh/work", &[]), paths(&[".aws"]));
    assert_eq!(hidden("", &[]), paths(&[]));
    // What the embedder names is hidden in any case; what lies in another need not be named.
    assert_eq!(hidden("", &["data"]), paths(&["data"]));
    assert_eq!(
        hidden("project", &["data/inner", "data", "none"]),
        paths(&[".aws", ".ssh", "data"])
    );
}
