//! Tests of setting up a vendor: with flags, at a terminal, and that no key ends up where nobody asked for it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use crate::home::Home;

pub const KEY: &str = "sk-of-a-test-0123456789abcdef";

/// A vendor that takes one key and has one model. Ends with the test.
pub fn vendor() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = Vec::new();
            let mut byte = [0];
            while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                asked.extend_from_slice(&byte);
            }
            let asked = String::from_utf8_lossy(&asked).to_lowercase();
            let (status, body) = match asked.contains(&format!("bearer {KEY}")) {
                true => ("200 OK", r#"{"object": "list", "data": [{"id": "good"}]}"#),
                false => ("401 Unauthorized", r#"{"error": {"message": "wrong key"}}"#),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
            let rest = format!("content-length: {length}\r\nconnection: close\r\n\r\n{body}");
            // Whoever asked may be gone.
            stream.write_all(format!("{head}{rest}").as_bytes()).ok();
        }
    });
    format!("http://{address}/v1")
}

fn settings(home: &Home) -> String {
    fs::read_to_string(home.path().join("agent-world.toml")).unwrap_or_default()
}

/// Whether a text is in any file below a folder.
fn is_anywhere(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().filter_map(Result::ok).any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => is_anywhere(&path, text),
            false => String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(text),
        }
    })
}

#[test]
fn a_vendor_is_set_up_with_flags() {
    let home = Home::new();
    let url = vendor();
    let variables = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", ""),
        ("MY_KEY", KEY),
        ("WRONG", "x"),
    ];
    let init = ["init", "--vendor", "openai", "--key-env", "MY_KEY", "--world", "lab"];
    let done = home.run_where(&variables, &init).succeeded();
    let done = done.says("the key comes from MY_KEY").says("made world lab").says("openai/gpt-5");
    done.says("next: agent-world chat -w lab").warns("openai takes the key");
    assert_eq!(settings(&home), "[vendors.openai]\nkey = { env = \"MY_KEY\" }\n");
    assert!(!is_anywhere(&home.path(), KEY));
    let world = home.run(&["world", "show", "lab", "--json"]).succeeded().json().remove(0);
    assert_eq!(
        (&world["default_model"], &world["agents"][0]["id"]),
        (&"openai/gpt-5".into(), &"ada".into())
    );
    home.run_where(&variables, &["doctor"]).says("openai has a key, from MY_KEY");

    let again = ["init", "--vendor", "openai", "--key-env", "MY_KEY"];
    home.run_where(&variables, &again).succeeded().says("says so already").says("made world home");
    let other = ["init", "--vendor", "openai", "--key-env", "OTHER", "--no-test"];
    home.run_where(&variables, &other).with_code(1).warns("says something else about openai");
}

#[test]
fn a_key_that_is_refused_sets_nothing_up() {
    let home = Home::new();
    let url = vendor();
    let variables = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "wrong-key-of-a-test")];
    let refused = home.run_where(&variables, &["init", "--vendor", "openai"]).with_code(1);
    let refused = refused.warns("openai cannot be used").warns("nothing was written");
    assert!(!refused.err.contains("wrong-key-of-a-test"), "{refused:?}");
    assert!(!home.path().exists());
    let untested = ["init", "--vendor", "openai", "--no-test", "--template", "debate"];
    home.run_where(&variables, &untested).succeeded().says("the key comes from OPENAI_API_KEY");
    home.run(&["agent", "list", "-w", "home"]).succeeded().says("moderator");
}

#[test]
fn a_key_is_stored_only_where_that_is_asked_for() {
    let home = Home::new();
    let url = vendor();
    let init = ["init", "--vendor", "openai", "--store-key"];
    fs::create_dir_all(home.path()).unwrap();
    let file = home.path().join("agent-world.toml");
    fs::write(&file, "# mine\n[server]\nlog = \"info\"").unwrap();
    let variables = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "")];
    let mut running = home.start_where(&variables, &init);
    running.write(&format!("{KEY}\n"));
    running.close();
    let done = running.wait().succeeded().says("it holds the key, and only you can read it");
    assert!(!done.out.contains(KEY) && !done.err.contains(KEY), "{done:?}");
    let text = settings(&home);
    assert!(text.starts_with("# mine\n[server]\nlog = \"info\"\n"), "{text}");
    assert!(text.contains(&format!("key = \"{KEY}\"")), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_a_terminal_everything_must_be_said() {
    let home = Home::new();
    let none = [("OPENAI_API_KEY", ""), ("AGENT_WORLD_URL", "")];
    for (arguments, says) in [
        (&["init"][..], "--vendor openai --key-env"),
        (&["init", "--vendor", "openai"], "put it into OPENAI_API_KEY"),
        (&["init", "--vendor", "nobody"], "is no vendor that is known by name"),
        (&["init", "--vendor", "openai", "--key-env", "NOT_SET_HERE"], "NOT_SET_HERE is not set"),
        (
            &["init", "--vendor", "openai", "--key-env", "sk-a/key"],
            "takes the name of an environment variable",
        ),
        (&["init", "--vendor", "ollama"], "--model ollama/NAME"),
        (
            &["init", "--vendor", "openai", "--server", "http://127.0.0.1:9"],
            "where the server runs",
        ),
        (&["init", "--key-env", "X"], "--vendor"),
    ] {
        home.run_where(&none, arguments).with_code(2).warns(says).says_nothing();
    }
    assert!(!home.path().exists());
}

#[test]
fn at_a_terminal_it_asks_and_shows_no_key() {
    let home = Home::new();
    let url = vendor();
    let program = env!("CARGO_BIN_EXE_agent-world");
    let variables = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", ""),
        ("AGENT_WORLD_URL", ""),
        ("TERM", "dumb"),
    ];
    let command = format!("{program} init");
    let mut running = home.start_terminal(&variables, &command);
    running.wait_for("Whose models");
    running.wait_for("number or name>");
    running.write("nobody\n");
    running.wait_for("that is none of them");
    running.write("openai\n");
    running.wait_for("Where is the key of openai?");
    running.write("1\n");
    running.wait_for("(it is not shown)>");
    running.write(&format!("{KEY}\n"));
    running.wait_for("model, or Enter for openai/gpt-5>");
    running.write("\n");
    running.wait_for("next: agent-world chat -w home");
    running.close();
    let ended = running.wait().succeeded();
    let ended = ended.says("openai takes the key").says("export OPENAI_API_KEY=...");
    assert!(!ended.out.contains(KEY), "{}", ended.out);
    assert_eq!(settings(&home), "[vendors.openai]\nkey = { env = \"OPENAI_API_KEY\" }\n");
    assert!(!is_anywhere(&home.path(), KEY));
}

#[test]
fn whoever_leaves_while_the_key_is_typed_gets_the_terminal_back() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_agent-world");
    let variables = [("OPENAI_API_KEY", ""), ("AGENT_WORLD_URL", ""), ("TERM", "dumb")];
    let init = format!("{program} init --vendor openai --store-key");
    // The shell goes on where the program was ended, and says how it left the terminal.
    let command = format!("trap : INT; {init}; echo code $?; stty -a");
    let mut running = home.start_terminal(&variables, &command);
    running.wait_for("(it is not shown)>");
    running.write("half-a-k\u{3}");
    running.wait_for("code 1");
    running.wait_for("echoe");
    running.close();
    let ended = running.wait();
    assert!(!ended.out.contains("-echo "), "{}", ended.out);
    ended.says("ended before it was done").does_not_say("half-a-k");
    assert!(!home.path().join("agent-world.toml").exists());
}
