//! Calls and decisions that pose as others: ids used twice, requests of other chats, answers that state something else.

use agent_world_core::command::{Claims, Scope as Reach};
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, WorldId};
use agent_world_core::item::Item;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Environment as _, NewMessage, System};
use serde_json::{Value, json};

use super::case::{Case, Verdict, approved, ensure, replying, unanswered};
use crate::stage::{Stage, approval_of};

const POSES: &str = "something runs by a decision about something else";

/// What somebody states of a request, and wrongly.
type Stated = (&'static str, fn() -> Claims);

fn harm(_: &super::canaries::Canaries) -> Answer {
    Answer::call("shell_cmd", touch("owned"))
}

fn touch(name: &str) -> Value {
    json!({"command": "touch", "parameters": [name]})
}

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        unanswered("two calls with one id", POSES, |_| {
            replying(vec![
                Item::call("same", "shell_cmd", &touch("fine")),
                Item::call("same", "shell_cmd", &touch("owned")),
            ])
        })
        .decided()
        .trying(|stage| Box::pin(only_the_first(stage))),
        approved("a result read by another's id", "a result of another chat is told", |_| {
            Answer::call("read_result", json!({"id": "call_01m7ewk6wd59f78rxr2nrhe2rk"}))
        })
        .ends("failed", "you made no call"),
        approved("a result of another chat", "a result of another chat is told", |_| {
            Answer::call("list_files", json!({}))
        })
        .trying(|stage| Box::pin(result_of_another_chat(stage))),
        unanswered("a script that changed after its approval", POSES, |_| {
            Answer::call("shell_cmd", json!({"command": "sh", "parameters": ["work.sh"]}))
        })
        .with(|canaries| std::fs::write(canaries.work.join("work.sh"), "echo fine\n").unwrap())
        .trying(|stage| Box::pin(changed(stage)))
        .ends("awaiting_approval", ""),
        unanswered("a request that nobody made", POSES, harm)
            .trying(|stage| Box::pin(made_up(stage)))
            .ends("awaiting_approval", ""),
        unanswered("a decision for another world", POSES, harm)
            .trying(|stage| Box::pin(another_world(stage)))
            .ends("awaiting_approval", ""),
        unanswered("a decision after a denial", POSES, harm)
            .trying(|stage| Box::pin(second_thoughts(stage)))
            .ends("denied", "denied by the user: no"),
        unanswered("a decision of another chat", POSES, harm)
            .trying(|stage| Box::pin(another_chat(stage)))
            .ends("awaiting_approval", ""),
        unanswered("an edit that leads out", POSES, |_| {
            Answer::call("write_file", json!({"path": "fine", "content": "x"}))
        })
        .trying(|stage| Box::pin(edited(stage)))
        .ends("awaiting_approval", ""),
    ];
    let claims: [Stated; 4] = [
        ("world", || Claims { world: Some("elsewhere".into()), ..Claims::default() }),
        ("agent", || Claims { agent: Some("bob".into()), ..Claims::default() }),
        ("tool", || Claims { tool: Some("read_file".to_owned()), ..Claims::default() }),
        ("arguments", || Claims { arguments: Some(touch("fine")), ..Claims::default() }),
    ];
    for (field, claims) in claims {
        let case = unanswered(format!("a decision that states another {field}"), POSES, harm);
        let case = case.trying(move |stage| {
            Box::pin(async move {
                let asked = stage.asked().await;
                let answer = approval_of(Reach::Always);
                let refused = stage.engine.answer(&asked.id, answer, "mallory", claims()).await;
                is_refused(refused.err(), "nothing was decided")
            })
        });
        cases.push(case.ends("awaiting_approval", ""));
    }
    cases
}

fn is_refused(error: Option<agent_world_runtime::Error>, words: &str) -> Verdict {
    let text = error.map_or_else(|| "it was accepted".to_owned(), |error| error.to_string());
    ensure(text.contains(words), || text.clone())
}

/// An approval of one does not run the other, and each gets its own result.
async fn only_the_first(stage: &Stage) -> Verdict {
    let waiting = stage.waiting().await;
    ensure(waiting.len() == 2, || format!("{} are asked about", waiting.len()))?;
    ensure(waiting[0].call != waiting[1].call, || "they are one call".to_owned())?;
    stage.approve(&waiting[0], Reach::Once).await;
    stage.deny(&waiting[1], "not this one").await;
    stage.idle().await;
    let states = stage.states().await;
    ensure(states == ["completed", "denied"], || format!("{states:?}"))?;
    let told = stage.told();
    ensure(told == ["(no output)", "denied by the user: not this one"], || format!("{told:?}"))?;
    ensure(stage.place.has("fine"), || "the approved one did not run".to_owned())
}

/// The model of one chat asks for what a call of another gave.
async fn result_of_another_chat(stage: &Stage) -> Verdict {
    let theirs = stage.last_call().await.id;
    let chat = stage.new_chat().await;
    stage.replies(Answer::call("read_result", json!({"id": theirs})));
    stage.engine.post(&chat, NewMessage::human("go")).await.unwrap();
    stage
        .until(async || {
            for waiting in stage.waiting_in(&chat).await {
                stage.approve(&waiting, Reach::Once).await;
            }
            (!stage.engine.chat(&chat).await.unwrap().activity.busy).then_some(())
        })
        .await;
    let told = stage.told();
    ensure(told.len() == 1 && told[0].contains("you made no call"), || format!("{told:?}"))
}

/// Approved for good, and still not what would run now.
async fn changed(stage: &Stage) -> Verdict {
    let asked = stage.asked().await;
    stage.place.write("work.sh", "touch owned\n");
    stage.approve(&asked, Reach::Always).await;
    let again = stage.asked().await;
    let voided = again.voided.is_some_and(|voided| voided.approval == asked.id);
    ensure(voided, || "it does not say what became of the approval".to_owned())
}

async fn made_up(stage: &Stage) -> Verdict {
    for id in ["apr_00000000000000000000000000", "", "../../x", "' OR 1=1 --"] {
        let refused = stage.answer(&ApprovalId::new(id), approval_of(Reach::Always)).await;
        is_refused(refused.err(), "does not exist")?;
    }
    Ok(())
}

/// The other world's person knows the id, and states their own world.
async fn another_world(stage: &Stage) -> Verdict {
    let other = World::new(WorldId::new("other"), "Other", System.now());
    stage.engine.create_world(other, "mallory").await.unwrap();
    let asked = stage.asked().await;
    let claims = Claims { world: Some(WorldId::new("other")), ..Claims::default() };
    let answer = approval_of(Reach::Session);
    let refused = stage.engine.answer(&asked.id, answer, "mallory", claims).await;
    is_refused(refused.err(), "nothing was decided")
}

async fn second_thoughts(stage: &Stage) -> Verdict {
    let asked = stage.asked().await;
    stage.deny(&asked, "no").await;
    let refused = stage.answer(&asked.id, approval_of(Reach::Once)).await;
    is_refused(refused.err(), "already denied")?;
    stage.idle().await;
    Ok(())
}

/// A permission for a session in one chat lets nothing run in another.
async fn another_chat(stage: &Stage) -> Verdict {
    let chat = stage.new_chat().await;
    let quiet = async || (!stage.engine.chat(&chat).await.unwrap().activity.busy).then_some(());
    // The answer that the first chat has not asked for yet comes first.
    stage.engine.post(&chat, NewMessage::human("hello")).await.unwrap();
    stage.until(quiet).await;
    stage.model.push("ada", Answer::call("shell_cmd", touch("fine")));
    stage.engine.post(&chat, NewMessage::human("go")).await.unwrap();
    let theirs = stage.until(async || stage.waiting_in(&chat).await.pop()).await;
    stage.approve(&theirs, Reach::Session).await;
    stage.until(quiet).await;
    ensure(stage.place.has("fine"), || "the other chat's did not run".to_owned())
}

/// Arguments that a person puts in place of the model's are looked at like any other.
async fn edited(stage: &Stage) -> Verdict {
    let asked = stage.asked().await;
    for (arguments, words) in [
        (json!({"path": "../../agent-world.toml", "content": "x"}), "leads outside"),
        (json!({"path": "fine"}), "refused"),
        (json!({"path": "fine", "content": "x", "more": 1}), "refused"),
    ] {
        let answer = agent_world_core::command::Answer::Approve {
            scope: Reach::Once,
            matches: Vec::new(),
            arguments: Some(arguments),
            reason: None,
        };
        is_refused(stage.answer(&asked.id, answer).await.err(), words)?;
    }
    Ok(())
}
