//! Prepares what is drawn and what is said at the end: the part of the state that others look at.
//! Called before each frame, and when somebody leaves. Lays out only what will be seen; wants nothing done.

use ratatui::layout::Rect;

use super::layout::{self, Needs};
use super::state::{Focus, Overlay, State};
use super::transcript::Transcript;
use super::transcript::laid::Budget;
use super::words;
use crate::conversation::Entry;

impl State {
    /// Decides where everything is, and renders what will be seen. Called before each frame.
    pub fn arrange(&mut self, area: Rect) {
        let needs = Needs {
            focus: self.focus,
            rows: self.composer.rows(layout::composer_width(area)),
            waiting: self.inbox.len(),
        };
        self.layout = layout::layout(area, needs);
        let has_focus = self.focus == Focus::Composer && self.overlay.is_none();
        self.composer.arrange(
            has_focus,
            match self.focus {
                Focus::Composer => "Write a message, Enter sends it",
                _ => "i to write",
            },
        );
        self.inbox.arrange(self.layout.card.width, self.theme);
        self.inbox.view = super::draw::inbox::view(self);
        let room = super::draw::conversation::room(self);
        if let Some(transcript) = self.transcript_mut() {
            transcript.arrange(room.width, usize::from(room.height));
        }
        self.arrange_details();
    }

    fn arrange_details(&mut self) {
        let inside = super::draw::overlay::inside(self.layout.area);
        let mut details = match self.overlay.take() {
            Some(Overlay::Details(details)) => details,
            other => {
                self.overlay = other;
                return;
            }
        };
        if let Some((id, _)) = &details.call
            && let Some(Entry::Call(block)) =
                self.transcript().and_then(|transcript| transcript.conversation.entry(id))
        {
            details.follow(block);
        }
        let (width, height, theme) = (inside.width, usize::from(inside.height), self.theme);
        details.arrange(width, height, theme, &mut Budget::of_frame());
        self.overlay = Some(Overlay::Details(details));
    }

    /// What somebody who leaves now must know: what they wanted and what nobody has said to be done.
    pub fn left_behind(&self) -> Vec<String> {
        let decisions = self.undelivered();
        let decisions = decisions
            .iter()
            .map(|id| format!("decision on {} was not delivered", words::shown(id)));
        let stops = self.stopping.iter();
        let stops = stops.map(|chat| format!("stop of {} was not delivered", words::shown(chat)));
        let unsent = self.transcripts.iter().flat_map(Transcript::sending);
        let unsent = unsent.map(|sending| {
            let text = words::shown(&sending.text).replace('\n', " ");
            format!("message was not sent: {}", words::fit(&text, 60))
        });
        decisions.chain(stops).chain(unsent).collect()
    }
}
