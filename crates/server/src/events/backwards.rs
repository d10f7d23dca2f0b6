//! Reads a page of events back from a number: the last ones before it, told in order like any others.
//! Called by the routes. A page may be shorter than its limit also where the log has more: `next` alone says that.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::response::Response;

use super::Topic;
use super::frame::Order;
use super::hub::Hub;
use super::number::Number;
use super::page::{BLOCK, BLOCKS, BYTES, encode};
use super::telling::Told;
use super::wire::Wish;
use crate::problem::Problem;

pub(super) async fn read(
    hub: &Hub,
    topic: &Topic,
    wish: Wish,
    before: Number,
    limit: usize,
) -> Result<Response, Problem> {
    let mut page =
        Page { events: VecDeque::new(), bytes: 0, from: before, wish, limit, is_full: false };
    let mut begins = false;
    for _ in 0..BLOCKS {
        let until = page.from.read_until();
        let block = hub.store().last_events(&topic.scope(), until, BLOCK).await?;
        for event in block.iter().rev() {
            page.add(&hub.telling().tell(event, page.wish.form).await?);
            if page.is_full {
                break;
            }
        }
        begins = !page.is_full && block.len() < BLOCK;
        if page.is_full || begins {
            break;
        }
    }
    let next = (!begins).then_some(page.from);
    Ok(encode(&page.events.into_iter().collect::<Vec<_>>().join(&b','), next))
}

struct Page {
    /// Each encoded.
    events: VecDeque<Vec<u8>>,
    bytes: usize,
    /// All from here on is in the page, or was not wanted.
    from: Number,
    wish: Wish,
    /// Events that still fit.
    limit: usize,
    /// Something did not fit.
    is_full: bool,
}

impl Page {
    /// What an event of the log became, the last of it first.
    fn add(&mut self, told: &Arc<Told>) {
        for frame in told.frames.iter().rev() {
            let Order::Stored(number) = frame.order else { continue };
            if number >= self.from {
                continue;
            }
            if self.wish.types.contain(frame.kind) {
                if self.limit == 0 || self.bytes > BYTES {
                    self.is_full = true;
                    return;
                }
                self.limit -= 1;
                self.bytes += frame.json().len();
                self.events.push_front(frame.json().to_vec());
            }
            self.from = number;
        }
        self.from = self.from.min(Number::new(told.position, 0));
    }
}
