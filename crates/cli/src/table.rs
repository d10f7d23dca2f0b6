//! Lays out lists as tables with a heading: as wide as they are, and on a terminal no wider than that.
//! Used by commands that list. One column gives way where there is little room; nothing is left out elsewhere.

use std::io;

use crate::screen::{Screen, Tone};
use crate::words;

/// Characters of the column that gives way which are shown however narrow the terminal is.
const SHORTEST: usize = 8;
const GAP: usize = 2;

pub struct Table<const N: usize> {
    heading: [&'static str; N],
    /// The column that gives way.
    gives_way: usize,
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub fn new(heading: [&'static str; N], gives_way: usize) -> Self {
        Self { heading, gives_way, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| words::unbroken(&cell)));
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn show(&self, screen: &mut Screen) -> io::Result<()> {
        let widths = self.widths(screen.columns());
        screen.row(Tone::Quiet, &line(&self.heading.map(str::to_owned), &widths))?;
        self.rows.iter().try_for_each(|row| screen.row(Tone::Plain, &line(row, &widths)))
    }

    fn widths(&self, columns: Option<usize>) -> Vec<usize> {
        let longest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let heading = self.heading.get(column).map_or(0, |text| text.chars().count());
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(heading)
        };
        let mut widths: Vec<usize> = (0..N).map(longest).collect();
        let taken: usize = widths.iter().sum::<usize>() + GAP * N.saturating_sub(1);
        if let (Some(columns), Some(width)) = (columns, widths.get_mut(self.gives_way)) {
            // One less than there is: the mark for what is missing and the last column need theirs.
            let over = (taken + 1).saturating_sub(columns);
            *width = width.saturating_sub(over).max(SHORTEST.min(*width));
        }
        widths
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = match cell.chars().count() > *width {
            true => words::cut(cell, width.saturating_sub(1)),
            false => cell.clone(),
        };
        text.push_str(&format!("{cell:<width$}{:GAP$}", ""));
    }
    text.trim_end().to_owned()
}
