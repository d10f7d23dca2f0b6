//! Chats over HTTP: opened, listed, named, stopped, forked, retried, deleted.

use agent_world_runtime::llm::Class;
use agent_world_runtime::llm::scripted::Answer;
use agent_world_server::Role;
use serde_json::json;

use super::stage::{Stage, id};

#[tokio::test]
async fn a_chat_is_opened_read_renamed_and_deleted() {
    let stage = Stage::open().await;
    let chats = "/api/worlds/w/chats";
    let unnamed = stage.human.send(reqwest::Method::POST, chats, None, None).await.ok(201);
    assert_eq!((&unnamed["title"], &unnamed["named_by"]), (&json!("New Chat"), &json!("default")));
    assert_eq!(unnamed["world_id"], "w");
    assert_eq!(unnamed["activity"]["state"], "idle");
    let place = format!("{chats}/{}", id(&unnamed));
    assert_eq!(stage.human.get(&place).await.ok(200), unnamed);

    let renamed = stage.human.patch(&place, json!({"title": " Plans "})).await.ok(200);
    assert_eq!((&renamed["title"], &renamed["named_by"]), (&json!("Plans"), &json!("person")));
    stage.human.patch(&place, json!({"title": " "})).await.problem(422, "title_empty");
    let long = "x".repeat(501);
    stage.human.patch(&place, json!({"title": long})).await.problem(422, "title_too_long");
    stage.human.post(chats, json!({"title": long})).await.problem(422, "title_too_long");
    stage.human.patch(&place, json!({})).await.problem(422, "body_invalid");
    let odd = json!({"title": "x", "colour": "red"});
    stage.human.patch(&place, odd).await.problem(422, "body_invalid");

    assert_eq!(stage.human.delete(&place).await.status, 204);
    stage.human.get(&place).await.problem(404, "chat_not_found");
    stage.human.delete(&place).await.problem(404, "chat_not_found");
    stage.human.patch(&place, json!({"title": "x"})).await.problem(404, "chat_not_found");
}

#[tokio::test]
async fn chats_are_listed_in_pages_without_a_gap_or_a_repeat() {
    let stage = Stage::open().await;
    for number in 0..5 {
        let title = json!({"title": format!("Chat {number}")});
        stage.human.post("/api/worlds/w/chats", title).await.ok(201);
    }
    let all = stage.human.get("/api/worlds/w/chats").await.ok(200);
    assert_eq!((all["data"].as_array().unwrap().len(), &all["next"]), (7, &json!(null)));
    let (mut paged, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let page = stage.human.get(&format!("/api/worlds/w/chats{query}")).await.ok(200);
        paged.extend(page["data"].as_array().unwrap().iter().map(|chat| id(chat).to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        query = format!("?limit=3&after={next}");
    }
    let listed: Vec<String> =
        all["data"].as_array().unwrap().iter().map(|chat| id(chat).to_owned()).collect();
    assert_eq!(paged, listed);
    stage.human.get("/api/worlds/none/chats").await.problem(404, "world_not_found");
    stage.human.get("/api/worlds/w/chats?limit=x").await.problem(422, "query_invalid");
    stage.human.get("/api/worlds/w/chats?colour=red").await.problem(422, "query_invalid");
}

#[tokio::test]
async fn stopping_withdraws_what_waits_and_says_who_is_unknown() {
    let stage = Stage::open().await;
    let asked = stage.asked(&["a"]).await.remove(0);
    stage
        .human
        .post(&stage.at("stop"), json!({"agent_id": "nobody"}))
        .await
        .problem(422, "agent_not_found");
    let bob = stage.human.post(&stage.at("stop"), json!({"agent_id": "bob"})).await.ok(200);
    assert_eq!(bob["activity"]["waiting_approvals"], 1);
    let stopped = stage.human.send(reqwest::Method::POST, &stage.at("stop"), None, None).await;
    assert_eq!(stopped.ok(200)["activity"]["state"], "idle");
    let approval = stage.human.get(&format!("/api/approvals/{}", id(&asked))).await.ok(200);
    assert_eq!(approval["state"], "withdrawn");
    let late = json!({"decision": "approve"});
    let late = stage.human.post(&format!("/api/approvals/{}", id(&asked)), late).await;
    assert_eq!(late.problem(409, "approval_settled")["approval"]["state"], "withdrawn");
    assert_eq!(stage.act.count(), 0);
}

#[tokio::test]
async fn a_fork_has_the_history_up_to_a_message_and_nothing_runs_again() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("First answer."));
    let first = stage.say("one").await;
    stage.idle().await;
    stage.model.push("ada", Answer::text("Second answer."));
    stage.say("two").await;
    stage.idle().await;
    let page = stage.human.get(&stage.at("messages")).await.ok(200);
    let answer = id(&page["data"][1]).to_owned();
    let requests = stage.model.requests().len();

    let fork = stage.human.post(&stage.at("fork"), json!({"message_id": answer})).await.ok(201);
    assert_eq!(fork["forked_from"]["message_id"], answer.as_str());
    assert_eq!(fork["forked_from"]["chat_id"], first["chat_id"]);
    let place = format!("/api/worlds/w/chats/{}/messages", id(&fork));
    let copied = stage.human.get(&place).await.ok(200);
    let texts: Vec<_> = copied["data"].as_array().unwrap().iter().map(|m| &m["content"]).collect();
    assert_eq!(texts, ["one", "First answer."]);
    assert_eq!(stage.model.requests().len(), requests);
    let none = json!({"message_id": "msg_none"});
    stage.human.post(&stage.at("fork"), none).await.problem(404, "message_not_found");
    stage.human.post(&stage.at("fork"), json!({})).await.problem(422, "body_invalid");
}

#[tokio::test]
async fn a_failed_turn_is_taken_up_again() {
    let stage = Stage::open().await;
    stage.human.post(&stage.at("retry"), json!({})).await.problem(409, "nothing_to_retry");
    stage.model.push("ada", Answer::failure(Class::InvalidRequest, "no"));
    stage.say("go").await;
    stage.idle().await;
    let of_bob = json!({"agent_id": "bob"});
    stage.human.post(&stage.at("retry"), of_bob).await.problem(409, "nothing_to_retry");
    stage.model.push("ada", Answer::text("Now it works."));
    stage.human.send(reqwest::Method::POST, &stage.at("retry"), None, None).await.ok(202);
    stage.idle().await;
    assert!(stage.texts().await.contains(&"Now it works.".to_owned()));
}

#[tokio::test]
async fn it_is_told_what_a_reply_is_made_for_and_which_turn_it_repeats() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::failure(Class::InvalidRequest, "no"));
    let said = stage.say("go").await;
    stage.idle().await;
    stage.model.push("ada", Answer::text("Now it works."));
    stage.human.send(reqwest::Method::POST, &stage.at("retry"), None, None).await.ok(202);
    stage.idle().await;
    let told = stage.human.get(&stage.at("events?types=stream&limit=1000")).await.ok(200);
    let told = told["data"].as_array().unwrap();
    let starts: Vec<_> = told.iter().filter(|one| one["data"]["phase"] == "start").collect();
    let [first, second] = starts[..] else { panic!("{told:#?}") };
    let (first, second) = (&first["data"], &second["data"]);
    assert_eq!(first["joined"], json!([{"message_id": id(&said)}]));
    assert_eq!((&first["iteration"], first.get("retry_of")), (&json!(1), None));
    assert_eq!((&second["iteration"], &second["joined"]), (&json!(1), &json!([])));
    assert_eq!(second["retry_of"], first["turn_id"]);
    let ends = told.iter().filter(|one| one["data"]["phase"] != "start");
    assert!(ends.into_iter().all(|one| one["data"].get("joined").is_none()), "{told:#?}");
}

#[tokio::test]
async fn a_chat_that_waits_for_a_person_is_told_from_one_that_works() {
    let stage = Stage::open().await;
    let quiet = json!({"works": false, "waiting_approvals": []});
    assert_eq!(stage.human.get(&stage.at("standing")).await.ok(200), quiet);
    let asked = stage.asked(&["one"]).await;
    let waits = json!({"works": false, "waiting_approvals": [id(&asked[0])]});
    stage
        .until(async || {
            (stage.human.get(&stage.at("standing")).await.ok(200) == waits).then_some(())
        })
        .await;
    // It is busy all the same: somebody is waited for.
    assert_eq!(stage.human.get(&stage.chat).await.ok(200)["activity"]["state"], "busy");
}

#[tokio::test]
async fn a_viewer_reads_and_a_member_acts() {
    let stage = Stage::open().await;
    let viewer = stage.person("vera", Role::Viewer).await;
    let member = stage.person("max", Role::Member).await;
    let said = stage.say("@human hello").await;
    for place in ["", "/messages", "/tool-calls", "/grants"] {
        viewer.get(&format!("{}{place}", stage.chat)).await.ok(200);
    }
    viewer.get("/api/worlds/w/chats").await.ok(200);
    viewer.get("/api/approvals").await.ok(200);
    let message = stage.at(&format!("messages/{}", id(&said)));
    viewer.get(&message).await.ok(200);

    viewer.post("/api/worlds/w/chats", json!({})).await.problem(403, "forbidden");
    viewer.patch(&stage.chat, json!({"title": "x"})).await.problem(403, "forbidden");
    viewer.delete(&stage.chat).await.problem(403, "forbidden");
    let post = json!({"content": "x"});
    viewer.post(&stage.at("messages"), post.clone()).await.problem(403, "forbidden");
    viewer.put(&message, post.clone()).await.problem(403, "forbidden");
    viewer.delete(&message).await.problem(403, "forbidden");
    for (place, body) in [
        ("stop", json!({})),
        ("retry", json!({})),
        ("fork", json!({"message_id": "x"})),
        ("tool-results", json!({"tool_call_id": "x", "content": "x"})),
    ] {
        viewer.post(&stage.at(place), body).await.problem(403, "forbidden");
    }
    let tools = json!({"tools": []});
    viewer.put(&stage.at("client-tools/page"), tools).await.problem(403, "forbidden");

    let posted = member.post(&stage.at("messages"), json!({"content": "@human x"})).await;
    assert_eq!(posted.ok(202)["message"]["user"], "max");
    member.delete(&stage.at("grants/x")).await.problem(403, "forbidden");
    let decision = json!({"decision": "approve"});
    member.post("/api/approvals/apr_x", decision).await.problem(403, "forbidden");
}
