//! Decides what a key means while something is over everything else, or a filter is typed.
//! Called by `keys`. Nothing typed there reaches what is below.

use crossterm::event::{KeyCode, KeyEvent};

use super::super::message::Effect;
use super::super::state::{Focus, Overlay, State, Typing};
use super::{NOTHING, is_chord};

impl State {
    pub(super) fn overlay_key(&mut self, code: KeyCode) -> Vec<Effect> {
        match (&mut self.overlay, code) {
            // Only what the question names: whoever types on has not seen it.
            (Some(Overlay::Quit), KeyCode::Char('q')) => return vec![Effect::Quit],
            (Some(Overlay::Quit), KeyCode::Esc) => self.overlay = None,
            (Some(Overlay::Quit), KeyCode::Char('p')) => {
                self.overlay = None;
                self.focus = Focus::Inbox;
            }
            (Some(Overlay::Help), _) => self.overlay = None,
            (Some(Overlay::Details(details)), _) => match code {
                KeyCode::Esc | KeyCode::Char('q' | 't') | KeyCode::Enter => self.overlay = None,
                KeyCode::Down | KeyCode::Char('j') => details.scroll(1),
                KeyCode::Up | KeyCode::Char('k') => details.scroll(-1),
                KeyCode::PageDown | KeyCode::Char(' ') => details.scroll(details.page()),
                KeyCode::PageUp => details.scroll(-details.page()),
                KeyCode::Char('g') | KeyCode::Home => details.scroll(isize::MIN),
                KeyCode::Char('G') | KeyCode::End => details.scroll(isize::MAX),
                KeyCode::Char('w') => {
                    let name = details.title.clone();
                    return vec![Effect::Save { name, text: details.text() }];
                }
                _ => {}
            },
            _ => {}
        }
        NOTHING
    }

    pub(super) fn filter_of(&self, typing: Typing) -> &str {
        match typing {
            Typing::Tree => self.tree.filter(),
            Typing::Log => self.log.filter(),
        }
    }

    pub(super) fn filter_by(&mut self, typing: Typing, filter: String) {
        match typing {
            Typing::Tree => self.tree.filter_by(filter),
            Typing::Log => self.log.filter_by(filter),
        }
    }

    pub(super) fn filter_key(&mut self, typing: Typing, key: KeyEvent) -> Vec<Effect> {
        let mut filter = self.filter_of(typing).to_owned();
        match key.code {
            KeyCode::Char('u') if is_chord(key) => filter.clear(),
            KeyCode::Char(_) if is_chord(key) => {}
            KeyCode::Char(letter) => filter.push(letter),
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Enter => self.typing = None,
            KeyCode::Esc => {
                self.typing = None;
                filter.clear();
            }
            KeyCode::Down if typing == Typing::Tree => self.tree.step(1),
            KeyCode::Up if typing == Typing::Tree => self.tree.step(-1),
            _ => {}
        }
        if filter != self.filter_of(typing) {
            self.filter_by(typing, filter);
        }
        NOTHING
    }
}
