//! Draws Markdown that is there as a whole: some blocks.
//! Used by `stream`. Text must have been made visible before; what only its syntax hid (character references) is made visible
//! here. Raw HTML is text.

use agent_world_core::display::reveal_once;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::Line;

use super::code::highlighted;
use super::table::Table;
use super::wrap::{Break, Spans, wrap};
use crate::theme::Theme;

/// Quotes and lists inside one another whose marks are drawn.
const DEPTH: usize = 6;
/// Columns of a rule.
const RULE: usize = 40;
/// Before every line of code.
pub const CODE_INDENT: &str = "  ";

/// The lines of a text, without any around it.
pub fn draw(text: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut drawing = Drawing::new(width, theme);
    let parser = Parser::new_ext(text, options);
    // The syntax has these disappear; nothing that was written does.
    let mut definitions: Vec<std::ops::Range<usize>> =
        parser.reference_definitions().iter().map(|(_, found)| found.span.clone()).collect();
    definitions.sort_by_key(|span| span.start);
    for event in parser {
        drawing.event(event);
    }
    drawing.flush();
    for span in definitions {
        drawing.text(text.get(span).unwrap_or_default(), theme.quiet());
        drawing.flush();
    }
    drawing.lines
}

/// What is around a block.
enum Container {
    Quote,
    /// Its mark, until it is drawn, and the columns that it takes.
    Item(Option<String>, usize),
}

struct Drawing {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
    inline: Spans,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// The next number of each list around; none where it has no numbers.
    lists: Vec<Option<u64>>,
    /// Where links began in the text, and where they lead.
    links: Vec<(usize, String)>,
    code: Option<(String, String)>,
    table: Option<Table>,
    /// An empty line is due before the next block.
    gap: bool,
}

impl Drawing {
    fn new(width: u16, theme: Theme) -> Self {
        Self {
            width,
            theme,
            lines: Vec::new(),
            inline: Spans::new(),
            styles: Vec::new(),
            containers: Vec::new(),
            lists: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text.replace('\n', " "), Style::new()),
            },
            Event::Code(code) => {
                let mark = if self.theme.has_colours() { "" } else { "`" };
                self.text(&format!("{mark}{code}{mark}"), self.theme.code());
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html, Style::new()),
            Event::SoftBreak | Event::HardBreak => self.text("\n", Style::new()),
            Event::Rule => {
                let columns = RULE.min(usize::from(self.width));
                self.text(&"─".repeat(columns), self.theme.quiet());
                self.end_block();
            }
            Event::TaskListMarker(is_done) => {
                self.text(if is_done { "[x] " } else { "[ ] " }, self.theme.strong());
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, Style::new());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let style = match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => self.theme.heading(),
                    _ => self.theme.strong(),
                };
                self.flush();
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.space();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table::new(alignments));
            }
            Tag::Emphasis => self.styles.push(self.theme.emphasis()),
            Tag::Strong => self.styles.push(self.theme.strong()),
            Tag::Strikethrough => self.styles.push(self.theme.struck()),
            Tag::Link { dest_url, .. } => {
                self.links.push((self.length(), dest_url.to_string()));
                self.styles.push(self.theme.link());
            }
            Tag::Image { .. } => {
                self.text("[image: ", self.theme.quiet());
                self.styles.push(self.theme.quiet());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // One without content is still there.
                if let Some(Container::Item(Some(_), _)) = self.containers.last() {
                    let (first, rest) = self.prefixes();
                    self.lines.extend(wrap(&Spans::new(), self.width, &first, &rest, Break::Words));
                }
                self.containers.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                self.styles.pop();
                self.text("]", self.theme.quiet());
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        self.space();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        let columns = mark.chars().count();
        self.containers.push(Container::Item(Some(mark), columns));
    }

    fn text(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().fold(Style::new(), |all, one| all.patch(*one)).patch(style);
        self.inline.push((reveal_once(text).into_owned(), style));
    }

    fn length(&self) -> usize {
        self.inline.len()
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((from, address)) = self.links.pop() else {
            return;
        };
        let text: String = self.inline.iter().skip(from).map(|(text, _)| text.as_str()).collect();
        let address = reveal_once(&address).into_owned();
        let is_same = address == text || address.strip_prefix("mailto:") == Some(text.as_str());
        if !is_same && !address.is_empty() {
            self.text(&format!(" ({address})"), self.theme.quiet());
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        self.space();
        let (mut first, mut rest) = self.prefixes();
        first.push(code_indent(self.theme));
        rest.push(code_indent(self.theme));
        let label = label(&language, self.theme);
        let code = highlighted(&reveal_once(&code), &language, self.theme);
        for line in label.into_iter().chain(code) {
            self.lines.extend(wrap(&line, self.width, &first, &rest, Break::Anywhere));
            first.clone_from(&rest);
        }
        self.gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        self.space();
        let (first, rest) = self.prefixes();
        self.lines.extend(table.draw(self.width, self.theme, &first, &rest));
        self.gap = true;
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Draws the text so far.
    fn flush(&mut self) {
        let mut text = std::mem::take(&mut self.inline);
        while let Some((last, _)) = text.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            text.pop();
        }
        if text.is_empty() {
            return;
        }
        self.space();
        let (first, rest) = self.prefixes();
        self.lines.extend(wrap(&text, self.width, &first, &rest, Break::Words));
    }

    fn space(&mut self) {
        let is_first = matches!(self.containers.last(), Some(Container::Item(Some(_), _)));
        if std::mem::take(&mut self.gap) && !is_first && !self.lines.is_empty() {
            let bars: String = self.drawn().filter_map(bar).collect();
            self.lines.push(Line::styled(bars.trim_end().to_owned(), self.theme.quiet()));
        }
    }

    fn drawn(&self) -> impl Iterator<Item = &Container> {
        self.containers.iter().skip(self.containers.len().saturating_sub(DEPTH))
    }

    /// What is before the first line of a block, and before the others.
    fn prefixes(&mut self) -> (Spans, Spans) {
        let (mut first, mut rest) = (Spans::new(), Spans::new());
        let from = self.containers.len().saturating_sub(DEPTH);
        for container in self.containers.iter_mut().skip(from) {
            let others = match container {
                Container::Quote => "│ ".to_owned(),
                Container::Item(_, columns) => " ".repeat(*columns),
            };
            let mark = match container {
                Container::Item(mark, _) => mark.take(),
                Container::Quote => None,
            };
            first.push((mark.unwrap_or_else(|| others.clone()), self.theme.quiet()));
            rest.push((others, self.theme.quiet()));
        }
        (first, rest)
    }
}

fn bar(container: &Container) -> Option<String> {
    match container {
        Container::Quote => Some("│ ".to_owned()),
        Container::Item(_, columns) => Some(" ".repeat(*columns)),
    }
}

/// The language above code.
pub fn label(language: &str, theme: Theme) -> Option<Spans> {
    let language = reveal_once(language.trim()).into_owned();
    (!language.is_empty()).then(|| vec![(language, theme.quiet())])
}

/// What is before every line of code.
pub fn code_indent(theme: Theme) -> (String, Style) {
    (CODE_INDENT.to_owned(), theme.plain())
}
