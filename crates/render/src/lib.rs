//! What people and models write, as HTML that can do no harm: Markdown in, a list of blocks out.
//!
//! Nothing that somebody wrote becomes a tag, a script, a style or a request to another site: raw HTML is shown as the text
//! it is, images are links, links go to the web and to mail alone, and what cannot be seen is shown. Every block has gone
//! through a sanitiser that knows a short list of tags.
//!
//! A text that is being written grows at its end, and so do its blocks: [`Rendering`] says which ones have changed. What a
//! piece costs follows from the block it stands in, which is bounded, and not from what was written before.
//!
//! Used by the server. Knows nothing of messages, agents or HTTP.

mod clean;
mod code;
mod hidden;
mod line;
mod markdown;
mod names;
mod open;
mod rendering;
mod table;
mod writer;

pub use names::Names;
pub use rendering::{Block, Rendering};

/// A whole text as blocks of HTML, in order.
pub fn render(text: &str, names: &Names) -> Vec<String> {
    let mut rendering = Rendering::new(names.clone());
    rendering.push_quietly(text);
    rendering.into_blocks()
}
