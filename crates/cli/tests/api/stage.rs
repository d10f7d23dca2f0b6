//! The real program, serving on a loopback port with a data folder of its own and a vendor that does what it is told.
//! Everything here goes over HTTP, as a client would.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::following::Stream;
use crate::vendor::{MODEL, Vendor};

/// Far longer than anything here takes; reached only when something is broken.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub struct House {
    pub folder: TempDir,
    pub vendor: Vendor,
    pub url: String,
    pub client: reqwest::Client,
    /// Sent with every request.
    pub token: Option<String>,
    child: Option<Child>,
}

/// What the server said.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
    asked: String,
}

/// A chat of some world.
#[derive(Clone, Debug)]
pub struct Chat {
    pub world: String,
    pub id: String,
}

impl House {
    pub async fn open() -> Self {
        // Another test of this process may have been first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let mut house = Self {
            folder: tempfile::tempdir().unwrap(),
            vendor: Vendor::start().await,
            url: String::new(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            token: None,
            child: None,
        };
        house.start().await;
        house
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-world"));
        command
            .args(arguments)
            .env("AGENT_WORLD_DATA", self.folder.path().join("data"))
            .env("USER", "tester")
            .env("OPENAI_API_KEY", "sk-test-of-the-house")
            .env("OPENAI_BASE_URL", self.vendor.url())
            .env_remove("AGENT_WORLD_LOG")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Starts the server and waits until it says where it listens.
    pub async fn start(&mut self) {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let found = tokio::time::timeout(DEADLINE, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(at) = line.find("http://") {
                    let rest = &line[at..];
                    let end = rest.find([' ', '\u{1b}']).unwrap_or(rest.len());
                    return rest[..end].trim_end_matches('/').to_owned();
                }
            }
            panic!("the server said no address");
        });
        self.url = found.await.expect("the server says where it listens");
        // What it says later must not fill the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
    }

    /// A new token, made beside the running server.
    pub async fn make_token(&self, name: &str, role: &str) -> String {
        let mut command = self.command(&["token", "create", name, "--role", role, "--json"]);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        let token = made["token"].as_str().unwrap().to_owned();
        if self.child.is_none() {
            return token;
        }
        // The server looks for new ones about every half second.
        let known = async {
            loop {
                let request = self.client.get(format!("{}/api/me", self.url)).bearer_auth(&token);
                let answer = self.send(request).await;
                if answer.status == 200 && answer.json()["authenticated"] == true {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(DEADLINE, known).await.expect("the server learns of the token");
        token
    }

    /// Ends the server as a crash would.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// Asks the server to end, and says how it did.
    pub async fn terminate(&mut self) -> std::process::ExitStatus {
        let mut child = self.child.take().unwrap();
        let id = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        tokio::time::timeout(DEADLINE, child.wait()).await.expect("the server ends").unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id().unwrap()
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let asked = format!("{} {}", request.method(), request.url().path());
        let response = self.client.execute(request);
        let response = tokio::time::timeout(DEADLINE, response).await.expect(&asked).unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = tokio::time::timeout(DEADLINE, response.text()).await.expect(&asked).unwrap();
        Answer { status, headers, text, asked }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, body).await
    }

    /// A world with these agents, all of the test's vendor; more settings may be given.
    pub async fn world(&self, id: &str, agents: &[&str], settings: Value) -> Chat {
        let agents: Vec<Value> =
            agents.iter().map(|id| json!({"id": id, "name": id, "model": MODEL})).collect();
        let mut body = json!({"id": id, "name": id, "agents": agents});
        body.as_object_mut().unwrap().extend(settings.as_object().cloned().unwrap_or_default());
        self.post("/api/worlds", body).await.is(201);
        let chats = self.get(&format!("/api/worlds/{id}/chats")).await.is(200).json();
        let chat = chats["data"][0]["id"].as_str().unwrap().to_owned();
        Chat { world: id.to_owned(), id: chat }
    }

    /// A new chat of a world.
    pub async fn chat(&self, world: &str) -> Chat {
        let chat = self.post(&format!("/api/worlds/{world}/chats"), json!({})).await.is(201).json();
        Chat { world: world.to_owned(), id: chat["id"].as_str().unwrap().to_owned() }
    }

    /// Posts a human message and returns it.
    pub async fn say(&self, chat: &Chat, text: &str) -> Value {
        let answer = self.post(&chat.path("/messages"), json!({"content": text})).await;
        answer.is(202).json()["message"].clone()
    }

    /// Everything that was said in a chat, oldest first.
    pub async fn messages(&self, chat: &Chat) -> Vec<Value> {
        self.list(&chat.path("/messages")).await
    }

    /// All pages of a list.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let separator = if path.contains('?') { '&' } else { '?' };
            let page =
                self.get(&format!("{path}{separator}limit=1000{after}")).await.is(200).json();
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }

    /// Follows a stream of events from a place on.
    pub async fn follow(&self, path: &str, after: Option<u64>) -> Stream {
        Stream::open(self, path, after).await
    }

    /// Waits until nobody works in a chat and nothing but people is waited for.
    pub async fn settled(&self, chat: &Chat) {
        let mut stream = self.follow(&chat.path("/events"), Some(0)).await;
        loop {
            let shown = self.get(&chat.path("")).await.is(200).json();
            let activity = &shown["activity"];
            let agents = activity["agents"].as_array().unwrap();
            let waits = |agent: &Value| agent["doing"].as_str().unwrap().starts_with("awaiting_");
            if activity["state"] == "idle" || (!agents.is_empty() && agents.iter().all(waits)) {
                return;
            }
            stream.next_stored().await;
        }
    }

    /// What waits for a decision in a chat, oldest first.
    pub async fn waiting(&self, chat: &Chat) -> Vec<Value> {
        self.list(&format!("/api/approvals?state=pending&world={}", chat.world)).await
    }

    pub async fn decide(&self, approval: &Value, body: Value) -> Answer {
        self.post(&format!("/api/approvals/{}", approval["id"].as_str().unwrap()), body).await
    }
}

impl Chat {
    /// A path below the chat.
    pub fn path(&self, rest: &str) -> String {
        format!("/api/worlds/{}/chats/{}{rest}", self.world, self.id)
    }
}

impl Answer {
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text);
        self
    }

    /// A problem document with this status and code.
    #[track_caller]
    pub fn refused(self, status: StatusCode, code: &str) -> Value {
        let problem = self.is(status.as_u16());
        let kind = problem.headers["content-type"].to_str().unwrap().to_owned();
        assert!(kind.starts_with("application/problem+json"), "{kind}: {}", problem.text);
        let body = problem.json();
        assert_eq!(body["code"], code, "{body}");
        for field in ["type", "title", "detail"] {
            assert!(body[field].is_string(), "no {field} in {body}");
        }
        assert_eq!(body["status"], status.as_u16());
        body
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", self.asked, self.text))
    }
}
