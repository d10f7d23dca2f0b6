//! What can be looked up is what the log says, page by page.

use agent_world_core::command::{Command, MessageRef, Scope, TitleProposal};
use agent_world_core::event::Attendance;
use agent_world_core::ids::{AgentId, ApprovalId, ChatId};
use agent_world_core::item::{Item, Reply, Usage};
use agent_world_core::policy::{Ground, Ruling, Verdict};
use agent_world_core::sender::Sender;
use agent_world_core::view::CallView;
use agent_world_store::verify::compare_read_models;
use agent_world_store::{ApprovalFilter, MessagePage, Scope as EventScope, UsageScope};
use serde_json::json;

use crate::backend::{Backend, on_every_store};
use crate::teller::{Teller, create_world};

on_every_store!(
    read_models_are_what_the_log_says_at_every_step,
    messages_page_forward_and_backward,
    a_cut_takes_messages_from_its_place_on,
    calls_page_oldest_first,
    approvals_are_filtered_and_page_oldest_first,
    a_session_grant_is_listed_until_it_is_revoked,
    usage_is_summed_for_a_world_a_chat_and_a_turn,
    what_a_title_took_is_summed_for_no_agent_and_no_turn,
    absurd_numbers_of_tokens_are_summed_as_the_log_says,
    a_call_says_what_allowed_it,
    chats_page_oldest_first,
    what_does_not_exist_is_not_found,
    a_log_is_read_from_any_of_its_own_numbers,
);

async fn a_log_is_read_from_any_of_its_own_numbers(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    // Another chat's events stand in between, so that numbers and positions differ.
    let mut other = Teller::begin(store.clone(), &world).await;
    for text in ["one", "two", "three"] {
        teller.say(text).await.unwrap();
        other.say(text).await.unwrap();
    }
    let chat = teller.id();
    let all = store.events(&EventScope::Chat(chat.clone()), 0, 1000).await.unwrap();
    let numbers = all.iter().map(|event| event.sealed.seq);
    assert!(numbers.eq(1..=u64::try_from(all.len()).unwrap()));
    for (after, rest) in (0..).zip((0..=all.len()).map(|from| &all[from..])) {
        for limit in [1, 2, 1000] {
            let expected: Vec<_> = rest.iter().take(limit).cloned().collect();
            assert_eq!(store.log(&chat, after, limit).await.unwrap(), expected);
        }
    }
    assert_eq!(store.log(&chat, u64::MAX, 1).await.unwrap(), []);
    assert_eq!(store.log(&ChatId::new("chat_none"), 0, 1).await.unwrap(), []);
}

async fn read_models_are_what_the_log_says_at_every_step(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let chat = teller.id();
    let check = || compare_read_models(&*store, &chat);
    check().await.unwrap();
    teller.exchange("one").await;
    check().await.unwrap();
    teller.snapshot = true;
    teller.say("two").await.unwrap();
    check().await.unwrap();
    let approval = teller.call_shell("pwd").await;
    check().await.unwrap();
    teller.approve(&approval, Scope::Session).await;
    check().await.unwrap();
    teller.run_tool("/home").await;
    teller.tell(Command::Stop { agent: None, by: "ann".into() }).await.unwrap();
    check().await.unwrap();
    teller.tell(Command::RenameChat { title: "two".into(), by: "ann".into() }).await.unwrap();
    check().await.unwrap();
}

async fn messages_page_forward_and_backward(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("one").await;
    teller.exchange("two").await;
    let chat = teller.id();
    let all = store.messages(&chat, MessagePage::After(None, 1000)).await.unwrap();
    assert!(all.len() > 8);
    assert!(all.is_sorted_by_key(|message| message.position));
    for size in [1, 2, 5] {
        let mut forward = Vec::new();
        let mut place = None;
        loop {
            let page = store.messages(&chat, MessagePage::After(place, size)).await.unwrap();
            let Some(last) = page.last() else { break };
            place = Some(last.position);
            forward.extend(page);
        }
        assert_eq!(forward, all);
        let mut backward = Vec::new();
        let mut place = None;
        loop {
            let page = store.messages(&chat, MessagePage::Before(place, size)).await.unwrap();
            let Some(first) = page.first() else { break };
            place = Some(first.position);
            backward.splice(0..0, page);
        }
        assert_eq!(backward, all);
    }
    for message in &all {
        assert_eq!(store.message(&chat, &message.id).await.unwrap().as_ref(), Some(message));
    }
}

async fn a_cut_takes_messages_from_its_place_on(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("one").await;
    let kept = store.messages(&teller.id(), MessagePage::After(None, 100)).await.unwrap();
    teller.exchange("two").await;
    let page = MessagePage::After(kept.last().map(|message| message.position), 1);
    let target = store.messages(&teller.id(), page).await.unwrap().remove(0);
    let target = MessageRef {
        id: target.id,
        position: target.position,
        sender: Sender::Human,
        parts: target.parts,
        reply_to: target.reply_to,
        attendance: Attendance::Attended,
        recipients: None,
    };
    let cut = Command::DeleteMessage { target: target.clone(), by: "ann".into() };
    teller.tell(cut).await.unwrap();
    let left = store.messages(&teller.id(), MessagePage::After(None, 100)).await.unwrap();
    assert_eq!(left, kept);
    assert_eq!(store.message(&teller.id(), &target.id).await.unwrap(), None);
    compare_read_models(&*store, &teller.id()).await.unwrap();
}

async fn calls_page_oldest_first(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    for text in ["one", "two", "three"] {
        teller.exchange(text).await;
    }
    let all = store.calls(&teller.id(), None, 100).await.unwrap();
    assert_eq!(all.len(), 3);
    assert!(all.is_sorted_by_key(|call| call.requested_at));
    let rest = store.calls(&teller.id(), Some(&all[0].id), 1).await.unwrap();
    assert_eq!(rest, all[1..2]);
    assert_eq!(store.call(&teller.id(), &all[2].id).await.unwrap().as_ref(), Some(&all[2]));
}

async fn approvals_are_filtered_and_page_oldest_first(backend: impl Backend) {
    let store = backend.store();
    let mut asked: Vec<(ChatId, ApprovalId)> = Vec::new();
    let mut tellers = Vec::new();
    for name in ["v", "w"] {
        let world = create_world(&*store, name).await;
        for _ in 0..3 {
            let mut teller = Teller::begin(store.clone(), &world).await;
            teller.say("run").await.unwrap();
            asked.push((teller.id(), teller.call_shell("ls").await));
            tellers.push(teller);
        }
    }
    tellers[1].approve(&asked[1].1.clone(), Scope::Once).await;
    let ids =
        async |filter: ApprovalFilter, after: Option<&ApprovalId>, limit| -> Vec<ApprovalId> {
            let found = store.approvals(&filter, after, limit).await.unwrap();
            found.into_iter().map(|approval| approval.id).collect()
        };
    let all: Vec<ApprovalId> = asked.iter().map(|(_, id)| id.clone()).collect();
    let pending = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
    let undecided: Vec<ApprovalId> = all.iter().filter(|id| **id != all[1]).cloned().collect();
    assert_eq!(ids(ApprovalFilter::default(), None, 100).await, all);
    assert_eq!(ids(ApprovalFilter::default(), Some(&all[1]), 2).await, all[2..4]);
    assert_eq!(ids(pending.clone(), None, 100).await, undecided);
    // A decided request is still a place to go on from.
    assert_eq!(ids(pending.clone(), Some(&all[1]), 1).await, all[2..3]);
    let of_world = ApprovalFilter { world: Some("w".into()), ..pending.clone() };
    assert_eq!(ids(of_world, None, 100).await, all[3..]);
    let of_chat = ApprovalFilter { chat: Some(asked[1].0.clone()), ..ApprovalFilter::default() };
    assert_eq!(ids(of_chat.clone(), None, 100).await, all[1..2]);
    assert_eq!(ids(ApprovalFilter { only_pending: true, ..of_chat }, None, 100).await, []);
    let of_agent = ApprovalFilter { agent: Some("ada".into()), ..pending.clone() };
    assert_eq!(ids(of_agent, None, 100).await, undecided);
    let of_nobody = ApprovalFilter { agent: Some("bob".into()), ..pending };
    assert_eq!(ids(of_nobody, None, 100).await, []);
    assert_eq!(store.approval(&all[4]).await.unwrap().unwrap().chat, asked[4].0);
}

async fn a_session_grant_is_listed_until_it_is_revoked(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    assert_eq!(store.grants(&teller.id()).await.unwrap(), []);
    teller.approve(&approval, Scope::Session).await;
    let grants = store.grants(&teller.id()).await.unwrap();
    assert_eq!(grants.len(), 1);
    let revoke = Command::RevokeGrant { grant: grants[0].id.clone(), by: "ann".into() };
    teller.tell(revoke).await.unwrap();
    assert_eq!(store.grants(&teller.id()).await.unwrap(), []);
}

async fn usage_is_summed_for_a_world_a_chat_and_a_turn(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut one = Teller::begin(store.clone(), &world).await;
    let mut other = Teller::begin(store.clone(), &world).await;
    one.exchange("one").await;
    one.exchange("two").await;
    other.exchange("three").await;
    let sum = async |scope: UsageScope| {
        let totals = store.usage(&scope).await.unwrap();
        let one = totals.iter().find(|total| total.agent == Some("ada".into()));
        one.map_or((0, 0), |total| (total.model_calls, total.usage.total_tokens))
    };
    assert_eq!(sum(UsageScope::World(world.id.clone())).await, (6, 90));
    assert_eq!(sum(UsageScope::Chat(one.id())).await, (4, 60));
    assert_eq!(sum(UsageScope::Chat(other.id())).await, (2, 30));
    let turn = store.calls(&one.id(), None, 1).await.unwrap()[0].turn.clone();
    assert_eq!(sum(UsageScope::Turn(one.id(), turn.clone())).await, (2, 30));
    assert_eq!(sum(UsageScope::Turn(other.id(), turn)).await, (0, 0));
}

async fn what_a_title_took_is_summed_for_no_agent_and_no_turn(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut one = Teller::begin(store.clone(), &world).await;
    let mut other = Teller::begin(store.clone(), &world).await;
    for teller in [&mut one, &mut other] {
        teller.exchange("hello").await;
        let (text, model) = ("Three Good Words".to_owned(), "scripted/one".to_owned());
        let usage = Usage { total_tokens: 7, ..Usage::default() };
        let proposal = Ok(TitleProposal { text, model, usage });
        teller.tell(Command::RecordTitle { proposal }).await.unwrap();
        compare_read_models(&*store, &teller.id()).await.unwrap();
    }
    let sums = async |scope: UsageScope| -> Vec<(Option<AgentId>, u64, u64)> {
        let totals = store.usage(&scope).await.unwrap().into_iter();
        totals.map(|one| (one.agent, one.model_calls, one.usage.total_tokens)).collect()
    };
    let ada = || Some("ada".into());
    assert_eq!(sums(UsageScope::World(world.id.clone())).await, [(None, 2, 14), (ada(), 4, 60)]);
    assert_eq!(sums(UsageScope::Chat(one.id())).await, [(None, 1, 7), (ada(), 2, 30)]);
    let turn = store.calls(&one.id(), None, 1).await.unwrap()[0].turn.clone();
    assert_eq!(sums(UsageScope::Turn(one.id(), turn)).await, [(ada(), 2, 30)]);
}

async fn absurd_numbers_of_tokens_are_summed_as_the_log_says(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let absurd = Usage { input_tokens: u64::MAX, total_tokens: u64::MAX, ..Usage::default() };
    for text in ["one", "two"] {
        teller.say(text).await.unwrap();
        teller.reply(Reply { usage: absurd, ..Reply::text("hm") }).await;
    }
    compare_read_models(&*store, &teller.id()).await.unwrap();
    let totals = store.usage(&UsageScope::Chat(teller.id())).await.unwrap();
    assert_eq!((totals[0].model_calls, totals[0].usage.total_tokens), (2, 2 << 40));
}

async fn a_call_says_what_allowed_it(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    teller.approve(&approval, Scope::Always).await;
    teller.run_tool("a.txt").await;
    let call = Item::call("vendor", "shell", &json!({"command": "ls"}));
    teller.reply(Reply::of(vec![call])).await;
    let [asked, allowed] = &store.calls(&teller.id(), None, 10).await.unwrap()[..] else {
        panic!("two calls")
    };
    let ground = |call: &CallView| call.verdict.clone().unwrap();
    assert_eq!(ground(asked), Verdict { ruling: Ruling::Ask, ground: Ground::Tool });
    let rule = Ground::Rule(teller.world.policy.granted[0].id.clone());
    assert_eq!(ground(allowed), Verdict { ruling: Ruling::Allow, ground: rule });
}

async fn chats_page_oldest_first(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut teller = Teller::begin(store.clone(), &world).await;
        ids.push(teller.id());
        if ids.len() == 2 {
            teller.tell(Command::DeleteChat { by: "ann".into() }).await.unwrap();
        }
    }
    let page = async |after: Option<&ChatId>, limit| -> Vec<ChatId> {
        let chats = store.chats(&world.id, after, limit).await.unwrap();
        chats.into_iter().map(|chat| chat.id).collect()
    };
    assert_eq!(page(None, 2).await, [ids[0].clone(), ids[2].clone()]);
    assert_eq!(page(Some(&ids[2]), 10).await, ids[3..]);
    // A chat deleted since is still a place to go on from.
    assert_eq!(page(Some(&ids[1]), 1).await, ids[2..3]);
}

async fn what_does_not_exist_is_not_found(backend: impl Backend) {
    let store = backend.store();
    let chat = ChatId::from("chat_none");
    assert_eq!(store.position().await.unwrap(), 0);
    assert_eq!(store.load(&chat).await.unwrap(), None);
    assert_eq!(store.chat(&chat).await.unwrap(), None);
    assert_eq!(store.world(&"w".into()).await.unwrap(), None);
    assert_eq!(store.approval(&"apr_none".into()).await.unwrap(), None);
    assert_eq!(store.call(&chat, &"call_none".into()).await.unwrap(), None);
    assert_eq!(store.messages(&chat, MessagePage::Before(None, 5)).await.unwrap(), []);
}
