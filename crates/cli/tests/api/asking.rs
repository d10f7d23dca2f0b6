//! Short ways to say what tests of this suite say often: agents that can be told apart, calls, and what came of them.
//! Only words: everything goes through [`House`].

use std::time::Duration;

use agent_world_llm::Request;
use serde_json::{Value, json};

use crate::stage::{Chat, DEADLINE, House};
use crate::vendor::MODEL;

/// How the request for a chat's title begins.
const TITLE: &str = "Name the conversation";

/// Agents of the test's vendor whose instructions say who they are.
pub fn agents(ids: &[&str]) -> Value {
    let agent = |id: &&str| json!({"id": id, "name": id, "model": MODEL, "instructions": format!("you are {id}")});
    ids.iter().map(agent).collect()
}

/// Settings of a world in which everything is allowed.
pub fn trusted() -> Value {
    json!({"policy": {"preset": "trusted", "rules": [{"id": "all", "ruling": "allow", "tool": "*"}]}})
}

/// The line by which a message makes the model call a tool.
pub fn call(tool: &str, arguments: Value) -> String {
    format!("!call {tool} {arguments}")
}

/// A script for bash, as a call.
pub fn script(text: &str) -> String {
    call("shell_cmd", json!({"script": text}))
}

pub fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field} in {value:#}"))
}

/// Who said what, requests and results left out.
pub fn said(messages: &[Value]) -> Vec<(&str, &str)> {
    let spoken = messages.iter().filter(|message| message["role"] != "tool");
    let spoken =
        spoken.filter(|message| message["tool_calls"].as_array().is_none_or(Vec::is_empty));
    spoken.map(|message| (text(message, "sender"), text(message, "content"))).collect()
}

/// Who asked the vendor, in order, titles left out.
pub fn askers(house: &House) -> Vec<String> {
    turns(house).iter().map(|request| who(request).to_owned()).collect()
}

/// What the vendor was asked by agents, titles left out.
pub fn turns(house: &House) -> Vec<Request> {
    let mut asked = house.vendor.asked();
    asked.retain(|request| !is_title(request));
    asked
}

pub fn is_title(request: &Request) -> bool {
    request.instructions.starts_with(TITLE)
}

/// The agent whose instructions a request has.
pub fn who(request: &Request) -> &str {
    let instructions = &request.instructions;
    let (_, rest) = instructions.split_once("you are ").unwrap_or(("", "nobody"));
    rest.split_whitespace().next().unwrap_or_default()
}

/// A request as JSON text, to look for words in.
pub fn seen(request: &Request) -> String {
    serde_json::to_string(&request.input).unwrap()
}

/// Waits until something is so that no event tells of.
pub async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(DEADLINE, async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.expect(what);
}

/// How many processes have this among their arguments.
pub fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let line = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline"));
    let lines = all.filter_map(|process| line(process).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

impl House {
    /// A world of agents that can be told apart.
    pub async fn world_of(&self, id: &str, agents: &[&str], settings: Value) -> Chat {
        let mut all = json!({"agents": self::agents(agents)});
        all.as_object_mut().unwrap().extend(settings.as_object().cloned().unwrap_or_default());
        self.world(id, &[], all).await
    }

    /// Another chat of the same world.
    pub async fn another_chat(&self, chat: &Chat) -> Chat {
        let path = format!("/api/worlds/{}/chats", chat.world);
        let made = self.post(&path, json!({})).await.is(201).json();
        Chat { world: chat.world.clone(), id: text(&made, "id").to_owned() }
    }

    /// Posts a message and waits until only people are waited for.
    pub async fn say_and_settle(&self, chat: &Chat, text: &str) -> Value {
        let posted = self.say(chat, text).await;
        self.settled(chat).await;
        posted
    }

    /// What waits for a decision in one chat, oldest first.
    pub async fn waiting_in(&self, chat: &Chat) -> Vec<Value> {
        self.list(&format!("/api/approvals?state=pending&chat={}", chat.id)).await
    }

    pub async fn approval(&self, approval: &Value) -> Value {
        self.get(&format!("/api/approvals/{}", text(approval, "id"))).await.is(200).json()
    }

    /// The calls of a chat, oldest first.
    pub async fn calls(&self, chat: &Chat) -> Vec<Value> {
        self.list(&chat.path("/tool-calls")).await
    }

    pub async fn last_call(&self, chat: &Chat) -> Value {
        self.calls(chat).await.pop().expect("a call")
    }

    /// The text of the newest message.
    pub async fn last_words(&self, chat: &Chat) -> String {
        let messages = self.messages(chat).await;
        text(messages.last().expect("a message"), "content").to_owned()
    }
}
