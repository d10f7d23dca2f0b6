//! Texts as HTML over HTTP: in messages, where it is asked for, and before anything is stored.

use agent_world_runtime::llm::scripted::Answer;
use serde_json::{Value, json};

use super::stage::Stage;

#[tokio::test]
async fn messages_have_html_where_it_is_asked_for() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("# Yes\n\n<img src=x onerror=alert(1)>"));
    stage.say("@ada *well*?").await;
    stage.idle().await;
    let plain = stage.human.get(&stage.at("messages")).await.ok(200);
    assert!(plain["data"].as_array().unwrap().iter().all(|message| message.get("html").is_none()));
    let page = stage.human.get(&stage.at("messages?render=html")).await.ok(200);
    let html = |index: usize| page["data"][index]["html"].clone();
    let asked = "<p dir=\"auto\"><span class=\"mention\">@ada</span> <em>well</em>?</p>";
    assert_eq!(html(0), json!([asked]));
    let answered = [
        "<h1 dir=\"auto\">Yes</h1>",
        "<p class=\"raw\" dir=\"auto\">&lt;img src=x onerror=alert(1)&gt;</p>",
    ];
    assert_eq!(html(1), json!(answered));
    let backwards = stage.human.get(&stage.at("messages?render=html&before=")).await.ok(200);
    assert_eq!(backwards["data"], page["data"]);
    stage.human.get(&stage.at("messages?render=text")).await.problem(422, "query_invalid");
}

#[tokio::test]
async fn a_text_can_be_looked_at_before_it_is_stored() {
    let stage = Stage::open().await;
    let ask = async |body: Value| stage.human.post("/api/render", body).await;
    let shown = ask(json!({"text": "Ask @bob.\n\n> now", "world": "w"})).await.ok(200);
    let expected = [
        "<p dir=\"auto\">Ask <span class=\"mention\">@bob</span>.</p>",
        "<blockquote><p dir=\"auto\">now</p></blockquote>",
    ];
    assert_eq!(shown, json!({ "html": expected }));
    assert_eq!(ask(json!({"text": ""})).await.ok(200), json!({"html": []}));
    let long = ask(json!({"text": "a ".repeat(500_000)})).await.ok(200);
    assert!(long["html"].as_array().unwrap().len() > 10);
    ask(json!({"text": "a".repeat(1024 * 1024 + 1)})).await.problem(422, "text_too_long");
    ask(json!({"text": "a", "style": "b"})).await.problem(422, "body_invalid");
}
