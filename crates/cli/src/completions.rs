//! Prints what a shell needs to complete our commands.
//! Called by `main`. Reads nothing but the command line's own description.

use std::io;

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::args::Arguments;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world completions bash > ~/.bash_completion
  agent-world completions zsh > ~/.zfunc/_agent-world
  agent-world completions fish > ~/.config/fish/completions/agent-world.fish")]
pub struct Completions {
    pub shell: Shell,
}

pub fn run(wanted: &Completions) -> Result<Exit> {
    let mut written = Vec::new();
    generate(wanted.shell, &mut Arguments::command(), "agent-world", &mut written);
    io::Write::write_all(&mut io::stdout(), &written)?;
    Ok(Exit::Done)
}
