//! Tests of reading: long chats, huge texts, details, the event log; what is rendered for it and what is not.

use serde_json::{Value, json};

use super::message::{Effect, Message};
use super::stage::{NARROW, Stage, WIDE, call, loaded, request};
use super::state::Overlay;
use super::transcript::laid::{CHUNK, LINES, MOST_LINES};

#[test]
fn what_is_heard_while_a_chat_is_loaded_is_not_lost() {
    let mut stage = Stage::at_work(NARROW);
    stage.press("esc c down enter");
    let said = |id: &str, text: &str| {
        json!({"id": id, "chat_id": "chat_2", "role": "user", "sender": "human",
            "content": text, "created_at": "2026-11-16T10:04:50Z"})
    };
    stage.event_in("demo", "chat_2", "message", said("msg_21", "the newer"));
    stage.opened(&[said("msg_20", "the older")]);
    let screen = stage.screen();
    let places = (screen.find("the older"), screen.find("the newer"));
    assert!(places.0.is_some() && places.0 < places.1, "{screen}");
}

#[test]
fn a_chat_that_cannot_be_loaded_says_so_and_keeps_nothing_for_later() {
    let mut stage = Stage::at_work(NARROW);
    stage.press("esc c down enter");
    let why = "the store is locked".to_owned();
    stage.tell(Message::NotOpened { chat: "chat_2".to_owned(), why });
    stage.shows("This chat could not be loaded: the store is locked");
    assert_eq!(stage.state.transcript().unwrap().kept_for_later(), None);
    let effects = stage.press("r");
    assert!(matches!(effects.as_slice(), [Effect::Open { chat, .. }] if chat.id == "chat_2"));
    stage.hides("could not be loaded");
    assert_eq!(stage.state.transcript().unwrap().kept_for_later(), Some(0));
}

#[test]
fn only_what_is_about_a_chat_is_kept_while_it_is_loaded_and_not_without_end() {
    let mut stage = Stage::at_work(NARROW);
    stage.press("esc c down enter");
    stage.piece("msg_5", 0, "of another chat", "");
    assert_eq!(stage.state.transcript().unwrap().kept_for_later(), Some(0));
    let mut most = 0;
    for _ in 0..6_000 {
        let doing = json!({"state": "idle", "agents": [], "running_calls": []});
        stage.event_in("demo", "chat_2", "activity", doing);
        most = most.max(stage.state.transcript().unwrap().kept_for_later().unwrap());
    }
    assert!((1..=5_000).contains(&most), "{most}");
    let chat = stage.state.transcript().unwrap();
    let (world, chat) = (chat.conversation.world.clone(), chat.conversation.chat.clone());
    let effects = stage.tell(Message::Opened(Box::new(loaded(world, chat, &[], None))));
    assert!(matches!(effects.as_slice(), [Effect::Open { .. }]), "what was missed: {effects:?}");
}

#[test]
fn what_was_heard_of_a_reply_that_broke_off_outlasts_loading() {
    let mut stage = Stage::first_start(NARROW);
    stage.piece("msg_5", 0, "The first half", "");
    let chat = stage.state.transcript().unwrap();
    let (world, chat) = (chat.conversation.world.clone(), chat.conversation.chat.clone());
    let mut again = loaded(world, chat, &long_chat(1), None);
    let broken = json!({"seq": 9, "type": "stream", "world_id": "demo", "chat_id": "chat_1",
        "at": "2026-11-16T10:04:00Z", "data": {"phase": "error", "message_id": "msg_5",
            "agent_id": "ada", "error": "the vendor hung up"}});
    let stopped = json!({"seq": 10, "type": "system", "world_id": "demo", "chat_id": "chat_1",
        "at": "2026-11-16T10:04:01Z", "data": {"code": "work_stopped", "text": "ada stopped it"}});
    for event in [broken, stopped] {
        again.conversation.recall(&agent_world_client::wire::Event::read(event).unwrap());
    }
    stage.tell(Message::Opened(Box::new(again)));
    stage.shows("The first half");
    stage.shows("broken off: the vendor hung up");
    stage.shows("• ada stopped it");
}

#[test]
fn the_details_of_a_call_follow_it() {
    let mut stage = Stage::at_work(NARROW);
    stage.screen();
    let effects = stage.press("esc t");
    let load = Effect::LoadCall {
        world: "demo".to_owned(),
        chat: "chat_1".to_owned(),
        call: "call_2".to_owned(),
    };
    assert_eq!(effects, [load]);
    stage.shows("Output so far");
    stage.event("tool", call("call_2", "completed", "du -sh /var/log", Some("12M\n")));
    stage.shows("done after 240 ms");
    stage.hides("Output so far");
    let effects = stage.press("w");
    assert!(matches!(effects.as_slice(), [Effect::Save { text, .. }] if text.contains("12M")));
    stage.press("esc");
    assert!(stage.state.overlay.is_none());
}

#[test]
fn reasoning_is_folded_until_it_is_wanted() {
    let mut stage = Stage::first_start(NARROW);
    stage.piece("msg_5", 0, "", "First I think, ");
    stage.shows("ada  thinking");
    stage.piece("msg_5", 0, "then I speak", "then I speak.");
    stage.shows("▸ reasoning, 6 words");
    stage.shows("ada  writing");
    stage.press("esc r");
    stage.shows("First I think, then I speak.");
    stage.press("up enter");
    stage.hides("First I think");
}

#[test]
fn events_are_filtered_by_type_and_shown_whole() {
    let mut stage = Stage::asked(NARROW);
    let effects = stage.press("esc e");
    assert_eq!(effects, [Effect::LoadEvents { world: "demo".to_owned(), after: 0 }]);
    stage.tell(Message::Events(vec![json!({"seq": 3, "type": "message", "world_id": "demo",
        "at": "2026-11-16T09:00:00Z", "data": {"sender": "human", "content": "long ago"}})]));
    stage.shows("09:00:00  message   human  long ago");
    stage.press("f");
    stage.hides("pending  bob");
    stage.press("f f f");
    stage.hides("long ago");
    stage.press("/");
    stage.type_in("bob");
    stage.hides("pending  ada");
    stage.press("enter enter");
    assert!(matches!(stage.state.overlay, Some(Overlay::Details(_))));
    stage.shows("git");
    stage.press("esc esc esc");
    stage.shows("How much disk space is left?");
}

fn long_chat(many: usize) -> Vec<Value> {
    let said = |number| {
        json!({"id": format!("msg_{number:05}"), "role": "user", "sender": "human",
            "content": format!("message {number}\nwith two lines")})
    };
    (0..many).map(said).collect()
}

#[test]
fn looking_back_loads_what_was_before_and_moves_nothing() {
    let mut stage = Stage::first_start(NARROW);
    let chat = stage.state.transcript().unwrap();
    let (of_world, of_chat) = (chat.conversation.world.clone(), chat.conversation.chat.clone());
    let all = long_chat(40);
    let newer = loaded(of_world.clone(), of_chat.clone(), &all[20..], Some("msg_00020"));
    stage.tell(Message::Opened(Box::new(newer)));
    stage.shows("message 39");
    let mut effects = Vec::new();
    for _ in 0..8 {
        stage.screen();
        effects.extend(stage.press("pgup"));
    }
    let [Effect::LoadOlder { before, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(before, "msg_00020");
    let was = stage.screen();
    assert!(was.contains("message 20\n") && was.contains("loading what was before"), "{was}");
    stage.tell(Message::Older(Box::new(loaded(of_world, of_chat, &all[..20], None))));
    stage.shows("message 20\n");
    stage.hides("message 19\n");
    stage.press("esc");
    stage.press("up up up up up up up up up up up up up up");
    stage.shows("↓ G goes to the end");
    assert_eq!(stage.press("g"), [], "there is nothing before");
    stage.shows("message 0\n");
    stage.press("G");
    stage.shows("message 39\n");
}

#[test]
fn a_chat_that_goes_on_and_on_lets_its_oldest_go() {
    let mut stage = Stage::first_start(NARROW);
    for fields in long_chat(2_500) {
        let mut said = fields;
        said["chat_id"] = json!("chat_1");
        said["created_at"] = json!("2026-11-16T10:04:50Z");
        stage.event("message", said);
    }
    let kept = stage.state.transcript().unwrap().conversation.entries().len();
    assert!((2_000..=2_200).contains(&kept), "{kept}");
    stage.screen();
    let effects = stage.press("esc g");
    assert!(matches!(effects.as_slice(), [Effect::LoadOlder { .. }]), "{effects:?}");
    stage.shows("loading what was before");
}

#[test]
fn huge_replies_let_the_oldest_go_before_there_are_many() {
    let mut stage = Stage::first_start(NARROW);
    let text = "x".repeat(8 * 1024 * 1024);
    for number in 0..12 {
        let said = json!({"id": format!("msg_{number}"), "chat_id": "chat_1", "role": "user",
            "sender": "human", "content": text, "created_at": "2026-11-16T10:04:50Z"});
        stage.event("message", said);
    }
    let kept = stage.state.transcript().unwrap().conversation.entries().len();
    assert_eq!(kept, 8, "64 MB of them");
}

#[test]
fn a_frame_renders_a_part_of_what_is_huge_and_then_nothing() {
    let mut stage = Stage::first_start(NARROW);
    let text = "a line of a very long reply\n".repeat(200_000);
    assert!(text.len() > 5_000_000);
    stage.piece("msg_5", 0, &text, "");
    let (mut frames, mut most) = (0, 0);
    loop {
        stage.screen();
        most = most.max(stage.state.transcript().unwrap().made());
        frames += 1;
        if !stage.state.is_unfinished() {
            break;
        }
        assert!(frames < 1_000);
    }
    assert!(most <= MOST_MADE, "{most} lines in one frame");
    stage.shows("more; w writes all of it to a file");
    stage.screen();
    assert_eq!(stage.state.transcript().unwrap().made(), 0, "what is rendered is kept");
    stage.press("esc pgup pgup pgup");
    stage.screen();
    assert_eq!(stage.state.transcript().unwrap().made(), 0, "scrolling renders nothing again");
    let effects = stage.press("up w");
    assert!(matches!(effects.as_slice(), [Effect::Save { text: all, .. }] if *all == text));
}

/// Lines that one frame makes at most: what it may begin with, and what the last piece brings.
const MOST_MADE: usize = LINES + CHUNK;

/// Draws until there is no more to be laid out; the most lines that a frame made, and how many frames it took.
fn drawn(stage: &mut Stage) -> (usize, usize) {
    let (mut most, mut frames) = (0, 0);
    loop {
        stage.screen();
        most = most.max(stage.state.transcript().unwrap().made());
        frames += 1;
        if !stage.state.is_unfinished() {
            return (most, frames);
        }
        assert!(frames < 2_000);
    }
}

#[test]
fn reasoning_and_texts_of_many_kinds_are_laid_out_a_part_at_a_time() {
    let code = format!("```rust\n{}```\n", "let a = 1;\n".repeat(10_000));
    let texts = [
        "word ".repeat(20_000),
        "\n".repeat(100_000),
        "- an item\n".repeat(12_000),
        "x".repeat(100_000),
        code,
    ];
    for text in texts {
        let mut stage = Stage::first_start(NARROW);
        stage.piece("msg_5", 0, &text, &text);
        stage.press("esc r");
        let (most, frames) = drawn(&mut stage);
        // A list or a table is laid out as a whole, up to a size.
        assert!(most <= MOST_MADE + 64 * 1024 / "- an item\n".len(), "{most} lines in one frame");
        assert!(frames > 5, "{frames}");
    }
}

#[test]
fn keys_between_two_frames_share_what_one_may_cost() {
    let mut stage = Stage::first_start(NARROW);
    let text = "a line\n\n".repeat(10_000);
    for number in 0..20 {
        stage.piece(&format!("msg_{number}"), 0, &text, "");
    }
    stage.screen();
    stage.press("esc g pgup pgup pgdn pgdn pgdn up up down down G g G");
    assert!(stage.state.transcript().unwrap().made() <= MOST_MADE);
}

#[test]
fn a_hundred_thousand_lines_are_looked_at_while_they_are_laid_out() {
    let mut stage = Stage::at_work(NARROW);
    let result = (1..=100_000).map(|line| format!("line {line}\n")).collect::<String>();
    stage.event("tool", call("call_2", "completed", "seq 100000", Some(&result)));
    stage.screen();
    stage.press("esc t");
    let screen = stage.screen();
    assert!(screen.contains("line 1\n") || screen.contains("line 1 "), "{screen}");
    let laid = |stage: &Stage| match &stage.state.overlay {
        Some(Overlay::Details(details)) => details.progress().1,
        _ => panic!("no details"),
    };
    let mut before = 0;
    while stage.state.is_unfinished() {
        stage.screen();
        let now = laid(&stage);
        assert!(now - before <= MOST_MADE, "{before} {now}");
        before = now;
    }
    assert!(before > 19_000, "{before}");
    stage.press("G");
    stage.shows("more; w writes all of it to a file");
    stage.press("g");
    stage.shows("seq");
}

#[test]
fn what_is_still_written_is_rendered_on_from_where_it_was() {
    let mut stage = Stage::first_start(NARROW);
    let start = "line\n".repeat(10_000);
    stage.piece("msg_5", 0, &start, "");
    while {
        stage.screen();
        stage.state.is_unfinished()
    } {}
    stage.piece("msg_5", start.len(), "one more\n", "");
    stage.shows("one more");
    let made = stage.state.transcript().unwrap().made();
    assert!((1..10).contains(&made), "{made}");
    assert!(made < MOST_LINES);
}

#[test]
fn a_hundred_thousand_lines_of_output_stay_a_small_block() {
    let mut stage = Stage::at_work(NARROW);
    for _ in 0..100 {
        stage.output("call_2", &"some output of a build\n".repeat(1_000));
    }
    stage.shows("… 99996 lines before");
    assert!(stage.state.transcript().unwrap().made() < 50);
}

#[test]
fn nothing_that_is_shown_moves_the_cursor() {
    let mut stage = Stage::at_work(WIDE);
    let text = "\u{1b}[2Jgone\u{202e}";
    stage.event("system", json!({"code": "title", "text": text}));
    stage.event("tool", call("call_5", "completed", text, Some(text)));
    let mut asked = request(1);
    asked["tool"] = json!(text);
    asked["message"] = json!(text);
    stage.event("approval", asked);
    stage.output("call_2", text);
    stage.press("esc p");
    let screen = stage.screen();
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen}");
    stage.press("esc t");
    stage.hides("\u{1b}");
    stage.press("esc e");
    stage.hides("\u{1b}");
}
