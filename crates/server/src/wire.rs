//! What clients are given and send: a format of its own, so that what is stored can change without it.
//! Secrets in arguments are masked; what somebody said and what a tool gave back is handed on as it is.

mod agent;
mod approval;
mod audit;
mod call;
mod chat;
mod client_tool;
mod decision;
mod grant;
mod mcp_server;
mod message;
mod model;
mod page;
mod patch;
mod policy;
mod posting;
mod statistics;
mod tool;
mod world;

pub(crate) use agent::{Agent, AgentInput};
pub(crate) use approval::Approval;
pub(crate) use audit::{AuditEntry, AuditQuery};
pub(crate) use call::Call;
pub(crate) use chat::{Activity, Chat, ForkPoint, NewChat, OfAgent, Rename, Standing};
pub(crate) use client_tool::{ClientTool, ClientTools};
pub(crate) use decision::{Decide, OriginalCall, Reach, Settled, ToolResult, Verdict, Wish};
pub(crate) use grant::Grant;
pub(crate) use mcp_server::{AddedServers, McpServer, McpServerSwitch, McpServersInput};
pub(crate) use message::Message;
pub(crate) use model::Model;
pub(crate) use page::{BYTES, MOST, Page, Paging, STEP, limit, size};
pub(crate) use patch::Patch;
pub(crate) use policy::{Comparison, ComparisonInput, Difference, Policy, Trial, TrialInput};
pub(crate) use posting::{Edit, NewMessage, OnApproval, PostedMessage};
pub(crate) use statistics::{ModelUse, Statistics, ToolUse};
pub(crate) use tool::Tool;
pub(crate) use world::{World, WorldInput};
