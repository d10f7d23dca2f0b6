//! Decides whether a package takes its lints and its licence from the workspace.
//! Called by `tidy` for every package. Accepts one spelling of each: easier to read and to search.

const REQUIRED: &[(&str, &str)] =
    &[("[lints]", "workspace = true"), ("[package]", "license.workspace = true")];

pub fn violations(path: &str, manifest: &str) -> Vec<String> {
    REQUIRED
        .iter()
        .filter(|(table, setting)| !has_setting(manifest, table, setting))
        .map(|(table, setting)| format!("{path}: needs `{setting}` under {table}"))
        .collect()
}

fn has_setting(manifest: &str, table: &str, setting: &str) -> bool {
    manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != table)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .any(|line| line == setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LINTS: &str = "Cargo.toml: needs `workspace = true` under [lints]";
    const NO_LICENCE: &str = "Cargo.toml: needs `license.workspace = true` under [package]";

    #[track_caller]
    fn check(manifest: &str, expected: &[&str]) {
        assert_eq!(violations("Cargo.toml", manifest), expected);
    }

    #[test]
    fn a_manifest_that_inherits_passes() {
        check("[package]\nlicense.workspace = true\n\n[lints]\nworkspace = true\n", &[]);
    }

    #[test]
    fn what_is_not_inherited_is_named() {
        check("[package]\nname = \"x\"\n", &[NO_LINTS, NO_LICENCE]);
        check("[package]\nlicense = \"MIT\"\n[lints]\nworkspace = true\n", &[NO_LICENCE]);
        check("[package]\nlicense.workspace = true\n[lints]\nworkspace = false\n", &[NO_LINTS]);
    }

    #[test]
    fn a_setting_counts_only_in_its_own_table() {
        check("[lints]\n[package]\nlicense.workspace = true\nworkspace = true\n", &[NO_LINTS]);
    }
}
