//! Things that happen at the same time, or to something that is at work: one of them wins, and nothing is left behind.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::{processes, said, script, text, trusted, turns, until};
use crate::stage::{Answer, Chat, DEADLINE, House};

async fn keyed(house: &House, method: Method, path: &str, key: &str, body: Value) -> Answer {
    let request = house.request(method, path).header("content-type", "application/json");
    house.send(request.header("idempotency-key", key).body(body.to_string())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_made_at_once_are_all_kept_and_one_key_is_one_change() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({"main_agent": "ada"})).await;
    let agents = (0..20).map(|number| {
        house.post(
            "/api/worlds/lab/agents",
            json!({"id": format!("agent-{number}"), "name": format!("Agent {number}")}),
        )
    });
    join_all(agents).await.into_iter().for_each(|answer| drop(answer.is(201)));
    let fields = (0..20).map(|number| {
        house.patch("/api/worlds/lab", json!({"variables": {format!("v{number}"): "x"}}))
    });
    join_all(fields).await.into_iter().for_each(|answer| drop(answer.is(200)));
    let world = house.get("/api/worlds/lab").await.is(200).json();
    assert_eq!(world["agents"].as_array().unwrap().len(), 21);
    assert_eq!(world["variables"].as_object().unwrap().len(), 20);
    // Of those that were made for one version, one is.
    let version = world["version"].clone();
    let same = (0..20).map(|number| {
        house.patch(
            "/api/worlds/lab",
            json!({"version": version, "description": format!("of {number}")}),
        )
    });
    let answers = join_all(same).await;
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(won, 1, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)));
    // Twenty tries with one key: one message, one chat.
    let path = chat.path("/messages");
    let posts = join_all(
        (0..20).map(|_| keyed(&house, Method::POST, &path, "k", json!({"content": "!say once"}))),
    )
    .await;
    let mut ids: Vec<Value> =
        posts.into_iter().map(|answer| answer.is(202).json()["message"]["id"].clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    house.settled(&chat).await;
    assert_eq!(said(&house.messages(&chat).await), [("human", "!say once"), ("ada", "once")]);
    let chats =
        join_all((0..20).map(|_| {
            keyed(&house, Method::POST, "/api/worlds/lab/chats", "k", json!({"title": "x"}))
        }))
        .await;
    for answer in chats.into_iter().filter(|answer| answer.status != 201) {
        answer.refused(StatusCode::CONFLICT, "idempotency_in_progress");
    }
    assert_eq!(house.list("/api/worlds/lab/chats").await.len(), 2);
    // A decision by a key can be repeated; without one it is too late.
    house.say_and_settle(&chat, &script("echo hi")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let path = format!("/api/approvals/{}", text(&waiting, "id"));
    let first =
        keyed(&house, Method::POST, &path, "d", json!({"decision": "approve"})).await.is(200);
    let again =
        keyed(&house, Method::POST, &path, "d", json!({"decision": "approve"})).await.is(200);
    assert_eq!(first.json(), again.json());
    house
        .decide(&waiting, json!({"decision": "approve"}))
        .await
        .refused(StatusCode::CONFLICT, "approval_settled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_and_approving_at_once_leaves_nothing_between() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    for round in 0..10 {
        house.say_and_settle(&chat, &script(&format!("echo {round}; sleep 0.01"))).await;
        let waiting = house.waiting_in(&chat).await.remove(0);
        let path = chat.path("/stop");
        let (stopped, decided) = tokio::join!(
            house.post(&path, json!({})),
            house.decide(&waiting, json!({"decision": "approve"}))
        );
        stopped.is(200);
        house.settled(&chat).await;
        let state = text(&house.approval(&waiting).await, "state").to_owned();
        match decided.status {
            200 => assert_eq!(state, "approved"),
            409 => assert_eq!(state, "withdrawn"),
            other => panic!("{other}: {}", decided.text),
        }
        let call = house.last_call(&chat).await;
        let expected =
            if decided.status == 200 { &["cancelled", "completed"][..] } else { &["cancelled"] };
        assert!(expected.contains(&text(&call, "state")), "{} and {call:#}", decided.status);
        assert_eq!(house.get(&chat.path("")).await.is(200).json()["activity"]["state"], "idle");
    }
}

#[tokio::test]
async fn what_is_deleted_while_it_works_stops_working() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], trusted()).await;
    let doomed = house.world_of("den", &["ada"], trusted()).await;
    let second = house.another_chat(&chat).await;
    let mark = |name: &str| format!("{name}mark{}", std::process::id());
    let busy = |name: &str| {
        script(&format!("echo x >> begun-{name}; sh -c 'sleep 3600; : {}'", mark(name)))
    };
    house.say(&chat, &format!("@bob {}", busy("agent"))).await;
    house.say(&second, &format!("@ada {}", busy("chat"))).await;
    house.say(&doomed, &busy("world")).await;
    for name in ["agent", "chat", "world"] {
        until("the script", || processes(&mark(name)) > 0).await;
    }
    house.delete(&second.path("")).await.is(204);
    until("the end of what the chat ran", || processes(&mark("chat")) == 0).await;
    house.delete("/api/worlds/den").await.is(204);
    until("the end of what the world ran", || processes(&mark("world")) == 0).await;
    house.get("/api/worlds/den").await.refused(StatusCode::NOT_FOUND, "world_not_found");
    // One of the same name begins anew.
    let again = house.world_of("den", &["ada"], json!({})).await;
    assert_eq!(house.messages(&again).await, [] as [Value; 0]);
    // An agent that is gone does not go on; its chat does.
    house.delete("/api/worlds/lab/agents/bob").await.is(204);
    house.post(&chat.path("/stop"), json!({})).await.is(200);
    until("the end of what the agent ran", || processes(&mark("agent")) == 0).await;
    house.say_and_settle(&chat, "@ada !say still here").await;
    assert_eq!(house.last_words(&chat).await, "still here");
    house.get("/readyz").await.is(200);
}

#[tokio::test]
async fn an_agent_that_is_gone_runs_nothing_that_is_approved_later() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], json!({})).await;
    house.say_and_settle(&chat, &format!("@bob {}", script("echo ran >> ran"))).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.delete("/api/worlds/lab/agents/bob").await.is(204);
    let late = house.decide(&waiting, json!({"decision": "approve"})).await;
    assert!(matches!(late.status, 200 | 404 | 409), "{}: {}", late.status, late.text);
    house.settled(&chat).await;
    house.say_and_settle(&chat, "@ada !say still here").await;
    assert_eq!(house.last_words(&chat).await, "still here");
    assert_eq!(house.get(&chat.path("")).await.is(200).json()["activity"]["state"], "idle");
    let asked = turns(&house);
    assert_eq!(
        asked.iter().filter(|request| crate::asking::who(request) == "bob").count(),
        1,
        "nobody asks for bob any more"
    );
}

#[tokio::test]
async fn one_server_at_a_time_works_on_a_data_folder() {
    let house = House::open().await;
    let chat: Chat = house.world("lab", &["ada"], json!({})).await;
    let second = house.command(&["serve", "--listen", "127.0.0.1:0"]).output();
    let second =
        tokio::time::timeout(DEADLINE, second).await.expect("the second one ends").unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains(&house.url), "it says who is there: {said}");
    house.say_and_settle(&chat, "!say here").await;
    assert_eq!(house.last_words(&chat).await, "here");
}

#[tokio::test]
async fn a_server_that_is_told_to_end_waits_for_nobody_who_only_listens() {
    let mut house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let _stream = house.follow(&chat.path("/events"), None).await;
    house.say(&chat, "!hold for-ever\n!say never").await;
    let url = format!("{}/api/approvals?wait=60", house.url);
    let client = house.client.clone();
    let waits =
        tokio::spawn(
            async move { client.get(url).send().await.map(|answer| answer.status().as_u16()) },
        );
    // Taken up by the server: a request that is in flight is answered.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    assert_eq!(house.terminate().await.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(waits.await.unwrap().ok(), Some(200));
}
