//! Scenes in which somebody follows what a tool writes while it runs.

use std::sync::Arc;

use agent_world_core::event::Output;
use agent_world_runtime::FeedItem;
use agent_world_store::Scope;
use agent_world_tools::scripted::Scripted;
use agent_world_tools::watcher::Channel;

use crate::props::{call, free, gate};
use crate::stage::{Backend, Setup, on_both_stores};

on_both_stores!(what_a_tool_writes_is_seen_before_it_ends);

async fn what_a_tool_writes_is_seen_before_it_ends(backend: Backend) {
    let held = gate();
    let tool = {
        let held = Arc::clone(&held);
        Scripted::new(free("act"), move |invocation| {
            let held = Arc::clone(&held);
            async move {
                invocation.watcher.wrote(Channel::Stdout, "half way");
                held.acquire().await.unwrap().forget();
                Ok(Output::text("all the way"))
            }
        })
    };
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let other = stage.new_chat().await;
    let position = stage.store.position().await.unwrap();
    let mut here = stage.engine.subscribe(Scope::Chat(stage.chat.clone()), position);
    let mut elsewhere = stage.engine.subscribe(Scope::Chat(other.clone()), position);
    stage.model.push("ada", call("act", "it"));
    stage.say("go").await;
    let output = loop {
        if let Some(FeedItem::Output(output)) = here.next().await.unwrap() {
            break output;
        }
    };
    assert_eq!((output.channel, output.text.as_str()), (Channel::Stdout, "half way"));
    assert_eq!(output.call, stage.calls().await[0].id);
    held.add_permits(1);
    stage.idle().await;
    stage.say_in(&other, "and here").await;
    let next = elsewhere.next().await.unwrap().unwrap();
    assert!(matches!(next, FeedItem::Stored(_)), "{next:?}");
}
