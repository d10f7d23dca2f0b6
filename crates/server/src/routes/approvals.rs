//! The inbox: what waits for a person, over all worlds, and what became of it. Merged in `routes::work`.
//! A waiting reader is woken by the events of its scope; the store is never asked again and again.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::command::Claims;
use agent_world_core::event::Decision;
use agent_world_core::ids::ApprovalId;
use agent_world_core::view::ApprovalState;
use agent_world_runtime::store::{ApprovalFilter, MessagePage, Scope};
use agent_world_runtime::{FeedItem, Subscription};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::unknown_cursor;
use super::deciding::decide;
use super::refusals::{Reading, Writing};
use crate::access::{Approver, Viewer};
use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::Problem;
use crate::wire::{Approval, BYTES, Decide, Message, Page, STEP, Wish, limit, size};

/// Messages before a request that explain it.
const CONTEXT: usize = 10;
/// Seconds a reader may wait.
const LONGEST_WAIT: u64 = 60;
/// How many times its length a page may look at where few requests fit; the next page goes on from there.
const LOOKS: usize = 20;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show, answer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ApprovalPath {
    /// The id of the request.
    approval: String,
}

/// Which requests are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// `pending` unless said.
    #[param(inline)]
    state: Option<Stage>,
    world: Option<String>,
    chat: Option<String>,
    agent: Option<String>,
    /// How many; 100 unless said, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The id that ended the page before: `next` of that page.
    after: Option<String>,
    /// Seconds to wait for something where there is nothing; more than 60 are taken as 60.
    wait: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Stage {
    #[default]
    Pending,
    Approved,
    Denied,
    Expired,
    Withdrawn,
    All,
}

impl Stage {
    fn holds(self, state: &ApprovalState) -> bool {
        match (self, state) {
            (Self::All, _)
            | (Self::Pending, ApprovalState::Pending)
            | (Self::Expired, ApprovalState::Expired { .. })
            | (Self::Withdrawn, ApprovalState::Withdrawn { .. }) => true,
            (Self::Approved | Self::Denied, ApprovalState::Decided { decision, .. }) => {
                let denied = matches!(**decision, Decision::Denied { .. });
                denied == (self == Self::Denied)
            }
            _ => false,
        }
    }

    /// The kind of event after which a request can have come to this stage.
    fn begins_with(self) -> &'static str {
        match self {
            Self::Pending | Self::All => "approval_requested",
            Self::Approved | Self::Denied => "approval_decided",
            Self::Expired => "approval_expired",
            Self::Withdrawn => "approval_withdrawn",
        }
    }
}

/// Requests for approval over all worlds, oldest first; those that wait, unless said otherwise.
///
/// A page can be shorter than asked for, or empty, and still have a `next`: go on from there.
#[utoipa::path(get, path = "/api/approvals", operation_id = "list_approvals", tag = "approvals",
    params(Wanted), responses((status = 200, body = Page<Approval>), Reading))]
async fn list(
    State(app): State<Arc<App>>,
    _: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<Approval>>, Problem> {
    let inbox = Inbox::new(&wanted);
    if let Some(id) = &inbox.after
        && app.engine.store().approval(id).await?.is_none()
    {
        return Err(unknown_cursor("after", id.as_str()));
    }
    let wait = wanted.wait.unwrap_or(0).min(LONGEST_WAIT);
    if wait == 0 {
        return Ok(Json(inbox.page(&app).await?));
    }
    let until = Instant::now() + Duration::from_secs(wait);
    // Followed from before the first look, so that nothing can come in between.
    let position = app.engine.store().position().await?;
    let events = app.engine.subscribe(inbox.scope(), position);
    Ok(Json(inbox.wait(&app, events, until).await?))
}

/// A part of what people were asked.
struct Inbox {
    filter: ApprovalFilter,
    stage: Stage,
    after: Option<ApprovalId>,
    limit: usize,
}

impl Inbox {
    fn new(wanted: &Wanted) -> Self {
        let stage = wanted.state.unwrap_or_default();
        Self {
            filter: ApprovalFilter {
                only_pending: stage == Stage::Pending,
                world: wanted.world.as_deref().map(Into::into),
                chat: wanted.chat.as_deref().map(Into::into),
                agent: wanted.agent.as_deref().map(Into::into),
            },
            stage,
            after: wanted.after.as_deref().map(ApprovalId::from),
            limit: limit(wanted.limit),
        }
    }

    fn scope(&self) -> Scope {
        match (&self.filter.chat, &self.filter.world) {
            (Some(chat), _) => Scope::Chat(chat.clone()),
            (None, Some(world)) => Scope::World(world.clone()),
            (None, None) => Scope::All,
        }
    }

    async fn page(&self, app: &App) -> Result<Page<Approval>, Problem> {
        let (mut found, mut bytes, mut looked) = (Vec::new(), 0, 0);
        let mut after = self.after.clone();
        let most = LOOKS * (self.limit + 1);
        let step = STEP.min(self.limit + 1);
        while looked < most && bytes <= BYTES {
            let views = app.engine.store().approvals(&self.filter, after.as_ref(), step).await?;
            let mut ended = views.len() < step;
            for (index, view) in views.iter().enumerate() {
                looked += 1;
                after = Some(view.id.clone());
                if self.stage.holds(&view.state) {
                    let approval = Approval::from_view(view);
                    bytes += size(&approval);
                    found.push(approval);
                }
                if bytes > BYTES {
                    ended &= index + 1 == views.len();
                    break;
                }
            }
            if ended || found.len() > self.limit {
                return Ok(Page::cut(found, self.limit, |approval| approval.id.clone()));
            }
        }
        // Not at the end: there was enough to look at, and the next page goes on behind it.
        Ok(Page { data: found, next: after.map(|id| id.to_string()) })
    }

    /// A page with something in it, or an empty one when the time is up or the server stops.
    async fn wait(
        &self,
        app: &App,
        mut events: Subscription,
        until: Instant,
    ) -> Result<Page<Approval>, Problem> {
        loop {
            let page = self.page(app).await?;
            if !page.data.is_empty() || page.next.is_some() {
                return Ok(page);
            }
            let came = tokio::select! {
                biased;
                () = app.stopping.cancelled() => Came::Nothing,
                () = tokio::time::sleep_until(until) => Came::Nothing,
                came = self.something(&mut events) => came?,
            };
            if came == Came::Nothing {
                return Ok(page);
            }
        }
    }

    /// Returns when a request can have come to the stage, or when no more events come.
    async fn something(&self, events: &mut Subscription) -> Result<Came, Problem> {
        while let Some(item) = events.next().await? {
            if let FeedItem::Stored(event) = item
                && event.sealed.kind == self.stage.begins_with()
            {
                return Ok(Came::Something);
            }
        }
        Ok(Came::Nothing)
    }
}

/// What a reader waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Something,
    Nothing,
}

/// One request with the messages before it.
#[utoipa::path(get, path = "/api/approvals/{approval}", operation_id = "get_approval", tag = "approvals",
    params(ApprovalPath), responses((status = 200, body = Approval), Reading))]
async fn show(
    State(app): State<Arc<App>>,
    _: Viewer,
    Path(ApprovalPath { approval }): Path<ApprovalPath>,
) -> Result<Json<Approval>, Problem> {
    let view = app.engine.approval(&ApprovalId::new(approval)).await?;
    let before = MessagePage::Before(Some(view.position), CONTEXT);
    let messages = app.engine.store().messages(&view.chat, before).await?;
    let context = messages.iter().map(|message| Message::from_view(&view.chat, message)).collect();
    Ok(Json(Approval { context: Some(context), ..Approval::from_view(&view) }))
}

/// Decides a request. Of racing decisions exactly one takes effect; the others are told which, as `approval`.
#[utoipa::path(post, path = "/api/approvals/{approval}", operation_id = "decide_approval", tag = "approvals",
    params(ApprovalPath), request_body = Decide, responses((status = 200, body = Approval), Writing))]
async fn answer(
    State(app): State<Arc<App>>,
    who: Approver,
    Path(ApprovalPath { approval }): Path<ApprovalPath>,
    Body(sent): Body<Decide>,
) -> Result<Json<Approval>, Problem> {
    let view = app.engine.approval(&ApprovalId::new(approval)).await?;
    let agent = sent.agent_id.map(Into::into);
    let claims = Claims { agent, tool: sent.tool, ..Claims::default() };
    let wish = Wish {
        verdict: sent.decision,
        reach: sent.scope.unwrap_or_default(),
        narrowed: sent.narrowed,
        reason: sent.reason,
        arguments: sent.arguments,
    };
    Ok(Json(decide(&app, &who, &view, wish, claims).await?))
}
