//! Decides which part of a chat's log a fork takes along: history up to a message, and no open work.
//! Called by the runtime before it creates the copy. Never copies a request, a decision or a grant.

use crate::chain::Recorded;
use crate::event::{ApprovalDecided, Copied, Decision, Event, Position};

/// The history up to and including a place, without what was taken back before.
pub fn history_until(log: &[Recorded], last: Position) -> Vec<Copied> {
    let mut kept: Vec<(Position, Copied)> = Vec::new();
    for recorded in log {
        let at = recorded.at;
        match &recorded.event {
            // Within the part that is kept, a cut took away what stood behind its place.
            Event::HistoryCut { position, .. } if recorded.seq <= last.seq => {
                kept.retain(|(place, _)| place < position);
            }
            Event::HistoryCopied { events } => {
                for (index, copied) in (0..).zip(events) {
                    let place = Position { seq: recorded.seq, index };
                    if place <= last {
                        kept.push((place, copied.clone()));
                    }
                }
            }
            Event::ApprovalDecided(decided) => {
                let place = Position { seq: recorded.seq, index: 0 };
                if place <= last
                    && let Some(event) = edit_of(decided)
                {
                    kept.push((place, Copied { at, event }));
                }
            }
            event => {
                let place = Position { seq: recorded.seq, index: 0 };
                if place <= last && is_history(event) {
                    kept.push((place, Copied { at, event: event.clone() }));
                }
            }
        }
    }
    kept.into_iter().map(|(_, copied)| copied).collect()
}

/// Of a decision a fork keeps what it changed, never what it permits.
fn edit_of(decided: &ApprovalDecided) -> Option<Event> {
    match &decided.decision {
        Decision::Approved { arguments: Some(arguments), .. } => Some(Event::ArgumentsEdited {
            call: decided.call.clone(),
            arguments: arguments.clone(),
        }),
        _ => None,
    }
}

/// Whether an event may stand in copied history. Anything else there was not put there by this program.
pub fn can_be_copied(event: &Event) -> bool {
    is_history(event) || matches!(event, Event::ArgumentsEdited { .. })
}

fn is_history(event: &Event) -> bool {
    matches!(
        event,
        Event::MessagePosted(_)
            | Event::NoticePosted(_)
            | Event::ModelCallRequested(_)
            | Event::ReplyRecorded(_)
            | Event::ToolCalled(_)
            | Event::ToolStarted { .. }
            | Event::ToolFinished(_)
            | Event::TurnLimitReached { .. }
            | Event::WorkStopped { .. }
    )
}
