//! Decides what keys mean while a permission that lasts is being chosen: for which calls, and whether that is really meant.
//! Part of `deciding`. A number is always a narrower permission, and one key, which never moves, is the whole tool.

use agent_world_client::wire::{Decision, Reach};
use crossterm::event::{KeyCode, KeyEvent};

use super::{Deciding, Outcome, Step, decided, rules};
use crate::attention::letter;

impl Deciding {
    pub(super) fn choose_calls(
        &mut self,
        key: KeyEvent,
        reach: Reach,
        marked: Option<usize>,
    ) -> Outcome {
        match (key.code, letter(key)) {
            (KeyCode::Esc, _) => self.go_to(Step::Choice),
            (KeyCode::Up, _) => self.mark(reach, marked, false),
            (KeyCode::Down, _) => self.mark(reach, marked, true),
            (KeyCode::Enter, _) if key.modifiers.is_empty() => match marked {
                Some(place) => self.lasting(reach, place),
                None => self.refuse(rules::SAY_WHICH),
            },
            (_, Some(rules::WHOLE_TOOL)) => match rules::whole_tool(&self.approval) {
                Some(place) => self.lasting(reach, place),
                None => self.refuse("the whole tool is not offered; nothing was decided"),
            },
            // The widest permission is chosen like any other, never by a key that was pressed twice.
            (_, Some('s' | 'a')) => self.refuse(rules::SAY_WHICH),
            (_, Some(digit)) if digit.is_ascii_digit() => {
                let number = digit.to_digit(10).and_then(|number| usize::try_from(number).ok());
                match number.and_then(|number| rules::numbered(&self.approval, number)) {
                    Some(place) => self.lasting(reach, place),
                    None => self.refuse(rules::no_number(&self.approval, &digit.to_string())),
                }
            }
            _ => Outcome::Nothing,
        }
    }

    /// Marks the next one as they are listed, around the end.
    fn mark(&mut self, reach: Reach, marked: Option<usize>, forwards: bool) -> Outcome {
        let narrower = rules::narrower(&self.approval).into_iter().map(|(place, _)| place);
        let listed: Vec<usize> = narrower.chain(rules::whole_tool(&self.approval)).collect();
        let at = marked.and_then(|marked| listed.iter().position(|place| *place == marked));
        let next = match (at, forwards) {
            (None, true) => listed.first(),
            (None, false) | (Some(0), false) => listed.last(),
            (Some(at), true) => listed.get(at + 1).or(listed.first()),
            (Some(at), false) => listed.get(at - 1),
        };
        // The keys of the list are the same, whichever is marked.
        self.step = Step::Calls(reach, next.copied());
        Outcome::Redraw
    }

    /// Every call of a tool is asked once more: nobody is to find out later what one key has permitted.
    fn lasting(&mut self, reach: Reach, place: usize) -> Outcome {
        match rules::whole_tool(&self.approval) == Some(place) {
            true => self.go_to(Step::Sure(reach, place)),
            false => permit(reach, place),
        }
    }

    pub(super) fn make_sure(&mut self, key: KeyEvent, reach: Reach, place: usize) -> Outcome {
        match (key.code, letter(key)) {
            (_, Some('y')) => permit(reach, place),
            (KeyCode::Esc, _) | (_, Some('n')) => self.go_to(Step::Calls(reach, None)),
            _ => Outcome::Nothing,
        }
    }
}

fn permit(reach: Reach, place: usize) -> Outcome {
    decided(Decision { suggestion: Some(place), ..Decision::approve(reach) })
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
