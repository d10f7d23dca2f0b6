//! Decides how what is told looks on the wire: one complete frame of an event stream, encoded once for all readers.
//! Made by `telling` and `hub`. A frame's `data` is one line of JSON, which is also what a page holds.

use std::io::Write;
use std::ops::Range;

use agent_world_runtime::tools::watcher::Channel;
use agent_world_runtime::{Chunk, ToolOutput};
use bytes::Bytes;
use serde::Serialize;

use super::number::Number;
use super::wire::{Event, Kind};

/// The first thing on every stream: a reader that is cut off comes back after a second.
pub(super) const PREAMBLE: Bytes = Bytes::from_static(b"retry: 1000\n\n");
/// Says nothing, and keeps the connection open.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");

/// One event or piece, as it is sent. Clones share its bytes.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub kind: Kind,
    pub order: Order,
    pub bytes: Bytes,
    json: (u32, u32),
}

/// What tells whether a reader has something already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Stored: can be read again, and has an `id:`.
    Stored(Number),
    /// A piece of a reply, by its number among all pieces.
    Piece(u64),
    /// A piece of what a tool writes. Nobody gets it twice.
    Output,
}

impl Frame {
    pub fn of(event: &Event) -> Result<Self, serde_json::Error> {
        let order = Order::Stored(Number(event.seq));
        Self::encode(event.kind, order, event, 512)
    }

    /// A piece of a reply; with the blocks that it changes, where they are wanted.
    pub fn of_chunk(chunk: &Chunk, blocks: Option<Vec<Block>>) -> Result<Self, serde_json::Error> {
        let html = |blocks: &Vec<Block>| blocks.iter().map(|block| 32 + block.html.len()).sum();
        let rendered: usize = blocks.as_ref().map_or(0, html);
        let data = ChunkData {
            phase: "chunk",
            message_id: chunk.message.as_str(),
            agent_id: chunk.agent.as_str(),
            offset: chunk.offset,
            delta: &chunk.text,
            reasoning_delta: &chunk.reasoning,
            blocks,
        };
        let piece = Piece {
            kind: Kind::Stream,
            world_id: chunk.world.as_str(),
            chat_id: chunk.chat.as_str(),
            data,
        };
        let size = 320 + chunk.text.len() + chunk.reasoning.len() + rendered;
        Self::encode(Kind::Stream, Order::Piece(chunk.number), &piece, size)
    }

    /// A piece of what a tool writes.
    pub fn of_output(output: &ToolOutput) -> Result<Self, serde_json::Error> {
        let data = OutputData {
            state: "executing",
            phase: "output",
            id: output.call.as_str(),
            agent_id: output.agent.as_str(),
            channel: match output.channel {
                Channel::Stdout => "stdout",
                Channel::Stderr => "stderr",
                Channel::Progress => "progress",
            },
            delta: &output.text,
        };
        let piece = Piece {
            kind: Kind::Tool,
            world_id: output.world.as_str(),
            chat_id: output.chat.as_str(),
            data,
        };
        Self::encode(Kind::Tool, Order::Output, &piece, 320 + output.text.len())
    }

    /// The event alone, as a page holds it.
    pub fn json(&self) -> &[u8] {
        let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        let range: Range<usize> = place(self.json.0)..place(self.json.1);
        self.bytes.get(range).unwrap_or_default()
    }

    // JSON has no line breaks but those it escapes, so it is one `data:` line whatever is in it.
    fn encode(
        kind: Kind,
        order: Order,
        told: &impl Serialize,
        size: usize,
    ) -> Result<Self, serde_json::Error> {
        let mut bytes = Vec::with_capacity(size);
        if let Order::Stored(Number(number)) = order {
            writeln!(bytes, "id: {number}").map_err(serde_json::Error::io)?;
        }
        for part in ["event: ", kind.name(), "\ndata: "] {
            bytes.extend_from_slice(part.as_bytes());
        }
        let start = bytes.len();
        serde_json::to_writer(&mut bytes, told)?;
        let end = bytes.len();
        bytes.extend_from_slice(b"\n\n");
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Ok(Self { kind, order, bytes: Bytes::from(bytes), json: (place(start), place(end)) })
    }
}

/// The last thing a reader gets that is cut off.
pub(super) fn error(code: &str, detail: &str) -> Bytes {
    let data = serde_json::json!({"code": code, "detail": detail});
    Bytes::from(format!("event: error\ndata: {data}\n\n"))
}

#[derive(Serialize)]
struct Piece<'a, D> {
    #[serde(rename = "type")]
    kind: Kind,
    world_id: &'a str,
    chat_id: &'a str,
    data: D,
}

#[derive(Serialize)]
struct ChunkData<'a> {
    phase: &'static str,
    message_id: &'a str,
    agent_id: &'a str,
    /// Characters of text that came before; 0 begins anew.
    offset: usize,
    delta: &'a str,
    reasoning_delta: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<Vec<Block>>,
}

/// A block of a reply's text that is new or has changed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Block {
    pub index: usize,
    pub html: String,
}

#[derive(Serialize)]
struct OutputData<'a> {
    state: &'static str,
    phase: &'static str,
    id: &'a str,
    agent_id: &'a str,
    channel: &'static str,
    delta: &'a str,
}
