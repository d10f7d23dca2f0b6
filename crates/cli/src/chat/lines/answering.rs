//! Carries out what a person answered in a conversation of lines, and says what a decision that lasts holds for.
//! Used by `lines`. Never guesses: a line that is no answer decides nothing.

use agent_world_client::wire::{Approval, Decision, Reach};
use agent_world_client::{Error, Path};
use agent_world_terminal::chat::{UNDO, insist, lasts, released};
use anyhow::Result;

use super::Conversation;
use crate::chat::question::{Reading, Step};
use crate::screen::Tone;

impl Conversation {
    pub(super) async fn answered(
        &mut self,
        reading: Reading,
        line: &str,
        step: Step,
    ) -> Result<()> {
        match reading {
            Reading::Answer(decision) => self.decide(&decision).await,
            Reading::AskReason => self.next_step(Step::Reason),
            Reading::AskArguments => self.next_step(Step::Arguments),
            Reading::AskWhetherSure => self.next_step(Step::Sure),
            Reading::Back => self.next_step(Step::Decision),
            Reading::Later => {
                self.questions.put_off();
                self.note(Tone::Quiet, "it waits; /approvals asks again")
            }
            Reading::Unclear(problem) => {
                if !line.trim().is_empty() {
                    self.note(Tone::Warning, &problem)?;
                }
                match step {
                    Step::Arguments => self.next_step(Step::Decision),
                    Step::Decision | Step::Reason | Step::Sure => Ok(()),
                }
            }
        }
    }

    fn next_step(&mut self, step: Step) -> Result<()> {
        if let Some(asked) = &mut self.questions.asked {
            asked.step = step;
        }
        Ok(())
    }

    async fn decide(&mut self, decision: &Decision) -> Result<()> {
        let Some(asked) = self.questions.asked.clone() else {
            return Ok(());
        };
        let id = asked.approval.id.clone();
        let path = Path::new("/api/approvals").then(&id);
        let after = self.following.known();
        let client = self.client().clone();
        // One decision takes effect, however often it is sent.
        match insist(|| client.post::<Approval>(path.clone(), decision)).await {
            Ok(decided) => {
                // What happens in another chat is not heard here.
                if !self.questions.is_elsewhere(&id) {
                    self.own_decisions.insert(id.clone());
                }
                self.questions.settle(&id);
                self.tell_lasting(&asked.approval, &decided, decision, after)
            }
            Err(error) if error.status() == Some(409) => {
                self.questions.settle(&id);
                self.note(Tone::Warning, &format!("! {error}"))
            }
            Err(error @ Error::Refused(_)) => {
                self.next_step(Step::Decision)?;
                self.note(Tone::Warning, &format!("! {error}"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says for which calls a permission holds, and has counted what else it answers.
    fn tell_lasting(
        &mut self,
        asked: &Approval,
        decided: &Approval,
        decision: &Decision,
        after: u64,
    ) -> Result<()> {
        let calls = decision.suggestion.and_then(|place| asked.suggested_matches.get(place));
        let (Some(Reach::Session | Reach::Always), Some(calls)) = (decision.scope, calls) else {
            return Ok(());
        };
        let (client, world, chat) = self.whereabouts();
        let id = asked.id.clone();
        self.asides.spawn(async move { released(&client, &world, &chat, &id, after).await });
        self.note(Tone::Quiet, &lasts(decided, &calls.label))?;
        self.note(Tone::Quiet, UNDO)
    }
}
