//! Decides whether the paths that ARCHITECTURE.md names in backticks are there.
//! Called by `tidy`, which passes what is there. Reads no code block: examples may be invented.

const FOLDERS: &[&str] = &[".cargo/", ".ci/", "crates/", "docs/", "web/", "xtask/"];
const ENDINGS: &[&str] = &[".md", ".rs", ".toml"];

pub fn violations(map: &str, has: fn(&str) -> bool) -> Vec<String> {
    let paths = paths(map);
    if paths.is_empty() {
        return vec!["ARCHITECTURE.md: names no path in backticks, so is no map".to_owned()];
    }
    paths
        .into_iter()
        .filter(|(_, path)| !has(path))
        .map(|(number, path)| format!("ARCHITECTURE.md:{number}: `{path}` does not exist"))
        .collect()
}

/// Paths in backticks, with the numbers of their lines.
fn paths(map: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut paths = Vec::new();
    for (line, number) in map.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let spans = line.split('`').skip(1).step_by(2);
            paths.extend(spans.filter(|span| is_path(span)).map(|span| (number, span)));
        }
    }
    paths
}

fn is_path(span: &str) -> bool {
    !span.contains(char::is_whitespace)
        && (FOLDERS.iter().any(|folder| span.starts_with(folder))
            || ENDINGS.iter().any(|ending| span.ends_with(ending) && span != *ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_code() {
        let map = "\
`crates/core/` holds `decide.rs`, called `decide`; see `core/src/apply.rs`.
`core <- store`, `Vec<Event>`, `client.*`, `cargo run --bin x.rs`, `and/or`, `.rs`
```
`crates/in/a/block.rs`
```
Run `.ci/run`, read `CONTRIBUTING.md`.
";
        let expected = [
            (1, "crates/core/"),
            (1, "decide.rs"),
            (1, "core/src/apply.rs"),
            (6, ".ci/run"),
            (6, "CONTRIBUTING.md"),
        ];
        assert_eq!(paths(map), expected);
    }

    #[test]
    fn a_path_that_is_not_there_is_named_with_its_line() {
        let map = "Start here:\n- `crates/core/src/chat.rs`\n- `crates/core/src/gone.rs`\n";
        assert_eq!(
            violations(map, |path| path.ends_with("chat.rs")),
            ["ARCHITECTURE.md:3: `crates/core/src/gone.rs` does not exist"],
        );
    }

    #[test]
    fn a_map_without_paths_is_no_map() {
        assert_eq!(
            violations("# Architecture\n", |_| true),
            ["ARCHITECTURE.md: names no path in backticks, so is no map"],
        );
    }
}
