//! Reads the lines of a script that set up the world: its agents, settings, tools and rules.
//! Called by `stage`, before the first step or between two of them.
//!
//! ```text
//! agents: ada, bob
//! agent ada: sequential; no auto_reply; tools read_file; name Countess; instructions Speak of {{topic}}.
//! settings: turn_limit 2; max_iterations 3; main_agent ada; after_denial wait; approval_timeout 60; result_limit 20;
//!     variable topic=engines; directory /srv
//! tool build(target, jobs?: integer): allowed; background; client; read_only; idempotent; timeout 5; asks Build {target}?
//! policy: deny shell_cmd when /command like "rm *"; ask * for bob; allow read_file
//! ```
//!
//! A line about the same thing replaces what was said before. There is always a tool `shell_cmd(command)` that asks.

use std::collections::BTreeMap;

use agent_world_core::binding::Prepared;
use agent_world_core::command::Look;
use agent_world_core::config::{
    AfterDenial, Agent, Approval, Location, Modes, ToolSpec, Tools, World,
};
use agent_world_core::ids::AgentId;
use agent_world_core::policy::{Match, Rule, Ruling, Test};
use serde_json::{Map, Value, json};

pub struct Setting {
    pub world: World,
    tools: Vec<ToolSpec>,
    /// What tools find when they look at a call.
    finds: BTreeMap<String, Look>,
}

impl Setting {
    /// A world with one agent, ada, and one tool.
    pub fn new(at: agent_world_core::Timestamp) -> Self {
        let mut world = World::new("test".into(), "Test", at);
        world.agents = vec![Agent::new("ada")];
        let mut setting = Self { world, tools: Vec::new(), finds: BTreeMap::new() };
        setting.read("tool shell_cmd(command):");
        setting
    }

    pub fn tools(&self) -> Tools {
        self.tools.iter().cloned().collect()
    }

    /// What a tool finds of a call now.
    pub fn look(&self, tool: &str) -> Option<Look> {
        self.finds.get(tool).cloned()
    }

    pub fn find(&mut self, tool: String, found: &str) {
        if found == "nothing" {
            self.finds.remove(&tool);
            return;
        }
        if let Some(reason) = found.strip_prefix("refuses: ") {
            self.finds.insert(tool, Err(reason.to_owned()));
            return;
        }
        let mut prepared = Prepared::default();
        for part in found.split("; ") {
            match part.strip_prefix("preview ") {
                Some(preview) => prepared.preview = Some(preview.to_owned()),
                None => {
                    let (name, value) = part.split_once('=').expect("a fact");
                    prepared.facts.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        self.finds.insert(tool, Ok(prepared));
    }

    pub fn read(&mut self, line: &str) {
        let (head, body) = line.split_once(':').expect("a colon");
        if let Some(signature) = line.strip_prefix("tool ") {
            return self.tool(signature);
        }
        let parts = body.split(';').map(str::trim).filter(|part| !part.is_empty());
        match head.split_once(' ') {
            None if head == "agents" => {
                let ids = body.split(',').map(str::trim).filter(|id| !id.is_empty());
                self.world.agents = ids.map(Agent::new).collect();
            }
            None if head == "policy" => {
                let rules = (1..).zip(parts).map(|(number, part)| rule(number, part));
                self.world.policy.rules = rules.collect();
            }
            None => parts.for_each(|part| self.set(part)),
            Some((_, id)) => {
                let id = AgentId::from(id);
                let agent = self.world.agents.iter_mut().find(|agent| agent.id == id);
                let agent = agent.expect("an agent of the world");
                parts.for_each(|part| set_agent(agent, part));
            }
        }
        self.world.check().expect("settings that the world accepts");
    }

    fn set(&mut self, part: &str) {
        let (name, value) = part.split_once(' ').expect("a value");
        let number = || value.parse().expect("a number");
        let world = &mut self.world;
        match name {
            "turn_limit" => world.turn_limit = number(),
            "max_iterations" => world.max_iterations = number(),
            "result_limit" => world.result_limit = number() as usize,
            "approval_timeout" => world.approval_timeout_seconds = Some(number().into()),
            "main_agent" => world.main_agent = Some(value.into()),
            "directory" => world.working_directory = Some(value.to_owned()),
            "after_denial" if value == "wait" => world.after_denial = AfterDenial::Wait,
            "after_denial" => world.after_denial = AfterDenial::Reply,
            "variable" => {
                let (key, value) = value.split_once('=').expect("an equals sign");
                world.variables.insert(key.to_owned(), value.to_owned());
            }
            _ => panic!("no such setting: {part}"),
        }
    }

    fn tool(&mut self, line: &str) {
        let (name, rest) = line.split_once('(').expect("a parenthesis");
        let (parameters, flags) = rest.split_once("):").expect("a closing parenthesis");
        let mut spec = ToolSpec::new(name, format!("{name} of the tests"), schema(parameters));
        for flag in flags.split(';').map(str::trim).filter(|flag| !flag.is_empty()) {
            match flag.split_once(' ').unwrap_or((flag, "")) {
                ("allowed", "") => spec.approval = Approval::not_required(),
                ("asks", "") => {}
                ("asks", question) => spec.approval.message = Some(question.to_owned()),
                ("background", "") => spec.mode = Modes::Background,
                ("client", "") => spec.location = Location::Client,
                ("read_only", "") => spec.read_only = true,
                ("idempotent", "") => spec.idempotent = true,
                ("timeout", seconds) => spec.timeout_seconds = seconds.parse().expect("seconds"),
                ("gone", "") => {
                    return self.tools.retain(|tool| tool.name != name);
                }
                _ => panic!("no such property of a tool: {flag}"),
            }
        }
        self.tools.retain(|tool| tool.name != name);
        self.tools.push(spec);
    }
}

/// `colour(name), size()` as tools that a client offers: without approval, as it does the work itself.
pub fn offered(text: &str) -> Vec<ToolSpec> {
    let signatures = text.split_inclusive(')').map(|one| one.trim_matches([',', ' ', ')']));
    let signatures = signatures.filter(|one| !one.is_empty());
    let tools = signatures.map(|one| {
        let (name, parameters) = one.split_once('(').expect("a parenthesis");
        let spec = ToolSpec::new(name, format!("{name} of a client"), schema(parameters));
        ToolSpec { approval: Approval::not_required(), ..spec }
    });
    tools.collect()
}

fn set_agent(agent: &mut Agent, part: &str) {
    match part.split_once(' ').unwrap_or((part, "")) {
        ("sequential", "") => agent.parallel_tool_calls = false,
        ("no", "auto_reply") => agent.auto_reply = false,
        ("tools", names) => agent.tools = names.split(' ').map(str::to_owned).collect(),
        ("name", name) => agent.name = name.to_owned(),
        ("instructions", text) => agent.instructions = text.to_owned(),
        _ => panic!("no such setting of an agent: {part}"),
    }
}

/// `path, lines?: integer` as a schema; a parameter is a string unless it says otherwise.
fn schema(parameters: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let (name, kind) = parameter.split_once(": ").unwrap_or((parameter, "string"));
        let kind = match kind {
            "strings" => json!({ "type": "array", "items": { "type": "string" } }),
            kind => json!({ "type": kind }),
        };
        match name.strip_suffix('?') {
            Some(name) => properties.insert(name.to_owned(), kind),
            None => {
                required.push(name);
                properties.insert(name.to_owned(), kind)
            }
        };
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn rule(number: usize, part: &str) -> Rule {
    let (what, condition) = match part.split_once(" when ") {
        Some((what, condition)) => (what, Some(condition)),
        None => (part, None),
    };
    let words: Vec<&str> = what.split(' ').collect();
    let (ruling, tool, agent) = match words.as_slice() {
        [ruling, tool] => (*ruling, *tool, None),
        [ruling, tool, "for", agent] => (*ruling, *tool, Some(AgentId::from(*agent))),
        _ => panic!("not a rule: {part}"),
    };
    let ruling = match ruling {
        "allow" => Ruling::Allow,
        "ask" => Ruling::Ask,
        "deny" => Ruling::Deny,
        _ => panic!("not a ruling: {ruling}"),
    };
    let matches = condition.map(|condition| {
        let (pointer, pattern) = condition.split_once(" like ").expect("`like` and a pattern");
        let pattern = serde_json::from_str(pattern).expect("a pattern in quotes");
        Match { pointer: pointer.to_owned(), test: Test::Glob(pattern) }
    });
    Rule {
        agent,
        matches: matches.into_iter().collect(),
        ..Rule::new(format!("policy-{number}"), ruling, tool)
    }
}
