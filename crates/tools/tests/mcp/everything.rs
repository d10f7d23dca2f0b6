//! `server-everything` over stdio: every kind of content and request, cancelled, killed and changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_core::binding::Facts;
use agent_world_core::config::Source as ToolSource;
use agent_world_tools::mcp::State;
use agent_world_tools::person::Answer;
use agent_world_tools::{Failure, Source};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stage::{
    Answering, Recording, Stage, installed, invocation, is_failed, is_ready, kill, marker, of_npm,
    processes, until_gone, words,
};

async fn everything(case: &str) -> Option<(Stage, String)> {
    let folder = installed(case)?;
    let marker = marker(case);
    let settings = of_npm(&folder, "server-everything", &["stdio", &marker]);
    Some((Stage::new(&[("every", settings)]).ready().await, marker))
}

#[tokio::test(flavor = "multi_thread")]
async fn its_tools_are_listed_and_called_and_it_ends_with_the_source() {
    let Some((stage, marker)) = everything("listed").await else { return };
    let health = stage.only();
    let State::Ready(ready) = &health.state else { panic!("{health:?}") };
    assert_eq!(ready.server_name, "mcp-servers/everything");
    assert_eq!(ready.tools, stage.names().len());
    assert!(ready.protocol_version.starts_with("2025-"), "{ready:?}");
    let spec = stage.tool("every.echo").spec();
    assert_eq!(spec.source, ToolSource::McpServer("every".to_owned()));
    assert!(spec.approval.required && spec.destructive && !spec.read_only);
    let output = stage.call("every.echo", json!({"message": "hi"})).await.unwrap();
    assert_eq!(output.text, "Echo: hi");
    assert!(Arc::ptr_eq(&stage.servers.tools(&stage.world), &stage.servers.tools(&stage.world)));
    stage.servers.close().await;
    until_gone(&marker).await;
    assert!(stage.servers.tools(&stage.world).specs().iter().next().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_source_leaves_no_process() {
    let Some((stage, marker)) = everything("dropped").await else { return };
    assert_eq!(processes(&marker).len(), 1);
    drop(stage);
    until_gone(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_call_fails_with_the_servers_words() {
    let Some((stage, _)) = everything("failing").await else { return };
    let failure = stage.call("every.get-sum", json!({"a": "one", "b": 2})).await;
    let text = words(failure);
    assert!(text.contains("nvalid"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn images_structured_content_and_resources_are_kept() {
    let Some((stage, _)) = everything("content").await else { return };
    let image = stage.call("every.get-tiny-image", json!({})).await.unwrap();
    assert!(image.text.contains("[image/png, "), "{}", image.text);
    assert_eq!(image.details["data"][0]["mime_type"], "image/png");
    let weather = stage.call("every.get-structured-content", json!({"location": "Chicago"})).await;
    let weather = weather.unwrap();
    assert_eq!(weather.details["structured"]["temperature"], 36);
    assert!(weather.text.contains("36"), "{}", weather.text);
    let links = stage.call("every.get-resource-links", json!({"count": 2})).await.unwrap();
    assert!(links.text.contains("[resource link "), "{}", links.text);
    let arguments = json!({"resourceType": "Text", "resourceId": 1});
    let resource = stage.call("every.get-resource-reference", arguments).await.unwrap();
    assert!(resource.text.contains("[resource demo://"), "{}", resource.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_harmless_variables_reach_it() {
    let Some(folder) = installed("environment") else { return };
    let mut settings = of_npm(&folder, "server-everything", &["stdio"]);
    settings["env"] = json!({"OWN": "${SECRET_OF_PARENT}-own"});
    let mut options = super::stage::options();
    options.environment.push(("SECRET_OF_PARENT".into(), "s3cret".into()));
    options.environment.push(("ANOTHER_KEY".into(), "not-for-children".into()));
    let stage = Stage::with(options, &[("every", settings)]).ready().await;
    let text = stage.call("every.get-env", json!({})).await.unwrap().text;
    assert!(text.contains("s3cret-own") && text.contains("PATH"), "{text}");
    assert!(!text.contains("not-for-children") && !text.contains("SECRET_OF_PARENT"), "{text}");
    assert!(!text.contains("CARGO"), "{text}");
    for shown in [format!("{:?}", stage.servers), format!("{:?}", stage.health())] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown_while_a_call_runs() {
    let Some((stage, _)) = everything("progress").await else { return };
    let watcher = Arc::new(Recording::default());
    let mut call = invocation(json!({"duration": 0.3, "steps": 3}));
    call.watcher = watcher.clone();
    stage.run("every.trigger-long-running-operation", call).await.unwrap();
    let seen = watcher.seen.lock().unwrap().clone();
    // What arrives together with the result may be left out.
    assert!(seen.starts_with(&["1 of 3".to_owned(), "2 of 3".to_owned()]), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_cancelled_in_the_middle_and_the_server_goes_on() {
    let Some((stage, marker)) = everything("cancelled").await else { return };
    let watcher = Arc::new(Recording::default());
    let cancelled = CancellationToken::new();
    let mut call = invocation(json!({"duration": 600, "steps": 6000}));
    call.watcher = watcher.clone();
    call.cancelled = cancelled.clone();
    let start = Instant::now();
    let cancelling = async {
        watcher.something.notified().await;
        cancelled.cancel();
    };
    let (result, ()) =
        tokio::join!(stage.run("every.trigger-long-running-operation", call), cancelling);
    assert!(words(result).contains("cancelled"));
    assert!(start.elapsed() < Duration::from_secs(30));
    stage.call("every.echo", json!({"message": "still here"})).await.unwrap();
    assert_eq!(processes(&marker).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_its_time_and_no_more() {
    let Some(folder) = installed("time") else { return };
    let mut settings = of_npm(&folder, "server-everything", &["stdio"]);
    settings["timeout_seconds"] = json!(1);
    let stage = Stage::new(&[("every", settings)]).ready().await;
    let arguments = json!({"duration": 600, "steps": 2});
    let result = stage.call("every.trigger-long-running-operation", arguments).await;
    assert!(matches!(&result, Err(Failure::TimedOut(_))), "{result:?}");
    assert!(words(result).contains("did not answer within 1 s"));
    stage.call("every.echo", json!({"message": "still here"})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_killed_fails_its_call_clearly_and_comes_back() {
    let Some((stage, marker)) = everything("killed").await else { return };
    let watcher = Arc::new(Recording::default());
    let mut call = invocation(json!({"duration": 600, "steps": 6000}));
    call.watcher = watcher.clone();
    let killing = async {
        watcher.something.notified().await;
        for pid in processes(&marker) {
            kill(pid);
        }
        stage.until(|health| health.last_error.is_some()).await
    };
    let (result, dead) =
        tokio::join!(stage.run("every.trigger-long-running-operation", call), killing);
    let text = words(result);
    assert!(text.contains("MCP server `every`") && text.contains("may or may not"), "{text}");
    let problem = dead.last_error.unwrap();
    assert!(problem.error.contains("signal: 9"), "{problem:?}");
    stage.until(is_ready).await;
    stage.call("every.echo", json!({"message": "back"})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_is_down_its_calls_say_so_and_others_go_on() {
    let Some(folder) = installed("down") else { return };
    let marker = marker("down");
    let mut options = super::stage::options();
    options.first_delay = Duration::from_secs(3600);
    options.longest_delay = Duration::from_secs(7200);
    let dying = of_npm(&folder, "server-everything", &["stdio", &marker]);
    let other = of_npm(&folder, "server-everything", &["stdio"]);
    let stage = Stage::with(options, &[("a", other), ("b", dying)]).ready().await;
    kill(processes(&marker)[0]);
    let failed = stage.until(is_failed).await;
    let State::Failed { next_attempt, .. } = failed.state else { panic!() };
    assert!(next_attempt.is_some());
    let text = words(stage.call("b.echo", json!({"message": "?"})).await);
    assert!(
        text.contains("MCP server `b` is not running") && text.contains("started again at"),
        "{text}"
    );
    stage.call("a.echo", json!({"message": "here"})).await.unwrap();
    stage.servers.restart(&stage.world.id, "b").unwrap();
    stage.until(is_ready).await;
    stage.call("b.echo", json!({"message": "back"})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_reaches_the_person_of_its_call() {
    let Some((stage, _)) = everything("question").await else { return };
    let person = Answering::new(Answer::Given(json!({"name": "Ada", "check": true})));
    let mut call = invocation(json!({}));
    call.person = person.clone();
    let output = stage.run("every.trigger-elicitation-request", call).await.unwrap();
    assert!(output.text.contains("Ada") && output.text.contains("accept"), "{}", output.text);
    let asked = person.asked.lock().unwrap().clone();
    assert!(asked[0].message.contains("Please provide inputs"), "{asked:?}");
    assert_eq!(asked[0].schema["properties"]["name"]["type"], "string");

    let mut call = invocation(json!({}));
    call.person = Answering::new(Answer::Declined);
    let output = stage.run("every.trigger-elicitation-request", call).await.unwrap();
    assert!(output.text.contains("decline"), "{}", output.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_to_visit_is_shown_whichever_way_it_is_asked_for() {
    let Some((stage, _)) = everything("page").await else { return };
    let url = "http://127.0.0.1:1/visit";
    let page = "https://modelcontextprotocol.io";
    // With an error, the server first wants another page visited, and then to be called again.
    for (error_path, visited) in [(false, vec![url]), (true, vec![page, url])] {
        let person = Answering::new(Answer::Given(json!({})));
        let mut call =
            invocation(json!({"url": url, "elicitationId": "one", "errorPath": error_path}));
        call.person = person.clone();
        let output = stage.run("every.trigger-url-elicitation", call).await.unwrap();
        assert!(output.text.contains("accept"), "{}", output.text);
        let asked = person.asked.lock().unwrap().clone();
        let shown: Vec<&str> = asked.iter().filter_map(|one| one.url.as_deref()).collect();
        assert_eq!(shown, visited);
    }
    let mut call = invocation(json!({"url": url, "elicitationId": "two", "errorPath": true}));
    call.person = Answering::new(Answer::Declined);
    let refused = words(stage.run("every.trigger-url-elicitation", call).await);
    assert!(refused.contains("had to be visited first"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worlds_folder_is_what_it_is_told_of() {
    let Some(folder) = installed("roots") else { return };
    let working = tempfile::tempdir().unwrap();
    let settings = of_npm(&folder, "server-everything", &["stdio"]);
    let mut stage = Stage::new(&[("every", settings)]);
    stage.world.working_directory = Some(working.path().display().to_string());
    let stage = stage.ready().await;
    let output = stage.call("every.get-roots-list", json!({})).await.unwrap();
    assert!(output.text.contains(working.path().to_str().unwrap()), "{}", output.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_start_another_and_a_removed_one_ends() {
    let Some((mut stage, first)) = everything("settings").await else { return };
    let before = stage.servers.tools(&stage.world);
    let second = marker("settings-second");
    let settings =
        of_npm(&installed("settings").unwrap(), "server-everything", &["stdio", &second]);
    stage.world.mcp_servers.insert("every".to_owned(), serde_json::from_value(settings).unwrap());
    let stage = stage.ready().await;
    until_gone(&first).await;
    assert_eq!(processes(&second).len(), 1);
    assert!(!Arc::ptr_eq(&before, &stage.servers.tools(&stage.world)));
    let mut stage = stage;
    stage.world.mcp_servers.clear();
    assert!(stage.names().is_empty());
    until_gone(&second).await;
    assert!(stage.health().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_run_is_what_was_looked_at() {
    let Some((stage, _)) = everything("facts").await else { return };
    let tool = stage.tool("every.echo");
    let call = invocation(json!({"message": "hi"}));
    let prepared = tool.prepare(call.intent()).await.unwrap();
    assert!(prepared.facts["server"].starts_with("every 2."), "{prepared:?}");
    assert!(prepared.facts["tool"].starts_with("sha256:"), "{prepared:?}");
    let mut same = call.clone();
    same.facts = prepared.facts.clone();
    tool.run(same).await.unwrap();
    let mut changed = call;
    changed.facts = prepared.facts;
    changed.facts.insert("tool".to_owned(), "sha256:other".to_owned());
    assert!(words(tool.run(changed).await).contains("its tool changed"));
    assert_ne!(Facts::new(), tool.prepare(invocation(json!({})).intent()).await.unwrap().facts);
}
