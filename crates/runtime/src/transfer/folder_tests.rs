//! Tests of worlds as files: whatever can be set comes back as it was, and what is misspelt is named.

use std::collections::BTreeMap;

use agent_world_core::config::{AfterDenial, McpServer, McpTransport, Sandbox, SandboxMode};
use agent_world_core::policy::{Annotations, Example, Examples, Match, Preset, Rule, Ruling, Test};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Any text, and often one of those that are hard to keep: line ends, fences, quotes, other scripts.
fn text() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        Just("+++".to_owned()),
        Just("+++\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("\"\"\"".to_owned()),
        Just("'''".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\0".to_owned()),
        Just("\\".to_owned()),
        Just("= [x]\n# y".to_owned()),
        Just("äöü 漢字 🦀".to_owned()),
        any::<String>(),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat()).boxed()
}

fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::Number)),
        text().prop_map(Value::from),
    ];
    let names = prop_oneof![Just("$json".to_owned()), text()];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(names.clone(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
    .boxed()
}

use serde_json::Number;

fn slug() -> BoxedStrategy<String> {
    "[a-z0-9][a-z0-9_-]{0,12}".boxed()
}

prop_compose! {
    fn agent()(
        id in slug(),
        name in option::of(text()),
        model in option::of(text()),
        instructions in text(),
        temperature in option::of(-1e300..1e300f64),
        max_output_tokens in option::of(any::<u64>()),
        reasoning_effort in option::of(text()),
        tools in vec(text(), 0..3),
        flags in any::<(bool, bool, Option<bool>)>(),
    ) -> Agent {
        Agent {
            name: name.unwrap_or_else(|| id.clone()),
            model,
            instructions,
            temperature,
            max_output_tokens,
            reasoning_effort,
            tools,
            auto_reply: flags.0,
            parallel_tool_calls: flags.1,
            streaming: flags.2,
            ..Agent::new(id)
        }
    }
}

fn server() -> BoxedStrategy<McpServer> {
    let stdio = (text(), vec(text(), 0..3), btree_map(text(), text(), 0..3), option::of(text()))
        .prop_map(|(command, args, env, cwd)| McpTransport::Stdio { command, args, env, cwd });
    let http = (text(), btree_map(text(), text(), 0..3))
        .prop_map(|(url, headers)| McpTransport::Http { url, headers });
    let extra = btree_map("[a-z]{3}_extra", json_value(), 0..3);
    (prop_oneof![stdio, http], any::<(bool, bool, Option<u64>)>(), extra)
        .prop_map(|(transport, (trusted, disabled, timeout_seconds), extra)| McpServer {
            trusted,
            disabled,
            timeout_seconds,
            extra: extra.into_iter().collect(),
            ..McpServer::new(transport)
        })
        .boxed()
}

fn rule() -> BoxedStrategy<Rule> {
    let test = prop_oneof![
        json_value().prop_map(Test::Equals),
        text().prop_map(Test::Glob),
        any::<(Option<bool>, Option<bool>, Option<bool>)>().prop_map(
            |(read_only, destructive, idempotent)| Test::Annotations(Annotations {
                read_only,
                destructive,
                idempotent
            })
        ),
    ];
    let condition = (prop_oneof![Just(String::new()), Just("/a/b".to_owned())], test)
        .prop_map(|(pointer, test)| Match { pointer, test });
    let example =
        (text(), json_value(), option::of(slug())).prop_map(|(tool, arguments, agent)| Example {
            tool,
            arguments,
            agent: agent.map(AgentId::from),
        });
    let ruling = prop_oneof![Just(Ruling::Allow), Just(Ruling::Ask), Just(Ruling::Deny)];
    (slug(), ruling, slug(), vec(condition, 0..3), option::of(text()), vec(example, 0..2))
        .prop_map(|(id, ruling, tool, matches, description, must_match)| Rule {
            matches,
            description,
            examples: Examples { must_match, must_not_match: Vec::new() },
            ..Rule::new(id, ruling, tool)
        })
        .boxed()
}

fn sandbox() -> BoxedStrategy<Sandbox> {
    let mode =
        prop_oneof![Just(SandboxMode::On), Just(SandboxMode::Off), Just(SandboxMode::Required)];
    let lists = (option::of(vec(text(), 0..2)), vec(text(), 0..2), vec(text(), 0..2));
    (mode, any::<(bool, bool)>(), lists, any::<(u32, u64, u64)>())
        .prop_map(|(mode, (network, private_addresses), (readable, hidden, writable), numbers)| {
            Sandbox {
                mode,
                network,
                private_addresses,
                readable,
                hidden,
                writable,
                processes: numbers.0,
                memory_bytes: numbers.1,
                file_bytes: numbers.2,
            }
        })
        .boxed()
}

fn world() -> BoxedStrategy<World> {
    let people = (vec(agent(), 0..3), any::<prop::sample::Index>(), any::<bool>());
    let numbers = (1..u32::MAX, 1..u32::MAX, option::of(any::<u64>()), any::<u32>());
    let texts = (
        slug(),
        option::of(text()),
        text(),
        [option::of(text()), option::of(text()), option::of(text())],
    );
    let groups = (
        btree_map(text(), text(), 0..3),
        btree_map(text(), server(), 0..3),
        option::of(sandbox()),
        vec(rule(), 0..3),
        prop_oneof![Just(Preset::Ask), Just(Preset::ReadOnly), Just(Preset::Trusted)],
    );
    (people, numbers, texts, groups, any::<(bool, bool)>())
        .prop_map(|(people, numbers, texts, groups, flags)| {
            let (agents, main, has_main) = people;
            let (id, name, description, [directory, default_model, title_model]) = texts;
            let (variables, mcp_servers, sandbox, rules, preset) = groups;
            let name = name.unwrap_or_else(|| id.clone());
            let mut world = World::new(WorldId::from(id), name, Timestamp::UNIX_EPOCH);
            world.description = description;
            world.turn_limit = numbers.0;
            world.max_iterations = numbers.1;
            world.approval_timeout_seconds = numbers.2;
            world.result_limit = usize::try_from(numbers.3).unwrap();
            world.main_agent =
                (has_main && !agents.is_empty()).then(|| main.get(&agents).id.clone());
            world.agents = agents;
            world.after_denial = if flags.0 { AfterDenial::Wait } else { AfterDenial::Reply };
            world.streaming = flags.1;
            world.working_directory = directory;
            world.default_model = default_model;
            world.title_model = title_model;
            world.variables = variables;
            world.mcp_servers = mcp_servers;
            world.sandbox = sandbox.unwrap_or_default();
            world.policy.rules = rules.into();
            world.policy.preset = preset;
            world
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_world_comes_back_from_its_files_as_it_was(world in world()) {
        prop_assume!(world.check().is_ok());
        let files = write(&world).unwrap();
        let back = read(&files, Timestamp::UNIX_EPOCH).unwrap();
        prop_assert_eq!(&back, &world);
        prop_assert_eq!(write(&back).unwrap(), files);
    }

    /// Worlds that would be refused for other reasons have settings, too: their agents alone are looked at here.
    #[test]
    fn an_agent_comes_back_with_every_byte(agent in agent()) {
        let file = agent_text(&agent).unwrap();
        prop_assert!(file.ends_with(&agent.instructions));
        prop_assert_eq!(read_agent("a", &agent.id, &file).unwrap(), agent);
    }

    #[test]
    fn a_value_comes_back_from_toml_as_it_was(value in json_value()) {
        let fields = Map::from_iter([("value".to_owned(), value)]);
        prop_assert_eq!(from_text("x", &to_text(&fields).unwrap()).unwrap(), fields);
    }

    #[test]
    fn no_text_makes_reading_fail_otherwise_than_with_words(
        name in prop_oneof![Just(WORLD.to_owned()), Just(POLICY.to_owned()), Just("agents/a.md".to_owned()), text()],
        text in text(),
    ) {
        let files = Files::from([(WORLD.to_owned(), "id = \"a\"".to_owned()), (name, text)]);
        if let Err(error) = read(&files, Timestamp::UNIX_EPOCH) {
            prop_assert!(!error.is_empty());
        }
    }
}

fn example() -> World {
    let mut world = World::new(WorldId::new("lab"), "The lab", Timestamp::UNIX_EPOCH);
    let ada = Agent {
        model: Some("demo/demo".to_owned()),
        instructions: "You are ada.\n+++\nNo end".to_owned(),
        temperature: Some(0.5),
        ..Agent::new("ada")
    };
    world.agents = vec![ada, Agent::new("bob")];
    world.main_agent = Some(AgentId::new("ada"));
    world.turn_limit = 9;
    world.sandbox.network = true;
    world.variables = BTreeMap::from([("place".to_owned(), "here".to_owned())]);
    let transport = McpTransport::Stdio {
        command: "npx".to_owned(),
        args: vec!["memory".to_owned()],
        env: BTreeMap::from([("KEY".to_owned(), "${KEY}".to_owned())]),
        cwd: None,
    };
    world.mcp_servers.insert("memory".to_owned(), McpServer::new(transport));
    let rule = Rule {
        matches: vec![Match::command("git", vec!["status".to_owned()])],
        ..Rule::new("status", Ruling::Allow, "shell_cmd")
    };
    world.policy.rules = vec![rule].into();
    world
}

#[test]
fn only_what_differs_from_its_default_is_written() {
    let plain = World::new(WorldId::new("lab"), "lab", Timestamp::UNIX_EPOCH);
    let files = write(&plain).unwrap();
    assert_eq!(files, Files::from([(WORLD.to_owned(), "id = \"lab\"\n".to_owned())]));

    let files = write(&example()).unwrap();
    assert_eq!(
        files[WORLD],
        r#"id = "lab"
name = "The lab"
turn_limit = 9
main_agent = "ada"
agents = ["ada", "bob"]

[variables]
place = "here"

[sandbox]
network = true

[mcp_servers.memory]
command = "npx"
args = ["memory"]

[mcp_servers.memory.env]
KEY = "${KEY}"
"#
    );
    assert_eq!(
        files["agents/ada.md"],
        "+++\nmodel = \"demo/demo\"\ntemperature = 0.5\n+++\nYou are ada.\n+++\nNo end"
    );
    assert_eq!(files["agents/bob.md"], "+++\n+++\n");
    assert_eq!(
        files[POLICY],
        r#"[[rules]]
id = "status"
ruling = "allow"
tool = "shell_cmd"

[[rules.matches]]

[rules.matches.command]
program = "git"
parameters = ["status"]
"#
    );
}

#[test]
fn what_is_wrong_is_named_with_its_file_and_field() {
    let change = |name: &str, text: &str| {
        let mut files = write(&example()).unwrap();
        files.insert(name.to_owned(), text.to_owned());
        read(&files, Timestamp::UNIX_EPOCH).unwrap_err()
    };
    for (name, text, words) in [
        (WORLD, "turn_limit = 3", "world.toml: id: it must be there"),
        (WORLD, "id = \"../x\"", "world.toml: id"),
        (WORLD, "id = \"lab\"\nturnlimit = 3", "world.toml: it has no field `turnlimit`"),
        (WORLD, "id = \"lab\"\nversion = 3", "world.toml: it has no field `version`"),
        (WORLD, "id = \"lab\"\nturn_limit = \"x\"", "world.toml: turn_limit: invalid type"),
        (
            WORLD,
            "id = \"lab\"\nagents = [\"ada\", \"bob\"]\nturn_limit = 0",
            "world.toml: `turn_limit` must be at least 1",
        ),
        (
            WORLD,
            "id = \"lab\"\n[sandbox]\nnetwrk = true",
            "world.toml: sandbox.netwrk: unknown field",
        ),
        (
            WORLD,
            "id = \"lab\"\n[mcp_servers.x]\nargs = []",
            "world.toml: mcp_servers.x: an MCP server needs",
        ),
        (WORLD, "id = \"lab\"\nagents = [\"eve\"]", "the file agents/eve.md is missing"),
        (WORLD, "id = \"lab\"\nagents = [\"ada\", \"ada\"]", "world.toml: agents: "),
        (WORLD, "id = \"lab\"\nid = \"lab\"", "world.toml: TOML parse error at line 2"),
        (
            WORLD,
            "id = \"lab\"\nname = 2020-01-01",
            "world.toml: name: write 2020-01-01 between quotes",
        ),
        ("agents/eve.md", "+++\n+++\n", "agents/eve.md: `agents` in world.toml does not name it"),
        ("agents/ada.md", "You are ada", "agents/ada.md: it must begin with a line `+++`"),
        ("agents/ada.md", "+++\nYou", "agents/ada.md: it must begin with a line `+++`"),
        ("agents/ada.md", "+++\nmodell = 1\n+++\n", "agents/ada.md: it has no field `modell`"),
        ("agents/ada.md", "+++\nid = \"eve\"\n+++\n", "agents/ada.md: it has no field `id`"),
        (
            "agents/ada.md",
            "+++\ntemperature = \"hot\"\n+++\n",
            "agents/ada.md: temperature: invalid type",
        ),
        (
            POLICY,
            "[[rules]]\nid = \"a\"\nruling = \"allow\"\ntool = \"x\"\nwen = 1",
            "policy.toml: policy.rules[0] has no field `wen`",
        ),
        (POLICY, "granted = []", "policy.toml: it has no field `granted`"),
        ("notes.txt", "", "notes.txt: there is no such file in a world"),
        ("../world.toml", "", "../world.toml: there is no such file"),
        ("agents/../x.md", "", "agents/../x.md: there is no such file"),
        ("agents/A.md", "", "agents/A.md: there is no such file"),
    ] {
        let error = change(name, text);
        assert!(error.contains(words), "{name} {text}: {error}");
    }
    let error = read(&Files::new(), Timestamp::UNIX_EPOCH).unwrap_err();
    assert!(error.contains("world.toml: the file is missing"), "{error}");
}

#[test]
fn what_toml_does_not_know_is_kept_as_json() {
    let value =
        json!({"null": null, "big": u64::MAX, "own": {"$json": "null"}, "list": [null, 1, 1.5]});
    let fields = Map::from_iter([("value".to_owned(), value)]);
    let text = to_text(&fields).unwrap();
    assert!(text.contains(r#""$json" = "null""#), "{text}");
    assert_eq!(from_text("x", &text).unwrap(), fields);
}
