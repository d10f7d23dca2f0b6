//! Keeps messages in the order in which they were entered: one is on its way at a time, the others wait.
//! Used by `run`. Everything that is no message may overtake them.

use std::collections::VecDeque;

use super::effect::Effect;
use super::perform::Place;

#[derive(Debug, Default)]
pub struct Order {
    waiting: VecDeque<(Place, Effect)>,
    on_its_way: bool,
}

impl Order {
    /// Whether the order of something matters.
    pub fn matters(effect: &Effect) -> bool {
        matches!(effect, Effect::Post { .. } | Effect::Edit { .. })
    }

    /// Takes a message in, with the chat it was entered in. Gives back the one to be sent now.
    pub fn add(&mut self, place: Place, message: Effect) -> Option<(Place, Effect)> {
        self.waiting.push_back((place, message));
        self.next()
    }

    /// The one that was sent is answered. Gives back the one to be sent now.
    pub fn done(&mut self) -> Option<(Place, Effect)> {
        self.on_its_way = false;
        self.next()
    }

    fn next(&mut self) -> Option<(Place, Effect)> {
        if self.on_its_way {
            return None;
        }
        let next = self.waiting.pop_front();
        self.on_its_way = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(number: u64) -> Effect {
        Effect::Post { number, text: String::new(), key: String::new() }
    }

    fn place(chat: &str) -> Place {
        let world = serde_json::from_str(r#"{"id": "demo", "name": "Demo"}"#).unwrap();
        Place { world, chat: chat.to_owned() }
    }

    fn told(next: Option<(Place, Effect)>) -> Option<(String, Effect)> {
        next.map(|(place, effect)| (place.chat, effect))
    }

    #[test]
    fn a_message_waits_until_the_one_before_it_is_answered() {
        let mut order = Order::default();
        let one = |chat: &str, number| Some((chat.to_owned(), post(number)));
        assert_eq!(told(order.add(place("a"), post(1))), one("a", 1));
        assert_eq!(told(order.add(place("a"), post(2))), None);
        assert_eq!(told(order.add(place("b"), post(3))), None);
        assert_eq!(told(order.done()), one("a", 2), "it goes where it was entered");
        assert_eq!(told(order.done()), one("b", 3));
        assert_eq!(told(order.done()), None);
        assert_eq!(told(order.add(place("b"), post(4))), one("b", 4));
        assert!(Order::matters(&post(1)) && !Order::matters(&Effect::Retry));
    }
}
