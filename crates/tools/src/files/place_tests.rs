//! Checks what a path is found to be, and that names are shown so that nothing hides in them.

use std::fs;

use super::*;

#[test]
fn what_is_missing_is_named_from_the_first_folder_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    std::os::unix::fs::symlink("a/b", folder.path().join("dangling")).unwrap();
    let root = Root::open(Some(folder.path())).unwrap();
    let found = root.find("a/b/c").unwrap();
    assert_eq!(found.what, What::Missing(vec!["b".into(), "c".into()]));
    assert_eq!(found.path, Path::new("a/b/c"));
    let found = root.find("dangling").unwrap();
    assert_eq!((found.what, found.path), (What::Missing(vec!["b".into()]), "a/b".into()));
    assert_eq!(root.find(".").unwrap().what, What::Folder);
}

#[test]
fn a_path_can_be_deep_but_not_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let deep = vec!["a"; DEEPEST + 1].join("/");
    fs::create_dir_all(folder.path().join(&deep)).unwrap();
    let root = Root::open(Some(folder.path())).unwrap();
    let error = root.find(&deep).unwrap_err();
    assert!(error.contains("100 folders deep"), "{error}");
    assert_eq!(root.find(&vec!["a"; DEEPEST].join("/")).unwrap().what, What::Folder);
}

#[test]
fn without_a_working_directory_it_is_the_current_one() {
    let root = Root::open(None).unwrap();
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    assert_eq!(root.absolute(Path::new("x")), here.join("x").to_str().unwrap());
}

#[test]
fn a_file_that_turned_into_something_else_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    std::os::unix::fs::symlink("file", folder.path().join("link")).unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
    let root = Root::open(Some(folder.path())).unwrap();
    let folder = root.find(".").unwrap().folder;
    assert!(open(&folder, OsStr::new("file")).is_ok());
    for name in ["folder", "link", "pipe"] {
        assert!(open(&folder, OsStr::new(name)).is_err(), "{name}");
    }
}
