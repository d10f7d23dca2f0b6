//! Checks which programs are found in a command line, and that whatever hides one is called a gap.

use serde_json::json;

use super::*;

fn script(text: &str) -> CommandLine {
    CommandLine::parse(&json!({ "script": text }))
}

fn arguments(words: &[&str]) -> CommandLine {
    let (program, parameters) = words.split_first().unwrap();
    CommandLine::parse(&json!({ "command": program, "parameters": parameters }))
}

fn shown(line: &CommandLine) -> Vec<String> {
    line.commands.iter().map(ToString::to_string).collect()
}

#[test]
fn plain_scripts_are_read_whole() {
    for (text, expected) in [
        ("git status", vec!["git status"]),
        ("  git   status\t-s  ", vec!["git status -s"]),
        ("git 'sta'tus \"-s\"", vec!["git status -s"]),
        ("git stat\\us", vec!["git status"]),
        ("git sta\\\ntus", vec!["git status"]),
        ("/usr/bin/git status", vec!["/usr/bin/git status"]),
        ("a; b && c || d & e", vec!["a", "b", "c", "d", "e"]),
        ("a | b |& c", vec!["a", "b", "c"]),
        ("a\nb\n\n# a comment; rm\nc # rm", vec!["a", "b", "c"]),
        ("(a; b) ; { c; }", vec!["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", vec!["a", "b", "c", "d"]),
        ("for i in 1 2; do a; done", vec!["a"]),
        ("case x in y) a;; *) b;; esac", vec!["a", "b"]),
        ("! a; time b", vec!["a", "b"]),
        ("a >/dev/null 2>&1 </etc/hosts", vec!["a"]),
        ("cat <<'E'\n$(rm)\nE", vec!["cat"]),
        ("cat <<E\nplain text\nE", vec!["cat"]),
        ("cat <<< 'text'", vec!["cat"]),
        ("LC_ALL=C sort file", vec!["sort file"]),
        ("ls src/*.rs", vec!["ls src/*.rs"]),
        ("git commit -m \"it's größer; rm -rf /\"", vec!["git commit -m it's größer; rm -rf /"]),
        ("[[ -f x && a == b ]] && ls", vec!["ls"]),
        ("[ -f x ] && ls", vec!["[ -f x ]", "ls"]),
        ("bash -c 'a; b'", vec!["bash -c a; b", "a", "b"]),
        ("sh -xec 'a'", vec!["sh -xec a", "a"]),
        ("bash -lc 'a' zero one", vec!["bash -lc a zero one", "a"]),
        ("bash -o pipefail -c a", vec!["bash -o pipefail -c a", "a"]),
        ("env LANG=C -u X git status", vec!["env LANG=C -u X git status", "git status"]),
        ("sudo -u root -n ls", vec!["sudo -u root -n ls", "ls"]),
        (
            "timeout -k 5 10s nice -n 5 ls",
            vec!["timeout -k 5 10s nice -n 5 ls", "nice -n 5 ls", "ls"],
        ),
        (
            "nohup stdbuf -oL setsid a",
            vec!["nohup stdbuf -oL setsid a", "stdbuf -oL setsid a", "setsid a", "a"],
        ),
        (
            "find . -name x -exec grep y {} + -print",
            vec!["find . -name x -exec grep y {} + -print", "grep y {}"],
        ),
        ("find . -delete", vec!["find . -delete", "rm"]),
        ("ls | xargs -0 -n 1 wc -l", vec!["ls", "xargs -0 -n 1 wc -l", "wc -l"]),
        ("busybox ls", vec!["busybox ls", "ls"]),
        ("command -p ls; command -v ls", vec!["command -p ls", "ls", "command -v ls"]),
        ("python3 tool.py", vec!["python3 tool.py"]),
        ("awk '{print $1}' x", vec!["awk {print $1} x"]),
        ("", vec![]),
        ("# nothing", vec![]),
    ] {
        let line = script(text);
        assert_eq!(shown(&line), expected, "{text:?}");
        assert!(line.is_complete(), "{text:?}: {:?}", line.gaps);
    }
}

#[test]
fn a_call_of_a_program_is_read_as_it_stands() {
    let line = arguments(&["git", "commit", "-m", "$(rm) `rm` > x; y", "*"]);
    assert_eq!(shown(&line), ["git commit -m $(rm) `rm` > x; y *"]);
    assert!(line.is_complete());
    for (words, expected) in [
        (vec!["bash", "-c", "git status; rm -rf /"], vec!["git status", "rm -rf /"]),
        (vec!["/bin/sh", "-c", "rm"], vec!["rm"]),
        (vec!["env", "rm", "-rf"], vec!["rm -rf"]),
        (vec!["sudo", "--", "rm"], vec!["rm"]),
        (vec!["find", ".", "-exec", "rm", "{}", ";"], vec!["rm {}"]),
        (vec!["xargs", "rm"], vec!["rm"]),
        (vec!["timeout", "5", "sh", "-c", "rm"], vec!["sh -c rm", "rm"]),
    ] {
        let line = arguments(&words);
        assert_eq!(shown(&line)[1..], expected, "{words:?}");
        assert!(line.is_complete(), "{words:?}: {:?}", line.gaps);
    }
}

#[test]
fn what_is_not_certain_is_a_gap() {
    use Gap::*;
    for (text, gap) in [
        ("echo $HOME", Expansion),
        ("echo \"$HOME\"", Expansion),
        ("echo ${x:-y}", Expansion),
        ("echo $(ls)", Expansion),
        ("echo `ls`", Expansion),
        ("echo {a,b}", Expansion),
        ("echo $((1 + 1))", Expansion),
        ("ls <(a)", Expansion),
        ("$'ls'", Expansion),
        ("$\"ls\"", Expansion),
        ("cat <<E\n$x\nE", Expansion),
        ("[[ 'a[$(rm)]' -eq 1 ]]", Expansion),
        ("test -v 'a[$(rm)]'", Expansion),
        ("ls *", FileNames),
        ("/bin/l? x", FileNames),
        ("l[s]", FileNames),
        ("PATH=/tmp git status", Variable),
        ("PATH=/tmp; git status", Variable),
        ("LD_PRELOAD=x git status", Variable),
        ("IFS=x", Variable),
        ("BASH_ENV=x bash -c ls", Variable),
        ("GIT_PAGER=rm git log", Variable),
        ("env PATH=/tmp git status", Variable),
        ("for PATH in /tmp; do git status; done", Variable),
        ("ls > out", Redirection),
        ("ls >> out", Redirection),
        ("ls &> out", Redirection),
        ("ls >| out", Redirection),
        ("ls >& out", Redirection),
        ("ls <> out", Redirection),
        ("{ ls; } > out", Redirection),
        ("exec 3< in", Redirection),
        ("find . -fprint out", Redirection),
        ("git() { ls; }; git status", Redefinition),
        ("alias git=rm", Redefinition),
        ("eval ls", Redefinition),
        ("source x", Redefinition),
        (". x", Redefinition),
        ("export PATH=/tmp", Redefinition),
        ("hash -p /tmp/x git", Redefinition),
        ("enable -f x git", Redefinition),
        ("trap rm EXIT", Redefinition),
        ("coproc ls", Redefinition),
        ("printf -v PATH /tmp", Redefinition),
        ("bash x.sh", Input),
        ("ls | sh", Input),
        ("echo ls | python3", Input),
        ("python3 -c 'x'", ForeignCode),
        ("python3 -Bc 'x'", ForeignCode),
        ("perl -ne 'x' y", ForeignCode),
        ("node --eval=x y", ForeignCode),
        ("ruby -e x", ForeignCode),
        ("php -r x", ForeignCode),
        ("awk 'BEGIN{system(\"rm\")}'", ForeignCode),
        ("fish -c ls", ForeignCode),
        ("ssh host ls", ForeignCode),
        ("sudo -s ls", Options),
        ("env -S 'rm -rf'", Options),
        ("xargs -I{} {} x", Options),
        ("watch ls", Options),
        ("git -c core.pager=rm status", Options),
        ("git grep -Orm x", Options),
        ("bash --rcfile x -c ls", Options),
        ("echo 'x", Unreadable),
        ("if", Unreadable),
        ("ls )", Unreadable),
        ("''", Unreadable),
        ("ls\rrm", Characters),
        ("ls\u{0}", Characters),
        ("ls\u{a0}x", Characters),
        ("l\u{200b}s", Characters),
        ("gіt status", Characters),
        ("~/bin/git status", Characters),
    ] {
        assert!(script(text).gaps.contains(&gap), "{text:?}: {:?}", script(text));
    }
    for both in [
        json!({"script": "ls", "command": "ls"}),
        json!({}),
        json!({"command": 3}),
        json!({"command": "ls", "parameters": "x"}),
    ] {
        assert!(!CommandLine::parse(&both).is_complete(), "{both}");
    }
}

#[test]
fn no_script_is_too_deep_or_too_long_for_the_stack_or_the_clock() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut scripts = vec![
        "x".repeat(1_000_000),
        "rm;".repeat(10_000),
        "'".repeat(30_000),
        "a ".repeat(15_000),
        "<<a ".repeat(8_000),
        "\\\n".repeat(15_000),
    ];
    for times in [10, 12, 16, 24, 40, 200, 10_000] {
        for (open, inner, close) in [
            ("(", "rm", ")"),
            ("( ", "rm", " )"),
            ("$(", "rm", ")"),
            ("echo $(", "rm", ")"),
            ("echo \"$(", "rm", ")\""),
            ("${a:-", "rm", "}"),
            ("\"${a:-", "$(rm)", "}\""),
            ("$((", "1", "))"),
            ("((", "1", "))"),
            ("$[", "1", "]"),
            ("{ ", "rm", ";}"),
            ("if ", "rm", ";then a;fi "),
            ("while ", "rm", ";do a;done "),
            ("for x in y; do ", "rm", ";done "),
            ("case a in a) ", "rm", ";; esac "),
            ("f() ", "rm", ""),
            ("function f ", "rm", ""),
            ("cat <(", "rm", ")"),
            ("{a,", "b", "}"),
            ("[[ ( ", "a", " ) ]]"),
            ("! ", "rm", ""),
            ("sudo ", "rm", ""),
            ("eval ", "rm", ""),
            ("ssh ", "rm", ""),
            ("watch ", "rm", ""),
            ("env -S ", "rm", ""),
            ("`", "rm", "`"),
            ("a=(", "b", ")"),
            ("a[", "b", "]=c"),
            ("x && ", "rm", ""),
            ("x | ", "rm", ""),
            ("$(( (", "1", ") ))"),
            ("echo $( ( ", "rm", " ) )"),
        ] {
            scripts.push(nested(open, inner, close, times));
        }
        let mut quoted = "rm".to_owned();
        for _ in 0..times.min(12) {
            quoted = format!("bash -c '{}'", quoted.replace('\'', "'\\''"));
        }
        scripts.push(quoted);
    }
    for inner in [
        "a;".repeat(590) + "rm",
        "a && ".repeat(290) + "rm",
        "a | ".repeat(590) + "rm",
        format!("echo $(({}1))", "1?1:".repeat(49)),
        format!("echo $(({}1))", "-".repeat(99)),
        format!("echo $(({}1))", "a=".repeat(99)),
        format!("[[ {}a ]]", "! ".repeat(99)),
        format!("echo $((a[{}1))", "1+".repeat(99)),
    ] {
        scripts.push(inner.clone());
        for (open, close) in [("( ", " )"), ("{ ", ";}"), ("if ", ";then a;fi "), ("f() ", "")] {
            scripts.push(nested(open, &inner, close, 23));
        }
        scripts.push(nested("echo $(", &inner, ")", 15));
    }
    // A worker's stack; an overflow would end the test's process.
    let work = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(move || {
        for text in scripts {
            let begin: String = text.chars().take(40).collect();
            println!("{} {begin}", text.len());
            let start = std::time::Instant::now();
            let line = script(&text);
            assert!(line.commands.len() <= COMMAND_LIMIT);
            assert!(start.elapsed().as_secs() < 5, "{begin}: {:?}", start.elapsed());
        }
    });
    work.unwrap().join().unwrap();
}
