//! Chats: their names, what editing, removing and forking do to them, and what a model is shown of them.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::asking::{agents, is_title, said, script, seen, text, turns, who};
use crate::stage::{Chat, House};

async fn shown(house: &House, chat: &Chat) -> Value {
    house.get(&chat.path("")).await.is(200).json()
}

fn message(chat: &Chat, message: &Value) -> String {
    chat.path(&format!("/messages/{}", text(message, "id")))
}

#[tokio::test]
async fn a_chat_is_named_by_a_model_once_and_never_over_a_persons_word() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let first = shown(&house, &chat).await;
    assert_eq!((text(&first, "title"), text(&first, "named_by")), ("New Chat", "default"));
    assert_eq!(house.list("/api/worlds/lab/chats").await.len(), 1);
    assert_eq!(
        first["activity"],
        json!({"state": "idle", "agents": [], "running_calls": [], "waiting_approvals": 0})
    );
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, "!say a title of words").await;
    let seen =
        stream.until(|event| event.kind == "system" && event.data["data"]["code"] == "title").await;
    let states: Vec<&Value> = seen
        .iter()
        .filter(|event| event.kind == "activity")
        .map(|event| &event.data["data"]["state"])
        .collect();
    assert_eq!((states.first(), states.last()), (Some(&&json!("busy")), Some(&&json!("idle"))));
    let named = shown(&house, &chat).await;
    assert_eq!((text(&named, "title"), text(&named, "named_by")), ("a title of words", "model"));
    let titles = house.vendor.asked().iter().filter(|request| is_title(request)).count();
    assert_eq!(titles, 1);

    let renamed = house.patch(&chat.path(""), json!({"title": "Mine"})).await.is(200).json();
    assert_eq!((text(&renamed, "title"), text(&renamed, "named_by")), ("Mine", "person"));
    house.say_and_settle(&chat, "!say another title").await;
    assert_eq!(shown(&house, &chat).await["title"], "Mine");
    // Renamed before it first rests: no model is asked, or its word comes too late.
    let early = house.another_chat(&chat).await;
    house.say(&early, "!hold name\n!say too late").await;
    house.patch(&early.path(""), json!({"title": "Early"})).await.is(200);
    house.vendor.release("name");
    house.settled(&early).await;
    house.say_and_settle(&early, "once more").await;
    assert_eq!(shown(&house, &early).await["title"], "Early");
    house
        .patch(&chat.path(""), json!({"title": "  "}))
        .await
        .refused(StatusCode::UNPROCESSABLE_ENTITY, "title_empty");
    // A chat that was given a name keeps it.
    let given = house.post("/api/worlds/lab/chats", json!({"title": "Given"})).await.is(201).json();
    assert_eq!((text(&given, "title"), text(&given, "named_by")), ("Given", "person"));
    house.delete(&early.path("")).await.is(204);
    house.get(&early.path("")).await.refused(StatusCode::NOT_FOUND, "chat_not_found");
}

#[tokio::test]
async fn activity_tells_what_is_so() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say(&chat, "!hold slow\n!say first").await;
    house.say(&chat, &script("echo meanwhile")).await;
    house.vendor.release("slow");
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    let mut seen = stream.until(|event| event.kind == "approval").await;
    seen.extend(stream.until(|event| event.kind == "activity").await);
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.decide(&waiting, json!({"decision": "approve"})).await.is(200);
    seen.extend(stream.until_idle().await);
    let told: Vec<&Value> = seen
        .iter()
        .filter(|event| event.kind == "activity")
        .map(|event| &event.data["data"])
        .collect();
    let states: Vec<&str> = told.iter().map(|activity| text(activity, "state")).collect();
    // Whoever waits for an answer is not told that there is none to come while a message is still unanswered.
    let idle = states.iter().filter(|state| **state == "idle").count();
    assert_eq!((idle, states.last()), (1, Some(&"idle")), "{told:#?}");
    for activity in &told {
        let doing: Vec<&str> = activity["agents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| text(agent, "doing"))
            .collect();
        let waits = activity["waiting_approvals"] != 0;
        assert_eq!(doing.contains(&"awaiting_approval"), waits, "{activity:#}");
        let runs = !activity["running_calls"].as_array().unwrap().is_empty();
        assert!(!runs || doing == ["running_tools"], "{activity:#}");
    }
    assert!(
        told.iter().any(|activity| activity["running_calls"] == json!([waiting["tool_call_id"]])),
        "{told:#?}"
    );
}

#[tokio::test]
async fn editing_and_removing_take_back_what_came_after_for_everybody() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], json!({})).await;
    let other = house.another_chat(&chat).await;
    house.say_and_settle(&other, "@ada !say elsewhere").await;
    house.say_and_settle(&chat, "@ada !say first").await;
    let second = house.say_and_settle(&chat, "@bob !say second").await;
    house.say_and_settle(&chat, &format!("@ada {}", script("echo third"))).await;
    assert_eq!(house.waiting_in(&chat).await.len(), 1);
    let untouched = house.messages(&other).await;

    let posted = house
        .put(&message(&chat, &second), json!({"content": "@bob !say better"}))
        .await
        .is(202)
        .json();
    assert_ne!(posted["message"]["id"], second["id"]);
    house.settled(&chat).await;
    let messages = house.messages(&chat).await;
    let expected = [
        ("human", "@ada !say first"),
        ("ada", "first"),
        ("human", "@bob !say better"),
        ("bob", "better"),
    ];
    assert_eq!(said(&messages), expected);
    assert_eq!(messages.len(), 4, "{messages:#?}");
    assert_eq!(house.waiting_in(&chat).await, [] as [Value; 0]);
    house.get(&message(&chat, &second)).await.refused(StatusCode::NOT_FOUND, "message_not_found");
    house.say_and_settle(&chat, "@ada @bob what was said").await;
    let asked = turns(&house);
    let last_two = &asked[asked.len() - 2..];
    assert!(
        last_two
            .iter()
            .all(|request| !seen(request).contains("third") && !seen(request).contains("second"))
    );

    // Removing does the same without a new text; what an agent said cannot be taken back.
    let of_ada = messages.iter().find(|message| message["sender"] == "ada").unwrap();
    house
        .put(&message(&chat, of_ada), json!({"content": "x"}))
        .await
        .refused(StatusCode::CONFLICT, "message_not_human");
    house.delete(&message(&chat, of_ada)).await.refused(StatusCode::CONFLICT, "message_not_human");
    house.delete(&message(&chat, &posted["message"])).await.is(204);
    assert_eq!(said(&house.messages(&chat).await), expected[..2]);
    house
        .delete(&message(&chat, &posted["message"]))
        .await
        .refused(StatusCode::NOT_FOUND, "message_not_found");
    assert_eq!(house.messages(&other).await, untouched);
    // While somebody works: the work ends, and nothing of it is told later.
    let busy = house.say(&chat, "@ada !hold edit\n!say too late").await;
    house.put(&message(&chat, &busy), json!({"content": "@bob !say in time"})).await.is(202);
    house.vendor.release("edit");
    house.settled(&chat).await;
    let messages = house.messages(&chat).await;
    assert_eq!(said(&messages)[2..], [("human", "@bob !say in time"), ("bob", "in time")]);
}

#[tokio::test]
async fn a_fork_has_the_history_and_nothing_else() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say_and_settle(&chat, "!say first").await;
    house.say_and_settle(&chat, &script("echo ran >> ran")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.decide(&waiting, json!({"decision": "approve", "scope": "session"})).await.is(200);
    house.settled(&chat).await;
    let messages = house.messages(&chat).await;
    let last = messages.last().unwrap();
    let asked = turns(&house).len();
    let forked =
        house.post(&chat.path("/fork"), json!({"message_id": last["id"]})).await.is(201).json();
    assert_eq!(forked["forked_from"], json!({"chat_id": chat.id, "message_id": last["id"]}));
    let fork = Chat { world: chat.world.clone(), id: text(&forked, "id").to_owned() };
    assert_eq!(said(&house.messages(&fork).await), said(&messages));
    assert_eq!(house.list(&fork.path("/grants")).await, [] as [Value; 0]);
    house.settled(&fork).await;
    assert_eq!(turns(&house).len(), asked, "nobody is asked again");
    let world = house.get("/api/worlds/lab").await.is(200).json();
    let ran = std::path::Path::new(text(&world, "working_directory")).join("ran");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n", "nothing runs again");

    // It goes on by itself, knowing what was said, and asks again.
    house.say_and_settle(&fork, &script("echo ran >> ran")).await;
    assert_eq!(house.waiting_in(&fork).await.len(), 1);
    assert!(seen(turns(&house).last().unwrap()).contains("first"));
    assert_eq!(house.messages(&chat).await, messages, "the one it came from is as it was");
    // From an earlier message on.
    let early = house
        .post(&chat.path("/fork"), json!({"message_id": messages[1]["id"]}))
        .await
        .is(201)
        .json();
    let early = Chat { world: chat.world.clone(), id: text(&early, "id").to_owned() };
    assert_eq!(said(&house.messages(&early).await), said(&messages[..2]));
    let unknown = house.post(&chat.path("/fork"), json!({"message_id": "msg_unknown"})).await;
    unknown.refused(StatusCode::NOT_FOUND, "message_not_found");
    house.delete(&chat.path("")).await.is(204);
    assert_eq!(said(&house.messages(&early).await).len(), 2, "a fork outlives what it came from");
}

#[tokio::test]
async fn a_model_sees_its_own_part_of_one_chat() {
    let house = House::open().await;
    let mut all = agents(&["ada", "bob"]);
    all[0]["instructions"] = json!("you are ada in {{city}} {{unknown}}");
    let settings = json!({"agents": all, "variables": {"city": "Bern"}});
    let chat = house.world("lab", &[], settings).await;
    house.patch("/api/worlds/lab", json!({"main_agent": null})).await.is(200);
    house.say_and_settle(&chat, "@bob a secret for bob !say private words of bob").await;
    house.say_and_settle(&chat, "what does @ada think, nobody is asked").await;
    house.say_and_settle(&chat, "@ada !call list_files {}\n!then seen").await;
    let body = json!({"content": "@ada from bob !say heard <world>STOP</world>", "sender": "bob"});
    house.post(&chat.path("/messages"), body).await.is(202);
    house.settled(&chat).await;
    let body = json!({"content": "@ada from the world !say heard", "sender": "world"});
    house.post(&chat.path("/messages"), body).await.is(202);
    house.settled(&chat).await;
    house.say_and_settle(&chat, "@ada the last").await;
    let other = house.another_chat(&chat).await;
    house.say_and_settle(&other, "@ada in another chat").await;

    let asked = turns(&house);
    let of_ada: Vec<_> = asked.iter().filter(|request| who(request) == "ada").collect();
    assert_eq!(of_ada.len(), 6);
    let instructions = &of_ada[4].instructions;
    assert!(instructions.contains("you are ada in Bern {{unknown}}"), "{instructions}");
    let input = seen(of_ada[4]);
    for there in [
        "!then seen",
        "list_files",
        "bob: @ada from bob",
        "world: @ada from the world",
        "heard",
        "the last",
    ] {
        assert!(input.contains(there), "no {there:?} in {input}");
    }
    for absent in
        ["private words", "secret for bob", "nobody is asked", "Nobody answers", "requestApproval"]
    {
        assert!(!input.contains(absent), "{absent:?} in {input}");
    }
    let input = seen(of_ada[5]);
    assert!(input.contains("in another chat") && !input.contains("the last"), "{input}");
    // Messages of people are theirs alone; what the filtering left out is still stored.
    let messages = house.messages(&chat).await;
    assert!(said(&messages).contains(&("bob", "private words of bob")));
    assert!(messages.iter().any(|message| message["role"] == "system"));
}
