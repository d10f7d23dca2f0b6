//! Tests of loading what happened in a world.

use serde_json::json;

use super::*;
use crate::scripted::{Said, Script};

#[tokio::test]
async fn all_pages_are_read_also_when_one_is_short_or_empty() {
    let page = |events: &[u64], next: Option<&str>| {
        let events: Vec<Value> = events.iter().map(|seq| json!({ "seq": seq })).collect();
        Said::This(200, json!({ "data": events, "next": next }))
    };
    let pages = vec![page(&[16, 32], Some("32")), page(&[], Some("640")), page(&[656], None)];
    let script = Script::new(vec![("GET /api/worlds/demo/events", pages)]);
    let all = events(&script.client(), "demo", 0).await.unwrap();
    let numbers: Vec<Option<u64>> = all.iter().map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, [Some(16), Some(32), Some(656)]);
    let asked = script.asked();
    let after = asked.iter().filter_map(|path| path.split("after=").nth(1)?.split('&').next());
    assert_eq!(after.collect::<Vec<_>>(), ["0", "32", "640"]);
}
