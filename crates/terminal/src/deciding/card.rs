//! What a person must see before deciding: who, what exactly, where, and what cannot be permitted.
//! Used by `deciding`. Leaves nothing out and cuts nothing; what others wrote stands behind a mark that no text can imitate.

use std::collections::BTreeMap;

use agent_world_client::wire::{Approval, Reach};
use agent_world_core::command_line::TOOL;
use agent_world_core::display::{reveal_line, reveal_once};
use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::Value;

use super::command::Run;
use super::{edit, risks, rules};
use crate::markdown::{Break, Spans, changes, highlighted, wrap};
use crate::theme::Theme;

pub fn lines(
    approval: &Approval,
    elsewhere: Option<&str>,
    number: usize,
    total: usize,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut card = Card { width, theme, lines: Vec::new() };
    card.heading(approval, number, total);
    if let Some(place) = elsewhere {
        card.say(&format!("of another chat: {}", reveal_line(place)), theme.question());
    }
    match &approval.form {
        Some(form) => card.form(approval, form),
        None => card.call(approval),
    }
    card.lines
}

/// What warns of a request, in so few lines that there is always room for them.
pub fn risks(approval: &Approval, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut card = Card { width, theme, lines: Vec::new() };
    if approval.form.is_none() {
        card.risks(approval);
    }
    card.lines
}

/// A call of the shell as it would run, with what warns of it.
pub fn command(arguments: &Value, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut card = Card { width, theme, lines: Vec::new() };
    let shown = format!("{arguments:#}");
    match Run::read(&shown) {
        Some(run) => {
            card.destroys(&run);
            card.command(&run);
        }
        None => card.quote(highlighted(&reveal_once(&shown), "json", theme)),
    }
    card.lines
}

struct Card {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
}

impl Card {
    fn heading(&mut self, approval: &Approval, number: usize, total: usize) {
        let theme = self.theme;
        let dot = || (" · ".to_owned(), theme.quiet());
        let heading: Spans = vec![
            (format!("? {number} of {total} waiting"), theme.question()),
            dot(),
            (reveal_line(&approval.agent_id).into_owned(), theme.agent(&approval.agent_id)),
            dot(),
            (reveal_line(&approval.tool).into_owned(), theme.strong()),
            dot(),
            (reveal_line(&approval.id).into_owned(), theme.quiet()),
        ];
        let rest = vec![("  ".to_owned(), theme.plain())];
        self.lines.extend(wrap(&heading, self.width, &Spans::new(), &rest, Break::Words));
    }

    fn call(&mut self, approval: &Approval) {
        let theme = self.theme;
        let asks = format!("{} asks: {}", approval.agent_id, approval.message);
        self.say(&reveal_once(&asks), theme.plain());
        if let Some(voided) = &approval.voided {
            self.voided(voided);
        }
        // What tells how dangerous it is comes before what may be long.
        if let Some(run) = run(approval) {
            self.destroys(&run);
        }
        if let Some(directory) = &approval.working_directory {
            self.say(&format!("in {}", reveal_line(directory)), theme.plain());
        }
        if let Some(facts) = approval.binding.as_ref().map(|binding| &binding.facts) {
            self.facts(facts, approval.working_directory.as_deref());
        }
        self.arguments(approval);
        if let Some(preview) = &approval.preview {
            self.quote(changes(&reveal_once(preview), theme));
        }
        if let Some(at) = &approval.expires_at {
            self.say(&format!("until {}", reveal_line(at)), theme.plain());
        }
        self.permissions(approval);
    }

    /// The arguments, all of them.
    fn arguments(&mut self, approval: &Approval) {
        match run(approval) {
            Some(run) => self.command(&run),
            None => {
                let shown = edit::beside_diff(approval).unwrap_or_else(|| approval.shown.clone());
                self.quote(highlighted(&reveal_once(&shown), "json", self.theme));
            }
        }
    }

    fn command(&mut self, run: &Run) {
        let theme = self.theme;
        for (place, line) in highlighted(&run.text, "bash", theme).into_iter().enumerate() {
            let first = vec![(if place == 0 { "  $ " } else { "  │ " }.to_owned(), theme.quiet())];
            let rest = vec![("  │ ".to_owned(), theme.quiet())];
            self.lines.extend(wrap(&line, self.width, &first, &rest, Break::Anywhere));
        }
        for (name, value) in &run.more {
            self.fact(name, value, theme.plain());
        }
    }

    fn destroys(&mut self, run: &Run) {
        if let Some(risk) = risks::of_run(run) {
            self.say(&risk, self.theme.warning());
        }
    }

    fn risks(&mut self, approval: &Approval) {
        if let Some(run) = run(approval) {
            self.destroys(&run);
        }
        let sandbox = approval.binding.as_ref().and_then(|binding| binding.facts.get("sandbox"));
        if let Some(risk) = sandbox.and_then(|sandbox| risks::of_sandbox(sandbox)) {
            self.say(risk, self.theme.warning());
        }
    }

    fn facts(&mut self, facts: &BTreeMap<String, String>, directory: Option<&str>) {
        for (name, value) in facts {
            let is_told = name == "directory" && directory == Some(value);
            if is_told {
                continue;
            }
            let risk = (name == "sandbox").then(|| risks::of_sandbox(value)).flatten();
            let style = if risk.is_some() { self.theme.warning() } else { self.theme.quiet() };
            self.fact(&reveal_line(name), &reveal_line(value), style);
            if let Some(risk) = risk {
                self.say(risk, self.theme.warning());
            }
        }
    }

    fn permissions(&mut self, approval: &Approval) {
        let theme = self.theme;
        let always = rules::offers(approval, Reach::Always);
        if !rules::is_whole(approval) {
            self.say("not shown in full: `always` is not offered", theme.warning());
        } else if !always {
            self.say("`always` is not offered", theme.quiet());
        }
    }

    fn voided(&mut self, voided: &Value) {
        let theme = self.theme;
        let earlier = voided.get("approval").and_then(Value::as_str).unwrap_or("an earlier one");
        let text = format!("{} was approved, but since then:", reveal_line(earlier));
        self.say(&text, theme.warning());
        let changes = voided.get("changes").and_then(Value::as_array).map(Vec::as_slice);
        for change in changes.unwrap_or_default() {
            let text = change.as_str().map_or_else(|| change.to_string(), str::to_owned);
            self.indented("    ", &reveal_line(&text), theme.warning());
        }
    }

    /// What a running tool wants to know.
    fn form(&mut self, approval: &Approval, form: &Value) {
        let theme = self.theme;
        let (tool, agent) = (reveal_line(&approval.tool), reveal_line(&approval.agent_id));
        self.say(&format!("{tool} of {agent} asks:"), theme.plain());
        let question = reveal_once(&approval.message).into_owned();
        self.quote(question.lines().map(|line| vec![(line.to_owned(), theme.strong())]).collect());
        if let Some(url) = form.get("url").and_then(Value::as_str) {
            self.say(&format!("go to {}", reveal_line(url)), theme.link());
        }
        self.say("the answer is JSON that fits", theme.plain());
        self.quote(highlighted(&reveal_once(&approval.shown), "json", theme));
        if let Some(at) = &approval.expires_at {
            self.say(&format!("until {}", reveal_line(at)), theme.plain());
        }
        let warning =
            "do not tell a password or a key: the answer goes to the tool and into the log";
        self.say(warning, theme.warning());
    }

    fn fact(&mut self, name: &str, value: &str, style: Style) {
        self.say(&format!("{name}: {value}"), style);
    }

    fn say(&mut self, text: &str, style: Style) {
        self.indented("  ", text, style);
    }

    fn indented(&mut self, indent: &str, text: &str, style: Style) {
        let first: Spans = vec![(indent.to_owned(), self.theme.plain())];
        let rest: Spans = vec![(format!("{indent}  "), self.theme.plain())];
        let text = vec![(text.to_owned(), style)];
        self.lines.extend(wrap(&text, self.width, &first, &rest, Break::Words));
    }

    /// What somebody else wrote: every line of it is marked.
    fn quote(&mut self, lines: Vec<Spans>) {
        let mark: Spans = vec![("  │ ".to_owned(), self.theme.quiet())];
        for line in lines {
            self.lines.extend(wrap(&line, self.width, &mark, &mark, Break::Anywhere));
        }
    }
}

/// What would run, where it is a plain call of the shell.
fn run(approval: &Approval) -> Option<Run> {
    Some(&approval.shown).filter(|_| approval.tool == TOOL).and_then(|shown| Run::read(shown))
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
