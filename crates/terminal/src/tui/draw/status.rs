//! Draws the titles at the top and the line at the bottom: what keys do here, what just happened, whether we are connected.
//! Called by `draw`.

use agent_world_client::wire::{Activity, Doing};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::super::keys::Hint;
use super::super::state::{Connection, Focus, Overlay, State, Tone};
use super::super::words;
use super::{apart, put, rule, rule_style, spinner, title_style};
use crate::deciding::Deciding;

pub fn titles(buffer: &mut Buffer, state: &State) {
    let layout = &state.layout;
    let title = |x: u16, width: u16| Rect { x, width, ..layout.top };
    let line = |part: Rect| Rect { y: part.y + 1, height: 1, ..part };
    let whole = title(layout.area.x, layout.area.width);
    let (tree, inbox) = (layout.tree, layout.inbox);
    if !layout.is_wide {
        let focus = state.focus;
        let (left, right) = match focus {
            Focus::Tree => (tree_title(state), waiting(state)),
            Focus::Inbox => (inbox_title(state), Vec::new()),
            _ => {
                let right = waiting(state);
                let taken = right.iter().map(Span::width).sum::<usize>() + 2;
                let taken = u16::try_from(taken).unwrap_or(whole.width);
                (conversation_title(state, whole.width.saturating_sub(taken)), right)
            }
        };
        put(buffer, inner(whole), 0, &apart(left, right, inner(whole).width));
        rule(buffer, line(whole), rule_style(state, focus_of_title(focus)));
        return;
    }
    let middle = title(layout.middle.x, layout.middle.width);
    let (left, focus) = match tree.is_some() && layout.tree_beside().is_none() {
        true => (tree_title(state), Focus::Tree),
        false => (conversation_title(state, middle.width), Focus::Conversation),
    };
    put(buffer, inner(middle), 0, &Line::from(left));
    rule(buffer, line(middle), rule_style(state, focus));
    if let Some(tree) = layout.tree_beside() {
        let part = title(tree.x, tree.width);
        put(buffer, inner(part), 0, &Line::from(tree_title(state)));
        rule(buffer, line(part), rule_style(state, Focus::Tree));
        buffer.set_string(part.right() - 1, part.y, "│", state.theme.quiet());
        buffer.set_string(part.right() - 1, part.y + 1, "┼", state.theme.quiet());
    }
    if let Some(inbox) = inbox {
        let part = title(inbox.x, inbox.width);
        let inside = Rect { x: part.x + 2, width: part.width.saturating_sub(3), ..part };
        put(buffer, inside, 0, &apart(inbox_title(state), Vec::new(), inside.width));
        rule(buffer, line(part), rule_style(state, Focus::Inbox));
        buffer.set_string(part.x, part.y, "│", state.theme.quiet());
        buffer.set_string(part.x, part.y + 1, "┼", state.theme.quiet());
    }
}

fn inner(part: Rect) -> Rect {
    Rect { x: part.x + 1, width: part.width.saturating_sub(2), ..part }
}

/// On a narrow screen the title is that of whatever is in front.
fn focus_of_title(focus: Focus) -> Focus {
    if focus == Focus::Composer { Focus::Conversation } else { focus }
}

fn tree_title(state: &State) -> Vec<Span<'static>> {
    vec![Span::styled("Worlds", title_style(state, Focus::Tree))]
}

fn inbox_title(state: &State) -> Vec<Span<'static>> {
    let mut spans = vec![Span::styled("Inbox", title_style(state, Focus::Inbox)), Span::raw("  ")];
    spans.extend(waiting(state));
    spans
}

fn waiting(state: &State) -> Vec<Span<'static>> {
    match state.inbox.len() {
        0 => Vec::new(),
        many => vec![Span::styled(format!("{many} waiting"), state.theme.question())],
    }
}

fn conversation_title(state: &State, width: u16) -> Vec<Span<'static>> {
    let style = title_style(state, Focus::Conversation);
    if state.shows_log {
        return super::log::title(state, style);
    }
    let Some(transcript) = state.transcript() else {
        return vec![Span::styled("Agent World", style)];
    };
    let conversation = &transcript.conversation;
    let width = usize::from(width).saturating_sub(2);
    let doing = match conversation.activity.is_busy() {
        true => doing(&conversation.activity),
        false => String::new(),
    };
    let world = words::fit(&words::shown(&conversation.world.name), (width / 4).min(24));
    let title = words::shown(&conversation.chat.title);
    let number = state.tree.number(&conversation.chat.id);
    // What goes on has a third, and more where the titles leave room; it is known by its mark at least.
    let titles = world.width() + 3 + title.width() + number.width() + 5;
    let doing = words::fit(&doing, width.saturating_sub(titles).max(width / 3));
    let taken = if doing.is_empty() { 0 } else { doing.width() + 5 };
    let room = width.saturating_sub(world.width() + 3 + taken + number.width());
    let chat = format!("{}{number}", words::fit(&title, room));
    let mut spans = vec![
        Span::styled(world, state.theme.plain()),
        Span::styled(" › ", state.theme.quiet()),
        Span::styled(chat, style),
    ];
    if !doing.is_empty() {
        spans.push(Span::styled(format!("   {} {doing}", spinner(state)), state.theme.quiet()));
    }
    spans
}

fn doing(activity: &Activity) -> String {
    let who = activity.agents.iter().map(|agent| {
        let what = match agent.doing {
            Doing::Thinking => "thinks",
            Doing::RunningTools => "runs tools",
            Doing::AwaitingApproval => "waits for approval",
            Doing::AwaitingHuman => "waits for you",
            Doing::Other => "works",
        };
        format!("{} {what}", words::shown(&agent.id))
    });
    who.collect::<Vec<String>>().join(", ")
}

pub fn draw(buffer: &mut Buffer, state: &State) {
    let part = inner(state.layout.status);
    let right = connection(state);
    let taken: usize = right.iter().map(Span::width).sum();
    let room = usize::from(part.width).saturating_sub(taken + 2);
    let left = match &state.notice {
        Some(notice) => {
            let style = match notice.tone {
                Tone::Plain => state.theme.plain(),
                Tone::Question => state.theme.question(),
                Tone::Warning => state.theme.warning(),
            };
            let is_question = notice.tone == Tone::Question;
            let hint = if is_question { decide_hint(state) } else { String::new() };
            let text = words::fit(&notice.text, room.saturating_sub(hint.len()));
            vec![Span::styled(text, style), Span::styled(hint, state.theme.quiet())]
        }
        None => hints(state, room),
    };
    put(buffer, part, 0, &apart(left, right, part.width));
}

fn decide_hint(state: &State) -> String {
    match state.focus {
        Focus::Inbox => String::new(),
        _ => format!("  {}", super::inbox::way_here(state)),
    }
}

fn hints(state: &State, room: usize) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, does) in keys(state) {
        let wide = key.chars().count() + does.chars().count() + 3;
        if used + wide > room {
            break;
        }
        used += wide;
        spans.push(Span::styled(*key, state.theme.key()));
        spans.push(Span::styled(format!(" {does}  "), state.theme.quiet()));
    }
    spans
}

fn keys(state: &State) -> &'static [Hint] {
    if state.typing.is_some() {
        return &[("Enter", "keep the filter"), ("Esc", "no filter")];
    }
    match (&state.overlay, state.focus) {
        (Some(Overlay::Quit), _) => &[("q", "again quits"), ("p", "inbox"), ("Esc", "stays")],
        (Some(Overlay::Help), _) => &[("Esc", "close")],
        (Some(Overlay::Details(_)), _) => {
            &[("↑↓", "scroll"), ("w", "write to a file"), ("Esc", "close")]
        }
        (None, Focus::Composer)
            if state.composer.is_completing() && !state.composer.has_chosen() =>
        {
            &[("Tab ↑↓", "choose"), ("Enter", "send"), ("Esc", "no list"), ("F1", "help")]
        }
        (None, Focus::Composer) if state.composer.is_completing() => {
            &[("Tab ↑↓", "choose"), ("Enter", "take it"), ("Esc", "none")]
        }
        (None, Focus::Composer) if state.is_editing() => {
            &[("Enter", "say it anew and take back what follows"), ("Esc", "leave it")]
        }
        (None, Focus::Composer) if !state.composer.is_empty() => &[
            ("Enter", "send"),
            ("Alt-Enter", "new line"),
            ("Tab", "complete"),
            ("Esc", "leave"),
            ("Ctrl-C", "stop agents"),
            ("F1", "help"),
        ],
        (None, Focus::Composer) => &[
            ("Enter", "send"),
            ("Alt-Enter", "new line"),
            ("Tab", "inbox"),
            ("Esc", "leave"),
            ("Ctrl-C", "stop agents"),
            ("F1", "help"),
        ],
        (None, Focus::Tree) => &[
            ("Enter", "open"),
            ("n", "new chat"),
            ("/", "filter"),
            ("p", "inbox"),
            ("e", "events"),
            ("?", "help"),
            ("q", "quit"),
        ],
        (None, Focus::Inbox) if state.inbox.len() == 0 => {
            &[("i", "write"), ("c", "chats"), ("Esc", "back"), ("?", "help"), ("q", "quit")]
        }
        // The card has the keys of what is typed there.
        (None, Focus::Inbox) if state.inbox.deciding().is_some_and(Deciding::is_typing) => {
            &[("Esc", "goes back")]
        }
        (None, Focus::Inbox) => &[
            ("↑↓", "choose"),
            ("Enter", "its chat"),
            ("PgDn", "read on"),
            ("Esc", "back"),
            ("?", "help"),
        ],
        (None, Focus::Conversation) if state.shows_log => {
            &[("f", "type"), ("/", "filter"), ("Enter", "details"), ("Esc", "close"), ("?", "help")]
        }
        (None, Focus::Conversation) => &[
            ("i", "write"),
            ("↑↓", "select"),
            ("t", "tool call"),
            ("p", "inbox"),
            ("c", "chats"),
            ("e", "events"),
            ("?", "help"),
            ("q", "quit"),
        ],
    }
}

fn connection(state: &State) -> Vec<Span<'static>> {
    let (mark, text, style) = match &state.connection {
        Connection::Connected => ("●", "connected".to_owned(), state.theme.good()),
        Connection::Connecting => (spinner(state), "connecting".to_owned(), state.theme.quiet()),
        Connection::Lost(_) => {
            (spinner(state), "connection lost, trying again".to_owned(), state.theme.warning())
        }
    };
    vec![Span::styled(format!("{mark} {text}"), style)]
}
