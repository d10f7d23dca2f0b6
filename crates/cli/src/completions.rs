//! Prints what a shell needs to complete our commands.
//! Called by `main`. Reads nothing but the command line's own description.

use std::io;

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::args::Arguments;
use crate::exit::Exit;

const PROGRAM: &str = "agent-world";
/// What the bash script writes between a command and one of its own commands.
const COMMAND_MARK: &str = "__subcmd__";
/// What it writes for a hyphen in the program's name.
const HYPHEN_MARK: &str = "__";

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
    io::Write::write_all(&mut io::stdout(), script(wanted.shell)?.as_bytes())?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> Result<String> {
    let mut written = Vec::new();
    generate(shell, &mut Arguments::command(), PROGRAM, &mut written);
    let written = String::from_utf8(written)?;
    Ok(match shell {
        // The generator writes the hyphen of the program's name in one way where it notes which command was typed and in
        // another where it looks for it, so that nothing below the first word would be found.
        Shell::Bash => {
            written.replace(&PROGRAM.replace('-', COMMAND_MARK), &PROGRAM.replace('-', HYPHEN_MARK))
        }
        _ => written,
    })
}
