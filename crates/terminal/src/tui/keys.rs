//! Decides what a key means where the focus is.
//! Called by `update`. A letter is a command only where nobody writes, and decides about a request only in the inbox.

mod answering;
mod overlays;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::details::Details;
use super::message::Effect;
use super::state::{Focus, Overlay, State, Tone, Typing};
use super::tree::Row;
use crate::composer::Typed;
use crate::conversation::Entry;

/// Rows that a page has in a list.
const PAGE: isize = 10;
const NOTHING: Vec<Effect> = Vec::new();

/// A key and what it does, for hints and help.
pub type Hint = (&'static str, &'static str);

impl State {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return NOTHING;
        }
        self.inbox.press(key, self.clock);
        self.pass_notice();
        if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL {
            return self.stop();
        }
        if self.is_out_of_sight() {
            // Nothing of what a key would do can be seen.
            self.inbox.arm();
            return if key.code == KeyCode::Char('q') { self.quit() } else { NOTHING };
        }
        if let Some(typing) = self.typing.filter(|_| self.overlay.is_none()) {
            return self.filter_key(typing, key);
        }
        // Where letters are commands, one with another key is none.
        let is_plain = !is_chord(key);
        if self.overlay.is_some() {
            return if is_plain { self.overlay_key(key.code) } else { NOTHING };
        }
        match self.focus {
            Focus::Composer => self.composer_key(key),
            Focus::Inbox => self.inbox_key(key),
            _ if !is_plain => NOTHING,
            Focus::Tree => self.tree_key(key.code),
            Focus::Conversation if self.shows_log => self.log_key(key.code),
            Focus::Conversation => self.conversation_key(key.code),
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        match (&self.overlay, self.typing, self.focus) {
            (Some(_), _, _) => {}
            (None, Some(typing), _) => {
                let text = text.lines().next().unwrap_or_default();
                self.filter_by(typing, format!("{}{text}", self.filter_of(typing)));
            }
            (None, None, Focus::Inbox) => {
                if let Some(deciding) = self.inbox.open() {
                    deciding.paste(text);
                }
            }
            // Whoever pastes means to write.
            (None, None, _) => {
                self.focus = Focus::Composer;
                self.composer.paste(text);
            }
        }
        NOTHING
    }

    fn composer_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let chooses = self.composer.is_completing();
        match key.code {
            KeyCode::Esc if !chooses => {
                self.focus = Focus::Conversation;
                if self.take_editing().is_some() {
                    self.composer.set("");
                }
            }
            KeyCode::Tab if self.composer.is_empty() => self.focus = Focus::Inbox,
            KeyCode::BackTab if !chooses => self.focus = Focus::Conversation,
            KeyCode::F(1) => self.overlay = Some(Overlay::Help),
            KeyCode::Char('?') if self.composer.is_empty() => self.overlay = Some(Overlay::Help),
            KeyCode::PageUp => return self.scroll(-1),
            KeyCode::PageDown => return self.scroll(1),
            _ => match self.composer.key(key, &self.words()) {
                Typed::Entered(text) => return self.entered(&text),
                // In the middle of a text it was meant to complete a word: what follows must not reach the inbox.
                Typed::Nothing if key.code == KeyCode::Tab => {
                    self.tell(Tone::Plain, "nothing to complete; Esc leaves, and Tab then goes on");
                }
                Typed::Redraw | Typed::Nothing => {}
            },
        }
        // Who clears the text begins a new one.
        if self.composer.is_empty() {
            self.take_editing();
        }
        NOTHING
    }

    /// Pages of the conversation.
    fn scroll(&mut self, pages: isize) -> Vec<Effect> {
        if let Some(transcript) = self.transcript_mut() {
            let lines = transcript.page() * pages;
            transcript.scroll(lines);
        }
        if pages < 0 { self.load_older() } else { NOTHING }
    }

    /// Keys that mean the same in every list.
    fn common_key(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::Tab => self.move_focus(true),
            KeyCode::BackTab => self.move_focus(false),
            // No letter that is an answer there: pressed twice it would decide.
            KeyCode::Char('p') => self.focus = Focus::Inbox,
            KeyCode::Char('c') => self.focus = Focus::Tree,
            KeyCode::Char('i') => self.focus = Focus::Composer,
            KeyCode::Char('e') => return self.toggle_log(),
            KeyCode::Char('n') => return self.create(),
            KeyCode::Char('t') => return self.show_call(),
            KeyCode::Char('/') => {
                let is_log = self.shows_log && self.focus == Focus::Conversation;
                if !is_log {
                    self.focus = Focus::Tree;
                }
                self.typing = Some(if is_log { Typing::Log } else { Typing::Tree });
            }
            KeyCode::Char('?') | KeyCode::F(1) => self.overlay = Some(Overlay::Help),
            KeyCode::Char('q') => return self.quit(),
            _ => {}
        }
        NOTHING
    }

    fn move_focus(&mut self, forward: bool) {
        const ORDER: [Focus; 4] = [Focus::Tree, Focus::Conversation, Focus::Composer, Focus::Inbox];
        let place = ORDER.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        let step = if forward { 1 } else { ORDER.len() - 1 };
        self.focus = ORDER.get((place + step) % ORDER.len()).copied().unwrap_or(self.focus);
    }

    pub(super) fn quit(&mut self) -> Vec<Effect> {
        if self.inbox.len() == 0 && self.unsent() == 0 && self.undelivered().is_empty() {
            return vec![Effect::Quit];
        }
        self.overlay = Some(Overlay::Quit);
        NOTHING
    }

    fn toggle_log(&mut self) -> Vec<Effect> {
        self.shows_log = !self.shows_log;
        self.focus = Focus::Conversation;
        self.log.go_to_end();
        if self.shows_log { self.load_events() } else { NOTHING }
    }

    fn show_call(&mut self) -> Vec<Effect> {
        let Some(transcript) = self.transcript() else {
            return NOTHING;
        };
        let Some(block) = transcript.call_meant() else {
            self.tell(Tone::Plain, "no tool was called here");
            return NOTHING;
        };
        let (world, chat) = (transcript.world().to_owned(), transcript.chat().to_owned());
        let call = block.id.clone();
        self.overlay = Some(Overlay::Details(Box::new(Details::of_call(block))));
        vec![Effect::LoadCall { world, chat, call }]
    }

    fn tree_key(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::Down | KeyCode::Char('j') => self.tree.step(1),
            KeyCode::Up | KeyCode::Char('k') => self.tree.step(-1),
            KeyCode::PageDown => self.tree.step(PAGE),
            KeyCode::PageUp => self.tree.step(-PAGE),
            KeyCode::Char('g') | KeyCode::Home => self.tree.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.tree.step(isize::MAX),
            KeyCode::Esc if !self.tree.filter().is_empty() => self.tree.filter_by(String::new()),
            KeyCode::Esc => self.focus = Focus::Conversation,
            KeyCode::Enter | KeyCode::Char(' ' | 'l') => return self.open_selected(),
            _ => return self.common_key(code),
        }
        NOTHING
    }

    pub(super) fn open_selected(&mut self) -> Vec<Effect> {
        let (world, chat) = match self.tree.selected() {
            Some(Row::World { world, .. }) => (Some(world.id.clone()), None),
            Some(Row::Chat(chat)) => (None, Some(chat.id.clone())),
            None => (None, None),
        };
        if let Some(world) = world {
            self.tree.fold(&world);
        }
        let Some(chat) = chat else {
            return NOTHING;
        };
        self.focus = Focus::Conversation;
        self.open(&chat)
    }

    fn conversation_key(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::PageUp => return self.scroll(-1),
            KeyCode::PageDown => return self.scroll(1),
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('r')
                if self.transcript().is_some_and(|open| open.problem().is_some()) =>
            {
                return self.open_again();
            }
            KeyCode::Char('w') => return self.save_selected(),
            _ => {}
        }
        let Some(transcript) = self.transcript_mut() else {
            return self.common_key(code);
        };
        match code {
            KeyCode::Down | KeyCode::Char('j') => transcript.step(true),
            KeyCode::Up | KeyCode::Char('k') => {
                transcript.step(false);
                return self.load_older();
            }
            KeyCode::Char('g') | KeyCode::Home => {
                transcript.go_to_start();
                return self.load_older();
            }
            KeyCode::Char('G') | KeyCode::End | KeyCode::Esc => transcript.go_to_end(),
            KeyCode::Char('r' | ' ') => transcript.toggle_reasoning(),
            _ => return self.common_key(code),
        }
        NOTHING
    }

    /// Shows more of what is selected; where there is no more, begins to write.
    fn enter(&mut self) -> Vec<Effect> {
        let selected = self.transcript().and_then(|transcript| transcript.selected());
        match selected {
            Some(Entry::Call(block)) => {
                let waits = self.inbox.place_of_call(&block.id);
                let Some(place) = waits else {
                    return self.show_call();
                };
                self.inbox.look_at(place);
                self.focus = Focus::Inbox;
            }
            Some(Entry::Said(said)) if !said.reasoning.is_empty() => {
                if let Some(transcript) = self.transcript_mut() {
                    transcript.toggle_reasoning();
                }
            }
            _ => self.focus = Focus::Composer,
        }
        NOTHING
    }

    fn save_selected(&mut self) -> Vec<Effect> {
        let selected = self.transcript().and_then(|transcript| transcript.selected());
        let Some(entry) = selected else {
            self.tell(Tone::Plain, "select something first: ↑ goes to what was said last");
            return NOTHING;
        };
        let text = match entry {
            Entry::Said(said) => said.text.clone(),
            Entry::Call(block) => Details::of_call(block).text(),
            Entry::Notice { text, .. } => text.clone(),
        };
        vec![Effect::Save { name: entry.id().to_owned(), text }]
    }

    fn log_key(&mut self, code: KeyCode) -> Vec<Effect> {
        let Some(world) = self.world().map(ToOwned::to_owned) else {
            return self.common_key(code);
        };
        match code {
            KeyCode::Down | KeyCode::Char('j') => self.log.step(&world, 1),
            KeyCode::Up | KeyCode::Char('k') => self.log.step(&world, -1),
            KeyCode::PageDown => self.log.step(&world, PAGE),
            KeyCode::PageUp => self.log.step(&world, -PAGE),
            KeyCode::Char('g') | KeyCode::Home => self.log.step(&world, isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.log.go_to_end(),
            KeyCode::Char('f') => self.log.next_kind(),
            KeyCode::Esc if !self.log.filter().is_empty() => self.log.filter_by(String::new()),
            KeyCode::Esc => self.shows_log = false,
            KeyCode::Enter => {
                let details = self.log.selected(&world).map(Details::of_event);
                self.overlay = details.map(|details| Overlay::Details(Box::new(details)));
            }
            _ => return self.common_key(code),
        }
        NOTHING
    }
}

/// Whether a letter was pressed together with Ctrl. Alt is what a terminal makes of Esc and a letter soon after it.
fn is_chord(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_)) && key.modifiers.contains(KeyModifiers::CONTROL)
}
