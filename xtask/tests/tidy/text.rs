//! Decides whether a file is free of what must not be published: paths of somebody's machine,
//! gaps left in the code, tests that are switched off.
//! Called by `tidy` for every text file of the project, this one included: hence the needles in
//! pieces.

/// Folders that are found on one machine and not on the next.
const MACHINE_FOLDERS: &[&[&str]] = &[&["/ho", "me/"], &["/ro", "ot/"], &["/wo", "rk/"]];

const GAPS: &[&[&str]] = &[&["todo", "!("], &["unimplemented", "!("], &["#[", "ignore"]];

pub fn violations(path: &str, text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for needle in MACHINE_FOLDERS.iter().map(|pieces| pieces.concat()) {
            if has_absolute(line, &needle) {
                violations.push(format!("{path}:{number}: names the machine's folder {needle}"));
            }
        }
        for needle in GAPS.iter().map(|pieces| pieces.concat()) {
            if line.contains(&needle) {
                violations.push(format!("{path}:{number}: has {needle}"));
            }
        }
    }
    violations
}

/// The same letters in the middle of a relative path or of an address are no absolute path.
fn has_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-~})$".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: &[String]) {
        assert_eq!(violations("notes.md", &format!("fine\n{}\n", line.concat())), expected);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in MACHINE_FOLDERS.iter().map(|pieces| pieces.concat()) {
            let expected = [format!("notes.md:2: names the machine's folder {folder}")];
            check(&[&folder, "ada/notes"], &expected);
            check(&["see `", &folder, "ada`"], &expected);
            check(&["file://", &folder, "ada"], &expected);
        }
    }

    #[test]
    fn relative_paths_and_addresses_are_not() {
        for folder in MACHINE_FOLDERS.iter().map(|pieces| pieces.concat()) {
            for before in ["crates", ".", "..", "https://example.org", "${base}", "$(pwd)"] {
                check(&[before, &folder, "ada"], &[]);
            }
        }
    }

    #[test]
    fn gaps_are_found() {
        for gap in GAPS.iter().map(|pieces| pieces.concat()) {
            check(&["    ", &gap, "..."], &[format!("notes.md:2: has {gap}")]);
        }
    }

    #[test]
    fn words_alike_are_not_gaps() {
        check(&["todo: ignore this unimplemented line"], &[]);
    }
}
