//! Decides what a chat is called, from a model's proposal or from the first human message.
//! Called when a chat that nobody has named becomes idle. Never overrides a name given by a person:
//! the caller asks only when there is none.

use crate::display::without_hidden;

const FEWEST_WORDS: usize = 3;
const MOST_WORDS: usize = 6;
const MOST_CHARACTERS: usize = 80;
// Enough characters for a title in a script that is written without spaces.
const FEWEST_UNSPACED_CHARACTERS: usize = 4;

const QUOTES: &[char] =
    &['"', '\'', '“', '”', '‘', '’', '„', '«', '»', '‹', '›', '「', '」', '『', '』'];
const MARKS: &[char] = &['*', '`', '_', '~'];
const LINE_MARKS: &[char] = &['#', '>', '-', '•', '–', '—'];
const PUNCTUATION: &[char] =
    &['.', ',', ';', ':', '!', '?', '…', '-', '–', '—', '。', '、', '，', '；', '：', '！', '？'];

/// Makes a title of a model's proposal. None when it is no title of at least three words.
pub fn clean(proposal: &str) -> Option<String> {
    // A code fence or a lone `Title:` may come before the title.
    let lines = proposal.lines().filter(|line| !is_fence(line));
    let words = lines.map(title_words).find(|words| !words.is_empty())?;
    let words = cut(words);
    let enough = words.len() >= FEWEST_WORDS || is_unspaced_title(&words);
    enough.then(|| words.join(" "))
}

/// Makes a title of the first words of a message, without its mentions.
pub fn from_message(text: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines() {
        let spoken = line.split_whitespace().filter(|word| !is_mention(word));
        let spoken = spoken.map(|word| plain(word).trim_matches(QUOTES).to_owned());
        words.extend(spoken.filter(|word| has_content(word)).take(MOST_WORDS));
        // A first line that says enough is the subject; what follows are details.
        if words.len() >= FEWEST_WORDS {
            break;
        }
    }
    let title = cut(words).join(" ");
    let title = title.trim_start_matches(LINE_MARKS);
    let mut characters = title.chars();
    let first = characters.next()?;
    Some(first.to_uppercase().chain(characters).collect())
}

fn title_words(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split_whitespace().map(plain).collect();
    let line = words.join(" ");
    let line = trim(&line);
    let line = trim(without_label(line));
    line.split_whitespace().filter(|word| has_content(word)).map(str::to_owned).collect()
}

/// Whether a line only begins or ends code, with at most the name of a language.
fn is_fence(line: &str) -> bool {
    let language = line.trim().strip_prefix("```");
    language.is_some_and(|name| !name.contains('`') && !name.trim().contains(' '))
}

fn without_label(line: &str) -> &str {
    let label = line.split_once(':').filter(|(label, _)| {
        ["title", "chat title"].iter().any(|name| trim(label).eq_ignore_ascii_case(name))
    });
    // A label with nothing after it is no title: `Title:` has lost its colon to `trim` here.
    match label {
        Some((_, title)) => title,
        None if line.eq_ignore_ascii_case("title") => "",
        None => line,
    }
}

fn trim(line: &str) -> &str {
    let start: Vec<char> = [QUOTES, MARKS, LINE_MARKS, &[' ']].concat();
    trim_end(line.trim_start_matches(start.as_slice()))
}

fn trim_end(line: &str) -> &str {
    let end: Vec<char> = [QUOTES, MARKS, PUNCTUATION, &[' ']].concat();
    line.trim_end_matches(end.as_slice())
}

fn plain(word: &str) -> String {
    without_hidden(word).trim_matches(MARKS).to_owned()
}

fn has_content(word: &str) -> bool {
    let decoration = [QUOTES, MARKS, LINE_MARKS, PUNCTUATION].concat();
    !word.trim_matches(decoration.as_slice()).is_empty()
}

fn is_mention(word: &str) -> bool {
    let name = word.strip_prefix('@').and_then(|name| name.chars().next());
    name.is_some_and(char::is_alphanumeric)
}

// Whole words are dropped as long as the title is too long; only a lone word is cut inside.
fn cut(mut words: Vec<String>) -> Vec<String> {
    words.truncate(MOST_WORDS);
    while words.len() > 1 && length(&words) > MOST_CHARACTERS {
        words.pop();
    }
    if let Some(last) = words.last_mut() {
        let short: String = last.chars().take(MOST_CHARACTERS).collect();
        trim_end(&short).clone_into(last);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn length(words: &[String]) -> usize {
    let spaces = words.len().saturating_sub(1);
    words.iter().map(|word| word.chars().count()).sum::<usize>() + spaces
}

// Thai, Lao, Burmese, Khmer, Japanese and Chinese put no spaces between words.
fn is_unspaced_title(words: &[String]) -> bool {
    let unspaced = words.iter().flat_map(|word| word.chars()).filter(|character| {
        matches!(character,
            '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
            | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
    });
    unspaced.count() >= FEWEST_UNSPACED_CHARACTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_becomes_a_plain_title() {
        for (proposal, expected) in [
            ("List Project Files", "List Project Files"),
            ("\n\n  \"List Project Files.\"  \nmore", "List Project Files"),
            ("# **List Project Files**", "List Project Files"),
            ("Title: List `Project` Files!", "List Project Files"),
            ("**Title:** “List Project Files”", "List Project Files"),
            ("\"Title: List Project Files\"", "List Project Files"),
            ("Title:\nList Project Files", "List Project Files"),
            ("```\nList Project Files\n```", "List Project Files"),
            ("```text\nList Project Files\n```", "List Project Files"),
            ("```List Project Files```", "List Project Files"),
            ("- List \t Project\u{a0}Files ...", "List Project Files"),
            ("List\u{202e} Pro\u{200b}ject \u{1b}Files", "List Project Files"),
            ("One two, three, four, five, six, seven", "One two, three, four, five, six"),
            ("Learning C# the Hard Way", "Learning C# the Hard Way"),
            ("Ada's Notes: Engines & Numbers", "Ada's Notes: Engines & Numbers"),
            ("Rust - Ownership Rules Explained", "Rust Ownership Rules Explained"),
            ("プロジェクトの一覧。", "プロジェクトの一覧"),
        ] {
            assert_eq!(clean(proposal).as_deref(), Some(expected), "{proposal:?}");
        }
    }

    #[test]
    fn what_is_no_title_is_refused() {
        for proposal in [
            "",
            " \n\t",
            "***",
            "Two words",
            "Title: Two words",
            "\"\"",
            "Title:",
            "- - - -",
            "你好",
        ] {
            assert_eq!(clean(proposal), None, "{proposal:?}");
        }
        let long = "x".repeat(60);
        assert_eq!(clean(&format!("{long} {long} {long}")), None);
    }

    #[test]
    fn a_title_has_at_most_six_words_and_eighty_characters() {
        let title =
            clean("Incomprehensibilities Counterrevolutionaries Uncharacteristically Long a b c")
                .unwrap();
        assert_eq!(
            title,
            "Incomprehensibilities Counterrevolutionaries Uncharacteristically Long a b"
        );
        let title = clean(&["wordofeighteenchar"; 6].join(" ")).unwrap();
        assert_eq!(title.split(' ').count(), 4);
        assert_eq!(from_message(&"é".repeat(200)).unwrap().chars().count(), 80);
    }

    #[test]
    fn a_message_gives_its_first_words_without_mentions() {
        for (text, expected) in [
            ("@ada list the files in this folder please", "List the files in this folder"),
            ("hi @ada, @bob: what is up?", "Hi what is up"),
            ("fix it", "Fix it"),
            ("fix it\nthe build is broken since monday", "Fix it the build is broken"),
            ("Fix the build\nit broke", "Fix the build"),
            ("@ada\n\nélan vital", "Élan vital"),
            ("```\ncargo test\n```", "Cargo test"),
            ("mail ada@example.org now", "Mail ada@example.org now"),
            ("\u{202e}hello", "Hello"),
            ("\"quoted words\" are kept, mostly", "Quoted words are kept, mostly"),
        ] {
            assert_eq!(from_message(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn a_message_without_words_gives_no_title() {
        for text in ["", " \n", "@ada", "@ada, @bob", "...", "\u{200b}"] {
            assert_eq!(from_message(text), None, "{text:?}");
        }
    }
}
