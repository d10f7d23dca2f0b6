//! Worlds that leave one server as a document and come into another.

use std::sync::Arc;

use agent_world_core::config::{Agent, McpServer, McpTransport, World};
use agent_world_core::ids::WorldId;
use agent_world_core::{Timestamp, config};
use agent_world_runtime::llm::demo::Demo;
use agent_world_runtime::store::Memory;
use agent_world_runtime::{Engine, NewMessage};
use agent_world_server::{Access, Limits, Options, Principal, Proof, Role, Server};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A server on a loopback port. It ends with the test's runtime.
struct Place {
    engine: Engine,
    url: String,
    client: reqwest::Client,
}

impl Place {
    async fn open(role: Role, import_limit: usize) -> Self {
        let engine =
            Engine::builder(Arc::new(Memory::new())).model("demo", Arc::new(Demo)).start().unwrap();
        let local = Principal { name: "dan".to_owned(), role, proof: Proof::Local };
        let limits = Limits { import_bytes: import_limit, ..Limits::default() };
        let options = Options { access: Access { local }, limits, ..Options::default() };
        let server = Server::new(engine.clone(), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, server.router()).await });
        Self { engine, url, client: client() }
    }

    async fn new() -> Self {
        Self::open(Role::Admin, 1 << 20).await
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        read(answer).await
    }

    async fn import(&self, query: &str, body: &Value) -> (StatusCode, Value) {
        let url = format!("{}/api/worlds/import{query}", self.url);
        let request = self.client.post(url).header("content-type", "application/json");
        read(request.body(body.to_string()).send().await.unwrap()).await
    }

    /// A world with a key in its settings and a chat in which something was said.
    async fn with_world() -> Self {
        let place = Self::new().await;
        let mut world = World::new(WorldId::new("lab"), "Lab", Timestamp::now());
        world.agents =
            vec![Agent { instructions: "Be brief.\r\n".to_owned(), ..Agent::new("ada") }];
        world.default_model = Some("demo/demo".to_owned());
        world.turn_limit = 7;
        let transport = McpTransport::Http {
            url: "https://example.com/mcp".to_owned(),
            headers: [("X-Key".to_owned(), "hunter2".to_owned())].into(),
        };
        let server = McpServer { disabled: true, ..McpServer::new(transport) };
        world.mcp_servers.insert("docs".to_owned(), server);
        let world = place.engine.create_world(world, "eve").await.unwrap();
        let chats = place.engine.store().chats(&world.id, None, 10).await.unwrap();
        let chat = &chats[0].id;
        let posted = place.engine.post(chat, NewMessage::human("hello")).await.unwrap();
        let scope = agent_world_runtime::store::Scope::Chat(chat.clone());
        let mut events = place.engine.subscribe(scope, posted.position);
        // Until it has a name, something is still to come.
        loop {
            let view = place.engine.chat(chat).await.unwrap();
            if !view.activity.busy && view.named_by != agent_world_core::event::Author::Default {
                return place;
            }
            events.next().await.unwrap();
        }
    }
}

fn client() -> reqwest::Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn read(answer: reqwest::Response) -> (StatusCode, Value) {
    let status = answer.status();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn a_world_moves_from_one_server_to_another() {
    let (here, there) = (Place::with_world().await, Place::new().await);
    let (status, document) = here.get("/api/worlds/lab/export").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&document["format"], &document["version"]),
        (&json!("agent-world/world"), &json!(1))
    );
    assert!(!document.to_string().contains("hunter2"), "no key leaves over HTTP");
    assert_eq!(document["missing_secrets"][0]["name"], "MCP_DOCS_HEADERS_X_KEY");
    let (status, imported) = there.import("", &document).await;
    assert_eq!(status, StatusCode::CREATED, "{imported}");
    assert_eq!((&imported["id"], &imported["chats"]), (&json!("lab"), &json!(1)));
    assert_eq!(imported["missing_secrets"], document["missing_secrets"]);
    let (_, again) = there.get("/api/worlds/lab/export").await;
    for part in ["world", "granted", "revoked", "chats", "results"] {
        assert_eq!(again[part], document[part], "{part}");
    }
    let (status, problem) = there.import("", &document).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("world_exists")));
}

#[tokio::test]
async fn a_document_that_was_changed_is_refused_and_says_where() {
    let (here, there) = (Place::with_world().await, Place::new().await);
    let (_, mut document) = here.get("/api/worlds/lab/export").await;
    let chat = document["chats"][0]["id"].clone();
    let payload = document["chats"][0]["events"][1]["payload"].as_str().unwrap();
    document["chats"][0]["events"][1]["payload"] = json!(payload.replace("hello", "hi there"));
    let (status, problem) = there.import("", &document).await;
    assert_eq!(
        (status, &problem["code"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("log_refused"))
    );
    assert_eq!((&problem["chat_id"], &problem["event"]), (&chat, &json!(2)));
    assert_eq!(there.engine.store().position().await.unwrap(), 0);
}

#[tokio::test]
async fn settings_move_as_files_also_under_another_id() {
    let (here, there) = (Place::with_world().await, Place::new().await);
    let (status, folder) = here.get("/api/worlds/lab/export?form=folder").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(folder["files"]["agents/ada.md"], "+++\n+++\nBe brief.\r\n");
    assert!(!folder.to_string().contains("hunter2"), "{folder}");
    let (status, imported) = there.import("?as=second", &folder).await;
    assert_eq!((status, &imported["id"]), (StatusCode::CREATED, &json!("second")), "{imported}");
    let world = there.engine.store().world(&WorldId::new("second")).await.unwrap().unwrap();
    assert_eq!((world.turn_limit, world.agents[0].instructions.as_str()), (7, "Be brief.\r\n"));
    assert_eq!(there.engine.store().chats(&world.id, None, 10).await.unwrap().len(), 1);
    let (_, mut document) = here.get("/api/worlds/lab/export").await;
    let (status, problem) = there.import("?as=third", &document).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let fields = document.as_object_mut().unwrap();
    fields.remove("chats");
    let (status, imported) = there.import("?as=third", &document).await;
    assert_eq!((status, &imported["id"]), (StatusCode::CREATED, &json!("third")), "{imported}");
}

#[tokio::test]
async fn the_files_of_a_folder_take_the_place_of_settings_and_keep_what_they_only_name() {
    let place = Place::with_world().await;
    let (_, mut folder) = place.get("/api/worlds/lab/export?form=folder").await;
    let put = |query: &'static str, body: Value| {
        let url = format!("{}/api/worlds/{query}", place.url);
        let request = place.client.put(url).header("content-type", "application/json");
        async move { read(request.body(body.to_string()).send().await.unwrap()).await }
    };
    let (status, same) = put("lab/folder", folder.clone()).await;
    assert_eq!((status, &same["changes"]), (StatusCode::OK, &json!([])), "{same}");
    let text =
        folder["files"]["world.toml"].as_str().unwrap().replace("turn_limit = 7", "turn_limit = 3");
    folder["files"]["world.toml"] = json!(text);
    let (_, dry) = put("lab/folder?dry_run=true", folder.clone()).await;
    assert_eq!((&dry["changed"], &dry["changes"]), (&json!(false), &json!(["turn_limit: 7 -> 3"])));
    let (_, done) = put("lab/folder", folder.clone()).await;
    assert_eq!((&done["changed"], &done["version"]), (&json!(true), &json!(2)));
    let world = place.engine.store().world(&WorldId::new("lab")).await.unwrap().unwrap();
    assert_eq!(world.turn_limit, 3);
    let McpTransport::Http { headers, .. } = &world.mcp_servers["docs"].transport else {
        panic!("{world:?}")
    };
    assert_eq!(headers["X-Key"], "hunter2", "a key that is only named is kept");
    let (status, problem) = put("none/folder", folder.clone()).await;
    assert_eq!((status, &problem["code"]), (StatusCode::NOT_FOUND, &json!("world_not_found")));
    folder["files"]["world.toml"] = json!("turnlimit = 3");
    let (status, problem) = put("lab/folder", folder).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

#[tokio::test]
async fn what_is_no_world_is_refused_with_words() {
    let there = Place::open(Role::Admin, 5_000).await;
    let files = |name: &str, text: &str| json!({"files": {name: text, "world.toml": "id = \"x\""}});
    let cases = [
        (json!({}), 422, "missing field `format`"),
        (json!([]), 422, "invalid"),
        (json!({"files": {}}), 422, "world.toml: the file is missing"),
        (json!({"files": {"world.toml": 3}}), 422, "invalid type"),
        (json!({"files": {}, "other": 1}), 422, "unknown field `other`"),
        (files("../../etc/passwd", ""), 422, "there is no such file in a world"),
        (files("agents/..", ""), 422, "there is no such file in a world"),
        (files("policy.toml", "rule = 1"), 422, "policy.toml: it has no field `rule`"),
        (json!({"files": {"world.toml": "x".repeat(5_000)}}), 413, "larger than the 5000 bytes"),
    ];
    for (body, status, words) in cases {
        let (found, problem) = there.import("", &body).await;
        assert_eq!(found.as_u16(), status, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{words}: {problem}");
    }
    let ids = ["..", "A", "a b", "", &"x".repeat(1_000), "a\u{0}"];
    for id in ids {
        let url = reqwest::Url::parse_with_params(
            &format!("{}/api/worlds/import", there.url),
            [("as", id)],
        );
        let request = there.client.post(url.unwrap()).header("content-type", "application/json");
        let (status, problem) =
            read(request.body(files("world.toml", "").to_string()).send().await.unwrap()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{id}: {problem}");
    }
    let (status, _) = there.import("?x=1", &json!({})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    for id in ["nobody", "%00", "%ff", "%2e%2e", &"x".repeat(5_000)] {
        let (status, problem) = there.get(&format!("/api/worlds/{id}/export")).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{id}: {problem}");
    }
    let (status, _) = there.get("/api/worlds/lab/export?form=zip").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let plain = there.client.post(format!("{}/api/worlds/import", there.url)).body("{}");
    assert_eq!(plain.send().await.unwrap().status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(there.engine.store().worlds().await.unwrap(), Vec::<config::World>::new());
}

#[tokio::test]
async fn only_admins_export_and_import() {
    let place = Place::open(Role::Approver, 1 << 20).await;
    assert_eq!(place.get("/api/worlds/lab/export").await.0, StatusCode::FORBIDDEN);
    assert_eq!(place.import("", &json!({})).await.0, StatusCode::FORBIDDEN);
}
