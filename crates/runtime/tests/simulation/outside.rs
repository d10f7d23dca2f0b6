//! What stands outside the engine: a clock, a model and tools. The tools keep a ledger of what they really did, which
//! survives every crash, as the real world does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{Approval, Modes, ToolSpec};
use agent_world_core::event::Output;
use agent_world_core::ids::CallId;
use agent_world_core::item::{Item, Reply};
use agent_world_llm::{Class, Error, Events, Model, Request, Response, whole};
use agent_world_runtime::Environment;
use agent_world_tools::{Failure, Invocation, Tool};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::random::Random;

pub const AGENTS: [&str; 3] = ["ada", "bob", "cyd"];

/// Virtual time and seeded bits.
#[derive(Debug)]
pub struct Outside {
    pub began: tokio::time::Instant,
    pub random: Random,
}

impl Environment for Outside {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp::from_millisecond(1_800_000_000_000 + passed).unwrap()
    }

    fn entropy(&self) -> u128 {
        (u128::from(self.random.next()) << 64) | u128::from(self.random.next())
    }
}

/// Speaks, calls, fails and misbehaves at random.
#[derive(Clone, Debug)]
pub struct RandomModel {
    pub random: Random,
}

impl Model for RandomModel {
    fn stream(&self, request: Request) -> Events {
        let model = self.clone();
        whole(async move { model.reply(&request).await.map(Response::from) })
    }
}

impl RandomModel {
    async fn reply(&self, request: &Request) -> Result<Reply, Error> {
        tokio::time::sleep(self.random.milliseconds(400)).await;
        if request.tools.is_empty() {
            return Ok(Reply::text("A title of four words"));
        }
        match self.random.below(100) {
            0..=4 => Err(Error {
                class: Class::Overloaded,
                vendor: "random".to_owned(),
                message: "overloaded".to_owned(),
                status: Some(529),
                request_id: None,
            }),
            5..=49 => Ok(Reply::text(self.speak())),
            _ => {
                let calls = 1 + self.random.below(3);
                Ok(Reply::of((0..calls).map(|_| self.call()).collect()))
            }
        }
    }

    fn speak(&self) -> String {
        let word = self.random.next();
        match self.random.below(6) {
            0 => format!("@{} what about {word}?", self.random.pick(&AGENTS).unwrap()),
            1 => format!("<world>STOP</world> enough {word}"),
            2 => String::new(),
            _ => format!("said {word}"),
        }
    }

    fn call(&self) -> Item {
        let arguments = json!({"what": self.random.below(4).to_string()});
        // Vendors repeat and omit ids.
        let id = ["", "same", "same"][self.random.below(3) as usize];
        match self.random.below(20) {
            0 => Item::call(id, "no_such_tool", &arguments),
            1 => Item::call(id, "client.requestApproval", &json!({"decision": "approve"})),
            2 => Item::call(id, "act", &json!({"what": [1]})),
            3..=5 => Item::call(id, "look", &arguments),
            6..=9 => Item::call(id, "later", &arguments),
            10 => Item::call(id, "hang", &arguments),
            _ => Item::call(id, "act", &arguments),
        }
    }
}

/// One thing a tool really did.
#[derive(Clone, Debug)]
pub struct Deed {
    pub call: CallId,
    pub tool: String,
    pub arguments: Value,
}

pub type Deeds = Arc<Mutex<Vec<Deed>>>;

/// A tool with a life outside. It takes time, and may be cut short in the middle.
#[derive(Debug)]
pub struct Doer {
    pub spec: ToolSpec,
    pub deeds: Deeds,
    pub random: Random,
}

#[async_trait]
impl Tool for Doer {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        self.deeds.lock().unwrap().push(Deed {
            call: invocation.call.clone(),
            tool: self.spec.name.clone(),
            arguments: invocation.arguments.clone(),
        });
        let takes = match self.spec.name.as_str() {
            "hang" => Duration::from_secs(86_400),
            _ => self.random.milliseconds(600),
        };
        tokio::select! {
            biased;
            () = invocation.cancelled.cancelled() => return Err(Failure::text("cut short")),
            () = tokio::time::sleep(takes) => {}
        }
        if self.random.chance(10) {
            return Err(Failure::text("did not work"));
        }
        Ok(Output::text(format!("done {}", invocation.arguments)))
    }
}

/// `act` asks, `look` may be repeated, `later` runs in the background and asks, `hang` never ends by itself.
pub fn tools(deeds: &Deeds, random: &Random) -> Vec<Arc<dyn Tool>> {
    let parameters = json!({
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
    });
    let spec = |name: &str| ToolSpec::new(name, "does something", parameters.clone());
    let free = Approval::not_required();
    let specs = [
        spec("act"),
        ToolSpec { read_only: true, approval: free.clone(), ..spec("look") },
        ToolSpec { mode: Modes::Background, ..spec("later") },
        ToolSpec { timeout_seconds: 2, approval: free, ..spec("hang") },
    ];
    specs
        .into_iter()
        .map(|spec| {
            let doer = Doer { spec, deeds: Arc::clone(deeds), random: random.clone() };
            Arc::new(doer) as Arc<dyn Tool>
        })
        .collect()
}
