//! Runs steps one after the other, and remembers how each ended and how long it took.
//! Called by `suite`; printed by `main`. Never goes on after a failure.

use std::fmt;
use std::time::{Duration, Instant};

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// The step could not be run here, and why.
    NotRun(&'static str),
}

/// A step failed; the report says which and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed;

#[derive(Debug, Default)]
pub struct Report {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    result: Result<Outcome, String>,
    duration: Duration,
}

impl Report {
    pub fn step(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<Outcome, String>,
    ) -> Result<(), Failed> {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let step = Step { name: name.to_owned(), result, duration: start.elapsed() };
        println!("{step}");
        let end = if step.result.is_ok() { Ok(()) } else { Err(Failed) };
        self.steps.push(step);
        end
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "== summary")?;
        for step in &self.steps {
            writeln!(out, "{step}")?;
        }
        let total: Duration = self.steps.iter().map(|step| step.duration).sum();
        let verdict = match self.steps.last() {
            Some(Step { result: Err(_), .. }) => "failed; later steps were not run",
            _ => "passed",
        };
        write!(out, "{verdict} ({:.1} s)", total.as_secs_f64())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, detail) = match &self.result {
            Ok(Outcome::Passed) => ("ok     ", String::new()),
            Ok(Outcome::NotRun(reason)) => ("not run", format!(": {reason}")),
            Err(problem) => ("FAILED ", format!(": {problem}")),
        };
        write!(out, "{mark} {:6.1} s  {}{detail}", self.duration.as_secs_f64(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The summary without durations, which differ from run to run.
    fn summary(mut report: Report) -> String {
        for step in &mut report.steps {
            step.duration = Duration::from_millis(1500);
        }
        report.to_string()
    }

    #[test]
    fn a_summary_tells_what_was_not_run() {
        let mut report = Report::default();
        assert_eq!(report.step("tests", || Ok(Outcome::Passed)), Ok(()));
        assert_eq!(report.step("policy", || Ok(Outcome::NotRun("no tool"))), Ok(()));
        assert_eq!(
            summary(report),
            "== summary\n\
             ok         1.5 s  tests\n\
             not run    1.5 s  policy: no tool\n\
             passed (3.0 s)",
        );
    }

    #[test]
    fn a_failure_ends_the_suite_and_is_named() {
        fn suite(report: &mut Report) -> Result<(), Failed> {
            report.step("lints", || Err("2 warnings".to_owned()))?;
            report.step("tests", || Ok(Outcome::Passed))
        }
        let mut report = Report::default();
        assert_eq!(suite(&mut report), Err(Failed));
        assert_eq!(
            summary(report),
            "== summary\n\
             FAILED     1.5 s  lints: 2 warnings\n\
             failed; later steps were not run (1.5 s)",
        );
    }
}
