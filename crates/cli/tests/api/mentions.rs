//! Who answers whom: the tables of senders, mentions, automatic mentions and the turn limit, with three agents.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::asking::{askers, said, text, turns, who};
use crate::stage::{Chat, House};

const ALL: &[&str] = &["ada", "bob", "cleo"];

/// Posts as somebody, waits, and says who was asked because of it.
async fn answered(house: &House, chat: &Chat, sender: &str, content: &str) -> Vec<String> {
    let before = askers(house).len();
    let body = json!({"content": content, "sender": sender});
    house.post(&chat.path("/messages"), body).await.is(202);
    house.settled(chat).await;
    let asked: BTreeSet<String> = askers(house).into_iter().skip(before).collect();
    asked.into_iter().collect()
}

/// A world in which nobody is the main agent.
async fn of_equals(house: &House, settings: Value) -> Chat {
    let chat = house.world_of("lab", ALL, settings).await;
    house.patch("/api/worlds/lab", json!({"main_agent": null})).await.is(200);
    chat
}

/// What was told about messages that nobody answers.
async fn notices(house: &House, chat: &Chat) -> Vec<Value> {
    let events = house.list(&chat.path("/events?types=system")).await;
    let told = events.iter().filter(|event| event["data"]["code"] == "nobody_addressed");
    let ids: Vec<&Value> = told.map(|event| &event["data"]["message_id"]).collect();
    let messages = house.messages(chat).await;
    messages.into_iter().filter(|message| ids.contains(&&message["id"])).collect()
}

#[tokio::test]
async fn without_a_main_agent_every_agent_answers() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({"main_agent": null})).await;
    assert_eq!(answered(&house, &chat, "human", "hello !say fine").await, ALL);
}

#[tokio::test]
async fn the_table_of_senders_and_mentions_holds() {
    let house = House::open().await;
    let chat = of_equals(&house, json!({})).await;
    // Whatever is said is answered with a text that addresses nobody, so that one message is one row.
    let quiet = "!say fine <world>STOP</world>";
    let rows: &[(&str, &str, &[&str])] = &[
        ("human", "hello QUIET", ALL),
        ("USER", "hello QUIET", ALL),
        ("You", "hello QUIET", ALL),
        ("world", "hello QUIET", ALL),
        ("World", "hello QUIET", ALL),
        ("system", "hello QUIET", &[]),
        ("", "hello QUIET", &[]),
        ("ada", "hello QUIET", &[]),
        ("human", "@ada QUIET", &["ada"]),
        ("human", "@ADA, look QUIET", &["ada"]),
        ("human", "  @ada QUIET", &["ada"]),
        ("human", "hi @ada QUIET", &["ada"]),
        ("human", "Hello @ada QUIET", &["ada"]),
        ("human", "to @ada QUIET", &["ada"]),
        ("human", "hey, @ada QUIET", &["ada"]),
        ("human", "@ada @bob both of you QUIET", &["ada", "bob"]),
        ("human", "@ada, @cleo, both QUIET", &["ada", "cleo"]),
        ("human", "@ada one\n@bob two\n!say fine", &["ada", "bob"]),
        ("human", "@ada ask @bob QUIET", &["ada"]),
        ("world", "@bob QUIET", &["bob"]),
        ("human", "ada@example.com QUIET", ALL),
        ("human", "@nobody QUIET", ALL),
        ("human", "@nobody @ada QUIET", &["ada"]),
        ("human", "@adamant QUIET", ALL),
        ("ada", "@bob QUIET", &["bob"]),
        ("ada", "@bob @cleo QUIET", &["bob", "cleo"]),
        ("ada", "@ada QUIET", &[]),
        ("ada", "@ADA @Bob QUIET", &["bob"]),
        ("ada", "ask @bob QUIET", &[]),
        ("bob", "@human QUIET", &[]),
        ("system", "@ada QUIET", &[]),
        ("system", "ask @ada QUIET", &[]),
    ];
    for (sender, content, expected) in rows {
        let content = content.replace("QUIET", quiet);
        assert_eq!(
            answered(&house, &chat, sender, &content).await,
            *expected,
            "{sender}: {content}"
        );
    }
    assert_eq!(notices(&house, &chat).await, [] as [Value; 0]);

    // Named inside a line only: nobody answers, and a notice says why. Not to agents, and not to the system.
    for (sender, number) in [("human", 1), ("world", 2)] {
        let content = format!("what does @bob think {quiet}");
        assert_eq!(answered(&house, &chat, sender, &content).await, [] as [&str; 0]);
        let told = notices(&house, &chat).await;
        assert_eq!(told.len(), number, "{told:#?}");
        let notice = &told[number - 1];
        assert_eq!(notice["sender"], "system");
        assert!(text(notice, "content").contains("@bob"), "{notice:#}");
    }
    // No model is shown a notice.
    let asked = serde_json::to_string(&turns(&house)).unwrap();
    assert!(!asked.contains("Nobody answers"), "{asked}");
    // What somebody was called is what the table says they are.
    let senders: BTreeSet<String> = house
        .messages(&chat)
        .await
        .iter()
        .map(|message| text(message, "sender").to_owned())
        .collect();
    assert_eq!(
        senders,
        ["ada", "bob", "cleo", "human", "system", "world"].map(str::to_owned).into()
    );
}

#[tokio::test]
async fn a_main_agent_gets_what_addresses_nobody() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({"main_agent": "cleo"})).await;
    assert_eq!(answered(&house, &chat, "human", "hello !say fine").await, ["cleo"]);
    assert_eq!(answered(&house, &chat, "world", "hello !say fine").await, ["cleo"]);
    assert_eq!(answered(&house, &chat, "human", "@ada hello !say fine").await, ["ada"]);
    assert_eq!(answered(&house, &chat, "ada", "hello !say fine").await, [] as [&str; 0]);
    house.patch("/api/worlds/lab", json!({"main_agent": null})).await.is(200);
    assert_eq!(answered(&house, &chat, "human", "hello !say fine").await, ALL);
    // An agent answers to its name as well as to its id.
    house.patch("/api/worlds/lab/agents/bob", json!({"name": "Robert"})).await.is(200);
    assert_eq!(answered(&house, &chat, "human", "@robert hello !say fine").await, ["bob"]);
    assert_eq!(answered(&house, &chat, "human", "@bob hello !say fine").await, ["bob"]);
}

/// What an agent says in the end when the model answers with a text.
async fn finally(house: &House, sender: &str, model_says: &str) -> String {
    let first = Chat { world: "lab".to_owned(), id: String::new() };
    let chat = house.another_chat(&first).await;
    let body = json!({"content": format!("@bob !say {model_says}"), "sender": sender});
    house.post(&chat.path("/messages"), body).await.is(202);
    house.settled(&chat).await;
    let messages = house.messages(&chat).await;
    let reply = messages.iter().find(|message| message["sender"] == "bob");
    text(reply.expect("an answer of bob"), "content").to_owned()
}

#[tokio::test]
async fn the_final_text_of_a_turn_addresses_whom_it_should() {
    let house = House::open().await;
    // One turn each: what somebody is drawn into does not go on.
    house.world_of("lab", ALL, json!({"turn_limit": 1})).await;
    let rows = [
        // Its own mention is taken off the start, however often and in whatever case.
        ("human", "@bob fine", "fine"),
        ("human", "@Bob, @BOB fine", "fine"),
        ("human", "fine @bob", "fine @bob"),
        // An agent that asked is addressed, a person never is.
        ("human", "fine", "fine"),
        ("world", "fine", "fine"),
        ("ada", "fine", "@ada fine"),
        ("ada", "@ada fine", "@ada fine"),
        ("ada", "@cleo fine", "@cleo fine"),
        ("ada", "@human fine", "@human fine"),
        ("ada", "@bob fine", "@ada fine"),
        ("ada", "tell @cleo that", "@ada tell @cleo that"),
        // Tags.
        ("ada", "@ada fine <world>STOP</world>", "fine"),
        ("ada", "fine <world>done</world>", "fine"),
        ("ada", "<World>Pass</World> fine", "fine"),
        ("human", "@cleo fine <world>STOP</world>", "fine"),
        ("human", "fine <world></world>", "fine <world></world>"),
        ("ada", "@ada fine <world>TO:</world>", "@ada fine"),
    ];
    for (sender, says, expected) in rows {
        assert_eq!(
            finally(&house, sender, says).await,
            expected,
            "{sender} asked, the model said {says}"
        );
    }
    let to = finally(&house, "ada", "@ada fine <world>TO: cleo, ada</world>").await;
    let lines: Vec<&str> = to.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["@cleo", "@ada", "fine"], "{to}");

    // One that does not reply by itself addresses nobody by itself.
    house.patch("/api/worlds/lab/agents/bob", json!({"auto_reply": false})).await.is(200);
    assert_eq!(finally(&house, "ada", "fine").await, "fine");
    assert_eq!(finally(&house, "ada", "@ada fine").await, "@ada fine");
    assert_eq!(finally(&house, "ada", "@bob fine <world>STOP</world>").await, "fine");
}

#[tokio::test]
async fn the_same_holds_after_tools() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({"turn_limit": 1})).await;
    let content = "@bob please\n!call list_files {}\n!then @bob seen";
    house.post(&chat.path("/messages"), json!({"content": content, "sender": "ada"})).await.is(202);
    house.settled(&chat).await;
    let messages = house.messages(&chat).await;
    let words = said(&messages);
    assert!(words.contains(&("bob", "@ada seen")), "{words:#?}");
}

#[tokio::test]
async fn agents_that_keep_answering_each_other_stop_at_the_limit() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({"turn_limit": 2})).await;
    let content = "@ada !say @bob shall we talk";
    house.say_and_settle(&chat, content).await;
    let messages = house.messages(&chat).await;
    let notice = "@human Turn limit reached (2 turns). Please take control of the conversation.";
    let noticed: Vec<&str> = messages
        .iter()
        .filter(|message| message["content"] == notice)
        .map(|message| text(message, "sender"))
        .collect();
    assert_eq!(
        noticed,
        ["ada"],
        "only who would have answered says so, once: {:#?}",
        said(&messages)
    );
    assert_eq!(askers(&house), ["ada", "bob", "ada", "bob"]);
    assert_eq!(messages.last().unwrap()["content"], notice, "nobody answers the notice");
    // Once is enough, until a person speaks: then everybody may answer again.
    assert_eq!(answered(&house, &chat, "bob", "@ada once more").await, [] as [&str; 0]);
    let again = house.messages(&chat).await;
    assert_eq!(
        again.iter().filter(|message| message["content"] == notice).count(),
        1,
        "{:#?}",
        said(&again)
    );
    assert_eq!(answered(&house, &chat, "human", "@ada !say fine").await, ["ada"]);
    assert_eq!(answered(&house, &chat, "bob", "@ada !say fine <world>STOP</world>").await, ["ada"]);
    assert_eq!(
        answered(&house, &chat, "bob", "@ada !say fine <world>STOP</world>").await,
        [] as [&str; 0]
    );
    assert_eq!(answered(&house, &chat, "world", "@ada !say fine").await, ["ada"]);

    let standard = house.world_of("usual", ALL, json!({})).await;
    house.say_and_settle(&standard, content).await;
    let messages = house.messages(&standard).await;
    let notice = "@human Turn limit reached (5 turns). Please take control of the conversation.";
    assert_eq!(messages.last().unwrap()["content"], notice);
}

#[tokio::test]
async fn one_slow_agent_delays_no_other_and_what_comes_meanwhile_is_answered_together() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({})).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, "@ada !hold slow\n!say slow one").await;
    house.say(&chat, "@bob !say quick one").await;
    let is_of = |event: &crate::following::Event, agent: &str| {
        event.kind == "message" && event.data["data"]["sender"] == agent
    };
    stream.until(|event| is_of(event, "bob")).await;
    house.say(&chat, "@ada while you are busy").await;
    house.say(&chat, "@ada and another !say together").await;
    let activity = house.get(&chat.path("")).await.is(200).json()["activity"].clone();
    assert_eq!(activity["agents"], json!([{"id": "ada", "doing": "thinking"}]));
    house.vendor.release("slow");
    house.settled(&chat).await;
    let asked = turns(&house);
    let of_ada: Vec<_> = asked.iter().filter(|request| who(request) == "ada").collect();
    assert_eq!(of_ada.len(), 2, "both that waited are answered by one turn");
    let last = crate::asking::seen(of_ada[1]);
    let first = last.find("while you are busy").expect("the first of them");
    assert!(first < last.find("and another").expect("the second"), "in order: {last}");
    let messages = house.messages(&chat).await;
    let words: Vec<_> =
        said(&messages).into_iter().filter(|(sender, _)| *sender != "human").collect();
    assert_eq!(words, [("bob", "quick one"), ("ada", "slow one"), ("ada", "together")]);
}

#[tokio::test]
async fn what_comes_while_tools_are_waited_for_joins_the_turn_after_their_results() {
    let house = House::open().await;
    let chat = house.world_of("lab", ALL, json!({})).await;
    let run = crate::asking::script("echo the result");
    house.say_and_settle(&chat, &format!("@ada {run}")).await;
    house.say(&chat, "@ada joining words !say together").await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.decide(&waiting, json!({"decision": "approve"})).await.is(200);
    house.settled(&chat).await;
    let asked = turns(&house);
    assert_eq!(asked.len(), 2, "one turn has answered both");
    let input = crate::asking::seen(&asked[1]);
    let (result, joined) =
        (input.find("the result\\n").or(input.rfind("the result")), input.find("joining words"));
    assert!(result.is_some() && joined.is_some() && result < joined, "{input}");
    assert_eq!(house.last_words(&chat).await, "together");
}
