//! Every operation of the OpenAPI document, asked with what fits its schema and with what does not: no answer is a
//! server's error, none has a status or a body that the document does not tell of, and none is missing.

use serde_json::json;

use crate::libraries::{installed, run};
use crate::stage::House;

/// Cases for each operation and phase. `AGENT_WORLD_FUZZ_CASES` asks for more.
const CASES: &str = "12";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance";

/// Real ids in the places of paths, so that more than "not found" is reached.
const SETTINGS: &str = r#"
[parameters]
"path.world" = "lab"
"path.agent" = "ada"
"path.chat" = "CHAT"
"query.wait" = 0
"#;

async fn fuzz(settings: &str, seed: &str) {
    let Some(clients) = installed() else { return };
    let mut house = House::open().await;
    // With a token from the start: the fuzzer makes some of its own, and whoever has none is not let in any more.
    house.token = Some(house.make_token("fuzzer", "admin").await);
    let chat = house.world("lab", &["ada"], json!({})).await;
    house.say(&chat, "!call shell_cmd {\"command\": \"true\"}").await;
    house.settled(&chat).await;
    let folder = house.folder.path().join("fuzz");
    std::fs::create_dir(&folder).unwrap();
    let settings = settings.replace("CHAT", &chat.id);
    std::fs::write(folder.join("schemathesis.toml"), settings).unwrap();
    let cases = std::env::var("AGENT_WORLD_FUZZ_CASES").unwrap_or_else(|_| CASES.to_owned());
    let mut command = tokio::process::Command::new(clients.join("venv/bin/schemathesis"));
    let token = house.token.as_deref().unwrap();
    command.current_dir(&folder).arg("run").arg(format!("{}/openapi.json", house.url)).args([
        "--header",
        &format!("Authorization: Bearer {token}"),
        "--checks",
        CHECKS,
        "--max-examples",
        &cases,
        "--seed",
        seed,
        "--generation-database",
        "none",
        "--request-timeout",
        "20",
        "--warnings",
        "off",
        // How hard it is to make cases is no finding about the server.
        "--suppress-health-check",
        "filter_too_much,too_slow",
        "--no-color",
        "--continue-on-failure",
    ]);
    println!("{}", run(command).await);
    house.get("/healthz").await.is(200);
    house.get("/api/worlds").await.is(200);
}

#[tokio::test]
async fn nothing_that_can_be_sent_to_known_things_breaks_the_server() {
    fuzz(SETTINGS, "1").await;
}

#[tokio::test]
async fn nothing_that_can_be_sent_anywhere_breaks_the_server() {
    fuzz("[parameters]\n\"query.wait\" = 0\n", "2").await;
}
