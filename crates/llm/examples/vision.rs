//! Shows a model an image: a file, or an address on the web.
//!
//! Run it with `cargo run -p agent-world-llm --example vision -- openai/gpt-5-mini photo.png`, with the vendor's key in its
//! environment variable, here `OPENAI_API_KEY`. In place of the file there may be an `https:` or a `data:` URL.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use agent_world_llm::{Request, input_from, vendors};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like openai/gpt-5-mini")?;
    let image = env::args().nth(2).ok_or("name an image: a file or a URL")?;

    let models = vendors::from_environment()?;
    // A model that cannot see would be told that there is an image, and no more.
    if !models.capabilities(&model)?.vision {
        return Err(format!("{model} cannot be shown images").into());
    }

    // Input in the words of the *Responses* format, whichever vendor it is for.
    let input = input_from(json!([{
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is in this image?"},
            {"type": "input_image", "image_url": url(&image)?},
        ],
    }]))?;
    let request = Request { model, input, ..Request::default() };
    println!("{}", models.generate_text(request).await?);
    Ok(())
}

/// A URL as it is; a file as a `data:` URL.
fn url(image: &str) -> Result<String, Box<dyn Error>> {
    if ["https:", "http:", "data:"].iter().any(|scheme| image.starts_with(scheme)) {
        return Ok(image.to_owned());
    }
    let kind = match Path::new(image).extension().and_then(|ending| ending.to_str()) {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("gif") => "image/gif",
        _ => return Err(format!("{image}: only png, jpeg, webp and gif are known to all").into()),
    };
    Ok(format!("data:{kind};base64,{}", BASE64_STANDARD.encode(fs::read(image)?)))
}
