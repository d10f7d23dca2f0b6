//! Checks that a file is written whole or not at all, and what it keeps.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use tempfile::TempDir;

use super::*;

fn folder() -> (TempDir, Dir) {
    let folder = TempDir::new().unwrap();
    let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
    (folder, dir)
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let (folder, dir) = folder();
    let path = folder.path().join("file");
    let contents: Vec<Vec<u8>> = (b'a'..=b'e').map(|byte| vec![byte; 300_000]).collect();
    fs::write(&path, &contents[0]).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = fs::read(&path).unwrap();
                assert_eq!(seen.len(), 300_000);
                assert!(seen.iter().all(|byte| *byte == seen[0]), "two contents at once");
                reads += 1;
            }
            reads
        }
    });
    for content in contents.iter().cycle().take(100) {
        save(&dir, OsStr::new("file"), content, Over::Anything).unwrap();
    }
    done.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 0);
    assert_eq!(names(&folder), ["file"]);
}

#[test]
fn a_write_that_fails_leaves_what_was_there_and_nothing_else() {
    let (folder, dir) = folder();
    fs::create_dir_all(folder.path().join("taken/full")).unwrap();
    let mut temporary = Temporary::create(&dir, None).unwrap();
    temporary.file.write_all(b"half").unwrap();
    assert_eq!(names(&folder).len(), 2);
    temporary.replace(OsStr::new("taken")).unwrap_err();
    assert_eq!(names(&folder), ["taken"]);
    // Also when the work ends in the middle.
    drop(Temporary::create(&dir, None).unwrap());
    assert_eq!(names(&folder), ["taken"]);
    fs::write(folder.path().join("file"), "old").unwrap();
    let other = Stamp::of(&dir.symlink_metadata("taken").unwrap());
    let changed = save(&dir, OsStr::new("file"), b"new", Over::Exactly(&other)).unwrap_err();
    assert!(matches!(changed, Problem::Changed), "{changed:?}");
    let exists = save(&dir, OsStr::new("file"), b"new", Over::Nothing).unwrap_err();
    assert!(matches!(exists, Problem::Exists), "{exists:?}");
    let long = OsString::from("x".repeat(300));
    let failed = save(&dir, &long, b"new", Over::Anything).unwrap_err();
    assert!(matches!(failed, Problem::Io(_)), "{failed:?}");
    let failed = save(&dir, &long, b"new", Over::Nothing).unwrap_err();
    assert!(matches!(failed, Problem::Io(_)), "{failed:?}");
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"old");
    assert_eq!(names(&folder), ["file", "taken"]);
}

#[test]
fn permissions_stay_and_rights_to_act_as_the_owner_do_not() {
    let (folder, dir) = folder();
    let path = folder.path().join("file");
    for (before, after) in [(0o600, 0o600), (0o755, 0o755), (0o664, 0o664), (0o4755, 0o755)] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
        save(&dir, OsStr::new("file"), b"new", Over::Anything).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, after, "{before:o}");
    }
    // A new one has those of every new file.
    save(&dir, OsStr::new("new"), b"new", Over::Nothing).unwrap();
    fs::write(folder.path().join("usual"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("usual"));
}

#[test]
fn a_file_marked_read_only_is_not_replaced() {
    let (folder, dir) = folder();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let problem = save(&dir, OsStr::new("file"), b"new", Over::Anything).unwrap_err();
    assert!(problem.explain("file").contains("read-only"), "{problem:?}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_link_that_took_the_files_place_is_not_written_through() {
    let (folder, dir) = folder();
    fs::write(folder.path().join("target"), "old").unwrap();
    std::os::unix::fs::symlink("target", folder.path().join("file")).unwrap();
    for over in [Over::Anything, Over::Nothing] {
        let problem = save(&dir, OsStr::new("file"), b"new", over).unwrap_err();
        assert!(matches!(problem, Problem::NotAFile), "{problem:?}");
    }
    assert_eq!(fs::read(folder.path().join("target")).unwrap(), b"old");
}

#[test]
fn every_change_makes_another_stamp() {
    let (folder, dir) = folder();
    let path = folder.path().join("file");
    fs::write(&path, "one").unwrap();
    let stamp = || Stamp::of(&dir.symlink_metadata("file").unwrap());
    let first = stamp();
    assert_eq!(first, stamp());
    fs::write(&path, "three").unwrap();
    let second = stamp();
    assert_ne!(first, second);
    save(&dir, OsStr::new("file"), b"three", Over::Exactly(&second)).unwrap();
    assert_ne!(second, stamp());
}
