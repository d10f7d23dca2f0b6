//! Sets vendors up from settings: a host of one's own, names of one's own for models, a key from a program.
//!
//! Run it with `cargo run -p agent-world-llm --example settings -- lab/small`. It expects a server that speaks chat
//! completions at `LAB_BASE_URL`, or at `http://localhost:8000/v1` where vLLM would be, and its key in `LAB_KEY`. Any
//! other vendor works as well: `anthropic/best`, with `ANTHROPIC_API_KEY`.

use std::env;
use std::error::Error;

use agent_world_llm::settings::Settings;
use agent_world_llm::{Request, vendors};

/// As it would stand in `agent-world.toml`.
const SETTINGS: &str = r#"
# A host that nobody else knows: its models are `lab/...`.
[vendors.lab]
format = "chat"
base_url = "http://localhost:8000/v1"
key = { command = ["printenv", "LAB_KEY"] } # or a password manager: ["pass", "show", "lab"]
models = { small = "Qwen/Qwen3-8B" }
first_byte_seconds = 600                    # a small machine takes its time
attempts = 5

# A vendor that is known already: only what differs.
[vendors.anthropic.models]
best = "claude-sonnet-4-5"
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like lab/small")?;

    // Settings are plain data: read from a file, or put together by the program, or both.
    let mut settings: Settings = toml::from_str(SETTINGS)?;
    if let (Ok(address), Some(lab)) = (env::var("LAB_BASE_URL"), settings.vendors.get_mut("lab")) {
        lab.base_url = Some(address);
    }
    let models = vendors::models(&settings, &|name| env::var(name).ok())?;
    println!("vendors: {}", models.vendors().collect::<Vec<_>>().join(", "));

    // Costs nothing: no model is asked. What goes wrong is said in a sentence that says what to do.
    let (vendor, _) = models.find(&model)?;
    match vendor.validate_access().await {
        Ok(()) => println!("access: granted"),
        Err(error) => println!("access: {error}"),
    }
    println!("{}", models.generate_text(Request::new(model, "Say hello.")).await?);
    Ok(())
}
