//! What is below a request: the keys there are, and what was typed.
//! Used by `deciding`. Shows only keys that do something.

use agent_world_client::wire::{Approval, Reach};
use agent_world_core::display::{reveal, reveal_line};
use ratatui::text::Line;

use super::form::Fields;
use super::{Deciding, Step, rules};
use crate::markdown::{Break, Spans, wrap};
use crate::theme::Theme;

/// Columns below which a question and what is typed share no line.
const NARROW: u16 = 60;

pub fn lines(deciding: &Deciding, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(problem) = &deciding.problem {
        lines.extend(say(&reveal(problem), theme.warning(), width));
    }
    let approval = &deciding.approval;
    match &deciding.step {
        Step::Choice => {
            if deciding.helps {
                lines
                    .extend(help(approval).iter().flat_map(|text| say(text, theme.quiet(), width)));
            }
            lines.extend(keys(&choices(approval), width, theme));
        }
        Step::Calls(reach, marked) => lines.extend(calls(approval, *reach, *marked, width, theme)),
        Step::Reason(input) => {
            // Where it would leave little room to write, the question has a line of its own.
            if width < NARROW {
                lines.extend(say("why? (empty for no reason)", theme.question(), width));
                lines.extend(input.draw("> ", width, theme));
            } else {
                lines.extend(input.draw("why (empty for no reason)> ", width, theme));
            }
            let sends = if approval.form.is_some() { "declines" } else { "denies" };
            lines.extend(keys(&[("Enter", sends), ("Esc", "goes back")], width, theme));
        }
        Step::Arguments(input) => {
            let what = if approval.form.is_some() { "the answer" } else { "other arguments" };
            let sends = match approval.form {
                Some(_) => "sends it",
                None => "approves them once",
            };
            lines.extend(say(&format!("{what}, as JSON:"), theme.question(), width));
            lines.extend(input.draw("", width, theme));
            let hints = [("Ctrl-S", sends), ("Alt-Enter", "the same"), ("Esc", "goes back")];
            lines.extend(keys(&hints, width, theme));
        }
        Step::Fields(fields) => lines.extend(field(fields, width, theme)),
    }
    lines
}

fn choices(approval: &Approval) -> Vec<(&'static str, &'static str)> {
    let is_form = approval.form.is_some();
    let once = rules::offers(approval, Reach::Once);
    let (answer, nothing, deny) = match is_form {
        true => ("answer", "answer with nothing", "decline"),
        false => ("edit", "once", "deny"),
    };
    let all = [
        (is_form && once).then_some(("e", answer)),
        once.then_some(("o", nothing)),
        rules::offers(approval, Reach::Session).then_some(("s", "session")),
        rules::offers(approval, Reach::Always).then_some(("a", "always")),
        (!is_form && once).then_some(("e", answer)),
        Some(("d", deny)),
        Some(("l", "later")),
        Some(("?", "help")),
    ];
    all.into_iter().flatten().collect()
}

fn help(approval: &Approval) -> Vec<String> {
    let explain = |(key, _): &(&str, &str)| {
        let text = match (*key, approval.form.is_some()) {
            ("o", false) => "o, y: approves this call, and no other",
            ("o", true) => "o, y: answers with nothing",
            ("s", _) => {
                "s: approves it, and from now on in this chat; asks for which calls of this agent"
            }
            ("a", _) => "a: approves it, and from now on in this world; asks for which calls",
            ("e", false) => "e: changes the arguments; what you send is approved once",
            ("e", true) => "e: answers",
            ("d", false) => "d, n: denies it; asks why, and the agent is told",
            ("d", true) => "d, n: declines to answer; asks why",
            ("l", _) => "l, Esc: decides nothing; it goes on waiting",
            _ => return None,
        };
        Some(text.to_owned())
    };
    choices(approval).iter().filter_map(explain).collect()
}

fn calls(
    approval: &Approval,
    reach: Reach,
    marked: Option<usize>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let until = match reach {
        Reach::Always => "always, in this world",
        Reach::Session | Reach::Once => "for the rest of this chat",
    };
    let mut lines = say(&format!("approve {until}: which calls?"), theme.question(), width);
    for (place, suggestion) in approval.suggested_matches.iter().enumerate() {
        let style = if marked == Some(place) { theme.selected() } else { theme.plain() };
        let number = (format!("  {} ", place + 1), theme.key());
        let text = vec![(reveal_line(&suggestion.label).into_owned(), style)];
        let rest = vec![("    ".to_owned(), theme.plain())];
        lines.extend(wrap(&text, width, &vec![number], &rest, Break::Words));
    }
    let last = approval.suggested_matches.len().min(9);
    let numbers = if last == 1 { "1".to_owned() } else { format!("1-{last}") };
    let hints = [(numbers.as_str(), "such calls"), ("Esc", "goes back")];
    lines.extend(keys(&hints, width, theme));
    lines
}

fn field(fields: &Fields, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let Some((field, number, total)) = fields.current() else {
        return Vec::new();
    };
    let description = match field.description.as_str() {
        "" => String::new(),
        text => format!(": {}", reveal_line(text)),
    };
    let heading = format!("{number} of {total}, {}{description}", reveal_line(&field.name));
    let mut lines = say(&heading, theme.question(), width);
    lines.extend(say(&reveal_line(&field.expects()), theme.quiet(), width));
    lines.extend(fields.input.draw("> ", width, theme));
    lines.extend(keys(&[("Enter", "goes on"), ("Esc", "goes back")], width, theme));
    lines
}

fn say(text: &str, style: ratatui::style::Style, width: u16) -> Vec<Line<'static>> {
    let indent: Spans = vec![("  ".to_owned(), style)];
    wrap(&vec![(text.to_owned(), style)], width, &Spans::new(), &indent, Break::Words)
}

fn keys(hints: &[(&str, &str)], width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut spans = Spans::new();
    for (key, meaning) in hints {
        if !spans.is_empty() {
            spans.push((" · ".to_owned(), theme.quiet()));
        }
        spans.push(((*key).to_owned(), theme.key()));
        spans.push((format!(" {meaning}"), theme.plain()));
    }
    wrap(&spans, width, &Spans::new(), &Spans::new(), Break::Words)
}
