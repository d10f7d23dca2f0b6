//! Writes one block of Markdown as HTML: GitHub's dialect with tables, task lists and strikethrough, without footnotes.
//! Called by `open` with a block of bounded length. Raw HTML is text here, and images are links.

use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TextMergeStream,
};

use crate::code::{self, Highlighter};
use crate::names::Names;
use crate::table;
use crate::writer::{Writer, escape};

/// Bytes of code inside a list or a quotation that are looked at: they are looked at again whenever it grows.
const NESTED_CODE: usize = 2 * 1024;

pub fn prose(text: &str, names: &Names) -> String {
    let mut block = Block::new(names);
    block.write(text);
    block.writer.into_html()
}

/// A table, or a piece of one: the head is written once.
pub fn table(text: &str, continued: bool, cut: bool, names: &Names) -> String {
    let mut block = Block::new(names);
    block.table = match (continued, cut) {
        (false, false) => "<table>",
        (false, true) => "<table class=\"cut\">",
        (true, false) => "<table class=\"continued\">",
        (true, true) => "<table class=\"continued cut\">",
    };
    block.without_head = continued;
    block.write(text);
    block.writer.into_html()
}

/// A piece of code whose lines are written already.
pub fn code(html: &str, language: &str, classes: &str) -> String {
    let mut piece = format!("<pre class=\"code{classes}\" dir=\"ltr\"");
    if !language.is_empty() {
        piece.push_str(" data-language=\"");
        escape(&mut piece, language);
        piece.push('"');
    }
    piece.push_str("><code>");
    piece.push_str(html);
    piece.push_str("</code></pre>");
    piece
}

/// A link or an image that is open.
struct Link {
    /// Whether it leads anywhere.
    is_link: bool,
    address: String,
    text: String,
}

impl Link {
    /// Whether its text looks like an address, and it leads to another.
    fn pretends(&self) -> bool {
        let text = self.text.trim().trim_end_matches('/');
        let is_address = text.contains("://") || text.starts_with("www.");
        is_address && self.address.trim_end_matches('/') != text
    }
}

struct Block<'n> {
    writer: Writer,
    names: &'n Names,
    table: &'static str,
    without_head: bool,
    /// The head of a table is open, and is not to be written.
    skips: bool,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
    /// The raw HTML that is open has a line already.
    has_line: bool,
    /// The code that is open: its language and text.
    code: Option<(String, String)>,
    /// Links and images that are open.
    links: Vec<Link>,
}

impl<'n> Block<'n> {
    fn new(names: &'n Names) -> Self {
        Self {
            writer: Writer::default(),
            names,
            table: "<table>",
            without_head: false,
            skips: false,
            alignments: Vec::new(),
            column: 0,
            in_head: false,
            has_line: false,
            code: None,
            links: Vec::new(),
        }
    }

    fn write(&mut self, text: &str) {
        let mut options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        if table::is_narrow(text) {
            options |= Options::ENABLE_TABLES;
        }
        let mut end = 0;
        let mut depth = 0_usize;
        let events = Parser::new_ext(text, options).into_offset_iter();
        // Offsets tell what no event tells of: definitions of links, which are shown like the rest.
        let events = events.map(|(event, range)| {
            let at_top = depth == 0;
            match &event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            let unseen = at_top.then(|| text.get(end..range.start).unwrap_or_default().trim());
            end = end.max(range.end);
            (event, unseen.filter(|unseen| !unseen.is_empty()))
        });
        let events: Vec<_> = events.collect();
        let rest = text.get(end..).unwrap_or_default().trim().to_owned();
        let mut pending: Vec<Event<'_>> = Vec::new();
        for (event, unseen) in events {
            if let Some(unseen) = unseen {
                self.flush(&mut pending);
                self.unseen(unseen);
            }
            pending.push(event);
        }
        self.flush(&mut pending);
        if !rest.is_empty() {
            self.unseen(&rest);
        }
    }

    fn flush(&mut self, pending: &mut Vec<Event<'_>>) {
        for event in TextMergeStream::new(pending.drain(..)) {
            self.event(event);
        }
    }

    fn unseen(&mut self, text: &str) {
        self.writer.open("<p dir=\"auto\">", "</p>");
        self.lines(text);
        self.writer.close();
    }

    fn lines(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if index > 0 {
                self.writer.tag("<br>");
            }
            self.writer.prose(line, self.names);
        }
    }

    fn event(&mut self, event: Event<'_>) {
        if let Some((_, code)) = &mut self.code {
            match event {
                Event::Text(text) => return code.push_str(&text),
                Event::End(_) => {}
                _ => return,
            }
        }
        if self.skips && !matches!(event, Event::End(pulldown_cmark::TagEnd::TableHead)) {
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.links.is_empty() => self.writer.prose(&text, self.names),
            Event::Text(text) => {
                self.links.iter_mut().for_each(|link| link.text.push_str(&text));
                self.writer.plain(&text);
            }
            Event::Code(text) => {
                self.writer.tag("<code dir=\"ltr\">");
                self.writer.code(&text);
                self.writer.tag("</code>");
            }
            Event::Html(text) => {
                if std::mem::replace(&mut self.has_line, true) {
                    self.writer.tag("<br>");
                }
                self.lines(text.trim_end_matches('\n'));
            }
            Event::InlineHtml(text) => self.writer.plain(&text),
            Event::SoftBreak => self.writer.tag("\n"),
            Event::HardBreak => self.writer.tag("<br>"),
            Event::Rule => self.writer.tag("<hr>"),
            Event::TaskListMarker(true) => self.writer.tag("<span class=\"task done\">☑</span> "),
            Event::TaskListMarker(false) => self.writer.tag("<span class=\"task open\">☐</span> "),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.writer.plain(&text)
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let writer = &mut self.writer;
        match tag {
            Tag::Paragraph => writer.open("<p dir=\"auto\">", "</p>"),
            Tag::HtmlBlock => {
                self.has_line = false;
                writer.open("<p class=\"raw\" dir=\"auto\">", "</p>");
            }
            Tag::Heading { level, .. } => {
                let [opener, closer] = heading(level);
                writer.open(opener, closer);
            }
            Tag::BlockQuote(_) => writer.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((code::language(info).to_owned(), String::new()));
            }
            Tag::List(Some(1)) => writer.open("<ol>", "</ol>"),
            Tag::List(Some(start)) => writer.open(&format!("<ol start=\"{start}\">"), "</ol>"),
            Tag::List(None) => writer.open("<ul>", "</ul>"),
            Tag::Item => writer.open("<li dir=\"auto\">", "</li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                writer.open(self.table, "</table>");
            }
            Tag::TableHead => {
                (self.in_head, self.column, self.skips) = (true, 0, self.without_head);
                if !self.skips {
                    writer.open("<thead>", "</thead>");
                    writer.open("<tr>", "</tr>");
                }
            }
            Tag::TableRow => {
                self.column = 0;
                writer.open("<tr>", "</tr>");
            }
            Tag::TableCell => {
                let aligned = self.alignments.get(self.column).copied();
                let class = match aligned.unwrap_or(Alignment::None) {
                    Alignment::None => "",
                    Alignment::Left => " class=\"left\"",
                    Alignment::Center => " class=\"center\"",
                    Alignment::Right => " class=\"right\"",
                };
                self.column += 1;
                match self.in_head {
                    true => writer.open(&format!("<th dir=\"auto\"{class}>"), "</th>"),
                    false => writer.open(&format!("<td dir=\"auto\"{class}>"), "</td>"),
                }
            }
            Tag::Emphasis => writer.open("<em>", "</em>"),
            Tag::Strong => writer.open("<strong>", "</strong>"),
            Tag::Strikethrough => writer.open("<del>", "</del>"),
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, &dest_url, "link"),
            Tag::Image { link_type, dest_url, .. } => self.link(link_type, &dest_url, "image"),
            Tag::Superscript => writer.open("<sup>", "</sup>"),
            Tag::Subscript => writer.open("<sub>", "</sub>"),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => writer.open("", ""),
        }
    }

    fn end(&mut self, end: pulldown_cmark::TagEnd) {
        use pulldown_cmark::TagEnd;
        match end {
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableHead => {
                if !self.skips {
                    self.writer.close();
                    self.writer.close();
                }
                (self.in_head, self.skips) = (false, false);
                self.writer.tag("<tbody>");
            }
            TagEnd::Table => {
                self.writer.tag("</tbody>");
                self.writer.close();
            }
            TagEnd::Link | TagEnd::Image => {
                let Some(link) = self.links.pop() else { return };
                if link.is_link {
                    self.writer.close();
                }
                if !link.is_link || link.pretends() {
                    self.writer.refused_address(&link.address);
                }
            }
            _ => self.writer.close(),
        }
    }

    fn link(&mut self, kind: LinkType, address: &str, class: &str) {
        let address = match kind {
            LinkType::Email => format!("mailto:{address}"),
            _ => address.to_owned(),
        };
        // A link in a link is none: browsers would take them apart.
        let is_inner = self.links.iter().any(|link| link.is_link);
        let is_link = !is_inner && self.writer.open_link(&address, class);
        if class == "image" {
            self.writer.tag("🖼 ");
        }
        self.links.push(Link { is_link, address, text: String::new() });
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else { return };
        let looked_at = if text.len() <= NESTED_CODE { language.as_str() } else { "" };
        let mut highlighter = Highlighter::new(looked_at);
        let mut lines = Writer::default();
        for (index, line) in text.lines().enumerate() {
            if index > 0 {
                lines.tag("\n");
            }
            highlighter.line(line, &mut lines);
        }
        self.writer.tag(&code(&lines.into_html(), &language, ""));
    }
}

fn heading(level: pulldown_cmark::HeadingLevel) -> [&'static str; 2] {
    use pulldown_cmark::HeadingLevel;
    match level {
        HeadingLevel::H1 => ["<h1 dir=\"auto\">", "</h1>"],
        HeadingLevel::H2 => ["<h2 dir=\"auto\">", "</h2>"],
        HeadingLevel::H3 => ["<h3 dir=\"auto\">", "</h3>"],
        HeadingLevel::H4 => ["<h4 dir=\"auto\">", "</h4>"],
        HeadingLevel::H5 => ["<h5 dir=\"auto\">", "</h5>"],
        HeadingLevel::H6 => ["<h6 dir=\"auto\">", "</h6>"],
    }
}
