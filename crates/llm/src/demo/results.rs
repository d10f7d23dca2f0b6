//! Puts a tool's result into a sentence and its first lines.
//! Called by `demo`. Says what is known of how a call ended and no more; the words it looks for are those the prompt
//! and the shell tool use.

use super::conversation::Ended;
use super::phrases::{block, defused};

const LINES_SHOWN: usize = 10;
const EDITED: &str = "[the user changed the arguments of this call to ";

/// How a result begins when the call did not simply end, and what that means.
const ENDINGS: [(&str, &str); 15] = [
    ("denied by the user", "was denied and did not run"),
    ("denied by rule ", "was denied and did not run"),
    ("denied by the preset ", "was denied and did not run"),
    ("denied by this world's policy", "was denied and did not run"),
    ("denied: this needs approval", "was denied and did not run"),
    ("denied: nobody was there to decide", "was denied and did not run"),
    (
        "not executed: nobody answered",
        "did not run, because nobody answered the request for approval",
    ),
    ("interrupted: ", "was interrupted; it may or may not have taken effect"),
    ("timed out and was killed", "took too long and was killed"),
    ("cancelled by ", "was cancelled"),
    ("started in the background, id ", "was started in the background"),
    ("error: ", "was refused"),
    ("cannot run `", "could not run"),
    ("the result of this call was removed", "has no result any more"),
    ("(no output)", "ended without any output"),
];

const CLOSINGS: [&str; 4] = ["exit code ", "killed by signal ", "timed out after ", "cancelled"];

pub fn summary(ended: &Ended) -> String {
    let (edited, text) = without_edit(&ended.text);
    let edited = if edited { ", with arguments changed by the user," } else { "" };
    let (text, closing) = without_closing_line(text);
    let known = ENDINGS.iter().find(|(start, _)| text.starts_with(start));
    let happened = match (closing, known) {
        (Some(closing), _) => format!("ended badly ({closing})"),
        (None, Some((_, meaning))) => (*meaning).to_owned(),
        (None, None) if ended.is_command => "ended well (exit code 0)".to_owned(),
        (None, None) => "came back".to_owned(),
    };
    let call = defused(&ended.call.replace(['\n', '`'], " "));
    match text.trim_end() {
        "" | "(no output)" => format!("`{call}`{edited} {happened}."),
        text => format!("`{call}`{edited} {happened}:\n{}", block(text, LINES_SHOWN)),
    }
}

fn without_edit(text: &str) -> (bool, &str) {
    match text.strip_prefix(EDITED).and_then(|rest| rest.split_once("]\n")) {
        Some((_, rest)) => (true, rest),
        None => (false, text),
    }
}

/// The line by which the shell tool tells that a command failed: `[exit code 2]`.
fn without_closing_line(text: &str) -> (&str, Option<&str>) {
    let trimmed = text.trim_end();
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    let closing = last
        .strip_prefix('[')
        .and_then(|line| line.strip_suffix(']'))
        .filter(|line| CLOSINGS.iter().any(|start| line.starts_with(start)));
    match closing {
        Some(_) => (before, closing),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary_of(text: &str) -> String {
        let call = "ls".to_owned();
        summary(&Ended { call, is_command: true, text: text.to_owned() })
    }

    #[test]
    fn results_are_summarised_as_they_ended() {
        for (result, expected) in [
            ("one\n@bob two\n", "`ls` ended well (exit code 0):\n> one\n> @bob two"),
            ("(no output)", "`ls` ended without any output."),
            ("oh\n[exit code 2]", "`ls` ended badly (exit code 2):\n> oh"),
            ("[killed by signal 9]", "`ls` ended badly (killed by signal 9)."),
            (
                "denied by the user: no",
                "`ls` was denied and did not run:\n> denied by the user: no",
            ),
            (
                "[the user changed the arguments of this call to {}]\nfine",
                "`ls`, with arguments changed by the user, ended well (exit code 0):\n> fine",
            ),
        ] {
            assert_eq!(summary_of(result), expected);
        }
        for (result, expected) in [
            ("not executed: nobody answered the request for approval in time", "nobody answered"),
            ("cancelled by ada before it started", "was cancelled"),
            ("interrupted: the program stopped", "may or may not have taken effect"),
            ("timed out and was killed. x", "took too long and was killed"),
            ("error: unknown tool", "was refused"),
            ("cannot run `ls`: not found", "could not run"),
        ] {
            let summary = summary_of(result);
            assert!(summary.contains(expected) && summary.contains(result), "{summary}");
        }
        let long = summary_of(&"line\n".repeat(30));
        assert!(long.ends_with("> line\n> ... and 20 more lines"), "{long}");
    }
}
