//! The last thing that every block goes through: a sanitiser with a short list of tags, attributes and classes.
//! Called by `rendering`. What writes blocks is meant to need no cleaning; this holds whether or not that is so.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use crate::code;

pub const TAGS: [&str; 29] = [
    "a",
    "bdi",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from(TAGS))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "title"])),
            ("ol", HashSet::from(["start"])),
            ("pre", HashSet::from(["data-language"])),
        ]))
        .tag_attribute_values(
            ["p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "pre", "code", "span"]
                .into_iter()
                .map(|tag| (tag, HashMap::from([("dir", HashSet::from(["auto", "ltr"]))])))
                .collect(),
        )
        .allowed_classes(HashMap::from([
            ("a", HashSet::from(["link", "bare", "image"])),
            ("li", HashSet::from(["task"])),
            ("p", HashSet::from(["raw", "long"])),
            ("pre", HashSet::from(["code", "cut", "continued"])),
            ("span", span_classes()),
            ("table", HashSet::from(["continued", "cut"])),
            ("td", HashSet::from(["left", "center", "right"])),
            ("th", HashSet::from(["left", "center", "right"])),
        ]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"))
        .set_tag_attribute_value("a", "target", "_blank");
    builder
});

fn span_classes() -> HashSet<&'static str> {
    let own = ["address", "done", "hidden", "mention", "open", "task"];
    own.into_iter().chain(code::CLASSES.into_iter().map(|(_, class)| class)).collect()
}

pub fn clean(html: &str) -> String {
    CLEANER.clean(html).to_string()
}
