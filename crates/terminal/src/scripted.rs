//! A transport that answers as a test says, and remembers what it was asked.
//! Used by tests of what goes over a connection. Answers nobody has written down are refused with 404.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent_world_client::{Answer, Client, Error, Result, Transport};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};

/// Answers to requests whose path begins with something, in order; the last is given again and again.
#[derive(Debug, Default)]
pub struct Script {
    lines: Mutex<Vec<(&'static str, VecDeque<Said>)>>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone, Debug)]
pub enum Said {
    Nothing,
    This(u16, Value),
}

impl Script {
    pub fn new(lines: Vec<(&'static str, Vec<Said>)>) -> Arc<Self> {
        let lines = lines.into_iter().map(|(path, said)| (path, said.into())).collect();
        Arc::new(Self { lines: Mutex::new(lines), asked: Mutex::default() })
    }

    pub fn client(self: &Arc<Self>) -> Client {
        Client::new(Arc::<Self>::clone(self))
    }

    /// What was asked so far, as `POST /path`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Transport for Script {
    async fn exchange(&self, request: Request<Bytes>) -> Result<Answer> {
        let asked = format!("{} {}", request.method(), request.uri());
        self.asked.lock().unwrap().push(asked.clone());
        let mut lines = self.lines.lock().unwrap();
        let line = lines.iter_mut().find(|(path, _)| asked.starts_with(path));
        let said = line.and_then(|(_, said)| match said.len() {
            0 | 1 => said.front().cloned(),
            _ => said.pop_front(),
        });
        let missing = Said::This(404, json!({"code": "not_found", "detail": "there is none"}));
        match said.unwrap_or(missing) {
            Said::Nothing => {
                Err(Error::Unreachable { place: self.place(), cause: "nobody".to_owned() })
            }
            Said::This(status, body) => {
                let body = stream::iter([Ok(Bytes::from(body.to_string()))]).boxed();
                Ok(Answer::new(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body))
            }
        }
    }

    fn place(&self) -> String {
        "a script".to_owned()
    }
}
