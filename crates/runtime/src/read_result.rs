//! The tool by which a model reads on where a long result was cut.
//! Offered with every engine. Gives an agent only results of its own calls in the same chat, and never more at once
//! than its world shows of a result.

use std::sync::Arc;

use agent_world_core::config::{Approval, DEFAULT_RESULT_LIMIT, ToolSpec};
use agent_world_core::event::Output;
use agent_world_core::ids::CallId;
use agent_world_core::long_result::READ_RESULT;
use agent_world_store::{self as store, ResultPiece, Store};
use agent_world_tools::{Failure, Invocation, Tool};
use async_trait::async_trait;
use serde_json::{Value, json};

/// Characters given at once, at most.
const PIECE: u64 = 15_000;
/// Characters left for the note behind a piece.
const NOTE: usize = 200;
/// Characters given at once however little a world shows of a result: reading on must lead somewhere.
const LEAST: usize = 100;

#[derive(Debug)]
pub(crate) struct ReadResult {
    store: Arc<dyn Store>,
}

/// What a model asks for.
struct Wanted {
    id: String,
    offset: u64,
    limit: u64,
}

impl Wanted {
    fn of(arguments: &Value) -> Self {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        Self {
            id: arguments.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            offset: number("offset").unwrap_or(0),
            limit: number("limit").unwrap_or(PIECE).clamp(1, PIECE),
        }
    }
}

impl ReadResult {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    async fn read(&self, invocation: &Invocation) -> Result<String, String> {
        let Wanted { id, offset, limit } = Wanted::of(&invocation.arguments);
        let failed = |error: store::Error| format!("the result could not be read: {error}");
        let found = self
            .store
            .call(&invocation.chat, &CallId::new(id.as_str()))
            .await
            .map_err(failed)?
            .filter(|call| call.agent == invocation.agent)
            .ok_or_else(|| format!("you made no call {id} in this chat"))?;
        let output = found.output.ok_or_else(|| format!("call {id} has no result yet"))?;
        let limit = limit.min(self.most(invocation).await.map_err(failed)?);
        let piece = match output.whole {
            Some(whole) => self
                .store
                .result(&invocation.world, whole.digest, offset, limit)
                .await
                .map_err(failed)?
                .ok_or_else(|| format!("the whole result of call {id} is not stored any more"))?,
            None => piece(&output.text, offset, limit),
        };
        Ok(with_note(piece, offset))
    }

    /// A piece that is longer than what the world shows of a result would itself be cut.
    async fn most(&self, invocation: &Invocation) -> Result<u64, store::Error> {
        let world = self.store.world(&invocation.world).await?;
        let shown = world.map_or(DEFAULT_RESULT_LIMIT, |world| world.result_limit);
        let most = shown.saturating_sub(NOTE).max(LEAST);
        Ok(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// A part of a result that the log holds whole.
fn piece(text: &str, offset: u64, limit: u64) -> ResultPiece {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let piece = text.chars().skip(count(offset)).take(count(limit)).collect();
    ResultPiece { text: piece, characters: characters(text) }
}

fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

fn with_note(piece: ResultPiece, offset: u64) -> String {
    let ResultPiece { text, characters: total } = piece;
    let end = offset.saturating_add(characters(&text));
    if end < total {
        format!("{text}\n[characters {offset} to {end} of {total}; read on with offset {end}]")
    } else if text.is_empty() && offset > 0 {
        format!("[nothing there: the result ends at character {total}]")
    } else {
        text
    }
}

#[async_trait]
impl Tool for ReadResult {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id given where the result was cut."},
                "offset": {"type": "integer", "minimum": 0, "description": "The first character to read."},
                "limit": {"type": "integer", "minimum": 1, "maximum": PIECE,
                    "description": "How many characters to read at most."},
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        let description =
            "Reads on in the result of an earlier tool call that was too long to show.";
        ToolSpec {
            approval: Approval::not_required(),
            read_only: true,
            idempotent: true,
            ..ToolSpec::new(READ_RESULT, description, parameters)
        }
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        self.read(&invocation).await.map(Output::text).map_err(Failure::text)
    }
}
