//! Puts into words what agents may do: rules, and the calls that a permission covers.
//! Used by `chat`, `tui` and the commands. Only reads what was recorded; secrets in it are masked once more.

use agent_world_client::{Client, Path, Result};
use agent_world_core::display::{compact, mask_text, reveal_line};
use agent_world_core::policy::{Annotations, Match, Policy, Preset, Rule, Test};
use serde::Deserialize;
use serde_json::Value;

/// Characters of one condition, and of a line about a rule.
const CONDITION: usize = 120;
const LINE: usize = 300;
const REVOKE: &str = "  `agent-world approvals revoke ID` takes one back";

/// The calls a permission covers, of which secrets were masked by whoever told of it.
pub fn permitted(tool: &str, matches: &[Match]) -> String {
    let conditions: Vec<String> = matches.iter().map(condition).collect();
    match conditions.as_slice() {
        [] => format!("any {tool}"),
        conditions => format!("{tool} with {}", conditions.join(" and ")),
    }
}

fn condition(one: &Match) -> String {
    let place = if one.pointer.is_empty() { "arguments" } else { one.pointer.as_str() };
    match &one.test {
        Test::Equals(value) => format!("{place} = {}", compact(value)),
        Test::Glob(pattern) => format!("{place} like {}", shortened(pattern)),
        Test::Regex(expression) => format!("{place} matching {}", shortened(expression)),
        Test::Command(pattern) => {
            let words = [std::slice::from_ref(&pattern.program), &pattern.parameters];
            format!("command `{}`", masked(&words.concat().join(" ")))
        }
        Test::Paths(pattern) => format!("paths in {}", masked(&pattern.within.join(", "))),
        Test::Annotations(asked) => format!("a tool that is {}", declared(asked)),
    }
}

fn declared(asked: &Annotations) -> String {
    let asked = [
        ("read-only", asked.read_only),
        ("destructive", asked.destructive),
        ("idempotent", asked.idempotent),
    ];
    let named = asked.into_iter().filter_map(|(name, asked)| {
        asked.map(|yes| if yes { name.to_owned() } else { format!("not {name}") })
    });
    named.collect::<Vec<_>>().join(" and ")
}

/// What a preset does, in a few words.
pub fn preset(preset: Preset) -> &'static str {
    match preset {
        Preset::ReadOnly => "tools that only read are as they declare, everything else is denied",
        Preset::Ask => "what each tool declares",
        Preset::Trusted => {
            "tools that do not destroy are allowed, of servers and clients those that only read"
        }
    }
}

/// A rule on one line: what it says of which calls.
pub fn rule(rule: &Rule) -> String {
    let agent = match &rule.agent {
        Some(agent) => format!(" by {}", unbroken(agent.as_str())),
        None => String::new(),
    };
    let which = permitted(&unbroken(&rule.tool), &rule.matches);
    let (ruling, id) = (rule.ruling.to_string(), unbroken(rule.id.as_str()));
    cut(&format!("{ruling:<5}  {which}{agent}  ({id})"), LINE)
}

/// A permission for the rest of a chat, as it is listed.
#[derive(Debug, Deserialize)]
struct Grant {
    id: String,
    agent_id: String,
    tool: String,
    #[serde(default)]
    matches: Vec<Match>,
    #[serde(default)]
    granted_by: String,
}

/// What agents may do in a world, and what was permitted for one of its chats, to be read line by line.
///
/// # Errors
/// When nobody answers, or there is no such chat.
pub async fn lines(client: &Client, world: &str, chat: &str) -> Result<Vec<String>> {
    let path = Path::new("/api/worlds").then(world);
    let policy: Value = client.get(path.clone().then("policy")).await?;
    let grants: Vec<Grant> = client.all(path.then("chats").then(chat).then("grants")).await?;
    // One of a newer version is shown as it was sent: better hard to read than not told.
    let mut lines = match serde_json::from_value::<Policy>(policy.clone()) {
        Ok(policy) => of_policy(&policy),
        Err(_) => format!("{policy:#}").lines().map(str::to_owned).collect(),
    };
    lines.extend(of_grants(&grants));
    Ok(lines)
}

fn of_policy(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    if policy.rules.is_empty() {
        lines.push(format!("preset {}, no rules: {}", policy.preset, preset(policy.preset)));
    } else {
        lines.push("rules: the first that matches decides, but a deny always wins".to_owned());
        lines.extend(
            (1..).zip(&policy.rules).map(|(number, one)| format!("{number:>4}  {}", rule(one))),
        );
        lines.push(format!(
            "where none matches, preset {}: {}",
            policy.preset,
            preset(policy.preset)
        ));
    }
    if !policy.granted.is_empty() {
        lines.push("permitted with `always`, in all chats of this world:".to_owned());
    }
    for one in &policy.granted {
        let by = one.origin.as_ref().map_or("somebody", |origin| origin.by.as_str());
        lines.push(cut(&format!("      {}, by {}", rule(one), unbroken(by)), LINE));
    }
    if !policy.granted.is_empty() {
        lines.push(REVOKE.to_owned());
    }
    lines
}

fn of_grants(grants: &[Grant]) -> Vec<String> {
    if grants.is_empty() {
        return vec!["nothing is permitted for this chat alone".to_owned()];
    }
    let mut lines = vec!["permitted for the rest of this chat:".to_owned()];
    lines.extend(grants.iter().map(|grant| {
        let which = permitted(&unbroken(&grant.tool), &grant.matches);
        let (agent, by) = (unbroken(&grant.agent_id), unbroken(&grant.granted_by));
        cut(&format!("      allow  {which} by {agent}  ({}), by {by}", unbroken(&grant.id)), LINE)
    }));
    lines.push(REVOKE.to_owned());
    lines
}

/// A text that must not look like several lines. Whoever shows it makes everything else visible.
fn unbroken(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn shortened(text: &str) -> String {
    cut(&reveal_line(text), CONDITION)
}

/// Masked first: the beginning of a secret is not seen as one.
fn masked(text: &str) -> String {
    shortened(&mask_text(text))
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_told_in_words() {
        let origin = json!({"approval": "apr_1", "by": "maria", "at": "2026-01-01T00:00:00Z"});
        let command = |program: &str, words: &[&str]| json!([{"command": {"program": program, "parameters": words}}]);
        let policy: Policy = serde_json::from_value(json!({
            "preset": "ask",
            "rules": [
                {"id": "rule_1", "ruling": "allow", "tool": "shell_cmd", "matches": command("git", &["status"])},
                {"id": "rule_2", "ruling": "deny", "tool": "shell_cmd", "matches": command("rm", &[]), "agent": "bob"},
            ],
            "granted": [{"id": "rule_3", "ruling": "allow", "tool": "web_fetch", "origin": origin}],
        }))
        .unwrap();
        let grants: Vec<Grant> = serde_json::from_value(json!([
            {"id": "grant_1", "agent_id": "ada", "tool": "shell_cmd", "matches": [{"pointer": "/command", "glob": "ls*"}],
             "granted_by": "maria"}]))
        .unwrap();
        let mut told = of_policy(&policy);
        told.extend(of_grants(&grants));
        expect![[r#"
            rules: the first that matches decides, but a deny always wins
               1  allow  shell_cmd with command `git status`  (rule_1)
               2  deny   shell_cmd with command `rm` by bob  (rule_2)
            where none matches, preset ask: what each tool declares
            permitted with `always`, in all chats of this world:
                  allow  any web_fetch  (rule_3), by maria
              `agent-world approvals revoke ID` takes one back
            permitted for the rest of this chat:
                  allow  shell_cmd with /command like ls* by ada  (grant_1), by maria
              `agent-world approvals revoke ID` takes one back
        "#]]
        .assert_eq(&(told.join("\n") + "\n"));
        assert_eq!(of_grants(&[]), ["nothing is permitted for this chat alone"]);
    }
}
