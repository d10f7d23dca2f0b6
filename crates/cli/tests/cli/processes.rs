//! Tests of several processes on one store, of those that end in the middle, and of those that come after them.

use crate::home::{Home, until};

#[test]
fn one_process_works_and_others_leave_their_inputs() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working, also for other processes");
    let sent = home.run(&["send", "@bob hello"]).succeeded();
    sent.warns("another agent-world process is running").says("bob: ");
    watch.wait_for("] bob: ");
    let waiting = home.leave_waiting("run touch made");
    home.run(&["approvals", "approve", &waiting[0]]).succeeded();
    until("the file", || home.file("made").exists());
    watch.wait_for("ada: `touch made` ended");
    watch.signal("TERM");
    watch.wait().succeeded();
    home.run(&["verify"]).succeeded();
}

#[test]
fn a_second_worker_leaves_the_work_to_the_first() {
    let home = Home::new();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working");
    let second = home.run(&["resume"]).succeeded();
    second.warns("another agent-world process works on this store");
    watch.signal("INT");
    watch.wait().succeeded();
    home.run(&["resume"]).succeeded();
}

#[test]
fn a_conversation_takes_the_work_over_when_the_other_process_is_gone() {
    let home = Home::new();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working");
    let mut chat = home.start(&["chat"]);
    chat.wait_for("Another agent-world process is running");
    chat.write("run touch one\no\n");
    until("the first file", || home.file("one").exists());
    watch.crash();
    chat.wait_for("this one does the work now");
    chat.write("run touch two\no\n");
    chat.wait_for("ada: `touch two` ended");
    chat.close();
    chat.wait().succeeded();
    assert!(home.file("one").exists() && home.file("two").exists());
}

#[test]
fn a_command_that_was_running_in_a_crash_is_never_run_again() {
    let home = Home::new();
    let id = home.leave_waiting("run sh -c 'echo x >> ran; sleep 60'").remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    let resume = home.start(&["resume"]);
    until("the command", || home.lines_of("ran") == 1);
    home.run(&["chat", "list"]).succeeded().says("agents are at work");
    home.run(&["doctor"]).does_not_say("unfinished");
    resume.crash();
    home.run(&["chat", "list"]).succeeded().says("unfinished: `agent-world resume` goes on");
    home.run(&["doctor"]).says("1 chat left unfinished, and no process works on them");
    let resumed = home.run(&["resume"]).succeeded();
    resumed.says("interrupted").says("may or may not have taken effect");
    home.run(&["resume"]).succeeded().warns("there was nothing to do");
    assert_eq!(home.lines_of("ran"), 1);
}

#[test]
fn a_message_whose_process_ended_is_answered_by_the_next() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let mut send = home.start(&["send", "--approve", "all", "run sh -c 'echo x >> ran; sleep 60'"]);
    send.close();
    until("the command", || home.lines_of("ran") == 1);
    send.signal("INT");
    send.wait().with_code(1).warns("nothing is lost: `agent-world resume` goes on");
    home.run(&["resume"]).succeeded().says("interrupted").says("ada: ");
    assert_eq!(home.lines_of("ran"), 1);
}

#[test]
fn one_that_leaves_finishes_what_it_does_for_others() {
    let home = Home::new();
    let slow = home.leave_waiting("run sh -c 'sleep 2; touch slow'").remove(0);
    home.run(&["approvals", "approve", &slow]).succeeded();
    // This process has the work, so the other chat's command is its to run to the end.
    let sent = home.run(&["send", "--new", "hello"]).succeeded();
    sent.says("ada: ").warns("finishing what is under way in other chats");
    assert!(home.file("slow").exists());
    let calls = home.run(&["events", "tail", "--json", "-n", "100"]).succeeded().json();
    let ended = calls.iter().rfind(|event| event["type"] == "tool").unwrap();
    assert_eq!(ended["data"]["state"], "completed");
}

#[test]
fn what_others_ask_for_in_the_same_chat_is_not_approved() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working");
    let command = "run sh -c 'touch mine; while [ ! -e go ]; do sleep 0.05; done'";
    let mine = home.start(&["send", "--approve", "all", command]);
    until("the slow command", || home.file("mine").exists());
    let others = home.start(&["send", "--json", "--approve", "wait", "@bob run touch theirs"]);
    others.wait_for("\"pending\"");
    // As long as the slow command runs, the first one is there and sees the other's request.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(home.waiting().len(), 1);
    std::fs::write(home.file("go"), "").unwrap();
    let ended = mine.wait().with_code(3).warns("bob wants to use shell_cmd");
    let waiting = home.waiting();
    assert_eq!(waiting.len(), 1, "{ended:?}");
    others.wait().with_code(3);
    assert!(!home.file("theirs").exists());
    watch.signal("TERM");
    watch.wait().succeeded();
}

#[test]
fn going_on_is_done_when_only_approvals_are_left() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    home.run(&["resume"]).succeeded().warns("nothing is left to do but 1 approval");
}
