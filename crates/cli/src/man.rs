//! Writes manual pages: one for each command, made of what `--help` says.
//! Called by `main`. Reads nothing but the command line's own description.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _};
use clap_mangen::{Man as Page, generate_to};

use crate::args::{Arguments, flowing};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::words;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world man --out ~/.local/share/man/man1
  agent-world man > agent-world.1")]
pub struct Man {
    /// The folder for the pages, one for each command; without it the first page is printed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

pub fn run(wanted: &Man) -> Result<Exit> {
    let command = flowing(Arguments::command()).disable_help_subcommand(true);
    let Some(folder) = &wanted.out else {
        let mut page = Vec::new();
        Page::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(Exit::Done);
    };
    let unwritable = || format!("{} cannot be written to", folder.display());
    fs::create_dir_all(folder).with_context(unwritable)?;
    generate_to(command, folder).with_context(unwritable)?;
    let pages = words::count(pages(&Arguments::command()), "page");
    let text = format!("wrote {pages} to {}", folder.display());
    Screen::stdout().line(Tone::Plain, &text)?;
    Ok(Exit::Done)
}

/// Each command has one.
fn pages(command: &clap::Command) -> usize {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    1 + shown.map(pages).sum::<usize>()
}
