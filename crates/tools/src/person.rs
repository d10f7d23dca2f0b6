//! How a tool asks the person something while it runs.
//! Given to every call by the runtime, which keeps the question in the log until somebody answers. A tool never learns
//! who answered, and must be content with nobody.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Value, json};

/// What the person is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub message: String,
    /// JSON Schema of the answer, an object.
    pub schema: Value,
    /// Where the person is to go to answer, when it is not answered here.
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Fits the schema.
    Given(Value),
    Declined,
    /// Nobody answered, or nobody can be asked.
    Unanswered,
}

#[async_trait]
pub trait Person: fmt::Debug + Send + Sync {
    async fn ask(&self, question: Question) -> Answer;
}

/// Where nobody can be asked.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

#[async_trait]
impl Person for Nobody {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Unanswered
    }
}

impl Question {
    /// One that needs no more than a yes.
    pub fn confirm(message: impl Into<String>) -> Self {
        let schema = json!({"type": "object", "properties": {}});
        Self { message: message.into(), schema, url: None }
    }
}
