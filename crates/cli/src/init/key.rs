//! Decides where a vendor's key comes from, and how that is written in the settings.
//! Part of `init`. Holds a key only between its being typed and its being tried or stored.

use std::fmt;
use std::io::{self, IsTerminal as _};

use agent_world_llm::settings::Settings;
use agent_world_llm::vendors::{self, Origin};
use anyhow::{Context as _, Result};
use serde_json::json;

use super::{Init, ask};
use crate::exit::Usage;
use crate::screen::Screen;

/// Where a key comes from.
pub enum Key {
    NotNeeded,
    Variable(String),
    Command(Vec<String>),
    /// It shall stand in the settings.
    Stored(String),
    /// It is tried, and its owner puts it into this variable.
    Unstored {
        key: String,
        variable: String,
    },
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told())
    }
}

/// What is said by flags, what is in the environment, or what a person answers.
pub async fn choose(
    screen: &mut Screen,
    wanted: &Init,
    vendor: &str,
    at_terminal: bool,
) -> Result<Key> {
    if let Some(name) = &wanted.key_env {
        return variable(name, wanted.no_test);
    }
    if let Some(command) = &wanted.key_command {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        return match words.is_empty() {
            true => Err(Usage("--key-command names no program".to_owned()).into()),
            false => Ok(Key::Command(words)),
        };
    }
    if wanted.store_key {
        return typed(screen, vendor).await.map(Key::Stored);
    }
    let found = vendors::keys(&Settings::default(), &|name| std::env::var(name).ok());
    let found = found.into_iter().find(|(name, _)| name == vendor).map(|(_, origin)| origin);
    match found {
        Some(Origin::NotNeeded) => Ok(Key::NotNeeded),
        Some(Origin::Variable(name)) => Ok(Key::Variable(name)),
        _ if at_terminal => asked(screen, vendor).await,
        _ => {
            let usual = usual_variable(vendor);
            let text = format!(
                "{vendor} needs a key: put it into {usual}, or say where it is with --key-env NAME, \
                 --key-command COMMAND or --store-key"
            );
            Err(Usage(text).into())
        }
    }
}

fn variable(name: &str, untried: bool) -> Result<Key> {
    let is_name = |name: &str| {
        name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    if name.is_empty() || !is_name(name) {
        // It may be the key itself, and is not repeated.
        let text = "--key-env takes the name of an environment variable, such as OPENAI_API_KEY";
        return Err(Usage(text.to_owned()).into());
    }
    let is_set = std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    match is_set || untried {
        true => Ok(Key::Variable(name.to_owned())),
        false => {
            let text = format!("{name} is not set; set it first, or add --no-test");
            Err(Usage(text).into())
        }
    }
}

async fn asked(screen: &mut Screen, vendor: &str) -> Result<Key> {
    let usual = usual_variable(vendor);
    let choices = [
        format!("I type it now, and put it into {usual} myself later"),
        "a program prints it, such as a password manager".to_owned(),
        "I type it now, and it is kept in agent-world.toml, which only I can read".to_owned(),
    ];
    match ask::choice(screen, &format!("Where is the key of {vendor}?"), &choices).await? {
        0 => Ok(Key::Unstored { key: typed(screen, vendor).await?, variable: usual }),
        1 => {
            let command = ask::line(screen, "program and parameters> ").await?;
            Ok(Key::Command(command.split_whitespace().map(str::to_owned).collect()))
        }
        _ => typed(screen, vendor).await.map(Key::Stored),
    }
}

/// From the terminal, or the first line of what is piped in.
async fn typed(screen: &mut Screen, vendor: &str) -> Result<String> {
    let key = match io::stdin().is_terminal() {
        true => ask::hidden(screen, &format!("key of {vendor} (it is not shown)> ")).await?,
        false => {
            let mut line = String::new();
            io::stdin().read_line(&mut line).context("stdin cannot be read")?;
            line.trim().to_owned()
        }
    };
    match key.is_empty() || key.contains(|one: char| one.is_control() || one.is_whitespace()) {
        true => Err(Usage("that is no key: it is empty or has spaces in it".to_owned()).into()),
        false => Ok(key),
    }
}

fn usual_variable(vendor: &str) -> String {
    match vendor {
        "google" => "GEMINI_API_KEY".to_owned(),
        "azure" => "AZURE_OPENAI_API_KEY".to_owned(),
        vendor => format!("{}_API_KEY", vendor.to_uppercase()),
    }
}

impl Key {
    /// The vendor's part of the settings file.
    pub fn section(&self, vendor: &str) -> Result<String> {
        // Texts and lists of texts are written alike in JSON and TOML.
        let key = match self {
            Self::NotNeeded => return Ok(format!("[vendors.{vendor}]\n")),
            Self::Variable(name) | Self::Unstored { variable: name, .. } => {
                format!("{{ env = {} }}", json!(name))
            }
            Self::Command(words) => format!("{{ command = {} }}", json!(words)),
            Self::Stored(key) => json!(key).to_string(),
        };
        Ok(format!("[vendors.{vendor}]\nkey = {key}\n"))
    }

    /// The same as it is tried: one that its owner puts into a variable later is not there yet.
    pub fn tried(&self, vendor: &str, section: &str) -> Result<String> {
        match self {
            Self::Unstored { key, .. } => Self::Stored(key.clone()).section(vendor),
            _ => Ok(section.to_owned()),
        }
    }

    /// The variable that is still empty.
    pub fn to_be_exported(&self) -> Option<&str> {
        match self {
            Self::Unstored { variable, .. } => Some(variable),
            _ => None,
        }
    }

    /// In words, without the key.
    pub fn told(&self) -> String {
        match self {
            Self::NotNeeded => "no key is needed".to_owned(),
            Self::Variable(name) | Self::Unstored { variable: name, .. } => {
                format!("the key comes from {name}")
            }
            Self::Command(words) => {
                format!(
                    "the key comes from the program {}",
                    words.first().map_or("", String::as_str)
                )
            }
            Self::Stored(_) => "it holds the key, and only you can read it".to_owned(),
        }
    }
}
