//! Decides which lines are on the screen, and has them rendered.
//! Called before each frame. Entries that are not seen cost nothing.

use ratatui::text::Line;

use super::laid::Budget;
use super::rendered::{How, Rendered};
use super::{Anchor, Slice, Transcript};
use crate::conversation::Entry;

/// Lines that are kept rendered beyond those on the screen.
const CACHED: usize = 60_000;

/// A line on the screen.
#[derive(Debug)]
pub struct Row<'t> {
    pub line: &'t Line<'static>,
    pub is_selected: bool,
}

impl Transcript {
    /// Decides what is on the screen of a new frame, and renders as much of it as one can bear.
    pub fn arrange(&mut self, width: u16, height: usize) {
        (self.width, self.height) = (width, height);
        self.budget = Budget::of_frame();
        self.settle();
    }

    /// Decides anew what is on the screen, with what is left of the frame's budget: however many keys are pressed before the
    /// next frame, they cost no more than that together.
    pub(super) fn settle(&mut self) {
        self.visible = match self.anchor.clone() {
            Anchor::End => self.up_from_end(),
            Anchor::Top { id, line } => self.down_from(&id, line),
        };
        let entries = self.conversation.entries();
        let seen = self.visible.iter().filter_map(|slice| entries.get(slice.place));
        let seen: Vec<&str> = seen.map(Entry::id).collect();
        let complete = |id: &&str| self.cache.get(*id).is_some_and(Rendered::is_complete);
        self.is_unfinished = !seen.iter().all(complete);
        if self.cache.values().map(Rendered::height).sum::<usize>() > CACHED {
            self.cache.retain(|id, _| seen.contains(&id.as_str()));
        }
    }

    fn up_from_end(&mut self) -> Vec<Slice> {
        let mut left = self.height;
        let mut slices = Vec::new();
        for place in (0..self.conversation.entries().len()).rev() {
            if left == 0 {
                break;
            }
            let height = self.height_of(place);
            let rows = height.min(left);
            slices.push(Slice { place, from: height - rows, rows });
            left -= rows;
        }
        slices.reverse();
        slices
    }

    fn down_from(&mut self, id: &str, line: usize) -> Vec<Slice> {
        let found = self.conversation.entries().iter().position(|entry| entry.id() == id);
        let Some(start) = found else {
            self.anchor = Anchor::End;
            return self.up_from_end();
        };
        let mut left = self.height;
        let mut slices = Vec::new();
        let mut from = line;
        let mut is_whole = true;
        for place in start..self.conversation.entries().len() {
            if left == 0 {
                break;
            }
            let height = self.height_of(place);
            let rows = height.saturating_sub(from).min(left);
            slices.push(Slice { place, from: from.min(height), rows });
            left -= rows;
            from = 0;
            is_whole = self.is_rendered(place);
        }
        // There is room below the end: the end is where they want to be.
        if left > 0 && is_whole {
            self.anchor = Anchor::End;
            return self.up_from_end();
        }
        slices
    }

    fn is_rendered(&self, place: usize) -> bool {
        let entry = self.conversation.entries().get(place);
        let rendered = entry.and_then(|entry| self.cache.get(entry.id()));
        rendered.is_some_and(Rendered::is_complete)
    }

    /// Lines of an entry, as far as it is rendered.
    pub(super) fn height_of(&mut self, place: usize) -> usize {
        let entries = self.conversation.entries();
        let Some(entry) = entries.get(place) else {
            return 0;
        };
        let before = place.checked_sub(1).and_then(|before| entries.get(before));
        let is_call = |entry: &Entry| matches!(entry, Entry::Call(_));
        let how = How {
            width: self.width,
            theme: self.theme,
            unfolded: self.unfolded.contains(entry.id()),
            apart: before.is_some_and(|before| !(is_call(before) && is_call(entry))),
        };
        if !self.cache.contains_key(entry.id()) {
            self.cache.insert(entry.id().to_owned(), Rendered::new(how));
        }
        match self.cache.get_mut(entry.id()) {
            Some(rendered) => {
                rendered.update(entry, how, &mut self.budget);
                rendered.height()
            }
            None => 0,
        }
    }

    /// The rows of the screen, from its top.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let entries = self.conversation.entries();
        self.visible.iter().flat_map(move |slice| {
            let entry = entries.get(slice.place);
            let is_selected = entry.map(Entry::id) == self.selected.as_deref() && entry.is_some();
            let rendered = entry.and_then(|entry| self.cache.get(entry.id()));
            let lines = rendered.map(|rendered| rendered.lines(slice.from).take(slice.rows));
            let numbered = lines.into_iter().flatten().zip(slice.from..);
            // The empty line before it is nobody's.
            numbered.map(move |(line, number)| Row {
                line,
                is_selected: is_selected && !(number == 0 && line.spans.is_empty()),
            })
        })
    }
}
