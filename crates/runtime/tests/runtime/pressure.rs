//! Too much to do, a store that fails for a while, and chats that leave memory: nothing accepted is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use agent_world_core::command::Scope;
use agent_world_core::ids::ChatId;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Error, NewMessage};
use agent_world_store::memory::faults::{Fault, Operation};
use futures::future::join_all;

use crate::props::{call, doing, done, gate, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores, perform_in_virtual_time};

on_both_stores!(idle_chats_leave_memory_and_come_back_for_a_message);

async fn idle_chats_leave_memory_and_come_back_for_a_message(backend: Backend) {
    let stage = Setup::of(&["ada"])
        .options(|options| options.idle_grace = Duration::from_millis(50))
        .open(backend)
        .await;
    for text in ["One.", "Two."] {
        stage.model.push("ada", Answer::text(text));
        stage.say("hello").await;
        stage.idle().await;
        while stage.engine.resident_chats() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(stage.said().await.len(), 4);
}

#[test]
fn a_chat_at_work_stays_and_one_that_only_waits_leaves_memory() {
    perform_in_virtual_time(|backend| async move {
        let tool = doing(spec("act"));
        let stage = Setup::of(&["ada"])
            .tool(&tool)
            .options(|options| options.poll = Duration::from_secs(1))
            .open(backend)
            .await;
        let writes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&writes);
        stage.memory().set_faults(move |operation: &Operation<'_>| {
            if matches!(operation, Operation::Append { .. } | Operation::Write("set_wake")) {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            Fault::Proceed
        });
        let thinking = gate();
        stage.model.push("ada", call("act", "it").held_by(&thinking));
        stage.say("go").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(writes.load(Ordering::SeqCst), 1, "waiting for a model costs no write");
        assert_eq!(stage.engine.resident_chats(), 1, "its model still thinks");
        thinking.add_permits(1);
        let asked = stage.pending(1).await;
        tokio::time::sleep(Duration::from_secs(15)).await;
        assert_eq!(stage.engine.resident_chats(), 0, "it waits for a person");
        stage.approve(&asked[0].id, Scope::Once).await;
        stage.idle().await;
        assert_eq!(done(&tool), ["it"]);
    });
}

/// Lets every append fail while the switch is on.
fn breakable(stage: &Stage) -> Arc<AtomicBool> {
    let broken = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&broken);
    stage.memory().set_faults(move |operation: &Operation<'_>| match operation {
        Operation::Append { .. } if switch.load(Ordering::SeqCst) => Fault::FailBefore,
        _ => Fault::Proceed,
    });
    broken
}

#[test]
fn a_full_mailbox_is_overloaded_and_loses_nothing_it_accepted() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"]).options(|options| options.mailbox = 8).open(backend).await;
        let thinking = gate();
        stage.model.push("ada", Answer::text("One.").held_by(&thinking));
        stage.say("first").await;
        stage.model.received(1).await;
        // The reply cannot be stored: the chat is occupied with trying, and its mailbox fills.
        let broken = breakable(&stage);
        broken.store(true, Ordering::SeqCst);
        thinking.add_permits(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let posts = (0..20).map(|number| {
            let (engine, chat) = (stage.engine.clone(), stage.chat.clone());
            let message = NewMessage::human(format!("message {number}."));
            tokio::spawn(async move { (number, engine.post(&chat, message).await) })
        });
        let posts: Vec<_> = posts.collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        broken.store(false, Ordering::SeqCst);
        let (mut accepted, mut refused) = (Vec::new(), 0);
        for post in join_all(posts).await {
            match post.unwrap() {
                (number, Ok(_)) => accepted.push(format!("human: message {number}.")),
                (_, Err(Error::Overloaded(_))) => refused += 1,
                (number, Err(other)) => panic!("{number}: {other}"),
            }
        }
        // One place may be taken by the reminder that the chat has something to do.
        assert!((7..=8).contains(&accepted.len()), "{accepted:?}");
        assert_eq!(accepted.len() + refused, 20);
        stage.idle().await;
        let said = stage.said().await;
        for number in 0..20 {
            let line = format!("human: message {number}.");
            let times = said.iter().filter(|said| **said == line).count();
            assert_eq!(times, usize::from(accepted.contains(&line)), "{line}");
        }
        assert!(said.last().unwrap().starts_with("ada: "), "{said:?}");
    });
}

#[test]
fn a_store_that_fails_for_a_while_delays_effects_and_loses_none() {
    perform_in_virtual_time(|backend| async move {
        let working = gate();
        let tool = doing(spec("act")).held_by(&working);
        let stage = Setup::of(&["ada"])
            .tool(&tool)
            .options(|options| options.poll = Duration::from_secs(1))
            .open(backend)
            .await;
        let broken = breakable(&stage);
        let thinking = gate();
        stage.model.push("ada", call("act", "it").held_by(&thinking));
        stage.model.push("ada", Answer::text("Done.").held_by(&thinking));
        stage.say("go").await;
        stage.model.received(1).await;

        // Each effect ends while nothing can be stored, and is recorded when something can.
        let fail_for_a_minute = async || {
            broken.store(true, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(60)).await;
            broken.store(false, Ordering::SeqCst);
        };
        thinking.add_permits(1);
        fail_for_a_minute().await;
        let asked = stage.pending(1).await;
        broken.store(true, Ordering::SeqCst);
        let refused = stage.answer(&asked[0].id, crate::props::approval_of(Scope::Once)).await;
        assert!(
            matches!(refused, Err(Error::Store(_))),
            "an input is refused, not kept: {refused:?}"
        );
        broken.store(false, Ordering::SeqCst);
        stage.approve(&asked[0].id, Scope::Once).await;
        tool.received(1).await;
        broken.store(true, Ordering::SeqCst);
        working.add_permits(1);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(stage.model.requests().len(), 1);
        broken.store(false, Ordering::SeqCst);
        stage.model.received(2).await;
        broken.store(true, Ordering::SeqCst);
        thinking.add_permits(1);
        fail_for_a_minute().await;
        stage.idle().await;
        assert_eq!(stage.said().await, ["human: go", "ada: Done."]);
        assert_eq!(done(&tool), ["it"]);
        assert_eq!(stage.states().await, ["completed"]);
    });
}

#[test]
fn a_post_whose_fate_was_unknown_can_be_repeated_under_its_key() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"]).open(backend).await;
        let mut torn = false;
        stage.memory().set_faults(move |operation: &Operation<'_>| match operation {
            Operation::Append { append, .. } if append.idempotency.is_some() && !torn => {
                torn = true;
                Fault::FailAfter
            }
            _ => Fault::Proceed,
        });
        stage.model.push("ada", Answer::text("Once."));
        let message =
            NewMessage { key: Some("post-1".to_owned()), ..NewMessage::human("only once") };
        let torn = stage.engine.post(&stage.chat, message.clone()).await;
        assert!(matches!(torn, Err(Error::Store(_))), "{torn:?}");
        let again = stage.engine.post(&stage.chat, message).await.unwrap();
        assert_eq!(again.message.text, "only once");
        stage.idle().await;
        assert_eq!(stage.said().await, ["human: only once", "ada: Once."]);
    });
}

#[test]
fn a_store_that_cannot_be_read_at_the_start_delays_recovery_only() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"]).open(backend).await;
        let never = gate();
        stage.model.push("ada", Answer::text("Never said.").held_by(&never));
        stage.model.push("ada", Answer::text("Said."));
        stage.say("hello").await;
        stage.model.received(1).await;
        let failing = Arc::new(AtomicBool::new(true));
        let switch = Arc::clone(&failing);
        let closed = stage.crash().await;
        let stage = closed.open().await;
        stage.memory().set_faults(move |_: &Operation<'_>| {
            if switch.load(Ordering::SeqCst) { Fault::FailBefore } else { Fault::Proceed }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(stage.model.requests().len(), 1);
        failing.store(false, Ordering::SeqCst);
        stage.idle().await;
        assert_eq!(stage.said().await, ["human: hello", "ada: Said."]);
        let unknown = ChatId::new("chat_none");
        assert!(stage.store.chat(&unknown).await.unwrap().is_none());
    });
}
