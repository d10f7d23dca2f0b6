//! Turns a prompt in Responses format into a model's reply. Bytes in, items out.
//!
//! A provider only answers: it never runs a tool, touches storage or emits an event, and this crate's
//! dependencies make sure of it.

pub mod demo;
mod error;
pub mod scripted;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::{Item, Reply};
use async_trait::async_trait;

pub use error::{Class, Error};

/// One call of a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model's name without its vendor.
    pub model: String,
    pub instructions: String,
    pub input: Vec<Arc<Item>>,
    pub tools: Vec<Arc<ToolSpec>>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub reasoning_effort: Option<String>,
    pub parallel_tool_calls: bool,
    /// Whether deltas are wanted; the reply is the same either way.
    pub stream: bool,
}

/// A piece of a reply while it is being made. Never the truth: the reply is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
}

/// Where deltas go. Called in order; must not block.
pub type Deltas<'a> = &'a (dyn Fn(Delta) + Send + Sync);

/// Something that answers prompts. Dropping the future cancels the call.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    async fn generate(&self, request: Request, deltas: Deltas<'_>) -> Result<Reply, Error>;
}

/// The vendors that can be asked, by the first part of `vendor/model`.
#[derive(Clone, Debug, Default)]
pub struct Models {
    vendors: BTreeMap<String, Arc<dyn Model>>,
}

impl Models {
    pub fn with(mut self, vendor: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.vendors.insert(vendor.into(), model);
        self
    }

    /// The vendor and the model's own name behind `vendor/model`.
    pub fn find<'a>(&self, name: &'a str) -> Result<(Arc<dyn Model>, &'a str), Error> {
        let (vendor, model) = name.split_once('/').unwrap_or((name, ""));
        match self.vendors.get(vendor) {
            Some(found) => Ok((Arc::clone(found), model)),
            None => Err(Error::unknown_vendor(vendor, self.vendors.keys().map(String::as_str))),
        }
    }
}
