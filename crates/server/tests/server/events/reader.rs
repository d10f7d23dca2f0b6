//! A client of the event streams and pages, as plain as can be.

use std::collections::VecDeque;
use std::net::SocketAddr;

use axum::body::{Body, BodyDataStream};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A frame of a stream, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    pub id: Option<u64>,
    pub event: String,
    pub data: String,
    /// A comment or a setting.
    pub other: String,
}

impl Frame {
    fn read(text: &str) -> Self {
        let mut frame = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.split_once(": ") {
                Some(("id", id)) => frame.id = Some(id.parse().unwrap()),
                Some(("event", name)) => frame.event = name.to_owned(),
                Some(("data", data)) => {
                    assert!(frame.data.is_empty(), "one line of data: {text}");
                    frame.data = data.to_owned();
                }
                _ => frame.other = line.to_owned(),
            }
        }
        frame
    }

    /// What stands around an event is what it says itself.
    fn check(&self) {
        if let Some(id) = self.id {
            let event = self.json();
            assert_eq!((&event["seq"], &event["type"]), (&id.into(), &self.event.clone().into()));
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A server, and somebody who speaks plain HTTP with it.
#[derive(Clone, Debug)]
pub struct Host {
    client: reqwest::Client,
    address: SocketAddr,
}

impl Host {
    pub fn new(address: SocketAddr) -> Self {
        // What would be encrypted with must be said all the same. An error means that it was said before.
        rustls::crypto::ring::default_provider().install_default().ok();
        Self { client: reqwest::Client::new(), address }
    }

    pub fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("http://{}{path}", self.address))
    }
}

enum Source {
    Http(reqwest::Response),
    Router(BodyDataStream),
}

pub struct Reader {
    source: Source,
    text: Vec<u8>,
    frames: VecDeque<Frame>,
}

impl Reader {
    pub async fn open(host: &Host, topic: &str, after: Option<u64>) -> Self {
        let mut request = host.get(topic).header("Accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self::new(Source::Http(response))
    }

    /// Without a connection: nothing is buffered in between.
    pub fn of_router(body: Body) -> Self {
        Self::new(Source::Router(body.into_data_stream()))
    }

    fn new(source: Source) -> Self {
        Self { source, text: Vec::new(), frames: VecDeque::new() }
    }

    /// The next frame; none when the stream has ended.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            let read = match &mut self.source {
                Source::Http(response) => response.chunk().await.unwrap(),
                Source::Router(body) => body.next().await.map(Result::unwrap),
            };
            self.text.extend_from_slice(&read?);
            while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.text.drain(..end + 2).collect();
                let frame = Frame::read(std::str::from_utf8(&frame).unwrap());
                // Very many readers would do little else.
                if let Source::Http(_) = self.source {
                    frame.check();
                }
                self.frames.push_back(frame);
            }
        }
    }

    /// The next stored event.
    pub async fn event(&mut self) -> Frame {
        loop {
            let frame = self.next().await.expect("the stream has ended");
            if frame.id.is_some() {
                return frame;
            }
        }
    }

    /// All stored events up to one.
    pub async fn up_to(&mut self, last: u64) -> Vec<Frame> {
        let mut read = Vec::new();
        loop {
            read.push(self.event().await);
            if read.last().and_then(|frame| frame.id).unwrap() >= last {
                return read;
            }
        }
    }

    /// Everything up to the end of the stream.
    pub async fn rest(&mut self) -> Vec<Frame> {
        let mut read = Vec::new();
        while let Some(frame) = self.next().await {
            read.push(frame);
        }
        read
    }
}

/// A page of events, each as it was sent.
#[derive(Deserialize)]
pub struct Page<'a> {
    #[serde(borrow)]
    pub data: Vec<&'a RawValue>,
    pub next: Option<String>,
}

impl Page<'_> {
    pub async fn all(host: &Host, topic: &str, limit: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let joint = if topic.contains('?') { '&' } else { '?' };
            let path = format!("{topic}{joint}after={after}&limit={limit}");
            let response = host.get(&path).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let text = response.text().await.unwrap();
            let page: Page<'_> = serde_json::from_str(&text).unwrap();
            assert!(page.data.len() <= limit);
            all.extend(page.data.iter().map(|event| event.get().to_owned()));
            match page.next {
                Some(next) => after = next,
                None => return all,
            }
        }
    }
}

pub fn numbers(events: &[String]) -> Vec<u64> {
    let number =
        |event: &String| serde_json::from_str::<Value>(event).unwrap()["seq"].as_u64().unwrap();
    events.iter().map(number).collect()
}
