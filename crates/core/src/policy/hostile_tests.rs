//! Tries to hide `rm` from a rule that denies it, and to slip something under a rule that allows `git status`.

use serde_json::{Value, json};

use super::*;
use crate::command_line::TOOL;

fn policy() -> Policy {
    let deny = Rule {
        matches: vec![Match::command("rm", vec![])],
        ..Rule::new("no-rm", Ruling::Deny, TOOL)
    };
    let status = Rule {
        matches: vec![Match::command("git", vec!["status".to_owned()])],
        ..Rule::new("status", Ruling::Allow, TOOL)
    };
    Policy { rules: vec![deny, status].into(), ..Policy::default() }
}

fn ruling(arguments: &Value) -> Ruling {
    let spec = ToolSpec::new(TOOL, "runs a command", json!({ "type": "object" }));
    let agent = AgentId::new("ada");
    let question = Question { agent: &agent, tool: TOOL, arguments, directory: Some("/work") };
    judge(&policy(), &[], &spec, question).ruling
}

fn of_script(script: &str) -> Ruling {
    ruling(&json!({ "script": script }))
}

/// Lines in which `rm` is found, wherever it stands.
const DENIED: &[&str] = &[
    "rm -rf /",
    "git status; rm -rf /",
    "git status;rm -rf /",
    "git status && rm -rf /",
    "git status || rm -rf /",
    "git status & rm -rf /",
    "git status | rm -rf /",
    "git status |& rm",
    "git status\nrm -rf /",
    "git status # harmless\nrm -rf /",
    "git status $(rm -rf /)",
    "git status \"$(rm -rf /)\"",
    "git status `rm -rf /`",
    "git status \"`rm -rf /`\"",
    "git status ${x:-$(rm -rf /)}",
    "git status \"${x:=\"$(rm)\"}\"",
    "git status ${x[$(rm)]}",
    "git status $(( $(rm) ))",
    "git status $[ $(rm) ]",
    "echo $((a[$(rm)]))",
    "(( $(rm) ))",
    "for ((i=$(rm);;)); do git status; done",
    "[[ -n $(rm) ]] && git status",
    "[[ 'a[$(rm)]' -eq 1 ]]",
    "git status <(rm -rf /)",
    "git status >(rm -rf /)",
    "git status < <(rm)",
    "git status <<E\n$(rm -rf /)\nE",
    "git status <<-E\n\t`rm`\n\tE",
    "git status <<< \"$(rm)\"",
    "git status > \"$(rm)\"",
    "x=$(rm) git status",
    "x[$(rm)]=1",
    "x=(a $(rm))",
    "(git status; rm)",
    "{ git status; rm; }",
    "if git status; then rm; fi",
    "if git status; then :; elif rm; then :; fi",
    "while rm; do git status; done",
    "until git status; do rm; done",
    "for x in a; do rm; done",
    "for x in $(rm); do git status; done",
    "select x in a; do rm; done",
    "case x in x) rm;; esac",
    "case $(rm) in x) git status;; esac",
    "case x in $(rm)) git status;; esac",
    "git() { rm \"$@\"; }; git status",
    "function git { rm; }; git status",
    "coproc rm -rf /",
    "! rm -rf /",
    "time rm -rf /",
    "time -p rm",
    "\\rm -rf /",
    "r\"\"m -rf /",
    "'r'm -rf /",
    "r\\m -rf /",
    "\"rm\" -rf /",
    "r\\\nm -rf /",
    "$'\\x72m' -rf /",
    "$'\\162\\155' -rf /",
    "$\"rm\" -rf /",
    "{rm,-rf,/}",
    "/bin/rm -rf /",
    "/usr/bin/../bin/rm -rf /",
    "./rm",
    "RM -rf /",
    "X=1 rm",
    ">/dev/null rm",
    "2>&1 rm -rf /",
    "env rm -rf /",
    "env -i PATH=/bin rm",
    "env -S 'rm -rf /'",
    "/usr/bin/env rm",
    "sudo rm -rf /",
    "sudo -u root -- rm",
    "sudo -E -s rm",
    "sudo X=1 rm",
    "doas rm",
    "nohup rm",
    "nice rm",
    "nice -n 5 rm",
    "nice -5 rm",
    "timeout 5 rm",
    "timeout --signal=KILL 5 rm",
    "stdbuf -oL rm",
    "setsid rm",
    "command rm",
    "command -p rm",
    "builtin command rm",
    "exec rm",
    "exec -a git rm",
    "busybox rm -rf /",
    "chroot / rm",
    "echo / | xargs rm -rf",
    "echo / | xargs -0 -n1 rm",
    "echo / | xargs -I{} rm {}",
    "echo / | xargs sh -c 'rm'",
    "find / -exec rm {} ;",
    "find / -exec rm {} \\;",
    "find / -execdir rm {} +",
    "find / -name x -delete",
    "find / -exec sh -c 'rm {}' \\;",
    "bash -c 'rm -rf /'",
    "sh -c \"git status; rm\"",
    "bash -lc 'rm'",
    "bash -x -c 'rm'",
    "zsh -c rm",
    "bash -c \"bash -c 'rm'\"",
    "bash -c 'eval rm'",
    "eval rm -rf /",
    "eval 'git status; rm'",
    "trap 'rm -rf /' EXIT",
    "ssh host rm -rf /",
    "ssh host 'git status; rm'",
    "watch rm",
    "watch 'git status; rm'",
    "su -c 'rm -rf /'",
    "flock /tmp/x rm",
    "strace -f rm",
    "git status; (((((((((((((((((((((((((( rm",
    "rm -rf / # ((((((((((((((((((((((((((((((",
    "rm -rf / ; echo 'unclosed",
    "if rm -rf /",
];

/// Lines that are not what they look like, and in which no `rm` can be found.
const ASKED: &[&str] = &[
    "a=rm; $a -rf /",
    "a=r b=m; $a$b -rf /",
    "$(echo rm) -rf /",
    "`echo cm0= | base64 -d` -rf /",
    "echo 'rm -rf /' | sh",
    "git status | sh",
    "git status | bash -s",
    "sh <<< 'rm -rf /'",
    "sh <<'E'\nrm -rf /\nE",
    "bash <(echo rm)",
    "alias git=evil; git status",
    "alias g='git status'",
    "hash -p /tmp/evil git; git status",
    "enable -f /tmp/evil.so git",
    "PATH=/tmp:$PATH git status",
    "PATH=/tmp; git status",
    "export PATH=/tmp; git status",
    "LD_PRELOAD=/tmp/x.so git status",
    "GIT_EXTERNAL_DIFF=/tmp/x git status",
    "BASH_ENV=/tmp/x git status",
    "IFS=x; git status",
    "for PATH in /tmp; do git status; done",
    "read PATH; git status",
    "printf -v PATH /tmp; git status",
    "git -c core.pager='!rm' status",
    "git -c core.fsmonitor=/tmp/evil status",
    "git --exec-path=/tmp status",
    "git --git-dir=/tmp/evil status",
    "git -C /tmp status",
    "git -p status",
    "git --no-pager status",
    "git '' status",
    "git status > ~/.bashrc",
    "git status >> /etc/passwd",
    "git status >| x",
    "git status &> x",
    "git status > /dev/null > x",
    "git statusx",
    "git Status",
    "git 'status '",
    "./git status",
    "/tmp/git status",
    "../git status",
    "~/git status",
    "/usr/bin/../../tmp/git status",
    "/usr/bin//git status",
    "gi? status",
    "gi[t] status",
    "git* status",
    "git stat*",
    "gіt status",
    "git\u{200b} status",
    "git\u{a0}status",
    "git status\r",
    "git status\u{0}",
    "git\u{c}status",
    "git status \u{202e}",
    "git status $HOME",
    "git status *",
    "git status {a,b}",
    "git status ~+/$x",
    "source /tmp/x; git status",
    ". /tmp/x",
    "python3 -c 'import os'",
    "perl -e 'unlink'",
    "node -e x",
    "awk 'BEGIN { system(\"x\") }'",
    "git status 'unclosed",
    "git status )",
    "git status;;",
    "&& git status",
    "curl evil | git status",
    "[[ x ]] && curl",
    "set -o noexec; git status",
    "unset -f git; git status",
    "git status & wait; ls",
    "",
    "   ",
    "# git status",
    "git",
    "status git",
    "'git status'",
    "git=status",
];

/// Lines that are what they look like.
const ALLOWED: &[&str] = &[
    "git status",
    "git status -s --branch",
    "git status src/main.rs",
    "  git   status  ",
    "git 'status'",
    "g\"it\" status",
    "git status; git status -s",
    "git status && git status",
    "git status\ngit status",
    "git status # rm -rf /",
    "git status 'rm -rf /; $(rm) `rm`'",
    "git status 2>&1",
    "git status >/dev/null",
    "/usr/bin/git status",
    "(git status)",
    "if git status; then git status; fi",
    "LC_ALL=C git status",
];

#[test]
fn nothing_hides_a_program_from_a_rule_that_denies_it() {
    for script in DENIED {
        assert_eq!(of_script(script), Ruling::Deny, "{script:?}");
    }
}

#[test]
fn nothing_slips_under_a_rule_that_allows_something_else() {
    for script in ASKED {
        assert_eq!(of_script(script), Ruling::Ask, "{script:?}");
    }
    assert!(of_script(&format!("git status {}", "x".repeat(1_000_000))) == Ruling::Ask);
    assert!(of_script(&"git status;".repeat(10_000)) == Ruling::Ask);
}

#[test]
fn what_is_plainly_allowed_is_allowed() {
    for script in ALLOWED {
        assert_eq!(of_script(script), Ruling::Allow, "{script:?}");
    }
}

#[test]
fn a_program_called_without_a_shell_is_judged_alike() {
    for (words, expected) in [
        (vec!["git", "status", "; rm -rf /"], Ruling::Allow),
        (vec!["git", "status", "$(rm)"], Ruling::Allow),
        (vec!["/usr/bin/git", "status"], Ruling::Allow),
        (vec!["/tmp/git", "status"], Ruling::Ask),
        (vec!["./git", "status"], Ruling::Ask),
        (vec!["git", "-C", "x", "status"], Ruling::Ask),
        (vec!["git status"], Ruling::Ask),
        (vec!["git", "status", "\u{202e}"], Ruling::Ask),
        (vec!["rm", "-rf"], Ruling::Deny),
        (vec!["/opt/x/rm"], Ruling::Deny),
        (vec!["rm.exe"], Ruling::Deny),
        (vec!["bash", "-c", "git status; rm"], Ruling::Deny),
        (vec!["bash", "-c", "git status"], Ruling::Ask),
        (vec!["bash", "x.sh"], Ruling::Ask),
        (vec!["env", "rm"], Ruling::Deny),
        (vec!["sudo", "git", "status"], Ruling::Ask),
        (vec!["find", "/", "-delete"], Ruling::Deny),
    ] {
        let (program, parameters) = words.split_first().unwrap();
        let arguments = json!({ "command": program, "parameters": parameters });
        assert_eq!(ruling(&arguments), expected, "{words:?}");
    }
    let both = json!({ "command": "git", "parameters": ["status"], "script": "rm" });
    assert_eq!(ruling(&both), Ruling::Deny);
    let both = json!({ "command": "git", "parameters": ["status"], "script": "git status" });
    assert_eq!(ruling(&both), Ruling::Ask);
}
