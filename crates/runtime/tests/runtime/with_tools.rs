//! A model's call with tools outside of any world: the engine's loop, without a world to keep.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::command::{Answer as Decision, Scope};
use agent_world_core::event::Event;
use agent_world_core::item::{Finish, Item, Part, Reply, Usage};
use agent_world_llm::scripted::{Answer, Scripted};
use agent_world_llm::{Class, Models, Request, Tool as Offered, ToolChoice};
use agent_world_runtime::{Progress, Statistics, Unanswered, WithTools, generate_with_tools};
use agent_world_tools::scripted::Scripted as ScriptedTool;
use serde_json::json;

use crate::props::{call, calls, doing, free, in_background, shown, spec};

fn models() -> (Models, Scripted) {
    let script = Scripted::new();
    (Models::default().with("scripted", Arc::new(script.clone())), script)
}

fn request(text: &str) -> Request {
    Request { instructions: "Be brief.".to_owned(), ..Request::new("scripted/any", text) }
}

#[tokio::test]
async fn tools_may_be_given_all_at_once() {
    let (models, script) = models();
    script.push("any", call("act", "it"));
    script.push("any", "Done.");
    let tool = doing(free("act"));
    let tools: [Arc<dyn agent_world_tools::Tool>; 1] = [Arc::new(tool.clone())];
    let answered = generate_with_tools(&models, request("go"), tools).await.unwrap();
    assert_eq!((answered.response.output_text().as_str(), tool.count()), ("Done.", 1));
}

#[tokio::test]
async fn a_request_without_calls_is_answered_at_once() {
    let (models, script) = models();
    script.push("any", "Hello.");
    let answered = WithTools::new(&models, request("@bob hello")).run(|_| {}).await.unwrap();
    assert_eq!(answered.response.output_text(), "Hello.");
    assert_eq!(answered.statistics, Statistics::default());
    let asked = &script.requests()[0];
    assert_eq!((asked.model.as_str(), asked.instructions.as_str()), ("any", "Be brief."));
    assert_eq!(shown(asked), ["User: @bob hello"], "what looks like a mention is just text here");
}

#[tokio::test]
async fn parallel_calls_run_and_their_results_go_back_behind_the_callers_own_history() {
    let (models, script) = models();
    let usage = Usage { input_tokens: 10, output_tokens: 5, total_tokens: 15, ..Usage::default() };
    script.push(
        "any",
        Answer::calls([("a", json!({"what": "x"})), ("b", json!({"what": "y"}))]).with_usage(usage),
    );
    script.push("any", Answer::text("Both done.").with_usage(usage));
    let (a, b) = (doing(free("a")), doing(free("b")));
    let mut asked = request("first");
    asked.input.extend([Item::assistant("second"), Item::user("third")].map(Arc::new));
    asked.temperature = Some(0.5);
    let mut events = Vec::new();
    let answered = WithTools::new(&models, asked)
        .tool(Arc::new(a.clone()))
        .tool(Arc::new(b.clone()))
        .run(|progress| {
            if let Progress::Event { event: Event::ToolFinished(_), statistics } = progress {
                events.push(statistics);
            }
        })
        .await
        .unwrap();
    assert_eq!((a.count(), b.count()), (1, 1));
    assert_eq!(answered.response.output_text(), "Both done.");
    assert_eq!((answered.usage.total_tokens, answered.replies.len()), (30, 2));
    let expected = Statistics { total: 2, completed: 2, blocking: 2, ..Statistics::default() };
    assert_eq!(answered.statistics, expected);
    assert_eq!(events.last(), Some(&expected));
    let second = &script.requests()[1];
    assert_eq!(second.temperature, Some(0.5));
    let shown = shown(second);
    assert_eq!(shown[..3], ["User: first", "Assistant: second", "User: third"]);
    assert_eq!(shown.len(), 7, "two calls and their two results follow: {shown:?}");
}

#[tokio::test]
async fn a_model_is_offered_the_callers_tools_and_no_others() {
    let (models, script) = models();
    script.push("any", "Nothing to do.");
    script.push("any", "Nothing to do.");
    WithTools::new(&models, request("go")).run(|_| {}).await.unwrap();
    WithTools::new(&models, request("go"))
        .tool(Arc::new(doing(free("act"))))
        .run(|_| {})
        .await
        .unwrap();
    let offered: Vec<Vec<Option<String>>> = script
        .requests()
        .iter()
        .map(|asked| asked.tools.iter().map(|t| t.function_name().map(str::to_owned)).collect())
        .collect();
    assert_eq!(offered, [vec![], vec![Some("act".to_owned())]]);
}

#[tokio::test]
async fn a_background_tools_result_is_waited_for_and_shown() {
    let (models, script) = models();
    script.push("any", call("slow", "it"));
    script.push("any", "It is under way.");
    script.push("any", "Now it is done.");
    let tool = ScriptedTool::text(in_background("slow"), "late").delayed(Duration::from_millis(50));
    let answered =
        WithTools::new(&models, request("go")).tool(Arc::new(tool)).run(|_| {}).await.unwrap();
    assert_eq!(answered.response.output_text(), "Now it is done.");
    let expected = Statistics { total: 1, completed: 1, background: 1, ..Statistics::default() };
    assert_eq!(answered.statistics, expected);
}

#[tokio::test]
async fn a_tool_that_asks_is_denied_unless_the_program_decides() {
    for (decide, runs) in [(false, 0), (true, 1)] {
        let (models, script) = models();
        script.push("any", call("act", "it"));
        script.push("any", "As you wish.");
        let tool = doing(spec("act"));
        let mut loop_ = WithTools::new(&models, request("go")).tool(Arc::new(tool.clone()));
        if decide {
            loop_ = loop_.decide(|_| Decision::Approve {
                scope: Scope::Once,
                matches: vec![],
                arguments: None,
                reason: None,
            });
        }
        let answered = loop_.run(|_| {}).await.unwrap();
        assert_eq!(tool.count(), runs);
        assert_eq!(answered.statistics.failed, 1 - runs);
    }
}

#[tokio::test]
async fn a_tool_has_the_time_it_is_given_here() {
    let (models, script) = models();
    script.push("any", call("slow", "it"));
    script.push("any", "It took too long.");
    let tool = ScriptedTool::text(free("slow"), "never").delayed(Duration::from_secs(600));
    let answered = WithTools::new(&models, request("go"))
        .tool(Arc::new(tool))
        .time_limit("slow", Duration::from_secs(1))
        .run(|_| {})
        .await
        .unwrap();
    assert_eq!(answered.statistics.failed, 1);
    assert_eq!(answered.response.output_text(), "It took too long.");
}

#[tokio::test]
async fn a_model_that_never_stops_calling_is_stopped() {
    let script = Scripted::performing(|_| call("act", "it"));
    let models = Models::default().with("scripted", Arc::new(script.clone()));
    let tool = doing(free("act"));
    let failed = WithTools::new(&models, request("go"))
        .tool(Arc::new(tool.clone()))
        .max_iterations(3)
        .run(|_| {})
        .await
        .unwrap_err();
    assert!(matches!(failed, Unanswered::TooManyIterations { limit: 3 }), "{failed}");
    assert_eq!(script.requests().len(), 3);
}

#[tokio::test]
async fn what_the_vendor_failed_with_is_told_with_its_class() {
    let (models, script) = models();
    script.push("any", Answer::failure(Class::Quota, "no money left"));
    let failed = WithTools::new(&models, request("go")).run(|_| {}).await.unwrap_err();
    let Unanswered::Model(error) = failed else { panic!("{failed}") };
    assert_eq!(error.class, Class::Quota);
    let unknown = WithTools::new(&models, Request::new("nobody/any", "go")).run(|_| {}).await;
    assert!(matches!(unknown, Err(Unanswered::Model(_))));
}

#[tokio::test]
async fn a_tool_that_must_be_used_must_be_used_once() {
    let (models, script) = models();
    script.push("any", call("act", "it"));
    script.push("any", "Done.");
    let asked = Request { tool_choice: Some(ToolChoice::Required), ..request("go") };
    let tool = doing(free("act"));
    WithTools::new(&models, asked).tool(Arc::new(tool)).run(|_| {}).await.unwrap();
    let choices: Vec<Option<ToolChoice>> =
        script.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [Some(ToolChoice::Required), None]);
}

#[tokio::test]
async fn a_function_that_nobody_carries_out_is_refused_and_a_vendors_tool_is_passed_on() {
    let (models, script) = models();
    script.push("any", "Found.");
    let searching = json!({"type": "web_search"});
    let asked = Request { tools: vec![Offered::Unknown(searching.clone())], ..request("go") };
    WithTools::new(&models, asked).run(|_| {}).await.unwrap();
    assert_eq!(script.requests()[0].tools[0], Offered::Unknown(searching));
    let orphan = Request { tools: vec![Offered::from(&free("act"))], ..request("go") };
    let failed = WithTools::new(&models, orphan).run(|_| {}).await.unwrap_err();
    assert!(matches!(failed, Unanswered::NoSuchTool(name) if name == "act"));
}

#[tokio::test]
async fn pieces_are_told_when_a_stream_is_asked_for() {
    let (models, script) = models();
    script.push("any", Answer::text("one two").in_chunks(4));
    let mut pieces = String::new();
    let asked = Request { stream: true, ..request("go") };
    let answered = WithTools::new(&models, asked)
        .run(|progress| {
            if let Progress::Piece(chunk) = progress {
                pieces.push_str(&chunk.text);
            }
        })
        .await
        .unwrap();
    assert_eq!((pieces.as_str(), answered.response.output_text().as_str()), ("one two", "one two"));
}

#[tokio::test]
async fn images_of_the_callers_input_reach_the_model() {
    let (models, script) = models();
    script.push("any", Reply::text("A cat."));
    let image = Part::InputImage {
        image_url: Some("data:image/png;base64,AAAA".to_owned()),
        file_id: None,
        extra: Default::default(),
    };
    let mut asked = request("what is this?");
    if let Some(Item::Message(message)) = asked.input.first_mut().map(Arc::make_mut) {
        message.content.push(image.clone());
    }
    WithTools::new(&models, asked).run(|_| {}).await.unwrap();
    let Item::Message(message) = &*script.requests()[0].input[0] else { panic!("a message") };
    assert_eq!(message.content[1], image);
}

#[tokio::test]
async fn the_model_is_offered_the_callers_tools_and_no_others() {
    let (models, script) = models();
    script.push("any", "Hello.").push("any", "Hello.");
    WithTools::new(&models, request("go")).run(|_| {}).await.unwrap();
    let with_one = WithTools::new(&models, request("go")).tool(Arc::new(doing(free("act"))));
    with_one.run(|_| {}).await.unwrap();
    let names = |request: &Request| -> Vec<String> {
        request.functions().map(|function| function.name.clone()).collect()
    };
    let offered: Vec<_> = script.requests().iter().map(names).collect();
    assert_eq!(offered, [vec![], vec!["act".to_owned()]]);
}

#[tokio::test]
async fn results_that_come_later_do_not_let_the_model_be_asked_for_ever() {
    let script = Scripted::performing(|request| {
        match shown(request).last().unwrap().contains("started in the background") {
            true => Answer::text("Under way."),
            false => call("slow", "it"),
        }
    });
    let models = Models::default().with("scripted", Arc::new(script.clone()));
    let tool = ScriptedTool::text(in_background("slow"), "late");
    let run = WithTools::new(&models, request("go")).tool(Arc::new(tool)).max_iterations(15);
    let ended = tokio::time::timeout(Duration::from_secs(20), run.run(|_| {})).await.unwrap();
    assert!(matches!(ended, Err(Unanswered::TooManyIterations { limit: 15 })), "{ended:?}");
    assert_eq!(script.requests().len(), 15);
}

#[tokio::test]
async fn an_answer_counts_although_the_model_failed_before() {
    let (models, script) = models();
    let finish = crate::props::gate();
    script.push("any", call("slow", "it"));
    script.push("any", Answer::failure(Class::Overloaded, "busy"));
    script.push("any", "Now it is done.");
    let tool = ScriptedTool::text(in_background("slow"), "late").held_by(&finish);
    let answered = WithTools::new(&models, request("go"))
        .tool(Arc::new(tool))
        .run(|progress| {
            if let Progress::Event { event: Event::TurnEnded { .. }, .. } = progress {
                finish.add_permits(1);
            }
        })
        .await
        .unwrap();
    assert_eq!(answered.response.output_text(), "Now it is done.");
}

#[tokio::test]
async fn a_reply_that_is_cut_is_given_as_it_is() {
    let (models, script) = models();
    let cut = |reply: Reply| Reply {
        finish: Finish::Incomplete { reason: "max_output_tokens".to_owned() },
        ..reply
    };
    // What it calls is not run, and the model is told so.
    script.push("any", cut(Reply::of(vec![Item::call("1", "act", &json!({"what": "it"}))])));
    script.push("any", cut(Reply::text("Half an ans")));
    let tool = doing(free("act"));
    let run = WithTools::new(&models, request("go")).tool(Arc::new(tool.clone()));
    let answered = run.run(|_| {}).await.unwrap();
    assert_eq!(tool.count(), 0);
    assert_eq!(answered.response.output_text(), "Half an ans");
    assert!(!answered.response.is_complete());
}

#[tokio::test]
async fn what_breaks_down_or_is_too_large_reaches_the_model_and_ends_nothing() {
    let (models, script) = models();
    script.push("any", call("breaks", "it"));
    script.push("any", call("unheard_of", "it"));
    script.push("any", call("large", "it"));
    script.push("any", "So be it.");
    let breaks = ScriptedTool::new(free("breaks"), |_| async { panic!("as the test wants") });
    let large = ScriptedTool::text(free("large"), "x".repeat(3_000_000));
    let answered = WithTools::new(&models, request("go"))
        .tool(Arc::new(breaks))
        .tool(Arc::new(large))
        .run(|_| {})
        .await
        .unwrap();
    let states: Vec<_> = answered.calls.iter().map(|call| call.state.name()).collect();
    assert_eq!(states, ["failed", "failed", "completed"]);
    let shown = shown(&script.requests()[3]);
    assert!(shown[2].contains("broke down"), "{}", shown[2]);
    assert_eq!(
        shown[6].len(),
        "= ".len() + 3_000_000,
        "nothing is cut: no tool could read the rest"
    );
}

#[tokio::test]
async fn a_model_that_breaks_down_gave_no_answer() {
    let script = Scripted::performing(|request| match request.input.len() {
        1 => call("act", "it"),
        _ => panic!("as the test wants"),
    });
    let models = Models::default().with("scripted", Arc::new(script));
    let run = WithTools::new(&models, request("go")).tool(Arc::new(doing(free("act"))));
    let failed = run.run(|_| {}).await.unwrap_err();
    assert!(
        matches!(&failed, Unanswered::NoAnswer(text) if text.contains("broke down")),
        "{failed}"
    );
}

/// Says when it is dropped.
struct Held(tokio::sync::watch::Sender<bool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

#[tokio::test]
async fn who_loses_interest_ends_what_runs() {
    let (models, script) = models();
    script.push("any", call("act", "it"));
    let dropped = tokio::sync::watch::Sender::new(false);
    let told = dropped.clone();
    let tool = ScriptedTool::new(free("act"), move |_| {
        let held = Held(told.clone());
        async move {
            std::future::pending::<()>().await;
            drop(held);
            unreachable!("it never ends by itself")
        }
    });
    let run = WithTools::new(&models, request("go")).tool(Arc::new(tool.clone())).run(|_| {});
    tokio::select! {
        ended = run => panic!("{ended:?}"),
        () = tool.received(1) => {}
    }
    let mut dropped = dropped.subscribe();
    let ended = dropped.wait_for(|dropped| *dropped);
    tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_run_one_after_another_where_the_request_says_so() {
    let (models, script) = models();
    script.push("any", calls("act", &["one", "two"]));
    script.push("any", "Done.");
    let running = Arc::new(tokio::sync::Semaphore::new(1));
    let tool = ScriptedTool::new(free("act"), move |_| {
        let running = Arc::clone(&running);
        async move {
            let alone = running.try_acquire().is_ok_and(|place| {
                place.forget();
                true
            });
            tokio::task::yield_now().await;
            running.add_permits(1);
            Ok(agent_world_core::event::Output::text(if alone { "alone" } else { "not alone" }))
        }
    });
    let asked = Request { parallel_tool_calls: Some(false), ..request("go") };
    WithTools::new(&models, asked).tool(Arc::new(tool)).run(|_| {}).await.unwrap();
    assert_eq!(shown(&script.requests()[1])[3..], ["= alone", "= alone"]);
}

#[tokio::test]
async fn counts_on_the_way_agree_with_the_calls_at_the_end() {
    let (models, script) = models();
    script.push("any", calls("act", &["x"; 100]));
    script.push("any", calls("ask", &["x"; 3]));
    script.push("any", call("unheard_of", "it"));
    script.push("any", "Done.");
    let mut last = Statistics::default();
    let answered = WithTools::new(&models, request("go"))
        .tool(Arc::new(doing(free("act"))))
        .tool(Arc::new(doing(spec("ask"))))
        .run(|progress| {
            if let Progress::Event { statistics, .. } = progress {
                let open = statistics.pending + statistics.executing;
                assert_eq!(open + statistics.completed + statistics.failed, statistics.total);
                last = statistics;
            }
        })
        .await
        .unwrap();
    assert_eq!(last, answered.statistics);
    assert_eq!((last.total, last.completed, last.failed), (104, 100, 4));
}
