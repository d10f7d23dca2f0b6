//! Shows replies while they are made, so that several agents at once stay readable: one speaks, the others' words
//! are kept until it is done.
//! Used by `chat` on a terminal. What is stored in the end is what counts: where it differs from what was streamed,
//! the difference is shown.

use std::collections::{HashSet, VecDeque};
use std::io;

use agent_world_core::ids::{AgentId, MessageId};
use agent_world_runtime::Chunk;

use crate::screen::{Screen, Tone};

#[derive(Debug, Default)]
pub struct Voices {
    /// Replies being made, in the order in which they began. The first is on the screen.
    speaking: VecDeque<Voice>,
    /// Pieces of these come too late.
    done: HashSet<MessageId>,
}

#[derive(Debug)]
struct Voice {
    message: MessageId,
    agent: AgentId,
    text: String,
    /// Bytes of the text that are on the screen.
    shown: usize,
    /// Something else was written since.
    interrupted: bool,
}

impl Voices {
    /// Whether somebody is in the middle of a sentence on the screen.
    pub fn is_speaking(&self) -> bool {
        self.speaking.front().is_some_and(|voice| voice.shown > 0)
    }

    /// Another line is about to be written.
    pub fn interrupt(&mut self) {
        if let Some(voice) = self.speaking.front_mut().filter(|voice| voice.shown > 0) {
            voice.interrupted = true;
        }
    }

    pub fn piece(&mut self, screen: &mut Screen, chunk: &Chunk) -> io::Result<()> {
        if chunk.text.is_empty() || self.done.contains(&chunk.message) {
            return Ok(());
        }
        let position = self.speaking.iter().position(|voice| voice.message == chunk.message);
        let index = position.unwrap_or(self.speaking.len());
        if position.is_none() {
            self.speaking.push_back(Voice::new(chunk));
        }
        let Some(voice) = self.speaking.get_mut(index) else {
            return Ok(());
        };
        if chunk.offset == 0 && !voice.text.is_empty() {
            // The call was repeated: what was said before is void.
            voice.text.clear();
            voice.shown = 0;
        }
        // After a gap the rest is shown when the reply is stored.
        if voice.text.chars().count() == chunk.offset {
            voice.text.push_str(&chunk.text);
        }
        match index {
            0 => voice.show(screen),
            _ => Ok(()),
        }
    }

    /// A reply is stored: shows what is not on the screen yet, then lets the next one speak.
    pub fn said(
        &mut self,
        screen: &mut Screen,
        message: &MessageId,
        agent: &AgentId,
        text: &str,
    ) -> io::Result<()> {
        self.done.insert(message.clone());
        let position = self.speaking.iter().position(|voice| voice.message == *message);
        let mut voice = position.and_then(|index| self.speaking.remove(index));
        match voice.as_mut().filter(|voice| voice.shown > 0) {
            Some(voice) => voice.complete(screen, text)?,
            None => {
                self.interrupt();
                screen.said(agent.as_str(), text)?;
            }
        }
        self.go_on(screen)
    }

    /// Whatever an agent was saying and did not finish is broken off, unless it is this reply.
    pub fn over(
        &mut self,
        screen: &mut Screen,
        agent: &AgentId,
        except: Option<&MessageId>,
    ) -> io::Result<()> {
        let is_over =
            |voice: &Voice| voice.agent == *agent && except.is_none_or(|id| voice.message != *id);
        if !self.speaking.iter().any(is_over) {
            return Ok(());
        }
        let (over, speaking): (VecDeque<_>, VecDeque<_>) =
            self.speaking.drain(..).partition(is_over);
        self.speaking = speaking;
        for voice in over {
            if voice.shown > 0 {
                screen.line(Tone::Quiet, "  (broken off)")?;
            }
            self.done.insert(voice.message);
        }
        self.go_on(screen)
    }

    pub fn agents(&self) -> Vec<AgentId> {
        self.speaking.iter().map(|voice| voice.agent.clone()).collect()
    }

    fn go_on(&mut self, screen: &mut Screen) -> io::Result<()> {
        match self.speaking.front_mut() {
            Some(voice) => voice.show(screen),
            None => Ok(()),
        }
    }
}

impl Voice {
    fn new(chunk: &Chunk) -> Self {
        Self {
            message: chunk.message.clone(),
            agent: chunk.agent.clone(),
            text: String::new(),
            shown: 0,
            interrupted: false,
        }
    }

    fn show(&mut self, screen: &mut Screen) -> io::Result<()> {
        let rest = self.text.get(self.shown..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        match (self.shown, self.interrupted) {
            (0, _) => screen.begin_saying(self.agent.as_str())?,
            (_, true) => screen.begin_saying(&format!("{} (goes on)", self.agent))?,
            (_, false) => {}
        }
        self.interrupted = false;
        screen.go_on_saying(rest)?;
        self.shown = self.text.len();
        Ok(())
    }

    /// Shows how the stored text differs from what is on the screen.
    fn complete(&mut self, screen: &mut Screen, text: &str) -> io::Result<()> {
        let streamed = self.text.trim();
        if let Some(rest) = text.strip_prefix(&self.text) {
            if !rest.trim().is_empty() {
                self.text = text.to_owned();
                self.show(screen)?;
            }
            return screen.fresh_line();
        }
        if text.trim() == streamed {
            return screen.fresh_line();
        }
        match text.trim().strip_suffix(streamed) {
            Some(before) => screen.line(Tone::Quiet, &format!("  (to {})", before.trim())),
            None => screen.said(&format!("{} (as posted)", self.agent), text),
        }
    }
}

#[cfg(test)]
#[path = "voices_tests.rs"]
mod tests;
