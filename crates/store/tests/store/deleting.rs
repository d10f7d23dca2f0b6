//! What is left of a chat and of a world once they are deleted.

use agent_world_core::command::{Command, Scope as Reach};
use agent_world_store::verify::{compare_read_models, verify, verify_world};
use agent_world_store::{ApprovalFilter, Error, MessagePage, Scope, UsageScope};

use crate::backend::{Backend, on_every_store};
use crate::teller::{Teller, change, create_world, now, post};

on_every_store!(
    a_deleted_chat_is_hidden_and_its_log_kept,
    a_deleted_world_takes_its_chats_along_and_no_others,
    a_world_made_again_goes_on_with_the_log_of_its_namesake,
);

async fn a_deleted_chat_is_hidden_and_its_log_kept(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    teller.approve(&approval, Reach::Session).await;
    teller.run_tool("a.txt").await;
    teller.call_shell("rm a.txt").await;
    teller.tell(Command::DeleteChat { by: "ann".into() }).await.unwrap();
    let chat = teller.id();
    assert_eq!(store.chat(&chat).await.unwrap(), None);
    assert_eq!(store.chats(&world.id, None, 10).await.unwrap(), []);
    assert_eq!(store.messages(&chat, MessagePage::After(None, 10)).await.unwrap(), []);
    assert_eq!(store.grants(&chat).await.unwrap(), []);
    assert_eq!(store.due(now(), None, 10).await.unwrap(), []);
    // For an audit.
    assert_eq!(store.calls(&chat, None, 10).await.unwrap().len(), 2);
    let asked = ApprovalFilter { chat: Some(chat.clone()), ..ApprovalFilter::default() };
    assert_eq!(store.approvals(&asked, None, 10).await.unwrap().len(), 2);
    let pending = ApprovalFilter { only_pending: true, ..asked };
    assert_eq!(store.approvals(&pending, None, 10).await.unwrap(), []);
    assert_eq!(store.load(&chat).await.unwrap().unwrap().head, teller.head);
    verify(&*store, &chat).await.unwrap();
    compare_read_models(&*store, &chat).await.unwrap();
}

async fn a_deleted_world_takes_its_chats_along_and_no_others(backend: impl Backend) {
    let store = backend.store();
    let doomed = create_world(&*store, "doomed").await;
    let spared = create_world(&*store, "spared").await;
    let mut lost = Teller::begin(store.clone(), &doomed).await;
    let mut kept = Teller::begin(store.clone(), &spared).await;
    lost.exchange("hello").await;
    kept.exchange("hello").await;
    let before = store.position().await.unwrap();
    store.delete_world(&doomed.id, change("world", "deleted", "doomed")).await.unwrap();

    assert_eq!(store.world(&doomed.id).await.unwrap(), None);
    assert_eq!(store.worlds().await.unwrap(), [spared]);
    assert_eq!(store.load(&lost.id()).await.unwrap(), None);
    assert_eq!(store.calls(&lost.id(), None, 10).await.unwrap(), []);
    let asked = ApprovalFilter { world: Some(doomed.id.clone()), ..ApprovalFilter::default() };
    assert_eq!(store.approvals(&asked, None, 10).await.unwrap(), []);
    assert_eq!(store.usage(&UsageScope::World(doomed.id.clone())).await.unwrap(), []);
    assert_eq!(store.events(&Scope::Chat(lost.id()), 0, 10).await.unwrap(), []);
    assert!(matches!(lost.say("too late").await, Err(Error::UnknownWorld(_))));
    let (append, _) = kept.prepare(post("still here"));
    store.append(append).await.unwrap();
    compare_read_models(&*store, &kept.id()).await.unwrap();

    // Who follows the log is told.
    let told = store.events(&Scope::World(doomed.id.clone()), before, 10).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].chat.as_ref(), told[0].position), (None, before + 1));
    let again = store.delete_world(&doomed.id, change("world", "deleted", "doomed")).await;
    assert!(matches!(again, Err(Error::UnknownWorld(_))));
}

async fn a_world_made_again_goes_on_with_the_log_of_its_namesake(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    store.delete_world(&world.id, change("world", "deleted", "w")).await.unwrap();
    let again = create_world(&*store, "w").await;
    assert_eq!(again.version, 1);
    assert_eq!(store.chats(&again.id, None, 10).await.unwrap(), []);
    assert_eq!(verify_world(&*store, &world.id).await.unwrap().events, 3);
}
