//! Lists of things that are large: a page ends early, and the pages together hold everything once.

use std::time::Duration;

use agent_world_runtime::FeedItem;
use agent_world_runtime::store::Scope;
use serde_json::Value;
use tokio::time::timeout;

use super::stage::{Stage, acts, id};

/// Bytes that a page may have: what it is bounded to, and one thing beyond it.
const MOST: usize = 12 * 1024 * 1024;
const COUNT: usize = 13;
/// Far longer than one step takes, also where much is to be looked through.
const DEADLINE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn pages_of_calls_and_of_approvals_are_bounded_in_bytes() {
    let stage = Stage::open().await;
    let large = "x".repeat(700_000);
    let whats: Vec<&str> = std::iter::repeat_n(large.as_str(), COUNT).collect();
    stage.model.push("ada", acts(&whats));
    stage.say("go").await;
    let mut events = stage.engine.subscribe(Scope::All, 0);
    let mut asked = 0;
    while asked < COUNT {
        let next = timeout(DEADLINE, events.next()).await.expect("an event").unwrap().unwrap();
        if let FeedItem::Stored(event) = next {
            asked += usize::from(event.sealed.kind == "approval_requested");
        }
    }
    for list in [stage.at("tool-calls"), "/api/approvals".to_owned()] {
        let mut found: Vec<String> = Vec::new();
        let mut pages = 0;
        let mut address = format!("{list}?limit=1000");
        loop {
            let page = stage.human.get(&address).await.ok(200);
            let size = page.to_string().len();
            assert!(size < MOST, "{list}: a page of {size} bytes");
            let ids = page["data"].as_array().unwrap().iter().map(|one: &Value| id(one).to_owned());
            found.extend(ids);
            pages += 1;
            let Some(next) = page["next"].as_str() else { break };
            address = format!("{list}?limit=1000&after={next}");
        }
        assert!(pages > 1, "{list}: everything in one page");
        let mut once = found.clone();
        once.sort();
        once.dedup();
        assert_eq!((found.len(), once.len()), (COUNT, COUNT), "{list}");
    }
}
