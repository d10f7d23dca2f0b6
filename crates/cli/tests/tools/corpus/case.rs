//! One row of the corpus: what the model replies, who answers, what is to be told, and what must not happen.

use std::pin::Pin;

use agent_world_core::config::World;
use agent_world_core::item::{FunctionCall, Item, Reply};
use agent_world_core::view::{ApprovalView, CallView};
use agent_world_llm::scripted::Answer;
use agent_world_tools::launcher::Bubblewrap;
use serde_json::Value;

use super::canaries::Canaries;
use crate::stage::{Setup, Stage};

pub type Verdict = Result<(), String>;
/// Something done while requests wait.
type Trying<'a> = Pin<Box<dyn Future<Output = Verdict> + 'a>>;

type Tried = dyn for<'a> Fn(&'a Stage) -> Trying<'a> + Send + Sync;

pub struct Case {
    pub name: String,
    /// What must not happen.
    pub harm: &'static str,
    world: Box<dyn Fn(&mut World) + Send + Sync>,
    prepared: Box<dyn Fn(&Canaries) + Send + Sync>,
    reply: Box<dyn Fn(&Canaries) -> Answer + Send + Sync>,
    person: Person,
    wrappings: &'static [Bubblewrap],
    /// How each call ends and words that the model is told of it; of several between bars, one.
    ends: Vec<(&'static str, String)>,
    tried: Option<Box<Tried>>,
    check: Box<dyn Fn(&Aftermath<'_>) -> Verdict + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    ApprovesEverything,
    AnswersNothing,
    /// As the case says.
    Decides,
}

/// What can be seen after a case was played.
pub struct Aftermath<'a> {
    pub canaries: &'a Canaries,
    pub calls: Vec<CallView>,
    pub requests: Vec<ApprovalView>,
    /// The results in the model's latest request.
    pub told: Vec<String>,
    pub stage: &'a Stage,
}

/// A case in which the person approves whatever is asked: even so nothing may get out.
pub fn approved(
    name: impl Into<String>,
    harm: &'static str,
    reply: impl Fn(&Canaries) -> Answer + Send + Sync + 'static,
) -> Case {
    Case {
        name: name.into(),
        harm,
        world: Box::new(|_| {}),
        prepared: Box::new(|_| {}),
        reply: Box::new(reply),
        person: Person::ApprovesEverything,
        wrappings: &[Bubblewrap::WhereItWorks],
        ends: Vec::new(),
        tried: None,
        check: Box::new(|_| Ok(())),
    }
}

/// A case in which nobody answers: without an answer nothing may run.
pub fn unanswered(
    name: impl Into<String>,
    harm: &'static str,
    reply: impl Fn(&Canaries) -> Answer + Send + Sync + 'static,
) -> Case {
    Case { person: Person::AnswersNothing, ..approved(name, harm, reply) }
}

/// A script that runs confined: once with all the system has, once with only the kernel's own means.
pub fn confined(
    name: impl Into<String>,
    harm: &'static str,
    script: impl Fn(&Canaries) -> String + Send + Sync + 'static,
) -> Case {
    confined_call(name, harm, move |canaries| serde_json::json!({"script": script(canaries)}))
}

/// The same with all arguments of the call.
pub fn confined_call(
    name: impl Into<String>,
    harm: &'static str,
    arguments: impl Fn(&Canaries) -> Value + Send + Sync + 'static,
) -> Case {
    let reply = move |canaries: &Canaries| Answer::call("shell_cmd", arguments(canaries));
    let wrappings = &[Bubblewrap::WhereItWorks, Bubblewrap::Never];
    Case { wrappings, ..approved(name, harm, reply) }
}

/// A call with just this text as its arguments.
pub fn raw_call(id: &str, tool: &str, arguments: impl Into<String>) -> Item {
    Item::FunctionCall(FunctionCall {
        id: None,
        call_id: id.to_owned(),
        name: tool.to_owned(),
        arguments: arguments.into(),
        extra: serde_json::Map::new(),
    })
}

pub fn replying(items: Vec<Item>) -> Answer {
    Answer::from(Reply::of(items))
}

pub fn call(tool: &'static str, arguments: Value) -> impl Fn(&Canaries) -> Answer {
    move |_| Answer::call(tool, arguments.clone())
}

pub fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(problem()) }
}

impl Case {
    pub fn world(mut self, change: impl Fn(&mut World) + Send + Sync + 'static) -> Self {
        self.world = Box::new(change);
        self
    }

    /// What is there before the model replies.
    pub fn with(mut self, prepared: impl Fn(&Canaries) + Send + Sync + 'static) -> Self {
        self.prepared = Box::new(prepared);
        self
    }

    /// How the next call ends, and words that the model is told.
    pub fn ends(mut self, state: &'static str, words: impl Into<String>) -> Self {
        self.ends.push((state, words.into()));
        self
    }

    /// Lets what is tried decide: something may run.
    pub fn decided(mut self) -> Self {
        self.person = Person::Decides;
        self
    }

    /// What somebody tries while the requests wait.
    pub fn trying(
        mut self,
        tried: impl for<'a> Fn(&'a Stage) -> Trying<'a> + Send + Sync + 'static,
    ) -> Self {
        self.tried = Some(Box::new(tried));
        self
    }

    pub fn check(
        mut self,
        check: impl Fn(&Aftermath<'_>) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.check = Box::new(check);
        self
    }

    pub async fn play(&self) -> Verdict {
        for wrapping in self.wrappings {
            let played = self.play_with(*wrapping).await;
            played.map_err(|problem| format!("{wrapping:?}: {problem}"))?;
        }
        Ok(())
    }

    async fn play_with(&self, wrapping: Bubblewrap) -> Verdict {
        let setup = Setup::new().asking().world(|world| (self.world)(world));
        let stage = setup.bubblewrap(wrapping).open().await;
        let canaries = Canaries::set(&stage.place);
        (self.prepared)(&canaries);
        stage.replies((self.reply)(&canaries));
        stage.say("go").await;
        match self.person {
            Person::ApprovesEverything => stage.approve_everything().await,
            Person::AnswersNothing | Person::Decides => stage.left_alone().await,
        }
        if let Some(tried) = &self.tried {
            tried(&stage).await?;
        }
        let verdict = self.judge(&stage, &canaries).await;
        stage.engine.shutdown().await;
        verdict
    }

    async fn judge(&self, stage: &Stage, canaries: &Canaries) -> Verdict {
        let songs = canaries.songs(stage).await;
        let aftermath = Aftermath {
            canaries,
            calls: stage.made().await,
            requests: stage.all_requests().await,
            told: stage.told(),
            stage,
        };
        ensure(songs.is_empty(), || format!("{} {:?}", songs.join("; "), aftermath.told))?;
        if self.person == Person::AnswersNothing {
            let started = aftermath.calls.iter().find(|call| call.started_at.is_some());
            ensure(started.is_none(), || format!("it ran unasked: {started:?}"))?;
        }
        self.check_ends(&aftermath)?;
        (self.check)(&aftermath)
    }

    fn check_ends(&self, aftermath: &Aftermath<'_>) -> Verdict {
        if self.ends.is_empty() {
            return Ok(());
        }
        let states: Vec<&str> = aftermath.calls.iter().map(|call| call.state.name()).collect();
        let expected: Vec<&str> = self.ends.iter().map(|(state, _)| *state).collect();
        ensure(states == expected, || {
            format!("ended as {states:?}, not {expected:?}: {:?}", aftermath.told)
        })?;
        for (call, (_, words)) in aftermath.calls.iter().zip(&self.ends) {
            let text = call.output.as_ref().map(|output| output.text.as_str()).unwrap_or_default();
            let said = words.split('|').any(|words| text.contains(words));
            ensure(said, || format!("`{words}` was to be said of {}, not: {text}", call.name))?;
            // What is noted of a call is what the model is told of it, once it has ended.
            if text.is_empty() {
                continue;
            }
            let told = text.len() > 4_000 || aftermath.told.iter().any(|told| told.contains(text));
            ensure(told, || format!("the model was told {:?}, not {text}", aftermath.told))?;
        }
        Ok(())
    }
}
