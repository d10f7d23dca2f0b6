//! Scenes in which a world leaves one store as a document and comes into another: whole, verified, and with nothing in it
//! that runs by itself.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::chain::{Head, Recorded, Sealed, seal};
use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer as Decided, Scope as Reach};
use agent_world_core::event::{
    ApprovalDecided, Author, ChatCreated, Copied, Decider, Decision, Event, Output, Permission,
};
use agent_world_core::ids::{ChatId, MessageId, RuleId, WorldId};
use agent_world_core::policy::{Rule, Ruling};
use agent_world_llm::scripted::Scripted as Model;
use agent_world_runtime::transfer::{ChatLog, Document, ImportError, Literals, SealedEvent};
use agent_world_runtime::{Engine, Error};
use agent_world_store::memory::faults::{Fault, Operation};
use agent_world_store::sqlite::Role;
use agent_world_store::verify::{compare_read_models, verify, verify_world};
use agent_world_store::{Memory, Sqlite, Store};
use agent_world_tools::scripted::Scripted;
use futures::TryStreamExt as _;
use serde_json::json;
use tempfile::TempDir;

use crate::props::{call, calls, doing, done, free, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores, perform};

on_both_stores!(
    a_world_comes_back_as_it_was,
    what_was_under_way_is_stopped_and_never_runs,
    a_forged_approval_starts_nothing,
    nothing_is_taken_from_a_document_that_is_not_true,
    what_exists_already_is_in_the_way,
    an_export_shows_one_moment_while_others_write,
);

/// Another machine: an engine on an empty store.
struct Elsewhere {
    engine: Engine,
    store: Arc<dyn Store>,
    tool: Scripted,
    model: Model,
    _folder: Option<TempDir>,
}

impl Elsewhere {
    fn new(backend: Backend) -> Self {
        let (store, folder): (Arc<dyn Store>, _) = match backend {
            Backend::Memory => (Arc::new(Memory::new()), None),
            Backend::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let store = Sqlite::open(folder.path().join("other.db"), Role::Worker).unwrap();
                (Arc::new(store), Some(folder))
            }
        };
        Self { _folder: folder, ..Self::on(store) }
    }

    fn on(store: Arc<dyn Store>) -> Self {
        let tool = doing(spec("act"));
        let model = Model::answering(|_| Ok(agent_world_core::item::Reply::text("Done.")));
        let engine = Engine::builder(Arc::clone(&store))
            .model("scripted", Arc::new(model.clone()))
            .tool(Arc::new(tool.clone()))
            .unwrap()
            .start()
            .unwrap();
        Self { engine, store, tool, model, _folder: None }
    }

    async fn export(&self) -> Document {
        export(&self.engine).await
    }

    /// Whether nothing is due, however long one waits.
    async fn is_quiet(&self) -> bool {
        self.store.due(Timestamp::MAX, None, 10).await.unwrap().is_empty()
    }

    async fn verify(&self) {
        let world = WorldId::new("scene");
        verify_world(self.store.as_ref(), &world).await.unwrap();
        for chat in &self.export().await.chats.unwrap() {
            verify(self.store.as_ref(), &chat.id).await.unwrap();
            compare_read_models(self.store.as_ref(), &chat.id).await.unwrap();
        }
    }
}

async fn text_of(engine: &Engine) -> String {
    let pieces = engine.export(&WorldId::new("scene"), Literals::Kept, None).await.unwrap();
    pieces.try_collect().await.unwrap()
}

async fn export(engine: &Engine) -> Document {
    Document::parse(text_of(engine).await.as_bytes()).unwrap()
}

/// Everything but the moment at which it was made.
fn contents(mut document: Document) -> Document {
    document.exported_at = Timestamp::UNIX_EPOCH;
    document
}

/// A world in which about everything has happened.
async fn lived_in(backend: Backend) -> Stage {
    let tool = doing(spec("act"));
    let long = Scripted::text(free("long"), "0123456789\n".repeat(20_000));
    let stage = Setup::of(&["ada", "bob"]).tool(&tool).tool(&long).open(backend).await;
    stage.model.push("ada", calls("act", &["one", "two", "three", "four"]));
    stage.say("@ada go").await;
    let asked = stage.pending(4).await;
    stage.approve(&asked[0].id, Reach::Once).await;
    stage.deny(&asked[1].id, "no").await;
    let edited = Decided::Approve {
        scope: Reach::Once,
        matches: Vec::new(),
        arguments: Some(json!({"what": "another"})),
        reason: None,
    };
    stage.answer(&asked[2].id, edited).await.unwrap();
    stage.approve(&asked[3].id, Reach::Session).await;
    stage.idle().await;
    let revoked = always(&stage, "@bob go").await;
    stage.engine.revoke_rule(&stage.world, &revoked, "carol").await.unwrap();
    always(&stage, "@bob go on").await;
    stage.model.push("ada", call("long", "x"));
    let posted = stage.say("@ada long").await;
    stage.idle().await;
    stage
        .engine
        .edit_message(&stage.chat, &posted.message.id, "@ada short", None, "eve")
        .await
        .unwrap();
    stage.idle().await;
    stage.model.push("ada", call("long", "x"));
    stage.say("@ada long again").await;
    stage.idle().await;
    stage.engine.offer_tools(&stage.chat, "page", vec![free("pick")], "eve").await.unwrap();
    stage.model.push("bob", call("pick", "a colour"));
    let next = stage.calls().await.len();
    stage.say("@bob pick").await;
    let picked = stage.call_is(next, CallState::Executing).await;
    stage.engine.client_result(&stage.chat, &picked.id, Output::text("blue"), false).await.unwrap();
    stage.idle().await;
    let said = stage.say("@bob and then").await;
    stage.idle().await;
    stage.engine.fork(&stage.chat, &said.message.id, "eve").await.unwrap();
    let gone = stage.new_chat().await;
    stage.say_in(&gone, "@ada forget it").await;
    stage.idle_in(&gone).await;
    stage.engine.delete_chat(&gone, "eve").await.unwrap();
    stage.change_world(|world| world.turn_limit = 9).await;
    stage
}

/// Has something done, and permits it for good.
async fn always(stage: &Stage, text: &str) -> RuleId {
    stage.model.push("bob", call("act", text));
    stage.say(text).await;
    let asked = stage.pending(1).await.remove(0);
    stage.approve(&asked.id, Reach::Always).await;
    stage.idle().await;
    let world = stage.store.world(&stage.world).await.unwrap().unwrap();
    world.policy.granted.iter().last().unwrap().id.clone()
}

async fn a_world_comes_back_as_it_was(backend: Backend) {
    let stage = lived_in(backend).await;
    let document = export(&stage.engine).await;
    let chats = document.chats.as_ref().unwrap();
    assert_eq!((chats.len(), document.granted.len(), document.revoked.len()), (4, 1, 1));
    assert_eq!((document.results.len(), document.revoked[0].by.as_str()), (1, "carol"));

    let other = Elsewhere::new(backend);
    let imported = other.engine.import(document.clone(), "dan").await.unwrap();
    assert_eq!((imported.chats, imported.stopped.len()), (4, 0));
    assert_eq!(contents(other.export().await), contents(document));
    other.verify().await;
    assert!(other.is_quiet().await);
    let (before, after) =
        (stage.store.world(&stage.world).await, other.store.world(&stage.world).await);
    let (mut before, after) = (before.unwrap().unwrap(), after.unwrap().unwrap());
    before.version = after.version;
    assert_eq!(before, after);
    let living = other.store.chats(&stage.world, None, 10).await.unwrap();
    assert_eq!(living.len(), 3, "what was deleted stays deleted");
    let views = |store: &Arc<dyn Store>| {
        let store = Arc::clone(store);
        let chat = stage.chat.clone();
        async move { store.chat(&chat).await.unwrap().unwrap() }
    };
    assert_eq!(views(&stage.store).await, views(&other.store).await);

    // And it lives on there, with what was permitted.
    other.model.push("bob", call("act", "@bob go on"));
    let message = agent_world_runtime::NewMessage::human("@bob go");
    let posted = other.engine.post(&stage.chat, message).await.unwrap();
    let mut follow =
        other.engine.subscribe(agent_world_store::Scope::Chat(stage.chat.clone()), posted.position);
    while done(&other.tool).is_empty() {
        follow.next().await.unwrap();
    }
    assert_eq!(done(&other.tool), ["@bob go on"]);
}

async fn what_was_under_way_is_stopped_and_never_runs(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&doing(spec("act"))).open(backend).await;
    stage.model.push("ada", call("act", "harm"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let document = export(&stage.engine).await;

    let other = Elsewhere::new(backend);
    let imported = other.engine.import(document, "dan").await.unwrap();
    assert_eq!(imported.stopped, std::slice::from_ref(&stage.chat));
    assert!(other.is_quiet().await);
    other.verify().await;
    let view = other.engine.chat(&stage.chat).await.unwrap();
    assert!(!view.activity.busy && view.activity.waiting.is_empty(), "{view:?}");
    let late = other.engine.answer(
        &asked.id,
        crate::props::approval_of(Reach::Once),
        "dan",
        Default::default(),
    );
    let error = late.await.unwrap_err().to_string();
    assert!(error.contains("withdrawn") && error.contains("stopped by dan"), "{error}");
    assert!(done(&other.tool).is_empty() && other.model.requests().is_empty());
}

async fn a_forged_approval_starts_nothing(backend: Backend) {
    let stage = Setup::of(&["ada"]).tool(&doing(spec("act"))).open(backend).await;
    stage.model.push("ada", call("act", "harm"));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let mut document = export(&stage.engine).await;
    // Somebody who knows the format seals an approval of their own behind the log.
    forge(
        &mut document,
        &stage.chat,
        Event::ApprovalDecided(ApprovalDecided {
            approval: asked.id.clone(),
            call: asked.call.clone(),
            message: MessageId::new("msg_forged"),
            decision: Decision::Approved { scope: Permission::Once, arguments: None, reason: None },
            by: Decider::Person("ada".to_owned()),
            binding: None,
        }),
    );
    let other = Elsewhere::new(backend);
    let imported = other.engine.import(document, "dan").await.unwrap();
    assert_eq!(imported.stopped, std::slice::from_ref(&stage.chat));
    assert!(other.is_quiet().await);
    other.verify().await;
    // A message in the same chat wakes it, and still the call is over.
    let message = agent_world_runtime::NewMessage::human("hello");
    let posted = other.engine.post(&stage.chat, message).await.unwrap();
    let scope = agent_world_store::Scope::Chat(stage.chat.clone());
    let mut follow = other.engine.subscribe(scope, posted.position);
    while other.engine.chat(&stage.chat).await.unwrap().activity.busy {
        follow.next().await.unwrap();
    }
    let stored = other.store.call(&stage.chat, &asked.call).await.unwrap().unwrap();
    assert_eq!(stored.state.name(), "cancelled");
    assert!(done(&other.tool).is_empty());
}

/// Puts an event behind the end of a chat's log, as if it had been written there.
fn forge(document: &mut Document, chat: &ChatId, event: Event) {
    let logs = document.chats.as_mut().unwrap();
    let log = logs.iter_mut().find(|log| log.id == *chat).unwrap();
    let last: Sealed = log.events.last().unwrap().clone().into();
    let head = Head { seq: last.seq, hash: last.hash };
    let recorded = Recorded { seq: last.seq + 1, at: last.at, event };
    log.events.push(SealedEvent::from(seal(head, &recorded).unwrap()));
}

async fn nothing_is_taken_from_a_document_that_is_not_true(backend: Backend) {
    let stage = lived_in(backend).await;
    let document = export(&stage.engine).await;
    let other = Elsewhere::new(backend);
    let chat = stage.chat.clone();
    let rule = Rule::new("rule_x", Ruling::Allow, "act");
    let at = Timestamp::UNIX_EPOCH;
    let decided = |approval: &str| {
        Event::ApprovalDecided(ApprovalDecided {
            approval: approval.into(),
            call: "call_x".into(),
            message: "msg_x".into(),
            decision: Decision::Approved {
                scope: Permission::Always(rule.clone()),
                arguments: None,
                reason: None,
            },
            by: Decider::Nobody,
            binding: None,
        })
    };
    let copied = Event::HistoryCopied { events: vec![Copied { at, event: decided("apr_x") }] };
    type Change<'a> = Box<dyn Fn(&mut Document) + 'a>;
    let log = |document: &mut Document, change: &dyn Fn(&mut Vec<SealedEvent>)| {
        let logs = document.chats.as_mut().unwrap();
        change(&mut logs.iter_mut().find(|log| log.id == chat).unwrap().events);
    };
    let cases: Vec<(&str, Change<'_>)> = vec![
        (
            "event 2: it or the event before it was changed",
            Box::new(|document| {
                log(document, &|events| events[1].payload = events[1].payload.replace("go", "no"));
            }),
        ),
        (
            "event 5: it or the event before it was changed",
            Box::new(|document| {
                log(document, &|events| events[4].hash = events[3].hash);
            }),
        ),
        (
            "event 3: event 2 must stand there",
            Box::new(|document| {
                log(document, &|events| drop(events.remove(1)));
            }),
        ),
        (
            "is filed as",
            Box::new(|document| log(document, &|events| events[1].kind = "x".to_owned())),
        ),
        ("it is empty", Box::new(|document| log(document, &|events| events.clear()))),
        ("is missing, which an event names", Box::new(|document| document.results.clear())),
        ("is not the digest of its text", Box::new(|document| document.results[0].text.push('x'))),
        (
            "no chat of the file granted rule_x",
            Box::new(|document| document.granted.push(rule.clone())),
        ),
        (
            "granted: no chat of the file granted",
            Box::new(|document| {
                document.granted[0].tool = "*".to_owned();
            }),
        ),
        (
            "nobody waited for a decision on apr_x",
            Box::new(|document| {
                forge(document, &chat, decided("apr_x"));
            }),
        ),
        (
            "a copied history cannot hold `approval_decided`",
            Box::new(|document| {
                forge(document, &chat, copied.clone());
            }),
        ),
        (
            "stands there twice",
            Box::new(|document| {
                let logs = document.chats.as_mut().unwrap();
                logs.push(logs[0].clone());
            }),
        ),
        (
            "is not the id of a chat",
            Box::new(|document| {
                document.chats.as_mut().unwrap()[0].id = ChatId::new("../x");
            }),
        ),
        (
            "it is about chat",
            Box::new(|document| {
                document.chats.as_mut().unwrap()[0].id = ChatId::new("chat_other");
            }),
        ),
        ("it is about chat", Box::new(|document| document.world["id"] = json!("other"))),
        (
            "the chat was deleted before",
            Box::new(|document| {
                let logs = document.chats.as_ref().unwrap();
                let gone = logs
                    .iter()
                    .find(|log| log.events.last().is_some_and(|last| last.kind == "chat_deleted"));
                let gone = gone.unwrap().id.clone();
                forge(document, &gone, Event::ChatDeleted { by: "x".to_owned() });
            }),
        ),
        (
            "world: it has no field `turnlimit`",
            Box::new(|document| document.world["turnlimit"] = json!(1)),
        ),
        (
            "world.agents[0]: it has no field `x`",
            Box::new(|document| {
                document.world["agents"][0]["x"] = json!(1);
            }),
        ),
        (
            "world.turn_limit: invalid type",
            Box::new(|document| document.world["turn_limit"] = json!("x")),
        ),
        ("must be at least 1", Box::new(|document| document.world["turn_limit"] = json!(0))),
        (
            "it has no field `granted`",
            Box::new(|document| {
                document.world["policy"]["granted"] = json!([rule]);
            }),
        ),
        ("a world says `agent-world/world`", Box::new(|document| document.format = "x".to_owned())),
        ("update agent-world", Box::new(|document| document.version = 2)),
    ];
    for (words, change) in cases {
        let mut changed = document.clone();
        change(&mut changed);
        let error = other.engine.import(changed, "dan").await.unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
        assert_eq!(other.store.position().await.unwrap(), 0, "{words}");
    }
    let text = text_of(&stage.engine).await;
    for (from, to, words) in [
        ("\"granted\"", "\"grunted\"", "grunted: unknown field `grunted`"),
        ("\"kind\"", "\"kond\"", "chats[0].events[0].kond: unknown field"),
        ("]}\n", "]} {}\n", "trailing characters"),
    ] {
        let error = Document::parse(text.replacen(from, to, 1).as_bytes());
        let error = match (error, words) {
            (Err(error), _) => error.to_string(),
            (Ok(_), words) => panic!("{words} was read"),
        };
        assert!(error.contains(words), "{error}");
    }
    other.engine.import(document, "dan").await.unwrap();
}

fn settings_of(document: &Document) -> Document {
    Document {
        chats: None,
        granted: Vec::new(),
        revoked: Vec::new(),
        results: Vec::new(),
        ..document.clone()
    }
}

async fn what_exists_already_is_in_the_way(backend: Backend) {
    let stage = lived_in(backend).await;
    let document = export(&stage.engine).await;
    let error = stage.engine.import(document.clone(), "dan").await.unwrap_err();
    assert!(matches!(error, ImportError::Engine(Error::WorldExists(_))), "{error}");
    // Another world's file with a chat that is here already.
    let mut foreign = Document {
        chats: Some(vec![ChatLog { id: stage.chat.clone(), events: Vec::new() }]),
        ..settings_of(&document)
    };
    foreign.world["id"] = json!("foreign");
    let created = Event::ChatCreated(ChatCreated {
        chat: stage.chat.clone(),
        world: WorldId::new("foreign"),
        title: "x".to_owned(),
        by: Author::Default,
        forked_from: None,
    });
    let recorded = Recorded { seq: 1, at: Timestamp::UNIX_EPOCH, event: created };
    foreign.chats.as_mut().unwrap()[0]
        .events
        .push(seal(Head::default(), &recorded).unwrap().into());
    let error = stage.engine.import(foreign, "dan").await.unwrap_err();
    assert!(matches!(&error, ImportError::ChatExists(chat) if *chat == stage.chat), "{error}");
    assert!(stage.store.world(&WorldId::new("foreign")).await.unwrap().is_none());

    let mut settings = settings_of(&document);
    let error = stage.engine.import(settings.clone(), "dan").await.unwrap_err();
    assert!(matches!(error, ImportError::Engine(Error::WorldExists(_))), "{error}");
    settings.rename(&WorldId::new("second")).unwrap();
    let imported = stage.engine.import(settings, "dan").await.unwrap();
    assert_eq!((imported.world.id.as_str(), imported.world.turn_limit), ("second", 9));
    assert_eq!(stage.store.chats(&imported.world.id, None, 10).await.unwrap().len(), 1);
    let error = document.clone().rename(&WorldId::new("third")).unwrap_err().to_string();
    assert!(error.contains("cannot get another id"), "{error}");

    stage.engine.delete_world(&stage.world, "eve").await.unwrap();
    stage.engine.import(document.clone(), "dan").await.unwrap();
    assert_eq!(contents(export(&stage.engine).await), contents(document));
    verify_world(stage.store.as_ref(), &stage.world).await.unwrap();
    compare_read_models(stage.store.as_ref(), &stage.chat).await.unwrap();
}

async fn an_export_shows_one_moment_while_others_write(backend: Backend) {
    let stage = lived_in(backend).await;
    let before = export(&stage.engine).await;
    let pieces = stage.engine.export(&stage.world, Literals::Kept, None).await.unwrap();
    stage.say("@ada in between").await;
    stage.idle().await;
    stage.new_chat().await;
    stage.change_world(|world| world.turn_limit = 10).await;
    let text: String = pieces.try_collect().await.unwrap();
    let during = Document::parse(text.as_bytes()).unwrap();
    assert_eq!(contents(during), contents(before));
}

/// Where an import into a store in memory is disturbed, and how.
async fn disturbed(nth: u64, fault: Fault, document: &Document) -> (Memory, ImportError) {
    let memory = Memory::new();
    let other = Elsewhere::on(Arc::new(memory.clone()));
    memory.set_faults(move |operation: &Operation<'_>| match operation {
        Operation::Append { number, .. } if *number == nth => fault,
        _ => Fault::Proceed,
    });
    let error = other.engine.import(document.clone(), "dan").await.unwrap_err();
    memory.clear_faults();
    other.engine.shutdown().await;
    (memory, error)
}

#[test]
fn a_failure_in_the_middle_leaves_nothing() {
    perform(Backend::Memory, |backend| async move {
        let document = export(&lived_in(backend).await.engine).await;
        for (nth, fault) in [(1, Fault::FailBefore), (3, Fault::FailBefore), (4, Fault::FailAfter)]
        {
            let (memory, error) = disturbed(nth, fault, &document).await;
            assert!(error.to_string().contains("made to fail"), "{error}");
            assert_eq!(memory.worlds().await.unwrap(), []);
            for chat in document.chats.as_ref().unwrap() {
                assert!(memory.load(&chat.id).await.unwrap().is_none());
            }
            let other = Elsewhere::on(Arc::new(memory));
            other.engine.import(document.clone(), "dan").await.unwrap();
            assert_eq!(contents(other.export().await), contents(document.clone()));
            other.verify().await;
        }
    });
}

#[test]
fn a_crash_in_the_middle_leaves_a_world_that_says_so_and_can_be_deleted() {
    perform(Backend::Memory, |backend| async move {
        let document = export(&lived_in(backend).await.engine).await;
        for (nth, fault) in [(1, Fault::DieBefore), (2, Fault::DieAfter), (4, Fault::DieAfter)] {
            let (memory, error) = disturbed(nth, fault, &document).await;
            assert!(matches!(error, ImportError::LeftInPart { .. }), "{error}");
            let other = Elsewhere::on(Arc::new(memory.restart()));
            let left = other.store.world(&WorldId::new("scene")).await.unwrap().unwrap();
            assert!(left.name.contains("(import under way)") && left.agents.is_empty());
            assert!(left.description.contains("delete the world and import it again"));
            assert!(other.is_quiet().await);
            other.engine.delete_world(&left.id, "dan").await.unwrap();
            other.engine.import(document.clone(), "dan").await.unwrap();
            assert_eq!(contents(other.export().await), contents(document.clone()));
            other.verify().await;
        }
    });
}
