//! Decides how the final text of an agent's turn addresses others.
//! Called when a turn ends in text, whether or not tools were called in it. Never decides who
//! answers: the finished text is routed like any other.

use std::collections::BTreeSet;

use super::{LineStart, Mention, Roster, is_separator, is_token_character, mention_of, same_agent};
use crate::ids::AgentId;
use crate::sender::Sender;

const TAG_OPENS: &str = "<world>";
const TAG_CLOSES: &str = "</world>";

/// Makes the final text of a turn ready to be posted by its author.
///
/// The author's own mentions leave the line starts; control tags leave the text and are obeyed;
/// without one, a reply to another agent that addresses nobody gets that agent's mention in front.
/// A text with nothing to say comes back empty, without mentions: it would only wake others up.
pub fn finish_reply(
    text: &str,
    author: &AgentId,
    answering: &Sender,
    auto_reply: bool,
    roster: &Roster<'_>,
) -> String {
    // Tags go first: a mention that follows a tag stands at the line start once the tag is gone.
    let (text, tags) = take_tags(text);
    let stops = tags.contains(&Tag::Stop);
    let targets = targets(&tags, author, roster);
    let text = if stops || !targets.is_empty() {
        remove_at_line_starts(&text, roster, |mention| mention.names_somebody())
    } else {
        remove_at_line_starts(&text, roster, |mention| mention.is_of(author))
    };
    if text.trim().is_empty() {
        return String::new();
    }
    if stops {
        return text;
    }
    if !targets.is_empty() {
        return targets.join("\n") + "\n" + &text;
    }
    match answering {
        Sender::Agent(other) if auto_reply && !addresses_somebody(&text, roster) => {
            match mention_from(other.as_str(), author, roster) {
                Some(mention) => mention + " " + &text,
                None => text,
            }
        }
        _ => text,
    }
}

// The mention that reaches the agent called so. None for the author, who never answers itself, and
// for an agent that has gone or whose id no mention can spell: the mention would reach nobody.
fn mention_from(name: &str, author: &AgentId, roster: &Roster<'_>) -> Option<String> {
    let id = roster.find(name)?;
    let reachable = id.as_str().chars().all(is_token_character) && !same_agent(id, author);
    reachable.then(|| mention_of(id))
}

// A reply that opens with `@human` is for the human, who is no agent but is somebody: putting
// another agent's mention before it would start the two agents talking again.
fn addresses_somebody(text: &str, roster: &Roster<'_>) -> bool {
    text.split('\n').any(|line| {
        let run = LineStart::read(line, roster).run;
        run.iter().any(Mention::names_somebody)
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Tag {
    Stop,
    /// The names as written: unknown ones are left out later.
    To(String),
}

impl Tag {
    fn read(body: &str) -> Option<Self> {
        let (word, names) = match body.split_once(':') {
            Some((word, names)) => (word.trim(), Some(names)),
            None => (body.trim(), None),
        };
        let is = |expected: &str| word.eq_ignore_ascii_case(expected);
        match names {
            None if is("stop") || is("done") || is("pass") => Some(Self::Stop),
            _ if is("to") => Some(Self::To(names.unwrap_or_default().to_owned())),
            _ => None,
        }
    }
}

// Looks for a tag each time the kept text ends in `>`, so that one pass also finds a tag that only
// comes together when the tag inside it is gone. Other `<world>` elements are ordinary text.
fn take_tags(text: &str) -> (String, Vec<Tag>) {
    let mut kept = String::with_capacity(text.len());
    let mut tags = Vec::new();
    for piece in text.split_inclusive('>') {
        kept.push_str(piece);
        if let Some((start, tag)) = tag_at_end(&kept) {
            kept.truncate(start);
            tags.push(tag);
        }
    }
    if !tags.is_empty() {
        kept = kept.trim().to_owned();
    }
    (kept, tags)
}

fn tag_at_end(kept: &str) -> Option<(usize, Tag)> {
    let inside = strip_suffix_in_any_case(kept, TAG_CLOSES)?;
    let (before, body) = inside.rsplit_once('>')?;
    let opening = inside.get(..=before.len())?;
    let start = strip_suffix_in_any_case(opening, TAG_OPENS)?.len();
    Some((start, Tag::read(body)?))
}

fn strip_suffix_in_any_case<'t>(text: &'t str, suffix: &str) -> Option<&'t str> {
    let (start, end) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    end.eq_ignore_ascii_case(suffix).then_some(start)
}

// Names in a tag are separated by commas, so a display name with spaces in it works here.
fn targets(tags: &[Tag], author: &AgentId, roster: &Roster<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = tags.iter().flat_map(|tag| match tag {
        Tag::To(names) => names.split(','),
        Tag::Stop => "".split(','),
    });
    names
        .map(|name| name.trim().trim_start_matches('@'))
        .filter(|name| !name.is_empty())
        .filter_map(|name| match Sender::parse(name) {
            Sender::Human => Some("@human".to_owned()),
            _ => mention_from(name, author, roster),
        })
        .filter(|mention| seen.insert(mention.clone()))
        .collect()
}

fn remove_at_line_starts(
    text: &str,
    roster: &Roster<'_>,
    remove: impl Fn(&Mention<'_, '_>) -> bool,
) -> String {
    let lines = text.split('\n').filter_map(|line| {
        let kept = remove_at_line_start(line, roster, &remove);
        // A line that was nothing but removed mentions goes; one that was blank before stays.
        (!kept.trim().is_empty() || line.trim().is_empty()).then_some(kept)
    });
    lines.collect::<Vec<_>>().join("\n")
}

// What follows a removed mention moves to the line start and may open with a mention in its turn, as
// in `@me hi @me`. Each round goes on where the last one ended, so the work stays linear.
fn remove_at_line_start(
    line: &str,
    roster: &Roster<'_>,
    remove: impl Fn(&Mention<'_, '_>) -> bool,
) -> String {
    let mut kept = String::new();
    let mut rest = line;
    let mut greeting_possible = true;
    loop {
        let start = if greeting_possible {
            LineStart::read(rest, roster)
        } else {
            LineStart::read_run(rest, rest, roster)
        };
        if !start.run.iter().any(&remove) {
            kept.push_str(rest);
            return kept;
        }
        kept.push_str(start.lead);
        for mention in start.run.iter().filter(|mention| !remove(mention)) {
            kept.push_str(mention.text);
        }
        if start.run.last().is_some_and(|mention| !remove(mention)) {
            kept.push_str(start.tail);
            return kept;
        }
        greeting_possible &= start.lead.chars().all(is_separator) && start.run.iter().all(&remove);
        rest = without_colon(start.tail, roster);
        if rest.is_empty() {
            return kept.trim_end().to_owned();
        }
    }
}

// The colon of `@me: done` goes with the mention. In `@me: @bob is wrong` it stays, because bob is
// only spoken about and must not move to the line start.
fn without_colon<'t>(tail: &'t str, roster: &Roster<'_>) -> &'t str {
    match tail.strip_prefix(':') {
        Some(after) if LineStart::read(after, roster).run.is_empty() => {
            after.trim_start_matches(is_separator)
        }
        _ => tail,
    }
}
