//! Writes HTML: text that can only be text, and tags from a closed list. Every block is made with it.
//! Called by `markdown`, `code` and `table`. Knows nothing of Markdown.

use crate::hidden::{self, Part};
use crate::names::Names;

/// Elements inside one another that are written; what is deeper is still there, without its element.
const DEEPEST: usize = 24;
/// Bytes of the longest address that becomes a link.
const LONGEST_LINK: usize = 2_048;
/// Characters shown of an address that does not become one.
const SHOWN_ADDRESS: usize = 80;

#[derive(Debug, Default)]
pub struct Writer {
    html: String,
    /// How open elements are closed; nothing for those that were too deep to be written.
    closers: Vec<&'static str>,
}

impl Writer {
    pub fn into_html(mut self) -> String {
        while !self.closers.is_empty() {
            self.close();
        }
        self.html
    }

    pub fn open(&mut self, tag: &str, closer: &'static str) {
        let fits = self.closers.len() < DEEPEST;
        if fits {
            self.html.push_str(tag);
        }
        self.closers.push(if fits { closer } else { "" });
    }

    pub fn close(&mut self) {
        self.html.push_str(self.closers.pop().unwrap_or_default());
    }

    /// A tag as it is. Never anything that somebody wrote.
    pub fn tag(&mut self, tag: &str) {
        self.html.push_str(tag);
    }

    /// Prose, with bare addresses as links and mentions marked.
    pub fn prose(&mut self, text: &str, names: &Names) {
        for part in hidden::in_prose(text) {
            match part {
                Part::Hidden(hidden) => self.hidden(hidden),
                Part::Seen(text) => self.marked(text, names),
            }
        }
    }

    /// Prose that is part of a link, or too long to be looked through.
    pub fn plain(&mut self, text: &str) {
        for part in hidden::in_prose(text) {
            match part {
                Part::Hidden(hidden) => self.hidden(hidden),
                Part::Seen(text) => escape(&mut self.html, text),
            }
        }
    }

    pub fn code(&mut self, text: &str) {
        for part in hidden::in_code(text) {
            match part {
                Part::Hidden(hidden) => self.hidden(hidden),
                Part::Seen(text) => escape(&mut self.html, text),
            }
        }
    }

    fn hidden(&mut self, hidden: &str) {
        self.html.push_str("<span class=\"hidden\">");
        self.html.push_str(&hidden::shown(hidden));
        self.html.push_str("</span>");
    }

    /// Opens a link; whether it is one. Its text is isolated, so that it cannot turn what stands around it.
    pub fn open_link(&mut self, address: &str, class: &str) -> bool {
        if !is_allowed(address) {
            return false;
        }
        let mut tag = format!("<a class=\"{class}\" href=\"");
        escape(&mut tag, address);
        tag.push_str("\" title=\"");
        escape(&mut tag, address);
        tag.push_str("\"><bdi>");
        self.open(&tag, "</bdi></a>");
        true
    }

    /// An address that is no link, shown beside what was to lead there.
    pub fn refused_address(&mut self, address: &str) {
        if address.is_empty() {
            return;
        }
        let mut shown: String = address.chars().take(SHOWN_ADDRESS).collect();
        if shown.len() < address.len() {
            shown.push('…');
        }
        self.html.push_str(" <span class=\"address\" dir=\"ltr\">(");
        self.code(&shown);
        self.html.push_str(")</span>");
    }

    fn marked(&mut self, text: &str, names: &Names) {
        let mut from = 0;
        let mut look = 0;
        while let Some(found) = text.get(look..).and_then(|rest| rest.find(['@', ':'])) {
            let at = look + found;
            look = at + 1;
            let Some((start, end, kind)) = special(text, from, at, names) else {
                continue;
            };
            escape(&mut self.html, text.get(from..start).unwrap_or_default());
            let marked = text.get(start..end).unwrap_or_default();
            match kind {
                Special::Mention => {
                    self.html.push_str("<span class=\"mention\">");
                    escape(&mut self.html, marked);
                    self.html.push_str("</span>");
                }
                Special::Address => {
                    let is_link = self.open_link(marked, "bare");
                    escape(&mut self.html, marked);
                    if is_link {
                        self.close();
                    }
                }
            }
            from = end;
            look = end;
        }
        escape(&mut self.html, text.get(from..).unwrap_or_default());
    }
}

enum Special {
    Mention,
    Address,
}

/// What is marked around an `@` or a `:`, and where it begins and ends. Nothing before `from` belongs to it.
fn special(text: &str, from: usize, at: usize, names: &Names) -> Option<(usize, usize, Special)> {
    let before = text.get(from..at)?;
    let after = text.get(at + 1..)?;
    if text.get(at..)?.starts_with('@') {
        let begins_word = before.chars().next_back().is_none_or(char::is_whitespace);
        let length = names.length_of(after).filter(|_| begins_word)?;
        return Some((at, at + 1 + length, Special::Mention));
    }
    let scheme = ["https", "http"].into_iter().find(|scheme| before.ends_with(scheme))?;
    let start = at.checked_sub(scheme.len())?;
    let begins_word =
        !text.get(from..start)?.chars().next_back().is_some_and(char::is_alphanumeric);
    let host = after.strip_prefix("//").filter(|_| begins_word)?;
    let ends = |one: char| one.is_whitespace() || matches!(one, '<' | '>' | '"' | '`' | '\'');
    let mut address = host.get(..host.find(ends).unwrap_or(host.len()))?;
    // What ends a sentence is no part of an address in it.
    loop {
        let open = |one: char| address.contains(one);
        address = match address.chars().next_back()? {
            '.' | ',' | ';' | ':' | '!' | '?' | '*' | '_' => {
                address.get(..address.len().saturating_sub(1))?
            }
            ')' if !open('(') => address.strip_suffix(')')?,
            ']' if !open('[') => address.strip_suffix(']')?,
            _ => break,
        };
    }
    let is_host = address.starts_with(|one: char| one.is_alphanumeric() || one == '[');
    is_host.then_some((start, at + 3 + address.len(), Special::Address))
}

/// Addresses that a link may lead to: the web and mail.
fn is_allowed(address: &str) -> bool {
    let has_scheme = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    address.len() <= LONGEST_LINK
        && ["http://", "https://", "mailto:"].into_iter().any(has_scheme)
        && !address.contains(|one: char| one.is_control() || one.is_whitespace())
        && hidden::in_code(address).all(|part| matches!(part, Part::Seen(_)))
}

pub fn escape(html: &mut String, text: &str) {
    let mut from = 0;
    for (at, found) in text.match_indices(['&', '<', '>', '"', '\'']) {
        html.push_str(text.get(from..at).unwrap_or_default());
        html.push_str(match found {
            "&" => "&amp;",
            "<" => "&lt;",
            ">" => "&gt;",
            "\"" => "&quot;",
            _ => "&#39;",
        });
        from = at + 1;
    }
    html.push_str(text.get(from..).unwrap_or_default());
}
