//! A client of the event stream, with a reader of the format of its own.

use std::collections::VecDeque;

use reqwest::{Method, Response};
use serde_json::Value;

use crate::stage::{DEADLINE, House};

pub struct Stream {
    response: Response,
    unread: Vec<u8>,
    events: VecDeque<Event>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Absent for pieces, which are not stored.
    pub id: Option<u64>,
    pub kind: String,
    pub data: Value,
}

impl Stream {
    pub async fn open(house: &House, path: &str, after: Option<u64>) -> Self {
        let mut request = house.request(Method::GET, path).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        if !status.is_success() {
            panic!("{path}: {status}: {}", response.text().await.unwrap());
        }
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Self::reading(response)
    }

    /// The events of an answer that has begun.
    pub fn reading(response: Response) -> Self {
        Self { response, unread: Vec::new(), events: VecDeque::new() }
    }

    /// The next event; none when the server ended the stream or is gone.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(DEADLINE, self.response.chunk());
            let chunk = chunk.await.expect("an event or the end of the stream").ok().flatten()?;
            self.unread.extend_from_slice(&chunk);
            self.take_frames();
        }
    }

    /// The next event that has an id.
    pub async fn next_stored(&mut self) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.id.is_some() {
                return event;
            }
        }
    }

    /// Everything up to the first event that is wanted, with it.
    pub async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("the stream ended after {seen:#?}"));
            let found = wanted(&event);
            seen.push(event);
            if found {
                return seen;
            }
        }
    }

    /// Everything until the chat rests.
    pub async fn until_idle(&mut self) -> Vec<Event> {
        self.until(|event| event.kind == "activity" && event.data["data"]["state"] == "idle").await
    }

    fn take_frames(&mut self) {
        while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
            let frame: Vec<u8> = self.unread.drain(..end + 2).collect();
            self.events.extend(Event::read(std::str::from_utf8(&frame).unwrap()));
        }
    }
}

impl Event {
    fn read(frame: &str) -> Option<Self> {
        let (mut id, mut kind, mut data) = (None, String::new(), String::new());
        for line in frame.lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "id" => id = Some(value.parse().unwrap()),
                "event" => kind = value.to_owned(),
                "data" => data.push_str(value),
                // Comments keep the connection open.
                "" | "retry" => {}
                other => panic!("{other} in {frame}"),
            }
        }
        if data.is_empty() {
            return None;
        }
        Some(Self { id, kind, data: serde_json::from_str(&data).unwrap() })
    }
}
