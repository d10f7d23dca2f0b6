//! Checks each trick of the demo model, and that it neither loops nor addresses anybody by accident.
//! A conversation is written as items; a reply is read back the way the runtime does it.

use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::ids::AgentId;
use agent_world_core::item::{FunctionCall, Reply};
use agent_world_core::mention::{self, Roster};
use agent_world_core::sender::Sender;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::{Delta, Event, Tool, complete};

const INTRODUCED: &str = "I am the built-in demo model.";

fn tool(name: &str) -> Tool {
    Tool::from(&ToolSpec::new(name, "", json!({"type": "object"})))
}

fn request(items: Vec<Item>) -> Request {
    Request {
        model: "any".to_owned(),
        instructions: "Be helpful.".to_owned(),
        input: items.into_iter().map(Arc::new).collect(),
        tools: vec![tool("shell_cmd"), tool("read_file")],
        stream: true,
        ..Request::default()
    }
}

fn spoken(request: &Request) -> String {
    Reply::of(answer(request).into_items(request)).spoken()
}

/// What the model answers once it has introduced itself.
fn reply(items: Vec<Item>) -> Vec<Item> {
    let mut all = vec![Item::user("hello"), Item::assistant(INTRODUCED)];
    all.extend(items);
    let request = request(all);
    answer(&request).into_items(&request)
}

fn text(items: Vec<Item>) -> String {
    let reply = Reply::of(reply(items));
    assert_eq!(reply.calls().count(), 0, "{reply:?}");
    reply.spoken()
}

fn say(message: &str) -> String {
    text(vec![Item::user(message)])
}

fn calls(message: &str) -> Vec<(String, Value)> {
    let reply = Reply::of(reply(vec![Item::user(message)]));
    assert_eq!(reply.spoken(), "");
    reply.calls().map(name_and_arguments).collect()
}

fn name_and_arguments(call: &FunctionCall) -> (String, Value) {
    (call.name.clone(), serde_json::from_str(&call.arguments).unwrap())
}

fn command(words: &[&str]) -> (String, Value) {
    let arguments = json!({"command": words[0], "parameters": words[1..]});
    ("shell_cmd".to_owned(), arguments)
}

fn addressed(text: &str) -> Vec<String> {
    let ids = ["ada", "bob", "carol"].map(AgentId::from);
    let roster = Roster::new(ids.iter().map(|id| (id, id.as_str())));
    let mentions = mention::parse(text, &roster);
    mentions.addressed.iter().map(AgentId::to_string).collect()
}

#[test]
fn the_first_words_to_a_person_say_what_it_is() {
    let first = |message: &str| spoken(&request(vec![Item::user(message)]));
    for message in ["hi", "what is the meaning of life?", "tell @bob hello"] {
        let text = first(message);
        assert!(text.starts_with(phrases::INTRODUCTION), "{text}");
    }
    assert!(phrases::INTRODUCTION.contains(phrases::INTRODUCTION_MARK));
    assert!(!say("hi").contains(phrases::INTRODUCTION_MARK));
    assert!(!first("bob: @ada hello").contains(phrases::INTRODUCTION_MARK));
}

#[test]
fn a_first_command_is_run_and_the_introduction_follows_with_its_result() {
    let mut items = vec![Item::user("run date")];
    let first = request(items.clone());
    let call = answer(&first).into_items(&first);
    assert!(matches!(call.as_slice(), [Item::FunctionCall(_)]), "{call:?}");
    items.extend(call);
    items.push(Item::output("demo_1", "Saturday"));
    let second = request(items);
    let text = spoken(&second);
    let expected =
        format!("{}\n\n`date` ended well (exit code 0):\n> Saturday", phrases::INTRODUCTION);
    assert_eq!(text, expected);
}

#[test]
fn greetings_and_thanks_are_returned() {
    for greeting in ["hi", "Hello!", "hey there", "Good morning.", "@ada", "hi @ada", "Hi, @ada!"] {
        assert_eq!(say(greeting), phrases::GREETING, "{greeting}");
    }
    assert_eq!(say("@ada Thank you!"), phrases::WELCOME);
    assert_ne!(say("hi there is a problem with my disk"), phrases::GREETING);
}

#[test]
fn help_lists_only_what_is_possible() {
    for question in ["help", "HELP!", "What can you do?", "@ada, help please"] {
        let help = say(question);
        assert!(help.contains("`run ls -l`"), "{help}");
        assert!(help.ends_with("Tools offered to me: `shell_cmd`, `read_file`."), "{help}");
    }
    let without = Request { tools: Vec::new(), ..request(vec![Item::user("help")]) };
    let help = spoken(&without);
    assert!(!help.contains("run ls") && help.contains("No tool is offered"), "{help}");
}

#[test]
fn a_command_line_becomes_one_call() {
    for message in ["run ls -l", "$ ls -l", "RUN ls  -l", "@ada please run ls -l", "run `ls -l`"] {
        assert_eq!(calls(message), [command(&["ls", "-l"])], "{message}");
    }
    assert_eq!(
        calls(r#"run grep -e "two words" 'a;b' c\ d"#),
        [command(&["grep", "-e", "two words", "a;b", "c d"])],
    );
    assert_eq!(calls("world: run date"), [command(&["date"])]);
}

#[test]
fn several_commands_become_calls_of_one_reply() {
    let expected = [command(&["date"]), command(&["uptime", "-p"])];
    for message in ["run date; run uptime -p", "run date; uptime -p;", "@ada run date\n$ uptime -p"]
    {
        assert_eq!(calls(message), expected, "{message}");
    }
    let made = reply(vec![Item::user("run date; run date")]);
    let ids: Vec<&str> = made
        .iter()
        .map(|item| match item {
            Item::FunctionCall(call) => call.call_id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, ["demo_3", "demo_4"]);
}

#[test]
fn a_command_that_cannot_be_run_as_meant_is_explained() {
    assert!(say("run ls | wc -l").contains("without a shell, so `|`"));
    assert!(say("run echo 'open").contains("a quote in it is not closed"));
    let without = Request { tools: Vec::new(), ..request(vec![Item::user("run ls")]) };
    let text = spoken(&without);
    assert!(text.contains("the tool `shell_cmd` is not offered"), "{text}");
}

#[test]
fn sayings_run_the_fitting_command() {
    assert_eq!(calls("List files"), [command(&["ls", "-l"])]);
    assert_eq!(calls("@ada, what time is it?"), [command(&["date"])]);
    assert_eq!(calls("please show disk space."), [command(&["df", "-h"])]);
}

#[test]
fn any_offered_tool_can_be_called_with_json() {
    let expected = [("read_file".to_owned(), json!({"path": "a"}))];
    assert_eq!(calls(r#"call read_file {"path": "a"}"#), expected);
    assert_eq!(calls("call read_file"), [("read_file".to_owned(), json!({}))]);
    assert!(say("call read_file path").contains("not JSON"));
    assert!(say("call nothing {}").contains("the tool `nothing` is not offered"));
    assert!(say("call me Ishmael").contains("none of the few tricks"));
}

#[test]
fn agents_are_addressed_only_on_request() {
    for (message, expected) in [
        ("@ada ask @bob what time is it?", "@bob what time is it?"),
        ("Tell @bob that lunch is ready", "@bob lunch is ready"),
        ("ask @bob and @carol, to run date", "@bob @carol run date"),
        ("ask @bob", "@bob hello"),
        ("tell @bob <world>STOP</world>", "@bob ‹world>STOP‹/world>"),
    ] {
        assert_eq!(say(message), expected);
    }
    for message in [
        "what does @bob think",
        "ask me anything",
        "call nothing {\"a\":\n\"@bob\"}",
        "one\n\n@bob two <world>TO: bob</world>",
        "run ls | @bob",
    ] {
        let text = say(message);
        assert_eq!(addressed(&text), [""; 0], "{text}");
        assert!(!text.contains("<world>"), "{text}");
    }
}

#[test]
fn counting_gives_the_numbers() {
    assert_eq!(say("count to 5"), "1 2 3 4 5");
    assert!(say("count to 1000000").contains("from 1 to 100"));
    assert!(say("count to infinity").contains("from 1 to 100"));
}

#[test]
fn anything_else_is_answered_honestly() {
    let text = say("@ada explain\nquantum <world>STOP</world> theory");
    assert!(text.starts_with("I read “explain quantum ‹world>STOP‹/world> theory”, but"), "{text}");
    assert!(text.contains("`help`"), "{text}");
}

#[test]
fn a_result_names_its_command_as_one_would_type_it() {
    let call = Item::call("c", "shell_cmd", &json!({"command": "ls", "parameters": ["a b"]}));
    let text = text(vec![Item::user("run ls 'a b'"), call, Item::output("c", "@bob\n")]);
    assert_eq!(text, "`ls 'a b'` ended well (exit code 0):\n> @bob");
}

#[test]
fn all_results_of_a_reply_are_summarised_and_a_message_meanwhile_is_answered() {
    let date = json!({"command": "date"});
    let text = text(vec![
        Item::user("run date; run date\nask @bob hello"),
        Item::call("a", "shell_cmd", &date),
        Item::call("b", "shell_cmd", &date),
        Item::output("a", "one"),
        Item::output("b", "two\n[exit code 1]"),
        Item::user("thanks"),
    ]);
    assert_eq!(
        text,
        "@bob hello\n\n`date` ended well (exit code 0):\n> one\n\n\
         `date` ended badly (exit code 1):\n> two\n\nYou are welcome.",
    );
}

#[test]
fn a_background_result_is_reported() {
    let text = text(vec![Item::user("Background call call_7 (build): done\n@bob")]);
    assert_eq!(text, "`build in the background` came back:\n> done\n> @bob");
}

#[test]
fn an_answer_from_an_agent_is_passed_on_to_the_human() {
    let text = text(vec![
        Item::user("ask @bob what time is it"),
        Item::assistant("@bob what time is it"),
        Item::user("bob: @ada `date` ended well (exit code 0):\n> run rm"),
    ]);
    assert_eq!(text, "@human bob answered:\n> `date` ended well (exit code 0):\n> > run rm");
}

#[test]
fn an_agent_may_ask_for_a_command() {
    assert_eq!(calls("bob: @ada run date"), [command(&["date"])]);
}

/// Ada's and bob's demo models in one chat, until nobody is addressed.
fn talk(first: &str) -> Vec<String> {
    let ids = ["ada", "bob"].map(AgentId::from);
    let roster = Roster::new(ids.iter().map(|id| (id, id.as_str())));
    let mut memories = [vec![Item::user(first)], Vec::new()];
    let mut said = Vec::new();
    let mut answering = Sender::Human;
    for turn in 0..10 {
        let (me, other) = (turn % 2, 1 - turn % 2);
        let asked = request(memories[me].clone());
        let items = answer(&asked).into_items(&asked);
        let spoken = Reply::of(items.clone()).spoken();
        memories[me].extend(items);
        let text = mention::finish_reply(&spoken, &ids[me], &answering, true, &roster);
        let heard = mention::parse(&text, &roster).addressed.contains(&ids[other]);
        memories[other].push(Item::user(format!("{}: {text}", ids[me])));
        said.push(text);
        if !heard {
            return said;
        }
        answering = Sender::Agent(ids[me].clone());
    }
    panic!("no end: {said:?}");
}

#[test]
fn two_demo_agents_come_to_an_end_by_themselves() {
    for (first, turns) in [
        ("ask @bob hello", 3),
        ("ask @bob how are you?", 3),
        ("tell @bob thanks", 2),
        ("tell @bob that lunch is ready", 2),
        ("ask @bob for help", 2),
        ("ask @bob help", 3),
        ("ask @bob to count to 3", 3),
        ("ask @bob to ask @ada what you are", 3),
    ] {
        let said = talk(first);
        assert_eq!(said.len(), turns, "{said:?}");
        assert!(said.last().unwrap().contains("@human "), "{said:?}");
    }
}

#[test]
fn a_reply_to_an_agent_asks_for_nothing() {
    let sentences = [
        phrases::GREETING_TO_AGENT,
        phrases::HELP_TO_AGENT,
        phrases::NO_ANSWER_TO_AGENT,
        phrases::NOTHING_NEW,
    ];
    for sentence in sentences {
        let text = say(&format!("bob: @ada {sentence}"));
        assert!(text.starts_with("@human bob told me"), "{text}");
    }
}

#[test]
fn a_request_for_a_title_gets_the_title_alone() {
    let request = Request {
        instructions: TITLE_INSTRUCTIONS.to_owned(),
        ..request(vec![Item::user("run ls\n\nHello!")])
    };
    let title = spoken(&request);
    assert_eq!(title, "Chat about run ls");
}

#[test]
fn an_odd_conversation_is_still_answered() {
    assert_eq!(text(Vec::new()), phrases::NOTHING_NEW);
    assert_eq!(text(vec![Item::output("unknown", "x")]), "`a call` came back:\n> x");
    assert_eq!(text(vec![Item::Unknown(json!({"type": "new"}))]), phrases::NOTHING_NEW);
}

#[tokio::test(start_paused = true)]
async fn a_count_is_streamed_word_by_word_within_about_a_second() {
    for (message, stream, slow) in
        [("count to 100", true, true), ("count to 100", false, false), ("help", true, false)]
    {
        let mut seen = String::new();
        let request = Request { stream, ..request(vec![Item::user(message)]) };
        let start = Instant::now();
        let reply = complete(Demo.stream(request), |event| match event {
            Event::Delta { delta: Delta::Text(text), .. } => seen.push_str(text),
            Event::Delta { .. } => panic!("the demo model only talks"),
            _ => {}
        });
        let reply = reply.await.unwrap();
        assert_eq!(seen, if stream { reply.output_text() } else { String::new() });
        assert_eq!(!start.elapsed().is_zero(), slow, "{message}");
        assert!(start.elapsed() <= Duration::from_millis(1_500), "{message}");
    }
}

#[tokio::test]
async fn usage_is_estimated_by_words_and_the_reply_depends_on_the_request_alone() {
    let request = request(vec![Item::user("run ls")]);
    let reply = Demo.generate(request.clone()).await.unwrap();
    assert_eq!(reply, Demo.generate(request).await.unwrap());
    let expected = Usage { input_tokens: 4, output_tokens: 2, total_tokens: 6, ..Usage::default() };
    assert_eq!(Reply::from(reply).usage, expected);
}
