//! Decides what a server's tool is called here: `server.tool`, within the registry's rules.
//! Called whenever a server's list is read. A name depends on nothing but its server's name and list, so no other server
//! can take it over.

use std::collections::{BTreeMap, BTreeSet};

use agent_world_core::binding::digest;

/// Of a whole name; the registry's rule.
const LONGEST: usize = 64;
/// Of the server's part, so that something is left for the tool.
const LONGEST_SERVER: usize = 32;
/// Letters of a digest that tell two names apart.
const MARK: usize = 8;

/// The part before the dot. A name that cannot be kept as it is gets a mark, so that no other server has the same.
pub fn server(name: &str) -> String {
    let clean = clean(name);
    let kept = clean == name && clean.len() <= LONGEST_SERVER && !name.is_empty();
    if kept && !clean.eq_ignore_ascii_case("client") {
        clean
    } else {
        marked(&clean, name, LONGEST_SERVER)
    }
}

/// What each of a server's tools is called, by its own name. Of tools that would be called alike, all but one that
/// needs no cleaning get a mark.
pub fn tools<'a>(
    server_name: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<&'a str, String> {
    let server = server(server_name);
    let room = LONGEST - server.len() - 1;
    let originals: BTreeSet<&str> = names.into_iter().collect();
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for original in &originals {
        alike.entry(clean(original)).or_default().push(original);
    }
    let mut named = BTreeMap::new();
    for (clean, originals) in alike {
        let several = originals.len() > 1;
        for original in originals {
            let fits = clean.len() <= room && !clean.is_empty();
            let tool = if fits && (!several || original == clean) {
                clean.clone()
            } else {
                marked(&clean, original, room)
            };
            named.insert(original, format!("{server}.{tool}"));
        }
    }
    named
}

fn clean(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter,
            '_' | '-' => letter,
            _ => '_',
        })
        .collect()
}

fn marked(clean: &str, original: &str, longest: usize) -> String {
    let digest = digest(original.as_bytes());
    let mark: String = digest.chars().skip("sha256:".len()).take(MARK).collect();
    let beginning: String = clean.chars().take(longest - MARK - 1).collect();
    format!("{beginning}-{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(server: &str, names: &[&str]) -> Vec<String> {
        tools(server, names.iter().copied()).into_values().collect()
    }

    #[test]
    fn ordinary_names_are_kept() {
        assert_eq!(named("files", &["read-file", "Write_2"]), ["files.Write_2", "files.read-file"]);
    }

    #[test]
    fn a_lone_strange_name_is_cleaned_and_alike_ones_are_told_apart() {
        assert_eq!(named("x", &["a.b"]), ["x.a_b"]);
        let names = tools("x", ["a.b", "a/b", "a_b"]);
        assert_eq!(names["a_b"], "x.a_b");
        assert!(names["a.b"].starts_with("x.a_b-"), "{names:?}");
        assert!(names["a/b"].starts_with("x.a_b-"), "{names:?}");
        assert_ne!(names["a.b"], names["a/b"]);
    }

    #[test]
    fn a_servers_part_is_its_own() {
        assert_eq!(server("my_server"), "my_server");
        assert!(server("my server").starts_with("my_server-"));
        assert_ne!(server("my server"), server("my.server"));
        for taken in ["client", "Client"] {
            assert!(!server(taken).eq_ignore_ascii_case("client"), "{}", server(taken));
        }
        assert!(!server("").is_empty());
        assert!(!server("ñandú").contains('ñ'));
    }

    #[test]
    fn no_name_is_too_long_and_cut_ones_differ() {
        let long = ["t".repeat(200), format!("{}x", "t".repeat(200)), String::new()];
        let server = "s".repeat(300);
        let names = tools(&server, long.iter().map(String::as_str));
        let distinct: BTreeSet<&String> = names.values().collect();
        assert_eq!(distinct.len(), 3);
        for name in names.values() {
            assert!(name.len() <= LONGEST && name.contains('.'), "{name}");
        }
    }
}
