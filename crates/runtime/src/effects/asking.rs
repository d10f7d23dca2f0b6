//! Lets a running tool ask the person: the question goes into the log, and its answer comes from there.
//! Given to every call. While a question waits the call's own time stands still: people may take days.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_world_core::ids::CallId;
use agent_world_tools::person::{Answer, Person, Question};
use async_trait::async_trait;
use tokio::sync::{oneshot, watch};

use crate::chat_task::Reach;

/// The way from a running call to the person.
#[derive(Debug)]
pub(crate) struct Asking {
    pub chat: Reach,
    pub call: CallId,
    pub attempt: u32,
    /// Questions that wait; while there are any, the call's time stands still.
    pub waiting: watch::Sender<usize>,
    /// Questions so far.
    pub asked: AtomicUsize,
}

/// Questions one call may ask, one after another or at once.
const QUESTIONS: usize = 100;

#[async_trait]
impl Person for Asking {
    async fn ask(&self, question: Question) -> Answer {
        // Each is two events of the log, and where nobody can be asked nothing else would slow a tool down.
        if self.asked.fetch_add(1, Ordering::Relaxed) >= QUESTIONS {
            return Answer::Unanswered;
        }
        let (answer, answered) = oneshot::channel();
        if !self.chat.ask_person(self.call.clone(), self.attempt, question, answer).await {
            return Answer::Unanswered;
        }
        let _waits = Waits::begin(&self.waiting);
        // Dropped unanswered when the chat's task ends; the question is in the log, and so is what became of it.
        answered.await.unwrap_or(Answer::Unanswered)
    }
}

/// Counts as a waiting question for as long as it lives, also when the tool gives up asking.
struct Waits<'a>(&'a watch::Sender<usize>);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|count| *count += 1);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Returns when a call has used up its time, not counting what people took to answer.
pub(crate) async fn time_is_up(limit: Duration, mut waiting: watch::Receiver<usize>) {
    let mut left = limit;
    loop {
        let free = waiting.wait_for(|count| *count == 0).await.is_ok();
        if !free {
            return tokio::time::sleep(left).await;
        }
        let began = tokio::time::Instant::now();
        let asked = async { waiting.wait_for(|count| *count > 0).await.is_ok() };
        let asked = tokio::select! {
            biased;
            asked = asked => asked,
            () = tokio::time::sleep(left) => return,
        };
        left = left.saturating_sub(began.elapsed());
        // The call holds the other end: without it nobody can ask any more.
        if !asked {
            return tokio::time::sleep(left).await;
        }
    }
}
