//! Decides how ids and keys that this vendor would refuse as too long are written so that it takes them.
//! Called for every call's id and for the key of the prompt cache, on the way out.
//! The same text is always written the same way, or a call and its result would lose each other.

use std::borrow::Cow;

use crate::names::print;

/// Characters of a call's id.
pub(super) const LONGEST: usize = 64;

/// A text of at most so many characters. The end of a text that is too long tells it from others that begin alike.
pub(super) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest || text.chars().count() <= longest {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(longest.saturating_sub(17)).collect();
    Cow::Owned(format!("{kept}_{:016x}", print(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_told_apart() {
        let (one, other) = (format!("{}1", "é".repeat(64)), format!("{}2", "é".repeat(64)));
        assert_eq!(shortened(&one, 64).chars().count(), 64);
        assert_ne!(shortened(&one, 64), shortened(&other, 64));
        assert_eq!(shortened(&one, 64), shortened(&one, 64));
        assert_eq!(shortened("short", 64), "short");
    }
}
