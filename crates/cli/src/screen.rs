//! Writes what people read. The one way to the terminal, so that lines of several agents never mix.
//! Used by every command. Makes hidden characters visible in everything it is given: nothing a model or a tool
//! wrote can move the cursor, change a colour or pass for a line of ours.

use std::io::{self, IsTerminal as _, Write};

use agent_world_core::display::{reveal, reveal_once};
use anstyle::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;

use crate::{again, words};

/// Before every further line of a text, so that none of them can pass for a line of somebody else.
const INDENT: &str = "  ";

/// A terminal that says it is narrower does not know.
const NARROWEST: usize = 20;

/// What a line is, from which its colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Name,
    Quiet,
    Question,
    Warning,
}

pub struct Screen {
    out: Box<dyn Write + Send>,
    colours: bool,
    /// Columns of the terminal; none where it is written to something else.
    columns: Option<usize>,
    /// Where the next character goes.
    place: At,
    /// The text went on to a new line, on which nothing is written yet.
    indents: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    LineStart,
    Text,
    /// Behind a prompt, where a person may be typing.
    Prompt,
}

impl Screen {
    pub fn stdout() -> Self {
        let out = io::stdout();
        let colours = out.is_terminal() && colours_are_welcome();
        let columns = tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
        let columns = columns.filter(|columns| *columns >= NARROWEST);
        Self { columns, ..Self::on(Box::new(out), colours) }
    }

    pub fn stderr() -> Self {
        let out = io::stderr();
        let colours = out.is_terminal() && colours_are_welcome();
        Self::on(Box::new(out), colours)
    }

    pub fn on(out: Box<dyn Write + Send>, colours: bool) -> Self {
        Self { out, colours, columns: None, place: At::LineStart, indents: false }
    }

    /// A line of its own; further lines in the text are indented.
    pub fn line(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.write(tone, text)?;
        self.end_line()
    }

    /// A line of our own words that may name commands: they stand there as they have to be typed.
    pub fn hint(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.line(tone, &again::typed(text))
    }

    /// A line of a table: on a terminal it never becomes two, and what does not fit is left out where it ends.
    pub fn row(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        match self.columns {
            Some(columns) => {
                self.shown(tone, &words::cut(&reveal(text), columns.saturating_sub(1)))
            }
            None => self.line(tone, text),
        }
    }

    /// How wide a line of a table may be; none where nobody looks at it.
    pub fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// A line of what was made visible already, such as a request: what its escapes stand for must stay plain.
    pub fn shown(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.put(tone, &reveal_once(text))?;
        self.end_line()
    }

    /// What somebody said.
    pub fn said(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.begin_saying(name)?;
        self.go_on_saying(text)?;
        self.end_line()
    }

    pub fn begin_saying(&mut self, name: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.write(Tone::Name, &format!("{name}:"))?;
        self.write(Tone::Plain, " ")
    }

    /// More of what somebody is saying, without ending the line.
    pub fn go_on_saying(&mut self, text: &str) -> io::Result<()> {
        self.write(Tone::Plain, text)?;
        self.out.flush()
    }

    pub fn end_line(&mut self) -> io::Result<()> {
        self.place = At::LineStart;
        self.indents = false;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }

    pub fn fresh_line(&mut self) -> io::Result<()> {
        match self.place {
            At::LineStart => Ok(()),
            At::Text | At::Prompt => self.end_line(),
        }
    }

    /// Asks for a line. Says nothing if the same place already does.
    pub fn prompt(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        if self.place == At::Prompt {
            return Ok(());
        }
        self.fresh_line()?;
        self.write(tone, text)?;
        self.place = At::Prompt;
        self.out.flush()
    }

    /// A person ended the line at the prompt.
    pub fn line_was_entered(&mut self) {
        self.place = At::LineStart;
    }

    /// A line came from a pipe: shows it where a person's typing would be.
    pub fn echo(&mut self, text: &str) -> io::Result<()> {
        self.write(Tone::Plain, text)?;
        self.end_line()
    }

    /// One JSON object on a line. Hidden characters are escaped, which changes nothing for whoever reads JSON.
    pub fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        self.fresh_line()?;
        self.out.write_all(escape_hidden(&value.to_string()).as_bytes())?;
        self.end_line()
    }

    fn write(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.put(tone, &reveal(text))
    }

    fn put(&mut self, tone: Tone, visible: &str) -> io::Result<()> {
        let text = self.indented(visible);
        self.place = At::Text;
        match tone.style().filter(|_| self.colours) {
            Some(style) => write!(self.out, "{style}{text}{style:#}"),
            None => self.out.write_all(text.as_bytes()),
        }
    }
}

impl Screen {
    // A text may come in pieces, so whether an indent is due outlives the piece. Empty lines get none.
    fn indented(&mut self, text: &str) -> String {
        let mut indented = String::with_capacity(text.len());
        for character in text.chars() {
            if self.indents && character != '\n' {
                indented.push_str(INDENT);
            }
            self.indents = character == '\n';
            indented.push(character);
        }
        indented
    }
}

impl Tone {
    fn style(self) -> Option<Style> {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Tone::Plain => None,
            Tone::Name => Some(colour(AnsiColor::Cyan).bold()),
            Tone::Quiet => Some(Style::new().dimmed()),
            Tone::Question => Some(colour(AnsiColor::Yellow).bold()),
            Tone::Warning => Some(colour(AnsiColor::Red)),
        }
    }
}

fn colours_are_welcome() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !set("NO_COLOR") && !dumb
}

/// JSON that means the same, with everything hidden in it escaped. Its own syntax is plain ASCII, so whatever is hidden stands
/// inside a string.
pub fn escape_hidden(json: &str) -> String {
    use agent_world_core::display::without_hidden;
    if without_hidden(json) == json {
        return json.to_owned();
    }
    let mut escaped = String::new();
    for character in json.chars() {
        let mut bytes = [0; 4];
        // A line may only break between the parts of a document: inside a string JSON has escaped it already.
        if character != '\n' && without_hidden(character.encode_utf8(&mut bytes)).is_empty() {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
#[path = "screen_tests.rs"]
pub mod tests;
