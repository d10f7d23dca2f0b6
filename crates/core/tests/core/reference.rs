//! A small model of a chat, written from the description of its behaviour and not from the code: who is busy, what waits
//! for whom, which calls and requests are open. `walk` compares it with the real thing after every step.

use std::collections::BTreeMap;

use agent_world_core::ids::{ApprovalId, CallId, GrantId};

pub const AGENTS: [&str; 3] = ["ada", "bob", "eve"];
/// Runs the calls of a reply one after another.
pub const IN_ORDER: usize = 2;

/// The world's settings that change how a chat goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub turn_limit: u32,
    pub max_iterations: u32,
    pub waits_after_denial: bool,
    pub approval_timeout: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Human,
    World,
    System,
    Agent(usize),
}

/// The tools there are, one for each way a call can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Allowed,
    Asks,
    Background,
    BackgroundAsks,
    Client,
    ClientAsks,
    Repeatable,
    Denied,
    Unknown,
    ClientsSide,
}

impl Tool {
    fn asks(self) -> bool {
        matches!(self, Tool::Asks | Tool::BackgroundAsks | Tool::ClientAsks)
    }

    fn is_background(self) -> bool {
        matches!(self, Tool::Background | Tool::BackgroundAsks)
    }

    fn may_repeat(self) -> bool {
        matches!(self, Tool::Repeatable | Tool::Background)
    }

    fn is_clients(self) -> bool {
        matches!(self, Tool::Client | Tool::ClientAsks)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Idle,
    Asking,
    Tools,
    Paused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    Ready,
    Running,
    Ended,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub agent: usize,
    pub tool: Tool,
    pub argument: u8,
    pub progress: Progress,
    pub attempt: u32,
    denied_by_person: bool,
}

#[derive(Clone, Copy, Debug)]
enum Waits {
    Message { from: Who, unattended: bool },
    Result,
}

#[derive(Clone, Debug)]
pub struct Agent {
    pub phase: Phase,
    pub turns: u32,
    pub failed: bool,
    /// Whether it has said that it may take no more turns.
    noticed: bool,
    iteration: u32,
    batch: Vec<CallId>,
    inbox: Vec<Waits>,
    answering: Who,
    unattended: bool,
}

/// A permission for an agent and a tool, for any argument or for one.
#[derive(Clone, Copy, Debug)]
pub struct Permit {
    pub agent: usize,
    pub tool: Tool,
    pub argument: Option<u8>,
}

impl Permit {
    fn covers(&self, call: &Call) -> bool {
        (self.agent, self.tool) == (call.agent, call.tool)
            && self.argument.is_none_or(|argument| argument == call.argument)
    }
}

#[derive(Clone, Debug)]
pub struct Reference {
    settings: Settings,
    pub agents: Vec<Agent>,
    pub calls: BTreeMap<CallId, Call>,
    /// The requests that can be decided, with their calls and the second in which they expire.
    pub requests: BTreeMap<ApprovalId, (CallId, Option<u64>)>,
    pub grants: BTreeMap<GrantId, Permit>,
    pub rules: Vec<Permit>,
    pub name_is_due: bool,
    name_is_settled: bool,
}

impl Reference {
    pub fn new(settings: Settings) -> Self {
        let agent = Agent {
            phase: Phase::Idle,
            turns: 0,
            failed: false,
            noticed: false,
            iteration: 0,
            batch: Vec::new(),
            inbox: Vec::new(),
            answering: Who::System,
            unattended: false,
        };
        Self {
            settings,
            agents: vec![agent; AGENTS.len()],
            calls: BTreeMap::new(),
            requests: BTreeMap::new(),
            grants: BTreeMap::new(),
            rules: Vec::new(),
            name_is_due: false,
            name_is_settled: false,
        }
    }

    pub fn waiting(&self, agent: usize) -> usize {
        self.agents[agent].inbox.len()
    }

    /// Somebody says something that addresses `to`; an empty list addresses nobody.
    pub fn posted(&mut self, from: Who, to: &[usize], unattended: bool) {
        if matches!(from, Who::Human | Who::World) {
            self.agents.iter_mut().for_each(|agent| (agent.turns, agent.noticed) = (0, false));
        }
        if matches!(from, Who::Agent(_)) && !self.name_is_settled {
            self.name_is_due = true;
        }
        let everyone: Vec<usize> = (0..AGENTS.len()).collect();
        let recipients = match from {
            Who::System => &[],
            Who::Human | Who::World if to.is_empty() => everyone.as_slice(),
            _ => to,
        };
        let recipients: Vec<usize> =
            recipients.iter().copied().filter(|to| from != Who::Agent(*to)).collect();
        for agent in &recipients {
            self.agents[*agent].inbox.push(Waits::Message { from, unattended });
        }
        for agent in recipients {
            self.wake(agent);
        }
    }

    /// A model ends its turn with a text that addresses `to`.
    pub fn spoke(&mut self, agent: usize, to: &[usize]) {
        let others: Vec<usize> = to.iter().copied().filter(|to| *to != agent).collect();
        let addressed = match self.agents[agent].answering {
            Who::Agent(other) if others.is_empty() && other != agent => vec![other],
            _ => others,
        };
        let unattended = self.agents[agent].unattended;
        self.posted(Who::Agent(agent), &addressed, unattended);
        self.rest(agent);
    }

    pub fn failed(&mut self, agent: usize) {
        self.agents[agent].failed = true;
        self.rest(agent);
    }

    /// A model makes calls; the ids are given in the order of the calls.
    pub fn called(&mut self, agent: usize, made: &[(CallId, Tool, u8)]) {
        self.agents[agent].phase = Phase::Tools;
        self.agents[agent].batch = made.iter().map(|(id, ..)| id.clone()).collect();
        for (id, tool, argument) in made {
            let mut call = Call {
                agent,
                tool: *tool,
                argument: *argument,
                progress: Progress::Ready,
                attempt: 0,
                denied_by_person: false,
            };
            let permits = self.grants.values().chain(&self.rules);
            let permitted = permits.clone().any(|permit| permit.covers(&call));
            call.progress = match tool {
                Tool::Denied | Tool::Unknown | Tool::ClientsSide => Progress::Ended,
                tool if tool.asks() && !permitted => match self.agents[agent].unattended {
                    true => Progress::Ended,
                    false => Progress::Waiting,
                },
                _ => Progress::Ready,
            };
            self.calls.insert(id.clone(), call);
        }
        self.settle(agent);
    }

    /// Which of the calls may be started by us.
    pub fn may_start(&self, id: &CallId) -> bool {
        self.calls.get(id).is_some_and(|call| {
            call.progress == Progress::Ready && !call.tool.is_clients() && self.is_next(id, call)
        })
    }

    pub fn started(&mut self, id: &CallId) {
        let call = self.call(id);
        call.progress = Progress::Running;
        call.attempt += 1;
        let agent = call.agent;
        self.settle(agent);
    }

    pub fn is_running(&self, id: &CallId, by_client: bool) -> bool {
        self.calls.get(id).is_some_and(|call| {
            call.progress == Progress::Running && call.tool.is_clients() == by_client
        })
    }

    /// A running call ends; `delivered` unless it was cancelled.
    pub fn ended(&mut self, id: &CallId, delivered: bool) {
        let call = self.call(id);
        call.progress = Progress::Ended;
        let (agent, background) = (call.agent, call.tool.is_background());
        if background && delivered {
            self.agents[agent].inbox.push(Waits::Result);
        }
        self.settle(agent);
        self.wake(agent);
    }

    pub fn lost(&mut self, id: &CallId) {
        if self.call(id).tool.may_repeat() {
            self.call(id).progress = Progress::Ready;
        } else {
            self.ended(id, true);
        }
    }

    pub fn approved(&mut self, id: &ApprovalId) {
        let (call, _) = self.requests.remove(id).expect("an open request");
        self.call(&call).progress = Progress::Ready;
        let agent = self.call(&call).agent;
        self.settle(agent);
    }

    /// The open requests that a permission settles with it.
    pub fn covered(&self, permit: Permit) -> Vec<ApprovalId> {
        let covered = |call: &CallId| permit.covers(&self.calls[call]);
        let open = self.requests.iter().filter(|(_, (call, _))| covered(call));
        open.map(|(id, _)| id.clone()).collect()
    }

    pub fn denied(&mut self, id: &ApprovalId) {
        let (call, _) = self.requests.remove(id).expect("an open request");
        self.call(&call).denied_by_person = true;
        self.ended(&call, false);
    }

    pub fn expire(&mut self, now: u64) {
        let due = |(_, expiry): &(CallId, Option<u64>)| expiry.is_some_and(|at| at <= now);
        let expired = self.requests.iter().filter(|(_, request)| due(request));
        for (id, call) in
            expired.map(|(id, (call, _))| (id.clone(), call.clone())).collect::<Vec<_>>()
        {
            self.requests.remove(&id);
            self.ended(&call, false);
        }
    }

    pub fn stopped(&mut self, only: Option<usize>) {
        let concerns = |agent: usize| only.is_none_or(|only| only == agent);
        for (index, agent) in
            self.agents.iter_mut().enumerate().filter(|(index, _)| concerns(*index))
        {
            agent.inbox.clear();
            agent.phase = Phase::Idle;
            let calls = self.calls.values_mut().filter(|call| call.agent == index);
            calls.for_each(|call| call.progress = Progress::Ended);
        }
        let calls = &self.calls;
        self.requests.retain(|_, (call, _)| calls[call].progress == Progress::Waiting);
    }

    pub fn cut(&mut self) {
        self.stopped(None);
        self.agents.iter_mut().for_each(|agent| agent.failed = false);
        self.name_is_due = false;
    }

    pub fn named(&mut self) {
        self.name_is_due = false;
        self.name_is_settled = true;
    }

    pub fn retried(&mut self) {
        for agent in 0..AGENTS.len() {
            if self.agents[agent].failed {
                self.agents[agent].turns = self.agents[agent].turns.wrapping_sub(1);
                self.start_turn(agent);
            }
        }
    }

    fn call(&mut self, id: &CallId) -> &mut Call {
        self.calls.get_mut(id).expect("a call")
    }

    fn is_settled(&self, id: &CallId) -> bool {
        let call = &self.calls[id];
        call.progress == Progress::Ended
            || call.progress == Progress::Running && call.tool.is_background()
    }

    fn is_next(&self, id: &CallId, call: &Call) -> bool {
        let agent = &self.agents[call.agent];
        let mut earlier = agent.batch.iter().take_while(|other| *other != id);
        let in_order = call.agent == IN_ORDER && agent.batch.contains(id);
        !in_order || earlier.all(|other| self.is_settled(other))
    }

    /// Clients' tools start by themselves; a batch without open ends goes back to the model.
    fn settle(&mut self, agent: usize) {
        while let Some(id) = self.calls.iter().find_map(|(id, call)| {
            let starts = call.agent == agent
                && call.progress == Progress::Ready
                && call.tool.is_clients()
                && self.is_next(id, call);
            starts.then(|| id.clone())
        }) {
            let call = self.call(&id);
            call.progress = Progress::Running;
            call.attempt += 1;
        }
        let state = &self.agents[agent];
        if state.phase != Phase::Tools || !state.batch.iter().all(|id| self.is_settled(id)) {
            return;
        }
        let denied = state.batch.iter().any(|id| self.calls[id].denied_by_person);
        if self.settings.waits_after_denial && denied && !self.human_waits(agent) {
            self.agents[agent].phase = Phase::Paused;
        } else {
            self.ask_again(agent);
        }
    }

    fn human_waits(&self, agent: usize) -> bool {
        let inbox = &self.agents[agent].inbox;
        inbox.iter().any(|one| matches!(one, Waits::Message { from: Who::Human, .. }))
    }

    fn wake(&mut self, agent: usize) {
        let state = &self.agents[agent];
        if state.inbox.is_empty() {
            return;
        }
        match state.phase {
            Phase::Paused if self.human_waits(agent) => self.ask_again(agent),
            Phase::Idle if state.turns >= self.settings.turn_limit => {
                self.agents[agent].inbox.clear();
                // The notice is a message of the agent like any other, for nobody.
                if !std::mem::replace(&mut self.agents[agent].noticed, true) {
                    self.posted(Who::Agent(agent), &[], false);
                }
            }
            Phase::Idle => self.start_turn(agent),
            _ => {}
        }
    }

    fn start_turn(&mut self, agent: usize) {
        let state = &mut self.agents[agent];
        let inherits =
            state.inbox.is_empty() || state.inbox.iter().any(|one| matches!(one, Waits::Result));
        state.unattended |= !inherits;
        state.turns = state.turns.wrapping_add(1);
        state.iteration = 0;
        state.failed = false;
        self.ask(agent);
    }

    fn ask_again(&mut self, agent: usize) {
        if self.agents[agent].iteration >= self.settings.max_iterations {
            self.failed(agent);
        } else {
            self.ask(agent);
        }
    }

    fn ask(&mut self, agent: usize) {
        let state = &mut self.agents[agent];
        state.phase = Phase::Asking;
        state.iteration += 1;
        state.batch.clear();
        for one in std::mem::take(&mut state.inbox) {
            if let Waits::Message { from, unattended } = one {
                state.answering = from;
                state.unattended &= unattended;
            }
        }
    }

    fn rest(&mut self, agent: usize) {
        self.agents[agent].phase = Phase::Idle;
        self.wake(agent);
    }
}
