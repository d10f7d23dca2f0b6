//! A tool that does what a test tells it to, and remembers how it was called.
//! For tests, simulations and benches. Has no effect of its own; waits only with tokio's clock.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::binding::Prepared;
use agent_world_core::config::ToolSpec;
use agent_world_core::event::Output;
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::{Failure, Intent, Invocation, Tool};

type Running = Pin<Box<dyn Future<Output = Result<Output, Failure>> + Send>>;
type Acting = dyn Fn(Invocation) -> Running + Send + Sync;
type Looking = dyn Fn(&Value) -> Result<Prepared, String> + Send + Sync;

/// A handle to a tool; clones share it, so a test keeps one and registers another.
#[derive(Clone)]
pub struct Scripted {
    spec: ToolSpec,
    acting: Arc<Acting>,
    looking: Arc<Looking>,
    delay: Duration,
    gate: Option<Arc<Semaphore>>,
    invocations: Arc<Mutex<Vec<Invocation>>>,
    received: watch::Sender<usize>,
}

impl Scripted {
    /// Does what the closure does. It is dropped when the call is cancelled.
    pub fn new<F>(spec: ToolSpec, act: impl Fn(Invocation) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Output, Failure>> + Send + 'static,
    {
        Self {
            spec,
            acting: Arc::new(move |invocation| Box::pin(act(invocation))),
            looking: Arc::new(|_| Ok(Prepared::default())),
            delay: Duration::ZERO,
            gate: None,
            invocations: Arc::default(),
            received: watch::Sender::new(0),
        }
    }

    /// Gives the same result every time.
    pub fn fixed(spec: ToolSpec, result: Result<Output, Failure>) -> Self {
        Self::new(spec, move |_| std::future::ready(result.clone()))
    }

    /// Succeeds with the same text every time.
    pub fn text(spec: ToolSpec, text: impl Into<String>) -> Self {
        Self::fixed(spec, Ok(Output::text(text)))
    }

    /// Finds what the closure says when it looks at arguments.
    pub fn finding(
        mut self,
        look: impl Fn(&Value) -> Result<Prepared, String> + Send + Sync + 'static,
    ) -> Self {
        self.looking = Arc::new(look);
        self
    }

    /// Every call takes a while.
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// No call goes on before it gets a permit.
    pub fn held_by(mut self, gate: &Arc<Semaphore>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// The calls received so far, in order.
    pub fn invocations(&self) -> Vec<Invocation> {
        self.recorded().clone()
    }

    pub fn count(&self) -> usize {
        self.recorded().len()
    }

    /// Returns once this many calls were received, whether or not they have ended.
    pub async fn received(&self, count: usize) {
        let mut received = self.received.subscribe();
        // An error would mean that the sender is gone, and `self` holds it.
        received.wait_for(|seen| *seen >= count).await.ok();
    }

    fn record(&self, invocation: Invocation) {
        let count = {
            let mut recorded = self.recorded();
            recorded.push(invocation);
            recorded.len()
        };
        self.received.send_replace(count);
    }

    async fn act(&self, invocation: Invocation) -> Result<Output, Failure> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if let Some(gate) = &self.gate {
            // A closed gate holds nothing any more, which is what closing it means.
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
        }
        (self.acting)(invocation).await
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<Invocation>> {
        // A test that panicked while it read left the list whole.
        self.invocations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("name", &self.spec.name)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for Scripted {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        (self.looking)(intent.arguments)
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        self.record(invocation.clone());
        let cancelled = invocation.cancelled.clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(Failure::text("cancelled")),
            result = self.act(invocation) => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn spec() -> ToolSpec {
        ToolSpec::new("echo", "Repeats what it is given.", json!({"type": "object"}))
    }

    fn invocation(cancelled: &CancellationToken) -> Invocation {
        let arguments = json!({"text": "hello"});
        let call = ("call_1".into(), "world".into(), "chat_1".into(), "ada".into());
        Invocation {
            cancelled: cancelled.clone(),
            ..Invocation::new(call.0, call.1, call.2, call.3, arguments)
        }
    }

    #[tokio::test]
    async fn a_closure_gets_the_call_and_the_call_is_recorded() {
        let tool = Scripted::new(spec(), |invocation| async move {
            Ok(Output::text(invocation.arguments.to_string()))
        });
        let token = CancellationToken::new();
        let output = tool.run(invocation(&token)).await;
        assert_eq!(output, Ok(Output::text(r#"{"text":"hello"}"#)));
        assert_eq!(tool.count(), 1);
        assert_eq!(tool.invocations()[0].agent.as_str(), "ada");
        let failing = Scripted::fixed(spec(), Err(Failure::text("no")));
        assert_eq!(failing.run(invocation(&token)).await, Err(Failure::text("no")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_call_goes_on_when_released_and_ends_when_cancelled() {
        let gate = Arc::new(Semaphore::new(0));
        let tool = Scripted::text(spec(), "done").held_by(&gate).delayed(Duration::from_secs(9));
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        let run = |token: &CancellationToken| {
            let (tool, invocation) = (tool.clone(), invocation(token));
            tokio::spawn(async move { tool.run(invocation).await })
        };
        let (one, two) = (run(&first), run(&second));
        tool.received(2).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!one.is_finished() && !two.is_finished());
        second.cancel();
        assert_eq!(two.await.unwrap(), Err(Failure::text("cancelled")));
        gate.add_permits(1);
        assert_eq!(one.await.unwrap(), Ok(Output::text("done")));
    }
}
