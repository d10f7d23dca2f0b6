//! What the audit tells: every call, request, decision and outcome, of every store in the same words.

use agent_world_core::Timestamp;
use agent_world_core::audit::{Actor, Answer as Said, Entry, Statistics, What};
use agent_world_core::command::{Answer, AnswerApproval, Claims, Command, Scope as Reach};
use agent_world_core::event::Outcome;
use agent_world_core::ids::{ApprovalId, WorldId};
use agent_world_core::item::{Item, Reply};
use agent_world_store::verify::{Broken, compare_read_models, verify_world};
use agent_world_store::{AuditFilter, AuditPage, Audited, Store};
use rusqlite::Connection;
use serde_json::json;

use crate::backend::{Backend, OnDisk, on_every_store};
use crate::teller::{Teller, change, create_world};

on_every_store!(
    a_call_is_told_of_from_its_verdict_to_its_outcome,
    who_decided_is_told_also_where_a_permission_did,
    secrets_are_not_in_the_audit,
    changes_of_a_world_are_told_of,
    every_filter_narrows_and_pages_go_both_ways,
    the_audit_outlives_its_world,
    statistics_count_by_tool_and_agent,
    a_call_that_was_not_valid_is_told_of_as_such,
    copied_history_is_not_told_of_twice,
);

async fn entries(store: &dyn Store, filter: &AuditFilter) -> Vec<Audited> {
    store.audit(filter, AuditPage::After(0, 1_000)).await.unwrap()
}

async fn of_chat(teller: &Teller) -> Vec<Entry> {
    let filter = AuditFilter { chat: Some(teller.id()), ..AuditFilter::default() };
    entries(&*teller.store, &filter).await.into_iter().map(|audited| audited.entry).collect()
}

fn kinds(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.what.kind()).collect()
}

async fn deny(teller: &mut Teller, approval: &ApprovalId, reason: &str) {
    let answer = AnswerApproval {
        approval: approval.clone(),
        answer: Answer::Deny { reason: Some(reason.to_owned()) },
        by: "bea".to_owned(),
        claims: Claims::default(),
        look: None,
    };
    teller.tell(Command::AnswerApproval(answer)).await.unwrap();
}

async fn a_call_is_told_of_from_its_verdict_to_its_outcome(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("hello").await;
    let told = of_chat(&teller).await;
    assert_eq!(kinds(&told), ["called", "requested", "decided", "started", "finished"]);
    let call = told[0].call.clone();
    for entry in &told {
        assert_eq!((entry.world.as_str(), &entry.chat), ("w", &Some(teller.id())));
        assert_eq!(entry.agent, Some("ada".into()));
        assert_eq!(entry.tool.as_deref(), Some("shell"));
        assert_eq!(entry.call, call);
        assert_eq!(entry.approval.is_some(), entry.what.kind() != "called");
    }
    let What::Called { arguments, verdict: Some(_), .. } = &told[0].what else { panic!() };
    assert_eq!(*arguments, json!({"command": "ls"}));
    let What::Requested { question, bound_to, .. } = &told[1].what else { panic!() };
    assert_eq!(question, "ada wants to run shell");
    assert!(bound_to.arguments.as_ref().unwrap().starts_with("sha256:"));
    let What::Decided { decision, scope, edited_arguments, .. } = &told[2].what else { panic!() };
    assert_eq!((*decision, *scope, edited_arguments), (Said::Approved, Some(Reach::Once), &None));
    assert_eq!(told[2].actor, Actor::Person("ann".to_owned()));
    assert_eq!(told[3].what, What::Started { attempt: 1, facts: Default::default() });
    let What::Finished { outcome, duration_ms, error, .. } = &told[4].what else { panic!() };
    assert_eq!((*outcome, error), (Outcome::Completed, &None));
    let took = told[4].at.as_millisecond() - told[3].at.as_millisecond();
    assert_eq!(duration_ms.map(i64::try_from), Some(Ok(took)));
    // Each stands where its event stands.
    let filter = AuditFilter { chat: Some(teller.id()), ..AuditFilter::default() };
    for audited in entries(&*store, &filter).await {
        let event = store
            .events(&agent_world_store::Scope::All, audited.position - 1, 1)
            .await
            .unwrap()
            .remove(0);
        assert_eq!((event.position, event.sealed.at), (audited.position, audited.entry.at));
    }
    compare_read_models(&*store, &teller.id()).await.unwrap();
    verify_world(&*store, &world.id).await.unwrap();
}

async fn who_decided_is_told_also_where_a_permission_did(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let calls = ["ls", "ls", "rm"]
        .map(|command| Item::call(command, "shell", &json!({"command": command})));
    teller.reply(Reply::of(calls.to_vec())).await;
    let waiting: Vec<ApprovalId> = teller.chat.approvals.keys().cloned().collect();
    teller.approve(&waiting[0], Reach::Session).await;
    deny(&mut teller, &waiting[2], "not\nhere").await;
    let told = of_chat(&teller).await;
    let decided: Vec<&Entry> = told.iter().filter(|one| one.what.kind() == "decided").collect();
    assert_eq!(decided.len(), 3);
    assert_eq!(decided[0].actor, Actor::Person("ann".to_owned()));
    assert_eq!(decided[1].actor, Actor::Grant("ann".to_owned()));
    assert_eq!(decided[2].actor, Actor::Person("bea".to_owned()));
    let grant = teller.chat.grants.keys().next().unwrap().clone();
    assert_eq!(decided[0].rule.as_deref(), Some(grant.as_str()));
    assert_eq!(decided[1].rule, decided[0].rule);
    let What::Decided { decision: Said::Denied, reason, .. } = &decided[2].what else { panic!() };
    assert_eq!(reason.as_deref(), Some("not"));
    teller.tell(Command::RevokeGrant { grant: grant.clone(), by: "cid".into() }).await.unwrap();
    let last = of_chat(&teller).await.pop().unwrap();
    assert_eq!(last.what, What::GrantRevoked);
    assert_eq!(last.actor, Actor::Person("cid".to_owned()));
    assert_eq!((last.rule.as_deref(), last.tool.as_deref()), (Some(grant.as_str()), Some("shell")));
    compare_read_models(&*store, &teller.id()).await.unwrap();
    let by_ann = AuditFilter { actor: Some("ann".to_owned()), ..AuditFilter::default() };
    assert_eq!(entries(&*store, &by_ann).await.len(), 2);
}

async fn secrets_are_not_in_the_audit(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("curl --token sk-abcdefghijklmnop1234567890 http://x").await;
    deny(&mut teller, &approval, "sk-abcdefghijklmnop1234567890 is mine").await;
    let told = of_chat(&teller).await;
    assert!(!format!("{told:?}").contains("sk-abcdef"), "{told:?}");
    let What::Requested { bound_to, .. } = &told[1].what else { panic!("{told:?}") };
    assert_eq!(bound_to.arguments, None, "nor can one be guessed from a digest");
}

async fn changes_of_a_world_are_told_of(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    teller.approve(&approval, Reach::Always).await;
    let rule = teller.world.policy.granted[0].id.clone();
    store.revoke_rule(&world.id, &rule, change("rule", "deleted", rule.as_str())).await.unwrap();
    let changed = AuditFilter { kind: Some("changed".to_owned()), ..AuditFilter::default() };
    let told = entries(&*store, &changed).await;
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].entry.rule.as_deref(), Some(rule.as_str()));
    assert_eq!(told[1].entry.actor, Actor::Person("tester".to_owned()));
    let what = What::Changed {
        entity: "rule".to_owned(),
        action: "deleted".to_owned(),
        id: rule.to_string(),
    };
    assert_eq!(told[1].entry.what, what);
    verify_world(&*store, &world.id).await.unwrap();
}

async fn every_filter_narrows_and_pages_go_both_ways(backend: impl Backend) {
    let store = backend.store();
    let (first, second) = (create_world(&*store, "a").await, create_world(&*store, "b").await);
    let mut one = Teller::begin(store.clone(), &first).await;
    let mut two = Teller::begin(store.clone(), &second).await;
    one.exchange("hello").await;
    two.exchange("hello").await;
    one.exchange("again").await;
    let all = entries(&*store, &AuditFilter::default()).await;
    assert_eq!(all.len(), 2 + 3 * 5);
    assert!(all.windows(2).all(|pair| pair[0].position < pair[1].position));
    let call = all.iter().find_map(|audited| audited.entry.call.clone()).unwrap();
    let middle = all[9].entry.at;
    let none = AuditFilter::default;
    let narrowed = [
        AuditFilter { world: Some(first.id.clone()), ..none() },
        AuditFilter { chat: Some(two.id()), ..none() },
        AuditFilter { agent: Some("ada".into()), ..none() },
        AuditFilter { tool: Some("shell".to_owned()), ..none() },
        AuditFilter { call: Some(call), ..none() },
        AuditFilter { kind: Some("decided".to_owned()), ..none() },
        AuditFilter { actor: Some("ann".to_owned()), ..none() },
        AuditFilter { since: Some(middle), ..none() },
        AuditFilter { until: Some(middle), ..none() },
        AuditFilter {
            world: Some(first.id.clone()),
            tool: Some("shell".to_owned()),
            since: Some(middle),
            kind: Some("finished".to_owned()),
            ..none()
        },
    ];
    let expected = [11, 5, 15, 15, 5, 3, 3, 8, 9, 1];
    for (filter, expected) in narrowed.iter().zip(expected) {
        let whole = entries(&*store, filter).await;
        assert_eq!(whole.len(), expected, "{filter:?}");
        let mut forwards: Vec<Audited> = Vec::new();
        loop {
            let after = forwards.last().map_or(0, |last| last.position);
            let page = store.audit(filter, AuditPage::After(after, 2)).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= 2);
            forwards.extend(page);
        }
        assert_eq!(forwards, whole, "{filter:?}");
        let mut backwards: Vec<Audited> = Vec::new();
        loop {
            let before = backwards.first().map(|first| first.position);
            let mut page = store.audit(filter, AuditPage::Before(before, 2)).await.unwrap();
            if page.is_empty() {
                break;
            }
            page.extend(std::mem::take(&mut backwards));
            backwards = page;
        }
        assert_eq!(backwards, whole, "{filter:?}");
    }
    let nobody = AuditFilter { actor: Some("nobody".to_owned()), ..none() };
    assert_eq!(entries(&*store, &nobody).await, []);
    let never = AuditFilter { since: Some(Timestamp::MAX), ..none() };
    assert_eq!(entries(&*store, &never).await, []);
}

async fn the_audit_outlives_its_world(mut backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("hello").await;
    let filter = AuditFilter { world: Some(world.id.clone()), ..AuditFilter::default() };
    let before = entries(&*store, &filter).await;
    let counted = store.statistics(Some(&world.id)).await.unwrap();
    store.delete_world(&world.id, change("world", "deleted", "w")).await.unwrap();
    drop((store, teller));
    backend.restart();
    let store = backend.store();
    let after = entries(&*store, &filter).await;
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(store.statistics(Some(&world.id)).await.unwrap(), counted);
    verify_world(&*store, &world.id).await.unwrap();
    let again = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &again).await;
    teller.exchange("hello").await;
    verify_world(&*store, &world.id).await.unwrap();
    assert_eq!(entries(&*store, &filter).await.len(), after.len() + 6);
}

async fn statistics_count_by_tool_and_agent(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let other = create_world(&*store, "x").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    assert_eq!(store.statistics(None).await.unwrap(), []);
    teller.exchange("hello").await;
    teller.exchange("again").await;
    teller.say("no").await.unwrap();
    let approval = teller.call_shell("rm").await;
    deny(&mut teller, &approval, "no").await;
    teller.reply(Reply::of(vec![Item::call("v", "nothing", &json!({}))])).await;
    Teller::begin(store.clone(), &other).await.exchange("hello").await;
    let told = of_chat(&teller).await;
    let counted = store.statistics(Some(&world.id)).await.unwrap();
    let [nothing, shell] = counted.as_slice() else { panic!("{counted:?}") };
    assert_eq!((nothing.tool.as_str(), nothing.calls), ("nothing", 1));
    assert_eq!(nothing.outcomes, [("failed".to_owned(), 1)].into());
    assert_eq!((nothing.runs, nothing.mean_ms()), (0, None));
    let Statistics { calls, asked, approved, denied, expired, runs, .. } = *shell;
    assert_eq!((calls, asked, approved, denied, expired, runs), (3, 3, 2, 1, 0, 2));
    assert_eq!(shell.outcomes, [("completed".to_owned(), 2), ("denied".to_owned(), 1)].into());
    let took: Vec<u64> = told
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Finished { duration_ms, .. } => *duration_ms,
            _ => None,
        })
        .collect();
    assert_eq!(shell.total_ms, took.iter().sum::<u64>());
    assert_eq!(Some(shell.longest_ms), took.iter().max().copied());
    assert_eq!(shell.mean_ms(), Some(shell.total_ms / 2));
    assert_eq!((shell.first, shell.agent.as_str()), (told[0].at, "ada"));
    assert!(shell.last > shell.first);
    let worlds: Vec<WorldId> =
        store.statistics(None).await.unwrap().into_iter().map(|sums| sums.world).collect();
    assert_eq!(worlds, ["w".into(), "w".into(), "x".into()]);
}

async fn a_call_that_was_not_valid_is_told_of_as_such(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    teller.reply(Reply::of(vec![Item::call("v", "client.askMe", &json!({"a": 1}))])).await;
    let told = of_chat(&teller).await;
    assert_eq!(kinds(&told), ["called", "finished"]);
    assert!(matches!(&told[0].what, What::Called { verdict: None, .. }));
    let What::Finished { outcome, error: Some(error), .. } = &told[1].what else { panic!() };
    assert_eq!(*outcome, Outcome::Failed);
    assert!(error.contains("not for models"), "{error}");
}

async fn copied_history_is_not_told_of_twice(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("hello").await;
    let mut fork = Teller::unborn(store.clone(), &world);
    fork.begin_fork_of(&teller).await;
    assert_eq!(store.calls(&fork.id(), None, 10).await.unwrap().len(), 1);
    assert_eq!(of_chat(&fork).await, []);
    compare_read_models(&*store, &fork.id()).await.unwrap();
}

/// Brings a file back to what the first program that wrote one left.
fn as_of_the_first_schema(backend: &mut OnDisk) {
    backend.close();
    let connection = Connection::open(backend.path()).unwrap();
    connection
        .execute_batch(
            "DROP TABLE audit; DROP TABLE result_pieces; DROP TABLE results;
             DROP TABLE documents; ALTER TABLE events DROP COLUMN glance;
             UPDATE meta SET schema = 1;",
        )
        .unwrap();
}

#[tokio::test]
async fn a_store_from_before_the_audit_gets_it_from_its_log() {
    let mut backend = OnDisk::empty();
    let store = backend.store();
    let gone = create_world(&*store, "gone").await;
    Teller::begin(store.clone(), &gone).await.exchange("lost").await;
    store.delete_world(&gone.id, change("world", "deleted", "gone")).await.unwrap();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.snapshot = true;
    for text in ["one", "two", "three"] {
        teller.exchange(text).await;
    }
    let filter = AuditFilter { world: Some(world.id.clone()), ..AuditFilter::default() };
    let before = entries(&*store, &filter).await;
    let (chat, world) = (teller.id(), world.id);
    drop((store, teller));
    as_of_the_first_schema(&mut backend);
    backend.restart();
    let store = backend.store();
    assert_eq!(entries(&*store, &filter).await, before);
    compare_read_models(&*store, &chat).await.unwrap();
    verify_world(&*store, &world).await.unwrap();
    // Of a world that was gone by then only its own log was left.
    verify_world(&*store, &gone.id).await.unwrap();
    store.keep_result(&world, "long".to_owned()).await.unwrap();
}

#[tokio::test]
async fn a_log_that_cannot_be_read_does_not_keep_an_older_store_from_opening() {
    let mut backend = OnDisk::empty();
    let world = create_world(&*backend.store(), "w").await;
    let mut teller = Teller::begin(backend.store(), &world).await;
    teller.exchange("hello").await;
    let chat = teller.id();
    drop(teller);
    as_of_the_first_schema(&mut backend);
    let connection = Connection::open(backend.path()).unwrap();
    let spoil = "UPDATE events SET payload = 'x' WHERE kind = 'tool_started'";
    assert_eq!(connection.execute(spoil, []).unwrap(), 1);
    backend.restart();
    let filter = AuditFilter { chat: Some(chat.clone()), ..AuditFilter::default() };
    assert_eq!(entries(&*backend.store(), &filter).await.len(), 3);
    let found = agent_world_store::verify::verify(&*backend.store(), &chat).await;
    assert!(matches!(found, Err(Broken::Log { .. })));
}

async fn told() -> (OnDisk, Teller) {
    let backend = OnDisk::empty();
    let world = create_world(&*backend.store(), "w").await;
    let mut teller = Teller::begin(backend.store(), &world).await;
    teller.exchange("hello").await;
    (backend, teller)
}

#[tokio::test]
async fn the_file_refuses_to_change_or_remove_an_entry() {
    let (backend, _) = told().await;
    let connection = Connection::open(backend.path()).unwrap();
    for sql in ["UPDATE audit SET actor = 'eve'", "DELETE FROM audit WHERE kind = 'decided'"] {
        let refused = connection.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("the audit is never"), "{refused}");
    }
}

#[tokio::test]
async fn an_edited_audit_is_found() {
    let edits = [
        "UPDATE audit SET document = replace(document, 'ann', 'eve') WHERE kind = 'decided'",
        "UPDATE audit SET agent = 'eve' WHERE kind = 'decided'",
        "UPDATE audit SET document = replace(document, 'tester', 'eve') WHERE chat IS NULL",
        "UPDATE audit SET result = 'failed' WHERE kind = 'finished'",
        "UPDATE audit SET duration = 0 WHERE kind = 'finished'",
        "UPDATE audit SET chat = 'chat_none' WHERE kind = 'decided'",
        "DELETE FROM audit WHERE kind = 'decided'",
        "DELETE FROM audit WHERE chat IS NULL",
        "INSERT INTO audit (position, at, kind, world, chat, document)
         SELECT 1000, at, kind, world, chat, document FROM audit WHERE kind = 'decided'",
        "INSERT INTO audit (position, at, kind, world, chat, document)
         SELECT 1000, at, kind, world, 'chat_none', document FROM audit WHERE kind = 'decided'",
    ];
    for sql in edits {
        let (backend, teller) = told().await;
        let connection = Connection::open(backend.path()).unwrap();
        connection
            .execute_batch(
                "DROP TRIGGER audit_is_never_edited; DROP TRIGGER audit_is_never_removed",
            )
            .unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
        let store = backend.store();
        let of_chat = compare_read_models(&*store, &teller.id()).await;
        let of_world = verify_world(&*store, &teller.world.id).await;
        let by_chat = matches!(of_chat, Err(Broken::ReadModel { model: "audit", .. }));
        let by_world = matches!(of_world, Err(Broken::Audit { .. }));
        assert!(by_chat || by_world, "{sql}: {of_chat:?} {of_world:?}");
    }
}

#[tokio::test]
async fn entries_and_statistics_are_found_by_index() {
    let (backend, _) = told().await;
    let connection = Connection::open(backend.path()).unwrap();
    let plan = |sql: &str| -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for column in ["world", "chat", "call", "agent", "tool", "actor"] {
        let found = plan(&format!(
            "SELECT document FROM audit WHERE {column} = 'x' AND +kind = 'y' AND position > 5
             ORDER BY position LIMIT 10"
        ));
        assert!(found.contains(&format!("USING INDEX audit_of_{column}")), "{found}");
        assert!(!found.contains("TEMP B-TREE"), "{found}");
    }
    let found = plan(
        "SELECT world, tool, agent, kind, result, count(*), sum(duration), min(at) FROM audit
         WHERE kind IN ('called', 'requested', 'decided', 'expired', 'finished')
             AND tool IS NOT NULL AND agent IS NOT NULL AND world = 'x'
         GROUP BY world, tool, agent, kind, result",
    );
    assert!(found.contains("COVERING INDEX audit_counted"), "{found}");
    assert!(!found.contains("TEMP B-TREE"), "{found}");
}
