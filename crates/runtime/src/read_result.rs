//! The tool by which a model reads on where a long result was cut.
//! Offered with every engine. Gives an agent only results of its own calls in the same chat.

use std::sync::Arc;

use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use agent_world_core::ids::CallId;
use agent_world_core::prompt::READ_RESULT;
use agent_world_store::Store;
use agent_world_tools::{Failure, Invocation, Tool};
use async_trait::async_trait;
use serde_json::{Value, json};

/// Characters given at once.
const PIECE: usize = 15_000;

#[derive(Debug)]
pub(crate) struct ReadResult {
    store: Arc<dyn Store>,
}

impl ReadResult {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    async fn read(&self, invocation: &Invocation) -> Result<String, String> {
        let id = invocation.arguments.get("call_id").and_then(Value::as_str).unwrap_or_default();
        let offset = invocation.arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = self
            .store
            .call(&invocation.chat, &CallId::new(id))
            .await
            .map_err(|error| format!("the result could not be read: {error}"))?
            .filter(|call| call.agent == invocation.agent)
            .ok_or_else(|| format!("you made no call {id} in this chat"))?;
        let text = found.output.ok_or_else(|| format!("call {id} has no result yet"))?.text;
        let total = text.chars().count();
        let piece: String = text.chars().skip(offset).take(PIECE).collect();
        let end = offset.saturating_add(piece.chars().count());
        Ok(if end < total {
            format!("{piece}\n[characters {offset} to {end} of {total}; read on with offset {end}]")
        } else {
            piece
        })
    }
}

#[async_trait]
impl Tool for ReadResult {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": {
                "call_id": {"type": "string", "description": "The id given where the result was cut."},
                "offset": {"type": "integer", "minimum": 0, "description": "The first character to read."},
            },
            "required": ["call_id"],
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
