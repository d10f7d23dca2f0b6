//! The bodies of this interface as its description shows them. Written by `llm::resource`, which knows all fields.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A response, in the format of the Open Responses specification.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResponseObject {
    #[schema(example = "resp_0199")]
    pub id: String,
    /// Always `response`.
    pub object: String,
    pub created_at: i64,
    /// `in_progress`, `completed`, `incomplete`, `failed` or `cancelled`.
    pub status: String,
    pub model: String,
    #[schema(value_type = Vec<Object>)]
    pub output: Vec<Value>,
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    pub previous_response_id: Option<String>,
}

/// That a response is gone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    pub id: String,
    pub object: &'static str,
    pub deleted: bool,
}

/// A part of a list, in OpenAI's shape.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemList {
    pub object: &'static str,
    #[schema(value_type = Vec<Object>)]
    pub data: Vec<Value>,
    pub first_id: Option<String>,
    pub last_id: Option<String>,
    pub has_more: bool,
}
