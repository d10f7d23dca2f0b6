//! Takes in what is heard: the part of the state that follows the log.
//! Called by `update`. What must be looked up because of it is returned; what is shown of it is decided elsewhere.

use agent_world_client::Heard;
use agent_world_client::wire::{Approval, Event, News};

use super::inbox::Settled;
use super::message::Effect;
use super::state::{Connection, Focus, State, Tone};
use super::transcript::Transcript;
use super::words;

impl State {
    pub(super) fn following(&mut self, known: u64) -> Vec<Effect> {
        self.connection = Connection::Connected;
        (self.known, self.is_stale) = (known, true);
        let open = self.open.clone();
        // What is not stored yet exists only here.
        self.transcripts.retain(|transcript| {
            Some(transcript.chat()) == open.as_deref() || !transcript.sending().is_empty()
        });
        let mut effects = vec![Effect::LoadMe, Effect::LoadWorlds, Effect::LoadApprovals];
        let after = self.notices_after();
        effects.extend(self.transcripts.iter_mut().map(|open| open.load_again(after)));
        effects
    }

    pub(super) fn lost(&mut self, why: String) -> Vec<Effect> {
        self.connection = Connection::Lost(why);
        Vec::new()
    }

    pub(super) fn hear(&mut self, heard: &Heard) -> Vec<Effect> {
        let open = self.open.as_deref();
        for transcript in &mut self.transcripts {
            let changed = transcript.hear(heard);
            self.is_dirty |= changed && open == Some(transcript.chat());
        }
        match heard {
            Heard::Event(event) => self.event(event),
            Heard::Lost(why) => {
                self.is_dirty = true;
                self.lost(why.clone())
            }
            Heard::Back => {
                self.connection = Connection::Connected;
                self.is_dirty = true;
                Vec::new()
            }
            Heard::Piece(_) | Heard::Output(_) => Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) -> Vec<Effect> {
        self.log.take(&event.json);
        self.is_dirty |= self.shows_log;
        let (changed, effects) = self.tree.hear(event);
        self.is_dirty |= changed;
        match &event.news {
            News::Approval(approval) => self.settled(approval),
            News::Changed(changed) if changed.action == "deleted" => {
                return self.deleted(&changed.entity, &changed.id, effects);
            }
            _ => {}
        }
        effects
    }

    /// What waited in a chat or a world that is gone does not wait any more, and nobody may have told so.
    fn deleted(&mut self, entity: &str, id: &str, mut effects: Vec<Effect>) -> Vec<Effect> {
        let is_meant = |transcript: &&Transcript| match entity {
            "chat" => transcript.chat() == id,
            "world" => transcript.world() == id,
            _ => false,
        };
        let gone = self.transcripts.iter().filter(is_meant);
        let gone: Vec<String> = gone.map(|transcript| transcript.chat().to_owned()).collect();
        for chat in gone {
            self.forget(&chat);
        }
        if matches!(entity, "chat" | "world") {
            effects.push(Effect::LoadApprovals);
        }
        effects
    }

    /// A request is new, or was settled by somebody.
    pub(super) fn settled(&mut self, approval: &Approval) {
        self.is_dirty = true;
        match self.inbox.hear(approval) {
            Settled::Yes => self.tell(Tone::Plain, words::outcome(approval)),
            Settled::Otherwise => {
                let by = approval.decided_by.as_deref().unwrap_or("somebody");
                let what = format!("decided elsewhere by {by}: {}", words::outcome(approval));
                self.tell(Tone::Warning, what);
            }
            Settled::No if approval.is_pending() && self.focus != Focus::Inbox => {
                let about = words::call(&approval.arguments);
                let asks = format!("{} asks for {} {about}", approval.agent_id, approval.tool);
                self.tell(Tone::Question, asks);
                return;
            }
            Settled::No => return,
        }
        let is_done = self.inbox.len() == 0 && self.inbox.became().is_none();
        // Where the inbox is over the conversation, an empty one is in the way.
        if is_done && self.focus == Focus::Inbox && !self.layout.is_wide {
            self.focus = Focus::Conversation;
        }
    }
}
