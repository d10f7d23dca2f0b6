//! Checks what is shown of requests, in wide and narrow terminals.

use expect_test::{Expect, expect};
use serde_json::json;

use super::super::tests::approval;
use super::*;

fn check(approval: &Approval, wide: Expect, narrow: Expect) {
    for (width, expected) in [(80, wide), (40, narrow)] {
        let lines = lines(approval, None, 1, 3, width, Theme::new(false));
        for line in &lines {
            assert!(line.width() <= usize::from(width), "{line}");
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        expected.assert_eq(&text);
    }
}

#[test]
fn a_command() {
    let asked = approval(json!({
        "expires_at": "2026-01-01T01:00:00Z",
        "binding": {"arguments": "sha256:1", "facts": {
            "directory": "/srv/demo", "program": "/usr/bin/rm",
            "sandbox": "on, with network, 512 processes, 2 GiB of memory, files up to 1 GiB",
        }},
    }));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd · apr_1
              ada asks: Execute shell command: rm -rf build
              ! rm can destroy what is there
              in /srv/demo
              program: /usr/bin/rm
              sandbox: on, with network, 512 processes, 2 GiB of memory, files up to 1 GiB
              ! it can reach the network
              $ rm -rf build
              until 2026-01-01T01:00:00Z
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd ·
              apr_1
              ada asks: Execute shell command: rm
                -rf build
              ! rm can destroy what is there
              in /srv/demo
              program: /usr/bin/rm
              sandbox: on, with network, 512
                processes, 2 GiB of memory, files up
                to 1 GiB
              ! it can reach the network
              $ rm -rf build
              until 2026-01-01T01:00:00Z
        "#]],
    );
}

#[test]
fn a_script_with_other_arguments() {
    let arguments = json!({
        "script": "set -e\nfind . -name '*.o' | xargs rm\ncurl https://example.org",
        "directory": "sub", "timeout": 5,
    });
    let asked = approval(json!({
        "message": "Execute shell command: set -e…", "shown": format!("{arguments:#}"),
        "binding": {"facts": {"directory": "/srv/demo/sub", "sandbox": "off"}},
    }));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd · apr_1
              ada asks: Execute shell command: set -e…
              ! rm can destroy what is there
              in /srv/demo
              directory: /srv/demo/sub
              sandbox: off
              ! nothing keeps it from other files or the network
              $ set -e
              │ find . -name '*.o' | xargs rm
              │ curl https://example.org
              directory: "sub"
              timeout: 5
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd ·
              apr_1
              ada asks: Execute shell command: set
                -e…
              ! rm can destroy what is there
              in /srv/demo
              directory: /srv/demo/sub
              sandbox: off
              ! nothing keeps it from other files or
                the network
              $ set -e
              │ find . -name '*.o' | xargs rm
              │ curl https://example.org
              directory: "sub"
              timeout: 5
        "#]],
    );
}

#[test]
fn a_change_of_a_file() {
    let asked = approval(json!({
        "tool": "edit_file", "message": "Edit notes.md",
        "shown": "{\n  \"new\": \"two\",\n  \"old\": \"one\",\n  \"path\": \"notes.md\"\n}",
        "preview": "--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n-one\n+two\n same\twith a tab and a line that is rather long\n",
        "suggested_matches": [
            {"label": "exactly this call", "matches": [{}]},
            {"label": "paths in /srv/demo", "matches": [{}]},
            {"label": "any edit_file call", "matches": []},
        ],
    }));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · edit_file · apr_1
              ada asks: Edit notes.md
              in /srv/demo
              │ {
              │   "path": "notes.md"
              │ }
              │ --- a/notes.md
              │ +++ b/notes.md
              │ @@ -1,2 +1,2 @@
              │ -one
              │ +two
              │  same   with a tab and a line that is rather long
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · edit_file ·
              apr_1
              ada asks: Edit notes.md
              in /srv/demo
              │ {
              │   "path": "notes.md"
              │ }
              │ --- a/notes.md
              │ +++ b/notes.md
              │ @@ -1,2 +1,2 @@
              │ -one
              │ +two
              │  same   with a tab and a line that i
              │ s rather long
        "#]],
    );
}

#[test]
fn a_tool_of_a_server() {
    let asked = approval(json!({
        "tool": "mail__send", "message": "ada wants to run mail__send", "working_directory": null,
        "shown": "{\n  \"body\": \"line one\\nline two \\u{202E}evil\",\n  \"to\": \"bob@example.org\"\n}",
        "binding": {"facts": {"server": "stdio `mailer --fast`", "tool": "sha256:0123456789abcdef"}},
        "options": ["deny", "approve_once", "approve_session"],
    }));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · mail__send · apr_1
              ada asks: ada wants to run mail__send
              server: stdio `mailer --fast`
              tool: sha256:0123456789abcdef
              │ {
              │   "body": "line one\nline two \u{202E}evil",
              │   "to": "bob@example.org"
              │ }
              `always` is not offered
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · mail__send ·
              apr_1
              ada asks: ada wants to run mail__send
              server: stdio `mailer --fast`
              tool: sha256:0123456789abcdef
              │ {
              │   "body": "line one\nline two \u{202
              │ E}evil",
              │   "to": "bob@example.org"
              │ }
              `always` is not offered
        "#]],
    );
}

#[test]
fn a_form() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let asked = approval(json!({
        "tool": "trips__book", "options": ["deny", "approve_once"], "suggested_matches": [],
        "message": "Where to?\n  in /somewhere/else", "shown": format!("{schema:#}"),
        "binding": null, "preview": null, "voided": null,
        "form": {"schema": schema, "url": "https://example.org/sign-in"},
    }));
    check(
        &asked,
        expect![[r#"
        ? 1 of 3 waiting · ada · trips__book · apr_1
          trips__book of ada asks:
          │ Where to?
          │   in /somewhere/else
          go to https://example.org/sign-in
          the answer is JSON that fits
          │ {
          │   "type": "object",
          │   "properties": {
          │     "city": {
          │       "type": "string"
          │     }
          │   }
          │ }
          do not tell a password or a key: the answer goes to the tool and into the log
    "#]],
        expect![[r#"
        ? 1 of 3 waiting · ada · trips__book ·
          apr_1
          trips__book of ada asks:
          │ Where to?
          │   in /somewhere/else
          go to https://example.org/sign-in
          the answer is JSON that fits
          │ {
          │   "type": "object",
          │   "properties": {
          │     "city": {
          │       "type": "string"
          │     }
          │   }
          │ }
          do not tell a password or a key: the
            answer goes to the tool and into the
            log
    "#]],
    );
}

#[test]
fn a_call_whose_approval_was_voided() {
    let changes =
        ["program was /usr/bin/rm and is /tmp/rm", "script is sha256:2 and was\nnot there"];
    let asked = approval(json!({"voided": {"approval": "apr_0", "changes": changes}}));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd · apr_1
              ada asks: Execute shell command: rm -rf build
              apr_0 was approved, but since then:
                program was /usr/bin/rm and is /tmp/rm
                script is sha256:2 and was\nnot there
              ! rm can destroy what is there
              in /srv/demo
              $ rm -rf build
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd ·
              apr_1
              ada asks: Execute shell command: rm
                -rf build
              apr_0 was approved, but since then:
                program was /usr/bin/rm and is
                  /tmp/rm
                script is sha256:2 and was\nnot
                  there
              ! rm can destroy what is there
              in /srv/demo
              $ rm -rf build
        "#]],
    );
}

#[test]
fn a_call_that_cannot_be_shown_in_full() {
    let asked = approval(json!({
        "shown": "{\n  \"command\": \"echo\",\n  \"parameters\": [\n    \"xxxxxxxx\n… 70000 more characters not shown",
    }));
    check(
        &asked,
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd · apr_1
              ada asks: Execute shell command: rm -rf build
              in /srv/demo
              │ {
              │   "command": "echo",
              │   "parameters": [
              │     "xxxxxxxx
              │ … 70000 more characters not shown
              not shown in full: `always` is not offered
        "#]],
        expect![[r#"
            ? 1 of 3 waiting · ada · shell_cmd ·
              apr_1
              ada asks: Execute shell command: rm
                -rf build
              in /srv/demo
              │ {
              │   "command": "echo",
              │   "parameters": [
              │     "xxxxxxxx
              │ … 70000 more characters not shown
              not shown in full: `always` is not
                offered
        "#]],
    );
}

#[test]
fn risks_stand_out() {
    let theme = Theme::new(true);
    let facts = json!({"facts": {"sandbox": "there is no sandbox: this program has no launcher"}});
    let lines = lines(&approval(json!({"binding": facts})), None, 1, 1, 80, theme);
    let warned: Vec<String> = lines
        .iter()
        .filter(|line| line.spans.iter().any(|span| span.style == theme.warning()))
        .map(ToString::to_string)
        .collect();
    expect![[r#"
        [
            "  ! rm can destroy what is there",
            "  sandbox: there is no sandbox: this program has no launcher",
            "  ! nothing keeps it from other files or the network",
        ]
    "#]]
    .assert_debug_eq(&warned);
}
