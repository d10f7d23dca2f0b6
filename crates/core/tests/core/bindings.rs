//! Checks that what was approved is what runs: what its tool found is compared when a call starts.

use expect_test::expect;

use crate::stage::check;

#[test]
fn an_approved_call_starts_when_all_is_as_it_was() {
    check(
        r#"
        finds shell_cmd: program=/bin/ls; directory=/srv
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        ---
        start 1
        "#,
        expect![[r#"
            call 1 started
            owed: end of call 1
        "#]],
    );
}

#[test]
fn a_change_since_the_approval_means_that_nothing_runs_and_the_person_is_asked_again() {
    check(
        r#"
        finds shell_cmd: program=/bin/ls; script=/srv/a.sh sha256:1; preview - one
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1
        finds shell_cmd: program=/tmp/ls; script=/srv/a.sh sha256:2; preview - two
        start 1
        requests
        approve 2
        start 1
        "#,
        expect![[r#"
            approval 1 approved by human once
            approval 2 for call 1: ada wants to run shell_cmd, showing - two, as approval 1 does not hold: program was /bin/ls and is /tmp/ls; script was /srv/a.sh sha256:1 and is /srv/a.sh sha256:2
            approval 1 approved: call 1 of ada, shell_cmd { "command": "ls" }
            approval 2 pending: call 1 of ada, shell_cmd { "command": "ls" }
            approval 2 approved by human once
            call 1 started
            owed: end of call 1
        "#]],
    );
}

#[test]
fn a_request_that_is_made_again_is_settled_by_no_permission() {
    check(
        r#"
        finds shell_cmd: script=1
        human: go
        ada calls shell_cmd({"command":"ls"}), shell_cmd({"command":"ls"})
        ---
        approve 1 always
        finds shell_cmd: script=2
        start 1
        start 2
        review
        deny 3: it changed
        "#,
        expect![[r#"
            approval 1 approved by human always, rule 1
            approval 2 approved by rule 1 of human once
            approval 3 for call 1: ada wants to run shell_cmd, as approval 1 does not hold: script was 1 and is 2
            approval 4 for call 2: ada wants to run shell_cmd, as approval 2 does not hold: script was 1 and is 2
            nothing happened
            approval 3 denied by human: it changed
            call 1 denied: denied by the user: it changed
            owed: nothing
        "#]],
    );
}

#[test]
fn edited_arguments_are_bound_to_what_was_found_of_them() {
    check(
        r#"
        finds shell_cmd: program=/bin/ls
        human: go
        ada calls shell_cmd({"command":"ls"})
        finds shell_cmd: program=/bin/cat
        ---
        approve 1 with {"command":"cat"}
        finds shell_cmd: program=/bin/dog
        start 1
        requests
        approve 2
        start 1
        "#,
        expect![[r#"
            approval 1 approved by human once with {"command":"cat"}
            approval 2 for call 1: ada wants to run shell_cmd, as approval 1 does not hold: program was /bin/cat and is /bin/dog
            approval 1 approved: call 1 of ada, shell_cmd { "command": "ls" }
            approval 2 pending: call 1 of ada, shell_cmd { "command": "cat" }
            approval 2 approved by human once
            call 1 started
            owed: end of call 1
        "#]],
    );
}

#[test]
fn what_can_never_run_is_refused_before_anybody_is_asked() {
    check(
        r#"
        finds shell_cmd: refuses: the directory is outside
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            call 1 failed: error: the directory is outside
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_by_rule_comes_before_what_the_tool_says() {
    check(
        r#"
        policy: deny shell_cmd
        finds shell_cmd: refuses: the directory is outside
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), denied by policy-1
            call 1 denied: denied by rule policy-1 of this world
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn what_has_become_impossible_since_the_approval_fails_without_a_start() {
    check(
        r#"
        finds shell_cmd: program=/bin/ls
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        finds shell_cmd: refuses: the directory is outside
        ---
        start 1
        "#,
        expect![[r#"
            call 1 failed: error: the directory is outside
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn what_cannot_be_looked_at_any_more_is_not_run() {
    check(
        r#"
        finds shell_cmd: script=1
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        finds shell_cmd: nothing
        ---
        start 1
        "#,
        expect![[r#"
            call 1 failed: error: the tool is not available any more; nothing was run
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_written_after_the_approval_stops_a_call_that_has_not_started() {
    check(
        r#"
        agent ada: sequential
        human: go
        ada calls shell_cmd({"command":"ls"}), shell_cmd({"command":"rm"})
        approve 1 for session
        start 1
        ---
        policy: deny shell_cmd
        tool 1 completes: ok
        start 2
        "#,
        expect![[r#"
            call 1 completed: ok
            call 2 denied: denied by rule policy-1 of this world
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_call_that_was_started_before_a_crash_is_never_said_not_to_have_run() {
    check(
        r#"
        tool job(): asks; idempotent
        finds job: script=1
        human: go
        ada calls job()
        approve 1
        start 1
        ---
        lost 1
        finds job: script=2
        start 1
        deny 2: no
        "#,
        expect![[r#"
            call 1 is to start again
            approval 2 for call 1: ada wants to run job, as approval 1 does not hold: script was 1 and is 2
            approval 2 denied by human: no
            call 1 interrupted: interrupted: the program stopped while this ran; it may or may not have taken effect. It was not run again: denied by the user: no
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}
