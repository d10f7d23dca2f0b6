//! Reads a page of events: what a stream would have told, without waiting for more.
//! Called by the routes. A page may be shorter than its limit also where the log has more: `next` alone says that.

use agent_world_runtime::store::Store;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::Topic;
use super::frame::{Frame, Order};
use super::hub::Hub;
use super::number::Number;
use super::wire::Wish;
use crate::problem::Problem;

/// Events of the log read at once: few, because each may hold images.
pub(super) const BLOCK: usize = 32;
/// Blocks one request looks through: a filter that nothing fits must not make it read a long log to its end.
pub(super) const BLOCKS: usize = 128;
/// Bytes after which a page ends however few events it has.
pub(super) const BYTES: usize = 8 * 1024 * 1024;

pub(super) async fn read(
    hub: &Hub,
    topic: &Topic,
    wish: Wish,
    after: Number,
    limit: usize,
) -> Result<Response, Problem> {
    let mut page = Page { events: Vec::new(), known: after, wish, limit };
    let mut full = Full::More;
    for _ in 0..BLOCKS {
        full = page.read_block(hub, hub.store(), topic).await?;
        if full != Full::More {
            break;
        }
    }
    let next = (full != Full::LogEnds).then_some(page.known);
    Ok(encode(&page.events, next))
}

struct Page {
    /// Encoded, with commas between.
    events: Vec<u8>,
    /// All up to here is in the page, or was not wanted.
    known: Number,
    wish: Wish,
    /// Events that still fit.
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    More,
    /// Something did not fit.
    PageEnds,
    LogEnds,
}

impl Page {
    async fn read_block(
        &mut self,
        hub: &Hub,
        store: &dyn Store,
        topic: &Topic,
    ) -> Result<Full, Problem> {
        let block = store.events(&topic.scope(), self.known.read_after(), BLOCK).await?;
        for event in &block {
            let told = hub.telling().tell(event, self.wish.form).await?;
            for frame in &told.frames {
                if self.add(frame) == Full::PageEnds {
                    return Ok(Full::PageEnds);
                }
            }
            self.known = self.known.max(Number::end_of(event.position));
        }
        Ok(if block.len() < BLOCK { Full::LogEnds } else { Full::More })
    }

    fn add(&mut self, frame: &Frame) -> Full {
        let Order::Stored(number) = frame.order else {
            return Full::More;
        };
        if number <= self.known {
            return Full::More;
        }
        if self.wish.types.contain(frame.kind) {
            if self.limit == 0 || self.events.len() > BYTES {
                return Full::PageEnds;
            }
            self.limit -= 1;
            if !self.events.is_empty() {
                self.events.push(b',');
            }
            self.events.extend_from_slice(frame.json());
        }
        self.known = number;
        Full::More
    }
}

/// A page of encoded events, with commas between.
pub(super) fn encode(events: &[u8], next: Option<Number>) -> Response {
    let next = next.map_or_else(|| "null".to_owned(), |number| format!("\"{}\"", number.0));
    let mut body = Vec::with_capacity(events.len() + 64);
    body.extend_from_slice(b"{\"data\":[");
    body.extend_from_slice(events);
    body.extend_from_slice(b"],\"next\":");
    body.extend_from_slice(next.as_bytes());
    body.push(b'}');
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
