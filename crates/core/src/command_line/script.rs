//! Decides which simple commands stand in a script, wherever they hide: in pipelines, lists, loops, functions,
//! substitutions, tests and here-documents.
//! Called for the shell tool's `script` and for what is given to `bash -c` and its like. The grammar is the
//! parser's; here is decided what it means for a policy.

use std::collections::BTreeSet;

use rable::ast::{Node, NodeKind};

use super::word::{self, Word};
use super::{COMMAND_LIMIT, DEPTH_LIMIT, Gap, Reading, SCRIPT_LIMIT};

/// Places in a script where something may open inside something. The parser and this reader recurse once for
/// each at most, and both run on the stack of whoever asks.
const OPENING_LIMIT: usize = 24;
/// Signs that join commands. Each costs a little of the stack as well.
const JOINT_LIMIT: usize = 600;
/// Operators where there is arithmetic or a test.
const OPERATOR_LIMIT: usize = 100;
/// Words that are looked at behind a sign in a script that cannot be read.
const GLANCE_WORDS: usize = 16;
/// Substitutions cost the parser more than their number.
const SUBSTITUTION_LIMIT: usize = 16;

impl Reading {
    pub(super) fn script(&mut self, text: &str, depth: usize) {
        if depth > DEPTH_LIMIT {
            return self.gap(Gap::TooDeep);
        }
        if text.len() > SCRIPT_LIMIT {
            self.gap(Gap::TooLong);
            return self.glance(text, depth);
        }
        if is_nested_too_deeply(text) {
            self.gap(Gap::TooDeep);
            return self.glance(text, depth);
        }
        if text.chars().any(word::is_deceptive) {
            self.gap(Gap::Characters);
        }
        match rable::parse(text, false) {
            Ok(nodes) => nodes.iter().for_each(|node| self.node(node, depth)),
            Err(_) => {
                self.gap(Gap::Unreadable);
                self.glance(text, depth);
            }
        }
    }

    /// What may be a command in a script that cannot be read: whatever stands behind a sign that could begin one.
    /// Only a rule that denies or asks ever acts on it.
    fn glance(&mut self, text: &str, depth: usize) {
        let mut seen = BTreeSet::new();
        for piece in text.split(|character: char| ";&|(){}`\n\r\"'$<>\0".contains(character)) {
            let words: Vec<Word> = piece
                .split_whitespace()
                .skip_while(|word| is_keyword(word) || word.contains('='))
                .map(|word| Word::literal(&word.replace('\\', "")))
                .take(GLANCE_WORDS)
                .collect();
            if !words.is_empty() && seen.insert(piece.trim()) && seen.len() <= COMMAND_LIMIT {
                self.run(&words, depth + 1);
            }
        }
    }

    /// Text in which only substitutions are alive: a here-document, an arithmetic expression, a default value.
    fn living_text(&mut self, text: &str, depth: usize) {
        self.gap(Gap::Expansion);
        if text.contains(['$', '`']) {
            self.script(&format!(": \"{}\"", text.replace('"', "\\\"")), depth + 1);
        }
    }

    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>, depth: usize) {
        nodes.into_iter().for_each(|node| self.node(node, depth));
    }

    fn node(&mut self, node: &Node, depth: usize) {
        use NodeKind as Kind;
        match &node.kind {
            Kind::Command { assignments, words, redirects } => {
                self.simple(assignments, words, redirects, depth);
            }
            Kind::Pipeline { commands, .. } => self.nodes(commands, depth),
            Kind::List { items } => self.nodes(items.iter().map(|item| &item.command), depth),
            Kind::Negation { pipeline } | Kind::Time { pipeline, .. } => {
                self.node(pipeline, depth);
            }
            Kind::Subshell { body, redirects } | Kind::BraceGroup { body, redirects } => {
                self.node(body, depth);
                self.redirections(redirects, depth);
            }
            Kind::If { condition, then_body, else_body, redirects } => {
                self.nodes([&**condition, then_body], depth);
                self.nodes(else_body.as_deref(), depth);
                self.redirections(redirects, depth);
            }
            Kind::While { condition, body, redirects }
            | Kind::Until { condition, body, redirects } => {
                self.nodes([&**condition, body], depth);
                self.redirections(redirects, depth);
            }
            Kind::For { var, words, body, redirects }
            | Kind::Select { var, words, body, redirects } => {
                self.variable(var);
                self.nodes(words.iter().flatten(), depth);
                self.node(body, depth);
                self.redirections(redirects, depth);
            }
            Kind::ForArith { init, cond, incr, body, redirects } => {
                [init, cond, incr].into_iter().for_each(|text| self.living_text(text, depth));
                self.node(body, depth);
                self.redirections(redirects, depth);
            }
            Kind::Case { word, patterns, redirects } => {
                self.node(word, depth);
                for pattern in patterns {
                    pattern.patterns.iter().for_each(|one| self.compared(one, depth));
                    self.nodes(&pattern.body, depth);
                }
                self.redirections(redirects, depth);
            }
            Kind::Function { body, .. } => {
                self.gap(Gap::Redefinition);
                self.node(body, depth);
            }
            Kind::Coproc { command, .. } => {
                self.gap(Gap::Redefinition);
                self.node(command, depth);
            }
            Kind::ArithmeticCommand { raw_content, redirects, .. } => {
                self.living_text(raw_content, depth);
                self.redirections(redirects, depth);
            }
            Kind::ConditionalExpr { body, redirects } => {
                self.node(body, depth);
                self.redirections(redirects, depth);
            }
            Kind::UnaryTest { operand, .. } | Kind::CondNot { operand } => {
                self.node(operand, depth);
            }
            Kind::CondParen { inner } => self.node(inner, depth),
            Kind::BinaryTest { left, right, .. }
            | Kind::CondAnd { left, right }
            | Kind::CondOr { left, right } => self.nodes([&**left, right], depth),
            // A test of numbers evaluates even what is quoted.
            Kind::CondTerm { value, .. } => {
                if value.contains(['$', '`']) {
                    self.living_text(value, depth);
                }
            }
            Kind::Word { value, parts, .. } => {
                self.word(value, parts, depth);
            }
            Kind::Comment { .. } | Kind::Empty => {}
            _ => self.part(node, depth),
        }
    }

    /// A word that is only compared: a pattern in it stands for no file.
    fn compared(&mut self, node: &Node, depth: usize) {
        let NodeKind::Word { value, parts, .. } = &node.kind else {
            return self.node(node, depth);
        };
        parts.iter().for_each(|part| self.part(part, depth));
        if let Some(doubt) = Word::read(value, parts).doubt.filter(|gap| *gap != Gap::FileNames) {
            self.gap(doubt);
        }
    }

    /// An expansion inside a word, for the commands in it.
    fn part(&mut self, part: &Node, depth: usize) {
        use NodeKind as Kind;
        match &part.kind {
            Kind::WordLiteral { .. } => return,
            Kind::CommandSubstitution { command, .. }
            | Kind::ProcessSubstitution { command, .. } => self.node(command, depth),
            Kind::ParamExpansion { param, arg, .. } | Kind::ParamIndirect { param, arg, .. } => {
                self.living_text(param, depth);
                self.living_text(arg.as_deref().unwrap_or_default(), depth);
            }
            Kind::BraceExpansion { content } => self.living_text(content, depth),
            Kind::LocaleString { inner, .. } => self.living_text(inner, depth),
            Kind::ArithDeprecated { expression } => self.living_text(expression, depth),
            Kind::Array { elements } => self.nodes(elements, depth),
            _ => {}
        }
        self.gap(Gap::Expansion);
    }

    fn word(&mut self, value: &str, parts: &[Node], depth: usize) -> Word {
        for part in parts {
            self.part(part, depth);
        }
        // The parser gives up on some arithmetic; what is in it stands in the word.
        if value.contains("$((") || value.contains("$[") {
            let inner = value.replace("$((", "").replace("))", "").replace("$[", "");
            self.living_text(&inner, depth);
        }
        let word = Word::read(value, parts);
        if let Some(doubt) = word.doubt {
            self.gap(doubt);
        }
        word
    }

    fn simple(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node], depth: usize) {
        for assignment in assignments {
            if let NodeKind::Word { value, parts, .. } = &assignment.kind {
                self.assignment(value);
                self.word(value, parts, depth);
            }
        }
        self.redirections(redirects, depth);
        let mut read = Vec::with_capacity(words.len());
        for node in words {
            if let NodeKind::Word { value, parts, .. } = &node.kind {
                let word = self.word(value, parts, depth);
                match Word::alternatives(value) {
                    Some(alternatives) => read.extend(alternatives),
                    None => read.push(word),
                }
            } else {
                self.gap(Gap::Unreadable);
                self.node(node, depth);
            }
        }
        if read.first().is_some_and(|word| word.text == "exec") && !redirects.is_empty() {
            self.gap(Gap::Redirection);
        }
        self.run(&read, depth);
    }

    fn redirections(&mut self, redirects: &[Node], depth: usize) {
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::Redirect { op, target, varfd, .. } => {
                    self.node(target, depth);
                    if varfd.is_some() || !is_harmless(op, target) {
                        self.gap(Gap::Redirection);
                    }
                }
                NodeKind::HereDoc { content, quoted, complete, .. } => {
                    if !complete {
                        self.gap(Gap::Unreadable);
                    }
                    if !quoted && content.contains(['$', '`', '\\']) {
                        self.living_text(content, depth);
                    }
                }
                _ => self.gap(Gap::Unreadable),
            }
        }
    }

    /// `NAME=value`, alone, before a command or given to `env`.
    pub(super) fn assignment(&mut self, text: &str) {
        let name = text.split(['=', '+', '[']).next().unwrap_or_default();
        if !is_harmless_variable(name) {
            self.gap(Gap::Variable);
        }
    }

    // What a shell or a program takes its bearings from is written in capitals; a loop's counter is not.
    fn variable(&mut self, name: &str) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.bytes().all(plain) {
            self.gap(Gap::Variable);
        }
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "elif"
            | "else"
            | "while"
            | "until"
            | "do"
            | "for"
            | "in"
            | "case"
            | "!"
            | "time"
            | "function"
            | "coproc"
            | "select"
    )
}

/// Reads, joins descriptors, or throws output away.
fn is_harmless(op: &str, target: &Node) -> bool {
    let NodeKind::Word { value, parts, .. } = &target.kind else { return false };
    let target = Word::read(value, parts);
    if target.doubt.is_some() || target.pattern {
        return false;
    }
    match op {
        "<" | "<<<" => true,
        ">&" | "<&" => target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit()),
        ">" | ">>" | ">|" | "&>" | "&>>" => target.text == "/dev/null",
        _ => false,
    }
}

fn is_harmless_variable(name: &str) -> bool {
    name.starts_with("LC_")
        || matches!(
            name,
            "LANG"
                | "LANGUAGE"
                | "TZ"
                | "NO_COLOR"
                | "FORCE_COLOR"
                | "CLICOLOR"
                | "CLICOLOR_FORCE"
                | "COLUMNS"
                | "LINES"
                | "CI"
                | "RUST_BACKTRACE"
                | "RUST_LOG"
        )
}

// Counts every place that could open something, quoted or not: it may count too many, never too few.
fn is_nested_too_deeply(text: &str) -> bool {
    let openings = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'`')).count();
    let substitutions = ["$(", "<(", ">(", "${ ", "${|"];
    let substitutions: usize = substitutions.iter().map(|one| text.matches(one).count()).sum();
    let backquotes = text.matches('`').count();
    let words = text
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '[')
        .filter(|word| {
            matches!(
                *word,
                "if" | "while"
                    | "until"
                    | "for"
                    | "case"
                    | "select"
                    | "function"
                    | "coproc"
                    | "elif"
                    | "[["
            )
        })
        .count();
    let joints = text.bytes().filter(|byte| matches!(byte, b';' | b'&' | b'|')).count();
    let calculates = ["((", "[[", "$["].iter().any(|one| text.contains(one));
    let operators = text.bytes().filter(|byte| b"?=-!~+*/%<>,:^".contains(byte)).count();
    openings + words > OPENING_LIMIT
        || substitutions + backquotes > SUBSTITUTION_LIMIT
        || joints > JOINT_LIMIT
        || calculates && operators > OPERATOR_LIMIT
}
