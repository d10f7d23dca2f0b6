//! A part at the bottom of the terminal that is drawn again and again, and lines above it that are written once.
//! Used by `run`. What is above belongs to the terminal: it scrolls, and is searched and copied, like the output of any program.
//! The part grows and shrinks with what it shows; the cursor's place is asked for once, by whoever starts it.

use std::collections::VecDeque;

use ratatui::backend::{Backend, ClearType};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Line;
use ratatui::widgets::Widget as _;
use unicode_width::UnicodeWidthStr as _;

use super::hanging::hanging;

/// Lines that are written again when the terminal has another size: what it made of them cannot be known.
const KEPT: usize = 200;

#[derive(Debug)]
pub struct Inline<B: Backend> {
    backend: B,
    size: Size,
    /// The first row of the part.
    top: u16,
    /// What the part shows; none where it must be drawn anew.
    drawn: Option<Buffer>,
    recent: VecDeque<Line<'static>>,
}

impl<B: Backend> Inline<B> {
    /// Begins at a row.
    ///
    /// # Errors
    /// When the terminal does not answer. So do all that follow.
    pub fn new(mut backend: B, top: u16) -> Result<Self, B::Error> {
        let size = backend.size()?;
        backend.hide_cursor()?;
        Ok(Self { backend, size, top, drawn: None, recent: VecDeque::new() })
    }

    pub fn size(&self) -> Size {
        self.size
    }

    pub fn backend(&self) -> &B {
        &self.backend
    }

    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Writes lines above the part, and the part in a height of its own.
    ///
    /// # Errors
    /// As `new`.
    pub fn draw(
        &mut self,
        lines: Vec<Line<'static>>,
        height: u16,
        render: impl FnOnce(Rect, &mut Buffer),
    ) -> Result<(), B::Error> {
        if !lines.is_empty() {
            self.write(&lines)?;
            self.recent.extend(lines);
            let surplus = self.recent.len().saturating_sub(KEPT);
            self.recent.drain(..surplus);
        }
        let height = height.clamp(1, self.size.height.max(1));
        self.make_room(height)?;
        let area = Rect::new(0, self.top, self.size.width, height);
        let mut next = Buffer::empty(area);
        render(area, &mut next);
        let fits = self.drawn.as_ref().is_some_and(|drawn| drawn.area == area);
        if !fits {
            self.clear()?;
            self.drawn = Some(Buffer::empty(area));
        }
        if let Some(drawn) = &self.drawn {
            let changes = drawn.diff(&next);
            self.backend.draw(changes.into_iter())?;
        }
        self.drawn = Some(next);
        self.backend.flush()
    }

    /// The terminal has another size: what is on the screen is written again.
    ///
    /// # Errors
    /// As `new`.
    pub fn resize(&mut self) -> Result<(), B::Error> {
        self.size = self.backend.size()?;
        self.backend.clear()?;
        self.top = 0;
        self.drawn = None;
        let rows = usize::from(self.size.height);
        let skipped = self.recent.len().saturating_sub(rows);
        let lines: Vec<Line<'static>> = self.recent.iter().skip(skipped).cloned().collect();
        self.write(&lines)
    }

    /// Takes the part away; whatever comes next begins where it was.
    ///
    /// # Errors
    /// As `new`.
    pub fn end(&mut self) -> Result<(), B::Error> {
        self.clear()?;
        self.backend.show_cursor()?;
        self.backend.flush()
    }

    fn clear(&mut self) -> Result<(), B::Error> {
        self.drawn = None;
        let last = self.size.height.saturating_sub(1);
        self.backend.set_cursor_position(Position::new(0, self.top.min(last)))?;
        if self.top <= last {
            self.backend.clear_region(ClearType::AfterCursor)?;
        }
        Ok(())
    }

    fn write(&mut self, lines: &[Line<'static>]) -> Result<(), B::Error> {
        self.clear()?;
        let width = self.size.width.max(1);
        for row in lines.iter().flat_map(|line| hanging(line, width)) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
            row.render(buffer.area, &mut buffer);
            self.make_room(1)?;
            let y = self.top;
            self.backend.draw(visible(&buffer.content).map(|(x, cell)| (x, y, cell)))?;
            self.top += 1;
        }
        Ok(())
    }

    /// Scrolls what is above until so many rows are left.
    fn make_room(&mut self, rows: u16) -> Result<(), B::Error> {
        let over = (self.top + rows).saturating_sub(self.size.height);
        if over > 0 {
            if self.drawn.is_some() {
                self.clear()?;
            }
            self.backend
                .set_cursor_position(Position::new(0, self.size.height.saturating_sub(1)))?;
            self.backend.append_lines(over)?;
            self.top = self.top.saturating_sub(over);
        }
        Ok(())
    }
}

/// The cells of a row up to its last visible one: what follows would be copied as spaces.
fn visible(row: &[Cell]) -> impl Iterator<Item = (u16, &Cell)> {
    let end = row.iter().rposition(|cell| *cell != Cell::default()).map_or(0, |last| last + 1);
    let mut next = 0;
    row.iter().take(end).enumerate().filter_map(move |(x, cell)| {
        // What is behind a wide character is covered by it.
        let is_covered = x < next;
        if !is_covered {
            next = x + cell.symbol().width().max(1);
        }
        (!is_covered).then_some((u16::try_from(x).unwrap_or(u16::MAX), cell))
    })
}
