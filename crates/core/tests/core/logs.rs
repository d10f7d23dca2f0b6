//! Checks that logs written by earlier versions still mean what they meant: `tests/logs` holds them as they were stored,
//! each with a summary of what it folds to.
//!
//! An existing log or summary is never written again: a difference is a broken promise to everybody who has such a log.
//! To add one, put a script with a new name into `SCRIPTS` and run the tests of this crate once with `ADD_LOGS=1`. Only
//! where a summary quotes words that are not stored, such as the note on a call in the background, may they be changed
//! in it by hand together with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use agent_world_core::chain::{Hash, Sealed};
use agent_world_core::config::{Agent, Rules, Tools, World};
use agent_world_core::event::Event;
use agent_world_core::ids::AgentId;
use agent_world_core::outstanding::outstanding;
use agent_world_core::view;
use serde_json::Value;

use crate::printer::{self, Names};
use crate::scene::Scene;
use crate::stage::play;

/// How each log came to be. What a script does today does not matter to a log that exists.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "bindings",
        r#"
        finds shell_cmd: program=/bin/one; preview one
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"})
        finds shell_cmd: program=/bin/other
        approve 1
        start 1
        approve 3 as carol
        start 1
        asks 1: Which colour?
        approve 4 with {"colour":"red"}
        asks 1: And now?
        deny 5: enough
        asks 1: Really?
        tool 1 completes: red
        approve 2 with {"command":"three"}
        run 2: done
        offers web: colour(name), size()
        ada calls colour({"name":"sky"})
        client 3 answers: blue
        ada says: blue
        "#,
    ),
    (
        "conversation",
        r"
        agents: ada, bob
        settings: turn_limit 2
        human (carol): @ada talk to bob
        ada says: @bob ping
        bob says: pong
        ada says: ping <world>TO: bob</world>
        bob says: pong
        title: The Game of Ping Pong
        world: what did @bob say?
        human: @ada one
        human: @ada two
        ada says (cut off): I was about to
        ada says: both
        agents: ada
        rename: Ping Pong
        ",
    ),
    (
        "approvals",
        r#"
        agents: ada, bob
        settings: approval_timeout 60; directory /srv
        policy: deny shell_cmd when /command like "rm *"
        human: @ada go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"rm x"})
        approve 1 with {"command":"uno"} as carol
        deny 2: too dangerous
        run 1: done
        ada calls shell_cmd({"command":"three"}), shell_cmd({"command":"four"})
        approve 3 for session when /command like "*"
        run 4: done
        run 5: done
        ada calls shell_cmd({"command":"five"})
        revoke 1
        run 6: done
        ada calls shell_cmd({"command":"six"}), shell_cmd({"command":"seven"})
        approve 5 always
        run 7: done
        run 8: done
        ada says: done
        human (unattended): @bob go
        bob calls shell_cmd({"command":"eight"})
        bob says: I may not
        human: @bob go
        bob calls shell_cmd({"command":"nine"})
        wait 60s
        expire
        bob calls shell_cmd({"command":"ten"})
        stop
        title fails: no model
        "#,
    ),
    (
        "tools",
        r#"
        agents: ada, bob
        agent bob: sequential
        tool clock(): allowed; idempotent
        tool write(text, times?: integer): allowed
        tool build(target): allowed; background
        tool colour(): allowed; client; timeout 60
        human: @ada go
        ada calls clock#same(), write#same({"text":"x","times":"3"}), build({"target":"x"}), build({"target":"y"}), colour(), fly(), write(no)
        start 1
        lost 1
        start 1
        tool 1 completes: noon
        start 2
        lost 2
        start 3
        start 4
        tool 3 completes: built
        client 5 answers: blue
        ada says: building
        tool 4 fails: no compiler
        ada says: sorry
        human: @bob go
        bob calls write({"text":"a"}), write({"text":"b"})
        start 8
        tool 8 times out: too slow
        start 9
        tool 9 was cancelled: shut down
        stop bob
        "#,
    ),
    (
        "history",
        r#"
        agents: ada, bob
        human: @ada one
        ada says: 1
        human: @ada two
        ada calls shell_cmd({"command":"ls"})
        human: @ada hurry
        edit 3: @ada three
        ada says: 3
        human: @bob four
        delete 7
        delete chat
        "#,
    ),
    (
        "fork",
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"}), build({"target":"y"})
        start 1
        start 2
        tool 1 completes: built
        human: done?
        fork at 2
        human: and now?
        ada says: nearly
        "#,
    ),
    (
        "fork-of-an-edited-call",
        r#"
        human: go
        ada calls shell_cmd({"command":"rm"})
        approve 1 with {"command":"ls"}
        run 1: files
        ada says: done
        fork at 2
        human: and now?
        ada says: nothing
        "#,
    ),
    (
        "naming",
        r"
        human: hello
        ada says: hello
        title: Engines of the Future
        ",
    ),
    (
        "failures",
        r#"
        agents: ada, bob
        settings: max_iterations 2; after_denial wait
        tool clock(): allowed
        human: @ada go
        ada's model fails: overloaded
        retry
        ada calls shell_cmd({"command":"ls"})
        deny 1
        human: @ada use the clock
        ada calls clock()
        run 2: noon
        human: @bob hello
        agents: ada
        bob says: hello
        agents:
        human: anybody?
        "#,
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

/// One event on a line, its payload byte for byte as it was stored.
fn write_line(sealed: &Sealed) -> String {
    let Sealed { seq, at, kind, version, payload, hash } = sealed;
    format!(
        r#"{{"seq":{seq},"at":"{at}","type":"{kind}","version":{version},"hash":"{hash}","payload":{payload}}}"#
    ) + "\n"
}

fn read_line(line: &str) -> Sealed {
    let (head, payload) = line.split_once(r#","payload":"#).expect("a payload");
    let head: Value = serde_json::from_str(&format!("{head}}}")).expect("JSON");
    let text = |name: &str| head[name].as_str().expect("a text").to_owned();
    Sealed {
        seq: head["seq"].as_u64().expect("a number"),
        at: text("at").parse().expect("a time"),
        kind: text("type"),
        version: u32::try_from(head["version"].as_u64().expect("a number")).expect("a version"),
        payload: payload.strip_suffix('}').expect("a closing brace").to_owned(),
        hash: Hash::parse(&text("hash")).expect("a hash"),
    }
}

fn logs() -> Vec<(String, Vec<Sealed>)> {
    static ADDED: Once = Once::new();
    if std::env::var_os("ADD_LOGS").is_some() {
        ADDED.call_once(add_missing);
    }
    let entries = fs::read_dir(folder()).expect("the folder of the logs");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a log");
        (name, text.lines().map(read_line).collect())
    };
    paths.into_iter().map(read).collect()
}

/// Everything a log means, in words.
fn summary(stored: &[Sealed]) -> String {
    let first = stored.first().expect("an event").open().expect("a readable event");
    let Event::ChatCreated(created) = &first.event else { panic!("a log begins with its chat") };
    let scene = Scene::load(created.chat.clone(), 20_000, stored);

    let mut names = Names::default();
    let mut lines = Vec::new();
    for recorded in &scene.log {
        names.learn_from(&recorded.event);
        lines.extend(printer::event(recorded));
    }
    let now = scene.log.last().expect("an event").at;
    lines.push(String::new());
    lines.push(printer::owed(&outstanding(&scene.chat), now));
    lines.push(printer::activity(&view::activity(&scene.chat)));
    let title = &scene.chat.title;
    lines.push(format!("title: {}, {:?}, {:?}", title.text, title.author, title.naming));
    for grant in scene.chat.grants.values() {
        lines.push(format!("{}: {} may use {}", grant.id, grant.agent, grant.tool));
    }
    for (agent, desk) in &scene.chat.agents {
        lines.push(format!("{agent}: {} turns taken, failed: {:?}", desk.turns_taken, desk.failed));
    }
    lines.extend(scene.tables.approvals.values().map(printer::approval));
    for call in scene.tables.calls.values() {
        lines.push(format!("{} {}: {} {}", call.id, call.state.name(), call.name, call.arguments));
    }
    let mut world = World::new("test".into(), "Test", now);
    world.agents = agents(&scene).into_iter().map(Agent::new).collect();
    let rules = Rules { world: &world, tools: &Tools::default() };
    for agent in &world.agents {
        let prompt = scene.transcript.prompt(&agent.id, rules).expect("an agent");
        lines.extend(printer::prompt(agent.id.as_str(), &prompt));
    }
    names.shorten(&lines.join("\n")) + "\n"
}

fn agents(scene: &Scene) -> BTreeSet<AgentId> {
    let mut agents: BTreeSet<AgentId> = scene.chat.agents.keys().cloned().collect();
    agents.extend(scene.tables.messages.iter().filter_map(|message| message.agent.clone()));
    agents
}

#[test]
fn every_log_ever_kept_folds_to_what_it_always_meant() {
    let logs = logs();
    for (name, _) in SCRIPTS {
        let kept = logs.iter().any(|(log, _)| log == name);
        assert!(kept, "the log of the script `{name}` is missing; see the head of this file");
    }
    for (name, stored) in &logs {
        let path = folder().join(format!("{name}.txt"));
        let expected = fs::read_to_string(&path).expect("every log has its summary");
        assert_eq!(summary(stored), expected, "the log `{name}` means something else now");
    }
}

fn add_missing() {
    fs::create_dir_all(folder()).expect("a folder");
    for (name, script) in SCRIPTS {
        let path = folder().join(format!("{name}.jsonl"));
        if !path.exists() {
            let stage = play(script);
            let stored = &stage.scene().stored;
            let log: String = stored.iter().map(write_line).collect();
            fs::write(&path, log).expect("a log");
            fs::write(path.with_extension("txt"), summary(stored)).expect("a summary");
        }
    }
}

#[test]
fn every_kind_of_event_is_in_some_log() {
    let mut seen = BTreeSet::new();
    for (_, stored) in logs() {
        for sealed in &stored {
            let event = sealed.open().expect("readable").event;
            if let Event::HistoryCopied { events } = &event {
                seen.extend(events.iter().map(|copied| place(&copied.event)));
            }
            seen.insert(place(&event));
        }
    }
    let missing: Vec<usize> = (0..KINDS).filter(|kind| !seen.contains(kind)).collect();
    assert!(missing.is_empty(), "add a script whose log has events with the places {missing:?}");
}

#[test]
fn every_outcome_ending_notice_and_decider_is_in_some_log() {
    let text: String =
        logs().into_iter().flat_map(|(_, stored)| stored).map(|one| one.payload).collect();
    for word in [
        r#""outcome":"completed""#,
        r#""outcome":"failed""#,
        r#""outcome":"timeout""#,
        r#""outcome":"denied""#,
        r#""outcome":"expired""#,
        r#""outcome":"interrupted""#,
        r#""outcome":"cancelled""#,
        r#""ending":"completed""#,
        r#""ending":{"failed""#,
        r#""ending":"stopped""#,
        r#""code":"nobody_addressed""#,
        r#""code":"no_agents""#,
        r#""code":"model_failed""#,
        r#""code":"iteration_limit""#,
        r#""code":"agent_gone""#,
        r#""code":"reply_incomplete""#,
        r#""by":{"person""#,
        r#""by":{"grant""#,
        r#""by":{"rule""#,
        r#""by":"nobody""#,
        r#""scope":"once""#,
        r#""scope":{"session""#,
        r#""scope":{"always""#,
        r#""unattended""#,
        r#""background""#,
        r#""client""#,
        r#""sequential""#,
        r#""retry_of""#,
        r#""binding""#,
        r#""voided""#,
        r#""form""#,
        r#""answered""#,
        r#""preview""#,
        r#""verdict":{"ruling":"deny""#,
        r#""glob""#,
    ] {
        assert!(text.contains(word), "no log has {word}");
    }
}

const KINDS: usize = 27;

// Without a catch-all: whoever adds an event is sent here, and to `SCRIPTS`.
fn place(event: &Event) -> usize {
    match event {
        Event::ChatCreated(_) => 0,
        Event::HistoryCopied { .. } => 1,
        Event::ChatRenamed { .. } => 2,
        Event::NamingGivenUp { .. } => 3,
        Event::ChatDeleted { .. } => 4,
        Event::MessagePosted(_) => 5,
        Event::NoticePosted(_) => 6,
        Event::HistoryCut { .. } => 7,
        Event::TurnStarted(_) => 8,
        Event::ModelCallRequested(_) => 9,
        Event::ReplyRecorded(_) => 10,
        Event::TurnPaused { .. } => 11,
        Event::TurnEnded { .. } => 12,
        Event::TurnLimitReached { .. } => 13,
        Event::WorkStopped { .. } => 14,
        Event::ToolCalled(_) => 15,
        Event::ToolStarted { .. } => 16,
        Event::ToolRequeued { .. } => 17,
        Event::ToolFinished(_) => 18,
        Event::ApprovalRequested(_) => 19,
        Event::ApprovalDecided(_) => 20,
        Event::ApprovalExpired { .. } => 21,
        Event::ApprovalWithdrawn { .. } => 22,
        Event::GrantRevoked { .. } => 23,
        Event::TitleProposed { .. } => 24,
        Event::ArgumentsEdited { .. } => 25,
        Event::ClientToolsOffered { .. } => 26,
    }
}
