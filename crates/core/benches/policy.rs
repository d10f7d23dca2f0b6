//! What it costs to decide about a call: looking a verdict up among many rules, reading a command line, and the whole
//! way from a model's text to a request with its suggestions.
//!
//! Run it with `cargo bench -p agent-world-core`. Required: a lookup among 1,000 rules under 50 µs, also when all are
//! for the same tool, and the whole way under 1 ms. Absolute numbers are the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use agent_world_core::command_line::{CommandLine, TOOL};
use agent_world_core::config::{ToolSpec, Tools};
use agent_world_core::display;
use agent_world_core::ids::AgentId;
use agent_world_core::policy::{
    Grant, Match, Policy, Question, Rule, Ruling, Test, judge, suggestions,
};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

const RULES: usize = 1_000;
const SCRIPT: &str =
    "cd src && git status --short | grep -v '^??' | wc -l; cargo test -p core 2>&1 | tail -n 20";

fn main() {
    divan::main();
}

/// Sets of rules of which none or only the last matches the calls below.
#[derive(Clone, Copy, Debug)]
enum Kind {
    OtherTools,
    ToolPatterns,
    Equals,
    Globs,
    Regexes,
    Programs,
    ProgramPatterns,
    ExactCalls,
    Paths,
}

const KINDS: [Kind; 9] = [
    Kind::OtherTools,
    Kind::ToolPatterns,
    Kind::Equals,
    Kind::Globs,
    Kind::Regexes,
    Kind::Programs,
    Kind::ProgramPatterns,
    Kind::ExactCalls,
    Kind::Paths,
];

fn rule(kind: Kind, number: usize) -> Rule {
    let tool = match kind {
        Kind::OtherTools => format!("tool_{number}"),
        Kind::ToolPatterns => format!("tool_{number}_*"),
        _ => TOOL.to_owned(),
    };
    let at = |pointer: &str, test| vec![Match { pointer: pointer.to_owned(), test }];
    let matches = match kind {
        Kind::OtherTools | Kind::ToolPatterns => Vec::new(),
        Kind::Equals => at("/command", Test::Equals(json!(format!("program-{number}")))),
        Kind::Globs => at("/command", Test::Glob(format!("g*-{number}"))),
        Kind::Regexes => at("/command", Test::Regex(format!("g[a-z]+-{number}"))),
        Kind::Programs => {
            vec![Match::command(format!("program-{number}"), vec!["status".to_owned()])]
        }
        Kind::ProgramPatterns => vec![Match::command(format!("g*-{number}"), Vec::new())],
        Kind::ExactCalls => {
            let call = json!({ "command": "git", "parameters": ["status", number.to_string()] });
            at("", Test::Equals(call))
        }
        Kind::Paths => vec![Match::within(vec![format!("crates/{number}/src")])],
    };
    let ruling = if number.is_multiple_of(2) { Ruling::Allow } else { Ruling::Deny };
    Rule { matches, ..Rule::new(format!("rule-{number}"), ruling, tool) }
}

fn policy(kind: Kind) -> Policy {
    Policy { rules: (0..RULES).map(|number| rule(kind, number)).collect(), ..Policy::default() }
}

fn shell() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "minLength": 1 },
            "parameters": { "type": "array", "items": { "type": "string" } },
            "script": { "type": "string" },
            "directory": { "type": "string" },
            "timeout": { "type": "number", "exclusiveMinimum": 0 },
        },
        "additionalProperties": false,
    });
    ToolSpec::new(TOOL, "runs a command", schema)
}

fn question<'a>(agent: &'a AgentId, arguments: &'a Value) -> Question<'a> {
    Question { agent, tool: TOOL, arguments, directory: Some("/users/ada/project") }
}

/// Required: under 50 µs.
#[divan::bench(args = KINDS)]
fn lookup_among_1000_rules(bencher: Bencher<'_, '_>, kind: Kind) {
    let (policy, spec, agent) = (policy(kind), shell(), AgentId::new("ada"));
    let arguments =
        json!({ "command": "git", "parameters": ["status", "--short"], "directory": "src" });
    bencher.bench_local(|| {
        let none = std::iter::empty::<&Grant>();
        judge(black_box(&policy), none, &spec, question(&agent, black_box(&arguments)))
    });
}

#[divan::bench]
fn read_a_script(bencher: Bencher<'_, '_>) {
    let arguments = json!({ "script": SCRIPT });
    bencher.bench_local(|| CommandLine::parse(black_box(&arguments)));
}

/// The most that is read: just within every limit.
#[divan::bench]
fn read_the_longest_script(bencher: Bencher<'_, '_>) {
    let script = "echo abc 'def ghi' \"jkl\"\n".repeat(400);
    let arguments = json!({ "script": script });
    bencher.bench_local(|| CommandLine::parse(black_box(&arguments)));
}

#[divan::bench]
fn read_the_deepest_script(bencher: Bencher<'_, '_>) {
    let script = format!("{}rm{}", "echo $(".repeat(15), ")".repeat(15));
    let arguments = json!({ "script": script });
    bencher.bench_local(|| CommandLine::parse(black_box(&arguments)));
}

/// Required: under 1 ms. Arguments, schema, command line, verdict, what is shown, and suggestions.
#[divan::bench]
fn the_whole_way_to_a_request(bencher: Bencher<'_, '_>) {
    let (policy, agent) = (policy(Kind::Programs), AgentId::new("ada"));
    let tools: Tools = [shell()].into_iter().collect();
    let spec = tools.get(TOOL).unwrap().clone();
    let text = json!({ "script": SCRIPT, "timeout": 20 }).to_string();
    bencher.bench_local(|| {
        let arguments = tools.schema(TOOL).unwrap().parse(black_box(&text)).unwrap();
        let question = question(&agent, &arguments);
        let verdict = judge(&policy, std::iter::empty::<&Grant>(), &spec, question);
        let shown = display::shown(&arguments, 20_000);
        (verdict, shown, suggestions(question))
    });
}

/// Once for each change of a world.
#[divan::bench(args = [Kind::Programs, Kind::Regexes])]
fn build_the_index(bencher: Bencher<'_, '_>, kind: Kind) {
    let (spec, agent) = (shell(), AgentId::new("ada"));
    let arguments = json!({ "command": "git" });
    bencher.with_inputs(|| policy(kind)).bench_local_values(|policy| {
        judge(&policy, std::iter::empty::<&Grant>(), &spec, question(&agent, &arguments))
    });
}
