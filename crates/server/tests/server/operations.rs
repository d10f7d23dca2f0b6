//! Tests of what machines are told: health, readiness and numbers, and that the numbers follow what happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_core::Timestamp;
use agent_world_core::command::{Answer, Claims, Scope};
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::ChatId;
use agent_world_runtime::llm::demo::Demo;
use agent_world_runtime::store::{ApprovalFilter, Memory};
use agent_world_runtime::tools::shell::ShellCmd;
use agent_world_runtime::{Engine, NewMessage};
use agent_world_server::{Access, Options, Principal, Proof, Role, Server};
use axum::http::header::CONTENT_TYPE;

/// Far longer than anything here takes; reached only when something is broken.
const DEADLINE: Duration = Duration::from_secs(60);

struct Stage {
    engine: Engine,
    server: Server,
    url: String,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

fn client() -> reqwest::Client {
    let trust = agent_world_runtime::tools::trust::configure().unwrap();
    reqwest::Client::builder().tls_backend_preconfigured(trust).no_proxy().build().unwrap()
}

impl Stage {
    async fn new() -> Self {
        Self::on(Arc::new(Memory::default()), Role::Admin).await
    }

    async fn on(store: Arc<Memory>, role: Role) -> Self {
        let engine = Engine::builder(store)
            .model("demo", Arc::new(Demo))
            .tool(Arc::new(ShellCmd::new()))
            .unwrap()
            .start()
            .unwrap();
        let local = Principal { name: "tester".to_owned(), role, proof: Proof::Local };
        let server =
            Server::new(engine.clone(), Options { access: Access { local }, ..Options::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = server.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { engine, server, url, client: client(), _folder: tempfile::tempdir().unwrap() }
    }

    /// A world called `lab` with ada on the demo model, and a chat in it.
    async fn chat(&self) -> ChatId {
        let mut world = World::new("lab".into(), "Lab", Timestamp::now());
        world.working_directory = Some(self._folder.path().display().to_string());
        world.agents.push(Agent { model: Some("demo/demo".into()), ..Agent::new("ada") });
        let world = self.engine.create_world(world, "tester").await.unwrap();
        self.engine.create_chat(&world.id, None, "tester").await.unwrap().id
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn metrics(&self) -> String {
        let (status, text) = self.get("/metrics").await;
        assert_eq!(status, 200, "{text}");
        text
    }

    /// Asks again and again until a line is among the numbers.
    async fn until_it_says(&self, expected: &str) -> String {
        let start = Instant::now();
        loop {
            let text = self.metrics().await;
            if text.lines().any(|line| line == expected) {
                return text;
            }
            assert!(start.elapsed() < DEADLINE, "{expected} is not in {text}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn answer_all(&self, answer: &Answer) {
        let pending = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
        for waiting in self.engine.store().approvals(&pending, None, 100).await.unwrap() {
            let claims = Claims::default();
            self.engine.answer(&waiting.id, answer.clone(), "tester", claims).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_says_that_it_lives_and_is_ready_until_it_stops() {
    let stage = Stage::new().await;
    assert_eq!(stage.get("/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(stage.get("/readyz").await, (200, "ready\n".to_owned()));
    stage.server.stopping().cancel();
    let (status, text) = stage.get("/readyz").await;
    assert_eq!(status, 503);
    assert!(text.contains("shutting_down"), "{text}");
    assert_eq!(stage.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn numbers_follow_what_happens_in_chats() {
    let stage = Stage::new().await;
    let chat = stage.chat().await;
    stage.engine.post(&chat, NewMessage::human("run true")).await.unwrap();
    stage.until_it_says("agent_world_pending_approvals 1").await;
    let once =
        Answer::Approve { scope: Scope::Once, matches: Vec::new(), arguments: None, reason: None };
    stage.answer_all(&once).await;
    let text = stage.until_it_says(r#"agent_world_turns_total{kind="completed"} 1"#).await;
    for line in [
        "agent_world_pending_approvals 0",
        "agent_world_approvals_requested_total 1",
        r#"agent_world_approvals_settled_total{decision="approved_once",by="person"} 1"#,
        r#"agent_world_tool_calls_total{tool="shell_cmd",outcome="completed"} 1"#,
        r#"agent_world_model_calls_total{model="demo/demo",outcome="completed"} 2"#,
        r#"agent_world_messages_total{kind="person"} 1"#,
        r#"agent_world_messages_total{kind="agent"} 1"#,
        r#"gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name="shell_cmd"} 1"#,
        r#"gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="demo",gen_ai_request_model="demo"} 2"#,
        r#"gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="demo",gen_ai_request_model="demo",gen_ai_token_type="output"} 2"#,
        "gen_ai_invoke_agent_duration_seconds_count 1",
        concat!(r#"agent_world_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    let position = stage.engine.store().position().await.unwrap();
    stage.until_it_says(&format!("agent_world_store_position {position}")).await;
}

#[tokio::test]
async fn what_waits_is_known_from_the_start_and_goes_with_its_world() {
    let store = Arc::new(Memory::default());
    let before = Stage::on(Arc::clone(&store), Role::Admin).await;
    let chat = before.chat().await;
    before.engine.post(&chat, NewMessage::human("run true")).await.unwrap();
    before.until_it_says("agent_world_pending_approvals 1").await;
    before.engine.shutdown().await;
    let after = Stage::on(store, Role::Admin).await;
    let text = after.until_it_says("agent_world_pending_approvals 1").await;
    assert!(text.contains("agent_world_approvals_requested_total 0"), "{text}");
    after.engine.delete_world(&"lab".into(), "tester").await.unwrap();
    after.until_it_says("agent_world_pending_approvals 0").await;
}

#[tokio::test]
async fn a_denial_is_counted_as_one() {
    let stage = Stage::new().await;
    let chat = stage.chat().await;
    stage.engine.post(&chat, NewMessage::human("run true")).await.unwrap();
    stage.until_it_says("agent_world_pending_approvals 1").await;
    stage.answer_all(&Answer::Deny { reason: None }).await;
    let denied = r#"agent_world_tool_calls_total{tool="shell_cmd",outcome="denied"} 1"#;
    let text = stage.until_it_says(denied).await;
    let settled = r#"agent_world_approvals_settled_total{decision="denied",by="person"} 1"#;
    assert!(text.contains(settled), "{text}");
    assert!(!text.contains("gen_ai_execute_tool_duration_seconds_count"), "it never ran: {text}");
}

#[tokio::test]
async fn requests_are_counted_by_route_and_unknown_ones_are_one() {
    let stage = Stage::new().await;
    for path in ["/healthz", "/healthz", "/nothing/here", "/nor/there?a=b", "/%00"] {
        stage.get(path).await;
    }
    let method = reqwest::Method::from_bytes(b"BREW").unwrap();
    stage.client.request(method, format!("{}/healthz", stage.url)).send().await.unwrap();
    let answer = stage.client.get(format!("{}/metrics", stage.url)).send().await.unwrap();
    let kind = answer.headers()[CONTENT_TYPE.as_str()].to_str().unwrap().to_owned();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text().await.unwrap();
    for line in [
        r#"agent_world_http_requests_total{route="/healthz",method="GET",status="2xx"} 2"#,
        r#"agent_world_http_requests_total{route="/healthz",method="other",status="4xx"} 1"#,
        r#"agent_world_http_requests_total{route="other",method="GET",status="4xx"} 3"#,
        r#"agent_world_http_request_duration_seconds_count{route="/healthz",method="GET"} 2"#,
        "agent_world_http_requests_in_flight 1",
        "agent_world_event_streams_open 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(!text.contains("nothing"), "what clients make up is no label: {text}");
}

#[tokio::test]
async fn the_numbers_and_the_checks_are_described() {
    let document = agent_world_server::openapi();
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert!(document.paths.paths.contains_key(path), "{path}");
    }
    let stage = Stage::on(Arc::new(Memory::default()), Role::Viewer).await;
    assert!(stage.metrics().await.contains("process_start_time_seconds "));
}
