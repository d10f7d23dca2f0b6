//! Shows how tools and models are used: how often, by whom, how it ended, what people said to it, how long it took, and what
//! it took in tokens.
//! Called by `main`. Only looks.

use std::collections::BTreeMap;

use agent_world_client::{Client, Path};
use agent_world_core::Timestamp;
use anyhow::{Result, anyhow};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::audit::duration;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::words;

#[derive(Debug, Args)]
#[command(after_help = "\
ok are calls that completed, not are those that ended in another way; yes and no are answers to what was asked, and no
answer in time is a no. mean and max are the times that runs took. Below are the calls of models and the tokens they took,
for each agent; cached and thinking are part of what went in and came out. With --json there is one object for each world.

Examples:
  agent-world stats
  agent-world stats -w demo --json")]
pub struct Stats {
    /// Only of this world, which may be deleted
    #[arg(short, long)]
    world: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// How a world was used, as a server tells it.
#[derive(Debug, Deserialize)]
struct OfWorld {
    world_id: String,
    tools: Vec<ToolUse>,
    #[serde(default)]
    usage: Vec<ModelUse>,
}

/// What models took.
#[derive(Debug, Deserialize)]
struct ModelUse {
    /// None for what no agent asked: titles of chats.
    agent_id: Option<String>,
    model_calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    reasoning_tokens: u64,
}

#[derive(Debug, Deserialize)]
struct ToolUse {
    tool: String,
    agent_id: String,
    calls: u64,
    outcomes: BTreeMap<String, u64>,
    approvals: Answers,
    mean_ms: Option<u64>,
    max_ms: Option<u64>,
    last_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct Answers {
    asked: u64,
    approved: u64,
    denied: u64,
    expired: u64,
}

pub async fn run(to: Whereabouts, wanted: Stats) -> Result<Exit> {
    let connection = Connection::open(to, Purpose::Visit).await?;
    let done = show(&connection.client, &wanted).await;
    connection.close().await;
    done
}

async fn show(client: &Client, wanted: &Stats) -> Result<Exit> {
    let path = Path::new("/api/stats").maybe("world", wanted.world.as_deref());
    let all: Vec<Value> = match client.all(path).await {
        Err(error) if error.code() == Some("world_not_found") => {
            let text = "does not exist; `agent-world world list` shows those that do";
            return Err(anyhow!("world {} {text}", wanted.world.as_deref().unwrap_or_default()));
        }
        all => all?,
    };
    let mut screen = Screen::stdout();
    let mut shown = 0;
    for one in all {
        if wanted.json {
            screen.json(&one)?;
            continue;
        }
        let of_world: OfWorld = serde_json::from_value(one)?;
        if !of_world.tools.is_empty() || !of_world.usage.is_empty() {
            screen.line(Tone::Name, &format!("world {}", of_world.world_id))?;
            tools(&mut screen, &of_world.tools)?;
            models(&mut screen, &of_world.usage)?;
            shown += 1;
        }
    }
    if shown == 0 && !wanted.json {
        screen.line(Tone::Quiet, "no model was asked and no tool was called yet")?;
    }
    Ok(Exit::Done)
}

/// What each column is called, in the order of `row`.
const HEAD: [&str; 11] =
    ["tool", "agent", "calls", "ok", "not", "asked", "yes", "no", "mean", "max", "last used"];

fn tools(screen: &mut Screen, tools: &[ToolUse]) -> Result<()> {
    if tools.is_empty() {
        return Ok(screen.line(Tone::Quiet, "no tool was called yet")?);
    }
    let width = screen.columns().unwrap_or(usize::MAX);
    screen.line(Tone::Quiet, &line(&HEAD.map(str::to_owned), width))?;
    for one in tools {
        screen.line(Tone::Plain, &line(&row(one), width))?;
    }
    Ok(())
}

/// What each column of the models' table is called.
const MODELS: [&str; 6] = ["model calls of", "calls", "tokens in", "out", "cached", "thinking"];
/// Who asks for what no agent asks for.
const TITLES: &str = "titles of chats";

fn models(screen: &mut Screen, usage: &[ModelUse]) -> Result<()> {
    if usage.is_empty() {
        return Ok(());
    }
    screen.line(Tone::Quiet, &model_line(&MODELS.map(str::to_owned)))?;
    for one in usage {
        let numbers = [
            one.model_calls,
            one.input_tokens,
            one.output_tokens,
            one.cached_input_tokens,
            one.reasoning_tokens,
        ];
        let [calls, input, output, cached, thinking] = numbers.map(|number| number.to_string());
        let agent = one.agent_id.clone().unwrap_or_else(|| TITLES.to_owned());
        let row = [agent, calls, input, output, cached, thinking];
        screen.line(Tone::Plain, &model_line(&row))?;
    }
    Ok(())
}

/// One line of the models' table, which fits eighty columns.
fn model_line(cells: &[String; 6]) -> String {
    let [agent, calls, input, output, cached, thinking] = cells;
    let agent = words::cut(agent, 15);
    format!("{agent:<16}  {calls:>5}  {input:>10}  {output:>9}  {cached:>9}  {thinking:>9}")
}

fn row(one: &ToolUse) -> [String; 11] {
    let ok = one.outcomes.get("completed").copied().unwrap_or(0);
    let ended: u64 = one.outcomes.values().sum();
    let time = |milliseconds: Option<u64>| milliseconds.map(duration).unwrap_or_default();
    [
        one.tool.clone(),
        one.agent_id.clone(),
        one.calls.to_string(),
        ok.to_string(),
        ended.saturating_sub(ok).to_string(),
        one.approvals.asked.to_string(),
        one.approvals.approved.to_string(),
        // Nobody's answer in time is a no.
        one.approvals.denied.saturating_add(one.approvals.expired).to_string(),
        time(one.mean_ms),
        time(one.max_ms),
        one.last_at.strftime("%Y-%m-%d").to_string(),
    ]
}

/// What a line takes besides the names and the last day.
const NUMBERS: usize = 57;
const LAST: usize = 12;

/// One line of the table, at most 100 characters wide. Where there is less room the last day goes first, then the names are
/// shortened.
fn line(cells: &[String; 11], width: usize) -> String {
    let [tool, agent, calls, ok, not, asked, yes, no, mean, max, last] = cells;
    let whole = NUMBERS + 18 + 10 + LAST;
    let last = if width > whole { format!("  {last:>10}") } else { String::new() };
    let missing = (NUMBERS + 18 + 10).saturating_sub(width.saturating_sub(1));
    let (of_tool, of_agent) = (18 - missing.div_ceil(2).min(10), 10 - (missing / 2).min(5));
    let (tool, agent) = (words::cut(tool, of_tool - 1), words::cut(agent, of_agent - 1));
    format!(
        "{tool:<of_tool$}  {agent:<of_agent$}  {calls:>5}  {ok:>5}  {not:>4}  {asked:>5}  {yes:>4}  {no:>4}  \
         {mean:>6}  {max:>6}{last}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal() {
        let wide = std::array::from_fn(|cell| match cell {
            0 | 1 => "x".repeat(40),
            2 | 3 | 5 => "99999".to_owned(),
            8 | 9 => "999 ms".to_owned(),
            10 => "2026-11-15".to_owned(),
            _ => "9999".to_owned(),
        });
        for width in [usize::MAX, 100, 99, 90, 80, 75] {
            let shown = line(&wide, width);
            let length = shown.chars().count();
            assert!(length <= 100 && length < width, "{length} of {width}: {shown}");
            assert_eq!(line(&HEAD.map(str::to_owned), width).chars().count(), length);
        }
    }
}
