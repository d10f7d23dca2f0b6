//! A small web server for cases that no real MCP server shows: logins, endless answers, redirects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub struct Told {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// How often the body is sent; for ever, if the client lets us.
    pub times: usize,
}

impl Told {
    pub fn json(value: &Value) -> Self {
        Self {
            status: "200 OK",
            headers: vec![("content-type", "application/json".to_owned())],
            body: value.to_string().into_bytes(),
            times: 1,
        }
    }

    pub fn status(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), times: 1 }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A server on a port of its own, and what it was asked.
pub struct Web {
    pub origin: String,
    pub asked: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub async fn start(answer: impl Fn(&str, &Asked) -> Told + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (own, seen, answer) = (origin.clone(), Arc::clone(&asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (own, seen, answer) = (own.clone(), Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut stream = stream;
                    if let Some(one) = read(&mut stream).await {
                        seen.lock().unwrap().push(one.clone());
                        write(&mut stream, answer(&own, &one)).await;
                    }
                });
            }
        });
        Self { origin, asked }
    }

    /// The paths that were asked for, without their queries.
    pub fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|one| one.path.split('?').next().unwrap().to_owned()).collect()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let mut first = lines.next()?.split(' ').map(str::to_owned);
            let headers: BTreeMap<String, String> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                let (method, path) = (first.next()?, first.next()?);
                return Some(Asked { method, path, headers, body: body.to_owned() });
            }
        }
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

async fn write(stream: &mut TcpStream, told: Told) {
    let mut head = format!("HTTP/1.1 {}\r\nconnection: close\r\n", told.status);
    for (name, value) in &told.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if told.times == 1 {
        head.push_str(&format!("content-length: {}\r\n", told.body.len()));
    }
    head.push_str("\r\n");
    let mut open = stream.write_all(head.as_bytes()).await.is_ok();
    let mut times = told.times;
    // A client that has seen enough closes the connection.
    while open && times > 0 {
        open = stream.write_all(&told.body).await.is_ok();
        times -= 1;
    }
}
