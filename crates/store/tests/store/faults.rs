//! A store in memory fails and dies as it is told, and tells the truth about what was written afterwards.

use std::sync::Arc;

use agent_world_store::memory::faults::{Fault, Operation, Sabotage};
use agent_world_store::{Error, Memory, Store};

use crate::teller::{Teller, create_world, post};

async fn told(memory: &Memory) -> Teller {
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let world = create_world(&*store, "w").await;
    Teller::begin(store, &world).await
}

fn at_append(wanted: u64, fault: Fault) -> impl FnMut(&Operation<'_>) -> Fault + Send {
    move |operation| match operation {
        Operation::Append { number, .. } if *number == wanted => fault,
        _ => Fault::Proceed,
    }
}

#[tokio::test]
async fn a_failed_append_is_written_or_not_as_told() {
    for (fault, written) in [(Fault::FailBefore, false), (Fault::FailAfter, true)] {
        let memory = Memory::new();
        let mut teller = told(&memory).await;
        memory.set_faults(at_append(memory.appends() + 1, fault));
        assert!(matches!(teller.say("hello").await, Err(Error::Unavailable(_))));
        let head = memory.load(&teller.id()).await.unwrap().unwrap().head;
        assert_eq!(head != teller.head, written);
        memory.clear_faults();
        assert_eq!(teller.say("hello").await.is_ok(), !written);
    }
}

#[tokio::test]
async fn a_process_can_die_at_any_append_before_or_after_it_is_written() {
    for (fault, written) in [(Fault::DieBefore, false), (Fault::DieAfter, true)] {
        let memory = Memory::new();
        let mut teller = told(&memory).await;
        memory.set_faults(at_append(3, fault));
        teller.say("one").await.unwrap();
        assert!(teller.say("two").await.is_err());
        assert_eq!(memory.appends(), 3);
        // The dead neither read nor write.
        assert!(memory.load(&teller.id()).await.is_err());
        assert!(teller.say("three").await.is_err());
        let next = memory.restart();
        let head = next.load(&teller.id()).await.unwrap().unwrap().head;
        assert_eq!(head != teller.head, written);
        assert!(teller.say("from the grave").await.is_err());
    }
}

#[tokio::test]
async fn a_restart_ends_the_process_before_it() {
    let memory = Memory::new();
    let mut teller = told(&memory).await;
    let next = memory.restart();
    assert!(matches!(teller.say("late").await, Err(Error::Unavailable(_))));
    teller.store = Arc::new(next.clone());
    teller.say("in time").await.unwrap();
    next.crash();
    assert!(next.position().await.is_err());
}

#[tokio::test]
async fn reads_fail_as_told() {
    let memory = Memory::new();
    let teller = told(&memory).await;
    memory.set_faults(|operation: &Operation<'_>| match operation {
        Operation::Read("load") => Fault::FailBefore,
        _ => Fault::Proceed,
    });
    assert!(memory.load(&teller.id()).await.is_err());
    assert!(memory.chat(&teller.id()).await.is_ok());
}

#[tokio::test]
async fn a_planted_bug_lets_two_appends_win_on_one_head() {
    let memory = Memory::new();
    let mut teller = told(&memory).await;
    memory.sabotage(Sabotage { skip_head_check: true, ..Sabotage::default() });
    let (rival, _) = teller.prepare(post("rival"));
    teller.say("first").await.unwrap();
    memory.append(rival).await.unwrap();
    let found = agent_world_store::verify::verify(&memory, &teller.id()).await;
    assert!(found.is_err());
}
