//! What people are asked, how they answer, and what comes of it.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::asking::{call, script, text, turns};
use crate::stage::{Chat, House};

async fn by_call(house: &House, chat: &Chat) -> BTreeMap<String, Value> {
    let calls = house.calls(chat).await;
    calls.into_iter().map(|call| (text(&call, "id").to_owned(), call)).collect()
}

/// Three requests of one reply, each of another tool or program.
async fn three(house: &House, chat: &Chat) -> Vec<Value> {
    let said = [
        call("shell_cmd", json!({"command": "touch", "parameters": ["one"]})),
        call("write_file", json!({"path": "two", "content": "2"})),
        call("shell_cmd", json!({"command": "mkdir", "parameters": ["three"]})),
    ];
    house.say_and_settle(chat, &said.join("\n")).await;
    let waiting = house.waiting_in(chat).await;
    assert_eq!(waiting.len(), 3, "{waiting:#?}");
    waiting
}

#[tokio::test]
async fn requests_of_one_reply_are_decided_in_any_order_with_any_scope() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let waiting = three(&house, &chat).await;
    let tools: Vec<&str> = waiting.iter().map(|one| text(one, "tool")).collect();
    assert_eq!(tools, ["shell_cmd", "write_file", "shell_cmd"]);
    let activity = house.get(&chat.path("")).await.is(200).json()["activity"].clone();
    assert_eq!(activity["waiting_approvals"], 3);
    assert_eq!(activity["agents"], json!([{"id": "ada", "doing": "awaiting_approval"}]));

    // The last one first: its tool starts at once and waits for no other.
    let mut stream = house.follow(&chat.path("/events"), None).await;
    let always = json!({"decision": "approve", "scope": "always", "match": 0});
    let third = house.decide(&waiting[2], always).await.is(200).json();
    assert_eq!((&third["state"], &third["scope"]), (&json!("approved"), &json!("always")));
    let done = stream
        .until(|event| event.kind == "tool" && event.data["data"]["state"] == "completed")
        .await;
    assert_eq!(done.last().unwrap().data["data"]["id"], waiting[2]["tool_call_id"]);
    assert_eq!(house.waiting_in(&chat).await.len(), 2);

    let deny = json!({"decision": "deny", "reason": "not that file"});
    let second = house.decide(&waiting[1], deny).await.is(200).json();
    assert_eq!((&second["state"], &second["decision"]), (&json!("denied"), &json!("deny")));
    assert_eq!(second["reason"], "not that file");
    let first = house.decide(&waiting[0], json!({"decision": "approve"})).await.is(200).json();
    assert_eq!(first["scope"], "once");
    for decided in [&first, &second, &third] {
        assert_eq!(decided["decided_by"], "tester");
        assert!(decided["decided_at"].as_str().unwrap().ends_with('Z'), "{decided:#}");
    }
    house.settled(&chat).await;
    let calls = by_call(&house, &chat).await;
    let state = |approval: &Value| calls[text(approval, "tool_call_id")]["state"].clone();
    assert_eq!(state(&waiting[0]), "completed");
    assert_eq!(state(&waiting[1]), "denied");
    assert_eq!(state(&waiting[2]), "completed");
    // The model is told the results in the order in which it made the calls, and the reason in these words.
    let words = house.last_words(&chat).await;
    let results: Vec<&str> = words.split(" | ").collect();
    assert_eq!(results.len(), 3, "{words}");
    assert!(results[1].contains("denied by the user: not that file"), "{words}");
    let world = house.get("/api/worlds/lab").await.is(200).json();
    let folder = std::path::PathBuf::from(text(&world, "working_directory"));
    assert!(folder.join("one").exists() && folder.join("three").exists());
    assert!(!folder.join("two").exists());
}

#[tokio::test]
async fn a_grant_settles_the_others_it_covers_and_holds_for_one_agent_in_one_chat() {
    let mut house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], json!({})).await;
    let run = |name: &str| call("shell_cmd", json!({"command": "echo", "parameters": [name]}));
    let both = format!(
        "@ada {}\n{}\n{}",
        run("a"),
        run("b"),
        call("write_file", json!({"path": "c", "content": "c"}))
    );
    house.say_and_settle(&chat, &both).await;
    let waiting = house.waiting_in(&chat).await;
    assert_eq!(waiting.len(), 3);
    let session = json!({"decision": "approve", "scope": "session"});
    house.decide(&waiting[1], session).await.is(200);
    let sibling = house.approval(&waiting[0]).await;
    assert_eq!(sibling["state"], "approved", "{sibling:#}");
    assert_eq!(sibling["decided_by"], "tester");
    let grants = house.list(&chat.path("/grants")).await;
    assert_eq!(grants.len(), 1, "{grants:#?}");
    assert_eq!(sibling["decided_through"], grants[0]["id"]);
    assert_eq!((text(&grants[0], "agent_id"), text(&grants[0], "tool")), ("ada", "shell_cmd"));
    let left = house.waiting_in(&chat).await;
    assert_eq!(left.len(), 1);
    house.decide(&left[0], json!({"decision": "deny"})).await.is(200);
    house.settled(&chat).await;

    // The same agent in the same chat is not asked about; another agent is, and so is the same one elsewhere.
    house.say_and_settle(&chat, &format!("@ada {}", run("again"))).await;
    assert_eq!(house.waiting_in(&chat).await, [] as [Value; 0]);
    assert_eq!(house.last_call(&chat).await["state"], "completed");
    house.say_and_settle(&chat, &format!("@bob {}", run("bob"))).await;
    let of_bob = house.waiting_in(&chat).await;
    assert_eq!(of_bob.len(), 1);
    assert_eq!(of_bob[0]["agent_id"], "bob");
    let elsewhere = house.another_chat(&chat).await;
    house.say_and_settle(&elsewhere, &format!("@ada {}", run("there"))).await;
    assert_eq!(house.waiting_in(&elsewhere).await.len(), 1);
    let there = house.waiting_in(&elsewhere).await.remove(0);

    // A rule of the world holds for the agent in every chat, settles what waits there, and survives a restart.
    let forked = house.decide(&there, json!({"decision": "approve", "scope": "always"})).await;
    forked.is(200);
    house.settled(&elsewhere).await;
    house.kill().await;
    house.start().await;
    let third = house.another_chat(&chat).await;
    house.say_and_settle(&third, &format!("@ada {}", run("later"))).await;
    assert_eq!(house.waiting_in(&third).await, [] as [Value; 0]);
    let policy = house.get("/api/worlds/lab/policy").await.is(200).json();
    let granted = policy["granted"].as_array().unwrap();
    assert_eq!(granted.len(), 1, "{policy:#}");
    assert_eq!((&granted[0]["tool"], &granted[0]["agent"]), (&json!("shell_cmd"), &json!("ada")));

    // Taken back, both ask again.
    let rule = text(&granted[0], "id");
    house.delete(&format!("/api/worlds/lab/policy/rules/{rule}")).await.is(204);
    let grant = text(&grants[0], "id");
    house.delete(&chat.path(&format!("/grants/{grant}"))).await.is(204);
    assert_eq!(house.list(&chat.path("/grants")).await, [] as [Value; 0]);
    house.say_and_settle(&third, &format!("@ada {}", run("last"))).await;
    assert_eq!(house.waiting_in(&third).await.len(), 1);
    house.say_and_settle(&chat, &format!("@ada {}", run("last"))).await;
    let agents: Vec<Value> =
        house.waiting_in(&chat).await.iter().map(|one| one["agent_id"].clone()).collect();
    assert_eq!(agents, ["bob", "ada"]);
}

#[tokio::test]
async fn a_request_is_told_as_a_call_to_the_client_and_can_be_answered_by_either_id() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say(&chat, "first some words").await;
    house.settled(&chat).await;
    let arguments = json!({"command": "curl", "parameters": ["--password", "hunter2hunter2", "-d", "a\u{202e}b"]});
    house.say_and_settle(&chat, &call("shell_cmd", arguments)).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    // Secrets are masked wherever a client looks, and hidden characters are made visible.
    let masked = "[secret masked: ";
    let parameter = waiting["arguments"]["parameters"][1].as_str().unwrap();
    assert!(parameter.starts_with(masked), "{waiting:#}");
    assert!(!text(&waiting, "shown").contains('\u{202e}'), "{waiting:#}");
    let whole = house.approval(&waiting).await;
    let context = whole["context"].as_array().unwrap();
    assert!((3..=10).contains(&context.len()), "{context:#?}");
    assert_eq!(context[0]["content"], "first some words");
    let places = ["/api/approvals", "/api/audit", "/api/events"].map(str::to_owned);
    for path in places
        .into_iter()
        .chain(["/tool-calls", "/events", "/messages"].map(|path| chat.path(path)))
    {
        let mut told = house.list(&path).await;
        // What the person wrote is as they wrote it.
        told.retain(|one| one["role"] != "user" && one["data"]["role"] != "user");
        assert!(
            !json!(told).to_string().contains("hunter2hunter2"),
            "{path} tells the secret: {told:#?}"
        );
    }

    let messages = house.messages(&chat).await;
    let request = messages.last().unwrap();
    assert_eq!(request["role"], "assistant");
    let asked = &request["tool_calls"][0];
    assert_eq!(asked["type"], "function");
    assert_eq!(asked["function"]["name"], "client.requestApproval");
    let told: Value = serde_json::from_str(text(&asked["function"], "arguments")).unwrap();
    let original = &told["originalToolCall"];
    assert_eq!(original["id"], waiting["tool_call_id"]);
    assert_eq!(original["name"], "shell_cmd");
    assert_eq!(original["args"]["command"], "curl");
    let world = house.get("/api/worlds/lab").await.is(200).json();
    assert_eq!(original["workingDirectory"], world["working_directory"]);
    assert_eq!(told["message"], waiting["message"]);
    // What cannot be shown in full is not offered for good.
    assert_eq!(told["options"], json!(["deny", "approve_once", "approve_session"]));
    assert_eq!(told["options"], waiting["options"]);
    let always = json!({"decision": "approve", "scope": "always"});
    house
        .decide(&waiting, always)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "choice_not_offered");
    let holder = messages
        .iter()
        .find(|message| message["id"] == request["reply_to"])
        .expect("what it replies to");
    let held = holder["tool_calls"].as_array().unwrap();
    assert!(held.iter().any(|call| call["id"] == waiting["tool_call_id"]), "{holder:#}");

    // Whoever states something else is refused, and nothing is decided.
    let route = chat.path("/tool-results");
    let id = waiting["id"].clone();
    let mismatched = json!({"tool_call_id": id, "decision": "approve", "originalToolCall": {"name": "write_file"}});
    house.post(&route, mismatched).await.refused(StatusCode::CONFLICT, "approval_mismatch");
    let mismatched = json!({"decision": "approve", "agent_id": "bob"});
    house.decide(&waiting, mismatched).await.refused(StatusCode::CONFLICT, "approval_mismatch");
    let changed = json!({"tool_call_id": id, "decision": "approve", "originalToolCall": {"args": {"command": "rm"}}});
    house.post(&route, changed).await.refused(StatusCode::CONFLICT, "approval_mismatch");
    let other = house.another_chat(&chat).await;
    let wrong = house
        .post(&other.path("/tool-results"), json!({"tool_call_id": id, "decision": "approve"}))
        .await;
    assert_eq!(wrong.is(404).json()["status"], 404);
    let named =
        house.decide(&waiting, json!({"decision": "approve", "decided_by": "somebody"})).await;
    let named = named.refused(StatusCode::UNPROCESSABLE_ENTITY, "body_invalid");
    assert!(text(&named, "detail").contains("decided_by"), "{named}");
    assert_eq!(house.approval(&waiting).await["state"], "pending");

    // By the request's id, as its choices are called; then another by the call's.
    let settled = house
        .post(&route, json!({"tool_call_id": id, "content": "deny: no network"}))
        .await
        .is(200)
        .json();
    assert_eq!(settled["approval"]["state"], "denied");
    assert_eq!(settled["tool_call"]["state"], "denied");
    house.settled(&chat).await;
    assert!(house.last_words(&chat).await.contains("denied by the user: no network"));
    house.say_and_settle(&chat, &script("echo by its call")).await;
    let next = house.waiting_in(&chat).await.remove(0);
    assert_eq!(
        next["options"],
        json!(["deny", "approve_once", "approve_session", "approve_always"])
    );
    let body =
        json!({"tool_call_id": next["tool_call_id"], "decision": "approve", "scope": "once"});
    let settled = house.post(&route, body.clone()).await.is(200).json();
    assert_eq!(settled["approval"]["id"], next["id"]);
    house.settled(&chat).await;
    assert!(house.last_words(&chat).await.contains("by its call"));
    let again = house.post(&route, body).await.refused(StatusCode::CONFLICT, "approval_settled");
    assert_eq!(again["approval"]["decided_by"], "tester");
    // No model sees any of it.
    let asked = serde_json::to_string(&turns(&house)).unwrap();
    assert!(!asked.contains("requestApproval"), "{asked}");
}

#[tokio::test]
async fn edited_arguments_run_in_place_of_the_models_and_it_is_told_so() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say_and_settle(&chat, &script("echo original words")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let invalid = json!({"decision": "approve", "arguments": {"script": 7, "elsewhere": true}});
    house
        .decide(&waiting, invalid)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "arguments_invalid");
    let edited = json!({"script": "echo edited words"});
    let decided = house.decide(&waiting, json!({"decision": "approve", "arguments": edited})).await;
    assert_eq!(decided.is(200).json()["edited_arguments"], edited);
    house.settled(&chat).await;
    let words = house.last_words(&chat).await;
    assert!(words.contains("the user changed the arguments of this call"), "{words}");
    assert!(words.contains("edited words") && !words.contains("original words"), "{words}");
    let audit = house.list("/api/audit?world=lab").await;
    let decision = audit.iter().find(|entry| entry["kind"] == "decided").expect("the decision");
    assert_eq!(decision["actor"]["name"], "tester", "{decision:#}");
    assert!(decision["data"].to_string().contains("edited words"), "{decision:#}");
    assert_eq!(decision["approval_id"], waiting["id"]);
    let kinds: Vec<&str> = audit.iter().map(|entry| text(entry, "kind")).collect();
    let of_call: Vec<&&str> = kinds.iter().filter(|kind| **kind != "changed").collect();
    assert_eq!(of_call, [&"called", &"requested", &"decided", &"started", &"finished"]);
    let only = house.list("/api/audit?kind=decided&actor=tester&tool=shell_cmd").await;
    assert_eq!(only, std::slice::from_ref(decision));
    assert_eq!(
        house
            .list("/api/audit?actor=nobody")
            .await
            .iter()
            .filter(|one| one["kind"] == "decided")
            .count(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_racing_decisions_one_wins_and_the_others_learn_which() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say_and_settle(&chat, &script("echo ran >> ran")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let decisions = (0..50).map(|number| {
        let body = match number % 2 {
            0 => json!({"decision": "approve"}),
            _ => json!({"decision": "deny", "reason": format!("racer {number}")}),
        };
        house.decide(&waiting, body)
    });
    let answers = futures::future::join_all(decisions).await;
    let (won, lost): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    let won = won[0].json();
    for answer in lost {
        let earlier = answer.refused(StatusCode::CONFLICT, "approval_settled")["approval"].clone();
        for field in ["id", "state", "decision", "reason", "decided_by", "decided_at"] {
            assert_eq!(earlier[field], won[field], "{field}");
        }
    }
    house.settled(&chat).await;
    let decided = house.list("/api/audit?kind=decided").await;
    assert_eq!(decided.len(), 1, "{decided:#?}");
    let started = house.list("/api/audit?kind=started").await;
    assert_eq!(started.len(), usize::from(won["state"] == "approved"));
}

#[tokio::test]
async fn requests_end_without_an_answer_by_time_by_stopping_and_by_an_edit() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({"approval_timeout_seconds": 1})).await;
    house.say(&chat, &script("echo late")).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    stream
        .until(|event| event.kind == "approval" && event.data["data"]["state"] == "expired")
        .await;
    stream.until_idle().await;
    let expired = house.list("/api/approvals?state=expired").await.remove(0);
    assert!(expired["expires_at"].is_string());
    assert!(expired.get("decision").is_none(), "expiry is no denial: {expired:#}");
    assert_eq!(house.last_call(&chat).await["state"], "expired");
    let words = house.last_words(&chat).await;
    assert!(words.contains("in time") && !words.contains("denied"), "{words}");
    let late = house.decide(&expired, json!({"decision": "approve"})).await;
    assert_eq!(late.is(409).json()["approval"]["state"], "expired");

    house.patch("/api/worlds/lab", json!({"approval_timeout_seconds": null})).await.is(200);
    house.say_and_settle(&chat, &script("echo stopped")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let stopped = house.post(&chat.path("/stop"), json!({})).await.is(200).json();
    assert_eq!(stopped["activity"]["state"], "idle");
    assert_eq!(house.approval(&waiting).await["state"], "withdrawn");
    let late = house.decide(&waiting, json!({"decision": "approve"})).await;
    assert_eq!(late.is(409).json()["approval"]["state"], "withdrawn");

    let posted = house.say_and_settle(&chat, &script("echo edited")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let path = chat.path(&format!("/messages/{}", text(&posted, "id")));
    house.put(&path, json!({"content": "never mind"})).await.is(202);
    house.settled(&chat).await;
    assert_eq!(house.approval(&waiting).await["state"], "withdrawn");
    assert_eq!(house.waiting(&chat).await, [] as [Value; 0]);
    assert_eq!(house.list("/api/audit?kind=started").await, [] as [Value; 0]);
    assert_eq!(house.list("/api/approvals?state=withdrawn").await.len(), 2);
}

#[tokio::test]
async fn nobody_to_ask_is_a_denial_and_a_rule_needs_nobody() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let body = json!({"content": script("echo ran >> ran"), "on_approval": "deny"});
    house.post(&chat.path("/messages"), body).await.is(202);
    house.settled(&chat).await;
    let last = house.last_call(&chat).await;
    assert_eq!((text(&last, "state"), &last["is_error"]), ("denied", &json!(true)));
    let words = house.last_words(&chat).await;
    assert!(words.contains("nobody can be asked"), "{words}");
    let denied = house.list("/api/approvals?state=denied").await;
    assert_eq!(denied.len(), 1);
    assert_ne!(denied[0]["decided_by"], "tester", "nobody decided: {:#}", denied[0]);
    // The next message of somebody who can be asked is asked about.
    house.say_and_settle(&chat, &script("echo ran >> ran")).await;
    let waiting = house.waiting_in(&chat).await;
    assert_eq!(waiting.len(), 1);

    // A rule that denies is final: it is not asked about, and no grant goes around it.
    let rules = json!({"preset": "ask", "rules": [
        {"id": "no-writes", "ruling": "deny", "tool": "write_file"},
        {"id": "yes-lists", "ruling": "allow", "tool": "list_files"},
    ]});
    house.put("/api/worlds/lab/policy", rules).await.is(200);
    house.decide(&waiting[0], json!({"decision": "approve", "scope": "session"})).await.is(200);
    house.settled(&chat).await;
    let write = call("write_file", json!({"path": "x", "content": "x"}));
    house.say_and_settle(&chat, &format!("{write}\n{}", call("list_files", json!({})))).await;
    assert_eq!(house.waiting_in(&chat).await, [] as [Value; 0]);
    let calls = house.calls(&chat).await;
    let last: Vec<&str> = calls[calls.len() - 2..].iter().map(|call| text(call, "state")).collect();
    assert_eq!(last, ["denied", "completed"]);
    assert!(house.last_words(&chat).await.contains("denied by rule no-writes"));
    let audit = house.list("/api/audit?kind=called&tool=write_file").await;
    assert_eq!(audit[0]["rule"], "no-writes", "{audit:#?}");
}

#[tokio::test]
async fn a_rule_settles_what_waits_in_every_chat_and_a_denying_one_comes_in_time() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], json!({})).await;
    let other = house.another_chat(&chat).await;
    let run = call("shell_cmd", json!({"command": "echo", "parameters": ["covered"]}));
    house.say_and_settle(&chat, &format!("@ada {run}")).await;
    house.say_and_settle(&other, &format!("@ada {run}")).await;
    house.say_and_settle(&other, &format!("@bob {run}")).await;
    let here = house.waiting_in(&chat).await.remove(0);
    house.decide(&here, json!({"decision": "approve", "scope": "always"})).await.is(200);
    house.settled(&chat).await;
    // Another chat hears of it by itself.
    let mut stream = house.follow(&other.path("/events"), Some(0)).await;
    stream
        .until(|event| event.kind == "approval" && event.data["data"]["state"] == "approved")
        .await;
    house.settled(&other).await;
    let left = house.waiting(&chat).await;
    let agents: Vec<&str> = left.iter().map(|one| text(one, "agent_id")).collect();
    assert_eq!(agents, ["bob"], "a grant settles at once the other pending requests it covers");

    // What a rule denies by now cannot be approved any more, and nothing runs.
    let rules =
        json!({"preset": "ask", "rules": [{"id": "never", "ruling": "deny", "tool": "shell_cmd"}]});
    house.put("/api/worlds/lab/policy", rules).await.is(200);
    let started = house.list("/api/audit?kind=started").await.len();
    let late = house.decide(&left[0], json!({"decision": "approve"})).await;
    late.refused(StatusCode::CONFLICT, "denied_by_rule");
    house.settled(&other).await;
    assert_eq!(house.list("/api/audit?kind=started").await.len(), started);
    assert_eq!(house.waiting(&chat).await.len(), 1, "it can still be denied");
    house.decide(&left[0], json!({"decision": "deny"})).await.is(200);
    // And the rule that was granted does not go around it.
    house.settled(&other).await;
    house.say_and_settle(&chat, &format!("@ada {run}")).await;
    assert_eq!(house.last_call(&chat).await["state"], "denied");
}

#[tokio::test]
async fn the_inbox_is_over_everything_and_can_be_waited_at() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], json!({})).await;
    let elsewhere = house.world_of("den", &["ada"], json!({})).await;
    assert_eq!(house.get("/api/approvals").await.is(200).json(), json!({"data": [], "next": null}));
    // Somebody waits at it, and is told as soon as there is something.
    let waits = house.get("/api/approvals?wait=50");
    let asks = async {
        house.say(&chat, &format!("@bob {}", script("echo one"))).await;
    };
    let (told, ()) = tokio::join!(waits, asks);
    assert_eq!(told.is(200).json()["data"][0]["agent_id"], "bob");
    house.say_and_settle(&chat, &format!("@ada {}", script("echo two"))).await;
    house.say_and_settle(&elsewhere, &script("echo three")).await;
    house.settled(&chat).await;
    let worlds = |list: &[Value]| -> Vec<String> {
        list.iter()
            .map(|one| format!("{}/{}", text(one, "world_id"), text(one, "agent_id")))
            .collect()
    };
    assert_eq!(worlds(&house.list("/api/approvals").await), ["lab/bob", "lab/ada", "den/ada"]);
    assert_eq!(worlds(&house.list("/api/approvals?world=lab").await), ["lab/bob", "lab/ada"]);
    assert_eq!(worlds(&house.list("/api/approvals?agent=ada").await), ["lab/ada", "den/ada"]);
    assert_eq!(worlds(&house.list("/api/approvals?world=den&agent=bob").await), [] as [&str; 0]);
    let page = house.get("/api/approvals?limit=2").await.is(200).json();
    let next =
        house.get(&format!("/api/approvals?after={}", text(&page, "next"))).await.is(200).json();
    assert_eq!(
        (page["data"].as_array().unwrap().len(), next["data"].as_array().unwrap().len()),
        (2, 1)
    );
    // A world that is deleted takes its requests along.
    let gone = house.list("/api/approvals?world=den").await.remove(0);
    house.delete("/api/worlds/den").await.is(204);
    house
        .decide(&gone, json!({"decision": "approve"}))
        .await
        .refused(StatusCode::NOT_FOUND, "approval_not_found");
    assert_eq!(worlds(&house.list("/api/approvals").await), ["lab/bob", "lab/ada"]);
    // The audit outlives it.
    assert!(!house.list("/api/audit?world=den&kind=requested").await.is_empty());
}

#[tokio::test]
async fn a_permission_can_be_narrowed_and_lasts_no_further_than_it_says() {
    let mut house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let run = |command: &str, word: &str| {
        call("shell_cmd", json!({"command": command, "parameters": [word]}))
    };
    house.say_and_settle(&chat, &run("echo", "one")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    assert!(!waiting["suggested_matches"].as_array().unwrap().is_empty(), "{waiting:#}");
    // A narrowing that does not cover the call itself, or that narrows nothing that lasts, is refused.
    let other = json!([{"pointer": "/command", "equals": "rm"}]);
    let uncovered = json!({"decision": "approve", "scope": "session", "match": other});
    house
        .decide(&waiting, uncovered)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "match_does_not_cover");
    let once = json!({"decision": "approve", "match": 0});
    house
        .decide(&waiting, once)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "decision_invalid");
    let narrowed = json!({"decision": "approve", "scope": "session", "match": [{"pointer": "/command", "equals": "echo"}]});
    house.decide(&waiting, narrowed).await.is(200);
    house.settled(&chat).await;
    // It holds over a crash, for what it covers and for nothing else.
    house.kill().await;
    house.start().await;
    house.say_and_settle(&chat, &run("echo", "two")).await;
    assert_eq!(house.last_call(&chat).await["state"], "completed");
    house.say_and_settle(&chat, &run("printf", "three")).await;
    let waiting = house.waiting_in(&chat).await;
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0]["arguments"]["command"], "printf");
    // Edited arguments are approved as they are, not every call of the tool.
    let wide = json!({"decision": "approve", "scope": "always", "arguments": {"command": "printf", "parameters": ["four"]}});
    house
        .decide(&waiting[0], wide)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "decision_invalid");
    assert_eq!(house.get("/api/worlds/lab/policy").await.is(200).json()["granted"], json!([]));
}

#[tokio::test]
async fn what_is_shown_is_what_runs() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let long = format!("echo {}", "x".repeat(30_000));
    house.say_and_settle(&chat, &script(&long)).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let shown = text(&waiting, "shown");
    let whole = shown.contains(&"x".repeat(30_000));
    let options = waiting["options"].as_array().unwrap();
    assert!(whole || !options.contains(&json!("approve_always")), "cut, and offered for good");
    assert!(
        whole || shown.contains("not shown") || shown.contains("cut"),
        "cut in silence: {}",
        &shown[..200]
    );
    house.decide(&waiting, json!({"decision": "deny"})).await.is(200);
    house.settled(&chat).await;
    let odd = "echo a\u{200b}b\u{1b}[2Kc\u{202e}d\u{feff}";
    house.say_and_settle(&chat, &script(odd)).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    for field in ["shown", "message"] {
        let told = text(&waiting, field);
        let hidden = ['\u{200b}', '\u{1b}', '\u{202e}', '\u{feff}'];
        assert!(!told.contains(hidden), "{field} hides something: {told:?}");
    }
    // A mask that comes back is not what anybody wants to run.
    house.decide(&waiting, json!({"decision": "deny"})).await.is(200);
    house.settled(&chat).await;
    let secret = json!({"command": "curl", "parameters": ["--password", "hunter2hunter2"]});
    house.say_and_settle(&chat, &call("shell_cmd", secret)).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let masked = json!({"decision": "approve", "arguments": waiting["arguments"]});
    house
        .decide(&waiting, masked)
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "decision_invalid");
    assert_eq!(house.approval(&waiting).await["state"], "pending");
}
