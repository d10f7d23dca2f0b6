//! A model as clients read it: its name, and what it can do as far as anybody knows.

use agent_world_runtime::llm::Capabilities;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Model {
    /// As `vendor/model`.
    #[schema(example = "demo/demo")]
    pub id: String,
    pub vendor: String,
    /// Whether the tables have this model; what stands below is otherwise taken for granted.
    pub is_known: bool,
    pub tools: bool,
    /// Takes images.
    pub vision: bool,
    pub reasoning: bool,
    /// Can be held to a JSON schema.
    pub json_schema: bool,
    /// Takes a temperature.
    pub temperature: bool,
    /// Tokens of prompt and reply together.
    pub context_window: Option<u64>,
    pub max_output_tokens: Option<u64>,
}

impl Model {
    pub fn new(id: &str, can: &Capabilities) -> Self {
        Self {
            id: id.to_owned(),
            vendor: id.split('/').next().unwrap_or_default().to_owned(),
            is_known: *can != Capabilities::default(),
            tools: can.tools,
            vision: can.vision,
            reasoning: can.reasoning,
            json_schema: can.json_schema,
            temperature: can.accepts.temperature,
            context_window: can.context_window,
            max_output_tokens: can.max_output_tokens,
        }
    }
}
