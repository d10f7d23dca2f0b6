//! Decides what a tool call is worth: whether it is a call at all, may run, has started, and how it ended.
//! Called by `decide`. Never runs the tool; see `runtime::effects::tool`.

use std::sync::Arc;

use serde_json::Value;

use crate::arguments;
use crate::binding::{Binding, Facts};
use crate::chat::{Call, CallState, Turn};
use crate::command::{Look, Rejection, ToolResult};
use crate::config::{Location, Mode, ToolSpec};
use crate::event::{Event, Outcome, Output, ToolCalled, ToolFinished};
use crate::ids::{CallId, MessageId, TurnId};
use crate::item::FunctionCall;
use crate::nesting;
use crate::policy::{self, Denial, Ground, Question, Ruling, Verdict};

use super::Draft;
use super::approval::question_of;

/// Names a model may not call: they belong to the person's side.
const CLIENT_PREFIX: &str = "client.";

/// One call of a reply, before it is known whether it is one.
pub(super) struct Made {
    pub id: CallId,
    pub call: FunctionCall,
    /// Why it is not even looked at.
    pub refused: Option<String>,
    /// What its tool found of it.
    pub look: Option<Look>,
}

impl Draft<'_> {
    /// One call of a reply. Whatever is wrong with it becomes its result, which the model sees.
    pub(super) fn record_call(&mut self, open: &Turn, reply: &MessageId, made: Made) {
        let Made { id, call, refused, look } = made;
        let admitted = match refused {
            Some(problem) => Err(problem),
            None => self.admit(open, &call),
        };
        let called = |arguments: Value, spec: Option<&ToolSpec>, verdict| ToolCalled {
            call: id.clone(),
            turn: open.id.clone(),
            agent: open.agent.clone(),
            reply: reply.clone(),
            vendor_id: call.call_id.clone(),
            name: call.name.clone(),
            mode: spec.map_or(Mode::Blocking, |spec| spec.mode_of(&arguments)),
            arguments,
            location: spec.map_or(Location::Server, |spec| spec.location),
            timeout_seconds: spec.map_or(0, |spec| spec.timeout_seconds),
            may_repeat: spec.is_some_and(ToolSpec::may_repeat),
            working_directory: self.rules.world.working_directory.clone(),
            verdict,
        };
        let (spec, arguments) = match admitted {
            Ok(admitted) => admitted,
            Err(problem) => {
                let event = called(Value::String(call.arguments.clone()), None, None);
                self.emit(Event::ToolCalled(event));
                self.end_call(&id, Outcome::Failed, Output::text(format!("error: {problem}")));
                return;
            }
        };
        let question = Question {
            agent: &open.agent,
            tool: &spec.name,
            arguments: &arguments,
            directory: self.rules.world.working_directory.as_deref(),
        };
        let verdict = self.judge(&spec, question);
        let event = called(arguments, Some(&spec), Some(verdict.clone()));
        self.emit(Event::ToolCalled(event));
        match (verdict.ruling, look) {
            (Ruling::Allow | Ruling::Ask, Some(Err(problem))) => {
                self.end_call(&id, Outcome::Failed, Output::text(format!("error: {problem}")));
            }
            (Ruling::Allow, _) => {}
            (Ruling::Ask, look) => {
                let prepared = look.and_then(Result::ok);
                self.request_approval(&id, &spec, open.attendance, prepared, None);
            }
            (Ruling::Deny, _) => {
                let rule = match &verdict.ground {
                    Ground::Rule(rule) => format!("denied by rule {rule} of this world"),
                    Ground::Preset(preset) => {
                        format!("denied by the preset {preset} of this world")
                    }
                    _ => "denied by this world's policy".to_owned(),
                };
                self.end_call(&id, Outcome::Denied, Output::text(rule));
            }
        }
    }

    /// The tool and the canonical arguments, or why nothing can run.
    fn admit(&self, open: &Turn, call: &FunctionCall) -> Result<(Arc<ToolSpec>, Value), String> {
        let name = call.name.as_str();
        if name.trim().is_empty() {
            return Err("the call names no tool".to_owned());
        }
        if name.trim().to_ascii_lowercase().starts_with(CLIENT_PREFIX) {
            return Err(format!("`{name}` is not for models: {CLIENT_PREFIX}* calls are refused"));
        }
        let agent = self.rules.world.agent(&open.agent);
        let spec = agent
            .filter(|agent| agent.may_see(name))
            .and_then(|_| self.tool(name))
            .ok_or_else(|| self.unknown_tool(open, name))?;
        let arguments = match self.rules.tools.schema(name) {
            Some(schema) => schema.parse(&call.arguments)?,
            None => arguments::parse(&call.arguments, &spec.parameters)?,
        };
        Ok((spec, arguments))
    }

    /// A tool of the world or, for this chat, of a client.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.rules.tools.get(name).or_else(|| self.chat.client_tool(name)).cloned()
    }

    fn unknown_tool(&self, open: &Turn, name: &str) -> String {
        let offered = self.chat.client_tools.values().flatten();
        let known: Vec<&str> = self
            .rules
            .world
            .agent(&open.agent)
            .map(|agent| {
                let all = self.rules.tools.iter().chain(offered);
                all.map(|spec| spec.name.as_str()).filter(|name| agent.may_see(name)).collect()
            })
            .unwrap_or_default();
        match known.as_slice() {
            [] => format!("unknown tool `{name}`; no tools are available"),
            known => format!("unknown tool `{name}`; available: {}", known.join(", ")),
        }
    }

    pub(super) fn judge(&self, spec: &ToolSpec, question: Question<'_>) -> Verdict {
        let grants = self.chat.grants.values().map(Arc::as_ref);
        policy::judge(&self.rules.world.policy, grants, spec, question)
    }

    /// Durable before the tool's process exists. Refused for anything that has started already.
    pub(super) fn start_tool(&mut self, id: CallId, look: Option<Look>) -> Result<(), Rejection> {
        let call = self.call(&id)?;
        if call.state != CallState::Pending || !self.chat.comes_next(&call) {
            return Err(stale(&id));
        }
        // A denial is stronger than any permission, also one written after it was given.
        if let Some(denial) = self.denial(question_of(&call)) {
            let text = match denial {
                Denial::Rule(rule) => format!("denied by rule {rule} of this world"),
                Denial::Preset(preset) => format!("denied by the preset {preset} of this world"),
            };
            self.end_unstarted(&call, Outcome::Denied, text);
            self.after_call(&call);
            return Ok(());
        }
        let prepared = match look {
            Some(Err(problem)) => {
                self.end_call(&id, Outcome::Failed, Output::text(format!("error: {problem}")));
                self.after_call(&call);
                return Ok(());
            }
            Some(Ok(prepared)) => Some(prepared),
            // What the approval holds for cannot be looked at: nobody knows what would run.
            None if call.binding.as_ref().is_some_and(|bound| !bound.facts.is_empty()) => {
                let text = "error: the tool is not available any more; nothing was run";
                self.end_call(&id, Outcome::Failed, Output::text(text));
                self.after_call(&call);
                return Ok(());
            }
            None => None,
        };
        if let (Some(bound), Some(prepared)) = (&call.binding, &prepared) {
            let changes = bound.changes(&Binding::new(call.arguments(), prepared.facts.clone()));
            if !changes.is_empty() {
                self.ask_again(&call, changes, prepared.clone());
                return Ok(());
            }
        }
        let facts = prepared.map_or_else(Facts::new, |prepared| prepared.facts);
        self.emit(Event::ToolStarted { call: id, attempt: call.attempt + 1, facts });
        self.settle_batch(&call.made.turn);
        Ok(())
    }

    pub(super) fn record_tool_result(
        &mut self,
        id: CallId,
        attempt: u32,
        result: ToolResult,
    ) -> Result<(), Rejection> {
        let call = self.call(&id)?;
        if call.state != CallState::Executing || call.attempt != attempt {
            return Err(stale(&id));
        }
        let (outcome, output) = match result {
            ToolResult::Completed(output) => (Outcome::Completed, output),
            ToolResult::Failed(output) => (Outcome::Failed, output),
            ToolResult::TimedOut(output) => (Outcome::Timeout, output),
            ToolResult::Cancelled(output) => (Outcome::Cancelled, output),
        };
        self.end_call(&id, outcome, output);
        self.after_call(&call);
        Ok(())
    }

    /// Nobody can know whether it took effect, unless repeating it is harmless.
    pub(super) fn record_lost_tool(&mut self, id: CallId) -> Result<(), Rejection> {
        let call = self.call(&id)?;
        if call.state != CallState::Executing || call.made.location == Location::Client {
            return Err(stale(&id));
        }
        if call.made.may_repeat {
            self.withdraw_forms(&id);
            self.emit(Event::ToolRequeued { call: id });
        } else {
            let text = "interrupted: the program stopped while this ran; it may or may not have \
                        taken effect. It was not run again.";
            self.end_call(&id, Outcome::Interrupted, Output::text(text));
        }
        self.after_call(&call);
        Ok(())
    }

    pub(super) fn record_client_result(
        &mut self,
        id: CallId,
        output: Output,
        is_error: bool,
    ) -> Result<(), Rejection> {
        let waiting = self.call(&id).ok().filter(|call| {
            call.state == CallState::Executing && call.made.location == Location::Client
        });
        let Some(call) = waiting else {
            return Err(Rejection::NotAClientCall(id));
        };
        let outcome = if is_error { Outcome::Failed } else { Outcome::Completed };
        self.end_call(&id, outcome, output);
        self.after_call(&call);
        Ok(())
    }

    /// A client's tool needs no process of ours: it has started once the client can see it.
    pub(super) fn hand_out_client_calls(&mut self, turn: &TurnId) {
        loop {
            let next = self
                .chat
                .runnable()
                .find(|call| call.made.location == Location::Client && call.made.turn == *turn)
                .map(|call| (call.made.call.clone(), call.attempt));
            let Some((call, attempt)) = next else { return };
            self.emit(Event::ToolStarted { call, attempt: attempt + 1, facts: Facts::new() });
        }
    }

    pub(super) fn end_call(&mut self, id: &CallId, outcome: Outcome, mut output: Output) {
        self.withdraw_forms(id);
        if nesting::is_too_deep(&output.details) {
            output.details = Value::from("not stored: nested too deeply");
        }
        let message = MessageId::next(&mut self.ids);
        self.emit(Event::ToolFinished(ToolFinished { call: id.clone(), message, outcome, output }));
    }

    /// Ends a call that is not to run. One that was started before a crash may have taken effect all the same.
    pub(super) fn end_unstarted(&mut self, call: &Call, outcome: Outcome, text: String) {
        let (outcome, text) = match call.attempt {
            0 => (outcome, text),
            _ => {
                let text = format!(
                    "interrupted: the program stopped while this ran; it may or may not have taken effect. It \
                     was not run again: {text}"
                );
                (Outcome::Interrupted, text)
            }
        };
        self.end_call(&call.made.call, outcome, Output::text(text));
    }

    /// A call that has ended may complete its batch, or be something its agent is to be shown.
    pub(super) fn after_call(&mut self, call: &Call) {
        self.settle_batch(&call.made.turn);
        self.attend(&call.made.agent);
    }

    pub(super) fn call(&self, id: &CallId) -> Result<Arc<Call>, Rejection> {
        self.chat.calls.get(id).cloned().ok_or_else(|| stale(id))
    }
}

fn stale(id: &CallId) -> Rejection {
    Rejection::Stale(format!("tool call {id}"))
}
