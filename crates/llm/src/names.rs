//! Decides how functions are called in front of a vendor whose rules for names are narrower than ours: letters, digits,
//! `_` and `-`, beginning with a letter or `_`, at most 64. The strictest rules of all vendors, so that dialects need none.
//! Used by `Provider` around every call. What a reply calls by such a name is given its own name back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_world_core::item::Item;

use crate::{Event, Format, Request, Response, Tool, ToolChoice};

const LONGEST: usize = 64;

/// The names of one request that had to be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    theirs: BTreeMap<String, String>,
    ours: BTreeMap<String, String>,
    /// What the schema of the reply is called instead. No reply repeats it.
    schema: Option<String>,
}

impl Names {
    /// What a request calls its functions, in what it offers and in what was called before.
    pub fn of(request: &Request) -> Self {
        let called = request.input.iter().filter_map(|item| match &**item {
            Item::FunctionCall(call) => Some(call.name.as_str()),
            _ => None,
        });
        let offered = request.functions().map(|function| function.name.as_str());
        let all: BTreeSet<&str> = offered.chain(called).collect();
        let schema = request.json_schema().map(|schema| schema.name.as_str());
        let schema = schema.filter(|name| !fits(name)).map(fitting);
        let mut names = Self { schema, ..Self::default() };
        for name in all.iter().filter(|name| !fits(name)) {
            let taken = |alias: &str| all.contains(alias) || names.ours.contains_key(alias);
            let plain = fitting(name);
            let mut alias = plain.clone();
            // Somebody may have called a tool exactly so; there are more names than tools.
            while taken(&alias) {
                alias = told_apart(&plain, &format!("{name}{alias}"));
            }
            names.theirs.insert((*name).to_owned(), alias.clone());
            names.ours.insert(alias, (*name).to_owned());
        }
        names
    }

    pub fn is_empty(&self) -> bool {
        self.theirs.is_empty() && self.schema.is_none()
    }

    /// The request with names the vendor takes.
    pub fn outgoing(&self, mut request: Request) -> Request {
        if self.is_empty() {
            return request;
        }
        let rename = |name: &mut String| {
            if let Some(alias) = self.theirs.get(name.as_str()) {
                name.clone_from(alias);
            }
        };
        for tool in &mut request.tools {
            if let Tool::Function(function) = tool {
                rename(&mut function.name);
            }
        }
        match &mut request.tool_choice {
            Some(ToolChoice::Function { name }) => rename(name),
            Some(ToolChoice::Allowed { names, .. }) => names.iter_mut().for_each(rename),
            _ => {}
        }
        if let (Some(name), Some(text)) = (&self.schema, &mut request.text)
            && let Some(Format::JsonSchema(schema)) = &mut text.format
        {
            schema.name.clone_from(name);
        }
        for item in &mut request.input {
            let changes = match &**item {
                Item::FunctionCall(call) => self.theirs.contains_key(&call.name),
                _ => false,
            };
            if changes && let Item::FunctionCall(call) = Arc::make_mut(item) {
                rename(&mut call.name);
            }
        }
        request
    }

    /// Gives what came back the names it has here.
    pub fn incoming(&self, event: &mut Event) {
        if self.is_empty() {
            return;
        }
        match event {
            Event::ItemStarted { item, .. } | Event::ItemDone { item, .. } => self.restore(item),
            Event::Started(response) | Event::Completed(response) => self.response(response),
            Event::Delta { .. } => {}
        }
    }

    pub fn response(&self, response: &mut Response) {
        if !self.is_empty() {
            response.output.iter_mut().for_each(|item| self.restore(item));
        }
    }

    fn restore(&self, item: &mut Item) {
        if let Item::FunctionCall(call) = item
            && let Some(name) = self.ours.get(&call.name)
        {
            call.name.clone_from(name);
        }
    }
}

fn fits(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= LONGEST && name.chars().all(allowed)
}

fn fitting(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let plain: String = name.chars().map(allowed).collect();
    let begun = match plain.chars().next() {
        Some(c) if c.is_ascii_alphabetic() || c == '_' => plain,
        _ => format!("_{plain}"),
    };
    if begun.len() > LONGEST { told_apart(&begun, name) } else { begun }
}

/// The same for the same name, however many others there are: a prompt cache would notice.
fn told_apart(plain: &str, name: &str) -> String {
    let hash = print(name);
    let kept: String = plain.chars().take(LONGEST - 17).collect();
    format!("{kept}_{hash:016x}")
}

/// A text of at most so many characters. The end of a text that is too long tells it from others that begin alike. The
/// same text is always written the same way, or a call and its result would lose each other.
pub(crate) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest || text.chars().count() <= longest {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(longest.saturating_sub(17)).collect();
    Cow::Owned(format!("{kept}_{:016x}", print(text)))
}

/// FNV-1a: the same on every machine and in every release, so that a vendor's cache still fits.
pub(crate) fn print(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use agent_world_core::config::ToolSpec;
    use serde_json::json;

    use super::*;

    fn request(offered: &[&str], called: &[&str]) -> Request {
        let mut request = Request::new("any", "go");
        let tool = |name: &&str| Tool::from(&ToolSpec::new(*name, "", json!({"type": "object"})));
        request.tools = offered.iter().map(tool).collect();
        let calls = called.iter().map(|name| Arc::new(Item::call("1", *name, &json!({}))));
        request.input.extend(calls);
        request
    }

    fn names_in(request: &Request) -> Vec<String> {
        let called = request.input.iter().filter_map(|item| match &**item {
            Item::FunctionCall(call) => Some(call.name.clone()),
            _ => None,
        });
        request.functions().map(|function| function.name.clone()).chain(called).collect()
    }

    #[test]
    fn names_that_every_vendor_takes_are_left_alone() {
        let names = Names::of(&request(&["read_file", "a-b"], &["old"]));
        assert!(names.is_empty());
    }

    #[test]
    fn a_name_that_does_not_fit_is_changed_everywhere_and_changed_back() {
        let long = "x".repeat(100);
        let mut asked =
            request(&["files.read", "7zip", "größe", &long], &["files.read", "gone.tool"]);
        asked.tool_choice = Some(ToolChoice::Function { name: "files.read".to_owned() });
        let names = Names::of(&asked);
        let sent = names.outgoing(asked.clone());
        let theirs = names_in(&sent);
        assert!(theirs.iter().all(|name| fits(name)), "{theirs:?}");
        assert_eq!(theirs[..3], ["files_read", "_7zip", "gr__e"]);
        assert_eq!(theirs[4..], ["files_read", "gone_tool"]);
        assert_eq!(sent.tool_choice, Some(ToolChoice::Function { name: "files_read".to_owned() }));
        for (alias, name) in theirs.iter().zip(names_in(&asked)) {
            let mut response = Response {
                output: vec![Item::call("1", alias, &json!({}))],
                ..Response::default()
            };
            names.response(&mut response);
            assert_eq!(response.calls().next().unwrap().name, name);
        }
    }

    #[test]
    fn a_schema_is_given_a_name_that_fits() {
        let mut asked = request(&[], &[]);
        let format = json!({"format": {"type": "json_schema", "name": "my answer", "schema": {}}});
        asked.text = Some(serde_json::from_value(format).unwrap());
        let sent = Names::of(&asked).outgoing(asked);
        assert_eq!(sent.json_schema().unwrap().name, "my_answer");
    }

    #[test]
    fn two_names_never_become_one() {
        let asked = request(&["a.b", "a_b", "a/b"], &[]);
        let sent = names_in(&Names::of(&asked).outgoing(asked));
        let different: BTreeSet<&String> = sent.iter().collect();
        assert_eq!(different.len(), 3, "{sent:?}");
        assert_eq!(sent[1], "a_b", "a name that fits is never taken away");
        // Not even on purpose.
        let mut offered = vec!["a.b".to_owned(), "a_b".to_owned()];
        for _ in 0..5 {
            let offers: Vec<&str> = offered.iter().map(String::as_str).collect();
            let sent = names_in(&Names::of(&request(&offers, &[])).outgoing(request(&offers, &[])));
            let different: BTreeSet<&String> = sent.iter().collect();
            assert_eq!(different.len(), offered.len(), "{sent:?}");
            offered.push(sent[0].clone());
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_told_apart() {
        let (one, other) = (format!("{}1", "é".repeat(64)), format!("{}2", "é".repeat(64)));
        assert_eq!(shortened(&one, 64).chars().count(), 64);
        assert_ne!(shortened(&one, 64), shortened(&other, 64));
        assert_eq!(shortened(&one, 64), shortened(&one, 64));
        assert_eq!(shortened("short", 64), "short");
    }
}
