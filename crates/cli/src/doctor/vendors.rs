//! Looks at which vendors can be asked: whether each has a key, and where that comes from.
//! Part of `doctor`. Never shows a key; runs a command for one, and asks a vendor, only for `online`.

use std::sync::Arc;

use agent_world_llm::Models;
use agent_world_llm::demo::Demo;
use agent_world_llm::settings::Settings;
use agent_world_llm::vendors::{self, Origin};
use anyhow::Result;

use super::{Findings, Reader, State};
use crate::data::DataFolder;
use crate::{demo_world, settings};

#[derive(Debug)]
pub struct Vendors {
    keys: Vec<(String, Origin)>,
    models: Models,
    /// Why the settings cannot be used. Then only what is known without them is told.
    problem: Option<String>,
}

impl Vendors {
    pub fn read(data: &DataFolder) -> Self {
        let demo = || Models::default().with("demo", Arc::new(Demo));
        match Self::from_settings(settings::read(data).map(|read| read.models)) {
            Ok((keys, models)) => Self { keys, models: demo().and(models), problem: None },
            Err(error) => {
                let problem = Some(format!("{error:#}"));
                let without = Self::from_settings(Ok(Settings::default()));
                let (keys, models) = without.unwrap_or_default();
                Self { keys, models: demo().and(models), problem }
            }
        }
    }

    fn from_settings(read: Result<Settings>) -> Result<(Vec<(String, Origin)>, Models)> {
        let settings = read?;
        let variables = |name: &str| std::env::var(name).ok();
        let models = vendors::models(&settings, &variables)?;
        Ok((vendors::keys(&settings, &variables), models))
    }

    pub(super) fn look(&self) -> Findings {
        let mut findings = Findings::about("models");
        if let Some(problem) = &self.problem {
            findings.fail(
                problem,
                "until then no command that needs models works; docs/models.md has every setting",
            );
        }
        findings.ok(format!("demo needs nothing: {}", demo_world::MODEL));
        let mut without: Vec<&str> = Vec::new();
        for (name, origin) in &self.keys {
            findings.ok(match origin {
                Origin::Variable(variable) => format!("{name} has a key, from {variable}"),
                Origin::Settings => format!("{name} has a key, from agent-world.toml"),
                Origin::Command(program) => {
                    format!("{name} gets its key from the program {program}")
                }
                Origin::TokenServer => format!("{name} gets its token from a token server"),
                Origin::NotNeeded => format!("{name} needs no key"),
                Origin::Missing(fix) => {
                    without.push(name);
                    findings.add(State::Ok, format!("{name} has no key"), Some(fix.clone()));
                    findings.only_for(Reader::Program);
                    continue;
                }
            });
        }
        if !without.is_empty() {
            let text = "`agent-world init` sets one up, docs/models.md names their variables";
            findings.ok(format!("without a key: {}; {text}", without.join(", ")));
            findings.only_for(Reader::Person);
        }
        findings
    }

    /// Whether the vendor of a model takes the key and lists it; none where its list does not tell.
    pub(super) async fn lists(&self, model: &str) -> Result<Option<bool>> {
        let (vendor, name) = self.models.find(model)?;
        Ok(vendor.lists(name).await?)
    }

    /// Why a model cannot be asked, and what to do.
    pub fn trouble(&self, model: &str) -> Option<(String, String)> {
        if let Err(error) = self.models.find(model) {
            let fix = "set the vendor up in agent-world.toml, or use another model";
            return Some((error.to_string(), fix.to_owned()));
        }
        let vendor = model.split_once('/').map_or(model, |(vendor, _)| vendor);
        let origin = self.keys.iter().find(|(name, _)| name == vendor).map(|(_, origin)| origin);
        match origin {
            Some(Origin::Missing(fix)) => Some((format!("{vendor} has no key"), fix.clone())),
            _ => None,
        }
    }
}
