//! Holds a chat to what must be true whatever happens: at most one start, one decision and one end, nothing run without
//! permission, nothing lost, and one result for every call a model sees.
//! Called by `scene` for every event and after every command. Knows the log's meaning only, not how it is decided.

use std::collections::{BTreeMap, BTreeSet};

use agent_world_core::chain::Recorded;
use agent_world_core::chat::{CallState, Chat, Phase};
use agent_world_core::config::{Mode, Rules};
use agent_world_core::event::{
    ApprovalDecided, Decision, Event, MessagePosted, Outcome, SetAside, ToolCalled, ToolFinished,
    Waiting,
};
use agent_world_core::ids::{AgentId, ApprovalId, CallId, MessageId, TurnId};
use agent_world_core::item::{Item, Role};
use agent_world_core::outstanding::{Effect, outstanding};
use agent_world_core::policy::Ruling;
use agent_world_core::sender::Sender;
use agent_world_core::view::ApprovalState;

use crate::scene::Scene;

/// What is known of a chat from its log alone, kept apart from the state under test.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub calls: BTreeMap<CallId, CallFacts>,
    pub approvals: BTreeMap<ApprovalId, ApprovalFacts>,
    pub open_turns: BTreeMap<TurnId, TurnFacts>,
    /// What was accepted for an agent and neither shown to it nor set aside.
    pub waiting: BTreeSet<(AgentId, MessageId)>,
    /// Ended in the background and not put before the model.
    pub undelivered: BTreeSet<CallId>,
    ids: BTreeSet<String>,
    replies: BTreeSet<MessageId>,
    history_was_taken: bool,
}

#[derive(Clone, Debug)]
pub struct CallFacts {
    pub made: ToolCalled,
    pub permitted: bool,
    pub starts: u32,
    pub requeues: u32,
    pub ended: Option<Outcome>,
}

#[derive(Clone, Debug)]
pub struct ApprovalFacts {
    pub call: CallId,
    pub closed: bool,
}

#[derive(Clone, Debug)]
pub struct TurnFacts {
    pub agent: AgentId,
    pub reply: Option<MessageId>,
    pub iteration: u32,
}

impl Ledger {
    pub fn observe(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::MessagePosted(posted) => self.posted(posted),
            Event::NoticePosted(notice) => self.new_id(notice.id.as_str()),
            Event::HistoryCut { .. } => {
                self.assert_still("a cut");
                self.history_was_taken = true;
            }
            Event::HistoryCopied { .. } => {
                assert_eq!(recorded.seq, 2, "copied history comes first");
                self.history_was_taken = true;
            }
            Event::ChatDeleted { .. } => self.assert_still("a deletion"),

            Event::TurnStarted(started) => {
                self.new_id(started.turn.as_str());
                let busy = self.open_turns.values().any(|turn| turn.agent == started.agent);
                assert!(!busy, "{} has two turns at once", started.agent);
                let turn = TurnFacts { agent: started.agent.clone(), reply: None, iteration: 0 };
                self.open_turns.insert(started.turn.clone(), turn);
            }
            Event::ModelCallRequested(requested) => {
                self.new_id(requested.reply.as_str());
                self.shown(&requested.agent, &requested.joined);
                let open = self.open_turns.get_mut(&requested.turn).expect("an open turn");
                assert_eq!(open.agent, requested.agent);
                assert_eq!(open.reply, None, "one model call at a time");
                assert_eq!(requested.iteration, open.iteration + 1);
                open.iteration += 1;
                open.reply = Some(requested.reply.clone());
            }
            Event::ReplyRecorded(recorded) => {
                let open = self.open_turns.get_mut(&recorded.turn).expect("an open turn");
                assert_eq!(
                    open.reply.take().as_ref(),
                    Some(&recorded.reply),
                    "one reply to a call"
                );
                self.replies.insert(recorded.reply.clone());
            }
            Event::TurnEnded { turn, .. } => self.turn_ended(turn),
            Event::TurnLimitReached { agent, set_aside, .. } => self.shown(agent, set_aside),
            Event::WorkStopped { set_aside, .. } => {
                for SetAside { agent, waiting } in set_aside {
                    self.shown(agent, waiting);
                }
            }

            Event::ToolCalled(called) => self.called(called),
            Event::ToolStarted { call, attempt, .. } => {
                let facts = self.open_call(call);
                assert!(facts.permitted, "{call} started without permission");
                assert_eq!(facts.starts, facts.requeues, "{call} started twice");
                facts.starts += 1;
                assert_eq!(*attempt, facts.starts);
            }
            Event::ToolRequeued { call } => {
                let facts = self.open_call(call);
                assert!(facts.made.may_repeat, "{call} must not be run again");
                facts.requeues += 1;
                assert_eq!(facts.starts, facts.requeues, "{call} was not running");
            }
            Event::ToolFinished(finished) => self.finished(finished),

            Event::ApprovalRequested(asked) => {
                self.new_id(asked.approval.as_str());
                self.new_id(asked.message.as_str());
                let facts = self.open_call(&asked.call);
                let ruling = facts.made.verdict.as_ref().map(|verdict| verdict.ruling);
                match (&asked.form, &asked.voided) {
                    (Some(_), _) => assert!(facts.starts > facts.requeues, "only a running call"),
                    (None, Some(_)) => {
                        assert!(facts.permitted && facts.starts == facts.requeues);
                        // What was permitted is not what would run.
                        facts.permitted = false;
                    }
                    (None, None) => {
                        assert_eq!(ruling, Some(Ruling::Ask));
                        assert_eq!(facts.starts, 0);
                    }
                }
                let facts = ApprovalFacts { call: asked.call.clone(), closed: false };
                self.approvals.insert(asked.approval.clone(), facts);
            }
            Event::ApprovalDecided(decided) => self.decided(decided),
            Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
                self.close(approval);
            }
            _ => {}
        }
    }

    pub fn is_idle(&self) -> bool {
        self.open_turns.is_empty() && self.calls.values().all(|call| call.ended.is_some())
    }

    fn new_id(&mut self, id: &str) {
        assert!(self.ids.insert(id.to_owned()), "{id} was given twice");
    }

    fn posted(&mut self, posted: &MessagePosted) {
        let message = &posted.message;
        // The final text of a turn is the reply that was announced before it streamed.
        match &message.turn {
            Some(_) => assert!(self.replies.remove(&message.id), "{} is posted once", message.id),
            None => self.new_id(message.id.as_str()),
        }
        for agent in &posted.recipients {
            assert_ne!(message.sender, Sender::Agent(agent.clone()), "nobody answers himself");
            let new = self.waiting.insert((agent.clone(), message.id.clone()));
            assert!(new, "{agent} receives {} twice", message.id);
        }
    }

    fn shown(&mut self, agent: &AgentId, waiting: &[Waiting]) {
        for one in waiting {
            let known = match one {
                Waiting::Message { id, .. } => self.waiting.remove(&(agent.clone(), id.clone())),
                Waiting::Background { call } => {
                    assert_eq!(&self.calls[call].made.agent, agent);
                    self.undelivered.remove(call)
                }
            };
            assert!(known, "{agent} is shown {one:?} although it did not wait");
        }
    }

    fn turn_ended(&mut self, turn: &TurnId) {
        assert!(self.open_turns.remove(turn).is_some(), "{turn} ended twice");
        for (id, call) in &self.calls {
            let outlives = call.made.mode == Mode::Background && call.starts > 0;
            assert!(
                &call.made.turn != turn || call.ended.is_some() || outlives,
                "{turn} ended before its {id}"
            );
        }
    }

    fn called(&mut self, called: &ToolCalled) {
        self.new_id(called.call.as_str());
        let ruling = called.verdict.as_ref().map(|verdict| verdict.ruling);
        if is_for_clients(&called.name) {
            assert_eq!(ruling, None, "no policy is asked about {}", called.name);
        }
        let facts = CallFacts {
            made: called.clone(),
            permitted: ruling == Some(Ruling::Allow),
            starts: 0,
            requeues: 0,
            ended: None,
        };
        self.calls.insert(called.call.clone(), facts);
    }

    fn finished(&mut self, finished: &ToolFinished) {
        self.new_id(finished.message.as_str());
        let facts = self.open_call(&finished.call);
        let started = facts.starts > 0;
        match finished.outcome {
            Outcome::Completed | Outcome::Timeout | Outcome::Interrupted => assert!(started),
            Outcome::Denied | Outcome::Expired => assert!(!started),
            // Without a start: not a valid call, or its tool says that it can never run.
            Outcome::Failed | Outcome::Cancelled => {}
        }
        facts.ended = Some(finished.outcome);
        let background = facts.made.mode == Mode::Background;
        if background && started && finished.outcome != Outcome::Cancelled {
            self.undelivered.insert(finished.call.clone());
        }
    }

    fn decided(&mut self, decided: &ApprovalDecided) {
        self.new_id(decided.message.as_str());
        self.close(&decided.approval);
        assert_eq!(self.approvals[&decided.approval].call, decided.call);
        if matches!(decided.decision, Decision::Approved { .. }) {
            self.open_call(&decided.call).permitted = true;
        }
    }

    fn close(&mut self, approval: &ApprovalId) {
        let facts = self.approvals.get_mut(approval).expect("a request");
        assert!(!facts.closed, "{approval} was settled twice");
        facts.closed = true;
    }

    fn open_call(&mut self, id: &CallId) -> &mut CallFacts {
        let facts = self.calls.get_mut(id).expect("a call");
        assert_eq!(facts.ended, None, "{id} has ended already");
        facts
    }

    fn assert_still(&self, what: &str) {
        assert!(self.is_idle(), "{what} must stop all work first");
        assert!(self.approvals.values().all(|approval| approval.closed), "{what}");
        assert!(self.waiting.is_empty() && self.undelivered.is_empty(), "{what}");
    }
}

fn is_for_clients(name: &str) -> bool {
    name.trim().to_lowercase().starts_with("client.")
}

/// What must hold between the log, the state, the read models and the prompts after every command.
pub fn check_scene(scene: &Scene, rules: Rules<'_>) {
    check_state(&scene.chat, &scene.ledger);
    check_tables(scene);
    for agent in &rules.world.agents {
        check_prompt(scene, &agent.id, rules);
    }
}

fn check_state(chat: &Chat, ledger: &Ledger) {
    assert_eq!(chat.is_idle(), ledger.is_idle());
    let turns: Vec<_> = chat.turns.keys().collect();
    assert_eq!(turns, ledger.open_turns.keys().collect::<Vec<_>>());
    for (agent, desk) in &chat.agents {
        let turn = chat.turn_of(agent);
        assert_eq!(desk.turn.as_ref(), turn.map(|turn| &turn.id));
        assert!(turn.is_none_or(|turn| &turn.agent == agent && turn.phase != Phase::Starting));
        assert!(
            desk.inbox.is_empty() || turn.is_some(),
            "{agent} has something to do and does not"
        );
        for one in &desk.inbox {
            assert!(match one {
                Waiting::Message { id, .. } =>
                    ledger.waiting.contains(&(agent.clone(), id.clone())),
                Waiting::Background { call } => ledger.undelivered.contains(call),
            });
        }
    }
    let inboxes: usize = chat.agents.values().map(|desk| desk.inbox.len()).sum();
    assert_eq!(inboxes, ledger.waiting.len() + ledger.undelivered.len(), "nothing is lost");

    let asked: BTreeSet<_> = chat.approvals.keys().collect();
    let open = ledger.approvals.iter().filter(|(_, facts)| !facts.closed);
    assert_eq!(asked, open.map(|(id, _)| id).collect());
    for (id, facts) in &ledger.calls {
        let call = chat.calls.get(id);
        if facts.ended.is_none() {
            let expected = match (facts.starts > facts.requeues, facts.permitted) {
                (true, _) => CallState::Executing,
                (false, true) => CallState::Pending,
                (false, false) => CallState::AwaitingApproval,
            };
            assert_eq!(call.map(|call| call.state), Some(expected), "{id}");
        } else if let Some(call) = call {
            assert_eq!(Some(call.state), facts.ended.map(CallState::Ended), "{id}");
        }
    }
    for effect in outstanding(chat) {
        match effect {
            Effect::RunTool { call } => {
                let facts = &ledger.calls[&call];
                assert!(facts.permitted && facts.starts == facts.requeues && facts.ended.is_none());
            }
            Effect::CallModel { turn, reply, .. } => {
                assert_eq!(ledger.open_turns[&turn].reply, Some(reply));
            }
            _ => {}
        }
    }
    let owed =
        outstanding(chat).iter().filter(|one| matches!(one, Effect::CallModel { .. })).count();
    let asking = ledger.open_turns.values().filter(|turn| turn.reply.is_some()).count();
    assert_eq!(owed, asking, "every model call that was announced is owed");
}

fn check_tables(scene: &Scene) {
    let (chat, tables, ledger) = (&scene.chat, &scene.tables, &scene.ledger);
    for (id, facts) in &ledger.calls {
        let row = &tables.calls[id];
        match facts.ended {
            Some(outcome) => assert_eq!(row.state, CallState::Ended(outcome), "{id}"),
            None => assert_eq!(Some(row.state), chat.calls.get(id).map(|call| call.state), "{id}"),
        }
        assert_eq!(row.output.is_some(), facts.ended.is_some());
        assert_eq!(row.ended_at.is_some(), facts.ended.is_some());
        assert_eq!(row.started_at.is_some(), facts.starts > 0);
    }
    for (id, facts) in &ledger.approvals {
        let pending = tables.approvals[id].state == ApprovalState::Pending;
        assert_eq!(pending, !facts.closed, "{id}");
    }
    assert!(chat.grants.keys().eq(tables.grants.keys()));
}

/// Every call has one result, behind it, and nothing of the person's side is shown.
fn check_prompt(scene: &Scene, agent: &AgentId, rules: Rules<'_>) {
    let Some(prompt) = scene.transcript.prompt(agent, rules) else { return };
    let mut unanswered: BTreeSet<&str> = BTreeSet::new();
    let mut made: BTreeSet<&str> = BTreeSet::new();
    for item in &prompt.items {
        match item.as_ref() {
            Item::FunctionCall(call) => {
                assert!(!call.call_id.is_empty());
                assert!(made.insert(&call.call_id), "two calls are named {}", call.call_id);
                unanswered.insert(&call.call_id);
            }
            Item::FunctionCallOutput(output) => {
                let waited = unanswered.remove(output.call_id.as_str());
                assert!(waited, "{} has no call before it or two results", output.call_id);
                let text = output.output.as_str().unwrap_or_default();
                let excused = scene.ledger.history_was_taken || !is_asking(&scene.chat, agent);
                assert!(excused || !text.contains("was removed from the conversation"));
            }
            Item::Message(message) if message.role == Role::User => {
                assert!(unanswered.is_empty(), "a message stands between a call and its result");
            }
            _ => {}
        }
    }
    assert!(unanswered.is_empty(), "without a result: {unanswered:?}");
    let shown = format!("{:?}", prompt.items);
    assert!(!shown.contains("requestApproval") || scene.ledger.calls.values().any(is_a_trick));
}

fn is_asking(chat: &Chat, agent: &AgentId) -> bool {
    chat.turn_of(agent).is_some_and(|turn| matches!(turn.phase, Phase::CallingModel { .. }))
}

// A model that tried the call itself sees its own words and the refusal.
fn is_a_trick(call: &CallFacts) -> bool {
    is_for_clients(&call.made.name)
}
