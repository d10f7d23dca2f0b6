//! Makes requests for the tests of this dialect. Decides nothing.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Chat, Flavour};
use crate::dialect::{Asked, Dialect as _};
use crate::{Capabilities, FunctionTool, ReasoningOptions, Request, Tool};

pub(super) fn asked(flavour: Flavour, model: &str) -> Asked {
    Asked {
        vendor: flavour.name.into(),
        model: model.to_owned(),
        capabilities: Capabilities::default(),
        stream: false,
    }
}

pub(super) fn sent_to(flavour: Flavour, model: &str, request: &Request) -> Value {
    sent(flavour, request, &asked(flavour, model))
}

pub(super) fn sent(flavour: Flavour, request: &Request, asked: &Asked) -> Value {
    let outgoing = Chat::new(flavour).encode(request, asked).unwrap();
    serde_json::from_slice(&outgoing.body).unwrap()
}

pub(super) fn thinking(effort: Option<&str>) -> Request {
    let reasoning =
        ReasoningOptions { effort: effort.map(str::to_owned), ..ReasoningOptions::default() };
    Request { reasoning: Some(reasoning), ..Request::new("m", "Hello") }
}

pub(super) fn tool(name: &str) -> Tool {
    Tool::Function(FunctionTool {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: Arc::new(Value::Null),
        strict: true,
        extra: Map::new(),
    })
}
