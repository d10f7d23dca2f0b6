//! Says what would be decided about a call that nobody made, and which rules had a say.
//! Called by `policy test`. Makes no call and records nothing.

use agent_world_client::Error;
use agent_world_core::command_line;
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{document, in_force};
use crate::connect::Connection;
use crate::exit::Usage;
use crate::policy::TestPolicy;
use crate::screen::{Screen, Tone};
use crate::{place, tool, words};

/// What came of it, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Trial {
    world_id: String,
    agent_id: String,
    tool: String,
    arguments: Value,
    offered: bool,
    verdict: String,
    explanation: String,
}

pub async fn run(connection: &Connection, wanted: TestPolicy) -> Result<()> {
    if wanted.tool.is_none() && wanted.command.is_empty() {
        let text = "nothing to try: write a command behind `--`, as in `agent-world policy test -- git status`, \
                    or a call with --tool NAME --arguments JSON";
        return Err(Usage(text.to_owned()).into());
    }
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let tool = wanted.tool.unwrap_or_else(|| command_line::TOOL.to_owned());
    let arguments = wanted.arguments.unwrap_or_else(|| shell_call(&wanted.command));
    let mut body = json!({ "tool": tool, "arguments": arguments });
    if let (Some(name), Some(fields)) = (&wanted.agent, body.as_object_mut()) {
        let agent = place::known_agent(&world, name)?;
        fields.insert("agent".to_owned(), json!(agent.id));
    }
    if let (Some(path), Some(fields)) = (&wanted.policy, body.as_object_mut()) {
        let (_, policy) = in_force(&world)?;
        fields.insert("policy".to_owned(), document::read(path, &policy)?.value);
    }
    let path = place::path(&world.id).then("policy").then("test");
    let tried: Result<Value, Error> = connection.client.post(path, &body).await;
    let tried = tried.map_err(|error| match error.code() {
        Some("unknown_tool") => tool::unknown(&world.id, &tool),
        _ => error.into(),
    })?;
    let mut screen = Screen::stdout();
    match wanted.json {
        true => Ok(screen.json(&tried)?),
        false => tell(&mut screen, &serde_json::from_value(tried)?),
    }
}

fn tell(screen: &mut Screen, trial: &Trial) -> Result<()> {
    let call = words::call(&trial.tool, &trial.arguments);
    let text = format!("{} in world {}: {call}", trial.agent_id, trial.world_id);
    screen.line(Tone::Quiet, &text)?;
    let tone = match trial.verdict.as_str() {
        "allow" => Tone::Name,
        "ask" => Tone::Question,
        _ => Tone::Warning,
    };
    let mut lines = trial.explanation.lines();
    screen.line(tone, lines.next().unwrap_or_default())?;
    for line in lines {
        screen.line(Tone::Plain, line)?;
    }
    if !trial.offered {
        let text = format!("but {} is not offered {}", trial.agent_id, trial.tool);
        screen.line(Tone::Warning, &text)?;
    }
    Ok(())
}

/// What is typed behind `--`: a program with its parameters, or all of a script.
fn shell_call(words: &[String]) -> Value {
    match words {
        [script] if script.contains(char::is_whitespace) => json!({ "script": script }),
        [program, parameters @ ..] => json!({ "command": program, "parameters": parameters }),
        [] => json!({}),
    }
}
