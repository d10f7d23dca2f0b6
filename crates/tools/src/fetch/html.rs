//! Turns HTML into text that reads well: paragraphs, headings, lists and rows of tables, with the links at the end.
//! Called by `text`. Works on the tags as they come and builds no tree, so that no page, however nested, takes more
//! than time and memory in proportion to its length. Stops when its time is up, and says so.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use html5ever::TokenizerResult;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use reqwest::Url;

/// Bytes given to the tokenizer at once.
const PIECE: usize = 16 * 1024;
/// No page is worked on longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Links listed at the end, and bytes of one.
const LINKS: usize = 500;
const LINK: usize = 2_000;

/// The text of a page at this address.
pub fn plain(html: &str, base: &Url) -> String {
    let start = Instant::now();
    let sink = Writer { base, state: RefCell::default() };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() && start.elapsed() < PATIENCE {
        let end = rest.floor_char_boundary(PIECE);
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        input.push_back(piece.into());
        // Whatever it stops for, such as a script, nobody here does anything about.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        rest = after;
    }
    tokenizer.end();
    let mut text = tokenizer.sink.state.into_inner().finish();
    if !rest.is_empty() {
        text.push_str(&format!(
            "\n[cut: {} more bytes of HTML took too long; `raw` shows them]",
            rest.len()
        ));
    }
    text
}

struct Writer<'a> {
    base: &'a Url,
    state: RefCell<State>,
}

/// The text so far, and where in the page it is.
#[derive(Debug, Default)]
struct State {
    text: String,
    /// Line breaks owed before the next word.
    breaks: usize,
    space: bool,
    /// Inside `pre` every space counts.
    preformatted: usize,
    /// Inside an element whose content nobody reads, until its end.
    unread: Option<String>,
    row_has_cell: bool,
    /// The number of the link that is open.
    link: Option<usize>,
    links: Vec<String>,
}

impl TokenSink for Writer<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.write(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                return state.open(&tag, self.base);
            }
            Token::TagToken(tag) => state.close(&tag.name),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn write(&mut self, text: &str) {
        if self.unread.is_some() {
            return;
        }
        if self.preformatted > 0 {
            self.settle();
            self.text.push_str(text);
            return;
        }
        let mut words = text.split_ascii_whitespace();
        self.space |= text.starts_with(|one: char| one.is_ascii_whitespace());
        if let Some(first) = words.next() {
            self.word(first);
        }
        for word in words {
            self.space = true;
            self.word(word);
        }
        self.space |= text.ends_with(|one: char| one.is_ascii_whitespace());
    }

    fn word(&mut self, word: &str) {
        self.settle();
        self.text.push_str(word);
    }

    /// Writes the breaks and the space that are owed.
    fn settle(&mut self) {
        let is_start = self.text.is_empty() || self.text.ends_with('\n');
        if self.breaks > 0 && !self.text.is_empty() {
            let present = self.text.bytes().rev().take_while(|byte| *byte == b'\n').count();
            for _ in present..self.breaks {
                self.text.push('\n');
            }
        } else if self.space && !is_start && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.breaks = 0;
        self.space = false;
    }

    fn owe(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        if breaks > 0 {
            self.space = false;
        }
    }

    fn open(&mut self, tag: &Tag, base: &Url) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let raw = raw_kind(name);
        if self.unread.is_some() {
            return raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData);
        }
        self.owe(breaks_around(name));
        match name {
            "script" | "style" | "iframe" | "noembed" | "noframes" | "template" | "svg"
            | "object"
                if !tag.self_closing =>
            {
                self.unread = Some(name.to_owned());
            }
            "pre" | "textarea" => self.preformatted += 1,
            "br" => {
                self.settle();
                self.text.push('\n');
            }
            "hr" => {
                self.word("---");
                self.owe(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.word(&"#".repeat(level));
                self.space = true;
            }
            "li" => {
                self.word("*");
                self.space = true;
            }
            "tr" => self.row_has_cell = false,
            "td" | "th" if self.row_has_cell => {
                self.space = true;
                self.word("|");
                self.space = true;
            }
            "td" | "th" => self.row_has_cell = true,
            "img" => self.write(attribute(tag, "alt").unwrap_or_default()),
            "a" => self.link = attribute(tag, "href").and_then(|href| self.note(href, base)),
            _ => {}
        }
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
    }

    fn close(&mut self, name: &str) {
        if let Some(unread) = &self.unread {
            if unread == name {
                self.unread = None;
            }
            return;
        }
        match name {
            "pre" | "textarea" => self.preformatted = self.preformatted.saturating_sub(1),
            "a" => {
                if let Some(number) = self.link.take() {
                    self.text.push_str(&format!("[{number}]"));
                }
            }
            _ => {}
        }
        self.owe(breaks_around(name));
    }

    /// The number of a link that leads to another page.
    fn note(&mut self, href: &str, base: &Url) -> Option<usize> {
        let href = href.trim();
        if href.is_empty()
            || href.starts_with('#')
            || href.len() > LINK
            || self.links.len() >= LINKS
        {
            return None;
        }
        let url = base.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        self.links.push(url.to_string());
        Some(self.links.len())
    }

    fn finish(self) -> String {
        let mut text = self.text.trim().to_owned();
        if !self.links.is_empty() {
            text.push('\n');
        }
        for (index, link) in self.links.iter().enumerate() {
            text.push_str(&format!("\n[{}]: {link}", index + 1));
        }
        text
    }
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|found| &*found.value)
}

/// Elements whose content is no markup.
fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        "title" | "textarea" => Some(RawKind::Rcdata),
        _ => None,
    }
}

/// Line breaks between an element and what is around it.
fn breaks_around(name: &str) -> usize {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "pre"
        | "blockquote" | "title" | "figure" | "section" | "article" | "hr" => 2,
        "div" | "li" | "tr" | "dt" | "dd" | "header" | "footer" | "main" | "nav" | "aside"
        | "form" | "fieldset" | "legend" | "address" | "figcaption" | "details" | "summary"
        | "option" | "caption" | "textarea" | "body" | "head" => 1,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
