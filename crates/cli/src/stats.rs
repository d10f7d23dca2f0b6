//! Shows how tools are used: how often, by whom, how it ended, what people said to it, how long it took.
//! Called by `main`. Only looks.

use agent_world_core::audit::Statistics;
use agent_world_core::ids::WorldId;
use agent_world_store::Store as _;
use anyhow::Result;

use crate::args::Stats;
use crate::audit::{duration, known};
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::open_to_look;
use crate::{wire, words};

pub async fn run(data: DataFolder, wanted: Stats) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    let world = wanted.world.map(WorldId::new);
    if let Some(world) = &world {
        known(&store, world).await?;
    }
    let all = store.statistics(world.as_ref()).await?;
    let mut screen = Screen::stdout();
    if wanted.json {
        for one in &all {
            screen.json(&wire::statistics(one))?;
        }
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        screen.line(Tone::Quiet, "no tool was called yet")?;
    }
    for of_world in all.chunk_by(|one, next| one.world == next.world) {
        table(&mut screen, of_world)?;
    }
    Ok(Exit::Done)
}

/// What each column is called, in the order of `row`.
const HEAD: [&str; 11] =
    ["tool", "agent", "calls", "ok", "not", "asked", "yes", "no", "mean", "max", "last used"];

fn table(screen: &mut Screen, of_world: &[Statistics]) -> Result<()> {
    let world = of_world.first().map(|one| one.world.to_string()).unwrap_or_default();
    screen.line(Tone::Name, &format!("world {world}"))?;
    screen.line(Tone::Quiet, &line(&HEAD.map(str::to_owned)))?;
    for one in of_world {
        screen.line(Tone::Plain, &line(&row(one)))?;
    }
    Ok(())
}

fn row(one: &Statistics) -> [String; 11] {
    let ok = one.outcomes.get("completed").copied().unwrap_or(0);
    let ended: u64 = one.outcomes.values().sum();
    let time = |milliseconds: Option<u64>| milliseconds.map(duration).unwrap_or_default();
    [
        one.tool.clone(),
        one.agent.to_string(),
        one.calls.to_string(),
        ok.to_string(),
        (ended - ok).to_string(),
        one.asked.to_string(),
        one.approved.to_string(),
        // Nobody's answer in time is a no.
        (one.denied + one.expired).to_string(),
        time(one.mean_ms()),
        time((one.runs > 0).then_some(one.longest_ms)),
        one.last.strftime("%Y-%m-%d").to_string(),
    ]
}

/// One line of the table, 98 characters wide.
fn line(cells: &[String; 11]) -> String {
    let [tool, agent, calls, ok, not, asked, yes, no, mean, max, last] = cells;
    let (tool, agent) = (words::cut(tool, 17), words::cut(agent, 9));
    format!(
        "{tool:<18}  {agent:<10}  {calls:>5}  {ok:>5}  {not:>4}  {asked:>5}  {yes:>4}  {no:>4}  \
         {mean:>6}  {max:>6}  {last:>10}"
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
        let shown = line(&wide);
        assert!(shown.chars().count() <= 100, "{} {shown}", shown.chars().count());
        assert_eq!(line(&HEAD.map(str::to_owned)).chars().count(), shown.chars().count());
    }
}
