//! Tests of what is on the screen, at the size of a large terminal.

use expect_test::{Expect, expect};

use super::message::Message;
use super::stage::{Stage, WIDE};

#[track_caller]
fn check(mut stage: Stage, expected: Expect) {
    expected.assert_eq(&stage.screen());
}

#[test]
fn a_first_start_on_a_large_screen() {
    check(
        Stage::first_start(WIDE),
        expect![[r#"
             Worlds                        │ Demo › New Chat                                                           │ Inbox
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │                                                                           │ Nothing waits for you.
               › New Chat                  │                                                                           │
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
                                           │                         Nothing was said here yet.                        │
                                           │                                                                           │
                                           │                        Write below and press Enter.                       │
                                           │            Here are ada, bob. Begin with @bob to speak to one.            │
                                           │               What needs your permission waits in the inbox.              │
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
                                           │ >  Write a message, Enter sends it                                        │
             Enter send  Alt-Enter new line  Tab inbox  Esc leave  Ctrl-C stop agents  F1 help                                                                  ● connected
        "#]],
    );
}

#[test]
fn a_conversation_with_tools_on_a_large_screen() {
    check(
        Stage::at_work(WIDE),
        expect![[r#"
             Worlds                        │ Demo › Disk space on the server   ⠋ ada runs tools                        │ Inbox
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │  tester                                                                   │ Nothing waits for you.
               ⠋ Disk space on the server  │  How much disk space is left?                                             │
                 Older things              │                                                                           │
             ▾ Garden                      │  ada                                                                      │
                 Watering                  │  I will look.                                                             │
                                           │                                                                           │
                                           │  ✓ ada  shell_cmd  df -h                                     done  240 ms │
                                           │    │ … 1 line before                                                      │
                                           │    │ /dev/vda1    40G   31G  9.0G  78%                                    │
                                           │    │ tmpfs       2.0G     0  2.0G   0%                                    │
                                           │    │ /dev/vdb1   200G  120G   80G  60%                                    │
                                           │  ▶ ada  shell_cmd  du -sh /var/log                                running │
                                           │    │ 4.0K    /var/log/apt                                                 │
                                           │    │ 12M     /var/log/journal                                             │
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
                                           │ >  Write a message, Enter sends it                                        │
             Enter send  Alt-Enter new line  Tab inbox  Esc leave  Ctrl-C stop agents  F1 help                                                                  ● connected
        "#]],
    );
}

#[test]
fn the_inbox_on_a_large_screen() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc p down");
    check(
        stage,
        expect![[r#"
             Worlds                        │ Demo › Disk space on the server   ⠸ ada runs tools                        │ Inbox  3 waiting
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │  tester                                                                   │ ada  shell_cmd  rm -r build                     1h
               ⠸ Disk space on the ser… 3? │  How much disk space is left?                                             │   Demo › Disk space on the server
                 Older things              │                                                                           │▌bob  shell_cmd  git push --force origin main    2m
             ▾ Garden                      │  ada                                                                      │▌  Demo › Disk space on the server
                 Watering                  │  I will look.                                                             │ ada  shell_cmd  date                           12s
                                           │                                                                           │   Demo › Disk space on the server
                                           │  ✓ ada  shell_cmd  df -h                                     done  240 ms │ ──────────────────────────────────────────────────
                                           │    │ … 1 line before                                                      │ ? 2 of 3 waiting · bob · shell_cmd · apr_2
                                           │    │ /dev/vda1    40G   31G  9.0G  78%                                    │   bob asks: Run `git push --force origin main`?
                                           │    │ tmpfs       2.0G     0  2.0G   0%                                    │   in /srv/demo
                                           │    │ /dev/vdb1   200G  120G   80G  60%                                    │   │ git push --force origin main
                                           │  ▶ ada  shell_cmd  du -sh /var/log                                running │   `always` is not offered
                                           │    │ 4.0K    /var/log/apt                                                 │
                                           │    │ 12M     /var/log/journal                                             │ o once · e edit · d deny · l later · ? help
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
             ↑↓ choose  Enter its chat  PgDn read on  Esc back  ? help                                                                                          ● connected
        "#]],
    );
}

#[test]
fn the_event_log_on_a_large_screen() {
    let mut stage = Stage::asked(WIDE);
    stage.press("esc e");
    check(
        stage,
        expect![[r#"
             Worlds                        │ Events  Demo  all types  UTC                                              │ Inbox  3 waiting
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │ 10:04:41  tool      completed  ada  shell_cmd  df -h                      │▌ada  shell_cmd  rm -r build                     1h
               ⠸ Disk space on the ser… 3? │ 10:04:42  tool      executing  ada  shell_cmd  du -sh /var/log            │▌  Demo › Disk space on the server
                 Older things              │ 10:04:43  activity  busy                                                  │ bob  shell_cmd  git push --force origin main    2m
             ▾ Garden                      │ 10:04:44  approval  pending  ada  shell_cmd  rm -r build                  │   Demo › Disk space on the server
                 Watering                  │ 10:04:45  approval  pending  bob  shell_cmd  git push --force origin main │ ada  shell_cmd  date                           12s
                                           │ 10:04:46  approval  pending  ada  shell_cmd  date                         │   Demo › Disk space on the server
                                           │                                                                           │ ──────────────────────────────────────────────────
                                           │                                                                           │ ? 1 of 3 waiting · ada · shell_cmd · apr_1
                                           │                                                                           │   ada asks: Run `rm -r build`?
                                           │                                                                           │   in /srv/demo
                                           │                                                                           │   │ rm -r build
                                           │                                                                           │   `always` is not offered
                                           │                                                                           │
                                           │                                                                           │ p to decide
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
             f type  / filter  Enter details  Esc close  ? help                                                                                                 ● connected
        "#]],
    );
}

#[test]
fn the_help_on_a_large_screen() {
    let mut stage = Stage::at_work(WIDE);
    stage.press("esc ?");
    check(
        stage,
        expect![[r#"
             Worlds                        │ Demo › Disk space on the server   ⠋ ada runs tools                        │ Inbox
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             ▾ Demo                        │  tester                                                                   │ Nothing waits for you.
               ⠋ Disk space on the server  │  How much disk space is left?                                             │
                 Older things              │                                                                           │
             ▾ Garden                      │  ada                                                                      │
                 Watering                  │  I will look.                                                             │
                                           │                                                                           │
                                           │  ✓ ada  shell_cmd  df -h                                     done  240 ms │
                                           │    │ … 1 line before                                                      │
                                           │    │ /dev/vda1    40G   31G  9.0G  78%                                    │
                                           │    │ tmpfs       2.0G     0  2.0G   0%                                    │
                                           │    │ /dev/vdb1   200G  120G   80G  60%                                    │
                                           │  ▶ ada  shell_cmd  du -sh /var/log                                running │
                                           │    │ 4.0K╭ Keys ────────────────────────────────────────────────────────────────────╮
                                           │    │ 12M │ Everywhere                           Conversation                        │
                                           │          │ Tab Shift-Tab next, previous pane    Enter         details, or write     │
                                           │          │ c  p  i       chats, inbox, write    r             fold the reasoning    │
                                           │          │ n             new chat               w             write to a file       │
                                           │          │ /             filter the list                                            │
                                           │          │ e             event log              Inbox                               │
                                           │          │ t             tool call in detail    on the card   keys that decide      │
                                           │          │ Ctrl-C        stop the agents        Enter         open its chat         │
                                           │          │ Esc           back                                                       │
                                           │          │ ?  F1         this help              Events                              │
                                           │          │ q             quit                   f             next type             │
                                           │          │                                      Enter         details               │
                                           │          │ Moving                                                                   │
                                           │          │ ↑↓ j k        up, down               Writing                             │
                                           │          │ PgUp PgDn     by pages               Enter         send                  │
                                           │          │ g G           start, end             Alt-Enter     new line; also Ctrl-J │
                                           │          │                                      Tab           complete @name, /word │
                                           │          │ Mouse                                ↑             what was sent before  │
                                           │          │ click, wheel  choose, scroll         /             lists the commands    │
                                           │          │ Shift-drag    select text                                                │
                                           │          ╰──────────────────────────────────────────────────────────────────────────╯
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
             Esc close                                                                                                                                          ● connected
        "#]],
    );
}

#[test]
fn a_lost_connection_on_a_large_screen() {
    let mut stage = Stage::new(WIDE);
    stage.tell(Message::Broken("connection refused".to_owned()));
    check(
        stage,
        expect![[r#"
             Worlds                        │ Agent World                                                               │ Inbox
            ───────────────────────────────┼───────────────────────────────────────────────────────────────────────────┼────────────────────────────────────────────────────
             Not connected.                │                                                                           │ Nothing waits for you.
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
                                           │                               Not connected.                              │
                                           │                                                                           │
                                           │                             connection refused                            │
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
                                           │ >  Write a message, Enter sends it                                        │
             Enter send  Alt-Enter new line  Tab inbox  Esc leave  Ctrl-C stop agents  F1 help                                              ⠋ connection lost, trying again
        "#]],
    );
}
