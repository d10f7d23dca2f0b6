//! Checks that a script answers in order, waits where told and records what it was asked.
//! Time is paused in every test that waits.

use serde_json::json;

use super::*;
use crate::complete;

fn request(model: &str) -> Request {
    Request {
        model: model.to_owned(),
        instructions: String::new(),
        input: vec![Arc::new(Item::user("hello"))],
        tools: Vec::new(),
        stream: true,
        ..Request::default()
    }
}

async fn ask(model: &Scripted, name: &str) -> Result<String, Class> {
    let reply = model.generate(request(name)).await;
    reply.map(|reply| reply.output_text()).map_err(|error| error.class)
}

#[tokio::test]
async fn each_model_name_has_a_queue_of_its_own() {
    let model = Scripted::new();
    model.push("ada", "one").push("bob", "two").push("ada", Answer::failure(Class::Quota, ""));
    assert_eq!(model.unused(), 3);
    assert_eq!(ask(&model, "bob").await, Ok("two".to_owned()));
    assert_eq!(ask(&model, "ada").await, Ok("one".to_owned()));
    assert_eq!(ask(&model, "ada").await, Err(Class::Quota));
    assert_eq!(ask(&model, "ada").await, Err(Class::InvalidRequest));
    let asked: Vec<String> = model.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(asked, ["bob", "ada", "ada", "ada"]);
    assert_eq!(model.unused(), 0);
}

#[tokio::test]
async fn a_closure_answers_what_no_queue_does() {
    let model = Scripted::answering(|request| Ok(Reply::text(format!("I am {}", request.model))));
    model.push("ada", "from the queue");
    assert_eq!(ask(&model, "ada").await, Ok("from the queue".to_owned()));
    assert_eq!(ask(&model, "ada").await, Ok("I am ada".to_owned()));
}

#[tokio::test]
async fn text_is_streamed_in_chunks() {
    let model = Scripted::performing(|_| Answer::text("añb¢c").in_chunks(2));
    let mut seen = Vec::new();
    let reply = complete(model.stream(request("ada")), |event| {
        if let Event::Delta { delta: Delta::Text(text), .. } = event {
            seen.push(text.clone());
        }
    });
    assert_eq!(reply.await.unwrap().output_text(), "añb¢c");
    assert_eq!(seen, ["añ", "b¢", "c"]);
}

#[tokio::test]
async fn calls_are_made_at_once_and_numbered() {
    let model = Scripted::new();
    model.push("", Answer::calls([("first", json!({"a": 1})), ("second", json!({}))]));
    let reply = model.generate(request("")).await.unwrap();
    let calls: Vec<(&str, &str, &str)> = reply
        .calls()
        .map(|call| (call.call_id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_1", "first", r#"{"a":1}"#), ("call_2", "second", "{}")]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_waited_in_virtual_time() {
    let model = Scripted::new();
    model.push("ada", Answer::text("late").delayed(Duration::from_secs(3_600)));
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&model, "ada").await, Ok("late".to_owned()));
    assert_eq!(start.elapsed(), Duration::from_secs(3_600));
}

#[tokio::test(start_paused = true)]
async fn a_held_answer_comes_when_it_is_released() {
    let model = Scripted::new();
    let (begin, end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    model.push("ada", Answer::text("free").held_by(&begin).ended_by(&end));
    let (sender, mut deltas) = tokio::sync::mpsc::unbounded_channel();
    let handle = model.clone();
    let task = tokio::spawn(async move {
        let tell = move |event: &Event| {
            if let Event::Delta { delta, .. } = event {
                sender.send(delta.clone()).unwrap();
            }
        };
        complete(handle.stream(request("ada")), tell).await.unwrap().output_text()
    });
    model.received(1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(deltas.try_recv().is_err());
    begin.add_permits(1);
    assert_eq!(deltas.recv().await, Some(Delta::Text("free".to_owned())));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!task.is_finished());
    end.add_permits(1);
    assert_eq!(task.await.unwrap(), "free");
}
