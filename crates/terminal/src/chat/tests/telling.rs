//! What a conversation tells beside what is said: permissions, details, strangers, long texts, what was before.

use std::time::Duration;

use agent_world_client::wire::{Chat, World};
use crossterm::event::KeyCode;
use expect_test::expect;
use serde_json::json;

use super::{Stage, approval, from, stage};
use crate::chat::effect::Effect;
use crate::chat::inline::Inline;
use crate::chat::state::State;
use crate::composer::History;
use crate::conversation::Conversation;
use crate::theme::Theme;
use ratatui::backend::TestBackend;

#[test]
fn a_lasting_decision_says_for_which_calls_it_holds() {
    let mut stage = stage(100, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    stage.key(KeyCode::Char('a'));
    stage.wait(Duration::from_secs(1));
    let effects = stage.key(KeyCode::Char('1'));
    let [Effect::Decide { .. }, Effect::CountReleased { approval: counted, .. }] =
        effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    assert_eq!(counted, "apr_1");
    let decided = json!({"state": "approved", "scope": "always", "decided_by": "maria"});
    stage.ask(approval("apr_1", "touch", &decided));
    let seen = stage.seen();
    let expected = "approved always by maria\n  in every chat of demo you are not asked again for ada: exactly this call\n  \
         undo: /policy shows its ID, `agent-world approvals revoke ID` takes it back\n";
    assert!(seen.contains(expected), "{seen}");
    stage.ask(approval("apr_2", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    let effects = stage.key(KeyCode::Char('o'));
    assert!(matches!(effects.as_slice(), [Effect::Decide { .. }]), "nothing else is released");
}

#[test]
fn details_can_be_seen_after_a_turn() {
    let mut stage = stage(80, 40);
    stage.control('o');
    assert!(stage.seen().contains("no tool has been used here yet"));
    stage.control('r');
    assert!(stage.seen().contains("nobody has told here what they thought"));
    stage.piece("msg_1", "ada", 0, "", "I should look first.");
    stage.call("call_1", "completed", &json!({"result": "earlier"}));
    let result: String = (1..=8).map(|line| format!("line {line}\n")).collect();
    stage.call("call_2", "completed", &json!({"result": result, "duration_ms": 12}));
    stage.message("msg_1", "ada", "done");
    let seen = stage.seen();
    assert!(seen.contains("… 3 lines more (Ctrl-O shows)"), "{seen}");
    assert!(!seen.contains("line 8"), "{seen}");
    stage.control('o');
    stage.control('r');
    let seen = stage.seen();
    let shown = seen.split("done\n").nth(1).unwrap_or_default().to_owned();
    expect![[r#"
        ⚙ ada shell_cmd ls -la · completed
            earlier
        ⚙ ada shell_cmd ls -la · completed · 12 ms
            line 1
            line 2
            line 3
            line 4
            line 5
            … 3 lines more (Ctrl-O shows)

        ⚙ ada shell_cmd · completed · 12 ms
          called with
          │ {
          │   "command": "ls",
          │   "parameters": [
          │     "-la"
          │   ]
          │ }
          it gave back
          │ line 1
          │ line 2
          │ line 3
          │ line 4
          │ line 5
          │ line 6
          │ line 7
          │ line 8

        ada thought
          │ I should look first.
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&shown);
    stage.control('o');
    assert!(stage.seen().contains("  │ earlier"), "one call further back");
    stage.control('o');
    assert!(stage.seen().contains("there is no earlier tool call here"));
}

#[test]
fn a_name_that_nobody_has_is_told() {
    let mut stage = stage(80, 24);
    let effects = stage.enter("@carl hello");
    assert!(matches!(effects.as_slice(), [_, Effect::Post { .. }]), "it is posted all the same");
    let seen = stage.seen();
    let expected = "no agent named carl here; your message goes to @ada, the main agent";
    assert!(seen.contains(expected), "{seen}");
}

#[test]
fn one_endless_line_does_not_flood_the_scrollback() {
    let mut stage = stage(80, 24);
    let endless = "x".repeat(900_000);
    stage.piece("msg_1", "ada", 0, &endless, "");
    stage.draw();
    stage.message("msg_1", "ada", &format!("{endless}\nthe end"));
    stage.message("msg_2", "human", &endless);
    stage.call("call_1", "completed", &json!({"result": endless}));
    let seen = stage.seen();
    assert!(seen.lines().count() < 200, "{} lines", seen.lines().count());
    assert!(seen.contains("  the end\n"), "what follows it is there");
    assert_eq!(
        seen.matches("(896000 characters left out; `agent-world tui` shows all of it)").count(),
        2
    );
}

/// A chat that was left and is entered again.
fn entered_again() -> Stage {
    let world: World = from(json!({"id": "demo", "name": "Demo", "main_agent": "ada",
        "agents": [{"id": "ada", "name": "Ada", "model": "demo/demo"}]}));
    let chat: Chat = from(json!({"id": "chat_1", "world_id": "demo", "title": "New Chat",
        "created_at": "", "updated_at": ""}));
    let mut conversation = Conversation::new(world, chat);
    let called = json!([{"id": "call_1", "function": {"name": "shell_cmd",
        "arguments": "{\"command\": \"ls\"}"}}]);
    for (id, role, sender, content, calls) in [
        ("msg_1", "user", "human", "run ls", json!([])),
        ("msg_2", "assistant", "ada", "", called),
        ("msg_3", "assistant", "ada", "That was it.", json!([])),
    ] {
        conversation.message(&from(json!({"id": id, "chat_id": "chat_1", "role": role,
            "sender": sender, "content": content, "tool_calls": calls, "created_at": ""})));
    }
    conversation.call(
        &from(json!({"id": "call_1", "chat_id": "chat_1", "agent_id": "ada", "name": "shell_cmd",
            "arguments": {"command": "ls"}, "state": "completed", "result": "a\nb\nc\nd\n", "duration_ms": 4})),
        "",
    );
    let theme = Theme::new(false);
    let mut state = State::new(conversation, theme, History::default(), None, 80);
    state.enter(Vec::new(), 0);
    let screen = Inline::new(TestBackend::new(80, 24), 0).unwrap();
    Stage { state, screen, now: std::time::Instant::now(), seq: 0 }
}

#[test]
fn what_tools_did_before_is_told_with_what_was_said() {
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo)

        > run ls
        ⚙ ada shell_cmd ls · completed · 4 ms
            a
            b
            … 2 lines more (Ctrl-O shows)

        ada
          That was it.
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&entered_again().seen());
}

#[test]
fn of_a_result_that_is_stored_elsewhere_all_that_is_missing_is_counted() {
    let mut stage = stage(80, 24);
    let result: String = (1..=8).map(|line| format!("line {line}\n")).collect();
    let more = json!({"result": result, "result_whole": {"characters": 200_000, "bytes": 200_000}});
    stage.call("call_1", "completed", &more);
    let shown = "line 1\n".len() * 5;
    let left = format!("… {} characters more (Ctrl-O shows)", 200_000 - shown);
    assert!(stage.seen().contains(&left), "{}", stage.seen());
    stage.control('o');
    let left = format!("… {} characters more; `agent-world tui` shows all", 200_000 - result.len());
    assert!(stage.seen().contains(&left), "{}", stage.seen());
}

#[test]
fn of_a_long_message_of_earlier_all_that_is_missing_is_counted() {
    let mut stage = stage(80, 24);
    let text = format!("{}\n{}", "x".repeat(5_000), "line\n".repeat(20));
    stage.message("msg_1", "human", text.trim_end());
    let theme = stage.state.theme;
    let lines = crate::chat::flow::Flow::default().enter(&stage.state.conversation, 10, 80, theme);
    let last = lines.last().unwrap().to_string();
    assert_eq!(last, "  (9 lines and 1000 characters more; `agent-world tui` shows all of it)");
}
