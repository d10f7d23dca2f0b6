//! Tests of what keys, the mouse and the news lead to: which effects, and what is seen of them.

use agent_world_client::Heard;
use crossterm::event::MouseEventKind;
use serde_json::json;

use super::message::{Effect, Message};
use super::stage::{NARROW, Stage, WIDE, chat, request, world};
use super::state::{Connection, Focus};

#[test]
fn it_begins_with_the_newest_chat_of_the_world_that_was_named() {
    let mut stage = Stage::new(NARROW);
    let effects = stage.tell(Message::Following(1_600));
    assert_eq!(effects, [Effect::LoadMe, Effect::LoadWorlds, Effect::LoadApprovals]);
    let effects =
        stage.tell(Message::Worlds(vec![world("garden", "Garden"), world("demo", "Demo")]));
    let load = |world: &str| Effect::LoadChats(world.to_owned());
    assert_eq!(effects, [load("garden"), load("demo")]);
    let chats = vec![chat("chat_3", "garden", "Watering", "2026-11-16T09:00:00Z")];
    let effects = stage.tell(Message::Chats { world: "garden".to_owned(), chats });
    assert_eq!(effects, []);
    let chats = vec![
        chat("chat_1", "demo", "Old", "2026-11-15T09:00:00Z"),
        chat("chat_2", "demo", "New", "2026-11-16T09:00:00Z"),
    ];
    let effects = stage.tell(Message::Chats { world: "demo".to_owned(), chats });
    assert!(
        matches!(effects.as_slice(), [Effect::Open { chat, .. }] if chat.id == "chat_2"),
        "{effects:?}"
    );
}

#[test]
fn what_is_written_is_posted_once_and_shown_until_it_is_stored() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("hello?");
    stage.press("alt-enter q");
    let effects = stage.press("enter");
    let post = Effect::Post {
        world: "demo".to_owned(),
        chat: "chat_1".to_owned(),
        text: "hello?\nq".to_owned(),
        key: "tui-n-1".to_owned(),
    };
    assert_eq!(effects, [post]);
    stage.shows("hello? q  is sent");
    assert_eq!(stage.press("enter"), [], "nothing is not sent");
    stage.tell(Message::Posted { key: "tui-n-1".to_owned() });
    stage.hides("is sent");
}

#[test]
fn what_cannot_be_posted_is_given_back() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("hello");
    stage.press("enter");
    let why = "the text is too long".to_owned();
    stage.tell(Message::NotPosted { key: "tui-n-1".to_owned(), why });
    stage.shows("> hello");
    stage.shows("the text is too long");
}

#[test]
fn a_paste_is_written_and_never_sent() {
    let mut stage = Stage::first_start(NARROW);
    stage.press("esc");
    assert_eq!(stage.tell(Message::Paste("one\r\ntwo\n".to_owned())), []);
    stage.shows("one");
    stage.shows("two");
    stage.press("esc");
    assert_eq!(stage.state.focus, Focus::Conversation);
}

#[test]
fn what_was_sent_before_can_be_had_back() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("first");
    stage.press("enter");
    stage.type_in("second");
    stage.press("enter up up");
    stage.shows("> first");
    stage.press("down");
    stage.shows("> second");
}

#[test]
fn tab_goes_round_and_back() {
    let mut stage = Stage::first_start(WIDE);
    let mut seen = Vec::new();
    for key in ["tab", "tab", "tab", "tab", "backtab", "backtab"] {
        stage.press(key);
        seen.push(stage.state.focus);
    }
    use Focus::{Composer, Conversation, Inbox, Tree};
    assert_eq!(seen, [Inbox, Tree, Conversation, Composer, Conversation, Tree]);
}

#[test]
fn control_c_stops_the_agents_of_the_chat_and_nothing_else() {
    let stop = Effect::Stop { world: "demo".to_owned(), chat: "chat_1".to_owned(), agent: None };
    let mut stage = Stage::at_work(NARROW);
    assert_eq!(stage.press("ctrl-c"), [stop]);
    let mut stage = Stage::first_start(NARROW);
    assert_eq!(stage.press("ctrl-c"), []);
    stage.shows("nothing runs in this chat; Esc and then q quit");
}

#[test]
fn tab_in_the_middle_of_a_text_does_not_lead_to_where_letters_decide() {
    let mut stage = Stage::at_work(NARROW);
    stage.type_in("@b");
    assert_eq!(stage.press("tab"), []);
    assert_eq!(stage.state.focus, Focus::Composer);
    stage.shows("> @bob");
}

#[test]
fn a_chat_is_made_and_what_was_written_goes_there() {
    let mut stage = Stage::first_start(NARROW);
    assert_eq!(stage.press("esc n"), [Effect::CreateChat("demo".to_owned())]);
    let made = chat("chat_9", "demo", "New Chat", "2026-11-16T10:05:00Z");
    let effects = stage.tell(Message::Created(Box::new(made)));
    assert!(matches!(effects.as_slice(), [Effect::Open { chat, .. }] if chat.id == "chat_9"));
    assert_eq!(stage.state.focus, Focus::Composer);
    stage.event_in(
        "demo",
        "chat_9",
        "crud",
        json!({"entity": "chat", "action": "deleted", "id": "chat_9"}),
    );
    stage.shows("this chat was deleted");
    stage.type_in("hello");
    assert_eq!(stage.press("enter"), [Effect::CreateChat("demo".to_owned())]);
    let made = chat("chat_10", "demo", "New Chat", "2026-11-16T10:05:00Z");
    let effects = stage.tell(Message::Created(Box::new(made)));
    let posts = |effect: &Effect| matches!(effect, Effect::Post { chat, text, .. } if chat == "chat_10" && text == "hello");
    assert!(effects.iter().any(posts), "{effects:?}");
}

#[test]
fn all_that_is_said_before_there_is_a_chat_goes_into_one() {
    let mut stage = Stage::first_start(NARROW);
    let gone = json!({"entity": "chat", "action": "deleted", "id": "chat_1"});
    stage.event("crud", gone);
    stage.type_in("first");
    assert_eq!(stage.press("enter"), [Effect::CreateChat("demo".to_owned())]);
    stage.type_in("second");
    assert_eq!(stage.press("enter"), [], "one is on its way");
    let made = chat("chat_9", "demo", "New Chat", "2026-11-16T10:05:00Z");
    let effects = stage.tell(Message::Created(Box::new(made)));
    let said: Vec<&str> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Post { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["first", "second"]);
}

#[test]
fn in_the_list_a_chat_is_made_in_the_world_that_is_pointed_at() {
    let mut stage = Stage::at_work(WIDE);
    assert_eq!(stage.press("esc c G n"), [Effect::CreateChat("garden".to_owned())]);
}

#[test]
fn a_world_that_is_deleted_takes_its_chat_and_requests_along() {
    let mut stage = Stage::asked(WIDE);
    let gone = json!({"entity": "world", "action": "deleted", "id": "demo"});
    let effects = stage.event_in("demo", "", "crud", gone);
    assert_eq!(effects, [Effect::LoadApprovals]);
    stage.tell(Message::Approvals(Vec::new()));
    stage.hides("Disk space");
    stage.shows("Nothing waits for you.");
}

#[test]
fn a_notice_stays_for_a_while_or_until_a_key_is_pressed() {
    let mut stage = Stage::first_start(NARROW);
    let after = |stage: &Stage, seconds: i64| {
        Message::Tick(
            agent_world_core::Timestamp::from_second(stage.state.now.as_second() + seconds)
                .unwrap(),
        )
    };
    stage.tell(Message::Failed("something went wrong".to_owned()));
    stage.press("x");
    stage.shows("something went wrong");
    stage.tell(after(&stage, 3));
    stage.shows("something went wrong");
    stage.press("x");
    stage.shows("Enter send");
    stage.tell(Message::Failed("again".to_owned()));
    stage.tell(after(&stage, 8));
    stage.hides("again");
}

#[test]
fn where_the_mouse_is_changes_nothing() {
    let mut stage = Stage::first_start(WIDE);
    stage.state.take_dirty();
    stage.mouse(MouseEventKind::Moved, 5, 5);
    stage.piece("msg_of_another", 0, "", "");
    assert!(stage.state.take_dirty(), "a reply begins");
    stage.mouse(MouseEventKind::Moved, 5, 6);
    let now = stage.state.now;
    stage.tell(Message::Tick(now));
    assert!(!stage.state.take_dirty());
}

#[test]
fn a_letter_with_control_is_no_command() {
    let mut stage = Stage::at_work(WIDE);
    assert_eq!(stage.press("esc ctrl-q c ctrl-q p ctrl-q"), []);
    stage.press("c /");
    stage.type_in("wat");
    stage.press("ctrl-u ctrl-q");
    stage.shows("Older things");
    assert_eq!(stage.press("esc q"), [Effect::Quit]);
}

#[test]
fn the_list_is_filtered_while_one_types() {
    let mut stage = Stage::at_work(WIDE);
    stage.press("esc /");
    stage.type_in("wat");
    stage.shows("/wat");
    stage.hides("Older things");
    let effects = stage.press("enter enter");
    assert!(
        matches!(effects.as_slice(), [Effect::Open { chat, .. }] if chat.id == "chat_3"),
        "{effects:?}"
    );
    stage.press("c esc");
    stage.shows("Older things");
}

#[test]
fn few_chats_are_kept() {
    let mut stage = Stage::at_work(WIDE);
    let chats = (1..=5).map(|number| {
        chat(&format!("chat_{number}"), "demo", "x", &format!("2026-11-1{number}T10:00:00Z"))
    });
    stage.tell(Message::Chats { world: "demo".to_owned(), chats: chats.collect() });
    for _ in 0..5 {
        stage.press("esc c down enter");
    }
    assert_eq!(stage.state.transcripts.len(), 3);
}

#[test]
fn news_of_chats_move_them_up_and_name_them() {
    let mut stage = Stage::at_work(WIDE);
    let said = json!({"id": "msg_7", "chat_id": "chat_2", "role": "user", "sender": "human",
        "content": "x", "created_at": "2026-11-16T10:04:50Z"});
    stage.event_in("demo", "chat_2", "message", said);
    stage.event_in("demo", "chat_2", "system", json!({"code": "title", "text": "Renamed"}));
    let screen = stage.screen();
    assert!(screen.find("Renamed") < screen.find("⠋ Disk"), "{screen}");
    let effects = stage.event_in(
        "demo",
        "chat_8",
        "crud",
        json!({"entity": "chat", "action": "created", "id": "chat_8"}),
    );
    let load = Effect::LoadChat { world: "demo".to_owned(), chat: "chat_8".to_owned() };
    assert_eq!(effects, [load]);
}

#[test]
fn a_lost_connection_is_seen_and_what_may_be_missed_is_loaded_again() {
    let mut stage = Stage::at_work(NARROW);
    stage.tell(Message::Heard(Heard::Lost("reset".to_owned())));
    stage.shows("connection lost, trying again");
    assert_eq!(stage.tell(Message::Heard(Heard::Back)), [], "nothing was missed");
    stage.shows("● connected");
    stage.tell(Message::Broken("gone".to_owned()));
    assert_eq!(stage.state.connection, Connection::Lost("gone".to_owned()));
    let effects = stage.tell(Message::Following(9_600));
    assert!(matches!(
        effects.as_slice(),
        [Effect::LoadMe, Effect::LoadWorlds, Effect::LoadApprovals, Effect::Open { .. }]
    ));
    stage.shows("How much disk space is left?");
}

#[test]
fn the_mouse_focuses_selects_and_scrolls() {
    let mut stage = Stage::asked(WIDE);
    stage.screen();
    let effects = stage.click(8, 4);
    assert!(
        matches!(effects.as_slice(), [Effect::Open { chat, .. }] if chat.id == "chat_2"),
        "{effects:?}"
    );
    stage.screen();
    assert_eq!(stage.click(120, 6), []);
    stage.shows("3 of 3 waiting");
    assert_eq!(stage.state.focus, Focus::Inbox);
    stage.click(60, 48);
    assert_eq!(stage.state.focus, Focus::Composer);
    stage.mouse(MouseEventKind::ScrollUp, 120, 4);
    stage.shows("2 of 3 waiting");
}

#[test]
fn another_size_shows_the_same() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p");
    stage.shows("Worlds");
    stage.resize(NARROW);
    stage.hides("Worlds");
    stage.shows("1 of 3 waiting");
    stage.resize((110, 30));
    stage.hides("Worlds");
    stage.shows("1 of 3 waiting");
    stage.shows("How much disk space is left?");
    stage.press("esc c");
    stage.shows("Worlds");
    stage.shows("1 of 3 waiting");
    stage.hides("How much disk space is left?");
    stage.resize((20, 5));
    stage.shows("Too small");
}

#[test]
fn chats_of_the_same_name_are_told_apart() {
    let mut stage = Stage::first_start(WIDE);
    let second = chat("chat_2", "demo", "New Chat", "2026-11-16T10:01:00Z");
    stage.tell(Message::Chat(Box::new(second)));
    stage.shows("New Chat (2)");
    let mut asked = request(1);
    asked["chat_id"] = json!("chat_2");
    stage.event_in("demo", "chat_2", "approval", asked);
    stage.shows("Demo › New Chat (2)");
    stage.tell(Message::ChatGone("chat_1".to_owned()));
    stage.hides("(2)");
}

#[test]
fn what_agents_do_is_cut_only_where_there_is_no_room() {
    let mut stage = Stage::first_start((60, 24));
    let bob = json!([{"id": "bob", "doing": "awaiting_approval"}]);
    stage.event("activity", json!({"state": "busy", "agents": bob, "waiting_approvals": 1}));
    stage.shows("bob waits for approval");
}
