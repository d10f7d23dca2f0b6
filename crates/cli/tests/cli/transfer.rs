//! Tests of worlds that are written to files and come back from them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::home::Home;

/// What an export prints.
fn exported(home: &Home, world: &str) -> Value {
    serde_json::from_str(&home.run(&["export", world]).succeeded().out).unwrap()
}

#[test]
fn a_world_moves_to_another_machine_in_a_file() {
    let (here, there) = (Home::new(), Home::new());
    here.run(&["send", "--approve", "all", "run touch made"]).succeeded();
    let file = here.write("demo.json", "an older file that others could read");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let export = ["export", "demo", "--out", &file, "--force"];
    here.run(&export).succeeded().warns("only you can read it");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(exported(&here, "demo")["format"], "agent-world/world");

    let imported = there.run(&["import", &file]).succeeded();
    imported.says("imported world demo with 1 chat");
    there.run(&["verify"]).succeeded();
    let again = exported(&there, "demo");
    let before: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for part in ["world", "granted", "chats", "results"] {
        assert_eq!(again[part], before[part], "{part}");
    }
    let taken = there.run(&["import", &file]).with_code(1).warns("world demo exists already");
    taken.warns("delete that one first").warns("--as ID").warns("--update");
    there.run(&["import", &file, "--as", "other"]).with_code(1).warns("cannot get another id");
    let text = fs::read_to_string(&file).unwrap().replacen("touch made", "touch more", 1);
    let forged = here.write("forged.json", &text);
    Home::new()
        .run(&["import", &forged])
        .with_code(1)
        .warns("it or the event before it was changed");
}

#[test]
fn what_waited_for_a_person_is_stopped_where_it_comes_in() {
    let (here, there) = (Home::new(), Home::new());
    assert_eq!(here.leave_waiting("run touch made").len(), 1);
    let file = here.write("demo.json", "");
    here.run(&["export", "demo", "--out", &file]).succeeded();
    there.run(&["import", &file]).succeeded().says("was stopped");
    assert!(there.waiting().is_empty());
    there.run(&["resume"]).succeeded();
    there.run(&["verify"]).succeeded();
    assert!(!there.file("made").exists() && !here.file("made").exists());
}

#[test]
fn settings_are_edited_in_a_folder_and_taken_over() {
    let home = Home::new();
    home.run(&["world", "create", "lab", "--agent", "ada", "--agent", "bob"]).succeeded();
    let add = ["mcp", "add", "hub", "-w", "lab", "--env", "PLAIN=as-it-is", "--", "server"];
    home.run(&add).succeeded();
    let path = home.write("x", "");
    let folder = Path::new(&path).with_file_name("lab");
    let folder = folder.to_str().unwrap();
    let written = home.run(&["export", "lab", "--folder", "--out", folder]).succeeded();
    written.says("wrote the settings of world lab").says("set the variable MCP_HUB_ENV_PLAIN");
    let read = |name: &str| fs::read_to_string(Path::new(folder).join(name)).unwrap();
    let write = |name: &str, text: &str| fs::write(Path::new(folder).join(name), text).unwrap();
    assert!(!read("world.toml").contains("as-it-is"));

    let nothing = ["import", folder, "--update"];
    home.run(&nothing).succeeded().says("nothing was changed");
    write("agents/ada.md", &(read("agents/ada.md") + "\nBe brief."));
    write("world.toml", &format!("turn_limit = 9\n{}", read("world.toml")));
    let dry = home.run(&["import", folder, "--update", "--dry-run"]).succeeded();
    dry.says("turn_limit: 5 -> 9")
        .says("agent ada: instructions changed")
        .says("2 changes would be made");
    home.run(&nothing).succeeded().says("changed world lab: 2 changes");
    home.run(&nothing).succeeded().says("nothing was changed");
    let whole = exported(&home, "lab");
    assert_eq!(whole["world"]["mcp_servers"]["hub"]["env"]["PLAIN"], "as-it-is", "keys are kept");
    assert!(whole["world"]["agents"][0]["instructions"].as_str().unwrap().ends_with("\nBe brief."));

    write("world.toml", &format!("turnlimit = 9\n{}", read("world.toml")));
    home.run(&nothing).with_code(1).warns("world.toml: it has no field `turnlimit`");
    home.run(&["export", "lab", "--folder", "--out", folder]).succeeded();
    home.run(&["import", folder, "--as", "second"]).succeeded().says("imported world second");
    let taken = home.run(&["import", folder]).with_code(1).warns("world lab exists already");
    taken.warns("--update").warns("--as ID");
    home.run(&["export", "lab", "--folder", "--out", home.path().to_str().unwrap()])
        .with_code(1)
        .warns("is not empty and holds no world.toml");
}

#[test]
fn programs_that_a_folder_brings_or_changes_start_only_where_somebody_trusts_it() {
    let home = Home::new();
    home.run(&["world", "create", "lab", "--agent", "ada"]).succeeded();
    home.run(&["mcp", "add", "old", "-w", "lab", "--trusted", "--", "/no/old"]).succeeded();
    let path = home.write("x", "");
    let folder = Path::new(&path).with_file_name("lab");
    let (file, folder) = (folder.join("world.toml"), folder.to_str().unwrap());
    home.run(&["export", "lab", "--folder", "--out", folder]).succeeded();
    let servers = || {
        let world = home.run(&["world", "show", "lab", "--json"]).succeeded().json().remove(0);
        let server = |name: &str| {
            let server = &world["mcp_servers"][name];
            (server["disabled"] == true, server["trusted"] == true)
        };
        (server("old"), server("new"))
    };
    let text = fs::read_to_string(&file).unwrap();
    let new = "\n[mcp_servers.new]\ncommand = \"/no/new\"\ntrusted = true\n";
    fs::write(&file, format!("{text}{new}")).unwrap();
    let update = ["import", folder, "--update"];
    let dry = home.run(&["import", folder, "--update", "--dry-run"]).succeeded();
    dry.says("mcp_servers.new: added").says("switched off: new;");
    let told = home.run(&update).succeeded().says("mcp_servers.new: added");
    told.says("MCP servers that are switched off: new;").says("mcp enable NAME -w lab");
    assert_eq!(servers(), ((false, true), (true, false)));
    // Said again, it is no more than before.
    home.run(&update).succeeded().says("nothing was changed").says("switched off: new;");
    assert_eq!(servers(), ((false, true), (true, false)));
    let trusted = ["import", folder, "--update", "--trust"];
    home.run(&trusted).succeeded().does_not_say("switched off: new");
    assert_eq!(servers(), ((false, true), (false, true)));
    // Another program under a name that is trusted.
    let text = fs::read_to_string(&file).unwrap().replace("/no/old", "/no/other");
    fs::write(&file, text).unwrap();
    home.run(&update).succeeded().says("MCP servers that are switched off: old;");
    assert_eq!(servers(), ((true, false), (false, true)));
    home.run(&["mcp", "enable", "old", "-w", "lab"]).succeeded().says("old is switched on");
    assert_eq!(servers().0, (false, false));
}

#[test]
fn what_is_shown_at_a_terminal_is_made_visible_and_what_is_piped_is_exact() {
    let home = Home::new();
    home.run(&["send", "hello \u{202e}dlrow"]).succeeded();
    home.run(&["export", "demo"]).succeeded().says("hello \u{202e}dlrow");
    let export = format!("{} export demo", env!("CARGO_BIN_EXE_agent-world"));
    let mut shown = home.start_terminal(&[("TERM", "dumb")], &export);
    shown.close();
    let shown = shown.wait().succeeded().says("hello \\u202edlrow").does_not_say("\u{202e}");
    // It is the same document.
    let text = shown.out.replace("\r\n", "\n");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
}
