//! What is below a request: the keys there are, and what was typed.
//! Used by `deciding`. Shows only keys that do something.

use agent_world_client::wire::{Approval, Reach};
use agent_world_core::display::{reveal, reveal_line};
use ratatui::text::Line;

use super::form::Fields;
use super::{Deciding, Delivery, Step, card, rules};
use crate::markdown::{Break, Spans, wrap};
use crate::theme::Theme;

/// Columns below which a question and what is typed share no line.
const NARROW: u16 = 60;
/// Rows beside a text that is edited: its heading, what is left out above and below, and two of keys.
const BESIDE: usize = 5;

pub fn lines(deciding: &Deciding, rows: usize, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(delivery) = deciding.delivery() {
        return on_its_way(delivery, width, theme);
    }
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
        Step::Calls(reach, marked) => lines.extend(calls(deciding, *reach, *marked, width, theme)),
        Step::Sure(reach, _) => {
            let yes = match reach {
                Reach::Always => "yes, always",
                Reach::Session | Reach::Once => "yes, all of them",
            };
            let really = rules::really(approval, *reach);
            lines.extend(say(&reveal_line(&really), theme.warning(), width));
            lines.extend(keys(&[("y", yes), ("n", "goes back")], width, theme));
        }
        Step::Changed(_, arguments) => {
            lines.extend(say("run this in its place?", theme.warning(), width));
            lines.extend(card::command(arguments, width, theme));
            lines.extend(keys(&[("y", "approves it once"), ("n", "goes back")], width, theme));
        }
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
        Step::Command(input) => {
            let (what, sends) = match input.is_line() {
                true => ("another command:", "Enter"),
                false => ("another script:", "Ctrl-S"),
            };
            let most = rows.saturating_sub(lines.len() + BESIDE);
            lines.extend(say(what, theme.question(), width));
            lines.extend(input.draw_within(most, "$ ", width, theme));
            let does = match input.is_line() {
                true => "goes on",
                false => "approves it once",
            };
            lines.extend(keys(&[(sends, does), ("Esc", "goes back")], width, theme));
        }
        Step::Arguments(input) => {
            let what = if approval.form.is_some() { "the answer" } else { "other arguments" };
            let sends = match approval.form {
                Some(_) => "sends it",
                None => "approves them once",
            };
            let most = rows.saturating_sub(lines.len() + BESIDE);
            lines.extend(say(&format!("{what}, as JSON:"), theme.question(), width));
            lines.extend(input.draw_within(most, "", width, theme));
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
    deciding: &Deciding,
    reach: Reach,
    marked: Option<usize>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let (approval, is_elsewhere) = (&deciding.approval, deciding.elsewhere.is_some());
    let until = match reach {
        Reach::Always => "always, in this world",
        Reach::Session | Reach::Once if is_elsewhere => "for the rest of that chat",
        Reach::Session | Reach::Once => "for the rest of this chat",
    };
    let mut lines = say(&format!("approve {until}: which calls?"), theme.question(), width);
    let narrower = rules::narrower(approval);
    let numbered =
        (1..).zip(&narrower).map(|(number, (place, one))| (number.to_string(), *place, *one));
    let whole = rules::whole_tool(approval);
    let whole = whole.and_then(|place| Some((place, approval.suggested_matches.get(place)?)));
    let whole = whole.map(|(place, one)| (rules::WHOLE_TOOL.to_string(), place, one));
    for (key, place, suggestion) in numbered.chain(whole) {
        let style = if marked == Some(place) { theme.selected() } else { theme.plain() };
        let key = (format!("  {key} "), theme.key());
        let text = vec![(reveal_line(&suggestion.label).into_owned(), style)];
        let rest = vec![("    ".to_owned(), theme.plain())];
        lines.extend(wrap(&text, width, &vec![key], &rest, Break::Words));
    }
    let whole = rules::WHOLE_TOOL.to_string();
    let numbers = match narrower.len().min(9) {
        0 => None,
        1 => Some("1".to_owned()),
        last => Some(format!("1-{last}")),
    };
    let hints = [
        numbers.as_deref().map(|numbers| (numbers, "such calls")),
        rules::whole_tool(approval).map(|_| (whole.as_str(), "the whole tool")),
        Some(("Esc", "goes back")),
    ];
    lines.extend(keys(&hints.into_iter().flatten().collect::<Vec<_>>(), width, theme));
    lines
}

/// What stands in place of the keys once a decision was made.
fn on_its_way(delivery: Delivery, width: u16, theme: Theme) -> Vec<Line<'static>> {
    match delivery {
        Delivery::OnItsWay => say("your decision is on its way", theme.quiet(), width),
        Delivery::Retrying => {
            let mut lines = say("not yet delivered: retrying", theme.warning(), width);
            lines.extend(keys(&[("l", "hides it meanwhile")], width, theme));
            lines
        }
    }
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
