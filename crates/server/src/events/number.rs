//! Decides which number an event has in front of clients: its `seq` and the `id:` of its frame.
//!
//! An event of the log has a position and becomes zero or more events for clients, told in order. Each has the number
//! `position * FAN_OUT + index`, so numbers grow within every stream, are the same in every scope, and one is enough to
//! go on from, also in the middle of what one event of the log became.

/// What one event of the log can become at most, rounded up. Part of what clients have stored: it never changes.
pub(super) const FAN_OUT: u64 = 16;

/// The place of an event in front of clients; also "everything up to here is known".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(pub u64);

impl Number {
    /// Before the first event.
    pub const START: Self = Self(0);

    pub fn new(position: u64, index: usize) -> Self {
        let index = u64::try_from(index).unwrap_or(u64::MAX).min(FAN_OUT - 1);
        Self(position.saturating_mul(FAN_OUT).saturating_add(index))
    }

    /// The last number that an event of the log can lead to.
    pub fn end_of(position: u64) -> Self {
        Self(position.saturating_mul(FAN_OUT).saturating_add(FAN_OUT - 1))
    }

    /// The last position of which something may come before this number.
    pub fn read_until(self) -> u64 {
        self.0.saturating_sub(1) / FAN_OUT
    }

    /// The position after which the log is to be read. What of the first event is known already is passed over.
    pub fn read_after(self) -> u64 {
        if self.0 % FAN_OUT == FAN_OUT - 1 {
            self.0 / FAN_OUT
        } else {
            (self.0 / FAN_OUT).saturating_sub(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sixteen_for_each_position_and_grow() {
        assert_eq!(FAN_OUT, 16, "clients have stored such numbers");
        assert_eq!(Number::new(3, 2), Number(50));
        assert_eq!(Number::end_of(3), Number(63));
        assert!(Number::end_of(3) < Number::new(4, 0));
    }

    #[test]
    fn reading_goes_on_at_the_event_that_is_known_in_part_and_after_one_known_in_full() {
        assert_eq!(Number::START.read_after(), 0);
        assert_eq!(Number::new(1, 0).read_after(), 0);
        assert_eq!(Number::new(7, 14).read_after(), 6);
        assert_eq!(Number::end_of(7).read_after(), 7);
        assert_eq!(Number(u64::MAX).read_after(), u64::MAX / 16);
        assert_eq!(Number::new(7, 0).read_until(), 6);
        assert_eq!(Number::new(7, 1).read_until(), 7);
        assert_eq!(Number::START.read_until(), 0);
    }
}
