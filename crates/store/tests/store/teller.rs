//! Tells a chat's story: decides commands with the real rules and makes appends of what they cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_world_core::Timestamp;
use agent_world_core::apply::apply;
use agent_world_core::chain::{Head, Recorded, seal};
use agent_world_core::chat::{Chat, Phase};
use agent_world_core::command::{
    Answer, AnswerApproval, Claims, Command, CreateChat, Fork, Input, PostMessage, Scope,
    ToolResult,
};
use agent_world_core::config::{Agent, Rules, ToolSpec, Tools, World};
use agent_world_core::decide::decide;
use agent_world_core::event::{Attendance, ForkOrigin, Output, Position};
use agent_world_core::fork::history_until;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId, TurnId, WorldId};
use agent_world_core::item::{Item, Reply, Usage};
use agent_world_core::outstanding::{outstanding, wake};
use agent_world_core::sender::Sender;
use agent_world_core::view::{Row, chat_view, rows};
use agent_world_store::{
    Append, Appended, Error, MessagePage, Snapshot, Store, WorldChange, WorldWrite,
};
use serde_json::json;

static MOMENTS: AtomicU64 = AtomicU64::new(0);

/// A time later than every one given before. Not a whole millisecond: stores must keep what they are given.
pub fn now() -> Timestamp {
    let moment = MOMENTS.fetch_add(1, Ordering::Relaxed);
    let milliseconds = 1_800_000_000_000 + i64::try_from(moment).unwrap() * 10;
    let nanoseconds = i128::from(milliseconds) * 1_000_000 + 123_456;
    Timestamp::from_nanosecond(nanoseconds).unwrap()
}

pub fn change(entity: &str, action: &str, id: &str) -> WorldChange {
    WorldChange {
        entity: entity.to_owned(),
        action: action.to_owned(),
        id: id.to_owned(),
        by: "tester".to_owned(),
        at: now(),
        settings: None,
    }
}

/// A world with the agent `ada`, who answers everything.
pub async fn create_world(store: &dyn Store, id: &str) -> World {
    let mut world = World::new(WorldId::from(id), id, now());
    world.agents = vec![Agent::new("ada")];
    world.main_agent = Some("ada".into());
    let write = WorldWrite { world, expected: None, change: change("world", "created", id) };
    store.write_world(write).await.unwrap()
}

#[derive(Clone)]
pub struct Teller {
    pub store: Arc<dyn Store>,
    pub world: World,
    pub tools: Tools,
    pub chat: Chat,
    pub head: Head,
    /// With a snapshot in the next append.
    pub snapshot: bool,
}

impl Teller {
    /// Before the chat's first event.
    pub fn unborn(store: Arc<dyn Store>, world: &World) -> Self {
        let number = MOMENTS.fetch_add(1, Ordering::Relaxed);
        let spec = ToolSpec::new("shell", "runs a command", json!({"type": "object"}));
        Self {
            store,
            world: world.clone(),
            tools: [spec].into_iter().collect(),
            chat: Chat::unborn(ChatId::new(format!("chat_{number:08}"))),
            head: Head::default(),
            snapshot: false,
        }
    }

    pub async fn begin(store: Arc<dyn Store>, world: &World) -> Self {
        let mut teller = Self::unborn(store, world);
        let create =
            CreateChat { world: world.id.clone(), title: None, by: "ann".to_owned(), fork: None };
        teller.tell(Command::CreateChat(create)).await.unwrap();
        teller
    }

    /// Begins as a fork of another chat, with all of its history.
    pub async fn begin_fork_of(&mut self, other: &Teller) {
        let scope = agent_world_store::Scope::Chat(other.id());
        let log = other.store.events(&scope, 0, 10_000).await.unwrap();
        let log: Vec<Recorded> = log.iter().map(|event| event.sealed.open().unwrap()).collect();
        let end = Position { seq: other.head.seq, index: 0 };
        let page = MessagePage::Before(None, 1);
        let last = other.store.messages(&other.id(), page).await.unwrap().remove(0);
        let origin = ForkOrigin { chat: other.id(), message: last.id };
        let fork = Some(Fork { origin: Some(origin), history: history_until(&log, end) });
        let world = self.world.id.clone();
        let create = CreateChat { world, title: None, by: "ann".to_owned(), fork };
        self.tell(Command::CreateChat(create)).await.unwrap();
    }

    pub fn id(&self) -> ChatId {
        self.chat.id.clone()
    }

    /// What a command leads to from here, not stored yet.
    pub fn prepare(&self, command: Command) -> (Append, Chat) {
        let at = now();
        let entropy = u128::from(MOMENTS.fetch_add(1, Ordering::Relaxed)) << 16;
        let rules = Rules { world: &self.world, tools: &self.tools };
        let events = decide(&self.chat, rules, Input { at, entropy, command }).unwrap();
        let (mut chat, mut head) = (self.chat.clone(), self.head);
        let (mut sealed, mut changed) = (Vec::new(), Vec::new());
        for event in events {
            let recorded = Recorded { seq: head.seq + 1, at, event };
            let before = chat.clone();
            apply(&mut chat, &recorded);
            changed.extend(rows(&before, &chat, &recorded));
            let one = seal(head, &recorded).unwrap();
            head = one.head();
            sealed.push(one);
        }
        let snapshot =
            self.snapshot.then(|| Snapshot { seq: head.seq, state: chat.to_snapshot().unwrap() });
        let append = Append {
            chat: chat.id.clone(),
            world: self.world.id.clone(),
            world_version: self.world.version,
            expected: self.head,
            fence: None,
            events: sealed,
            rows: changed,
            view: chat_view(&chat, at),
            life: chat.life,
            wake: wake(&outstanding(&chat)),
            snapshot,
            idempotency: None,
        };
        (append, chat)
    }

    /// Decides, stores and goes on from there, under the settings that are then.
    pub async fn tell(&mut self, command: Command) -> Result<Appended, Error> {
        let (append, chat) = self.prepare(command);
        let head = append.events.last().map_or(self.head, |event| event.head());
        let granted = append.rows.iter().any(|row| matches!(row, Row::Rule(_)));
        let appended = self.store.append(append).await?;
        if granted {
            self.read_settings().await;
        }
        (self.chat, self.head) = (chat, head);
        Ok(appended)
    }

    pub async fn read_settings(&mut self) {
        self.world = self.store.world(&self.world.id).await.unwrap().unwrap();
    }

    pub async fn say(&mut self, text: &str) -> Result<Appended, Error> {
        self.tell(post(text)).await
    }

    /// The model calls `shell` with a command, which needs approval.
    pub async fn call_shell(&mut self, command: &str) -> ApprovalId {
        let known = self.chat.approvals.clone();
        let call = Item::call("vendor", "shell", &json!({"command": command}));
        self.reply(Reply { usage: usage(), ..Reply::of(vec![call]) }).await;
        self.chat.approvals.keys().find(|id| !known.contains_key(*id)).unwrap().clone()
    }

    pub async fn answer_text(&mut self, text: &str) {
        self.reply(Reply { usage: usage(), ..Reply::text(text) }).await;
    }

    pub async fn reply(&mut self, answer: Reply) {
        let (turn, reply) = self.model_call();
        let model = "scripted/one".to_owned();
        self.tell(Command::RecordReply { turn, reply, model, answer, looks: Default::default() })
            .await
            .unwrap();
    }

    fn model_call(&self) -> (TurnId, MessageId) {
        let turn = self.chat.turns.values().next().unwrap();
        let Phase::CallingModel { reply } = &turn.phase else { panic!("no model is called") };
        (turn.id.clone(), reply.clone())
    }

    /// Approves exactly this call, and others like it as far as the scope reaches.
    pub async fn approve(&mut self, approval: &ApprovalId, scope: Scope) {
        let narrowest = self.chat.approvals[approval].asked.suggestions[0].matches.clone();
        let matches = if scope == Scope::Once { Vec::new() } else { narrowest };
        let answer = AnswerApproval {
            approval: approval.clone(),
            answer: Answer::Approve { scope, matches, arguments: None, reason: None },
            by: "ann".to_owned(),
            claims: Claims::default(),
            look: None,
        };
        self.tell(Command::AnswerApproval(answer)).await.unwrap();
    }

    pub async fn run_tool(&mut self, output: &str) -> CallId {
        let call = self.chat.runnable().next().unwrap().made.call.clone();
        self.tell(Command::StartTool { call: call.clone(), look: None }).await.unwrap();
        let result = ToolResult::Completed(Output::text(output));
        let command = Command::RecordToolResult { call: call.clone(), attempt: 1, result };
        self.tell(command).await.unwrap();
        call
    }

    /// A whole exchange: a question, a tool call with approval, its result, an answer.
    pub async fn exchange(&mut self, text: &str) {
        self.say(text).await.unwrap();
        let approval = self.call_shell("ls").await;
        self.approve(&approval, Scope::Once).await;
        self.run_tool("a.txt").await;
        self.answer_text("there is a.txt").await;
    }
}

pub fn post(text: &str) -> Command {
    Command::PostMessage(PostMessage {
        sender: Sender::Human,
        user: Some("ann".to_owned()),
        text: text.to_owned(),
        parts: Vec::new(),
        reply_to: None,
        attendance: Attendance::Attended,
        recipients: None,
    })
}

fn usage() -> Usage {
    Usage { input_tokens: 10, output_tokens: 5, total_tokens: 15, ..Usage::default() }
}
