//! Says how an errand ended: what was denied, what waits, what was cut off, and whether the message was answered at all.
//! Used by `errand` when nothing is under way any more. Only words and an exit code; decides nothing.

use agent_world_client::Path;
use agent_world_client::wire::Approval;
use anyhow::Result;
use serde_json::{Value, json};

use super::Approve;
use super::errand::Errand;
use crate::again;
use crate::exit::Exit;
use crate::phrases;
use crate::screen::Tone;

#[derive(Debug)]
pub struct Conclusion {
    /// What waits in the chat, whosever it is.
    waiting: Vec<Approval>,
}

impl Conclusion {
    pub async fn reach(errand: &Errand) -> Result<Self> {
        let path = Path::new("/api/approvals").with("chat", &errand.chat).with("limit", "1000");
        let waiting = match errand.gone {
            true => Vec::new(),
            false => errand.connection.client.all(path).await?,
        };
        Ok(Self { waiting })
    }

    pub fn lines(&self, errand: &Errand) -> Vec<(Tone, String)> {
        let mut lines = Vec::new();
        let why = match errand.approve {
            Approve::ReadOnly => "it is not declared read-only",
            _ => "nobody could be asked",
        };
        for id in &errand.denied {
            let text =
                format!("{id} was denied because {why}; see --approve, or use `agent-world chat`");
            lines.push((Tone::Warning, again::typed(&text).into_owned()));
        }
        for call in &errand.interrupted {
            let text = format!(
                "{} of {} was interrupted: it may or may not have taken effect, and is not run again by itself",
                call.name, call.agent_id
            );
            lines.push((Tone::Warning, text));
        }
        for approval in &self.waiting {
            let text = format!("{} is waiting: {}", approval.id, phrases::wish(approval));
            lines.push((Tone::Warning, text));
        }
        if !self.waiting.is_empty() {
            lines.extend(self.unheard(errand).map(|text| (Tone::Plain, text)));
            lines.push((Tone::Plain, next_steps(errand)));
        }
        lines
    }

    /// What becomes of a message that comes after what waits.
    fn unheard(&self, errand: &Errand) -> Option<String> {
        if errand.descent.is_taken_in() {
            return None;
        }
        let mut agents: Vec<&str> =
            self.waiting.iter().map(|approval| approval.agent_id.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        let ids: Vec<&str> = self.waiting.iter().map(|approval| approval.id.as_str()).collect();
        let (answers, are) = match (agents.len(), ids.len()) {
            (1, 1) => ("answers", "is"),
            (1, _) => ("answers", "are"),
            _ => ("answer", "are"),
        };
        Some(format!(
            "your message was accepted; {} {answers} when {} {are} decided",
            agents.join(" and "),
            ids.join(", ")
        ))
    }

    /// The same for programs, where something waits or was denied for want of a person.
    pub fn object(&self, errand: &Errand) -> Option<Value> {
        let state = match (self.waiting.is_empty(), errand.denied.is_empty()) {
            (false, _) => "waiting",
            (true, false) => "denied",
            (true, true) => return None,
        };
        let ids: Vec<&str> = self.waiting.iter().map(|approval| approval.id.as_str()).collect();
        Some(json!({
            "type": "outcome",
            "state": state,
            "message_id": errand.descent.message(),
            "chat_id": errand.chat,
            "taken_up": errand.descent.is_taken_in(),
            "approvals": ids,
            "denied": errand.denied,
        }))
    }

    pub fn exit(&self, errand: &Errand) -> Exit {
        let failed = errand.failed || !errand.interrupted.is_empty();
        match (failed, errand.denied.is_empty() && self.waiting.is_empty()) {
            (true, _) => Exit::Failed,
            (false, false) => Exit::Waiting,
            (false, true) => Exit::Done,
        }
    }
}

fn next_steps(errand: &Errand) -> String {
    let resume = match errand.connection.session() {
        Some(_) => ", then `agent-world resume`",
        None => "",
    };
    let text = format!(
        "decide with `agent-world approvals approve ID` or `deny ID`{resume}; \
         or go on with `agent-world chat -w {} -c {}`",
        errand.world, errand.chat
    );
    again::typed(&text).into_owned()
}
