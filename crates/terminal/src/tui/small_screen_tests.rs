//! Tests of what is on the screen, at the size of an old terminal.

use agent_world_client::Heard;
use expect_test::{Expect, expect};

use super::message::Message;
use super::stage::{NARROW, Stage};

#[track_caller]
fn check(mut stage: Stage, expected: Expect) {
    expected.assert_eq(&stage.screen());
}

#[test]
fn a_first_start_on_a_small_screen() {
    check(
        Stage::first_start(NARROW),
        expect![[r#"
             Demo › New Chat
            ────────────────────────────────────────────────────────────────────────────────




                                       Nothing was said here yet.

                                      Write below and press Enter.
                           Here are ada, bob. Begin with @bob to speak to one.
                             What needs your permission waits in the inbox.










            ────────────────────────────────────────────────────────────────────────────────
             >  Write a message, Enter sends it
             Enter send  Alt-Enter new line  Tab inbox  Esc leave               ● connected
        "#]],
    );
}

#[test]
fn a_conversation_with_tools_on_a_small_screen() {
    check(
        Stage::at_work(NARROW),
        expect![[r#"
             Demo › Disk space on the server   ⠋ ada runs tools
            ────────────────────────────────────────────────────────────────────────────────
              tester
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
             >  Write a message, Enter sends it
             Enter send  Alt-Enter new line  Tab inbox  Esc leave               ● connected
        "#]],
    );
}

#[test]
fn the_inbox_on_a_small_screen() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc p");
    check(
        stage,
        expect![[r#"
             Inbox  3 waiting
            ────────────────────────────────────────────────────────────────────────────────
             ▌ada  shell_cmd  rm -r build                                                1h
             ▌  Demo › Disk space on the server
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

              o once · e edit · d deny · l later · ? help





            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             ↑↓ choose  Enter its chat  PgDn read on  Esc back  ? help          ● connected
        "#]],
    );
}

#[test]
fn the_list_on_a_small_screen() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc c");
    check(
        stage,
        expect![[r#"
             Worlds                                                               3 waiting
            ────────────────────────────────────────────────────────────────────────────────
             ▾ Demo
               ⠸ Disk space on the server                                               3?
                 Older things
             ▾ Garden
                 Watering














            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             Enter open  n new chat  / filter  p inbox  e events  ? help        ● connected
        "#]],
    );
}

#[test]
fn the_event_log_on_a_small_screen() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc e");
    check(
        stage,
        expect![[r#"
             Events  Demo  all types  UTC                                         3 waiting
            ────────────────────────────────────────────────────────────────────────────────
             10:04:41  tool      completed  ada  shell_cmd  df -h
             10:04:42  tool      executing  ada  shell_cmd  du -sh /var/log
             10:04:43  activity  busy
             10:04:44  approval  pending  ada  shell_cmd  rm -r build
             10:04:45  approval  pending  bob  shell_cmd  git push --force origin main
             10:04:46  approval  pending  ada  shell_cmd  date













            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             f type  / filter  Enter details  Esc close  ? help                 ● connected
        "#]],
    );
}

#[test]
fn the_help_on_a_small_screen() {
    let mut stage = Stage::at_work(NARROW);
    stage.press("esc ?");
    check(
        stage,
        expect![[r#"
             Demo › Disk space on the server   ⠋ ada runs tools
            ──╭ Keys ────────────────────────────────────────────────────────────────────╮──
              │ Everywhere                           Conversation                        │
              │ Tab Shift-Tab next, previous pane    Enter         details, or write     │
              │ c  p  i       chats, inbox, write    r             fold the reasoning    │
              │ n             new chat               w             write to a file       │
              │ /             filter the list                                            │
              │ e             event log              Inbox                               │
              │ t             tool call in detail    on the card   keys that decide      │s
              │ Ctrl-C        stop the agents        Enter         open its chat         │
              │ Esc           back                                                       │
              │ ?  F1         this help              Events                              │
              │ q             quit                   f             next type             │
              │                                      Enter         details               │g
              │ Moving                                                                   │
              │ ↑↓ j k        up, down               Writing                             │
              │ PgUp PgDn     by pages               Enter         send                  │
              │ g G           start, end             Alt-Enter     new line; also Ctrl-J │
              │                                      Tab           complete @name, /word │
              │ Mouse                                ↑             what was sent before  │
              │ click, wheel  choose, scroll         /             lists the commands    │
            ──│ Shift-drag    select text                                                │──
             >╰──────────────────────────────────────────────────────────────────────────╯
             Esc close                                                          ● connected
        "#]],
    );
}

#[test]
fn a_tool_call_in_detail() {
    let mut stage = Stage::at_work(NARROW);
    stage.screen();
    stage.press("esc up up enter");
    check(
        stage,
        expect![[r#"
             ╭ shell_cmd  call_1 ─────────────────────────────────────────────────────────╮
            ─│ Agent     ada                                                              │─
             │ State     done after 240 ms                                                │
             │                                                                            │
             │ Arguments                                                                  │
             │   {                                                                        │
             │     "command": "df",                                                       │
             │     "parameters": [                                                        │
            ▌│       "-h"                                                                 │
            ▌│     ]                                                                      │
            ▌│   }                                                                        │
            ▌│                                                                            │
            ▌│ Result                                                                     │
             │   Filesystem  Size  Used Avail Use%                                        │
             │   /dev/vda1    40G   31G  9.0G  78%                                        │
             │   tmpfs       2.0G     0  2.0G   0%                                        │
             │   /dev/vdb1   200G  120G   80G  60%                                        │
             ╰────────────────────────────────────────────────────────────────────────────╯



            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             ↑↓ scroll  w write to a file  Esc close                            ● connected
        "#]],
    );
}

#[test]
fn the_question_before_leaving() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc q");
    check(
        stage,
        expect![[r#"
             Demo › Disk space on the server   ⠸ ada runs tools                   3 waiting
            ────────────────────────────────────────────────────────────────────────────────
              tester
              How much disk space is left?

              ada
              I will look.

              ✓ ada  shell_cmd  df -h                                          done  240 ms
                │ … 1 line╭ Quit? ───────────────────────────────────────────╮
                │ /dev/vda│ 3 approvals wait; q again quits, Esc stays.      │
                │ tmpfs   │ What waits goes on waiting when you leave.       │
                │ /dev/vdb│                                                  │
              ▶ ada  shell│ q again quits   p inbox   Esc stays              │      running
                │ 4.0K    ╰──────────────────────────────────────────────────╯
                │ 12M     /var/log/journal





            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             q again quits  p inbox  Esc stays                                  ● connected
        "#]],
    );
}

#[test]
fn a_lost_connection_on_a_small_screen() {
    let mut stage = Stage::at_work(NARROW);
    stage.tell(Message::Heard(Heard::Lost("connection refused".to_owned())));
    stage.type_in("are you there?");
    stage.press("enter");
    check(
        stage,
        expect![[r#"
             Demo › Disk space on the server   ⠋ ada runs tools
            ────────────────────────────────────────────────────────────────────────────────
              tester
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




              are you there?  waits for the connection
            ────────────────────────────────────────────────────────────────────────────────
             >  Write a message, Enter sends it
             Enter send  Alt-Enter new line  Tab inbox      ⠋ connection lost, trying again
        "#]],
    );
}

#[test]
fn the_editor_of_arguments_on_a_small_screen() {
    let mut stage = Stage::asked(NARROW);
    stage.press("esc p rest e down down down");
    check(
        stage,
        expect![[r#"
             Inbox  3 waiting
            ────────────────────────────────────────────────────────────────────────────────
             ▌ada  shell_cmd  rm -r build                                                1h
             ▌  Demo › Disk space on the server
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

              another command:
              $ rm -r build
              Enter goes on · Esc goes back



            ────────────────────────────────────────────────────────────────────────────────
             >  i to write
             Esc goes back                                                      ● connected
        "#]],
    );
}
