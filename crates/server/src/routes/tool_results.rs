//! Takes what clients send back for calls: decisions, and results of the tools they execute. Merged in `routes::work`.
//! Which request or call is meant is looked up in the chat of the address, never taken from elsewhere in the body.

use std::sync::Arc;

use agent_world_core::chat::CallState;
use agent_world_core::event::Output;
use agent_world_core::ids::{ApprovalId, CallId};
use agent_world_core::view::{ApprovalView, CallView, ChatView};
use agent_world_runtime::store::ApprovalFilter;
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::address::{ChatPath, InChat};
use super::deciding::{self, decide};
use super::refusals::Writing;
use super::tool_calls::find;
use crate::access::{Member, Principal};
use crate::app::App;
use crate::extract::Body;
use crate::problem::Problem;
use crate::wire::{Call, MOST, Settled, ToolResult, Verdict, Wish};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(send))
}

/// Decides a request for approval, or gives the result of a tool that the client executes.
#[utoipa::path(post, path = "/api/worlds/{world}/chats/{chat}/tool-results", operation_id = "send_tool_result",
    tag = "tool calls", params(ChatPath), request_body = ToolResult,
    responses((status = 200, body = Settled), Writing))]
async fn send(
    State(app): State<Arc<App>>,
    who: Member,
    InChat(chat): InChat,
    Body(mut sent): Body<ToolResult>,
) -> Result<Json<Settled>, Problem> {
    let target = target(&app, &chat, &sent.tool_call_id).await?;
    let settled = match (sent.decision, sent.content.take(), target) {
        (Some(_), Some(_), _) => {
            return Err(refused("content", "give either `decision` or `content`, not both"));
        }
        (None, None, _) => {
            let words = "give `decision` for an approval, or `content` for a tool's result";
            return Err(refused("content", words));
        }
        (Some(verdict), None, target) => {
            let view = target.request(&app, &chat).await?;
            let wish = wish(verdict, &mut sent)?;
            settle(&app, &who, &chat, &view, wish, sent).await?
        }
        (None, Some(text), Target::Approval(view)) => {
            let wish = chosen(&sent, &text)?;
            settle(&app, &who, &chat, &view, wish, sent).await?
        }
        (None, Some(text), Target::Call(call)) => executed(&app, &chat, &call, text, &sent).await?,
    };
    Ok(Json(settled))
}

/// What an id stands for in a chat.
enum Target {
    Approval(Box<ApprovalView>),
    Call(Box<CallView>),
}

async fn target(app: &App, chat: &ChatView, id: &str) -> Result<Target, Problem> {
    let approval = app.engine.store().approval(&ApprovalId::new(id)).await?;
    if let Some(view) = approval.filter(|view| view.chat == chat.id) {
        return Ok(Target::Approval(Box::new(view)));
    }
    let call = find(app, chat, &CallId::new(id)).await?;
    Ok(Target::Call(Box::new(call)))
}

impl Target {
    /// The request itself, or the latest of a call: what it asks while it runs, or whether it may.
    async fn request(self, app: &App, chat: &ChatView) -> Result<Box<ApprovalView>, Problem> {
        let call = match self {
            Self::Approval(view) => return Ok(view),
            Self::Call(call) => call,
        };
        if let Some(asked) = asked_while_running(app, chat, &call).await? {
            return Ok(Box::new(asked));
        }
        let Some(approval) = &call.approval else {
            let detail = format!("no approval was asked for call {}; nothing was decided", call.id);
            return Err(Problem::conflict("approval_not_pending", detail));
        };
        Ok(Box::new(app.engine.approval(approval).await?))
    }
}

async fn asked_while_running(
    app: &App,
    chat: &ChatView,
    call: &CallView,
) -> Result<Option<ApprovalView>, Problem> {
    if call.state != CallState::Executing {
        return Ok(None);
    }
    let chat = Some(chat.id.clone());
    let filter = ApprovalFilter { only_pending: true, chat, ..ApprovalFilter::default() };
    let waiting = app.engine.store().approvals(&filter, None, MOST).await?;
    Ok(waiting.into_iter().find(|view| view.call == call.id))
}

fn wish(verdict: Verdict, sent: &mut ToolResult) -> Result<Wish, Problem> {
    if sent.is_error.is_some() {
        return Err(refused("is_error", "it belongs to a tool's result, not to a decision"));
    }
    Ok(Wish {
        verdict,
        reach: sent.scope.unwrap_or_default(),
        narrowed: sent.narrowed.take(),
        reason: sent.reason.take(),
        arguments: sent.arguments.take(),
    })
}

/// What a client that knows only calls and results chose.
fn chosen(sent: &ToolResult, text: &str) -> Result<Wish, Problem> {
    refuse_decision_fields(sent)?;
    if sent.is_error == Some(true) {
        return Err(refused("is_error", "a choice is no error; send `deny` to deny"));
    }
    Wish::from_choice(text).ok_or_else(|| {
        let words = "the content is no choice; send approve_once, approve_session, approve_always, deny or \
                     `deny: reason`";
        Problem::unprocessable("choice_unknown", words).with("field", "content")
    })
}

async fn settle(
    app: &App,
    who: &Principal,
    chat: &ChatView,
    view: &ApprovalView,
    wish: Wish,
    sent: ToolResult,
) -> Result<Settled, Problem> {
    let claims = deciding::claims(view, sent.agent_id, sent.tool, sent.original)?;
    let approval = decide(app, who, view, wish, claims).await?;
    let call = find(app, chat, &view.call).await?;
    Ok(Settled { approval: Some(approval), tool_call: Call::from_view(&chat.id, &call) })
}

async fn executed(
    app: &App,
    chat: &ChatView,
    call: &CallView,
    text: String,
    sent: &ToolResult,
) -> Result<Settled, Problem> {
    refuse_decision_fields(sent)?;
    check_claims(call, sent)?;
    let is_error = sent.is_error.unwrap_or(false);
    app.engine.client_result(&chat.id, &call.id, Output::text(text), is_error).await?;
    let call = find(app, chat, &call.id).await?;
    Ok(Settled { approval: None, tool_call: Call::from_view(&chat.id, &call) })
}

fn check_claims(call: &CallView, sent: &ToolResult) -> Result<(), Problem> {
    let original = sent.original.as_ref();
    let claims = [
        ("agent_id", sent.agent_id.as_deref(), call.agent.as_str()),
        ("tool", sent.tool.as_deref(), call.name.as_str()),
        ("originalToolCall", original.and_then(|call| call.id.as_deref()), call.id.as_str()),
        ("originalToolCall", original.and_then(|call| call.name.as_deref()), &call.name),
    ];
    let differs =
        |(_, said, is): &&(&str, Option<&str>, &str)| said.is_some_and(|said| said != *is);
    let arguments = original.and_then(|call| call.args.as_ref());
    let field = match claims.iter().find(differs) {
        Some((field, ..)) => field,
        None if arguments.is_some_and(|said| *said != call.arguments) => "originalToolCall",
        None => return Ok(()),
    };
    let detail = format!("`{field}` is not what call {} is about; nothing was recorded", call.id);
    Err(Problem::conflict("approval_mismatch", detail).with("field", field))
}

fn refuse_decision_fields(sent: &ToolResult) -> Result<(), Problem> {
    let given = [
        ("scope", sent.scope.is_some()),
        ("match", sent.narrowed.is_some()),
        ("reason", sent.reason.is_some()),
        ("arguments", sent.arguments.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((field, _)) => Err(refused(field, "it belongs to a `decision`, not to `content`")),
        None => Ok(()),
    }
}

fn refused(field: &str, words: &str) -> Problem {
    Problem::unprocessable("body_invalid", format!("`{field}` is refused: {words}"))
        .with("field", field)
}
