//! Reads a policy that somebody wrote, and says all that is wrong with it.
//! Called by the `policy` commands. What becomes of it is decided by `core`. Never stores anything.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use agent_world_core::display::mask_text;
use agent_world_core::policy::Policy;
use agent_world_core::unambiguous::Unambiguous;
use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use crate::words;

/// No policy of people is longer. What is named may be something without an end.
const LONGEST: u64 = 4 << 20;
/// Problems that are told; a file that is no policy at all may have thousands.
const TOLD: usize = 50;
/// Characters of one problem.
const WIDTH: usize = 400;

/// What somebody wrote, and the policy that becomes of it.
#[derive(Debug)]
pub struct Document {
    /// As it is written.
    pub value: Value,
    /// Its preset and rules, with the granted rules of the policy in force.
    pub policy: Policy,
}

/// Reads a document that shall take the place of the policy in force.
pub fn read(path: &Path, in_force: &Policy) -> Result<Document> {
    let name = match path.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => path.display().to_string(),
    };
    let text = text(path).with_context(|| format!("{name} cannot be read"))?;
    let unreadable = |error: serde_json::Error| {
        let error = words::cut(&words::unbroken(&mask_text(&error.to_string())), WIDTH);
        anyhow!(
            "{name} is refused: {error}; `agent-world policy show --json` prints a policy to start from"
        )
    };
    let Unambiguous(value) = serde_json::from_str(&text).map_err(unreadable)?;
    let policy = in_force.replaced_by(&value).map_err(|problems| refusal(&name, &problems))?;
    Ok(Document { value, policy })
}

fn text(path: &Path) -> io::Result<String> {
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(File::open(path)?),
    };
    let mut text = String::new();
    source.take(LONGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LONGEST {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is too large for a policy")),
        false => Ok(text),
    }
}

fn refusal(name: &str, problems: &[String]) -> anyhow::Error {
    let mut text = format!("{name} is refused; nothing was changed");
    for problem in problems.iter().take(TOLD) {
        // Masked before it is cut: the beginning of a secret is not seen as one.
        let problem = words::cut(&words::unbroken(&mask_text(problem)), WIDTH);
        text.push_str(&format!("\n  {problem}"));
    }
    match problems.len().saturating_sub(TOLD) {
        0 => {}
        left => text.push_str(&format!("\n  … {} more", words::count(left, "problem"))),
    }
    anyhow!(text)
}
