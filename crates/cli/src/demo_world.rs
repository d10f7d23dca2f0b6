//! Makes the world a newcomer finds: two agents on the built-in demo model, working in a folder of their own.
//! Called by `place` on the first use of a store. Never makes it again once somebody has deleted it.

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::{AgentId, WorldId};
use agent_world_runtime::Error;
use anyhow::Result;

use crate::setup::{Session, who};

pub const ID: &str = "demo";
pub const MODEL: &str = "demo/demo";

const ADA: &str =
    "You are Ada. You help the person in front of you and use your tools when that helps.";
const BOB: &str = "You are Bob. You help Ada and everybody else who asks you.";

/// Makes the demo world in a store that has never held anything. Says whether it did.
pub async fn create_if_first(session: &Session) -> Result<bool> {
    if session.store().position().await? > 0 {
        return Ok(false);
    }
    let id = WorldId::new(ID);
    let workspace = session.data.make_workspace(&id)?;
    let world = World {
        description: "Two agents on the built-in demo model, to try things out".to_owned(),
        main_agent: Some(AgentId::new("ada")),
        working_directory: Some(workspace.display().to_string()),
        default_model: Some(MODEL.to_owned()),
        agents: vec![agent("ada", "Ada", ADA), agent("bob", "Bob", BOB)],
        ..World::new(id, "Demo", Timestamp::now())
    };
    match session.engine.create_world(world, &who()).await {
        // Another process was first at the same moment.
        Err(Error::WorldExists(_)) => Ok(false),
        created => created.map(|_| true).map_err(Into::into),
    }
}

fn agent(id: &str, name: &str, instructions: &str) -> Agent {
    Agent {
        name: name.to_owned(),
        model: Some(MODEL.to_owned()),
        instructions: instructions.to_owned(),
        ..Agent::new(id)
    }
}
