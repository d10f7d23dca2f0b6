//! Says what is going on when somebody ends `send` before its end: whether the message was posted, and who goes on with it.
//! Used by `send` and `errand`. Only words; ends nothing.

use agent_world_client::wire::Activity;

use crate::again;
use crate::connect::Connection;
use crate::phrases;

/// Said when nothing was posted.
pub const UNSENT: &str = "left before the message was posted; nothing was sent";

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Unsent,
    /// On its way: it may be accepted, and nobody has said so.
    Posting,
    Posted,
}

pub fn words(
    stage: Stage,
    connection: &Connection,
    chat: &str,
    activity: Option<&Activity>,
) -> String {
    match stage {
        Stage::Unsent => UNSENT.to_owned(),
        Stage::Posting => {
            let text = format!("`agent-world chat show {chat}` tells");
            format!(
                "left while the message was being posted; whether it was accepted is not known: {}",
                again::typed(&text)
            )
        }
        Stage::Posted => {
            let doing = match activity.filter(|activity| activity.is_busy()) {
                Some(activity) => format!(" ({})", phrases::activity(activity)),
                None => String::new(),
            };
            let who = goes_on(connection);
            format!(
                "left before the end; the message was accepted in {chat}{doing}, nothing is lost: {who} goes on"
            )
        }
    }
}

/// Whoever does the rest.
fn goes_on(connection: &Connection) -> String {
    match connection.session() {
        Some(session) if session.is_visitor() => "the process that works on the store".to_owned(),
        Some(_) => again::typed("`agent-world resume`").into_owned(),
        None => connection.client.place(),
    }
}
