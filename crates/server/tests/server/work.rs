//! What goes on in chats: messages, calls, decisions, and requests that are repeated.

#[path = "work/addresses.rs"]
mod addresses;
#[path = "work/approvals.rs"]
mod approvals;
#[path = "work/chats.rs"]
mod chats;
#[path = "work/clients.rs"]
mod clients;
#[path = "work/decisions.rs"]
mod decisions;
#[path = "work/large.rs"]
mod large;
#[path = "work/messages.rs"]
mod messages;
#[path = "work/rendering.rs"]
mod rendering;
#[path = "work/repeating.rs"]
mod repeating;
#[path = "work/stage.rs"]
mod stage;
