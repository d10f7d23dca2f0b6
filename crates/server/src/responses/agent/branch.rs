//! Decides in which chat a response of an agent is continued: in its own as long as it is the newest one there, otherwise
//! in a copy of the chat up to it. So requests that follow the same response never see each other.
//! Called by `answer` before anything is said. Answers to what the agent waits for are no branch: they stay in the chat.

use agent_world_core::Timestamp;
use agent_world_core::event::Position;
use agent_world_core::ids::ChatId;
use agent_world_runtime::store::{DocumentWrite, Error, Expected, MessagePage};
use serde::{Deserialize, Serialize};

use crate::access::Principal;
use crate::app::App;
use crate::problem::Problem;

/// Where the newest responses of chats are noted. A chat of which nothing is noted has one at most.
pub(crate) const KIND: &str = "newest-response";
/// Responses that can be the newest of one chat at once: answers to the same questions, sent more than once.
const MOST: usize = 16;

/// A response that is continued.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub response: String,
    /// How far its chat's log had come at its end. Unknown of one that failed.
    pub reached: Option<u64>,
    /// Whether it ended with something that the client is to answer.
    pub waits: bool,
}

/// A request that follows a response.
#[derive(Debug)]
pub(crate) struct Follows {
    pub point: Point,
    /// The id of the response that it asks for.
    pub id: String,
}

/// What a request does to the chat it goes on in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Says something new.
    Speaks,
    /// Only answers what was asked.
    Answers,
}

/// Where a request goes on.
#[derive(Debug)]
pub(super) enum Branch {
    /// In the chat itself.
    Same(Claim),
    /// In a copy.
    Copy(ChatId),
}

/// A response that was noted as its chat's newest.
#[derive(Debug)]
pub(super) struct Claim {
    chat: ChatId,
    version: u64,
    before: Newest,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Newest {
    newest: Vec<String>,
}

pub(super) async fn choose(
    app: &App,
    who: &Principal,
    chat: &ChatId,
    follows: &Follows,
    act: Act,
) -> Result<Branch, Problem> {
    let Follows { point, id } = follows;
    loop {
        let found = app.engine.store().document(KIND, chat.as_str()).await?;
        let expected =
            found.as_ref().map_or(Expected::Nothing, |one| Expected::Version(one.version));
        let noted = found.and_then(|one| serde_json::from_str::<Newest>(&one.body).ok());
        let before = noted.unwrap_or_else(|| Newest { newest: vec![point.response.clone()] });
        let is_newest = before.newest.contains(&point.response);
        if !is_newest && act == Act::Speaks {
            return Ok(Branch::Copy(copy(app, who, chat, point).await?));
        }
        // Whoever sends the same answers again gets the same outcome, and can go on from either.
        let mut newest = if is_newest { Vec::new() } else { before.newest.clone() };
        newest.push(id.clone());
        let surplus = newest.len().saturating_sub(MOST);
        newest.drain(..surplus);
        match note(app, chat, &Newest { newest }, expected).await {
            Ok(version) => {
                return Ok(Branch::Same(Claim { chat: chat.clone(), version, before }));
            }
            // Somebody else was first: their response is the newest now.
            Err(Error::DocumentConflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Claim {
    /// Nothing came of the request, so the response before it is the newest again.
    pub async fn give_back(self, app: &App) {
        let expected = Expected::Version(self.version);
        match note(app, &self.chat, &self.before, expected).await {
            Ok(_) | Err(Error::DocumentConflict { .. }) => {}
            Err(error) => {
                tracing::warn!(%error, chat = %self.chat, "a refused request stays noted")
            }
        }
    }
}

async fn note(app: &App, chat: &ChatId, newest: &Newest, expected: Expected) -> Result<u64, Error> {
    let write = DocumentWrite {
        kind: KIND.to_owned(),
        key: chat.to_string(),
        expected,
        body: serde_json::to_string(newest)?,
        at: Timestamp::now(),
    };
    app.engine.store().write_document(write).await
}

/// A new chat with the history up to the end of a response.
async fn copy(app: &App, who: &Principal, chat: &ChatId, point: &Point) -> Result<ChatId, Problem> {
    if point.waits {
        return Err(impossible(
            "it ended with a request that was to be answered, and the work it belongs to cannot be copied; \
             go on from the response that came after the answer",
        ));
    }
    let Some(reached) = point.reached else {
        return Err(impossible(
            "nobody knows what had been said at its end; go on from the newest response",
        ));
    };
    let behind = Position { seq: reached.saturating_add(1), index: 0 };
    let page = MessagePage::Before(Some(behind), 1);
    let Some(last) = app.engine.store().messages(chat, page).await?.pop() else {
        return Err(impossible("what was said there was taken back; begin anew"));
    };
    Ok(app.engine.fork(chat, &last.id, &who.name).await?.id)
}

fn impossible(why: &str) -> Problem {
    let detail = format!("the response was continued before, and no branch can begin at it: {why}");
    Problem::conflict("response_not_branchable", detail).with("field", "previous_response_id")
}
