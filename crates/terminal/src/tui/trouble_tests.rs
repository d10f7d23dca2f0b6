//! Tests of what is on the screen when something does not go well, or is not done yet, at both sizes.

use expect_test::{Expect, expect};

use super::message::Message;
use super::stage::{NARROW, Stage, WIDE};

#[track_caller]
fn check(mut stage: Stage, expected: Expect) {
    expected.assert_eq(&stage.screen());
}

fn undelivered(size: (u16, u16)) -> Stage {
    let mut stage = Stage::asked(size);
    stage.press("esc p");
    stage.rest();
    stage.press("o");
    let why = "nobody answers at http://127.0.0.1:7420: connection refused".to_owned();
    stage.tell(Message::DecisionDelayed { id: "apr_1".to_owned(), why });
    stage
}

fn not_loaded(size: (u16, u16)) -> Stage {
    let mut stage = Stage::at_work(size);
    stage.press("esc c down enter");
    let why = "the answer of http://127.0.0.1:7420 cannot be read: expected value at line 1";
    stage.tell(Message::NotOpened { chat: "chat_2".to_owned(), why: why.to_owned() });
    stage
}

fn completing(size: (u16, u16)) -> Stage {
    let mut stage = Stage::at_work(size);
    stage.type_in("/");
    stage.press("tab down down");
    stage
}

#[test]
fn a_decision_that_is_not_delivered_on_a_small_screen() {
    check(
        undelivered(NARROW),
        expect![[r#"
             Inbox  3 waiting
            ────────────────────────────────────────────────────────────────────────────────
             ▌ada  shell_cmd  rm -r build                                                1h
             ▌  Demo › Disk space on the server  not yet delivered
              bob  shell_cmd  git push --force origin main                               2m
                Demo › Disk space on the server
              ada  shell_cmd  date                                                      12s
                Demo › Disk space on the server
              ─────────────────────────────────────────────────────────────────────────────
              ? 1 of 3 waiting · ada · shell_cmd · apr_1
                ada asks: Run `rm -r build`?
                in /srv/demo
                │ rm -r build
                `always` is not offered

              not yet delivered: retrying





            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             decision not yet delivered, retrying: nobody answers at http://1…  ● connected
        "#]],
    );
}

#[test]
fn a_decision_that_is_not_delivered_on_a_large_screen() {
    check(
        undelivered(WIDE),
        expect![[r#"
             Worlds                        │ Demo › Disk space on the server   ⠦ ada runs tools                        │ Inbox  3 waiting
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │  tester                                                                   │▌ada  shell_cmd  rm -r build                     1h
               ⠦ Disk space on the ser… 3? │  How much disk space is left?                                             │▌  Demo › Disk space on the ser…  not yet delivered
                 Older things              │                                                                           │ bob  shell_cmd  git push --force origin main    2m
             ▾ Garden                      │  ada                                                                      │   Demo › Disk space on the server
                 Watering                  │  I will look.                                                             │ ada  shell_cmd  date                           12s
                                           │                                                                           │   Demo › Disk space on the server
                                           │  ✓ ada  shell_cmd  df -h                                     done  240 ms │ ──────────────────────────────────────────────────
                                           │    │ … 1 line before                                                      │ ? 1 of 3 waiting · ada · shell_cmd · apr_1
                                           │    │ /dev/vda1    40G   31G  9.0G  78%                                    │   ada asks: Run `rm -r build`?
                                           │    │ tmpfs       2.0G     0  2.0G   0%                                    │   in /srv/demo
                                           │    │ /dev/vdb1   200G  120G   80G  60%                                    │   │ rm -r build
                                           │  ▶ ada  shell_cmd  du -sh /var/log                                running │   `always` is not offered
                                           │    │ 4.0K    /var/log/apt                                                 │
                                           │    │ 12M     /var/log/journal                                             │ not yet delivered: retrying
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           ├───────────────────────────────────────────────────────────────────────────┤
                                           │ >  i to write                                                             │
             decision not yet delivered, retrying: nobody answers at http://127.0.0.1:7420: connection refused                                                  ● connected
        "#]],
    );
}

#[test]
fn a_chat_that_is_not_loaded_on_a_small_screen() {
    check(
        not_loaded(NARROW),
        expect![[r#"
             Demo › Older things
            ────────────────────────────────────────────────────────────────────────────────
              This chat could not be loaded: the answer of http://127.0.0.1:7420 cannot be
              read: expected value at line 1

              r tries again















            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             i write  ↑↓ select  t tool call  p inbox  c chats  e events        ● connected
        "#]],
    );
}

#[test]
fn a_chat_that_is_not_loaded_on_a_large_screen() {
    check(
        not_loaded(WIDE),
        expect![[r#"
             Worlds                        │ Demo › Older things                                                       │ Inbox
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │  This chat could not be loaded: the answer of http://127.0.0.1:7420       │ Nothing waits for you.
               ⠋ Disk space on the server  │  cannot be read: expected value at line 1                                 │
               › Older things              │                                                                           │
             ▾ Garden                      │  r tries again                                                            │
                 Watering                  │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           │                                                                           │
                                           ├───────────────────────────────────────────────────────────────────────────┤
                                           │ >  i to write                                                             │
             i write  ↑↓ select  t tool call  p inbox  c chats  e events  ? help  q quit                                                                        ● connected
        "#]],
    );
}

#[test]
fn a_completion_on_a_small_screen() {
    check(
        completing(NARROW),
        expect![[r#"
             Demo › Disk space on the server   ⠋ ada runs tools
            ────────────────────────────────────────────────────────────────────────────────
              How much disk space is left?

              ada
              I will look.

              ✓ ada  shell_cmd  df -h                                          done  240 ms
                │ … 1 line before
                │ /dev/vda1    40G   31G  9.0G  78%
                │ tmpfs       2.0G     0  2.0G   0%
                │ /dev/vdb1   200G  120G   80G  60%
              ▶ ada  shell_cmd  du -sh /var/log                                     running
                │ 4.0K    /var/log/apt
                │ 12M     /var/log/journal
            ────────────────────────────────────────────────────────────────────────────────
               /help       shows the keys and commands
               /agents     the agents of this world
               /approvals  goes to the inbox
               /stop       stops the agents, or one: /stop bob
               /retry      takes a failed turn up again
               /edit       changes your last message, and takes back the rest  … 7 more
             > /
             Tab ↑↓ choose  Enter take it  Esc none                             ● connected
        "#]],
    );
}

#[test]
fn a_first_start_beside_the_inbox_only() {
    check(
        Stage::first_start((100, 20)),
        expect![[r#"
         Demo › New Chat                                            │ Inbox
        ────────────────────────────────────────────────────────────┼───────────────────────────────────────
                                                                    │ Nothing waits for you.
                                                                    │
                                                                    │
                         Nothing was said here yet.                 │
                                                                    │
                        Write below and press Enter.                │
             Here are ada, bob. Begin with @bob to speak to one.    │
               What needs your permission waits in the inbox.       │
                                                                    │
                                                                    │
                                                                    │
                                                                    │
                                                                    │
                                                                    │
                                                                    │
        ────────────────────────────────────────────────────────────┤
         >  Write a message, Enter sends it                         │
         Enter send  Alt-Enter new line  Tab inbox  Esc leave  Ctrl-C stop agents  F1 help      ● connected
    "#]],
    );
}

#[test]
fn the_commands_while_one_types() {
    let mut stage = Stage::first_start(NARROW);
    stage.type_in("/");
    check(
        stage,
        expect![[r#"
         Demo › New Chat
        ────────────────────────────────────────────────────────────────────────────────


                                   Nothing was said here yet.

                                  Write below and press Enter.
                       Here are ada, bob. Begin with @bob to speak to one.
                         What needs your permission waits in the inbox.






        ────────────────────────────────────────────────────────────────────────────────
           /help       shows the keys and commands
           /agents     the agents of this world
           /approvals  goes to the inbox
           /stop       stops the agents, or one: /stop bob
           /retry      takes a failed turn up again
           /edit       changes your last message, and takes back the rest  … 7 more
         > /
         Tab ↑↓ choose  Enter send  Esc no list  F1 help                    ● connected
    "#]],
    );
}
