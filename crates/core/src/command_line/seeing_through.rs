//! Decides what a command runs besides itself.
//! Called for every simple command of a script and for a call's own program. Whatever it cannot follow it says so
//! with a gap, and still offers every word that might be a program to whoever forbids one.

use super::word::{self, Word};
use super::wrapper::{Grammar, Prefix, Wrapper, wrapper};
use super::{DEPTH_LIMIT, Gap, Reading, name_of};

/// Words of one command that are tried as programs when it is not known which of them is one.
const CANDIDATE_LIMIT: usize = 16;

impl Reading {
    /// One command: itself, and what it runs.
    pub(super) fn run(&mut self, words: &[Word], depth: usize) {
        let Some((program, parameters)) = words.split_first() else { return };
        if depth > DEPTH_LIMIT {
            return self.gap(Gap::TooDeep);
        }
        self.program(program);
        for parameter in parameters {
            if parameter.text.chars().any(word::is_deceptive) {
                self.gap(Gap::Characters);
            }
        }
        self.push(&program.text, parameters);
        let name = name_of(&program.text).to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        self.arithmetic(name, parameters);
        self.git(name, parameters);
        if let Some(wrapper) = wrapper(name).or_else(|| wrapper(name_of(&program.text))) {
            self.see_through(wrapper, name, parameters, depth);
        }
    }

    fn program(&mut self, program: &Word) {
        if let Some(doubt) = program.doubt {
            self.gap(doubt);
        }
        if program.pattern {
            self.gap(Gap::FileNames);
        }
        let text = &program.text;
        if text.is_empty() {
            self.gap(Gap::Unreadable);
        }
        // Letters of other alphabets look like ours, and a home folder is only known when it runs.
        let is_plain = |character: char| character.is_ascii_graphic() || character == ' ';
        if !text.chars().all(is_plain) || text.starts_with('~') {
            self.gap(Gap::Characters);
        }
    }

    // These evaluate an index inside a variable's name, even one that was quoted.
    fn arithmetic(&mut self, name: &str, parameters: &[Word]) {
        let evaluates = matches!(name, "test" | "[" | "printf" | "wait" | "unset" | "let");
        let alive = |word: &Word| word.text.contains('[') && word.text.contains(['$', '`']);
        if evaluates && parameters.iter().any(alive) {
            self.gap(Gap::Expansion);
        }
        if name == "printf" && parameters.first().is_some_and(|word| word.text.starts_with("-v")) {
            self.gap(Gap::Redefinition);
        }
    }

    // Options with which git runs a program of the caller's choice, or writes where it is told.
    fn git(&mut self, name: &str, parameters: &[Word]) {
        const OPTIONS: [&str; 11] = [
            "-c",
            "--config-env",
            "--exec-path",
            "--exec",
            "--upload-pack",
            "--receive-pack",
            "--open-files-in-pager",
            "-O",
            "--ext-diff",
            "--output",
            "--extcmd",
        ];
        let acts = |word: &Word| {
            let option = word.text.split('=').next().unwrap_or_default();
            let runs = matches!(option, "-x" | "-u" | "foreach" | "bisect" | "filter-branch");
            // Git completes what is cut short: `--upload-pa`.
            let short = option.len() > 2
                && option.starts_with("--")
                && OPTIONS.iter().any(|known| known.starts_with(option));
            runs || short || OPTIONS.contains(&option) || word.text.starts_with("-O")
        };
        if name == "git" && parameters.iter().any(acts) {
            self.gap(Gap::Options);
        }
    }

    fn see_through(&mut self, wrapper: Wrapper, name: &str, parameters: &[Word], depth: usize) {
        match wrapper {
            Wrapper::Prefix(prefix) => self.prefix(prefix, name, parameters, depth + 1),
            Wrapper::Env => self.env(parameters, depth + 1),
            Wrapper::Find => self.find(parameters, depth + 1),
            Wrapper::Shell(grammar) => self.shell(grammar, parameters, depth + 1),
            Wrapper::Interpreter(options) => self.interpreter(options, parameters),
            Wrapper::Awk => self.awk(parameters),
            Wrapper::Remote => {
                self.gap(Gap::ForeignCode);
                self.candidates(parameters, depth + 1);
                self.joined(parameters, depth + 1);
            }
            Wrapper::Somehow => {
                self.gap(Gap::Options);
                self.candidates(parameters, depth + 1);
            }
            Wrapper::Builtin => {
                self.gap(Gap::Redefinition);
                if matches!(name, "eval" | "trap") {
                    self.joined(parameters, depth + 1);
                }
                self.candidates(parameters, depth + 1);
            }
        }
    }

    fn prefix(&mut self, prefix: Prefix, name: &str, parameters: &[Word], depth: usize) {
        let mut rest = parameters;
        let mut own = prefix.own;
        while let Some((word, after)) = rest.split_first() {
            let text = word.text.as_str();
            if text == "--" {
                rest = after;
                break;
            }
            if prefix.assigns && is_assignment(text) {
                self.assignment(text);
                rest = after;
                continue;
            }
            // `nice -10` and `timeout 5`: what is a number is not a program.
            let joined = prefix.valued.iter().any(|option| is_joined(option, text));
            let number = text.len() > 1 && text.bytes().skip(1).all(|byte| byte.is_ascii_digit());
            match text.strip_prefix('-') {
                None => break,
                Some(_) if prefix.valued.contains(&text) => {
                    rest = after.split_first().map_or(&[], |(_, after)| after);
                }
                Some(_) if prefix.flags.contains(&text) || joined || name == "nice" && number => {
                    rest = after;
                }
                // Asks where a command is, and runs nothing.
                Some("v" | "V") if name == "command" => return,
                Some(_) => {
                    self.gap(Gap::Options);
                    return self.candidates(parameters, depth);
                }
            }
        }
        while own > 0 && !rest.is_empty() {
            rest = rest.split_first().map_or(&[], |(_, after)| after);
            own -= 1;
        }
        let first = self.line.commands.len();
        self.run(rest, depth);
        // What it reads becomes parameters, which nobody knows.
        if matches!(name, "xargs" | "gxargs") {
            self.line.commands.iter_mut().skip(first).for_each(|command| command.is_open = true);
        }
    }

    fn env(&mut self, parameters: &[Word], depth: usize) {
        let mut rest = parameters;
        while let Some((word, after)) = rest.split_first() {
            let text = word.text.as_str();
            rest = match text {
                "--" => {
                    rest = after;
                    break;
                }
                "-" | "-i" | "--ignore-environment" | "-v" | "--debug" | "-0" | "--null" => after,
                "-u" | "--unset" | "-C" | "--chdir" => {
                    after.split_first().map_or(&[], |(_, after)| after)
                }
                _ if text.starts_with("--unset=") || text.starts_with("--chdir=") => after,
                _ if is_assignment(text) => {
                    self.assignment(text);
                    after
                }
                _ if text.starts_with('-') => {
                    self.gap(Gap::Options);
                    self.joined(parameters, depth);
                    return self.candidates(parameters, depth);
                }
                _ => break,
            };
        }
        while let Some((word, after)) =
            rest.split_first().filter(|(word, _)| is_assignment(&word.text))
        {
            self.assignment(&word.text);
            rest = after;
        }
        self.run(rest, depth);
    }

    fn find(&mut self, parameters: &[Word], depth: usize) {
        let mut rest = parameters;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            match word.text.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let ends = |word: &Word| matches!(word.text.as_str(), ";" | "+");
                    let end = after.iter().position(ends).unwrap_or(after.len());
                    let (command, after) = after.split_at_checked(end).unwrap_or((after, &[]));
                    if command.first().is_some_and(|word| word.text.contains("{}")) {
                        self.gap(Gap::Expansion);
                    }
                    // A name may be put into a script, where it is code.
                    if command
                        .iter()
                        .skip(1)
                        .any(|word| word.text.contains("{}") && word.text != "{}")
                    {
                        self.gap(Gap::Expansion);
                    }
                    self.run(command, depth);
                    rest = after;
                }
                "-delete" => self.push("rm", &[]),
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => self.gap(Gap::Redirection),
                _ => {}
            }
        }
    }

    fn shell(&mut self, grammar: Grammar, parameters: &[Word], depth: usize) {
        if grammar == Grammar::Another {
            self.gap(Gap::ForeignCode);
        }
        let mut script = false;
        let mut rest = parameters;
        while let Some((word, after)) = rest.split_first() {
            let text = word.text.as_str();
            if text == "--" || text == "-" {
                rest = after;
                break;
            }
            let Some(option) = text.strip_prefix(['-', '+']) else { break };
            rest = after;
            let long = option.starts_with('-');
            if (long && !matches!(option, "-login" | "-posix" | "-norc" | "-noprofile"))
                || (!long && option.contains(['i', 's', 'D']))
            {
                self.gap(Gap::Options);
            }
            script |= !long && option.contains('c');
            let valued =
                matches!(option, "-rcfile" | "-init-file") || !long && option.ends_with(['o', 'O']);
            if valued {
                rest = rest.split_first().map_or(&[], |(_, after)| after);
            }
        }
        match rest.first() {
            Some(word) if script => {
                if let Some(doubt) = word.doubt {
                    self.gap(doubt);
                }
                self.script(&word.text, depth);
            }
            _ => {
                self.gap(Gap::Input);
                self.candidates(parameters, depth);
            }
        }
    }

    fn interpreter(&mut self, options: &[&str], parameters: &[Word]) {
        let code = |word: &Word| {
            options.iter().any(|option| {
                let text = word.text.as_str();
                text == *option
                    || (option.len() == 2 && text.starts_with(option))
                    || (option.starts_with("--") && is_joined(option, text))
                    // Short options may stand together: `perl -ne`, `python -Bc`.
                    || option.strip_prefix('-').is_some_and(|letter| {
                        letter.len() == 1
                            && text.starts_with('-')
                            && !text.starts_with("--")
                            && text.contains(letter)
                    })
            })
        };
        if parameters.iter().any(code) {
            self.gap(Gap::ForeignCode);
        }
        if !parameters.iter().any(|word| !word.text.starts_with('-')) {
            self.gap(Gap::Input);
        }
    }

    fn awk(&mut self, parameters: &[Word]) {
        let acts = ["system", "|", ">", "getline", "@"];
        let harmless = |word: &Word| {
            !acts.iter().any(|act| word.text.contains(act))
                && !["-f", "-E", "-i", "-l", "--file", "--exec", "--include", "--load"]
                    .iter()
                    .any(|option| word.text.starts_with(option))
        };
        if !parameters.iter().all(harmless) {
            self.gap(Gap::ForeignCode);
        }
    }

    /// Every word that may be a program, with what follows it.
    fn candidates(&mut self, words: &[Word], depth: usize) {
        if depth > DEPTH_LIMIT {
            return self.gap(Gap::TooDeep);
        }
        let mut rest = words;
        let mut tried = 0;
        while let Some((word, after)) = rest.split_first() {
            if tried >= CANDIDATE_LIMIT {
                break;
            }
            if !word.text.starts_with('-') && !word.text.is_empty() {
                tried += 1;
                self.push(&word.text, after);
                if word.text.contains([' ', ';', '\n', '|', '&']) {
                    self.script(&word.text, depth + 1);
                }
                // A shell or a wrapper among them has a say of its own; it sees what follows it.
                let name = name_of(&word.text);
                if wrapper(name).is_some() {
                    return self.run(rest, depth + 1);
                }
            }
            rest = after;
        }
    }

    /// Words that something joins and reads as a script.
    fn joined(&mut self, words: &[Word], depth: usize) {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        self.script(&text.join(" "), depth);
    }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|character: char| character.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// `-n5`, `--max-args=5`.
fn is_joined(option: &str, text: &str) -> bool {
    match text.strip_prefix(option) {
        Some(value) if option.starts_with("--") => value.starts_with('='),
        Some(value) => !value.is_empty(),
        None => false,
    }
}
