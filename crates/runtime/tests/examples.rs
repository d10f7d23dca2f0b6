//! Runs the examples as a newcomer would. A vendor's model is the fake that the crate `llm` is tested against.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "../../llm/tests/fake/vendors.rs"]
mod fake;
#[path = "../../llm/tests/fake/programs.rs"]
mod programs;
#[path = "../../llm/tests/network/server.rs"]
mod server;

use fake::Fake;
use programs::run;

#[tokio::test(flavor = "multi_thread")]
async fn with_tools() {
    let fake = Fake::start().await;
    for model in [
        "openai/gpt-5",
        "anthropic/claude-sonnet-4-5",
        "google/gemini-2.5-flash",
        "groq/openai/gpt-oss-120b",
        "ollama/qwen3:8b",
    ] {
        let printed = run("with_tools", &[model], &fake).await;
        for line in [
            "called: weather.today {\"city\":\"fake\"}",
            "called: search {\"what\":\"fake\"}",
            "asked: Book a table at fake",
            "Completed: sunny in fake, 24 degrees",
            "Completed: found: Casa Azul, Mar Alto",
            "Completed: booked for eight o'clock",
            "  3 of 3 calls are done",
        ] {
            assert!(printed.lines().any(|printed| printed == line), "{model}: {line}\n{printed}");
        }
        let answer = printed.rsplit("answer: ").next().unwrap();
        assert!(answer.contains("found: Casa Azul"), "{model}: the late result counts: {printed}");
        let counted = "3 calls: 3 completed, 0 failed, 1 in the background\n";
        assert!(answer.ends_with(counted), "{model}: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn approval() {
    let printed = run("approval", &[], &Fake::start().await).await;
    assert!(printed.ends_with("ada: The plants have had their two litres.\n"), "{printed}");
}
