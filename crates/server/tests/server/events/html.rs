//! Texts as HTML on event streams: for those who ask for it, also in the middle of a reply, beside those who do not.

use std::sync::Arc;

use agent_world_runtime::llm::scripted::Answer;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::reader::{Frame, Reader};
use super::stage::{Backend, Stage, perform};

/// The next that tells something.
async fn told(reader: &mut Reader) -> Frame {
    loop {
        let frame = reader.next().await.unwrap();
        if !frame.data.is_empty() {
            return frame;
        }
    }
}

/// What a page shows of a reply: the blocks as it was told of them, and the message's own at the end.
async fn shown(mut reader: Reader) -> (Vec<String>, Vec<String>) {
    let mut blocks: Vec<String> = Vec::new();
    loop {
        let frame = told(&mut reader).await;
        let event = frame.json();
        let data = &event["data"];
        if frame.event == "stream" && data["phase"] == "chunk" {
            if data["offset"] == 0 {
                blocks.clear();
            }
            for block in data["blocks"].as_array().expect("blocks were asked for") {
                let index = usize::try_from(block["index"].as_u64().unwrap()).unwrap();
                if blocks.len() <= index {
                    blocks.resize(index + 1, String::new());
                }
                blocks[index] = block["html"].as_str().unwrap().to_owned();
            }
        }
        if frame.event == "message" && data["role"] == "assistant" {
            let html = data["html"].as_array().expect("html was asked for").iter();
            let html = html.map(|block| block.as_str().unwrap().to_owned()).collect();
            while blocks.last().is_some_and(String::is_empty) {
                blocks.pop();
            }
            return (blocks, html);
        }
    }
}

fn reply() -> String {
    let part = "# Plan\n\nFirst *this*, then @ada.\n\n- one\n- two\n\n<script>alert(1)</script>\n\n```rust\nlet a = 1;\n```\n\n";
    format!("{}The end.", part.repeat(6))
}

#[test]
fn whoever_joins_in_the_middle_sees_the_same_blocks() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &["ada"], Vec::new()).await;
        let end = Arc::new(Semaphore::new(0));
        stage.model.push("ada", Answer::text(reply()).in_chunks(7).ended_by(&end));
        let mut listeners = Vec::new();
        let html = |topic: &str| format!("{topic}?render=html");
        listeners.push(tokio::spawn(shown(stage.follow(&html(&stage.topic())).await)));
        stage.say("speak").await;
        stage.model.received(1).await;
        for index in 0..30 {
            let topic = html(&stage.topics()[index % 3]);
            listeners.push(tokio::spawn(shown(stage.follow(&topic).await)));
        }
        end.add_permits(1);
        for (index, listener) in listeners.into_iter().enumerate() {
            let (blocks, html) = listener.await.unwrap();
            // Whoever still read the log when the reply ended was told of the message alone.
            if index == 0 || !blocks.is_empty() {
                assert_eq!(blocks, html);
            }
            let whole = html.concat();
            assert!(whole.contains("<span class=\"mention\">@ada</span>"), "{whole}");
            assert!(whole.contains("&lt;script&gt;") && !whole.contains("<script"), "{whole}");
            assert_eq!(html.last().unwrap(), "<p dir=\"auto\">The end.</p>");
        }
    });
}

#[test]
fn who_does_not_ask_for_it_gets_what_was_told_before() {
    perform(async {
        let stage = Stage::open(Backend::Sqlite, &["ada"], Vec::new()).await;
        let mut plain = stage.follow(&stage.topic()).await;
        let mut html = stage.follow(&format!("{}?render=html", stage.topic())).await;
        stage.model.push("ada", Answer::text("**yes**").in_chunks(3));
        stage.say("well?").await;
        loop {
            let (one, other) = (told(&mut plain).await, told(&mut html).await);
            assert_eq!((&one.event, &one.id), (&other.event, &other.id));
            let (one, mut other) = (one.json(), other.json());
            let is_done = other["data"]["html"].is_array() && other["data"]["role"] == "assistant";
            if one["type"] == "message" {
                assert!(other["data"]["html"].is_array(), "{other}");
            }
            if let Value::Object(data) = &mut other["data"] {
                data.shift_remove("html");
                data.shift_remove("blocks");
            }
            assert_eq!(one, other);
            if is_done {
                break;
            }
        }
    });
}

#[test]
fn a_page_of_events_tells_the_same_as_the_stream() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &["ada"], Vec::new()).await;
        stage.model.push("ada", Answer::text("`code`"));
        stage.say("@ada well?").await;
        let topic = format!("{}?render=html", stage.topic());
        let (_, html) = shown(stage.follow(&topic).await).await;
        assert_eq!(html, ["<p dir=\"auto\"><code dir=\"ltr\">code</code></p>"]);
        let address = format!("{topic}&types=message");
        let page: Value = stage.host.get(&address).send().await.unwrap().json().await.unwrap();
        let texts: Vec<&Value> = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| &event["data"]["html"][0])
            .collect();
        let asked = "<p dir=\"auto\"><span class=\"mention\">@ada</span> well?</p>";
        assert_eq!(texts, [asked, "<p dir=\"auto\"><code dir=\"ltr\">code</code></p>"]);
    });
}
