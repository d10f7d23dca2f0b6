//! Finds a file of the page, with its compressed copies.
//! Called by the server for every request of the page. Files never change while the program runs.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "$OUT_DIR/page"]
struct Files;

/// The page itself: what the addresses of all its views give.
pub const INDEX: &str = "index.html";

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    pub content_type: &'static str,
    pub content: Cow<'static, [u8]>,
    pub brotli: Option<Cow<'static, [u8]>>,
    pub gzip: Option<Cow<'static, [u8]>>,
    /// SHA-256 of the content.
    pub digest: [u8; 32],
}

/// A file by its path, such as `index.html` or `assets/index-1a2b3c.js`.
pub fn find(path: &str) -> Option<Asset> {
    // A copy is no file of its own: only what names a type is served.
    let content_type = content_type(path)?;
    let file = Files::get(path)?;
    let copy = |ending: &str| Files::get(&format!("{path}.{ending}")).map(|file| file.data);
    Some(Asset {
        content_type,
        brotli: copy("br"),
        gzip: copy("gz"),
        digest: file.metadata.sha256_hash(),
        content: file.data,
    })
}

/// The paths of all files, without compressed copies.
pub fn paths() -> impl Iterator<Item = String> {
    Files::iter().map(Cow::into_owned).filter(|path| content_type(path).is_some())
}

/// Whether the real page is here, or the one that says how to get it.
pub fn is_built() -> bool {
    Files::iter().any(|path| path.starts_with("assets/"))
}

fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_page() {
        let index = find(INDEX).unwrap();
        let text = String::from_utf8(index.content.into_owned()).unwrap();
        assert!(text.contains("<title>Agent World</title>"), "{text}");
        assert_eq!(is_built(), text.contains("/assets/"), "{text}");
        assert_eq!(is_built(), !text.contains("Install"), "{text}");
    }

    #[test]
    fn nothing_but_files_of_the_page_is_found() {
        for path in ["", "index", "/index.html", "../Cargo.toml", "index.html.br", "assets/"] {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_page_holds_nothing_that_its_content_policy_forbids() {
        let text = String::from_utf8(find(INDEX).unwrap().content.into_owned()).unwrap();
        for forbidden in ["<style", " style=", " onload=", "src=\"http", "src=\"data:"] {
            assert!(!text.contains(forbidden), "{forbidden}: {text}");
        }
        for script in text.split("<script").skip(1) {
            let (attributes, rest) = script.split_once('>').unwrap();
            assert!(attributes.contains(" src=\"/assets/"), "{attributes}");
            assert!(rest.starts_with("</script>"), "{rest}");
        }
    }

    #[test]
    fn every_file_has_a_type_and_a_digest_of_its_own() {
        let mut digests = std::collections::BTreeSet::new();
        for path in paths() {
            assert!(digests.insert(find(&path).unwrap().digest), "{path}");
        }
        assert!(!digests.is_empty());
    }
}
