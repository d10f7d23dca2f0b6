//! Decides whether a Rust source says what it is for, is short enough and is named for a subject.
//! Called by `tidy` for every source under `crates/` and `xtask/`. Does not judge the code.

const LONGEST: usize = 800;

/// Names that say nothing of a subject, and so end up holding everything.
const NAMES_WITHOUT_SUBJECT: &[&str] = &["common", "helper", "helpers", "manager", "util", "utils"];

pub fn violations(path: &str, text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    if !has_sentence(&header(text)) {
        violations.push(format!("{path}: must open with a `//!` header of at least one sentence"));
    }
    let lines = text.lines().count();
    if lines > LONGEST {
        violations.push(format!("{path}: has {lines} lines, more than {LONGEST}; split it"));
    }
    for part in path.trim_end_matches(".rs").split('/') {
        if NAMES_WITHOUT_SUBJECT.contains(&part) {
            violations.push(format!("{path}: `{part}` names no subject; say what it is about"));
        }
    }
    violations
}

/// The text of the `//!` lines that a file opens with, on one line.
fn header(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    lines.join(" ")
}

/// At least three words up to a full stop; one inside a name ends no sentence.
fn has_sentence(header: &str) -> bool {
    let mut words = header.split_whitespace();
    words.position(|word| word.ends_with('.')).is_some_and(|before| before >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> String {
        violations(path, text).join("\n")
    }

    #[test]
    fn a_good_source_passes() {
        assert_eq!(check("crates/core/src/chat.rs", "//! State of a chat.\n\nstruct Chat;\n"), "");
        assert_eq!(check("crates/core/src/chat.rs", "//! One sentence\n//! on two lines.\n"), "");
    }

    #[test]
    fn a_header_must_come_first_and_hold_a_sentence() {
        for text in [
            "",
            "struct Chat;\n",
            "\n//! State of a chat.\n",
            "// State of a chat.\n",
            "struct Chat;\n//! State of a chat.\n",
            "//! State of a chat\n",
            "//! Chat.\n",
            "//! Uses chat.rs for state\n",
        ] {
            assert_eq!(
                check("crates/core/src/chat.rs", text),
                "crates/core/src/chat.rs: must open with a `//!` header of at least one sentence",
                "{text:?}",
            );
        }
    }

    #[test]
    fn a_source_may_be_long_but_not_too_long() {
        let header = "//! A long one indeed.\n";
        assert_eq!(check("xtask/src/long.rs", &(header.to_owned() + &"\n".repeat(799))), "");
        assert_eq!(
            check("xtask/src/long.rs", &(header.to_owned() + &"\n".repeat(800))),
            "xtask/src/long.rs: has 801 lines, more than 800; split it",
        );
    }

    #[test]
    fn a_name_must_have_a_subject() {
        let text = "//! Various useful things.\n";
        assert_eq!(
            check("crates/core/src/utils.rs", text),
            "crates/core/src/utils.rs: `utils` names no subject; say what it is about",
        );
        assert_eq!(
            check("crates/core/tests/common/mod.rs", text),
            "crates/core/tests/common/mod.rs: `common` names no subject; say what it is about",
        );
        assert_eq!(check("crates/core/src/common_law.rs", text), "");
    }
}
