//! Checks which keys count: told as what is drawn and pressed, and when.

use super::*;

const MOMENT: Duration = Duration::from_millis(50);

/// Somebody before a screen.
struct Person {
    attention: Attention,
    sight: Option<Sight>,
    now: Instant,
}

fn sight(id: &str, step: u64, turn: u64) -> Sight {
    Sight { id: id.to_owned(), step, turn }
}

impl Person {
    /// Before a request that was read.
    fn reading(id: &str) -> Self {
        let mut person = Self { attention: Attention::default(), sight: None, now: Instant::now() };
        person.sees(Some(sight(id, 0, 0)));
        person.waits(UNREAD);
        person
    }

    fn sees(&mut self, sight: Option<Sight>) {
        self.attention.look(sight.as_ref(), self.now);
        self.attention.drawn(self.now);
        self.sight = sight;
    }

    fn waits(&mut self, time: Duration) {
        self.now += time;
    }

    fn presses(&mut self, key: char) -> Result<(), Untaken> {
        let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
        self.attention.press(key, self.now);
        let sight = self.sight.clone().unwrap();
        let allowed = self.attention.allow(&sight, key, self.now);
        if allowed.is_ok() {
            self.attention.took(key, self.now);
        }
        allowed
    }
}

#[test]
fn what_was_read_is_answered() {
    assert_eq!(Person::reading("apr_1").presses('o'), Ok(()));
}

#[test]
fn nothing_is_answered_before_it_could_be_read() {
    let mut person = Person::reading("apr_1");
    for next in [sight("apr_1", 1, 0), sight("apr_1", 1, 1)] {
        person.sees(Some(next));
        person.waits(UNREAD - Duration::from_millis(1));
        assert_eq!(person.presses('o'), Err(Untaken::TooSoon));
        person.waits(PAUSE);
        assert_eq!(person.presses('o'), Ok(()), "a step and a turn are read like a request");
        person.waits(HELD);
    }
    // A step that was not drawn yet is not what is on the screen.
    person.sight = Some(sight("apr_1", 2, 1));
    assert_eq!(person.presses('o'), Err(Untaken::TooSoon));
    person.attention.unsee();
    person.waits(PAUSE);
    assert!(!person.attention.is_ready(person.now), "what is covered is not read");
}

#[test]
fn letters_of_a_text_are_no_answers() {
    let mut person = Person::reading("apr_1");
    person.attention.stray(person.now);
    for _ in 0..5 {
        person.waits(PAUSE - Duration::from_millis(1));
        assert_eq!(person.presses('o'), Err(Untaken::Text));
        assert!(!person.attention.is_ready(person.now));
    }
    person.waits(PAUSE);
    assert_eq!(person.presses('o'), Ok(()));
}

#[test]
fn a_key_that_comes_with_others_is_no_answer() {
    let mut person = Person::reading("apr_1");
    person.attention.press(KeyCode::Enter.into(), person.now);
    person.waits(BURST - Duration::from_millis(1));
    assert_eq!(person.presses('o'), Err(Untaken::Text));
}

#[test]
fn a_key_that_is_held_answers_once() {
    let mut person = Person::reading("apr_1");
    assert_eq!(person.presses('o'), Ok(()));
    person.attention.leave();
    person.waits(MOMENT);
    person.sees(Some(sight("apr_2", 0, 0)));
    // As terminals send it: again after a while, then many times.
    person.waits(Duration::from_millis(660));
    assert_eq!(person.presses('o'), Err(Untaken::Held));
    for _ in 0..60 {
        person.waits(MOMENT);
        assert_eq!(person.presses('o'), Err(Untaken::Held));
    }
    person.waits(HELD);
    assert_eq!(person.presses('o'), Ok(()), "it was let go");
}

#[test]
fn another_key_is_not_the_one_that_is_held() {
    let mut person = Person::reading("apr_1");
    assert_eq!(person.presses('o'), Ok(()));
    person.attention.leave();
    person.sees(Some(sight("apr_2", 0, 0)));
    person.waits(UNREAD);
    assert_eq!(person.presses('d'), Ok(()));
}

#[test]
fn a_key_for_one_that_was_taken_away_answers_no_other() {
    let mut person = Person::reading("apr_1");
    person.sees(Some(sight("apr_2", 0, 0)));
    person.waits(Duration::from_secs(60));
    assert_eq!(person.presses('o'), Err(Untaken::Another));
    assert_eq!(person.presses('o'), Err(Untaken::TooSoon), "it is still to be read");
    person.waits(PAUSE);
    assert_eq!(person.presses('o'), Ok(()));
    // What was only covered for a moment is no other.
    person.sees(None);
    person.sees(Some(sight("apr_2", 0, 0)));
    person.waits(HELD);
    assert_eq!(person.presses('o'), Ok(()));
    // Also where there was none for a moment.
    person.sees(None);
    person.waits(GONE - Duration::from_millis(1));
    person.sees(Some(sight("apr_3", 0, 0)));
    person.waits(HELD);
    assert_eq!(person.presses('o'), Err(Untaken::Another));
}

#[test]
fn whoever_turns_to_another_knows_that_it_is_one() {
    let mut person = Person::reading("apr_1");
    person.sees(Some(sight("apr_2", 0, 0)));
    person.sees(Some(sight("apr_2", 0, 1)));
    person.waits(UNREAD);
    assert_eq!(person.presses('o'), Ok(()));
}

#[test]
fn what_comes_after_ones_own_answer_is_no_surprise() {
    let mut person = Person::reading("apr_1");
    person.attention.leave();
    person.sees(Some(sight("apr_2", 0, 0)));
    person.waits(UNREAD);
    assert_eq!(person.presses('o'), Ok(()));
    person.attention.leave();
    person.sees(None);
    person.sees(Some(sight("apr_3", 0, 0)));
    person.waits(HELD);
    assert_eq!(person.presses('o'), Ok(()));
}
