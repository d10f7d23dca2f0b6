//! Tests of writing: commands, completion, and a text of its own for every chat.

use agent_world_client::wire::Me;
use serde_json::json;

use super::message::{Effect, Message};
use super::stage::{NARROW, Stage, WIDE, chat, world};
use super::state::{Focus, Overlay};

fn here() -> (String, String) {
    ("demo".to_owned(), "chat_1".to_owned())
}

#[test]
fn what_was_begun_stays_with_its_chat() {
    let mut stage = Stage::at_work(WIDE);
    stage.type_in("for the first");
    stage.press("esc c down enter i");
    stage.hides("for the first");
    stage.type_in("for the second");
    stage.press("esc c up enter");
    stage.shows("> for the first");
    stage.press("c down enter");
    stage.shows("> for the second");
}

#[test]
fn what_was_begun_before_anything_was_there_goes_along() {
    let mut stage = Stage::new(NARROW);
    stage.type_in("early");
    stage.tell(Message::Following(1_600));
    stage.tell(Message::Worlds(vec![world("demo", "Demo")]));
    let chats = vec![chat("chat_1", "demo", "New Chat", "2026-11-16T10:00:00Z")];
    stage.tell(Message::Chats { world: "demo".to_owned(), chats });
    stage.shows("> early");
}

#[test]
fn what_could_not_be_sent_comes_back_to_its_own_chat() {
    let mut stage = Stage::at_work(WIDE);
    stage.type_in("too long");
    stage.press("enter esc c down enter");
    let why = "the text is too long".to_owned();
    stage.tell(Message::NotPosted { key: "tui-n-1".to_owned(), why });
    stage.hides("> too long");
    stage.press("c up enter");
    stage.shows("> too long");
}

#[test]
fn what_was_begun_stays_however_many_chats_are_opened() {
    let mut stage = Stage::at_work(WIDE);
    let chats: Vec<_> = (0..150)
        .map(|number| chat(&format!("chat_x{number}"), "demo", "Another", "2026-11-16T10:00:00Z"))
        .collect();
    for chat in chats.clone() {
        stage.tell(Message::Chat(Box::new(chat)));
    }
    for chat in &chats {
        stage.state.open(&chat.id);
        stage.tell(Message::Resized);
        stage.state.focus = Focus::Composer;
        stage.type_in(&format!("for {}", chat.id));
    }
    for chat in &chats {
        stage.state.open(&chat.id);
        stage.tell(Message::Resized);
        stage.shows(&format!("> for {}", chat.id));
    }
}

#[test]
fn what_is_on_its_way_comes_back_however_many_chats_were_opened_and_connections_lost() {
    let mut stage = Stage::at_work(WIDE);
    stage.type_in("too long");
    stage.press("enter");
    for number in 0..5 {
        let id = format!("chat_x{number}");
        stage.tell(Message::Chat(Box::new(chat(&id, "demo", "Another", "2026-11-16T10:00:00Z"))));
        stage.state.open(&id);
    }
    stage.tell(Message::Following(1_600));
    assert_eq!(stage.state.unsent(), 1);
    let why = "the text is too long".to_owned();
    stage.tell(Message::NotPosted { key: "tui-n-1".to_owned(), why });
    stage.state.open("chat_1");
    stage.tell(Message::Resized);
    stage.shows("> too long");
}

#[test]
fn control_u_clears_to_the_start_of_the_line() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("one");
    stage.press("alt-enter");
    stage.type_in("two");
    stage.press("ctrl-u");
    stage.shows("> one");
    stage.hides("two");
}

#[test]
fn tab_completes_agents_and_commands() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("@b");
    stage.press("tab");
    stage.shows("> @bob");
    stage.press("ctrl-u");
    stage.type_in("/re");
    stage.shows("/retry   takes a failed turn up again");
    stage.shows("/rename  names this chat");
    stage.press("esc");
    assert_eq!(stage.state.focus, Focus::Composer, "only the candidates are gone");
    stage.hides("/rename  names");
    stage.press("tab down enter");
    stage.shows("> /rename");
    stage.type_in("xyz");
    stage.press("tab");
    stage.shows("nothing to complete");
    assert_eq!(stage.state.focus, Focus::Composer);
}

#[test]
fn commands_lead_to_the_same_as_in_a_chat() {
    let mut stage = Stage::at_work(WIDE);
    let (world, chat) = here();
    let mut say = |text: &str| {
        stage.state.focus = Focus::Composer;
        stage.type_in(text);
        stage.press("enter")
    };
    assert_eq!(say("/retry"), [Effect::Retry { world: world.clone(), chat: chat.clone() }]);
    let title = "A better name".to_owned();
    let rename = Effect::Rename { world: world.clone(), chat: chat.clone(), title };
    assert_eq!(say("/rename A better name"), [rename]);
    let agent = Some("bob".to_owned());
    let stop = Effect::Stop { world: world.clone(), chat: chat.clone(), agent };
    assert_eq!(say("/stop @bob"), [stop]);
    assert_eq!(say("/policy"), [Effect::ShowPolicy { world: world.clone(), chat: chat.clone() }]);
    assert_eq!(say("/new"), [Effect::CreateChat(world.clone())]);
    let message = "msg_2".to_owned();
    assert_eq!(say("/fork"), [Effect::Fork { world: world.clone(), chat: chat.clone(), message }]);
    assert!(
        matches!(say("//etc is a folder").as_slice(), [Effect::Post { text, .. }] if text == "/etc is a folder")
    );
    assert_eq!(say("/approvals"), []);
    assert_eq!(stage.state.focus, Focus::Inbox);
}

#[test]
fn what_is_no_command_is_neither_sent_nor_lost() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("/nonsense here");
    assert_eq!(stage.press("enter"), []);
    stage.shows("there is no such command; /help lists them");
    stage.shows("> /nonsense here");
    stage.press("ctrl-u");
    stage.type_in("hello");
    assert_eq!(stage.press("enter").len(), 1);
    stage.hides("there is no such command");
}

#[test]
fn a_name_that_nobody_has_is_told_with_whoever_hears_it() {
    let mut stage = Stage::first_start((100, 24));
    stage.type_in("@nobody hi");
    assert!(matches!(stage.press("enter").as_slice(), [Effect::Post { .. }]));
    stage.shows("no agent named nobody here; your message goes to everybody: @ada, @bob");
    stage.type_in("@bob hi");
    stage.press("enter");
    stage.hides("no agent named");
}

#[test]
fn commands_are_listed_while_they_are_typed_and_sent_as_typed() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("/");
    stage.shows("/help       shows the keys and commands");
    stage.shows("… 7 more");
    stage.type_in("st");
    stage.shows("/stop  stops the agents");
    stage.hides("/help");
    stage.press("backspace backspace");
    stage.shows("/help");
    stage.type_in("agents");
    stage.press("enter");
    stage.shows("Agents of Demo");
}

#[test]
fn a_list_that_is_not_wanted_stays_away_for_its_word() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("ask @");
    stage.shows("@ada");
    stage.press("esc");
    assert_eq!(stage.state.focus, Focus::Composer, "only the list is gone");
    stage.type_in("b");
    stage.hides("  @bob");
    stage.type_in(" @b");
    stage.shows("  @bob");
}

#[test]
fn a_change_that_was_begun_and_left_changes_nothing() {
    for leave in ["ctrl-u", "ctrl-u / a g e n t s enter esc"] {
        let mut stage = Stage::at_work(WIDE);
        stage.type_in("/edit");
        stage.press("enter");
        stage.shows("say it anew and take back what follows");
        stage.press(leave);
        stage.hides("say it anew");
        stage.type_in("hello");
        let effects = stage.press("enter");
        assert!(matches!(effects.as_slice(), [Effect::Post { .. }]), "{leave}: {effects:?}");
    }
}

#[test]
fn a_message_is_said_anew() {
    let mut stage = Stage::at_work(NARROW);
    stage.type_in("/edit");
    assert_eq!(stage.press("enter"), []);
    stage.shows("> How much disk space is left?");
    stage.type_in(" Now?");
    let (world, chat) = here();
    let text = "How much disk space is left? Now?".to_owned();
    let edit = Effect::Edit { world, chat, message: "msg_1".to_owned(), text };
    assert_eq!(stage.press("enter"), [edit]);
    stage.tell(not_edited());
    stage.shows("> How much?");
    stage.shows("not changed: the message is gone");
    assert!(stage.state.is_editing());
    stage.press("ctrl-u");
    stage.type_in("/edit");
    stage.press("enter esc");
    stage.shows("i to write");
}

fn not_edited() -> Message {
    let [chat, message, text, why] =
        ["chat_1", "msg_1", "How much?", "not changed: the message is gone"].map(str::to_owned);
    Message::NotEdited { chat, message, text, why }
}

#[test]
fn a_change_that_is_refused_is_made_again_and_not_said_as_another_message() {
    let mut stage = Stage::at_work(WIDE);
    stage.tell(not_edited());
    let effects = stage.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Edit { .. }]), "{effects:?}");
    // Also where another chat was opened meanwhile.
    stage.press("esc c down enter i");
    stage.tell(not_edited());
    stage.type_in("for the second");
    let effects = stage.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Post { .. }]), "{effects:?}");
    stage.press("esc c up enter i");
    stage.shows("> How much?");
    let effects = stage.press("enter");
    assert!(matches!(effects.as_slice(), [Effect::Edit { .. }]), "{effects:?}");
}

#[test]
fn only_ones_own_message_is_said_anew() {
    let mut stage = Stage::at_work(WIDE);
    let of_maria = json!({"id": "msg_9", "chat_id": "chat_1", "role": "user", "sender": "human",
        "user": "maria", "content": "And mine?", "created_at": "2026-11-16T10:04:00Z"});
    stage.event("message", of_maria);
    stage.type_in("/edit");
    stage.press("enter");
    stage.shows("> How much disk space is left?");
    stage.press("ctrl-u");
    stage.tell(Message::Me(Me { name: "bob".to_owned(), authenticated: true }));
    stage.type_in("/edit");
    stage.press("enter");
    stage.shows("you have said nothing here yet");
}

#[test]
fn answers_to_commands_are_read_over_everything_else() {
    let mut stage = Stage::at_work(NARROW);
    stage.type_in("/agents");
    stage.press("enter");
    stage.shows("Agents of Demo");
    stage.shows("@bob  Bob (no model)");
    stage.press("esc");
    let text = "preset ask, no rules: what each tool declares".to_owned();
    stage.tell(Message::Told { title: "Policy".to_owned(), text });
    stage.shows("preset ask, no rules");
    stage.press("esc");
    stage.type_in("/help");
    stage.press("enter");
    assert!(matches!(stage.state.overlay, Some(Overlay::Help)));
}
