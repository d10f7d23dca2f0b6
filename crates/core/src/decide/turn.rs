//! Decides how a turn goes: when it starts, calls its model, waits, ends, or is not taken at all.
//! Called by `decide`. Never builds a prompt and never calls a model; see `runtime::effects::model`.

use std::collections::BTreeMap;

use crate::chat::{Phase, Turn};
use crate::command::{Look, Rejection};
use crate::config::AfterDenial;
use crate::event::{
    Addressing, Attendance, Ending, Event, Message, MessagePosted, ModelCallRequested, NoticeCode,
    Order, ReplyRecorded, TurnStarted, Waiting,
};
use crate::ids::{AgentId, CallId, MessageId, TurnId};
use crate::item::{Finish, FunctionCall, Reply, Usage};
use crate::mention;
use crate::nesting;
use crate::sender::Sender;

use super::Draft;
use super::tool::Made;

impl Draft<'_> {
    /// Gives an agent the chance to act on what waits for it.
    pub(super) fn attend(&mut self, agent: &AgentId) {
        let desk = self.chat.desk(agent);
        if desk.inbox.is_empty() {
            return;
        }
        match self.chat.turn_of(agent).map(|turn| (turn.id.clone(), &turn.phase)) {
            Some((turn, Phase::AwaitingHuman { .. })) if human_waits(&desk.inbox) => {
                self.call_model_again(&turn);
            }
            Some(_) => {}
            None if desk.turns_taken >= self.rules.world.turn_limit => self.limit_turns(agent),
            None => self.start_turn(agent, None),
        }
    }

    fn start_turn(&mut self, agent: &AgentId, retry_of: Option<TurnId>) {
        let desk = self.chat.desk(agent);
        let answering = desk
            .inbox
            .iter()
            .rev()
            .find_map(|waiting| match waiting {
                Waiting::Message { sender, .. } => Some(sender.clone()),
                Waiting::Background { .. } => None,
            })
            .unwrap_or(desk.answering);
        let inherited = |waiting: &Waiting| waiting.attendance().unwrap_or(desk.attendance);
        // Somebody who can be asked is asked, whoever else is answered together with them.
        let attendance = match retry_of {
            Some(_) => desk.attendance,
            None => desk.inbox.iter().map(inherited).min().unwrap_or(Attendance::Attended),
        };
        let turn = TurnId::next(&mut self.ids);
        self.emit(Event::TurnStarted(TurnStarted {
            turn: turn.clone(),
            agent: agent.clone(),
            answering,
            attendance,
            retry_of,
        }));
        self.request_model_call(&turn);
    }

    fn request_model_call(&mut self, turn: &TurnId) {
        let Some(open) = self.chat.turns.get(turn).cloned() else {
            return;
        };
        let reply = MessageId::next(&mut self.ids);
        self.emit(Event::ModelCallRequested(ModelCallRequested {
            turn: turn.clone(),
            agent: open.agent.clone(),
            reply,
            iteration: open.iteration + 1,
            joined: self.chat.desk(&open.agent).inbox.iter().cloned().collect(),
        }));
    }

    /// The next model call of a turn, unless it has had all it may make.
    fn call_model_again(&mut self, turn: &TurnId) {
        let Some(open) = self.chat.turns.get(turn).cloned() else {
            return;
        };
        let limit = self.rules.world.max_iterations;
        if open.iteration >= limit {
            let error = format!("stopped after {limit} model calls in one turn");
            let text =
                format!("{}: {error}; say how to go on, or raise max_iterations", open.agent);
            self.fail_turn(&open, NoticeCode::IterationLimit, error, text);
        } else {
            self.request_model_call(turn);
        }
    }

    /// Instead of the turn, one notice to the human; what was waiting stays in the agent's history.
    fn limit_turns(&mut self, agent: &AgentId) {
        let desk = self.chat.desk(agent);
        let limit = self.rules.world.turn_limit;
        let notice = (!desk.limit_noticed).then(|| MessageId::next(&mut self.ids));
        self.emit(Event::TurnLimitReached {
            agent: agent.clone(),
            limit,
            set_aside: desk.inbox.iter().cloned().collect(),
            notice: notice.clone(),
        });
        if let Some(id) = notice {
            let message = Message {
                id,
                sender: Sender::Agent(agent.clone()),
                user: None,
                text: turn_limit_notice(limit),
                parts: Vec::new(),
                reply_to: None,
                turn: None,
                usage: None,
            };
            // Not through `say`: nobody answers a turn-limit notice.
            self.emit(Event::MessagePosted(MessagePosted {
                message,
                recipients: Vec::new(),
                attendance: Attendance::Attended,
                addressing: Addressing::ByText,
            }));
        }
    }

    pub(super) fn record_reply(
        &mut self,
        turn: TurnId,
        reply: MessageId,
        model: String,
        answer: Reply,
        mut looks: BTreeMap<usize, Look>,
    ) -> Result<(), Rejection> {
        let open = self.turn_calling(&turn, &reply)?;
        let Some(agent) = self.rules.world.agent(&open.agent) else {
            let error = format!("agent {} was deleted while it was answering", open.agent);
            self.fail_turn(&open, NoticeCode::AgentGone, error.clone(), error);
            return Ok(());
        };
        if nesting::is_too_deep(&answer.items) {
            let error = "its reply is nested too deeply to be stored".to_owned();
            return self.record_model_failure(turn, reply, error);
        }
        let order = if agent.parallel_tool_calls { Order::Parallel } else { Order::Sequential };
        let made: Vec<(CallId, FunctionCall)> =
            answer.calls().map(|call| (CallId::next(&mut self.ids), call.clone())).collect();
        let spoken = answer.spoken();
        self.emit(Event::ReplyRecorded(ReplyRecorded {
            turn: turn.clone(),
            agent: open.agent.clone(),
            reply: reply.clone(),
            model,
            items: answer.items,
            calls: made.iter().map(|(id, _)| id.clone()).collect(),
            order,
            usage: answer.usage,
            finish: answer.finish.clone(),
        }));
        if let Finish::Incomplete { reason } = &answer.finish {
            let text = format!("the reply of {} was cut off by its vendor: {reason}", open.agent);
            let agent = Some(open.agent.clone());
            self.notice(NoticeCode::ReplyIncomplete, text, agent, Some(reply.clone()));
        }
        if made.is_empty() && spoken.trim().is_empty() {
            let text = format!("{} answered with an empty reply", open.agent);
            let agent = Some(open.agent.clone());
            self.notice(NoticeCode::ReplyEmpty, text, agent, open.answered.clone());
        }
        if made.is_empty() {
            self.finish_turn(&open, reply, &spoken, answer.usage);
        } else {
            for (index, (id, call)) in made.into_iter().enumerate() {
                let refused = match &answer.finish {
                    Finish::Incomplete { .. } => Some(INCOMPLETE.to_owned()),
                    Finish::Completed if index >= CALLS_LIMIT => Some(too_many_calls()),
                    Finish::Completed => None,
                };
                let look = looks.remove(&index);
                self.record_call(&open, &reply, Made { id, call, refused, look });
            }
            self.settle_batch(&turn);
        }
        Ok(())
    }

    /// The final text: freed of what is only meant for routing, then said like any other message.
    fn finish_turn(&mut self, open: &Turn, reply: MessageId, spoken: &str, usage: Usage) {
        let auto_reply = self.rules.world.agent(&open.agent).is_none_or(|agent| agent.auto_reply);
        let text = mention::finish_reply(
            spoken,
            &open.agent,
            &open.answering,
            auto_reply,
            &self.rules.world.roster(),
        );
        if !text.trim().is_empty() {
            let message = Message {
                id: reply,
                sender: Sender::Agent(open.agent.clone()),
                user: None,
                text,
                parts: Vec::new(),
                reply_to: open.answered.clone(),
                turn: Some(open.id.clone()),
                usage: Some(usage),
            };
            self.say(message, open.attendance);
        }
        self.end_turn(open, Ending::Completed);
    }

    pub(super) fn record_model_failure(
        &mut self,
        turn: TurnId,
        reply: MessageId,
        error: String,
    ) -> Result<(), Rejection> {
        let open = self.turn_calling(&turn, &reply)?;
        let text = format!("{} could not answer: {error}", open.agent);
        self.fail_turn(&open, NoticeCode::ModelFailed, error, text);
        Ok(())
    }

    pub(super) fn retry_turns(&mut self, agent: Option<AgentId>) -> Result<(), Rejection> {
        let failed: Vec<(AgentId, TurnId)> = self
            .chat
            .agents
            .iter()
            .filter(|(id, _)| agent.as_ref().is_none_or(|wanted| wanted == *id))
            .filter_map(|(id, desk)| Some((id.clone(), desk.failed.clone()?)))
            .collect();
        if failed.is_empty() {
            return Err(Rejection::NothingToRetry);
        }
        for (agent, turn) in failed {
            self.start_turn(&agent, Some(turn));
        }
        Ok(())
    }

    /// Goes on when nothing of the latest reply is left that the model waits for.
    pub(super) fn settle_batch(&mut self, turn: &TurnId) {
        self.hand_out_client_calls(turn);
        let Some(open) = self.chat.turns.get(turn).cloned() else {
            return;
        };
        let Phase::RunningTools { calls, .. } = &open.phase else {
            return;
        };
        let batch = calls.iter().filter_map(|id| self.chat.calls.get(id));
        if !batch.clone().all(|call| call.is_settled()) {
            return;
        }
        let denied = batch.clone().any(|call| call.denied_by_person);
        let waits = self.rules.world.after_denial == AfterDenial::Wait
            && denied
            && !human_waits(&self.chat.desk(&open.agent).inbox);
        if waits {
            self.emit(Event::TurnPaused { turn: turn.clone() });
        } else {
            self.call_model_again(turn);
        }
    }

    fn fail_turn(&mut self, open: &Turn, code: NoticeCode, error: String, text: String) {
        self.notice(code, text, Some(open.agent.clone()), open.answered.clone());
        self.end_turn(open, Ending::Failed { error });
    }

    // What arrived for the agent while it was busy is answered by its next turn.
    fn end_turn(&mut self, open: &Turn, ending: Ending) {
        self.emit(Event::TurnEnded { turn: open.id.clone(), ending });
        self.attend(&open.agent);
    }

    // A model call made again after a crash may be answered twice; only the first answer counts.
    fn turn_calling(&self, turn: &TurnId, reply: &MessageId) -> Result<Turn, Rejection> {
        match self.chat.turns.get(turn) {
            Some(open) if open.phase == (Phase::CallingModel { reply: reply.clone() }) => {
                Ok(Turn::clone(open))
            }
            _ => Err(Rejection::Stale(format!("model call {reply} of {turn}"))),
        }
    }
}

/// Calls of one reply that are executed at most.
pub const CALLS_LIMIT: usize = 128;

const INCOMPLETE: &str = "the reply was cut off before it was complete; the call was not executed";

fn too_many_calls() -> String {
    format!("at most {CALLS_LIMIT} calls of one reply are executed; make the others in your next")
}

fn human_waits(inbox: &imbl::Vector<Waiting>) -> bool {
    inbox.iter().any(|waiting| matches!(waiting, Waiting::Message { sender: Sender::Human, .. }))
}

/// What an agent posts once instead of the turn it does not take.
pub fn turn_limit_notice(limit: u32) -> String {
    format!("@human Turn limit reached ({limit} turns). Please take control of the conversation.")
}
