//! Performs a play script on a world of its own and prints what happened.
//! Called by every test through `check`. Stands in for the runtime: it sends commands and keeps the granted rules.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::brought::Brought;
use agent_world_core::command::{
    AnswerApproval, Command, CreateChat, Fork, Input, MessageRef, PostMessage, Rejection,
    TitleProposal, ToolResult,
};
use agent_world_core::config::Rules;
use agent_world_core::decide::decide;
use agent_world_core::event::{Attendance, Event, ForkOrigin, Form};
use agent_world_core::fork::history_until;
use agent_world_core::ids::{AgentId, CallId, ChatId, Ids, MessageId, TurnId};
use agent_world_core::item::{FunctionCall, Item, Reply, Usage};
use agent_world_core::outstanding::outstanding;
use agent_world_core::prompt::Prompt;
use agent_world_core::sender::Sender;
use agent_world_core::view;
use expect_test::Expect;
use serde_json::json;

use crate::printer::{self, Names};
use crate::scene::Scene;
use crate::script::{self, Step};
use crate::setting::{self, Setting};

/// Performs a script and compares what happened, and what is owed at the end, with what was expected.
#[track_caller]
pub fn check(script: &str, expected: Expect) {
    expected.assert_eq(&play(script).finish());
}

/// Performs a script, for tests that look at the result in their own way.
pub fn play(script: &str) -> Stage {
    let mut stage = Stage::new();
    stage.go_on(script);
    stage
}

pub struct Stage {
    pub setting: Setting,
    pub names: Names,
    pub now: Timestamp,
    scenes: Vec<Scene>,
    current: usize,
    commands: u128,
    vendor_ids: u32,
    /// The latest model call of each agent of a chat, answered or not.
    asked: BTreeMap<(usize, AgentId), (TurnId, MessageId)>,
    lines: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        Self {
            setting: Setting::new(now),
            names: Names::default(),
            now,
            scenes: Vec::new(),
            current: 0,
            commands: 0,
            vendor_ids: 0,
            asked: BTreeMap::new(),
            lines: Vec::new(),
        }
    }

    pub fn go_on(&mut self, script: &str) {
        for step in script::parse(script) {
            self.perform(step);
        }
    }

    /// The chat the script is in.
    pub fn scene(&self) -> &Scene {
        &self.scenes[self.current]
    }

    /// What an agent's model would be given now.
    pub fn prompt(&self, agent: &str) -> Prompt {
        let tools = self.setting.tools();
        let rules = Rules { world: &self.setting.world, tools: &tools };
        self.scene().transcript.prompt(&agent.into(), rules).expect("an agent")
    }

    /// What a command would make happen now. Nothing is recorded.
    pub fn decide(&self, command: Command) -> Result<Vec<Event>, Rejection> {
        let tools = self.setting.tools();
        let rules = Rules { world: &self.setting.world, tools: &tools };
        let input = Input { at: self.now, entropy: 1, command };
        decide(&self.scene().chat, rules, input)
    }

    pub fn refusal(&self, command: Command) -> Rejection {
        self.decide(command).expect_err("a refusal")
    }

    pub fn finish(mut self) -> String {
        let owed = printer::owed(&outstanding(&self.scene().chat), self.now);
        self.say(owed);
        self.lines.join("\n") + "\n"
    }

    fn say(&mut self, line: impl AsRef<str>) {
        let line = self.names.shorten(line.as_ref());
        self.lines.push(line);
    }

    fn perform(&mut self, step: Step) {
        if let Step::Set(line) = &step {
            return self.setting.read(line);
        }
        if self.scenes.is_empty() && !matches!(step, Step::NewChat(_)) {
            self.new_chat(None, None);
            self.lines.clear();
        }
        if let Some(command) = self.command(step) {
            self.send(command);
        }
        let tools = self.setting.tools();
        let rules = Rules { world: &self.setting.world, tools: &tools };
        self.scenes[self.current].crash(rules);
    }

    /// The command a step stands for. None for a step that sends none or has sent its own.
    fn command(&mut self, step: Step) -> Option<Command> {
        let by = "human".to_owned();
        Some(match step {
            Step::Post { sender, user, attendance, only, text } => {
                Command::PostMessage(PostMessage {
                    sender: Sender::parse(&sender),
                    user,
                    text,
                    parts: Vec::new(),
                    reply_to: None,
                    attendance,
                    recipients: only,
                })
            }
            Step::Reply { agent, reply } => {
                let (turn, reply_id) = self.model_call(&agent)?;
                let answer = self.with_vendor_ids(reply);
                let look = |(place, call): (usize, &FunctionCall)| {
                    Some((place, self.setting.look(&call.name)?))
                };
                let looks = answer.calls().enumerate().filter_map(look).collect();
                Command::RecordReply {
                    turn,
                    reply: reply_id,
                    model: "test/model".into(),
                    answer,
                    looks,
                }
            }
            Step::ModelFails { agent, error } => {
                let (turn, reply) = self.model_call(&agent)?;
                Command::RecordModelFailure { turn, reply, error }
            }
            Step::Answer { approval, answer, claims, by } => {
                let approval = self.names.id("approval", &approval).into();
                let view = self.scene().tables.approvals.get(&approval);
                let look = view.and_then(|view| self.setting.look(&view.tool));
                Command::AnswerApproval(AnswerApproval { approval, answer, by, claims, look })
            }
            Step::Start(call) => self.start(self.call(&call)),
            Step::Asks { call, question } => {
                let call = self.call(&call);
                let schema = json!({
                    "type": "object",
                    "properties": {"colour": {"type": "string"}},
                    "required": ["colour"],
                });
                let form = Form { schema, url: None };
                Command::AskPerson { attempt: self.attempt(&call), call, question, form }
            }
            Step::Offers { client, tools } => {
                Command::OfferTools { client, tools: setting::offered(&tools), by }
            }
            Step::Run { call, output } => {
                let call = self.call(&call);
                self.send(self.start(call.clone()));
                let result = ToolResult::Completed(output);
                Command::RecordToolResult { attempt: self.attempt(&call), call, result }
            }
            Step::ToolEnds { call, attempt, result } => {
                let call = self.call(&call);
                let attempt = attempt.unwrap_or_else(|| self.attempt(&call));
                Command::RecordToolResult { call, attempt, result }
            }
            Step::Lost(call) => Command::RecordLostTool { call: self.call(&call) },
            Step::ClientAnswers { call, output, is_error } => {
                Command::RecordClientResult { call: self.call(&call), output, is_error }
            }
            Step::Stop(agent) => Command::Stop { agent, by },
            Step::Retry(agent) => Command::RetryTurns { agent },
            Step::Edit { message, text } => {
                Command::EditMessage { target: self.message(&message), text, user: None, by }
            }
            Step::Delete(message) => Command::DeleteMessage { target: self.message(&message), by },
            Step::Revoke(grant) => {
                Command::RevokeGrant { grant: self.names.id("grant", &grant).into(), by }
            }
            Step::Review => Command::ReviewApprovals,
            Step::Expire => Command::ExpireApprovals,
            Step::Rename(title) => Command::RenameChat { title, by },
            Step::Title(title) => Command::RecordTitle { proposal: title.map(proposed) },
            Step::DeleteChat => Command::DeleteChat { by },
            other => {
                self.stage_direction(other);
                return None;
            }
        })
    }

    /// Steps that only concern the stage, or print something.
    fn stage_direction(&mut self, step: Step) {
        match step {
            Step::Quietly => self.lines.clear(),
            Step::Wait(seconds) => self.pass(Duration::from_secs(seconds.unsigned_abs())),
            Step::NewChat(title) => self.new_chat(title, None),
            Step::GoToChat(number) => self.current = number - 1,
            Step::Fork(message) => self.fork(&message),
            Step::Brings { agent, items } => self.bring(agent, items),
            Step::Finds { tool, found } => self.setting.find(tool, &found),
            Step::Sees(agent) => {
                let prompt = self.prompt(agent.as_str());
                for line in printer::prompt(agent.as_str(), &prompt) {
                    self.say(line);
                }
            }
            Step::Activity => self.say(printer::activity(&view::activity(&self.scene().chat))),
            Step::Requests => {
                let views: Vec<String> =
                    self.scene().tables.approvals.values().map(printer::approval).collect();
                views.into_iter().for_each(|view| self.say(view));
            }
            Step::Usage => {
                let tokens = self.scene().tables.usage.iter().map(|one| one.usage.total_tokens);
                let total = format!("tokens used: {}", tokens.sum::<u64>());
                self.say(total);
            }
            // Every step is followed by one.
            _ => {}
        }
    }

    fn send(&mut self, command: Command) {
        self.pass(Duration::from_secs(1));
        self.commands += 1;
        let answered = match &command {
            Command::RecordReply { reply, .. } | Command::RecordModelFailure { reply, .. } => {
                Some(reply.clone())
            }
            _ => None,
        };
        let input = Input { at: self.now, entropy: self.commands << 20, command };
        let tools = self.setting.tools();
        let rules = Rules { world: &self.setting.world, tools: &tools };
        let scene = &mut self.scenes[self.current];
        let rules_before = scene.tables.rules.len();
        let count = match scene.perform(rules, input) {
            Ok(count) => count,
            Err(rejection) => {
                answered.into_iter().for_each(|reply| self.names.learn("reply", reply));
                return self.say(format!("refused ({}): {rejection}", rejection.code()));
            }
        };
        // A store adds the rules that answers make to the world's settings.
        let granted = scene.tables.rules[rules_before..].to_vec();
        let events = scene.log[scene.log.len() - count..].to_vec();
        self.setting.world.policy.granted.extend(granted);
        if count == 0 {
            self.say("nothing happened");
        }
        for recorded in events {
            self.names.learn_from(&recorded.event);
            if let Event::ModelCallRequested(requested) = &recorded.event {
                let key = (self.current, requested.agent.clone());
                self.asked.insert(key, (requested.turn.clone(), requested.reply.clone()));
            }
            if let Some(line) = printer::event(&recorded) {
                self.say(line);
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.checked_add(time).expect("a time");
    }

    fn new_chat(&mut self, title: Option<String>, fork: Option<Fork>) {
        let id = ChatId::new(format!("chat_{}", self.scenes.len() + 1));
        self.scenes.push(Scene::new(id, self.setting.world.result_limit));
        self.current = self.scenes.len() - 1;
        let world = self.setting.world.id.clone();
        self.send(Command::CreateChat(CreateChat { world, title, by: "human".to_owned(), fork }));
    }

    fn fork(&mut self, message: &str) {
        let target = self.message(message);
        let history = history_until(&self.scene().log, target.position);
        let origin = ForkOrigin { chat: self.scene().chat.id.clone(), message: target.id };
        self.new_chat(None, Some(Fork { origin: Some(origin), history }));
    }

    fn bring(&mut self, agent: AgentId, items: Vec<Item>) {
        let brought = Brought { agent, user: "carol".to_owned(), items };
        self.commands += 1;
        let history = brought.history(self.now, &mut Ids::new(self.now, self.commands));
        self.new_chat(None, Some(Fork { origin: None, history }));
    }

    /// The latest model call of an agent, even if it was answered: a late answer must be refused.
    fn model_call(&mut self, agent: &AgentId) -> Option<(TurnId, MessageId)> {
        let call = self.asked.get(&(self.current, agent.clone())).cloned();
        if call.is_none() {
            self.say(format!("{agent} was not asked"));
        }
        call
    }

    fn with_vendor_ids(&mut self, mut reply: Reply) -> Reply {
        reply.usage.total_tokens = 10;
        for item in &mut reply.items {
            if let Item::FunctionCall(call) = item
                && call.call_id == "auto"
            {
                self.vendor_ids += 1;
                call.call_id = format!("v{}", self.vendor_ids);
            }
        }
        reply
    }

    fn call(&self, number: &str) -> CallId {
        self.names.id("call", number).into()
    }

    fn start(&self, call: CallId) -> Command {
        let name = self.scene().chat.calls.get(&call).map(|call| call.made.name.as_str());
        let look = name.and_then(|name| self.setting.look(name));
        Command::StartTool { call, look }
    }

    fn attempt(&self, call: &CallId) -> u32 {
        self.scene().chat.calls.get(call).map_or(1, |call| call.attempt)
    }

    /// A message as the read model has it.
    fn message(&self, number: &str) -> MessageRef {
        let id: MessageId = self.names.id("message", number).into();
        let view = self.scene().tables.messages.iter().find(|message| message.id == id);
        let view = view.expect("a message of this chat");
        let (sender, parts) = (view.sender.clone(), view.parts.clone());
        let (reply_to, attendance) = (view.reply_to.clone(), Attendance::Attended);
        MessageRef {
            id,
            position: view.position,
            sender,
            parts,
            reply_to,
            attendance,
            recipients: None,
        }
    }
}

/// A title as the model of the stage proposes it.
fn proposed(text: String) -> TitleProposal {
    let usage = Usage { total_tokens: 3, ..Usage::default() };
    TitleProposal { text, model: "test/model".to_owned(), usage }
}
