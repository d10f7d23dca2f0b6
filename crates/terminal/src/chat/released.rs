//! Counts which other waiting requests a lasting permission has answered, in whatever chat of the world.
//! Started by `run`, and by the conversation of lines, beside a decision. Only listens, and not for long: a process that works
//! answers them at once.

use std::time::Duration;

use agent_world_client::wire::{ApprovalState, News};
use agent_world_client::{Client, Heard, Scope};
use tokio::time::{Instant, timeout_at};

use super::words;

/// How long the first one is waited for, and then each further one.
const FIRST: Duration = Duration::from_secs(10);
const NEXT: Duration = Duration::from_secs(1);

/// What to say of them; none where there were none. `after` is the newest event that was known before the decision.
pub async fn released(
    client: &Client,
    world: &str,
    chat: &str,
    approval: &str,
    after: u64,
) -> Option<String> {
    let scope = Scope::World(world.to_owned());
    let mut following = client.follow(&scope, Some(after)).await.ok()?;
    let mut until = Instant::now() + FIRST;
    let (mut here, mut elsewhere, mut is_decided) = (0, 0, false);
    // Whoever does not answer any more has nothing to tell either.
    while let Ok(Ok(heard)) = timeout_at(until, following.next()).await {
        let Heard::Event(event) = heard else { continue };
        let News::Approval(other) = &event.news else { continue };
        if other.id == approval {
            is_decided = other.state == ApprovalState::Approved;
            continue;
        }
        let by_permission =
            other.state == ApprovalState::Approved && other.decided_through.is_some();
        if !is_decided || !by_permission {
            continue;
        }
        match other.chat_id == chat {
            true => here += 1,
            false => elsewhere += 1,
        }
        until = Instant::now() + NEXT;
    }
    told(here, elsewhere)
}

fn told(here: usize, elsewhere: usize) -> Option<String> {
    let all = words::count(here + elsewhere, "waiting request");
    match (here, elsewhere) {
        (0, 0) => None,
        (_, 0) => Some(format!("also released: {all}")),
        (0, _) => Some(format!("also released: {all} in other chats")),
        (_, _) => Some(format!("also released: {all}, {elsewhere} of them in other chats")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_released_is_counted_with_where_it_was() {
        assert_eq!(told(0, 0), None);
        assert_eq!(told(2, 0).unwrap(), "also released: 2 waiting requests");
        assert_eq!(told(0, 1).unwrap(), "also released: 1 waiting request in other chats");
        assert_eq!(
            told(1, 2).unwrap(),
            "also released: 3 waiting requests, 2 of them in other chats"
        );
    }
}
