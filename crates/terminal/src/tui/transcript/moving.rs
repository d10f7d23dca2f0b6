//! Moves what is on the screen and what is selected.
//! Called for keys and the mouse. Renders what it passes, and nothing else.

use super::{Anchor, KEPT, SLACK, Transcript};

impl Transcript {
    pub fn go_to_end(&mut self) {
        self.anchor = Anchor::End;
        self.selected = None;
        if self.conversation.entries().len() > KEPT + SLACK {
            self.let_go(KEPT);
        }
    }

    pub fn go_to_start(&mut self) {
        let first = self.conversation.entries().first().map(|entry| entry.id().to_owned());
        if let Some(id) = first {
            self.selected = Some(id.clone());
            self.anchor = Anchor::Top { id, line: 0 };
            self.settle();
        }
    }

    /// Lines of the screen, less two that stay in sight.
    pub fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    /// Moves what is on the screen by lines.
    pub fn scroll(&mut self, lines: isize) {
        let Some(top) = self.visible.first().copied() else {
            return;
        };
        let (mut place, mut line) = (top.place, top.from);
        let mut left = lines.unsigned_abs();
        while left > 0 {
            if lines < 0 {
                let step = left.min(line);
                line -= step;
                left -= step;
                if left == 0 || place == 0 {
                    break;
                }
                place -= 1;
                line = self.height_of(place);
            } else {
                let below = self.height_of(place).saturating_sub(line + 1);
                let step = left.min(below);
                line += step;
                left -= step;
                if left == 0 || place + 1 >= self.conversation.entries().len() {
                    break;
                }
                place += 1;
                line = 0;
                left -= 1;
            }
        }
        self.hold(place, line);
        self.settle();
        self.keep_selection_in_sight();
    }

    pub(super) fn hold(&mut self, place: usize, line: usize) {
        if let Some(entry) = self.conversation.entries().get(place) {
            self.anchor = Anchor::Top { id: entry.id().to_owned(), line };
        }
    }

    /// Goes to the next or the entry before; within an entry that is larger than the screen, line by line.
    pub fn step(&mut self, forward: bool) {
        let Some(place) = self.selected_place() else {
            if !forward {
                let last = self.visible.last().map(|slice| slice.place);
                self.select(last);
            }
            return;
        };
        let slice = self.visible.iter().find(|slice| slice.place == place).copied();
        let height = self.height_of(place);
        match slice {
            Some(slice) if forward && slice.from + slice.rows < height => self.scroll(1),
            Some(slice) if !forward && slice.from > 0 => self.scroll(-1),
            _ if forward && place + 1 >= self.conversation.entries().len() => self.go_to_end(),
            _ => {
                let next = if forward { Some(place + 1) } else { place.checked_sub(1) };
                if let Some(next) = next {
                    self.select(Some(next));
                    self.reveal(next, forward);
                }
            }
        }
    }

    fn select(&mut self, place: Option<usize>) {
        let entry = place.and_then(|place| self.conversation.entries().get(place));
        self.selected = entry.map(|entry| entry.id().to_owned());
    }

    /// Scrolls until an entry is on the screen, as much of it as fits.
    fn reveal(&mut self, place: usize, forward: bool) {
        let wanted = self.height_of(place).min(self.height / 2).max(1);
        let shown = self.visible.iter().find(|slice| slice.place == place);
        let missing = wanted.saturating_sub(shown.map_or(0, |slice| slice.rows));
        let lines = isize::try_from(missing).unwrap_or(0);
        if lines > 0 {
            self.scroll(if forward { lines } else { -lines });
        }
    }

    fn selected_place(&self) -> Option<usize> {
        let id = self.selected.as_deref()?;
        self.conversation.entries().iter().position(|entry| entry.id() == id)
    }

    fn keep_selection_in_sight(&mut self) {
        let Some(place) = self.selected_place() else {
            return;
        };
        let (first, last) = (self.visible.first(), self.visible.last());
        match (first, last) {
            (Some(first), _) if place < first.place => self.select(Some(first.place)),
            (_, Some(last)) if place > last.place => self.select(Some(last.place)),
            _ => {}
        }
    }

    /// Selects what is on a row of the screen.
    pub fn select_row(&mut self, row: usize) {
        let mut below = 0;
        let hit = self.visible.iter().find(|slice| {
            below += slice.rows;
            row < below
        });
        let place = hit.map(|slice| slice.place);
        self.select(place);
    }
}
