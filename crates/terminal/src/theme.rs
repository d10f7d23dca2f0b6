//! Decides how things look: one style for each meaning, never a colour in the code that draws.
//! Used by everything that draws. Without colours (`NO_COLOR`, a plain terminal) meaning is carried by weight and words alone.

use ratatui::style::{Color, Modifier, Style};

/// Which styles there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    colours: bool,
}

/// What a part of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Comment,
    Text,
    Constant,
    Keyword,
    Function,
    Type,
    Added,
    Removed,
    Other,
}

impl Theme {
    pub fn new(colours: bool) -> Self {
        Self { colours }
    }

    /// As the environment wants it.
    pub fn of_environment() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let plain = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        Self::new(!refused && !plain)
    }

    pub fn has_colours(self) -> bool {
        self.colours
    }

    pub fn plain(self) -> Style {
        Style::new()
    }

    /// What can be passed over: times, notes, what was said before. In the terminal's own colour for text: a grey of the
    /// palette is hard to read on one background or the other.
    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn emphasis(self) -> Style {
        Style::new().add_modifier(Modifier::ITALIC)
    }

    /// The person at the keyboard.
    pub fn person(self) -> Style {
        self.coloured(Color::Green, Modifier::BOLD)
    }

    /// An agent: always the same colour for the same name, so that several stay apart.
    pub fn agent(self, id: &str) -> Style {
        const COLOURS: [Color; 5] =
            [Color::Cyan, Color::Magenta, Color::Blue, Color::LightCyan, Color::LightMagenta];
        let sum =
            id.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let colour = COLOURS.get(sum % COLOURS.len()).copied().unwrap_or(Color::Cyan);
        self.coloured(colour, Modifier::BOLD)
    }

    /// Something waits for a person.
    pub fn question(self) -> Style {
        self.coloured(Color::Yellow, Modifier::BOLD)
    }

    pub fn warning(self) -> Style {
        self.coloured(Color::Red, Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.coloured(Color::Green, Modifier::empty())
    }

    pub fn code(self) -> Style {
        self.coloured(Color::Cyan, Modifier::empty())
    }

    /// A line of code, where nothing is known of its parts.
    pub fn code_block(self) -> Style {
        Style::new()
    }

    /// In the terminal's own colours, which fit its background.
    pub fn part(self, part: Part) -> Style {
        match part {
            Part::Comment => self.quiet(),
            Part::Text => self.coloured(Color::Green, Modifier::empty()),
            Part::Constant => self.coloured(Color::Yellow, Modifier::empty()),
            Part::Keyword => self.coloured(Color::Magenta, Modifier::empty()),
            Part::Function => self.coloured(Color::Blue, Modifier::empty()),
            Part::Type => self.coloured(Color::Cyan, Modifier::empty()),
            Part::Added => self.added(),
            Part::Removed => self.removed(),
            Part::Other => self.code_block(),
        }
    }

    /// The place of a change in a diff.
    pub fn hunk(self) -> Style {
        self.coloured(Color::Cyan, Modifier::DIM)
    }

    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    pub fn struck(self) -> Style {
        Style::new().add_modifier(Modifier::CROSSED_OUT)
    }

    pub fn link(self) -> Style {
        self.coloured(Color::Blue, Modifier::UNDERLINED)
    }

    pub fn added(self) -> Style {
        self.coloured(Color::Green, Modifier::empty())
    }

    pub fn removed(self) -> Style {
        self.coloured(Color::Red, Modifier::empty())
    }

    /// What the keys act on.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The part of the screen that keys act on.
    pub fn focus(self) -> Style {
        self.coloured(Color::Cyan, Modifier::BOLD)
    }

    /// A name of a key in a hint.
    pub fn key(self) -> Style {
        self.coloured(Color::Yellow, Modifier::BOLD)
    }

    fn coloured(self, colour: Color, modifier: Modifier) -> Style {
        let style = Style::new().add_modifier(modifier);
        if self.colours { style.fg(colour) } else { style }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_there_are_none() {
        let theme = Theme::new(false);
        let parts = [Part::Comment, Part::Text, Part::Keyword, Part::Added, Part::Other];
        let mut styles = vec![
            theme.quiet(),
            theme.person(),
            theme.agent("ada"),
            theme.question(),
            theme.warning(),
            theme.code(),
            theme.link(),
            theme.added(),
            theme.hunk(),
            theme.selected(),
        ];
        styles.extend(parts.map(|part| theme.part(part)));
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
        assert_ne!(theme.warning(), theme.plain());
    }

    #[test]
    fn what_is_quiet_is_readable_on_every_background() {
        assert_eq!(Theme::new(true).quiet().fg, None, "dim already; no grey besides");
    }

    #[test]
    fn an_agent_keeps_its_colour() {
        let theme = Theme::new(true);
        assert_eq!(theme.agent("ada"), theme.agent("ada"));
        let agents = ["ada", "bob", "eve", "kim", "leo"];
        assert!(agents.iter().any(|agent| theme.agent(agent) != theme.agent("ada")));
    }
}
