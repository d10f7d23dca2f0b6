//! Asks language models of many vendors in one format: a request in the OpenAI *Responses* format goes in, items come
//! out, whole or piece by piece. Bytes in, items out.
//!
//! A provider only answers: it never runs a tool, touches storage or emits an event, and this crate's
//! dependencies make sure of it.

pub mod anthropic;
mod capabilities;
pub mod chat;
pub mod compaction;
pub mod credentials;
pub mod demo;
pub mod dialect;
mod draft;
mod error;
mod event;
pub mod explain;
pub mod frames;
pub mod google;
mod json;
mod models;
mod names;
pub mod ollama;
pub mod openai;
pub mod origin;
mod pairing;
pub mod provider;
mod request;
pub mod resource;
mod response;
pub mod scripted;
mod secret;
pub mod settings;
pub mod transport;
pub mod vendors;

use std::fmt;

use async_trait::async_trait;

pub use capabilities::{Accepts, Capabilities, Thinking};
pub use draft::{Draft, Thought};
pub use error::{Class, Error};
pub use event::{Delta, Event, Events, all_of, complete, whole};
pub use json::{Json, is_strict, schema_of};
pub use models::Models;
pub use names::Names;
pub use provider::Provider;
pub use request::{
    Format, FunctionTool, JsonSchema, ReasoningOptions, Request, Text, Tool, ToolChoice, input_from,
};
pub use response::{
    Failure, IncompleteDetails, InputDetails, OutputDetails, Response, Status, Usage,
};
pub use secret::{ExposeSecret, SecretString};
pub use transport::Transport;

/// Something that answers requests. Dropping what it gave cancels the call.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// The reply as it is made; its last event is the complete response.
    fn stream(&self, request: Request) -> Events;

    /// The reply when it is complete.
    async fn generate(&self, request: Request) -> Result<Response, Error> {
        complete(self.stream(request), |_| {}).await
    }

    /// What a model can do, as far as it is known.
    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
    }

    /// Whether the vendor can be reached and takes our key, without asking a model anything.
    async fn validate_access(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the vendor lists a model, without asking the model anything; none where its list does not tell.
    async fn lists(&self, _model: &str) -> Result<Option<bool>, Error> {
        Ok(None)
    }
}
