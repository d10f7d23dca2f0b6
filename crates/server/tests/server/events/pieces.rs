//! Pieces of replies and of what tools write: live only, and whole for whoever joins in the middle.

use std::sync::Arc;

use agent_world_core::event::Output;
use agent_world_runtime::llm::scripted::Answer;
use agent_world_runtime::tools::scripted::Scripted as Tool;
use agent_world_runtime::tools::watcher::Channel;
use tokio::sync::Semaphore;

use super::reader::Reader;
use super::stage::{Backend, Stage, calls, free, perform};

/// Puts a reply together from its pieces, which must fit without a gap or an overlap, until its end is told.
async fn listen(mut reader: Reader) -> String {
    let mut text = String::new();
    loop {
        let frame = reader.next().await.unwrap();
        if frame.event != "stream" {
            continue;
        }
        let event = frame.json();
        let data = &event["data"];
        match data["phase"].as_str().unwrap() {
            "chunk" => {
                assert!(frame.id.is_none() && event.get("seq").is_none(), "{event}");
                let offset = data["offset"].as_u64().unwrap() as usize;
                assert_eq!(offset, text.chars().count(), "a gap or an overlap");
                text.push_str(data["delta"].as_str().unwrap());
            }
            "end" => return text,
            _ => {}
        }
    }
}

#[test]
fn whoever_joins_in_the_middle_of_a_reply_gets_all_of_it_once() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &["ada"], Vec::new()).await;
        let whole: String = ('a'..='z').cycle().take(3_000).collect();
        let end = Arc::new(Semaphore::new(0));
        stage.model.push("ada", Answer::text(&whole).in_chunks(3).ended_by(&end));
        stage.say("speak").await;
        stage.model.received(1).await;
        let mut listeners = Vec::new();
        for index in 0..60 {
            let topic = &stage.topics()[index % 3];
            listeners.push(tokio::spawn(listen(stage.follow(topic).await)));
        }
        end.add_permits(1);
        for listener in listeners {
            assert_eq!(listener.await.unwrap(), whole);
        }
    });
}

#[test]
fn what_a_tool_writes_is_told_while_it_runs() {
    perform(async {
        let gate = Arc::new(Semaphore::new(0));
        let tool = Tool::new(free("write"), move |invocation| {
            let gate = Arc::clone(&gate);
            async move {
                invocation.watcher.wrote(Channel::Stdout, "half ");
                invocation.watcher.wrote(Channel::Stderr, "done");
                gate.add_permits(1);
                Ok(Output::text("half done"))
            }
        });
        let stage = Stage::open(Backend::Memory, &["ada"], vec![Arc::new(tool)]).await;
        let mut reader = stage.follow(&stage.topic()).await;
        stage.model.push("ada", calls("write", &["it"]));
        stage.say("go").await;
        let mut told = Vec::new();
        while told.len() < 2 {
            let frame = reader.next().await.unwrap();
            if frame.event == "tool" && frame.id.is_none() {
                let data = frame.json()["data"].clone();
                assert_eq!(
                    (&data["state"], &data["phase"]),
                    (&"executing".into(), &"output".into())
                );
                told.push(format!("{} {}", data["channel"], data["delta"]));
            }
        }
        assert_eq!(told, ["\"stdout\" \"half \"", "\"stderr\" \"done\""]);
    });
}
