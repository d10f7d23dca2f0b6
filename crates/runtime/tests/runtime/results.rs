//! What is kept of a call's result and of the tokens used: long results whole, usage per call and in sums.

use agent_world_core::chat::CallState;
use agent_world_core::config::{Location, ToolSpec};
use agent_world_core::event::{Event, Output, Whole};
use agent_world_core::ids::TurnId;
use agent_world_core::item::Usage;
use agent_world_llm::scripted::Answer;
use agent_world_store::memory::faults::{Fault, Operation};
use agent_world_store::verify::compare_read_models;
use agent_world_store::{MessagePage, UsageScope, UsageTotal};
use agent_world_tools::scripted::Scripted;
use serde_json::json;

use crate::props::{call, doing, free, shown};
use crate::stage::{Backend, Setup, Stage, on_both_stores, perform};

on_both_stores!(
    a_long_result_is_cut_for_the_model_and_can_be_read_on,
    another_agent_cannot_read_the_result,
    a_fork_reads_the_result_of_its_origin,
    a_clients_long_result_is_stored_once,
    usage_is_recorded_for_every_call_and_summed,
);

/// Numbered lines, so that every place in it is unlike every other.
fn long_text() -> String {
    (0..4_000).map(|line| format!("line {line}\n")).collect()
}

async fn a_long_result_is_cut_for_the_model_and_can_be_read_on(backend: Backend) {
    let text = long_text();
    let tool = Scripted::text(free("act"), text.clone());
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        .world(|world| world.result_limit = 1_000)
        .open(backend)
        .await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Long."));
    stage.say("go").await;
    stage.idle().await;
    let told = shown(&stage.model.requests()[1]);
    let cut = told.last().unwrap();
    assert!(cut.len() < 1_300, "{}", cut.len());
    assert!(cut.contains("[cut: characters 800 to "), "{cut}");
    assert!(cut.contains("read_result"), "{cut}");
    assert!(cut.ends_with("line 3999\n"), "{cut}");
    let stored = stage.calls().await[0].clone();
    let whole = stored.output.unwrap().whole;
    assert_eq!(whole, Some(Box::new(Whole::of(&text))), "stored whole, once");
    let log = serde_json::to_string(&stage.log(&stage.chat).await).unwrap();
    assert!(!log.contains("line 2000"), "the log keeps the beginning and the end");
    assert!(log.contains("line 300\\n") && log.contains("line 3950\\n"), "and not too little");

    // As the note says, piece by piece: first no longer than results may be, then with more room.
    let mut read: String = text.chars().take(800).collect();
    let mut offset = 800;
    while offset < text.len() {
        if offset > 2_000 {
            stage.change_world(|world| world.result_limit = 100_000).await;
        }
        let arguments = json!({"id": stored.id, "offset": offset});
        stage.model.push("ada", Answer::call("read_result", arguments));
        stage.model.push("ada", Answer::text("Go on."));
        stage.say("read on").await;
        stage.idle().await;
        let piece = stage.calls().await.pop().unwrap().output.unwrap();
        assert_eq!(piece.whole, None, "a piece is not stored a second time");
        let piece = piece.text;
        assert!(!piece.contains("[cut: "), "{piece}");
        let piece = match piece.split_once("\n[characters ") {
            Some((piece, note)) => {
                assert!(note.contains("read on with offset "), "{note}");
                piece.to_owned()
            }
            None => piece,
        };
        assert!(!piece.is_empty());
        offset += piece.chars().count();
        read.push_str(&piece);
    }
    assert_eq!(read, text);
}

async fn another_agent_cannot_read_the_result(backend: Backend) {
    let tool = doing(free("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "a secret"));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("@ada go").await;
    stage.idle().await;
    let call = stage.calls().await[0].id.clone();
    let read = || Answer::call("read_result", json!({"id": call}));

    stage.model.push("bob", read());
    stage.model.push("bob", Answer::text("No luck."));
    stage.say("@bob what did ada do?").await;
    stage.idle().await;
    let output = stage.calls().await[1].output.clone().unwrap();
    assert!(output.text.starts_with("you made no call"), "{output:?}");
    assert_eq!(stage.states().await[1], "failed");

    // Nor can the agent itself from another chat.
    let elsewhere = stage.new_chat().await;
    stage.model.push("ada", read());
    stage.model.push("ada", Answer::text("No luck."));
    stage.say_in(&elsewhere, "@ada what did you do?").await;
    stage.idle_in(&elsewhere).await;
    let calls = stage.store.calls(&elsewhere, None, 10).await.unwrap();
    assert!(calls[0].output.as_ref().unwrap().text.starts_with("you made no call"));
}

async fn a_fork_reads_the_result_of_its_origin(backend: Backend) {
    let text = long_text();
    let tool = Scripted::text(free("act"), text.clone());
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Long."));
    stage.say("go").await;
    stage.idle().await;
    let id = stage.calls().await[0].id.clone();
    let page = MessagePage::Before(None, 1);
    let at = stage.store.messages(&stage.chat, page).await.unwrap()[0].id.clone();
    let fork = stage.engine.fork(&stage.chat, &at, "eve").await.unwrap();
    let arguments = json!({"id": id, "offset": 20_000, "limit": 9});
    stage.model.push("ada", Answer::call("read_result", arguments));
    stage.model.push("ada", Answer::text("Read."));
    stage.say_in(&fork.id, "read on").await;
    stage.idle_in(&fork.id).await;
    let read = stage.store.calls(&fork.id, None, 10).await.unwrap().pop().unwrap();
    let read = read.output.unwrap().text;
    let expected: String = text.chars().skip(20_000).take(9).collect();
    let note =
        format!("\n[characters 20000 to 20009 of {}; read on with offset 20009]", text.len());
    assert_eq!(read, format!("{expected}{note}"));
}

async fn a_clients_long_result_is_stored_once(backend: Backend) {
    let tool = Scripted::text(ToolSpec { location: Location::Client, ..free("act") }, "");
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it"));
    stage.model.push("ada", Answer::text("Long."));
    stage.say("go").await;
    let call = stage.call_is(0, CallState::Executing).await;
    // What a client says about stored texts is not believed.
    let forged = Some(Box::new(Whole::of("another text")));
    let sent = Output { whole: forged, ..Output::text(long_text()) };
    stage.engine.client_result(&stage.chat, &call.id, sent, false).await.unwrap();
    stage.idle().await;
    let stored = stage.calls().await[0].output.clone().unwrap();
    let whole = Whole::of(&long_text());
    assert_eq!(stored.whole, Some(Box::new(whole)));
    assert!(stored.text.chars().count() < 20_300);
    let found = stage.store.result(&stage.world, whole.digest, 0, u64::MAX).await.unwrap();
    assert_eq!(found.unwrap().text, long_text());
    compare_read_models(&*stage.store, &stage.chat).await.unwrap();
}

#[test]
fn a_result_that_cannot_be_stored_apart_is_kept_in_the_log() {
    perform(Backend::Memory, |backend| async move {
        let tool = Scripted::text(free("act"), long_text());
        let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
        stage.memory().set_faults(|operation: &Operation<'_>| match operation {
            Operation::Write("keep_result") => Fault::FailBefore,
            _ => Fault::Proceed,
        });
        stage.model.push("ada", call("act", "it"));
        stage.model.push("ada", Answer::text("Long."));
        stage.say("go").await;
        stage.idle().await;
        let stored = stage.calls().await[0].clone();
        assert_eq!(stored.output, Some(Output::text(long_text())));
        let arguments = json!({"id": stored.id, "offset": 38_000, "limit": 5});
        stage.model.push("ada", Answer::call("read_result", arguments));
        stage.model.push("ada", Answer::text("Read."));
        stage.say("read on").await;
        stage.idle().await;
        let expected: String = long_text().chars().skip(38_000).take(5).collect();
        let read = stage.calls().await.pop().unwrap().output.unwrap().text;
        assert!(read.starts_with(&format!("{expected}\n[characters 38000 to 38005 of ")), "{read}");
    });
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: input + output,
        ..Usage::default()
    }
}

fn total(agent: &str, model_calls: u64, usage: Usage) -> UsageTotal {
    UsageTotal { agent: Some(agent.into()), model_calls, usage }
}

async fn turns(stage: &Stage) -> Vec<TurnId> {
    let started = |event| match event {
        Event::TurnStarted(started) => Some(started.turn),
        _ => None,
    };
    let log = stage.log(&stage.chat).await;
    log.into_iter().filter_map(started).collect()
}

async fn usage_is_recorded_for_every_call_and_summed(backend: Backend) {
    let tool = doing(free("act"));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).open(backend).await;
    stage.model.push("ada", call("act", "it").with_usage(tokens(10, 1)));
    stage.model.push("ada", Answer::text("Done.").with_usage(tokens(20, 2)));
    stage.say("@ada go").await;
    stage.idle().await;
    stage.model.push("ada", Answer::text("Yes.").with_usage(tokens(40, 4)));
    stage.model.push("bob", Answer::text("Yes.").with_usage(tokens(300, 30)));
    stage.say("both of you?").await;
    stage.idle().await;
    let elsewhere = stage.new_chat().await;
    stage.model.push("bob", Answer::text("Here.").with_usage(tokens(5_000, 0)));
    stage.say_in(&elsewhere, "@bob where?").await;
    stage.idle_in(&elsewhere).await;

    let usage = async |scope| stage.store.usage(&scope).await.unwrap();
    let first = turns(&stage).await[0].clone();
    assert_eq!(
        usage(UsageScope::Turn(stage.chat.clone(), first)).await,
        [total("ada", 2, tokens(30, 3))]
    );
    assert_eq!(
        usage(UsageScope::Chat(stage.chat.clone())).await,
        [total("ada", 3, tokens(70, 7)), total("bob", 1, tokens(300, 30))]
    );
    assert_eq!(
        usage(UsageScope::World(stage.world.clone())).await,
        [total("ada", 3, tokens(70, 7)), total("bob", 2, tokens(5_300, 30))]
    );
    let recorded: Vec<u64> = stage
        .log(&stage.chat)
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::ReplyRecorded(reply) if reply.agent.as_str() == "ada" => {
                Some(reply.usage.input_tokens)
            }
            _ => None,
        })
        .collect();
    assert_eq!(recorded, [10, 20, 40]);
}
