//! Walks through a chat at random: people, models, tools, clients and timers do anything, in any order, also twice and
//! too late. After every step the invariants hold and the chat agrees with the reference; and once everybody has done
//! what is owed, the chat is at rest and nothing that was accepted is left unseen.

use agent_world_core::Timestamp;
use agent_world_core::chat::{CallState, Phase as ChatPhase};
use agent_world_core::command::{
    Answer, AnswerApproval, Claims, Command, CreateChat, Input, MessageRef, PostMessage, Rejection,
    Scope, TitleProposal, ToolResult,
};
use agent_world_core::config::{AfterDenial, Rules, Tools, World};
use agent_world_core::event::{ApprovalDecided, Attendance, Decision, Event, Output, Permission};
use agent_world_core::ids::{AgentId, ApprovalId, CallId, GrantId, MessageId, TurnId};
use agent_world_core::item::{Item, Reply, Usage};
use agent_world_core::outstanding::{Effect, outstanding};
use agent_world_core::policy::{Match, Test};
use agent_world_core::sender::Sender;
use proptest::prelude::*;
use serde_json::json;

use crate::moves::{Move, moves, settings};
use crate::reference::{AGENTS, IN_ORDER, Permit, Phase, Progress, Reference, Settings, Tool, Who};
use crate::scene::Scene;
use crate::setting::Setting;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_chat_survives_anything_and_comes_to_rest(
        settings in settings(),
        moves in proptest::collection::vec(moves(), 1..100),
    ) {
        let mut walk = Walk::new(settings);
        for step in moves {
            walk.step(step);
        }
        walk.come_to_rest();
    }
}

struct Walk {
    world: World,
    tools: Tools,
    scene: Scene,
    reference: Reference,
    start: Timestamp,
    seconds: u64,
    commands: u128,
    /// Everything there ever was, to be named again when it is too late.
    model_calls: Vec<(TurnId, MessageId, usize)>,
    requests: Vec<ApprovalId>,
    calls: Vec<CallId>,
    grants: Vec<GrantId>,
}

fn name_of(tool: Tool) -> &'static str {
    match tool {
        Tool::Allowed => "write",
        Tool::Asks => "shell_cmd",
        Tool::Background => "build",
        Tool::BackgroundAsks => "deploy",
        Tool::Client => "colour",
        Tool::ClientAsks => "sign",
        Tool::Repeatable => "fetch",
        Tool::Denied => "drop",
        Tool::Unknown => "fly",
        Tool::ClientsSide => "client.requestApproval",
    }
}

impl Walk {
    fn new(settings: Settings) -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut setting = Setting::new(start);
        setting.read(&format!("agents: {}", AGENTS.join(", ")));
        setting.read(&format!("agent {}: sequential", AGENTS[IN_ORDER]));
        setting.read("policy: deny drop");
        for (name, flags) in [
            ("write", "allowed"),
            ("build", "allowed; background; idempotent"),
            ("deploy", "background"),
            ("colour", "allowed; client"),
            ("sign", "client"),
            ("fetch", "allowed; idempotent"),
            ("drop", "allowed"),
        ] {
            setting.read(&format!("tool {name}(command): {flags}"));
        }
        let mut world = setting.world.clone();
        world.turn_limit = settings.turn_limit;
        world.max_iterations = settings.max_iterations;
        world.approval_timeout_seconds = settings.approval_timeout;
        if settings.waits_after_denial {
            world.after_denial = AfterDenial::Wait;
        }
        let mut walk = Self {
            tools: setting.tools(),
            world,
            scene: Scene::new("chat_1".into(), 20_000),
            reference: Reference::new(settings),
            start,
            seconds: 0,
            commands: 0,
            model_calls: Vec::new(),
            requests: Vec::new(),
            calls: Vec::new(),
            grants: Vec::new(),
        };
        let create =
            CreateChat { world: "test".into(), title: None, by: "human".into(), fork: None };
        walk.accepted(Command::CreateChat(create));
        walk
    }

    fn step(&mut self, step: Move) {
        match step {
            Move::Post { from, to, unattended } => self.post(from, &to, unattended),
            Move::Speak { model_call, to } => {
                let Some((turn, reply, agent)) = self.model_call(model_call) else { return };
                let answer = Reply::text(addressing(&to, &format!("reply {}", self.commands)));
                let open = self.is_asked(&turn, &reply);
                let command = Command::RecordReply {
                    turn,
                    reply,
                    model: "m".into(),
                    answer,
                    looks: Default::default(),
                };
                if self.sent(command, open) {
                    self.reference.spoke(agent, &to);
                }
            }
            Move::Call { model_call, calls } => self.call_tools(model_call, &calls),
            Move::ModelFails { model_call } => {
                let Some((turn, reply, agent)) = self.model_call(model_call) else { return };
                let open = self.is_asked(&turn, &reply);
                let error = "overloaded".to_owned();
                if self.sent(Command::RecordModelFailure { turn, reply, error }, open) {
                    self.reference.failed(agent);
                }
            }
            Move::Approve { request, scope, edited, narrowed } => {
                self.approve(request, scope, edited, narrowed);
            }
            Move::Deny { request } => {
                let Some(id) = self.request(request) else { return };
                let open = self.reference.requests.contains_key(&id);
                let answer = Answer::Deny { reason: None };
                if self.sent(answered(id.clone(), answer, Claims::default()), open) {
                    self.reference.denied(&id);
                }
            }
            Move::Misstate { request } => {
                let Some(id) = self.request(request) else { return };
                let claims = Claims { agent: Some("mallory".into()), ..Claims::default() };
                self.sent(answered(id, approval(Scope::Once, None, None), claims), false);
            }
            Move::Start { call } => {
                let Some(call) = self.call(call, |walk, id| walk.reference.may_start(id)) else {
                    return;
                };
                let open = self.reference.may_start(&call);
                if self.sent(Command::StartTool { call: call.clone(), look: None }, open) {
                    self.reference.started(&call);
                }
            }
            Move::Finish { call, how, late } => self.finish(call, how, late),
            Move::Lose { call } => {
                let Some(call) = self.call(call, |walk, id| walk.reference.is_running(id, false))
                else {
                    return;
                };
                let open = self.reference.is_running(&call, false);
                if self.sent(Command::RecordLostTool { call: call.clone() }, open) {
                    self.reference.lost(&call);
                }
            }
            Move::ClientAnswers { call } => {
                let Some(call) = self.call(call, |walk, id| walk.reference.is_running(id, true))
                else {
                    return;
                };
                let open = self.reference.is_running(&call, true);
                let output = Output::text("from the client");
                let command =
                    Command::RecordClientResult { call: call.clone(), output, is_error: false };
                if self.sent(command, open) {
                    self.reference.ended(&call, true);
                }
            }
            Move::Stop { agent } => {
                let id = agent.map(|agent| AgentId::from(AGENTS[agent]));
                self.accepted(Command::Stop { agent: id, by: "human".into() });
                self.reference.stopped(agent);
            }
            Move::Retract { message, edited } => self.retract(message, edited),
            Move::Retry => {
                let open = self.reference.agents.iter().any(|agent| agent.failed);
                if self.sent(Command::RetryTurns { agent: None }, open) {
                    self.reference.retried();
                }
            }
            Move::Expire { after } => {
                self.seconds += after;
                self.accepted(Command::ExpireApprovals);
                self.reference.expire(self.seconds);
            }
            Move::Revoke { grant } => {
                let open = self.reference.grants.keys().cloned().collect::<Vec<_>>();
                let Some(grant) = mostly(&open, &self.grants, grant) else { return };
                let open = self.reference.grants.contains_key(&grant);
                if self
                    .sent(Command::RevokeGrant { grant: grant.clone(), by: "human".into() }, open)
                {
                    self.reference.grants.remove(&grant);
                }
            }
            // Every rule has settled what it covers when it was made.
            Move::Review => assert_eq!(self.accepted(Command::ReviewApprovals), []),
            Move::Rename => {
                self.accepted(Command::RenameChat { title: "Mine".into(), by: "human".into() });
                self.reference.named();
            }
            Move::Title { found } => {
                let proposal = if found { Ok(proposal()) } else { Err("no".into()) };
                let open = self.reference.name_is_due;
                if self.sent(Command::RecordTitle { proposal }, open) {
                    self.reference.named();
                }
            }
            Move::Crash => {
                let rules = Rules { world: &self.world, tools: &self.tools };
                self.scene.crash(rules);
            }
        }
        self.compare();
    }

    fn post(&mut self, from: Who, to: &[usize], unattended: bool) {
        let (sender, attendance) = match (from, unattended) {
            (Who::Human, false) => (Sender::Human, Attendance::Attended),
            (Who::Human, true) => (Sender::Human, Attendance::Unattended),
            (Who::World, _) => (Sender::World, Attendance::Attended),
            (Who::System, _) => (Sender::System, Attendance::Attended),
            (Who::Agent(agent), _) => (Sender::Agent(AGENTS[agent].into()), Attendance::Attended),
        };
        self.accepted(Command::PostMessage(PostMessage {
            sender,
            user: None,
            text: addressing(to, &format!("message {}", self.commands)),
            parts: Vec::new(),
            reply_to: None,
            attendance,
            recipients: None,
        }));
        self.reference.posted(from, to, attendance == Attendance::Unattended);
    }

    fn call_tools(&mut self, model_call: usize, calls: &[(Tool, u8)]) {
        let Some((turn, reply, agent)) = self.model_call(model_call) else { return };
        let items = calls.iter().map(|(tool, argument)| {
            // The vendor repeats itself: our own ids must tell the calls apart.
            Item::call("same", name_of(*tool), &json!({ "command": argument.to_string() }))
        });
        let answer = Reply::of(items.collect());
        let open = self.is_asked(&turn, &reply);
        let before = self.calls.len();
        if self.sent(
            Command::RecordReply {
                turn,
                reply,
                model: "m".into(),
                answer,
                looks: Default::default(),
            },
            open,
        ) {
            let ids = self.calls[before..].iter().cloned();
            let made: Vec<(CallId, Tool, u8)> =
                ids.zip(calls).map(|(id, (tool, argument))| (id, *tool, *argument)).collect();
            assert_eq!(made.len(), calls.len(), "no call is dropped");
            self.reference.called(agent, &made);
        }
    }

    fn approve(&mut self, request: usize, scope: Scope, edited: bool, narrowed: bool) {
        let Some(id) = self.request(request) else { return };
        let asked = &self.scene.tables.approvals[&id];
        let proposed: u8 = asked.arguments["command"].as_str().unwrap().parse().unwrap();
        let argument = if edited { 7 } else { proposed };
        let edit = edited.then(|| json!({ "command": "7" }));
        let narrow = narrowed.then_some(argument);
        let open = self.reference.requests.contains_key(&id);
        let command = answered(id.clone(), approval(scope, narrow, edit), Claims::default());
        let grants_before = self.grants.len();
        if !self.sent(command, open) {
            return;
        }
        let (call, _) = &self.reference.requests[&id];
        let call = &self.reference.calls[call];
        let permit = Permit { agent: call.agent, tool: call.tool, argument: narrow };
        self.reference.approved(&id);
        match scope {
            Scope::Once => return,
            Scope::Session => {
                let grant = self.grants[grants_before].clone();
                self.reference.grants.insert(grant, permit);
            }
            Scope::Always => self.reference.rules.push(permit),
        }
        for covered in self.reference.covered(permit) {
            self.reference.approved(&covered);
        }
    }

    fn finish(&mut self, call: usize, how: usize, late: bool) {
        let running =
            |walk: &Self, id: &CallId| walk.reference.calls[id].progress == Progress::Running;
        let Some(call) = self.call(call, running) else { return };
        let output = Output::text("output");
        let result = match how {
            0 => ToolResult::Completed(output),
            1 => ToolResult::Failed(output),
            2 => ToolResult::TimedOut(output),
            _ => ToolResult::Cancelled(output),
        };
        let running = running(self, &call);
        let attempt = self.reference.calls[&call].attempt + u32::from(late);
        let command = Command::RecordToolResult { call: call.clone(), attempt, result };
        if self.sent(command, running && !late) {
            self.reference.ended(&call, how != 3);
        }
    }

    fn retract(&mut self, message: usize, edited: bool) {
        let said = self.scene.tables.messages.iter();
        // What a person answered to a request is a message of theirs too, but nothing they said.
        let said = said.filter(|one| one.sender == Sender::Human && one.tool_call.is_none());
        let targets: Vec<MessageRef> = said
            .map(|one| MessageRef {
                id: one.id.clone(),
                position: one.position,
                sender: one.sender.clone(),
                parts: one.parts.clone(),
                reply_to: one.reply_to.clone(),
                attendance: Attendance::Attended,
                recipients: None,
            })
            .collect();
        let Some(target) = pick(&targets, message) else { return };
        let by = "human".to_owned();
        if edited {
            let text = format!("@ada message {}", self.commands);
            self.accepted(Command::EditMessage { target, text, user: None, by });
            self.reference.cut();
            self.reference.posted(Who::Human, &[0], false);
        } else {
            self.accepted(Command::DeleteMessage { target, by });
            self.reference.cut();
        }
    }

    /// Sends a command that must be accepted exactly if the reference says so.
    fn sent(&mut self, command: Command, acceptable: bool) -> bool {
        let shown = format!("{command:?}");
        match self.send(command) {
            Ok(_) => assert!(acceptable, "accepted: {shown}"),
            Err(rejection) => assert!(!acceptable, "refused: {shown}: {rejection}"),
        }
        acceptable
    }

    fn accepted(&mut self, command: Command) -> Vec<Event> {
        self.send(command).expect("a command that is always accepted")
    }

    fn send(&mut self, command: Command) -> Result<Vec<Event>, Rejection> {
        self.commands += 1;
        let at = self.start.checked_add(std::time::Duration::from_secs(self.seconds)).unwrap();
        let input = Input { at, entropy: self.commands << 20, command };
        let head = self.scene.chat.head;
        let rules = Rules { world: &self.world, tools: &self.tools };
        let count = self.scene.perform(rules, input).inspect_err(|_| {
            assert_eq!(self.scene.chat.head, head, "a refusal records nothing");
        })?;
        let events = self.scene.log[self.scene.log.len() - count..].to_vec();
        let events: Vec<Event> = events.into_iter().map(|recorded| recorded.event).collect();
        events.iter().for_each(|event| self.note(event));
        Ok(events)
    }

    /// Remembers the ids of what is new.
    fn note(&mut self, event: &Event) {
        match event {
            Event::ModelCallRequested(asked) => {
                let agent = index_of(&asked.agent);
                self.model_calls.push((asked.turn.clone(), asked.reply.clone(), agent));
            }
            Event::ToolCalled(called) => self.calls.push(called.call.clone()),
            Event::ApprovalRequested(asked) => {
                self.requests.push(asked.approval.clone());
                let at = asked.expires_at.map(|at| at.duration_since(self.start).as_secs());
                let expiry = at.map(|seconds| u64::try_from(seconds).unwrap());
                let request = (asked.call.clone(), expiry);
                self.reference.requests.insert(asked.approval.clone(), request);
            }
            Event::ApprovalDecided(ApprovalDecided { decision, approval, by, .. }) => {
                if let Decision::Approved { scope: Permission::Session(grant), .. } = decision {
                    self.grants.push(grant.id.clone());
                }
                if let Decision::Approved { scope: Permission::Always(rule), .. } = decision {
                    self.world.policy.granted.push(rule.clone());
                }
                if *by == agent_world_core::event::Decider::Nobody {
                    self.reference.requests.remove(approval);
                }
            }
            _ => {}
        }
    }

    fn model_call(&self, number: usize) -> Option<(TurnId, MessageId, usize)> {
        let open = self.model_calls.iter().filter(|(turn, reply, _)| self.is_asked(turn, reply));
        mostly(&open.cloned().collect::<Vec<_>>(), &self.model_calls, number)
    }

    fn request(&self, number: usize) -> Option<ApprovalId> {
        let open: Vec<ApprovalId> = self.reference.requests.keys().cloned().collect();
        mostly(&open, &self.requests, number)
    }

    fn call(&self, number: usize, fits: impl Fn(&Self, &CallId) -> bool) -> Option<CallId> {
        let open = self.calls.iter().filter(|id| fits(self, id));
        mostly(&open.cloned().collect::<Vec<_>>(), &self.calls, number)
    }

    fn is_asked(&self, turn: &TurnId, reply: &MessageId) -> bool {
        let latest = |agent: usize| self.model_calls.iter().rfind(|(_, _, asked)| *asked == agent);
        (0..AGENTS.len()).any(|agent| {
            self.reference.agents[agent].phase == Phase::Asking
                && latest(agent).is_some_and(|(t, r, _)| (t, r) == (turn, reply))
        })
    }

    /// The chat and the reference are in the same place.
    fn compare(&self) {
        let (chat, reference) = (&self.scene.chat, &self.reference);
        for (index, agent) in AGENTS.iter().enumerate() {
            let id = AgentId::from(*agent);
            let phase = match chat.turn_of(&id).map(|turn| &turn.phase) {
                None => Phase::Idle,
                Some(ChatPhase::Starting | ChatPhase::CallingModel { .. }) => Phase::Asking,
                Some(ChatPhase::RunningTools { .. }) => Phase::Tools,
                Some(ChatPhase::AwaitingHuman { .. }) => Phase::Paused,
            };
            let expected = &reference.agents[index];
            assert_eq!(phase, expected.phase, "what {agent} does");
            let desk = chat.desk(&id);
            assert_eq!(desk.inbox.len(), reference.waiting(index), "what waits for {agent}");
            assert_eq!(desk.turns_taken, expected.turns, "turns of {agent}");
            assert_eq!(desk.failed.is_some(), expected.failed, "whether {agent} failed");
        }
        for (id, call) in &reference.calls {
            let progress = match chat.calls.get(id).map(|call| call.state) {
                Some(CallState::AwaitingApproval) => Progress::Waiting,
                Some(CallState::Pending) => Progress::Ready,
                Some(CallState::Executing) => Progress::Running,
                Some(CallState::Ended(_)) | None => Progress::Ended,
            };
            assert_eq!(progress, call.progress, "{id}");
        }
        assert!(chat.approvals.keys().eq(reference.requests.keys()), "open requests");
        assert!(chat.grants.keys().eq(reference.grants.keys()), "grants");
        let owes_name = outstanding(chat).contains(&Effect::NameChat);
        assert_eq!(owes_name, reference.name_is_due && chat.is_idle(), "whether a name is owed");
    }

    /// Everybody does what is owed until nothing is: models answer, tools complete, people deny and go on.
    fn come_to_rest(&mut self) {
        for _ in 0..500 {
            let Some(next) = self.next_duty() else { break };
            self.accepted(next);
        }
        let rules = Rules { world: &self.world, tools: &self.tools };
        self.scene.crash(rules);
        assert_eq!(outstanding(&self.scene.chat), [], "everything owed was done");
        assert!(self.scene.chat.is_idle());
        assert!(self.scene.ledger.waiting.is_empty() && self.scene.ledger.undelivered.is_empty());
        self.check_that_all_was_seen(rules);
    }

    fn next_duty(&self) -> Option<Command> {
        let chat = &self.scene.chat;
        let duty = outstanding(chat).into_iter().find_map(|effect| match effect {
            Effect::CallModel { turn, reply, .. } => {
                let answer = Reply::text(format!("reply {}", self.commands));
                Some(Command::RecordReply {
                    turn,
                    reply,
                    model: "m".into(),
                    answer,
                    looks: Default::default(),
                })
            }
            Effect::RunTool { call } => Some(Command::StartTool { call, look: None }),
            Effect::FinishTool { call, attempt } => {
                let result = ToolResult::Completed(Output::text("output"));
                Some(Command::RecordToolResult { call, attempt, result })
            }
            Effect::AwaitClient { call, .. } => {
                let output = Output::text("from the client");
                Some(Command::RecordClientResult { call, output, is_error: false })
            }
            Effect::NameChat => Some(Command::RecordTitle { proposal: Err("no model".into()) }),
            Effect::ExpireApprovals { .. } => None,
        });
        let denial = || {
            let id = chat.approvals.keys().next()?.clone();
            Some(answered(id, Answer::Deny { reason: None }, Claims::default()))
        };
        let encouragement = || {
            let turn = chat.turns.values().next()?;
            Some(Command::PostMessage(PostMessage {
                sender: Sender::Human,
                user: None,
                text: format!("@{} message {}", turn.agent, self.commands),
                parts: Vec::new(),
                reply_to: None,
                attendance: Attendance::Attended,
                recipients: None,
            }))
        };
        duty.or_else(denial).or_else(encouragement)
    }

    /// Every message that still stands is in the prompt of each agent it was for.
    fn check_that_all_was_seen(&self, rules: Rules<'_>) {
        let standing = |id: &MessageId| self.scene.tables.messages.iter().any(|one| &one.id == id);
        for recorded in &self.scene.log {
            let Event::MessagePosted(posted) = &recorded.event else { continue };
            for agent in posted.recipients.iter().filter(|_| standing(&posted.message.id)) {
                let prompt = self.scene.transcript.prompt(agent, rules).unwrap();
                let seen = prompt.items.iter().any(|item| match item.as_ref() {
                    Item::Message(message) => message.text().ends_with(&posted.message.text),
                    _ => false,
                });
                assert!(seen, "{agent} never saw {:?}", posted.message.text);
            }
        }
    }
}

/// Mostly something that can still move, or a walk would go nowhere; now and then anything there ever was.
fn mostly<T: Clone>(open: &[T], all: &[T], number: usize) -> Option<T> {
    pick(if number % 8 == 7 || open.is_empty() { all } else { open }, number / 8)
}

fn pick<T: Clone>(things: &[T], number: usize) -> Option<T> {
    // The latest are the most likely to be open, and a small number is what a failure shrinks to.
    let index = things.len().checked_sub(1 + number % things.len().max(1))?;
    things.get(index).cloned()
}

fn addressing(to: &[usize], text: &str) -> String {
    let mentions: Vec<String> = to.iter().map(|agent| format!("@{} ", AGENTS[*agent])).collect();
    mentions.concat() + text
}

fn index_of(agent: &AgentId) -> usize {
    AGENTS.iter().position(|name| *name == agent.as_str()).unwrap()
}

fn approval(scope: Scope, narrow: Option<u8>, arguments: Option<serde_json::Value>) -> Answer {
    let matches = narrow.map(|argument| Match {
        pointer: "/command".to_owned(),
        test: Test::Equals(json!(argument.to_string())),
    });
    Answer::Approve { scope, matches: matches.into_iter().collect(), arguments, reason: None }
}

fn answered(approval: ApprovalId, answer: Answer, claims: Claims) -> Command {
    Command::AnswerApproval(AnswerApproval {
        approval,
        answer,
        by: "human".into(),
        claims,
        look: None,
    })
}

fn proposal() -> TitleProposal {
    let text = "Three Good Words".to_owned();
    TitleProposal { text, model: "m".to_owned(), usage: Usage::default() }
}
