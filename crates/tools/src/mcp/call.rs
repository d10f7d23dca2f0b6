//! Makes one call: sends it, answers what the server asks meanwhile, and stops it when nobody waits for it any longer.
//! Called by `tool`. A call is sent again only when the server said that it did not take it: to learn who we are, or to get an
//! answer it asked for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::event::Output;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ElicitRequestParams,
    ElicitationAction, InputRequest, InputRequiredResult, InputResponses, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use super::handler::{Asking, Running, roots};
use super::oauth::Challenge;
use super::supervisor::{Live, Server};
use super::{content, elicitation, failure};
use crate::{Failure, Invocation};

/// How often one call may be sent, questions and logins included.
const ROUNDS: usize = 10;
/// How often a call may make somebody log in.
const LOGINS: usize = 3;
/// How long a server is told to stop.
const TELLING: Duration = Duration::from_secs(2);
/// A server that is busy asks to be asked again.
const BUSY: Duration = Duration::from_millis(200);
/// The older era's error for "visit a page first".
const VISIT_FIRST: i32 = -32042;

/// Calls a server's tool.
///
/// # Errors
/// When the tool fails, the server does, or nobody waits any longer.
pub async fn call(
    server: &Arc<Server>,
    original: &str,
    invocation: &Invocation,
    live: Live,
) -> Result<Output, Failure> {
    let asking = watch::Sender::new(0);
    let call = Call { server, original, invocation, live, asking, sent: Mutex::default() };
    let limit = server.call_limit();
    let outcome = tokio::select! {
        biased;
        outcome = call.rounds() => outcome,
        () = invocation.cancelled.cancelled() => {
            call.stop("the call was cancelled").await;
            Err(call.failed("the call was cancelled; the server was told to stop"))
        }
        () = time_up(limit, call.asking.subscribe()) => {
            call.stop("the call took too long").await;
            let text = format!(
                "MCP server `{}` did not answer within {} s and was told to stop",
                server.name,
                limit.as_secs_f64()
            );
            Err(Failure::TimedOut(Output::text(text)))
        }
    };
    call.sent().take();
    outcome
}

struct Call<'a> {
    server: &'a Arc<Server>,
    original: &'a str,
    invocation: &'a Invocation,
    live: Live,
    /// How many of its questions are open.
    asking: watch::Sender<usize>,
    /// The request that the server is working on.
    sent: Mutex<Option<RequestId>>,
}

impl Call<'_> {
    async fn rounds(&self) -> Result<Output, Failure> {
        let _turn = self.live.calls.turn().await;
        let mut params = CallToolRequestParams::new(self.original.to_owned());
        if let Value::Object(arguments) = &self.invocation.arguments {
            params = params.with_arguments(arguments.clone());
        }
        let mut logins = 0;
        for _ in 0..ROUNDS {
            let seen = self.server.authorizer().map_or(0, |one| one.times_let_in());
            match self.send(params.clone()).await {
                Ok(ServerResult::CallToolResult(result)) => return content::result(result),
                Ok(ServerResult::InputRequiredResult(required)) => {
                    params = self.answered(params, required).await?;
                }
                Ok(_) => return Err(self.failed("the server answered with no result of a call")),
                Err(error) => {
                    if let Some(challenge) = failure::challenge_in_request(&error)
                        && logins < LOGINS
                    {
                        logins += 1;
                        self.log_in(&challenge, seen).await?;
                    } else if let ServiceError::McpError(data) = &error
                        && data.code.0 == VISIT_FIRST
                    {
                        self.visit(data).await?;
                    } else {
                        return Err(self.explained(&error));
                    }
                }
            }
        }
        Err(self.failed(&format!("the server did not come to an end in {ROUNDS} rounds")))
    }

    async fn send(&self, params: CallToolRequestParams) -> Result<ServerResult, ServiceError> {
        let Live { peer, calls, .. } = &self.live;
        let request = CallToolRequest::new(params);
        let sending =
            peer.send_cancellable_request(request.into(), PeerRequestOptions::no_options());
        let handle = calls
            .note(sending, |handle| {
                self.sent().replace(handle.id.clone());
                let running = Running {
                    token: handle.progress_token.clone(),
                    person: Arc::clone(&self.invocation.person),
                    watcher: Arc::clone(&self.invocation.watcher),
                    asking: self.asking.clone(),
                };
                (handle.id.clone(), running)
            })
            .await?;
        let noted = Noted { call: self, id: handle.id.clone() };
        let answer = handle.await_response().await;
        self.sent().take();
        drop(noted);
        answer
    }

    /// The same call, with what the server wanted to know.
    async fn answered(
        &self,
        mut params: CallToolRequestParams,
        required: InputRequiredResult,
    ) -> Result<CallToolRequestParams, Failure> {
        let mut responses = InputResponses::new();
        for (name, request) in required.input_requests.unwrap_or_default() {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let _asking = Asking::new(&self.asking);
                    let person = &*self.invocation.person;
                    let told = elicitation::ask(&self.server.name, request.params, person).await;
                    serde_json::to_value(told)
                }
                InputRequest::ListRoots(_) => {
                    serde_json::to_value(roots(self.server.folder.as_ref()))
                }
                _ => {
                    return Err(self.failed("the server asks for something that is not offered"));
                }
            };
            let response = response.map_err(|_| self.failed("an answer cannot be sent"))?;
            responses.insert(name, response);
        }
        if responses.is_empty() {
            tokio::time::sleep(BUSY).await;
        }
        params.input_responses = (!responses.is_empty()).then_some(responses);
        params.request_state = required.request_state;
        Ok(params)
    }

    async fn log_in(&self, challenge: &Challenge, seen: u64) -> Result<(), Failure> {
        let Some(authorizer) = self.server.authorizer() else {
            return Err(self.failed("the server does not accept the credentials of its settings"));
        };
        let _asking = Asking::new(&self.asking);
        let person = Some(&*self.invocation.person);
        let server = self.server;
        let logged_in =
            authorizer.authorize(challenge, seen, person, &|url| server.publish(url)).await;
        logged_in.map_err(|problem| self.failed(&problem))
    }

    /// In the older era a server may refuse a call until pages were visited.
    async fn visit(&self, refusal: &ErrorData) -> Result<(), Failure> {
        let pages = refusal.data.as_ref().and_then(|data| data.get("elicitations"));
        let pages = pages.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if pages.is_empty() {
            return Err(self.failed(&failure::short(&refusal.message)));
        }
        for page in pages.iter().take(ROUNDS) {
            let page = serde_json::from_value::<ElicitRequestParams>(page.clone())
                .map_err(|_| self.failed("the server asks something that cannot be shown"))?;
            let _asking = Asking::new(&self.asking);
            let told = elicitation::ask(&self.server.name, page, &*self.invocation.person).await;
            if told.action != ElicitationAction::Accept {
                return Err(self.failed("a page had to be visited first, and nobody did"));
            }
        }
        Ok(())
    }

    fn explained(&self, error: &ServiceError) -> Failure {
        if failure::is_of_connection(error) {
            self.server.suspect();
        }
        self.failed(&failure::in_request(error))
    }

    fn failed(&self, what: &str) -> Failure {
        let text = format!("MCP server `{}`: {what}", self.server.name);
        Failure::text(self.live.secrets.mask(&text))
    }

    /// Tells the server that nobody waits for it any longer.
    async fn stop(&self, reason: &str) {
        let sent = self.sent().take();
        if let Some(id) = sent {
            let told = tell(self.live.clone(), id, reason.to_owned());
            // One that cannot even be told is as good as gone.
            timeout(TELLING, told).await.ok();
        }
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, Option<RequestId>> {
        // Nothing can panic while it is held.
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Call<'_> {
    // Whoever drops a call without waiting for it leaves nothing running either.
    fn drop(&mut self) {
        let sent = self.sent().take();
        if let (Some(id), Ok(runtime)) = (sent, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tell(self.live.clone(), id, "the call was dropped".to_owned()));
        }
    }
}

async fn tell(live: Live, id: RequestId, reason: String) {
    let cancelled = CancelledNotificationParam::new(Some(id), Some(reason));
    // A connection that is gone has nobody to tell.
    live.peer.notify_cancelled(cancelled).await.ok();
}

/// Takes a call off the list of those that run.
struct Noted<'a> {
    call: &'a Call<'a>,
    id: RequestId,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.call.live.calls.forget(&self.id);
    }
}

/// Returns when a call has had its time. It stands still while a question is open, and begins anew after one.
async fn time_up(limit: Duration, mut asking: watch::Receiver<usize>) {
    loop {
        // An error means that the call is over, and then nobody waits here.
        asking.wait_for(|open| *open == 0).await.ok();
        tokio::select! {
            () = tokio::time::sleep(limit) => return,
            _ = asking.wait_for(|open| *open > 0) => {}
        }
    }
}
