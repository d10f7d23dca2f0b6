//! Every tool under a policy that asks about everything: approved, denied, granted for a session, granted for good.

use agent_world_core::command::Scope as Reach;
use serde_json::{Value, json};

use crate::stage::{Setup, Stage};
use crate::web::Web;

/// Every tool, and two calls of it.
const TOOLS: [&str; 8] = [
    "shell_cmd",
    "read_file",
    "list_files",
    "search_files",
    "write_file",
    "edit_file",
    "fetch_url",
    "read_result",
];

struct Play {
    stage: Stage,
    tool: &'static str,
    web: Web,
    long: Option<String>,
}

#[derive(Clone, Copy)]
enum Which {
    First,
    Second,
}

impl Play {
    async fn of(tool: &'static str) -> Self {
        let setup = Setup::new().asking().world(|world| {
            world.sandbox.private_addresses = true;
            world.result_limit = 1_000;
        });
        let stage = setup.open().await;
        for name in ["one", "two"] {
            stage.place.write(name, "old words\n");
        }
        let mut play = Self { stage, tool, web: Web::start(), long: None };
        if tool == "read_result" {
            let long = json!({"command": "seq", "parameters": ["1", "9000"]});
            play.stage.calls("shell_cmd", long).await;
            play.stage.approve_everything().await;
            play.long = Some(play.stage.last_call().await.id.to_string());
        }
        play
    }

    fn arguments(&self, which: Which) -> Value {
        let (name, number) = match which {
            Which::First => ("one", 1),
            Which::Second => ("two", 2),
        };
        match self.tool {
            "shell_cmd" => json!({"command": "touch", "parameters": [format!("{name}.touched")]}),
            "read_file" => json!({"path": name}),
            "list_files" => json!({"depth": number}),
            "search_files" => json!({"pattern": name}),
            "write_file" => json!({"path": name, "content": "new words\n"}),
            "edit_file" => json!({"path": name, "old": "old", "new": "new"}),
            "fetch_url" => json!({"url": self.web.url(name)}),
            "read_result" => json!({"id": self.long, "offset": number}),
            other => panic!("{other} has no arguments here"),
        }
    }

    /// Whether a call has left its trace, where it leaves one.
    fn has_run(&self, which: Which) -> Option<bool> {
        let name = match which {
            Which::First => "one",
            Which::Second => "two",
        };
        let place = &self.stage.place;
        match self.tool {
            "shell_cmd" => Some(place.has(&format!("{name}.touched"))),
            "write_file" | "edit_file" => Some(place.read(name) == "new words\n"),
            "fetch_url" => Some(self.web.asked().iter().any(|asked| asked == name)),
            _ => None,
        }
    }

    async fn call(&self, which: Which) {
        self.stage.calls(self.tool, self.arguments(which)).await;
    }

    /// The call is asked about and answered so.
    async fn answered(&self, which: Which, scope: Reach) {
        self.call(which).await;
        let asked = self.stage.asked().await;
        assert_eq!(asked.tool, self.tool);
        assert_ne!(self.has_run(which), Some(true), "{} ran before the answer", self.tool);
        self.stage.approve(&asked, scope).await;
        self.completed(which).await;
    }

    /// The call runs without anybody being asked.
    async fn unasked(&self, which: Which) {
        let before = self.stage.all_requests().await.len();
        self.call(which).await;
        self.completed(which).await;
        assert_eq!(self.stage.all_requests().await.len(), before, "{} was asked about", self.tool);
    }

    async fn completed(&self, which: Which) {
        self.stage.idle().await;
        let call = self.stage.last_call().await;
        assert_eq!(call.state.name(), "completed", "{call:?}");
        assert_ne!(self.has_run(which), Some(false), "{} left no trace", self.tool);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_holds_for_one_call_and_the_next_is_asked_about() {
    for tool in TOOLS {
        let play = Play::of(tool).await;
        play.answered(Which::First, Reach::Once).await;
        play.answered(Which::Second, Reach::Once).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_does_nothing_and_the_model_is_told_why() {
    for tool in TOOLS {
        let play = Play::of(tool).await;
        play.call(Which::First).await;
        let asked = play.stage.asked().await;
        play.stage.deny(&asked, "not today").await;
        play.stage.idle().await;
        assert_eq!(play.stage.told().pop().unwrap(), "denied by the user: not today");
        let call = play.stage.last_call().await;
        assert_eq!((call.state.name(), call.started_at), ("denied", None));
        assert_ne!(play.has_run(Which::First), Some(true), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_for_the_session_covers_the_next_call_of_this_chat_alone() {
    for tool in TOOLS {
        let mut play = Play::of(tool).await;
        play.answered(Which::First, Reach::Session).await;
        play.unasked(Which::Second).await;
        // Whose results a chat can read on in are its own.
        if tool != "read_result" {
            play.stage.chat = play.stage.new_chat().await;
            play.call(Which::First).await;
            let asked = play.stage.asked().await;
            play.stage.deny(&asked, "another chat").await;
            play.stage.idle().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_for_good_covers_calls_of_every_chat() {
    for tool in TOOLS {
        let mut play = Play::of(tool).await;
        play.answered(Which::First, Reach::Always).await;
        if tool != "read_result" {
            play.stage.chat = play.stage.new_chat().await;
        }
        play.unasked(Which::Second).await;
        let world = play.stage.engine.world(&play.stage.world).await.unwrap();
        assert_eq!(world.policy.granted.iter().count(), 1, "{tool}");
    }
}
