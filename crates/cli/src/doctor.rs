//! Says what is set up, what is missing and how to fix it.
//! Called by `main`. Looks at this machine only: asks nobody but a server of ours that runs on it and, where that is wanted, vendors;
//! starts none, shows no key, and mends nothing by itself.

mod online;
mod server;
mod storage;
mod system;
pub mod vendors;
mod worlds;

use agent_world_core::display::mask_text;
use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::words;
use vendors::Vendors;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// It works, with less than there could be.
    Warning,
    /// Something that is set up cannot work.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
struct Finding {
    area: &'static str,
    state: State,
    says: String,
    /// What to do about it.
    fix: Option<String>,
    reader: Reader,
}

/// Whom a finding is for: people are told of many alike in one line, and programs of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Anybody,
    Person,
    Program,
}

/// Everything that was found about one area.
#[derive(Debug)]
struct Findings {
    area: &'static str,
    all: Vec<Finding>,
}

impl Findings {
    fn about(area: &'static str) -> Self {
        Self { area, all: Vec::new() }
    }

    fn ok(&mut self, says: impl Into<String>) {
        self.add(State::Ok, says.into(), None);
    }

    fn warn(&mut self, says: impl Into<String>, fix: impl Into<String>) {
        self.add(State::Warning, says.into(), Some(fix.into()));
    }

    fn fail(&mut self, says: impl Into<String>, fix: impl Into<String>) {
        self.add(State::Problem, says.into(), Some(fix.into()));
    }

    fn add(&mut self, state: State, says: String, fix: Option<String>) {
        self.all.push(Finding { area: self.area, state, says, fix, reader: Reader::Anybody });
    }

    /// As the last one, but not for everybody.
    fn only_for(&mut self, reader: Reader) {
        if let Some(last) = self.all.last_mut() {
            last.reader = reader;
        }
    }
}

pub async fn run(data: DataFolder, wanted: &Doctor) -> Result<Exit> {
    let support = system::detect().await?;
    let vendors = Vendors::read(&data);
    let (storage, known) = storage::look(&data).await;
    let online = match wanted.online {
        true => online::look(&known, &vendors).await,
        false => Findings::about("online"),
    };
    let areas = [
        storage,
        server::look(&data).await,
        system::sandbox(&support),
        system::tools(&data),
        vendors.look(),
        worlds::look(&known, &support, &vendors),
        online,
    ];
    let other = if wanted.json { Reader::Person } else { Reader::Program };
    let all = areas.into_iter().flat_map(|findings| findings.all);
    let all: Vec<Finding> = all.filter(|finding| finding.reader != other).collect();
    let mut screen = Screen::stdout();
    if wanted.json {
        for finding in &all {
            screen.json(&finding.json())?;
        }
    } else {
        for area in all.chunk_by(|one, next| one.area == next.area) {
            tell(&mut screen, area)?;
        }
        screen.line(Tone::Quiet, &summary(&all))?;
    }
    let broken = all.iter().any(|finding| finding.state == State::Problem);
    Ok(if broken { Exit::Failed } else { Exit::Done })
}

fn tell(screen: &mut Screen, area: &[Finding]) -> Result<()> {
    let name = area.first().map_or("", |finding| finding.area);
    screen.line(Tone::Name, name)?;
    for finding in area {
        let tone = match finding.state {
            State::Ok => Tone::Plain,
            State::Warning => Tone::Question,
            State::Problem => Tone::Warning,
        };
        let says = words::unbroken(&mask_text(&finding.says));
        screen.hint(tone, &format!("  {:<8} {says}", finding.state.name()))?;
        if let Some(fix) = &finding.fix {
            let fix = words::unbroken(&mask_text(fix));
            screen.hint(Tone::Quiet, &format!("           {fix}"))?;
        }
    }
    Ok(())
}

fn summary(all: &[Finding]) -> String {
    let number = |state: State| all.iter().filter(|finding| finding.state == state).count();
    match (number(State::Problem), number(State::Warning)) {
        (0, 0) => "everything is in order".to_owned(),
        (0, warnings) => format!("nothing is broken; {}", words::count(warnings, "warning")),
        (problems, warnings) => {
            let (problems, warnings) =
                (words::count(problems, "problem"), words::count(warnings, "warning"));
            format!("{problems}, {warnings}")
        }
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({
            "type": "finding",
            "area": self.area,
            "state": self.state.name(),
            "says": mask_text(&self.says),
            "fix": self.fix.as_deref().map(mask_text),
        })
    }
}
