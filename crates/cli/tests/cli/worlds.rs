//! Tests of worlds and chats as they are named on the command line.

use crate::home::Home;

#[test]
fn a_world_can_be_made_used_shown_and_deleted() {
    let home = Home::new();
    let made = home.run(&["world", "create", "lab", "--name", "The lab", "--agent", "eve"]);
    made.succeeded().says("created world lab");
    // The only world there is needs no naming.
    home.run(&["send", "--approve", "all", "run touch made"]).succeeded().says("eve: ");
    assert!(home.path().join("workspace/lab/made").exists());
    let shown = home.run(&["world", "show", "lab"]).succeeded();
    shown.says("The lab").says("agent eve").does_not_say("main agent").says("chat chat_");
    let json = home.run(&["world", "show", "lab", "--json"]).succeeded().json();
    assert_eq!(json[0]["agents"][0]["id"], "eve");
    assert_eq!(home.run(&["chat", "list", "-w", "lab", "--json"]).succeeded().json().len(), 1);
    home.run(&["world", "create", "lab"]).with_code(1).warns("world lab exists already");
    home.run(&["world", "delete", "lab", "--yes"]).succeeded();
    home.run(&["world", "show", "lab"]).with_code(1).warns("world lab does not exist");
}

#[test]
fn a_world_may_work_in_a_folder_of_the_users() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    home.run(&["world", "create", "lab", "--agent", "eve", "--directory", path]).succeeded();
    home.run(&["send", "--approve", "all", "run touch made"]).succeeded();
    assert!(folder.path().join("made").exists());
    let none = ["world", "create", "other", "--directory", "/does/not/exist"];
    home.run(&none).with_code(1).warns("no folder that exists");
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let home = Home::new();
    home.run(&["world", "create", "../out"]).with_code(1).warns("cannot be the id of a world");
    home.run(&["world", "create", "lab", "--agent", "human"]).with_code(1).warns("choose another");
    assert!(!home.path().join("out").exists());
}

#[test]
fn unknown_worlds_and_chats_are_errors_that_say_what_to_do() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    for command in ["send", "chat"] {
        let ended = home.run_with(&[command, "-w", "none"], "hello\n").with_code(1);
        ended.warns("world none does not exist; `agent-world world list`");
        let ended = home.run_with(&[command, "-c", "chat_none"], "hello\n").with_code(1);
        ended.warns("chat chat_none does not exist");
    }
    home.run(&["world", "create", "lab", "--agent", "eve"]).succeeded();
    let listed = home.run(&["chat", "list", "-w", "demo", "--json"]).succeeded().json();
    let chat = listed[0]["id"].as_str().unwrap();
    let ended = home.run(&["send", "-w", "lab", "-c", chat, "hello"]).with_code(1);
    ended.warns("world lab has no chat ").warns("without -w the chat is looked for in every world");
    home.run(&["send", "-c", chat, "hello"]).succeeded().says("ada: ");
    home.run(&["nonsense"]).with_code(2);
    home.run(&["send", "--approve", "maybe", "hello"]).with_code(2);
}

#[test]
fn with_several_worlds_and_none_called_demo_one_must_be_named() {
    let home = Home::new();
    home.run(&["world", "create", "one", "--agent", "eve"]).succeeded();
    home.run(&["world", "create", "two", "--agent", "eve"]).succeeded();
    home.run(&["send", "hello"]).with_code(2).warns("name one with -w: one, two");
    home.run(&["send", "-w", "two", "hello"]).succeeded().says("eve: ");
}

#[test]
fn a_model_must_be_written_as_vendor_and_model() {
    let home = Home::new();
    for wrong in ["ada:gpt-5", "ada:", "ada:/x", "ada:openai/", "ada:openai/ gpt"] {
        let ended = home.run(&["world", "create", "lab", "--agent", wrong]).with_code(2);
        ended.warns("write vendor/model");
    }
    let ended = home.run(&["world", "create", "lab", "--agent", "ada:nosuch/gpt"]).succeeded();
    ended.says("ada: nosuch: the model cannot be asked");
}

#[test]
fn agents_are_told_who_they_are_unless_something_else_is_said() {
    let home = Home::new();
    let create = ["world", "create", "lab", "--agent", "ada", "--agent", "bob", "--json"];
    let made = home.run(&create).succeeded();
    made.says("You are ada").says("Other agents are here: @bob");
    let create =
        ["world", "create", "own", "--agent", "ada", "--instructions", "Be brief.", "--json"];
    home.run(&create).succeeded().says(r#""instructions":"Be brief.""#);
}

#[test]
fn a_message_to_nobody_is_for_all_agents_unless_one_is_the_main_agent() {
    let home = Home::new();
    let create = ["world", "create", "lab", "--agent", "ada", "--agent", "bob"];
    let made = home.run(&[&create[..], &["--json"]].concat()).succeeded().json();
    assert_eq!(made[0]["main_agent"], serde_json::Value::Null);
    home.run(&["send", "-w", "lab", "hello"]).succeeded().says("ada: ").says("bob: ");
    let create = ["world", "create", "one", "--agent", "ada", "--agent", "bob", "--main-agent"];
    home.run(&[&create[..], &["eve"]].concat()).with_code(1).warns("main_agent `eve`");
    home.run(&[&create[..], &["bob"]].concat()).succeeded();
    home.run(&["world", "show", "one"]).succeeded().says("main agent");
    home.run(&["send", "-w", "one", "hello"]).succeeded().says("bob: ").does_not_say("ada: ");
}

#[test]
fn how_far_agents_may_go_is_set_shown_and_changed() {
    let home = Home::new();
    let create = ["world", "create", "lab", "--agent", "eve", "--preset", "read-only"];
    home.run(&[&create[..], &["--sandbox", "off"]].concat()).succeeded();
    let shown = home.run(&["world", "show", "lab"]).succeeded();
    shown.says("programs run without a sandbox").says("policy: preset read-only, no rules");
    let update =
        ["world", "update", "lab", "--sandbox", "on", "--network", "on", "--preset", "ask"];
    let changed = home.run(&update).succeeded().says("changed world lab");
    changed.says("in a sandbox, as far as this system has one, with network").says("preset ask");
    home.run(&update).succeeded().says("is so already; nothing was changed");
    let json =
        home.run(&["world", "update", "lab", "--network", "off", "--json"]).succeeded().json();
    assert_eq!(
        (&json[0]["sandbox"]["mode"], &json[0]["sandbox"]["network"]),
        (&"on".into(), &false.into())
    );
    assert_eq!(json[0]["version"], 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    home.run(&["world", "update", "lab", "--directory", path]).succeeded();
    home.run(&["send", "-w", "lab", "--approve", "all", "run touch made"]).succeeded();
    assert!(folder.path().join("made").exists());
    home.run(&["world", "update", "lab"]).with_code(2).warns("say what shall change");
    home.run(&["world", "update", "lab", "--sandbox", "maybe"]).with_code(2).warns("required");
    let file = home.write("file", "");
    for nowhere in ["/does/not/exist", &file] {
        let ended = home.run(&["world", "update", "lab", "--directory", nowhere]).with_code(1);
        ended.warns("no folder that exists");
    }
    home.run(&["verify"]).succeeded();
}

#[test]
fn no_world_works_where_the_programs_own_data_is() {
    let home = Home::new();
    home.run(&["world", "list"]).succeeded();
    let data = home.path();
    for directory in [data.clone(), data.parent().unwrap().to_owned(), "/".into()] {
        let directory = directory.to_str().unwrap();
        let create = ["world", "create", "bad", "--agent", "ada", "--directory", directory];
        home.run(&create).with_code(1).warns("holds this program's own data");
    }
}
