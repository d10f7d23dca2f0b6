//! Runs the examples as a newcomer would, against a fake of the vendors: each must compile, end well and print what it
//! promises. They get nothing of this process's environment but the path to programs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "fake/vendors.rs"]
mod fake;
#[path = "fake/programs.rs"]
mod programs;
#[path = "network/server.rs"]
mod server;

use fake::Fake;
use programs::run;

const MODELS: &[&str] = &[
    "openai/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-flash",
    "groq/meta-llama/llama-4-scout-17b-16e-instruct",
    "ollama/gemma4:12b",
];

/// A picture of one dot.
const DOT: &str = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

#[tokio::test(flavor = "multi_thread")]
async fn text() {
    let fake = Fake::start().await;
    for model in MODELS {
        let printed = run("text", &[model, "Is anybody there?"], &fake).await;
        assert_eq!(printed, "You said: Is anybody there?\n", "{model}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json() {
    let fake = Fake::start().await;
    for model in MODELS {
        let printed = run("json", &[model], &fake).await;
        let expected = "fake in fake: Village, 7 inhabitants\nsights: fake\n15 tokens\n";
        assert_eq!(printed, expected, "{model}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stream() {
    let fake = Fake::start().await;
    for model in MODELS {
        let printed = run("stream", &[model], &fake).await;
        let expected = "\n[thinks] Let me think.\n[says] I will look.\n[calls] {\"city\":\"fake\"}\n\
            wants to call weather.today with {\"city\":\"fake\"}\nCompleted, 15 tokens\n";
        assert_eq!(printed, expected, "{model}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vision() {
    let fake = Fake::start().await;
    for model in MODELS {
        let printed = run("vision", &[model, DOT], &fake).await;
        assert_eq!(printed, "You said: What is in this image?\nImages: 1\n", "{model}");
    }
    let printed = run("vision", &["openai/gpt-5", "https://example.org/dot.png"], &fake).await;
    assert!(printed.contains("Images: 1"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings() {
    let fake = Fake::start().await;
    for model in MODELS.iter().chain(&["lab/small", "anthropic/best"]) {
        let printed = run("settings", &[model], &fake).await;
        assert!(printed.contains(" groq, lab, llamacpp, "), "{model}: {printed}");
        assert!(printed.ends_with("access: granted\nYou said: Say hello.\n"), "{model}: {printed}");
    }
    let asked: Vec<_> =
        fake.requests().iter().filter(|asked| !asked.body.is_empty()).map(|a| a.json()).collect();
    let [.., lab, best] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(
        (&lab["model"], &best["model"]),
        (&"Qwen/Qwen3-8B".into(), &"claude-sonnet-4-5".into())
    );
}
