//! Decides under which id a call is told to a host that is picky about ids.
//! Asked for a call and for its result alike, and gives both the same: an id depends on nothing but the id it stands
//! for. Never touches an id that the host itself gave.

use std::borrow::Cow;

use super::flavour::Ids;
use crate::names::print;

/// The longest id that every host takes.
const LONGEST: usize = 40;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An id in the shape the host wants.
pub(super) fn shaped(id: &str, ids: Ids) -> Cow<'_, str> {
    match ids {
        Ids::Short if is_short(id) => Cow::Borrowed(id),
        Ids::Short => Cow::Owned(format!("call_{}", digest(id))),
        Ids::Nine if is_nine(id) => Cow::Borrowed(id),
        Ids::Nine => Cow::Owned(digest(id)),
    }
}

fn is_short(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= LONGEST
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn is_nine(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Nine letters and digits that stand for the id.
fn digest(id: &str) -> String {
    let mut hash = print(id);
    let mut text = String::with_capacity(9);
    for _ in 0..9 {
        let digit = DIGITS.get((hash % 62) as usize).copied().unwrap_or(b'0');
        text.push(char::from(digit));
        hash /= 62;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_in_the_right_shape_stays() {
        assert_eq!(shaped("D681PevKs", Ids::Nine), "D681PevKs");
        assert_eq!(shaped("call_7-x", Ids::Short), "call_7-x");
    }

    #[test]
    fn any_other_id_gets_the_shape_and_two_ids_stay_two() {
        for id in ["", "call_1", "call_2", "toolu_01A09q90qw90lq917835lq9", "functions.f:0"] {
            assert!(is_nine(&shaped(id, Ids::Nine)), "{id}");
            assert_eq!(shaped(id, Ids::Nine), shaped(id, Ids::Nine));
        }
        assert_ne!(shaped("call_1", Ids::Nine), shaped("call_2", Ids::Nine));
        let long = format!("call_chatcmpl-{}_0", "a".repeat(40));
        for id in ["", "functions.f:0", long.as_str()] {
            assert!(is_short(&shaped(id, Ids::Short)), "{id}");
        }
    }
}
