//! Says what would be decided about a call that nobody made, and which rules had a say.
//! Called by `policy test`. Makes no call and records nothing.

use std::borrow::Cow;
use std::sync::Arc;

use agent_world_core::command_line;
use agent_world_core::config::{Tools, World};
use agent_world_core::display::{mask_secrets, mask_text};
use agent_world_core::ids::AgentId;
use agent_world_core::policy::{Explanation, Grant, Policy, Question, Ruling, explain};
use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::document;
use crate::args::TestPolicy;
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::{place, tool, words};

/// A call as it is tried.
#[derive(Debug)]
struct Trial {
    world: Arc<World>,
    agent: AgentId,
    tool: String,
    arguments: Value,
}

pub async fn run(session: &Session, wanted: TestPolicy) -> Result<()> {
    let world = place::world(session, wanted.world.as_deref()).await?;
    let policy: Cow<'_, Policy> = match &wanted.policy {
        Some(path) => Cow::Owned(document::read(path, &world.policy)?),
        None => Cow::Borrowed(&world.policy),
    };
    let tools = tool::all_of(session, &world).await;
    let trial = Trial {
        agent: caller(&world, wanted.agent.as_deref())?,
        tool: wanted.tool.unwrap_or_else(|| command_line::TOOL.to_owned()),
        arguments: wanted.arguments.unwrap_or_else(|| shell_call(&wanted.command)),
        world: Arc::clone(&world),
    };
    let trial = trial.canonical(&tools)?;
    let spec = tool::known(&world, &tools, &trial.tool)?;
    let question = Question {
        agent: &trial.agent,
        tool: &trial.tool,
        arguments: &trial.arguments,
        directory: world.working_directory.as_deref(),
    };
    let explanation = explain(&policy, std::iter::empty::<&Grant>(), &spec, question);
    let mut screen = Screen::stdout();
    match wanted.json {
        true => Ok(screen.json(&trial.json(&explanation))?),
        false => trial.tell(&mut screen, &explanation),
    }
}

impl Trial {
    /// As the call would be stored, judged and run. What its tool does not take never comes before a policy.
    fn canonical(self, tools: &Tools) -> Result<Self> {
        tool::known(&self.world, tools, &self.tool)?;
        let refused = |why: String| {
            anyhow!("{} would refuse these arguments before any rule is asked: {why}", self.tool)
        };
        let arguments = match tools.schema(&self.tool) {
            Some(schema) => schema.validate(self.arguments.clone()).map_err(refused)?,
            None => self.arguments.clone(),
        };
        Ok(Self { arguments, ..self })
    }

    fn is_offered(&self) -> bool {
        self.world.agent(&self.agent).is_some_and(|agent| agent.may_see(&self.tool))
    }

    fn tell(&self, screen: &mut Screen, explanation: &Explanation) -> Result<()> {
        let call = words::call(&self.tool, &self.arguments);
        let text = format!("{} in world {}: {call}", self.agent, self.world.id);
        screen.line(Tone::Quiet, &text)?;
        let tone = match explanation.verdict.ruling {
            Ruling::Allow => Tone::Name,
            Ruling::Ask => Tone::Question,
            Ruling::Deny => Tone::Warning,
        };
        let told = explanation.to_string();
        let mut lines = told.lines();
        screen.line(tone, lines.next().unwrap_or_default())?;
        for line in lines {
            screen.line(Tone::Plain, line)?;
        }
        if !self.is_offered() {
            let text = format!("but {} is not offered {}", self.agent, self.tool);
            screen.line(Tone::Warning, &text)?;
        }
        Ok(())
    }

    fn json(&self, explanation: &Explanation) -> Value {
        let commands: Vec<Value> = explanation
            .commands
            .iter()
            .map(|judged| {
                let matched: Vec<Value> = judged
                    .matched
                    .iter()
                    .map(|one| {
                        json!({
                            "rule": one.rule, "ruling": one.ruling, "granted": one.granted,
                            "description": one.description.as_deref().map(mask_text),
                        })
                    })
                    .collect();
                let command = judged.command.as_ref().map(|command| {
                    mask_secrets(&json!({
                        "command": command.program, "parameters": command.parameters,
                    }))
                });
                json!({
                    "command": command,
                    "verdict": judged.verdict.ruling,
                    "ground": judged.verdict.ground,
                    "matched": matched,
                })
            })
            .collect();
        let gaps: Vec<String> = explanation.gaps.iter().map(ToString::to_string).collect();
        json!({
            "type": "verdict",
            "world_id": self.world.id,
            "agent_id": self.agent,
            "tool": self.tool,
            "arguments": mask_secrets(&self.arguments),
            "offered": self.is_offered(),
            "verdict": explanation.verdict.ruling,
            "ground": explanation.verdict.ground,
            "commands": commands,
            "not_certain": gaps,
        })
    }
}

fn caller(world: &World, named: Option<&str>) -> Result<AgentId> {
    let usual = || world.main_agent.clone().or_else(|| Some(world.agents.first()?.id.clone()));
    match named {
        Some(name) => place::known_agent(world, name),
        None => usual()
            .ok_or_else(|| anyhow!("world {} has no agents, so nobody can call a tool", world.id)),
    }
}

/// What is typed behind `--`: a program with its parameters, or all of a script.
fn shell_call(words: &[String]) -> Value {
    match words {
        [script] if script.contains(char::is_whitespace) => json!({ "script": script }),
        [program, parameters @ ..] => json!({ "command": program, "parameters": parameters }),
        [] => json!({}),
    }
}
