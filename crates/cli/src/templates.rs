//! The worlds that can be made ready for use: agents with instructions, tools, rules and limits.
//! Used by `world create --template` and `init`. Each is a file of settings as the interface takes them, and no code.

use anyhow::{Context as _, Result, anyhow};
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use crate::screen::{Screen, Tone};

const ALL: [(&str, &str); 4] = [
    ("pair", include_str!("templates/pair.toml")),
    ("debate", include_str!("templates/debate.toml")),
    ("coder", include_str!("templates/coder.toml")),
    ("ops", include_str!("templates/ops.toml")),
];

/// A world to begin with.
#[derive(Clone, Debug)]
pub struct Template {
    pub name: &'static str,
    /// What a world is made with.
    pub settings: Map<String, Value>,
}

/// What can be written behind `--template`.
pub fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.map(|(name, _)| name))
}

impl Template {
    pub fn find(name: &str) -> Result<Self> {
        let found = ALL.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| anyhow!("there is no template {name}"))?;
        let settings = toml::from_str(text)
            .with_context(|| format!("the template {name} cannot be read; this is a bug"))?;
        Ok(Self { name, settings })
    }

    fn text(&self, field: &str) -> &str {
        self.settings.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn agents(&self) -> Vec<&str> {
        let agents = self.settings.get("agents").and_then(Value::as_array).into_iter().flatten();
        agents.filter_map(|agent| agent.get("id").and_then(Value::as_str)).collect()
    }
}

pub fn list(json: bool) -> Result<()> {
    let mut screen = Screen::stdout();
    for (name, _) in ALL {
        let template = Template::find(name)?;
        let (description, agents) = (template.text("description"), template.agents());
        if json {
            let name = template.name;
            screen.json(&json!({ "name": name, "description": description, "agents": agents }))?;
            continue;
        }
        screen.line(Tone::Name, &format!("{name}  {}", agents.join(", ")))?;
        screen.line(Tone::Plain, &format!("  {description}"))?;
    }
    if !json {
        let text = "`agent-world world create ID --template NAME` makes one of them";
        screen.hint(Tone::Quiet, text)?;
    }
    Ok(())
}
