//! What waits for a decision in a chat, and which of it the person looks at.
//! Used by `state`. Decides nothing: a question is gone when somebody has answered it, or is put off when the person says so.

use std::collections::HashSet;

use agent_world_client::wire::Approval;

use crate::deciding::{Deciding, Delivery};

#[derive(Debug, Default)]
pub struct Waiting {
    questions: Vec<Deciding>,
    /// Put off until the person asks for them.
    later: HashSet<String>,
    /// Answered, and the answer is on its way.
    sent: HashSet<String>,
    /// The one the person looks at.
    at: Option<String>,
}

impl Waiting {
    pub fn count(&self) -> usize {
        self.questions.len()
    }

    pub fn add(&mut self, approval: Approval) {
        if !self.questions.iter().any(|known| known.approval.id == approval.id) {
            self.questions.push(Deciding::new(approval));
        }
        self.look_somewhere();
    }

    /// One of another chat, which is said with it.
    pub fn add_of(&mut self, approval: Approval, place: String) {
        if !self.questions.iter().any(|known| known.approval.id == approval.id) {
            let mut question = Deciding::new(approval);
            question.elsewhere = Some(place);
            self.questions.push(question);
        }
        self.look_somewhere();
    }

    /// It is decided, expired or withdrawn. Says whether it was waiting here.
    pub fn settle(&mut self, id: &str) -> bool {
        let before = self.questions.len();
        let place = self.place(id);
        let was_typed_in = self.shown().is_some_and(|(shown, _)| shown.is_typing());
        self.questions.retain(|known| known.approval.id != id);
        self.later.remove(id);
        self.sent.remove(id);
        if self.at.as_deref() == Some(id) {
            self.at = None;
            // The next one takes its place, so that several are decided from first to last; but not under the fingers of
            // somebody who is writing about this one.
            if !was_typed_in {
                self.look_from(place.unwrap_or(0));
            }
        }
        before != self.questions.len()
    }

    /// The question that is shown, with its number among all that wait.
    pub fn shown(&self) -> Option<(&Deciding, usize)> {
        let place = self.place(self.at.as_deref()?)?;
        Some((self.questions.get(place)?, place + 1))
    }

    pub fn shown_mut(&mut self) -> Option<&mut Deciding> {
        let place = self.place(self.at.as_deref()?)?;
        self.questions.get_mut(place)
    }

    /// Looks at another one, in either direction and around the end.
    pub fn step(&mut self, forwards: bool) -> bool {
        let open = self.open();
        let Some(at) = self.at.as_ref().and_then(|at| open.iter().position(|id| id == at)) else {
            return self.step_from_sent(forwards);
        };
        let next = match (forwards, at) {
            (true, at) => (at + 1) % open.len(),
            (false, 0) => open.len() - 1,
            (false, at) => at - 1,
        };
        self.at = open.get(next).cloned();
        next != at
    }

    /// From one that is decided already to the next in that direction.
    fn step_from_sent(&mut self, forwards: bool) -> bool {
        let Some(place) = self.at.as_deref().and_then(|at| self.place(at)) else {
            return false;
        };
        let open = self.open();
        let after = open.iter().position(|id| self.place(id).is_some_and(|at| at > place));
        let next = match (forwards, after) {
            (true, after) => open.get(after.unwrap_or(0)),
            (false, None | Some(0)) => open.last(),
            (false, Some(after)) => open.get(after - 1),
        };
        match next {
            Some(next) => self.at = Some(next.clone()),
            None => return false,
        }
        true
    }

    pub fn put_off(&mut self) {
        if let Some(at) = self.at.take() {
            let place = self.place(&at).unwrap_or(0);
            self.later.insert(at);
            self.look_from(place);
        }
    }

    /// Those put off are asked again.
    pub fn ask_again(&mut self) {
        self.later.clear();
        self.look_somewhere();
    }

    /// An answer is on its way. It stays where it is until more is heard: no other takes its place under the fingers.
    pub fn send(&mut self, id: &str) {
        self.sent.insert(id.to_owned());
        self.deliver(id, Delivery::OnItsWay);
    }

    /// Nobody has taken the answer yet.
    pub fn delay(&mut self, id: &str) {
        self.deliver(id, Delivery::Retrying);
    }

    fn deliver(&mut self, id: &str, delivery: Delivery) {
        let place = self.place(id).filter(|_| self.sent.contains(id));
        if let Some(question) = place.and_then(|place| self.questions.get_mut(place)) {
            question.deliver(delivery);
        }
    }

    /// Whether it was tried before to deliver its answer, in vain.
    pub fn is_delayed(&self, id: &str) -> bool {
        let place = self.place(id).and_then(|place| self.questions.get(place));
        place.and_then(Deciding::delivery) == Some(Delivery::Retrying)
    }

    /// Those whose answers nobody has taken.
    pub fn undelivered(&self) -> impl Iterator<Item = &Approval> {
        let sent = self.questions.iter().filter(|known| self.sent.contains(&known.approval.id));
        sent.map(|known| &known.approval)
    }

    /// The answer was refused: it is asked again, with why. Says whether it still waits.
    pub fn ask_anew(&mut self, id: &str, why: &str) -> bool {
        self.sent.remove(id);
        self.later.remove(id);
        let place = self.place(id);
        let Some(question) = place.and_then(|place| self.questions.get_mut(place)) else {
            return false;
        };
        question.refused(why);
        self.look_somewhere();
        true
    }

    /// Looks at one that waits, where the person looks at none.
    pub fn look_somewhere(&mut self) {
        if self.at.is_none() {
            self.at = self.open().into_iter().next();
        }
    }

    fn look_from(&mut self, place: usize) {
        let open = self.open();
        let after = open.iter().find(|id| self.place(id).is_some_and(|at| at >= place));
        self.at = after.or(open.first()).cloned();
    }

    fn open(&self) -> Vec<String> {
        let ids = self.questions.iter().map(|known| &known.approval.id);
        ids.filter(|id| !self.later.contains(*id) && !self.sent.contains(*id)).cloned().collect()
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.questions.iter().position(|known| known.approval.id == id)
    }
}
