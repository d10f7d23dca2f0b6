//! Decides what a click or the wheel means where the pointer is.
//! Called by `update`. A click selects and opens; it never decides about a request.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::draw::{conversation, inbox, tree};
use super::message::Effect;
use super::state::{Focus, Overlay, State};

/// Lines of one turn of the wheel.
const WHEEL: isize = 3;

/// Whether something was done with the mouse; it also tells where it is, over and over.
pub fn is_meant(kind: MouseEventKind) -> bool {
    matches!(kind, MouseEventKind::ScrollDown | MouseEventKind::ScrollUp | MouseEventKind::Down(_))
}

impl State {
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        if is_meant(mouse.kind) {
            self.pass_notice();
        }
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown => self.wheel(at, WHEEL),
            MouseEventKind::ScrollUp => self.wheel(at, -WHEEL),
            MouseEventKind::Down(MouseButton::Left) => self.click(at),
            _ => Vec::new(),
        }
    }

    fn wheel(&mut self, at: Position, lines: isize) -> Vec<Effect> {
        let is_on = |part: Option<Rect>| part.is_some_and(|part| part.contains(at));
        if let Some(Overlay::Details(details)) = &mut self.overlay {
            details.scroll(lines);
        } else if self.overlay.is_some() {
        } else if is_on(self.layout.tree) {
            self.tree.step(lines.signum());
        } else if self.layout.card.contains(at) {
            self.scroll_card(lines);
        } else if is_on(self.layout.inbox) {
            self.inbox.step(lines.signum());
        } else if self.shows_log {
            if let Some(world) = self.world().map(ToOwned::to_owned) {
                self.log.step(&world, lines);
            }
        } else if let Some(transcript) = self.transcript_mut() {
            transcript.scroll(lines);
            return if lines < 0 { self.load_older() } else { Vec::new() };
        }
        Vec::new()
    }

    fn click(&mut self, at: Position) -> Vec<Effect> {
        let layout = self.layout;
        if self.overlay.is_some() {
            if !matches!(self.overlay, Some(Overlay::Quit)) {
                self.overlay = None;
            }
        } else if let Some(part) = layout.tree.filter(|part| part.contains(at)) {
            self.focus = Focus::Tree;
            if let Some(row) = tree::row_at(self, part, at) {
                self.tree.select_row(row);
                return self.open_selected();
            }
        } else if layout.inbox.is_some_and(|part| part.contains(at)) {
            self.focus = Focus::Inbox;
            if let Some(place) = inbox::place_at(self, at) {
                self.inbox.look_at(place);
            }
        } else if layout.composer.contains(at) {
            self.focus = Focus::Composer;
        } else if layout.middle.contains(at) {
            self.focus = Focus::Conversation;
            let room = conversation::room(self);
            if let (Some(transcript), true) = (self.transcript_mut(), room.contains(at)) {
                transcript.select_row(usize::from(at.y - room.y));
            }
        }
        Vec::new()
    }
}
