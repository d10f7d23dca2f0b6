//! Follows the log for each webhook and delivers what it is to be told: in order, at least once, from where it was.
//! Run by `Server::deliver_webhooks` until the server stops. Each webhook has a task of its own, so that an address which
//! never answers delays no other. What was decided before it could be told of is no news and is passed over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::event::Event;
use agent_world_core::ids::WorldId;
use agent_world_core::view::{ApprovalState, ApprovalView};
use agent_world_runtime::store::{self, Scope, StoredEvent};
use agent_world_runtime::tools::fetch::{Outbound, Reach};
use agent_world_runtime::{Engine, Error, FeedItem};
use backon::BackoffBuilder as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::stored::{self, Hook, Progress};
use super::{EventType, MOST, signature};
use crate::app::App;
use crate::wire;

const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(10);
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);
/// After so long without success a webhook is said to be failing.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often webhooks are looked for that another process made or removed.
const LOOK: Duration = Duration::from_secs(30);
/// Events passed over before it is noted how far one has got.
const NOTED_EVERY: u64 = 1_000;
/// The kinds of stored events that are looked into; others are passed over unread.
const LOOKED_INTO: [&str; 4] =
    ["approval_requested", "approval_decided", "approval_expired", "approval_withdrawn"];

/// Delivers until the server stops.
pub(crate) async fn deliver(app: Arc<App>) {
    let mut tasks = JoinSet::new();
    let mut running: BTreeMap<String, CancellationToken> = BTreeMap::new();
    loop {
        match stored::hooks(app.engine.store().as_ref(), MOST).await {
            Ok(hooks) => attend(&app, hooks, &mut running, &mut tasks),
            Err(error) => tracing::warn!(%error, "webhooks cannot be read; trying again"),
        }
        tokio::select! {
            () = app.stopping.cancelled() => break,
            () = app.webhooks.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            // One that ended by itself is started again when its time comes.
            Some(ended) = tasks.join_next() => match ended {
                Ok(id) => drop(running.remove(&id)),
                Err(error) => tracing::error!(%error, "a webhook's task failed"),
            },
        }
    }
    tasks.shutdown().await;
}

/// Starts what is new, and ends what was removed.
fn attend(
    app: &Arc<App>,
    hooks: Vec<Hook>,
    running: &mut BTreeMap<String, CancellationToken>,
    tasks: &mut JoinSet<String>,
) {
    running.retain(|id, cancelled| {
        let is_there = hooks.iter().any(|hook| hook.id == *id);
        if !is_there {
            cancelled.cancel();
        }
        is_there
    });
    for hook in hooks {
        if running.contains_key(&hook.id) {
            continue;
        }
        let cancelled = app.stopping.child_token();
        running.insert(hook.id.clone(), cancelled.clone());
        let app = Arc::clone(app);
        tasks.spawn(async move {
            let id = hook.id.clone();
            let following = async {
                while let Err(error) = follow(&app, &hook).await {
                    tracing::warn!(webhook = hook.id, %error, "a webhook cannot go on; trying again");
                    tokio::time::sleep(FIRST_DELAY).await;
                }
            };
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = following => {}
            }
            id
        });
    }
}

/// Delivers on from where the webhook was. Returns when it was removed or the engine has shut down.
async fn follow(app: &App, hook: &Hook) -> Result<(), Error> {
    let engine = &app.engine;
    let store = engine.store().as_ref();
    let Some((progress, version)) = stored::progress(store, &hook.id).await? else {
        return Ok(());
    };
    let scope = match &hook.world {
        Some(world) => Scope::World(WorldId::new(world.as_str())),
        None => Scope::All,
    };
    let reach = if hook.allow_private { Reach::Private } else { Reach::Public };
    let outbound = Outbound::new(reach, CONNECT, TOTAL).map_err(store::Error::Unavailable)?;
    let mut events = engine.subscribe(scope, progress.position);
    let mut delivery = Delivery { app, engine, hook, reach, outbound, progress, version };
    while let Some(item) = events.next().await? {
        let FeedItem::Stored(event) = item else { continue };
        if !delivery.take(&event).await? {
            return Ok(());
        }
    }
    Ok(())
}

struct Delivery<'a> {
    app: &'a App,
    engine: &'a Engine,
    hook: &'a Hook,
    reach: Reach,
    outbound: Outbound,
    progress: Progress,
    /// Of the stored progress.
    version: u64,
}

/// What is sent.
#[derive(Serialize)]
struct Notice<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: EventType,
    created_at: Timestamp,
    data: Told<'a>,
}

#[derive(Serialize)]
struct Told<'a> {
    approval: &'a wire::Approval,
    /// Where it is read and decided; without a host where the server does not know how it is reached.
    link: String,
}

impl Delivery<'_> {
    /// Says whether to go on.
    async fn take(&mut self, event: &StoredEvent) -> Result<bool, Error> {
        if !LOOKED_INTO.contains(&event.sealed.kind.as_str()) {
            return self.pass_over(event).await;
        }
        // The same for every attempt, also after a restart: whoever is told twice can tell.
        let id = format!("{}_{}", self.hook.id, event.position);
        let mut delays = backon::ExponentialBuilder::new()
            .with_min_delay(FIRST_DELAY)
            .with_max_delay(LONGEST_DELAY)
            .without_max_times()
            .with_jitter()
            .build();
        // Looked up for every attempt: somebody may have decided meanwhile.
        while let Some((kind, approval)) = self.news(event).await? {
            match self.send(&id, kind, event.sealed.at, &approval).await {
                Ok(()) => {
                    self.succeeded(event.position);
                    return self.save().await;
                }
                Err(failure) => self.failed(failure),
            }
            if !self.save().await? {
                return Ok(false);
            }
            let delay = match self.progress.given_up {
                true => LONGEST_DELAY,
                false => delays.next().unwrap_or(LONGEST_DELAY),
            };
            tokio::time::sleep(delay).await;
        }
        self.pass_over(event).await
    }

    /// Notes now and then how far it has got, where there is nothing to tell.
    async fn pass_over(&mut self, event: &StoredEvent) -> Result<bool, Error> {
        if event.position < self.progress.position + NOTED_EVERY {
            return Ok(true);
        }
        self.progress.position = event.position;
        self.save().await
    }

    /// What an event tells of, if it is asked for and still so: a request that waits for somebody, or one that does not
    /// any more.
    async fn news(&self, event: &StoredEvent) -> Result<Option<(EventType, ApprovalView)>, Error> {
        let recorded = event.sealed.open().map_err(store::Error::from)?;
        let (kind, approval) = match recorded.event {
            Event::ApprovalRequested(asked) => (EventType::ApprovalRequested, asked.approval),
            Event::ApprovalDecided(decided) => (EventType::ApprovalDecided, decided.approval),
            Event::ApprovalExpired { approval, .. } | Event::ApprovalWithdrawn { approval, .. } => {
                (EventType::ApprovalDecided, approval)
            }
            _ => return Ok(None),
        };
        if !self.hook.events.contains(&kind) {
            return Ok(None);
        }
        let waits = kind == EventType::ApprovalRequested;
        let view = self.engine.store().approval(&approval).await?;
        let view = view.filter(|view| (view.state == ApprovalState::Pending) == waits);
        Ok(view.map(|view| (kind, view)))
    }

    async fn send(
        &self,
        id: &str,
        kind: EventType,
        at: Timestamp,
        view: &ApprovalView,
    ) -> Result<(), String> {
        let approval = wire::Approval::from_view(view);
        let link = self.app.link(&format!("/api/approvals/{}", view.id));
        let data = Told { approval: &approval, link };
        let notice = Notice { id, kind, created_at: at, data };
        let body = serde_json::to_string(&notice).map_err(|error| error.to_string())?;
        // Checked again: what was saved by an older program may not be allowed by this one.
        let url = self.reach.check(&self.hook.url)?;
        let headers =
            headers(&self.hook.secret, id, &body).ok_or("the delivery cannot be signed")?;
        let status = self.outbound.post(url, headers, body).await?;
        if status.is_success() {
            return Ok(());
        }
        Err(match status.is_redirection() {
            true => format!("it answered {status}, and redirects are not followed"),
            false => format!("it answered {status}"),
        })
    }

    fn succeeded(&mut self, position: u64) {
        let last_success_at = Some(Timestamp::now());
        self.progress = Progress { position, last_success_at, ..Progress::default() };
    }

    fn failed(&mut self, failure: String) {
        let now = Timestamp::now();
        let since = *self.progress.failing_since.get_or_insert(now);
        let lasted = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        if lasted >= PATIENCE && !self.progress.given_up {
            self.progress.given_up = true;
            tracing::error!(webhook = self.hook.id, failure, "a webhook has failed for a day");
        } else {
            tracing::warn!(webhook = self.hook.id, failure, "a webhook failed; trying again");
        }
        self.progress.failures += 1;
        self.progress.last_error = Some(failure);
    }

    /// Says whether the webhook is still there.
    async fn save(&mut self) -> Result<bool, Error> {
        let store = self.engine.store().as_ref();
        match stored::save(store, &self.hook.id, self.version, &self.progress).await {
            Ok(version) => {
                self.version = version;
                Ok(true)
            }
            Err(store::Error::DocumentConflict { actual: None, .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn headers(secret: &str, id: &str, body: &str) -> Option<HeaderMap> {
    let timestamp = Timestamp::now().as_second();
    let signature = signature::sign(secret, id, timestamp, body)?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signature),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
    }
    Some(headers)
}
