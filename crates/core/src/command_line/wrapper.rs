//! Decides which programs run other programs, and where among their parameters those stand.
//! Read by `seeing_through`. Never looks at a command; it is a table.

/// How a program comes to run another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    /// What follows its options, and then some words of its own, is a command.
    Prefix(Prefix),
    Env,
    Find,
    /// `-c` makes its first word a script; otherwise it reads one.
    Shell(Grammar),
    /// Runs text in a language of its own if one of these options is given.
    Interpreter(&'static [&'static str]),
    /// Its program may run others, and usually stands in its first word.
    Awk,
    /// Runs the rest on another machine.
    Remote,
    /// Runs what stands somewhere in its parameters, in ways too many to know.
    Somehow,
    /// Changes what later commands mean, or runs text.
    Builtin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// Options whose value is the next word, unless it is joined to them.
    pub valued: &'static [&'static str],
    pub flags: &'static [&'static str],
    /// Words of its own before the command.
    pub own: usize,
    /// Whether `NAME=value` may stand before the command.
    pub assigns: bool,
}

/// Whether a shell's scripts are what our parser reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grammar {
    Ours,
    Another,
}

const fn prefix(
    valued: &'static [&'static str],
    flags: &'static [&'static str],
    own: usize,
) -> Option<Wrapper> {
    Some(Wrapper::Prefix(Prefix { valued, flags, own, assigns: false }))
}

/// How a program of this name runs others, if it does.
pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    match name {
        "env" | "genv" => Some(Wrapper::Env),
        "find" | "gfind" => Some(Wrapper::Find),
        "sudo" => Some(Wrapper::Prefix(Prefix {
            valued: &[
                "-u",
                "--user",
                "-g",
                "--group",
                "-h",
                "--host",
                "-p",
                "--prompt",
                "-C",
                "--close-from",
                "-r",
                "--role",
                "-t",
                "--type",
                "-T",
                "--command-timeout",
                "-U",
                "--other-user",
                "-D",
                "--chdir",
                "-R",
                "--chroot",
            ],
            flags: &[
                "-A",
                "-b",
                "-E",
                "-H",
                "-K",
                "-k",
                "-n",
                "-P",
                "-S",
                "-v",
                "-l",
                "--preserve-env",
                "--non-interactive",
                "--background",
                "--stdin",
            ],
            own: 0,
            assigns: true,
        })),
        "doas" => prefix(&["-u", "-C"], &["-n", "-L"], 0),
        "nohup" | "setsid" | "gnohup" => {
            prefix(&[], &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], 0)
        }
        "nice" | "gnice" => prefix(&["-n", "--adjustment"], &[], 0),
        "ionice" => prefix(&["-c", "--class", "-n", "--classdata"], &["-t", "--ignore"], 0),
        "timeout" | "gtimeout" => prefix(
            &["-k", "--kill-after", "-s", "--signal"],
            &["-v", "--verbose", "--foreground", "--preserve-status", "-f", "-p"],
            1,
        ),
        "time" | "gtime" => prefix(&["-f", "--format"], &["-p", "-v", "-l", "-h", "--verbose"], 0),
        "stdbuf" | "gstdbuf" => {
            prefix(&["-i", "--input", "-o", "--output", "-e", "--error"], &[], 0)
        }
        "xargs" | "gxargs" => prefix(
            &[
                "-a",
                "--arg-file",
                "-d",
                "--delimiter",
                "-E",
                "-L",
                "--max-lines",
                "-n",
                "--max-args",
                "-P",
                "--max-procs",
                "-s",
                "--max-chars",
            ],
            &[
                "-0",
                "--null",
                "-r",
                "--no-run-if-empty",
                "-t",
                "--verbose",
                "-p",
                "--interactive",
                "-x",
                "--exit",
                "-o",
                "--open-tty",
            ],
            0,
        ),
        "command" => prefix(&[], &["-p"], 0),
        "builtin" | "busybox" | "toybox" | "unbuffer" | "fakeroot" => prefix(&[], &[], 0),
        "exec" => prefix(&["-a"], &["-c", "-l", "-cl", "-lc"], 0),
        "chroot" => prefix(&["-u", "-g"], &[], 1),
        "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh" | "rbash" | "rksh" | "yash" => {
            Some(Wrapper::Shell(Grammar::Ours))
        }
        "fish" | "csh" | "tcsh" | "pwsh" | "powershell" | "nu" | "elvish" | "xonsh" | "cmd" => {
            Some(Wrapper::Shell(Grammar::Another))
        }
        "awk" | "gawk" | "mawk" | "nawk" => Some(Wrapper::Awk),
        "ssh" | "rsh" | "mosh" => Some(Wrapper::Remote),
        "watch" | "parallel" | "su" | "runuser" | "script" | "unshare" | "nsenter" | "chrt"
        | "taskset" | "flock" | "strace" | "ltrace" | "gdb" | "systemd-run" | "caffeinate"
        | "xvfb-run" | "rlwrap" | "expect" | "at" | "batch" | "tmux" | "screen" | "entr"
        | "hyperfine" | "direnv" | "run0" | "pkexec" | "proot" | "bwrap" | "firejail"
        | "dbus-run-session" | "sg" | "newgrp" | "setpriv" | "capsh" | "prlimit" | "faketime"
        | "cpulimit" | "daemonize" | "start-stop-daemon" | "valgrind" | "perf" | "catchsegv"
        | "arch" | "linux32" | "linux64" | "setarch" | "chpst" | "softlimit" | "envdir"
        | "nsjail" | "trickle" | "torsocks" | "proxychains" | "proxychains4" | "watchexec"
        | "dotenv" => Some(Wrapper::Somehow),
        "eval" | "source" | "." | "alias" | "unalias" | "export" | "declare" | "typeset"
        | "readonly" | "local" | "set" | "shopt" | "enable" | "hash" | "trap" | "bind"
        | "compgen" | "complete" | "read" | "mapfile" | "readarray" | "getopts" | "unset"
        | "let" | "fc" | "history" | "shift" | "umask" | "ulimit" | "setopt" | "unsetopt"
        | "autoload" | "zmodload" | "nocorrect" | "noglob" | "coproc" | "emulate" | "functions" => {
            Some(Wrapper::Builtin)
        }
        _ => interpreter(name).map(Wrapper::Interpreter),
    }
}

/// The options with which an interpreter runs text of the command line.
fn interpreter(name: &str) -> Option<&'static [&'static str]> {
    let stem =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    match stem {
        "python" | "pypy" | "ipython" => Some(&["-c", "-"]),
        "perl" | "raku" => Some(&["-e", "-E", "-M", "-m", "-"]),
        "ruby" | "jruby" => Some(&["-e", "-r", "-"]),
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => Some(&[
            "-e",
            "--eval",
            "-p",
            "--print",
            "-pe",
            "-r",
            "--require",
            "--import",
            "eval",
            "-",
        ]),
        "php" => Some(&["-r", "-B", "-R", "-E", "-"]),
        "lua" | "luajit" => Some(&["-e", "-l", "-"]),
        "osascript" | "Rscript" | "julia" | "elixir" | "scala" | "groovy" | "guile" | "sbcl"
        | "racket" | "jshell" | "ghc" | "clojure" | "swift" => Some(&["-e", "-c", "-E", "-"]),
        "tclsh" | "wish" | "irb" | "ghci" | "R" | "octave" | "sqlite" | "psql" | "ed" | "ex" => {
            Some(&["-c", "-e", "-"])
        }
        _ => None,
    }
}
