//! Decides how much of a tool's result is kept in the log and shown to a model: the beginning and the end of a long
//! one, with a note that says how to read the rest.
//! Called by `prompt` for what a model sees and by the runtime before a result is recorded. Never stores anything.

use crate::event::{Output, Whole};
use crate::ids::CallId;

/// The tool by which a model reads on where a result was cut.
pub const READ_RESULT: &str = "read_result";

/// Characters that are kept in the log however little of a result a model is shown: people read it, too.
const LEAST_KEPT: usize = 4_000;
/// The note is never longer, whatever numbers it holds.
const LONGEST_NOTE: usize = 300;

/// How many characters of a result the log keeps, where a model is shown so many of it.
pub fn kept_in_log(result_limit: usize) -> usize {
    result_limit.max(LEAST_KEPT)
}

/// What the log keeps of a result whose text is too long for it, and the text that is to be stored beside it.
/// None: the result is short enough as it is.
pub fn set_apart(call: &CallId, output: &Output, kept: usize) -> Option<(Output, String)> {
    // Counting bytes first spares counting the characters of most results.
    if output.whole.is_some() || output.text.len() <= kept || output.text.chars().count() <= kept {
        return None;
    }
    let whole = Whole::of(&output.text);
    let total = usize::try_from(whole.characters).unwrap_or(usize::MAX);
    let text = cut(call, &output.text, total, kept);
    let details = output.details.clone();
    Some((Output { text, details, whole: Some(Box::new(whole)) }, output.text.clone()))
}

/// A result as a model is shown it. One whose text is stored elsewhere can be cut further; there is no more of it here.
pub fn shortened(call: &CallId, output: &Output, limit: usize) -> String {
    let present = output.text.chars().count();
    let (total, fits) = match &output.whole {
        None => (present, present <= limit),
        Some(whole) => {
            let total = usize::try_from(whole.characters).unwrap_or(usize::MAX);
            (total, present.saturating_sub(LONGEST_NOTE) <= limit)
        }
    };
    if fits { output.text.clone() } else { cut(call, &output.text, total, limit) }
}

/// The beginning and the end of a text that is `total` characters long when it is whole. The end often says how it went.
fn cut(call: &CallId, text: &str, total: usize, limit: usize) -> String {
    let end = limit / 5;
    let from = limit - end;
    let to = total.saturating_sub(end);
    let head: String = text.chars().take(from).collect();
    let tail = match end.checked_sub(1).and_then(|end| text.char_indices().nth_back(end)) {
        Some((start, _)) => text.get(start..).unwrap_or_default(),
        None => "",
    };
    format!(
        "{head}\n[cut: characters {from} to {to} of {total} are not shown; read them with \
         {READ_RESULT} {{\"id\": \"{call}\", \"offset\": {from}}}]\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(characters: usize) -> String {
        ('a'..='z').chain('ä'..='ü').cycle().take(characters).collect()
    }

    fn call() -> CallId {
        CallId::new("call_01m7ewk6wd59f78rxr2nrhe2rk")
    }

    #[test]
    fn a_text_that_was_set_apart_is_shown_as_if_it_were_whole() {
        let output = Output::text(long(50_000));
        let (kept, whole) = set_apart(&call(), &output, 20_000).unwrap();
        assert_eq!(whole, output.text);
        assert_eq!(kept.whole.as_deref(), Some(&Whole::of(&output.text)));
        for limit in [20_000, 10_000, 500, 7, 1, 0] {
            let expected = shortened(&call(), &output, limit);
            assert_eq!(shortened(&call(), &kept, limit), expected, "{limit}");
        }
        // There is no more of it to show, however much may be shown.
        for limit in [20_001, 49_999, 50_000, usize::MAX] {
            assert_eq!(shortened(&call(), &kept, limit), kept.text, "{limit}");
        }
    }

    #[test]
    fn only_what_is_too_long_is_set_apart_and_only_once() {
        let fits = Output::text("ä".repeat(100));
        assert_eq!(set_apart(&call(), &fits, 100), None);
        let (kept, _) = set_apart(&call(), &fits, 99).unwrap();
        assert_eq!(set_apart(&call(), &kept, 10), None);
        assert_eq!((kept_in_log(1), kept_in_log(usize::MAX)), (4_000, usize::MAX));
    }

    #[test]
    fn no_note_is_longer_than_is_reckoned_with() {
        let note = cut(&call(), "", usize::MAX, usize::MAX);
        assert!(note.chars().count() <= LONGEST_NOTE, "{note}");
    }
}
