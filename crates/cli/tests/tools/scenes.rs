//! Scenes in which each tool does its work from a chat: what the person is shown, what the model is told, what is noted.

use agent_world_core::command::Scope as Reach;
use agent_world_core::view::CallView;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::FeedItem;
use agent_world_store::Scope;
use agent_world_tools::watcher::Channel;
use serde_json::{Value, json};

use crate::processes::{nap, running};
use crate::stage::{Setup, Stage};
use crate::web::Web;

/// Plays one approved call to its end.
async fn approved(stage: &Stage, tool: &str, arguments: Value) -> CallView {
    stage.calls(tool, arguments).await;
    let asked = stage.asked().await;
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    stage.last_call().await
}

/// Plays one call that nobody is asked about.
async fn unasked(stage: &Stage, tool: &str, arguments: Value) -> String {
    stage.calls(tool, arguments).await;
    stage.idle().await;
    assert_eq!(stage.all_requests().await, [], "{tool} need not ask");
    assert_eq!(stage.last_call().await.state.name(), "completed");
    stage.told().pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_after_its_approval_and_says_how_it_ended() {
    let stage = Setup::new().open().await;
    stage.place.write("file", "text");
    stage.calls("shell_cmd", json!({"command": "cat", "parameters": ["file"]})).await;
    let asked = stage.asked().await;
    assert_eq!(asked.question, "Execute shell command: cat file");
    let facts = asked.binding.clone().unwrap().facts;
    assert!(facts["program"].ends_with("/cat"), "{facts:?}");
    assert_eq!(facts["directory"], stage.place.work().display().to_string());
    assert!(facts["sandbox"].starts_with("on, no network"), "{facts:?}");
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.told(), ["text"]);
    let output = stage.last_call().await.output.unwrap();
    assert_eq!(output.details["exit_code"], 0);
    assert_eq!(output.details["signal"], Value::Null);
    assert!(output.details["duration_ms"].is_u64());
    assert_eq!(output.details["sandbox"]["seccomp"], true);
    assert_eq!(output.details["sandbox"]["network"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_shown_as_it_is_and_run_by_a_shell() {
    let stage = Setup::new().open().await;
    stage
        .calls("shell_cmd", json!({"script": "printf 'b\\na\\n' | sort; echo oops >&2; exit 3"}))
        .await;
    let asked = stage.asked().await;
    assert!(asked.question.contains("| sort; echo oops >&2; exit 3"), "{}", asked.question);
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.told(), ["a\nb\n[stderr]\noops\n[exit code 3]"]);
    let call = stage.last_call().await;
    assert_eq!(call.state.name(), "failed");
    assert_eq!(call.output.unwrap().details["exit_code"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_ended_a_command_is_told() {
    let stage = Setup::new().open().await;
    let call = approved(&stage, "shell_cmd", json!({"script": "kill -TERM $$"})).await;
    assert_eq!(call.state.name(), "failed");
    assert_eq!(call.output.unwrap().details["signal"], 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let stage = Setup::new().open().await;
    let nap = nap();
    let script = format!("echo begun; setsid sleep {nap} & sleep {nap}");
    let call = approved(&stage, "shell_cmd", json!({"script": script, "timeout": 0.5})).await;
    assert_eq!(call.state.name(), "timeout");
    let told = stage.told().pop().unwrap();
    assert!(told.contains("begun\n[timed out after 0.5s and was killed"), "{told}");
    assert_eq!(running(&nap), [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_background_tells_its_result_later() {
    let stage = Setup::new().open().await;
    let script = "until [ -e go ]; do sleep 0.01; done; echo late";
    stage
        .model
        .push("ada", Answer::call("shell_cmd", json!({"script": script, "blocking": false})));
    stage.model.push("ada", "It is under way.");
    stage.model.push("ada", "Now it is done.");
    stage.say("go").await;
    let asked = stage.asked().await;
    stage.approve(&asked, Reach::Once).await;
    // The model goes on while the command runs.
    stage.model.received(2).await;
    assert_eq!(stage.last_call().await.state.name(), "executing");
    assert!(stage.told()[0].contains("started in the background"), "{:?}", stage.told());
    stage.place.write("go", "");
    stage.model.received(3).await;
    stage.idle().await;
    assert_eq!(stage.last_call().await.state.name(), "completed");
    let shown = format!("{:?}", stage.model.requests().last().unwrap().input);
    assert!(shown.contains("late"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_along_sees_output_while_it_is_made() {
    let stage = Setup::new().open().await;
    let position = stage.store.position().await.unwrap();
    let mut feed = stage.engine.subscribe(Scope::Chat(stage.chat.clone()), position);
    let script = "echo first; echo problem >&2; until [ -e go ]; do sleep 0.01; done; echo last";
    stage.calls("shell_cmd", json!({ "script": script })).await;
    let asked = stage.asked().await;
    stage.approve(&asked, Reach::Once).await;
    let (mut out, mut err) = (String::new(), String::new());
    // The command cannot end before the first pieces were seen.
    while !out.contains("last") {
        if let FeedItem::Output(piece) = feed.next().await.unwrap().unwrap() {
            match piece.channel {
                Channel::Stdout => out.push_str(&piece.text),
                Channel::Stderr => err.push_str(&piece.text),
                Channel::Progress => panic!("a command has no progress to tell"),
            }
        }
        if out.contains("first") && err.contains("problem") && !stage.place.has("go") {
            assert_eq!(stage.last_call().await.state.name(), "executing");
            stage.place.write("go", "");
        }
    }
    assert_eq!((out.as_str(), err.as_str()), ("first\nlast\n", "problem\n"));
    stage.idle().await;
    assert_eq!(stage.states().await, ["completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_listed_and_searched_without_a_question() {
    let stage = Setup::new().open().await;
    stage.place.write("poem.txt", "roses\nviolets\nsugar\n");
    let told =
        unasked(&stage, "read_file", json!({"path": "poem.txt", "offset": 2, "limit": 1})).await;
    assert!(told.contains("violets") && !told.contains("roses"), "{told}");
    let told = unasked(&stage, "list_files", json!({})).await;
    assert!(told.contains("poem.txt"), "{told}");
    let told = unasked(&stage, "search_files", json!({"pattern": "su.ar"})).await;
    assert!(told.contains("poem.txt") && told.contains("sugar"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_and_edited_as_its_preview_said() {
    let stage = Setup::new().open().await;
    stage.calls("write_file", json!({"path": "new/poem.txt", "content": "roses\nviolets\n"})).await;
    let asked = stage.asked().await;
    assert_eq!(asked.question, "Write file: new/poem.txt");
    let preview = asked.preview.clone().unwrap();
    assert!(preview.contains("--- /dev/null") && preview.contains("+violets"), "{preview}");
    assert!(!stage.place.has("new"), "nothing is made before the approval");
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.place.read("new/poem.txt"), "roses\nviolets\n");

    let edit = json!({"path": "new/poem.txt", "old": "violets", "new": "lilies"});
    stage.calls("edit_file", edit).await;
    let asked = stage.asked().await;
    let preview = asked.preview.clone().unwrap();
    assert!(preview.contains("-violets\n+lilies"), "{preview}");
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.place.read("new/poem.txt"), "roses\nlilies\n");
    assert_eq!(stage.states().await, ["completed", "completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_fetched_from_this_machine_where_the_world_allows_it() {
    let web = Web::start();
    let stage = Setup::new().world(|world| world.sandbox.private_addresses = true).open().await;
    let call = approved(&stage, "fetch_url", json!({"url": web.url("page")})).await;
    assert_eq!(call.state.name(), "completed", "{call:?}");
    let told = stage.told().pop().unwrap();
    assert!(told.contains("200") && told.contains("Some words."), "{told}");
    assert_eq!(web.asked(), ["page"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_is_cut_and_can_be_read_on_to_its_last_character() {
    let stage = Setup::new().world(|world| world.result_limit = 2_000).open().await;
    let call =
        approved(&stage, "shell_cmd", json!({"command": "seq", "parameters": ["1", "9000"]})).await;
    let told = stage.told().pop().unwrap();
    let note = format!("read_result {{\"id\": \"{}\", \"offset\": 1600}}", call.id);
    assert!(told.contains(&note) && told.len() < 3_000, "{told}");
    let whole: String = (1..=9_000).map(|number| format!("{number}\n")).collect();
    let whole = whole.trim_end();
    let mut read = String::new();
    while read.len() < whole.len() {
        let arguments = json!({"id": call.id, "offset": read.len()});
        stage.calls("read_result", arguments).await;
        stage.idle().await;
        let piece = stage.told().pop().unwrap();
        let text = piece.split("\n[characters ").next().unwrap();
        assert!(!text.is_empty(), "{piece}");
        read.push_str(text);
    }
    assert_eq!(read, whole);
}
