//! One run of the simulation: set the scene, let people act under faults, then let everything come to rest and check.

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{AfterDenial, Agent, World};
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_core::view::Doing;
use agent_world_store::memory::faults::{Fault, Operation, Sabotage};
use agent_world_store::{Memory, Store};
use tokio::sync::Notify;

use crate::checks;
use crate::node::{Node, Parts};
use crate::outside::AGENTS;
use crate::people::People;
use crate::random::Random;

/// What is to happen in a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub steps: u64,
    /// Of a hundred appends, how many go wrong.
    pub faults: u64,
    /// Of a hundred steps, how many end in a crash.
    pub crashes: u64,
    pub die_at: Option<(u64, Death)>,
    pub sabotage: Sabotage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    BeforeCommit,
    AfterCommit,
}

/// What happened in a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub appends: u64,
    pub events: u64,
    pub crashes: u64,
    pub tools_run: u64,
    pub decisions: u64,
    pub interrupted: u64,
    pub fingerprint: String,
}

impl Plan {
    pub fn random(seed: u64) -> Self {
        let sabotage = Sabotage::default();
        Self { seed, steps: 40, faults: 4, crashes: 6, die_at: None, sabotage }
    }

    /// Without faults: every append boundary of such a run is tried as a place to die.
    pub fn calm(seed: u64) -> Self {
        let sabotage = Sabotage::default();
        Self { seed, steps: 14, faults: 0, crashes: 0, die_at: None, sabotage }
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.appends += other.appends;
        self.events += other.events;
        self.crashes += other.crashes;
        self.tools_run += other.tools_run;
        self.decisions += other.decisions;
        self.interrupted += other.interrupted;
    }
}

/// Runs a plan in virtual time. An error says which promise was broken.
pub fn run(plan: Plan) -> Result<Report, String> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    let ran = catch_unwind(AssertUnwindSafe(|| tokio.block_on(simulate(plan))));
    ran.unwrap_or_else(|panic| Err(format!("panicked: {}", words(panic.as_ref()))))
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

async fn simulate(plan: Plan) -> Result<Report, String> {
    let random = Random::new(plan.seed);
    let parts = Parts {
        random: random.clone(),
        began: tokio::time::Instant::now(),
        deeds: Arc::default(),
        seen: Arc::default(),
    };
    let memory = Memory::new();
    memory.sabotage(plan.sabotage);
    let mut node = Node::start(memory, &parts);
    let chats = set_the_scene(&node, &random).await;
    let died = Arc::new(Notify::new());
    node.memory.set_faults(faults(plan, random.clone(), Arc::clone(&died)));

    let mut people = People::new(random.clone(), chats);
    let mut crashes = 0;
    for _ in 0..plan.steps {
        // Whoever was waiting for the process when it died gets no answer.
        let lived = tokio::select! {
            biased;
            () = died.notified() => false,
            () = step(&random, &mut people, &node) => true,
        };
        if !lived || random.chance(plan.crashes) {
            node = node.restart(&parts).await;
            crashes += 1;
        }
    }
    node.memory.clear_faults();
    // The last step may have ended in a death that nobody has noticed yet.
    if plan.faults > 0 || plan.die_at.is_some() {
        node = node.restart(&parts).await;
        crashes += 1;
    }
    come_to_rest(&node, &mut people).await?;
    let mut report = checks::check(&node, &people, &parts).await?;
    report.crashes = crashes;
    report.appends = node.memory.appends();
    node.worker.shutdown().await;
    node.visitor.shutdown().await;
    Ok(report)
}

async fn step(random: &Random, people: &mut People, node: &Node) {
    tokio::time::sleep(random.milliseconds(700)).await;
    people.act(node).await;
}

async fn set_the_scene(node: &Node, random: &Random) -> Vec<ChatId> {
    let mut world = World::new(WorldId::new("sim"), "Simulation", Timestamp::UNIX_EPOCH);
    world.turn_limit = 3;
    world.max_iterations = 4;
    world.default_model = Some("random/any".to_owned());
    world.approval_timeout_seconds = random.chance(30).then_some(20);
    if random.chance(30) {
        world.after_denial = AfterDenial::Wait;
    }
    for name in AGENTS {
        let mut agent = Agent::new(name);
        agent.parallel_tool_calls = random.chance(70);
        world.agents.push(agent);
    }
    let world = node.worker.create_world(world, "eve").await.unwrap();
    let second = node.worker.create_chat(&world.id, None, "eve").await.unwrap();
    let first = node.memory.chats(&world.id, None, 1).await.unwrap().remove(0);
    vec![first.id, second.id]
}

fn faults(
    plan: Plan,
    random: Random,
    died: Arc<Notify>,
) -> impl FnMut(&Operation<'_>) -> Fault + Send {
    let mut appends = 0;
    move |operation| {
        let Operation::Append { .. } = operation else {
            // Reads fail too, but less often: every path has to cope.
            let fails = plan.faults > 0 && random.chance(1);
            return if fails { Fault::FailBefore } else { Fault::Proceed };
        };
        appends += 1;
        let fault = match plan.die_at {
            Some((number, Death::BeforeCommit)) if number == appends => Fault::DieBefore,
            Some((number, Death::AfterCommit)) if number == appends => Fault::DieAfter,
            _ if random.chance(plan.faults) => {
                [Fault::FailBefore, Fault::FailAfter, Fault::DieBefore, Fault::DieAfter]
                    [random.below(4) as usize]
            }
            _ => Fault::Proceed,
        };
        if matches!(fault, Fault::DieBefore | Fault::DieAfter) {
            died.notify_one();
        }
        fault
    }
}

/// Without faults and with people who answer, everything must end: nothing is owed, nothing waits.
async fn come_to_rest(node: &Node, people: &mut People) -> Result<(), String> {
    for _ in 0..2_000 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        people.repeat_posts(&node.worker).await;
        people.decide_all(node).await;
        let chats = node.memory.chats(&WorldId::new("sim"), None, 100).await.unwrap();
        for chat in &chats {
            for agent in &chat.activity.agents {
                if agent.doing == Doing::AwaitingHuman {
                    people.speak_to(&node.worker, &chat.id, &agent.agent).await;
                }
            }
        }
        let due = node.memory.due(Timestamp::MAX, None, 1).await.unwrap();
        let busy = chats.iter().any(|chat| chat.activity.busy || !chat.activity.waiting.is_empty());
        if !busy && due.is_empty() && !people.is_waiting() {
            return Ok(());
        }
    }
    let chats = node.memory.chats(&WorldId::new("sim"), None, 100).await.unwrap();
    let activities: Vec<_> = chats.iter().map(|chat| &chat.activity).collect();
    Err(format!("never came to rest: {activities:#?}"))
}
