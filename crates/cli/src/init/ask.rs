//! Asks a person at the terminal, a line at a time.
//! Part of `init`. What is typed as a key is not shown, and never printed.

use std::io;

use agent_world_llm::settings::Settings;
use agent_world_llm::vendors::{self, Origin};
use anyhow::{Context as _, Result, anyhow};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::screen::{Screen, Tone};
use crate::world;

/// The vendors that are known by name.
pub fn vendors() -> Vec<String> {
    let keys = vendors::keys(&Settings::default(), &|_| None);
    keys.into_iter().map(|(name, _)| name).collect()
}

pub async fn vendor(screen: &mut Screen) -> Result<String> {
    screen.line(Tone::Name, "Whose models shall your agents use?")?;
    let keys = vendors::keys(&Settings::default(), &|name| std::env::var(name).ok());
    for (number, (name, origin)) in (1..).zip(&keys) {
        let what = match origin {
            Origin::Variable(variable) => format!("  ({variable} is set)"),
            Origin::NotNeeded => "  (on your own machine, needs no key)".to_owned(),
            _ => String::new(),
        };
        screen.line(Tone::Plain, &format!("{number:>4}  {name}{what}"))?;
    }
    loop {
        let answer = line(screen, "number or name> ").await?;
        let by_number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = by_number.and_then(|place| keys.get(place));
        let by_name = || keys.iter().find(|(name, _)| *name == answer);
        match by_number.or_else(by_name) {
            Some((name, _)) => return Ok(name.clone()),
            None => screen.line(Tone::Warning, "that is none of them")?,
        }
    }
}

/// One of several, by its number.
pub async fn choice(screen: &mut Screen, question: &str, choices: &[String]) -> Result<usize> {
    screen.line(Tone::Name, question)?;
    for (number, choice) in (1..).zip(choices) {
        screen.line(Tone::Plain, &format!("{number:>4}  {choice}"))?;
    }
    loop {
        let answer = line(screen, "number, or Enter for 1> ").await?;
        match answer.as_str() {
            "" => return Ok(0),
            answer => match answer.parse::<usize>() {
                Ok(number) if (1..=choices.len()).contains(&number) => return Ok(number - 1),
                _ => screen.line(Tone::Warning, "that is none of them")?,
            },
        }
    }
}

pub async fn model(screen: &mut Screen, vendor: &str, usual: Option<String>) -> Result<String> {
    loop {
        let question = match &usual {
            Some(usual) => format!("model, or Enter for {usual}> "),
            None => format!("model, such as {vendor}/NAME> "),
        };
        let answer = line(screen, &question).await?;
        let named = match (answer.as_str(), &usual) {
            ("", Some(usual)) => usual.clone(),
            (answer, _) if answer.starts_with(&format!("{vendor}/")) => answer.to_owned(),
            (answer, _) => format!("{vendor}/{answer}"),
        };
        match world::model(&named) {
            Ok(model) => return Ok(model),
            Err(problem) => screen.line(Tone::Warning, &problem)?,
        }
    }
}

/// A line that is typed.
pub async fn line(screen: &mut Screen, question: &str) -> Result<String> {
    screen.prompt(Tone::Question, question)?;
    let answer = read().await?;
    screen.line_was_entered();
    Ok(answer)
}

/// A line that is typed and not shown.
pub async fn hidden(screen: &mut Screen, question: &str) -> Result<String> {
    let hiding = Hiding::begin()?;
    screen.prompt(Tone::Question, question)?;
    let answer = read().await;
    drop(hiding);
    // The end of the line was not shown, either.
    screen.end_line()?;
    answer
}

/// On a thread of its own: whoever waits for it may be dropped, as on Ctrl-C, and with it what hides a key.
async fn read() -> Result<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map(|length| (length, answer))
    });
    match read.await?.context("the terminal cannot be read")? {
        (0, _) => Err(anyhow!("nothing was set up: the input ended")),
        (_, answer) => Ok(answer.trim().to_owned()),
    }
}

/// The terminal does not show what is typed, until it is dropped.
struct Hiding {
    before: Termios,
}

impl Hiding {
    fn begin() -> Result<Self> {
        let before = tcgetattr(io::stdin()).context("the terminal cannot be asked")?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)
            .context("the terminal cannot be made to hide a key")?;
        Ok(Self { before })
    }
}

impl Drop for Hiding {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
            tracing::warn!(%error, "the terminal goes on hiding what is typed");
        }
    }
}
