//! Fields of a query that no address knows: refused by every route, with their name.

use agent_world_server::openapi;
use serde_json::{Value, json};

use super::settings_stage::Stage;

/// They are asked by machines that must get an answer, and by programs written for other servers.
fn is_lenient(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz") || path.starts_with("/v1/")
}

#[tokio::test]
async fn every_route_refuses_fields_that_it_does_not_know() {
    let stage = Stage::open().await;
    stage.post("/api/worlds", json!({"id": "w", "name": "W"})).await.is(201);
    let document: Value = serde_json::to_value(openapi()).unwrap();
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        if is_lenient(path) {
            continue;
        }
        let address = path.replace("{world}", "w").replace(['{', '}'], "");
        for method in item.as_object().unwrap().keys() {
            let method = method.to_uppercase().parse().unwrap();
            let reply = stage.ask(method, &format!("{address}?nonsense=1"), None, None).await;
            let body = &reply.body;
            assert_eq!(reply.status, 422, "{path}: {body}");
            assert_eq!(
                (&body["code"], &body["field"]),
                (&json!("query_invalid"), &json!("nonsense"))
            );
            assert!(body["detail"].as_str().unwrap().contains("`nonsense`"), "{body}");
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked} routes");
    for address in ["/api/worlds/w/stats?since=x", "/api/webhooks?limit=1", "/api/me?%6Eonsense"] {
        assert_eq!(stage.get(address).await.status, 422, "{address}");
    }
    for address in
        ["/api/worlds/w?", "/api/worlds?limit=1", "/healthz?nonsense=1", "/v1/models?x=1"]
    {
        assert_eq!(stage.get(address).await.status, 200, "{address}");
    }
}
