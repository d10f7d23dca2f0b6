//! Lists and decides what waits for a person, on the bare store.
//! Called by `main`. Records a decision and performs nothing: the process that works takes it up, now or when the
//! next one starts.

use agent_world_core::command::{Answer, Claims, Scope};
use agent_world_core::event::{Choice, Form};
use agent_world_core::ids::{ApprovalId, WorldId};
use agent_world_core::policy::Match;
use agent_world_core::view::{ApprovalView, MessageRole};
use agent_world_runtime::Error;
use agent_world_store::{ApprovalFilter, MessagePage, Store};
use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::args::{Approvals, ApproveOne, Reach};
use crate::data::DataFolder;
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::setup::{Session, open_to_look, who};
use crate::{place, wire, words, work};

/// Messages before the request that explain it.
const CONTEXT: usize = 10;
const CONTEXT_LINES: usize = 5;

pub async fn run(data: DataFolder, wanted: Approvals) -> Result<Exit> {
    match wanted {
        Approvals::List { world, json } => list(data, world, json).await,
        Approvals::Show { id, json } => show(data, &ApprovalId::new(id), json).await,
        Approvals::Approve(wanted) => approve(data, wanted).await,
        Approvals::Deny { id, reason, json } => {
            let session = Session::visit(data).await?;
            decide(&session, &ApprovalId::new(id), Answer::Deny { reason }, json).await
        }
        Approvals::Revoke { id, json } => revoke(data, &id, json).await,
    }
}

async fn list(data: DataFolder, world: Option<String>, json: bool) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    let world = world.map(WorldId::new);
    if let Some(id) = &world
        && store.world(id).await?.is_none()
    {
        return Err(place::no_world(id));
    }
    let filter = ApprovalFilter { world, ..ApprovalFilter::default() };
    let waiting = work::pending(&store, filter).await?;
    let mut screen = Screen::stdout();
    for view in &waiting {
        if json {
            screen.json(&wire::approval(view))?;
        } else {
            let title = match store.chat(&view.chat).await? {
                Some(chat) => chat.title,
                None => view.chat.to_string(),
            };
            screen.line(Tone::Question, &format!("{}  {}", view.id, words::wish(view)))?;
            let text =
                format!("    world {}, chat “{title}”, since {}", view.world, view.created_at);
            screen.line(Tone::Quiet, &text)?;
        }
    }
    if !json {
        let text = match waiting.as_slice() {
            [] => "nothing is waiting for approval".to_owned(),
            waiting => format!(
                "{} waiting; `agent-world approvals show|approve|deny ID`",
                words::count(waiting.len(), "approval")
            ),
        };
        screen.line(Tone::Quiet, &text)?;
    }
    Ok(Exit::Done)
}

async fn show(data: DataFolder, id: &ApprovalId, json: bool) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    let view = store.approval(id).await?.ok_or_else(|| unknown(id))?;
    let page = MessagePage::Before(Some(view.position), CONTEXT);
    let context = store.messages(&view.chat, page).await?;
    let mut screen = Screen::stdout();
    if json {
        let context: Vec<Value> =
            context.iter().map(|message| wire::message(&view.chat, message)).collect();
        let mut value = wire::approval(&view);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("context".to_owned(), Value::Array(context));
        }
        screen.json(&value)?;
        return Ok(Exit::Done);
    }
    let said = context
        .iter()
        .filter(|message| message.role != MessageRole::Tool && !message.text.is_empty());
    for message in said {
        screen.said(message.sender.as_str(), &words::first_lines(&message.text, CONTEXT_LINES))?;
    }
    screen.line(Tone::Question, &format!("{id}: {}", words::state(&view.state)))?;
    present(&mut screen, &view)?;
    Ok(Exit::Done)
}

/// What a person must see before deciding: who, what exactly, where, and which permissions can be given.
pub fn present(screen: &mut Screen, view: &ApprovalView) -> std::io::Result<()> {
    if let Some(form) = &view.form {
        return present_form(screen, view, form);
    }
    screen.shown(Tone::Plain, &format!("  {} asks: {}", view.agent, view.question))?;
    if let Some(voided) = &view.voided {
        let text = format!("  {} was approved, but since then:", voided.approval);
        screen.line(Tone::Warning, &text)?;
        for change in &voided.changes {
            screen.line(Tone::Warning, &format!("    {}", words::unbroken(change)))?;
        }
    }
    screen.shown(Tone::Plain, &format!("  {} {}", view.tool, view.shown))?;
    if let Some(preview) = &view.preview {
        for line in preview.lines() {
            screen.shown(Tone::Plain, &format!("  {line}"))?;
        }
    }
    let facts = view.binding.iter().flat_map(|binding| &binding.facts);
    let told = |name: &str, value: &str| {
        name == "directory" && view.working_directory.as_deref() == Some(value)
    };
    for (name, value) in facts.filter(|(name, value)| !told(name, value)) {
        screen.line(Tone::Quiet, &format!("  {name}: {}", words::unbroken(value)))?;
    }
    if let Some(directory) = &view.working_directory {
        screen.line(Tone::Plain, &format!("  in {directory}"))?;
    }
    if let Some(at) = view.expires_at {
        screen.line(Tone::Plain, &format!("  until {at}"))?;
    }
    for (number, suggestion) in (1..).zip(&view.suggestions) {
        screen.line(Tone::Quiet, &format!("    {number} {}", suggestion.label))?;
    }
    if !words::offers(view, Choice::ApproveAlways) {
        let text = "  not shown in full: `always` is not offered";
        screen.line(Tone::Warning, text)?;
    }
    Ok(())
}

/// What a running tool wants to know.
fn present_form(screen: &mut Screen, view: &ApprovalView, form: &Form) -> std::io::Result<()> {
    let text = format!("  {} of {} asks: {}", view.tool, view.agent, view.question);
    screen.line(Tone::Plain, &text)?;
    if let Some(url) = &form.url {
        screen.line(Tone::Plain, &format!("  go to {}", words::unbroken(url)))?;
    }
    screen.line(Tone::Plain, &format!("  the answer is JSON that fits {}", view.shown))?;
    let text = "  do not tell a password or a key: the answer goes to the tool and into the log";
    screen.line(Tone::Warning, text)
}

async fn approve(data: DataFolder, wanted: ApproveOne) -> Result<Exit> {
    // Other arguments are looked at by the tool, which may be one of a server.
    let session = match &wanted.arguments {
        Some(_) => Session::visit_with_servers(data).await?,
        None => Session::visit(data).await?,
    };
    let id = ApprovalId::new(wanted.id);
    let matches = match wanted.suggestion {
        Some(_) if wanted.scope == Reach::Once => {
            let text =
                "--match narrows a permission that lasts; add --scope session or --scope always";
            return Err(Usage(text.to_owned()).into());
        }
        Some(number) => {
            let view = session.store().approval(&id).await?.ok_or_else(|| unknown(&id))?;
            suggested(&view, number)?
        }
        None if wanted.scope != Reach::Once && wanted.arguments.is_some() => {
            let text = "other arguments are approved once; a permission that lasts would cover any call: \
                        narrow it with --match, or leave --arguments out";
            return Err(Usage(text.to_owned()).into());
        }
        None => Vec::new(),
    };
    let answer =
        Answer::Approve { scope: Scope::from(wanted.scope), matches, arguments: wanted.arguments };
    decide(&session, &id, answer, wanted.json).await
}

/// The narrower permission with this number.
pub fn suggested(view: &ApprovalView, number: usize) -> Result<Vec<Match>> {
    let chosen = number.checked_sub(1).and_then(|index| view.suggestions.get(index));
    match chosen {
        Some(suggestion) => Ok(suggestion.matches.clone()),
        None => {
            let (id, last) = (&view.id, view.suggestions.len());
            Err(Usage(format!("{id} has no suggestion {number}; choose one from 1 to {last}"))
                .into())
        }
    }
}

async fn decide(session: &Session, id: &ApprovalId, answer: Answer, json: bool) -> Result<Exit> {
    let answered = session.engine.answer(id, answer, &who(), Claims::default()).await;
    session.engine.shutdown().await;
    let view = match answered {
        Ok(view) => view,
        Err(Error::UnknownApproval(_)) => return Err(unknown(id)),
        Err(Error::AlreadySettled(view)) => {
            if json {
                Screen::stdout().json(&wire::approval(&view))?;
            }
            return Err(Error::AlreadySettled(view).into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut screen = Screen::stdout();
    if json {
        screen.json(&wire::approval(&view))?;
        return Ok(Exit::Done);
    }
    screen.line(Tone::Plain, &format!("{id}: {}", words::state(&view.state)))?;
    let text = "recorded; a running agent-world takes it up, otherwise the next start does: `agent-world resume`";
    screen.line(Tone::Quiet, text)?;
    Ok(Exit::Done)
}

/// Takes back a permission that lasts: a rule given with `always`, or a grant for the rest of a chat.
async fn revoke(data: DataFolder, id: &str, json: bool) -> Result<Exit> {
    let session = Session::visit(data).await?;
    let revoked = revoke_in(&session, id).await;
    session.engine.shutdown().await;
    if !revoked? {
        let text = "is no permission in force; `agent-world world show ID` lists those of a world";
        return Err(anyhow!("{id} {text}"));
    }
    let mut screen = Screen::stdout();
    if json {
        screen.json(&json!({ "type": "permission", "id": id, "state": "revoked" }))?;
    } else {
        screen.line(Tone::Plain, &format!("{id} is revoked; from now on it is asked again"))?;
    }
    Ok(Exit::Done)
}

async fn revoke_in(session: &Session, id: &str) -> Result<bool> {
    for world in session.store().worlds().await? {
        if let Some(rule) = world.policy.granted.iter().find(|rule| rule.id.as_str() == id) {
            session.engine.revoke_rule(&world.id, &rule.id, &who()).await?;
            return Ok(true);
        }
        for chat in place::all_chats(session.store(), &world.id).await? {
            let grants = session.store().grants(&chat.id).await?;
            if let Some(grant) = grants.iter().find(|grant| grant.id.as_str() == id) {
                session.engine.revoke_grant(&chat.id, &grant.id, &who()).await?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn unknown(id: &ApprovalId) -> anyhow::Error {
    anyhow!("approval {id} does not exist; `agent-world approvals list` shows those that wait")
}
