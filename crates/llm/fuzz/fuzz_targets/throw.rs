//! Feeds bytes to a dialect in every way a reply can arrive: as a stream in chunks, as a whole body, as an error.
//! Used by every fuzz target. Checks what holds for any bytes: no panic, an end, and the same reply in any chunks.

use agent_world_llm::dialect::{Asked, Caps, Dialect, StreamDecoder};
use agent_world_llm::{Capabilities, Event};
use bytes::Bytes;

const CAPS: Caps = Caps { event: 1 << 20, reply: 4 << 20 };

/// The first byte says how large the chunks are.
pub fn throw(dialect: &dyn Dialect, vendor: &str, data: &[u8]) {
    let Some((size, bytes)) = data.split_first() else { return };
    let asked = Asked {
        vendor: vendor.into(),
        model: "any".to_owned(),
        capabilities: Capabilities::default(),
        stream: true,
    };
    let whole = stream(dialect, &asked, bytes, bytes.len().max(1));
    let pieces = stream(dialect, &asked, bytes, usize::from(*size).max(1));
    assert_eq!(whole, pieces, "the same bytes in chunks of {size}");
    let _ = dialect.decode(bytes, &asked);
    let _ = dialect.explain(400 + u16::from(*size), bytes, &asked);
}

/// What became of a stream: its response, or the class of its failure.
fn stream(dialect: &dyn Dialect, asked: &Asked, bytes: &[u8], size: usize) -> Result<Event, String> {
    let mut decoder = StreamDecoder::new(dialect, asked.clone(), CAPS);
    let mut last = None;
    for chunk in bytes.chunks(size) {
        let events = decoder.push(&Bytes::copy_from_slice(chunk));
        last = events.map_err(|error| error.to_string())?.pop().or(last);
    }
    let events = decoder.end().map_err(|error| error.to_string())?;
    events.into_iter().last().or(last).ok_or_else(|| "nothing was told".to_owned())
}
