//! Turns and the tools they use: what is refused before anything runs, what runs beside, and what ends it.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::asking::{call, processes, said, script, seen, text, trusted, turns, until};
use crate::stage::{Chat, House};

async fn folder(house: &House) -> std::path::PathBuf {
    let world = house.get("/api/worlds/lab").await.is(200).json();
    text(&world, "working_directory").into()
}

#[tokio::test]
async fn what_cannot_be_meant_is_an_error_that_the_model_sees_and_nothing_runs() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], trusted()).await;
    let refused = [
        ("no_such_tool {}", "unknown tool"),
        ("shell_cmd {not json", ""),
        ("shell_cmd [1]", ""),
        ("shell_cmd {\"command\": {\"a\": 1}}", ""),
        ("shell_cmd {\"command\": \"echo\", \"elsewhere\": 1}", "elsewhere"),
        ("read_file {}", "path"),
        ("client.requestApproval {\"options\": []}", "client."),
        ("client.anything {}", "client."),
    ];
    for (line, word) in refused {
        house.say_and_settle(&chat, &format!("!call {line}")).await;
        let call = house.last_call(&chat).await;
        assert_eq!(
            (text(&call, "state"), &call["is_error"]),
            ("failed", &json!(true)),
            "{line}: {call:#}"
        );
        assert!(call["started_at"].is_null(), "{line} ran: {call:#}");
        let words = house.last_words(&chat).await;
        assert!(
            words.starts_with("done: ") && words.contains(word),
            "{line}: the model saw {words}"
        );
        assert!(words.to_lowercase().contains("error"), "{line}: no error in {words}");
    }
    // A good call beside bad ones runs; each call has one result, in order.
    let lines = ["!call nothing {}", "!call list_files {}", "!call shell_cmd {"];
    house.say_and_settle(&chat, &lines.join("\n")).await;
    let calls = house.calls(&chat).await;
    let states: Vec<&str> =
        calls[calls.len() - 3..].iter().map(|call| text(call, "state")).collect();
    assert_eq!(states, ["failed", "completed", "failed"]);
    // The vendor repeats its ids; ours are unique.
    let ids: std::collections::BTreeSet<&str> = calls.iter().map(|call| text(call, "id")).collect();
    assert_eq!(ids.len(), calls.len());
    assert!(ids.iter().all(|id| id.starts_with("call_")), "{ids:?}");
    every_call_has_one_result(&house);
}

/// Of every request that any model got.
fn every_call_has_one_result(house: &House) {
    for request in turns(house) {
        let input = serde_json::to_value(&request.input).unwrap();
        let ids = |kind: &str| -> Vec<String> {
            let items = input.as_array().unwrap().iter().filter(|item| item["type"] == kind);
            items.map(|item| text(item, "call_id").to_owned()).collect()
        };
        let (mut calls, mut results) = (ids("function_call"), ids("function_call_output"));
        calls.sort();
        results.sort();
        assert_eq!(calls, results, "{input:#}");
        let all = calls.len();
        calls.dedup();
        assert_eq!(calls.len(), all, "ids repeat in {input:#}");
    }
}

#[tokio::test]
async fn arguments_are_read_leniently_where_that_is_safe() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], trusted()).await;
    std::fs::write(folder(&house).await.join("notes"), "one\ntwo\nthree\n").unwrap();
    let lenient = [
        ("shell_cmd {\"command\": \"echo\", \"parameters\": \"single\"}", "single"),
        (
            "shell_cmd {\"command\": \"echo\", \"parameters\": [\"in time\"], \"timeout\": \"20\"}",
            "in time",
        ),
        (
            "shell_cmd {\"command\": \"echo\", \"parameters\": [\"no nulls\"], \"directory\": null, \"script\": null}",
            "no nulls",
        ),
    ];
    for (line, expected) in lenient {
        house.say_and_settle(&chat, &format!("!call {line}")).await;
        let call = house.last_call(&chat).await;
        assert_eq!(text(&call, "state"), "completed", "{line}: {call:#}");
        assert!(house.last_words(&chat).await.contains(expected), "{line}");
    }
    let call = house.calls(&chat).await.remove(0);
    assert_eq!(call["arguments"]["parameters"], json!(["single"]), "stored as it was understood");
}

#[tokio::test]
async fn a_background_call_is_told_of_twice_and_the_turn_goes_on() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], trusted()).await;
    let gate = folder(&house).await.join("gate");
    let wait = json!({"script": "until [ -e gate ]; do sleep 0.02; done; echo the late result", "blocking": false});
    house.say(&chat, &call("shell_cmd", wait)).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    stream
        .until(|event| {
            event.kind == "message" && text(&event.data["data"], "content").starts_with("done:")
        })
        .await;
    let running = house.last_call(&chat).await;
    assert_eq!((text(&running, "state"), &running["blocking"]), ("executing", &json!(false)));
    let words = house.last_words(&chat).await;
    let started = format!("started in the background, id {}", text(&running, "id"));
    assert!(words.contains(&started), "{words}");
    let activity = house.get(&chat.path("")).await.is(200).json()["activity"].clone();
    assert_eq!(activity["running_calls"], json!([running["id"]]), "{activity}");
    std::fs::write(gate, "").unwrap();
    let told = stream
        .until(|event| {
            event.kind == "message"
                && event.data["data"]["role"] == "assistant"
                && text(&event.data["data"], "content").contains("the late result")
        })
        .await;
    assert!(!told.is_empty());
    house.settled(&chat).await;
    assert_eq!(house.last_call(&chat).await["state"], "completed");
    assert_eq!(turns(&house).len(), 3, "the call, what was started, and the result at once");
    // A failure comes in the same way.
    let fails = json!({"script": "echo it broke >&2; exit 3", "blocking": false});
    house.say(&chat, &call("shell_cmd", fails)).await;
    stream
        .until(|event| {
            event.kind == "message"
                && event.data["data"]["role"] == "assistant"
                && text(&event.data["data"], "content").contains("it broke")
        })
        .await;
    every_call_has_one_result(&house);
}

#[tokio::test]
async fn a_tool_of_a_client_goes_there_and_back() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let parameters = json!({"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]});
    let tool = json!({"name": "weather", "description": "The weather.", "parameters": parameters, "approval": {"required": false}});
    let offer = chat.path("/client-tools/browser");
    house.put(&offer, json!({"tools": [tool]})).await.is(200);
    house.say(&chat, &call("weather", json!({"where": "Bern"}))).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    let waits = stream
        .until(|event| {
            event.kind == "tool"
                && event.data["data"]["location"] == "client"
                && event.data["data"]["state"] == "executing"
        })
        .await;
    let waiting = waits.last().unwrap().data["data"].clone();
    assert_eq!(waiting["arguments"], json!({"where": "Bern"}));
    let route = chat.path("/tool-results");
    let id = waiting["id"].clone();
    house.post(&route, json!({"tool_call_id": id})).await.is(422);
    house
        .post(&route, json!({"tool_call_id": "call_unknown", "content": "x"}))
        .await
        .refused(StatusCode::NOT_FOUND, "call_not_found");
    let told = house
        .post(&route, json!({"tool_call_id": id, "content": "sunny in Bern"}))
        .await
        .is(200)
        .json();
    assert_eq!(told["tool_call"]["state"], "completed");
    stream.until_idle().await;
    assert!(house.last_words(&chat).await.contains("sunny in Bern"));
    house
        .post(&route, json!({"tool_call_id": id, "content": "rain"}))
        .await
        .refused(StatusCode::CONFLICT, "call_not_waiting");
    assert_eq!(house.last_call(&chat).await["result"], "sunny in Bern");

    // An error is a result like any other; arguments are checked before the client hears of it.
    house.say(&chat, &call("weather", json!({"where": "Oslo"}))).await;
    let waits = stream
        .until(|event| event.kind == "tool" && event.data["data"]["state"] == "executing")
        .await;
    let id = waits.last().unwrap().data["data"]["id"].clone();
    let told = house
        .post(&route, json!({"tool_call_id": id, "content": "no window", "is_error": true}))
        .await
        .is(200)
        .json();
    assert_eq!(
        (&told["tool_call"]["state"], &told["tool_call"]["is_error"]),
        (&json!("failed"), &json!(true))
    );
    stream.until_idle().await;
    house.say_and_settle(&chat, &call("weather", json!({}))).await;
    assert_eq!(house.last_call(&chat).await["state"], "failed");
    // Taken back, it is not there any more.
    house.put(&offer, json!({"tools": []})).await.is(200);
    house.say_and_settle(&chat, &call("weather", json!({"where": "Rome"}))).await;
    assert!(house.last_words(&chat).await.contains("unknown tool"));
    // One that takes another's name is refused.
    let taken = json!({"tools": [{"name": "shell_cmd", "description": "Mine.", "parameters": {"type": "object"}}]});
    house.put(&offer, taken).await.refused(StatusCode::UNPROCESSABLE_ENTITY, "tools_invalid");
}

#[tokio::test]
async fn time_and_iterations_are_bounded() {
    let house = House::open().await;
    let mut settings = trusted();
    settings["max_iterations"] = json!(1);
    let chat = house.world("lab", &["ada"], settings).await;
    let mark = format!("mark{}", std::process::id());
    let slow =
        json!({"script": format!("echo begun; sh -c 'sleep 3600; : {mark}'"), "timeout": 0.3});
    house.say_and_settle(&chat, &call("shell_cmd", slow.clone())).await;
    let timed = house.last_call(&chat).await;
    assert_eq!((text(&timed, "state"), &timed["is_error"]), ("timeout", &json!(true)), "{timed:#}");
    assert!(timed["duration_ms"].as_i64().unwrap() >= 300, "{timed:#}");
    until("the end of what timed out", || processes(&mark) == 0).await;
    // The turn has used up its one model call: it ends with an error that can be seen.
    let messages = house.messages(&chat).await;
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "system", "{:#?}", said(&messages));
    assert!(text(last, "content").contains("max_iterations"), "{last:#}");
    let events = house.list(&chat.path("/events?types=system")).await;
    assert!(events.iter().any(|event| event["data"]["code"] == "iteration_limit"), "{events:#?}");

    house.patch("/api/worlds/lab", json!({"max_iterations": 2})).await.is(200);
    house.say_and_settle(&chat, &call("shell_cmd", slow)).await;
    let words = house.last_words(&chat).await;
    assert!(words.contains("timed out and was killed") && words.contains("begun"), "{words}");
}

#[tokio::test]
async fn a_long_result_is_cut_for_the_model_and_can_be_read_whole() {
    let house = House::open().await;
    let mut settings = trusted();
    settings["result_limit"] = json!(1000);
    let chat = house.world("lab", &["ada"], settings).await;
    house
        .say_and_settle(
            &chat,
            &call("shell_cmd", json!({"command": "seq", "parameters": ["20000"]})),
        )
        .await;
    let made = house.last_call(&chat).await;
    let id = text(&made, "id").to_owned();
    let asked = turns(&house);
    let shown = seen(asked.last().unwrap());
    assert!(shown.len() < 3000, "{}", shown.len());
    assert!(
        shown.contains("[cut: characters") && shown.contains("read_result") && shown.contains(&id),
        "{shown}"
    );
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let path = chat.path(&format!("/tool-calls/{id}/result?offset={offset}&limit=40000"));
        let piece = house.get(&path).await.is(200).json();
        whole.push_str(text(&piece, "text"));
        match piece["next"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    let expected: String = (1..=20000).map(|number| format!("{number}\n")).collect();
    assert!(whole.contains(expected.trim_end()), "{} characters", whole.len());
    // The model reads on as the note says.
    house.say_and_settle(&chat, &call("read_result", json!({"id": id, "offset": 5000}))).await;
    let rest: String = whole.chars().skip(5000).take(100).collect();
    assert!(house.last_words(&chat).await.contains(&rest));
}

#[tokio::test]
async fn stopping_kills_what_runs_and_ends_what_thinks() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], trusted()).await;
    let mark = format!("stopmark{}", std::process::id());
    house
        .say(
            &chat,
            &format!("@ada {}", script(&format!("echo x > begun; sh -c 'sleep 3600; : {mark}'"))),
        )
        .await;
    let begun = folder(&house).await.join("begun");
    until("the script", || begun.exists()).await;
    house.say(&chat, "@bob !half never\n!words 20").await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    stream
        .until(|event| {
            event.kind == "stream"
                && event.data["data"]["phase"] == "start"
                && event.data["data"]["agent_id"] == "bob"
        })
        .await;
    // One agent first: the other goes on.
    let body = json!({"agent_id": "bob"});
    let shown = house.post(&chat.path("/stop"), body).await.is(200).json();
    assert_eq!(shown["activity"]["agents"], json!([{"id": "ada", "doing": "running_tools"}]));
    assert!(processes(&mark) > 0);
    let shown = house.post(&chat.path("/stop"), json!({})).await.is(200).json();
    assert_eq!(shown["activity"]["state"], "idle");
    until("the end of the script", || processes(&mark) == 0).await;
    let call = house.last_call(&chat).await;
    assert_eq!((text(&call, "state"), &call["is_error"]), ("cancelled", &json!(true)), "{call:#}");
    let messages = house.messages(&chat).await;
    assert!(
        !messages.iter().any(|message| message["sender"] == "bob"),
        "no half reply is kept: {:#?}",
        said(&messages)
    );
    // What comes next works, and every call has its result.
    house.say_and_settle(&chat, "@ada !say still here").await;
    assert_eq!(house.last_words(&chat).await, "still here");
    every_call_has_one_result(&house);
}

#[tokio::test]
async fn a_vendor_that_fails_is_told_of_and_the_turn_can_be_taken_up_again() {
    let house = House::open().await;
    let chat: Chat = house.world("lab", &["ada"], json!({})).await;
    house
        .post(&chat.path("/retry"), json!({}))
        .await
        .refused(StatusCode::CONFLICT, "nothing_to_retry");
    house.say_and_settle(&chat, "!fail 400").await;
    let messages = house.messages(&chat).await;
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "system", "{:#?}", said(&messages));
    assert!(text(last, "content").contains("as told"), "{last:#}");
    let before = turns(&house).len();
    house.post(&chat.path("/retry"), json!({})).await.is(202);
    house.settled(&chat).await;
    assert_eq!(turns(&house).len(), before + 1, "asked once more");
    // Without streaming all is the same.
    house.patch("/api/worlds/lab", json!({"streaming": false})).await.is(200);
    house.say_and_settle(&chat, "!call list_files {}\n!then seen").await;
    assert_eq!(house.last_words(&chat).await, "seen");
    assert!(!turns(&house).last().unwrap().stream);
    let usage = house.get("/api/worlds/lab/stats").await.is(200).json();
    let of_ada =
        usage["usage"].as_array().unwrap().iter().find(|one| one["agent_id"] == "ada").unwrap();
    assert_eq!(
        (&of_ada["model_calls"], &of_ada["total_tokens"]),
        (&json!(2), &json!(30)),
        "{usage:#}"
    );
}

#[tokio::test]
async fn background_results_that_come_together_go_together_and_one_that_times_out_is_told() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], trusted()).await;
    let wait = |name: &str| {
        let script = format!("until [ -e gate ]; do sleep 0.02; done; echo result {name}");
        call("shell_cmd", json!({"script": script, "blocking": false}))
    };
    let late =
        call("shell_cmd", json!({"script": "sleep 3600", "blocking": false, "timeout": 0.5}));
    house.say(&chat, &format!("{}\n{}\n{late}\n!hold open", wait("one"), wait("two"))).await;
    house.vendor.release("open");
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    let ended = |event: &crate::following::Event, state: &str| {
        event.kind == "tool" && event.data["data"]["state"] == state
    };
    stream.until(|event| ended(event, "timeout")).await;
    std::fs::write(folder(&house).await.join("gate"), "").unwrap();
    stream.until(|event| ended(event, "completed")).await;
    stream.until(|event| ended(event, "completed")).await;
    house.settled(&chat).await;
    let last = seen(turns(&house).last().unwrap());
    for told in ["timed out", "result one", "result two"] {
        assert!(last.contains(told), "{told:?} is not in {last}");
    }
    let states: Vec<Value> =
        house.calls(&chat).await.iter().map(|call| call["state"].clone()).collect();
    assert_eq!(states, ["completed", "completed", "timeout"]);
    every_call_has_one_result(&house);
}

#[tokio::test]
async fn a_background_call_that_needs_approval_starts_only_when_approved() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let run = call("shell_cmd", json!({"script": "echo the late result", "blocking": false}));
    house.say_and_settle(&chat, &run).await;
    assert_eq!(turns(&house).len(), 1, "nothing has started, so the model is told nothing");
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.decide(&waiting, json!({"decision": "deny", "reason": "not now"})).await.is(200);
    house.settled(&chat).await;
    assert!(house.last_words(&chat).await.contains("denied by the user: not now"));
    house.say_and_settle(&chat, &run).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.decide(&waiting, json!({"decision": "approve"})).await.is(200);
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    stream
        .until(|event| {
            event.kind == "message"
                && event.data["data"]["role"] == "assistant"
                && text(&event.data["data"], "content").contains("the late result")
                && event.data["data"]["tool_calls"].is_null()
        })
        .await;
    every_call_has_one_result(&house);
}
