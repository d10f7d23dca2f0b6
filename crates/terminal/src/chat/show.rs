//! Puts a conversation onto a screen: what goes into the scrollback, and the live part below it.
//! Called by `run` for each frame. Decides nothing; notes when a question can be read.

use std::io::{self, BufWriter, Stdout};
use std::time::Instant;

use anyhow::Result;
use crossterm::execute;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, CrosstermBackend};

use super::draw;
use super::inline::Inline;
use super::state::State;

pub type Screen = Inline<CrosstermBackend<BufWriter<Stdout>>>;

pub fn present(state: &mut State, screen: &mut Screen, now: Instant) -> Result<()> {
    execute!(io::stdout(), BeginSynchronizedUpdate)?;
    let shown = show(state, screen, now);
    execute!(io::stdout(), EndSynchronizedUpdate)?;
    shown?;
    // A terminal may take its time: a question can be read when all of it was written.
    state.was_drawn(Instant::now());
    Ok(())
}

/// Puts a conversation onto a screen as it is now.
///
/// # Errors
/// When the terminal does not answer.
pub fn show<B: Backend>(
    state: &mut State,
    screen: &mut Inline<B>,
    now: Instant,
) -> Result<(), B::Error> {
    let size = screen.size();
    let mut lines = state.take_out();
    state.lay_out(size, now);
    lines.extend(state.take_out());
    let picture = draw::picture(state, size, now);
    let height = picture.height(size.width);
    screen.draw(lines, height, |area, buffer| picture.render(state, area, buffer))
}
