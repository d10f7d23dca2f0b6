//! What is told of events: live, later and page by page, to one reader and to very many.

#[path = "events/following.rs"]
mod following;
#[path = "events/html.rs"]
mod html;
#[path = "events/many.rs"]
mod many;
#[path = "events/pieces.rs"]
mod pieces;
#[path = "events/reader.rs"]
mod reader;
#[path = "events/requests.rs"]
mod requests;
#[path = "events/resuming.rs"]
mod resuming;
#[path = "events/same.rs"]
mod same;
#[path = "events/stage.rs"]
mod stage;
