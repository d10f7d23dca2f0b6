//! Asks the vendors of all agents whether they take the key and know the model.
//! Part of `doctor`, where that is wanted. Asks no model anything, and each vendor for its list alone.

use std::collections::BTreeMap;

use agent_world_core::config::World;
use futures::future::join_all;

use super::Findings;
use super::vendors::Vendors;
use crate::demo_world;

pub async fn look(worlds: &[World], vendors: &Vendors) -> Findings {
    let mut findings = Findings::about("online");
    // Each model with the agents that ask it.
    let mut asked: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for world in worlds {
        for agent in &world.agents {
            let model = world.model_of(agent).filter(|model| *model != demo_world::MODEL);
            if let Some(model) = model.filter(|model| vendors.trouble(model).is_none()) {
                let who = (world.id.to_string(), agent.id.to_string());
                asked.entry(model).or_default().push(who);
            }
        }
    }
    if asked.is_empty() {
        findings.ok("no agent asks a vendor that has a key");
    }
    let answers = join_all(asked.keys().map(|model| vendors.lists(model))).await;
    for ((model, agents), answer) in asked.iter().zip(answers) {
        let vendor = model.split_once('/').map_or(*model, |(vendor, _)| vendor);
        match answer {
            Ok(Some(true)) => findings.ok(format!("{vendor} answers and lists {model}")),
            Ok(None) => {
                findings.ok(format!("{vendor} answers; whether it has {model} it does not tell"));
            }
            Ok(Some(false)) => {
                for (world, agent) in agents {
                    let says =
                        format!("{world}: agent {agent} asks {model}, which {vendor} does not list");
                    let fix =
                        format!("agent-world agent update {agent} -w {world} --model {vendor}/NAME");
                    findings.warn(says, fix);
                }
            }
            Err(error) => findings.fail(
                format!("{model} cannot be asked: {error:#}"),
                "check the key and the address; `agent-world init` sets them up, docs/models.md has every setting",
            ),
        }
    }
    findings
}
