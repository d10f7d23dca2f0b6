//! What a confined program cannot do. Each thing is shown to work without the sandbox, in the same test.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use agent_world_core::config::SandboxMode;
use agent_world_tools::launcher::{Bubblewrap, Launcher};
use agent_world_tools::sandbox::Support;
use serde_json::json;

use super::bench::{Bench, LAUNCHER, failed, write};

const DENIED: [&str; 3] = ["Permission denied", "Read-only file system", "Operation not permitted"];

#[tokio::test]
async fn nothing_outside_the_working_directory_can_be_written() {
    for bench in Bench::both() {
        let beside = bench.beside();
        symlink(&beside, bench.work().join("link")).unwrap();
        let absolute = beside.join("new").display().to_string();
        for path in [absolute.as_str(), "../beside/new", "link/new"] {
            let script = format!("echo text > {path}");
            let output = failed(bench.script(&script).await);
            assert!(DENIED.iter().any(|words| output.text.contains(words)), "{path}: {output:?}");
            assert!(!beside.join("new").exists());
        }
        bench.only_without_sandbox("echo text > ../beside/new", &DENIED).await;
    }
}

#[tokio::test]
async fn what_is_outside_can_be_neither_truncated_nor_removed_nor_moved() {
    for what in ["truncate -s 0 ../beside/file", "rm -f ../beside/file", "mv -f ../beside/file ."] {
        for bench in Bench::both() {
            write(&bench.beside().join("file"), "text");
            bench.only_without_sandbox(what, &DENIED).await;
        }
    }
}

#[tokio::test]
async fn the_working_directory_a_folder_of_its_own_and_named_places_can_be_written() {
    for bench in Bench::both() {
        let shared = bench.place.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let named = shared.display().to_string();
        let bench = bench.set(|sandbox| sandbox.writable = vec![named.clone()]);
        let script = format!(
            "mkdir -p a/b && echo 1 > a/b/c && mv a/b/c d && ln -s d e && echo 2 > $TMPDIR/x && echo 3 > {named}/y \
             && echo 4 > /dev/null && echo 5 > /dev/stderr && cat d && echo $TMPDIR"
        );
        let output = bench.script(&script).await.unwrap();
        let own = output.text.lines().nth(1).unwrap();
        assert!(
            output.text.starts_with("1\n/") && output.text.ends_with("[stderr]\n5"),
            "{output:?}"
        );
        assert!(!fs::exists(own).unwrap(), "{own} is still there");
        assert_eq!(fs::read_to_string(shared.join("y")).unwrap(), "3\n");
    }
}

#[tokio::test]
async fn no_tcp_connection_can_be_made() {
    for bench in Bench::both() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let script = format!("echo > /dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
        bench.only_without_sandbox(&script, &["Operation not permitted"]).await;
    }
}

#[tokio::test]
async fn no_datagram_can_be_sent() {
    for bench in Bench::both() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let script = format!("echo > /dev/udp/127.0.0.1/{}", socket.local_addr().unwrap().port());
        bench.only_without_sandbox(&script, &["Operation not permitted"]).await;
    }
}

#[tokio::test]
async fn no_local_socket_can_be_reached() {
    for bench in Bench::both() {
        let path = bench.work().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let script = connecting_to(&path);
        bench.only_without_sandbox(&script, &["not permitted"]).await;
    }
}

/// This test binary again, as a program that only connects.
fn connecting_to(path: &Path) -> String {
    let program = std::env::current_exe().unwrap();
    let (path, program) = (path.display(), program.display());
    format!("CONNECT_TO={path} {program} --exact confinement::connecting --nocapture")
}

/// Connects if it is told to; by itself it shows that it would notice a refusal.
#[test]
fn connecting() {
    let told = std::env::var("CONNECT_TO");
    match told {
        Ok(path) => drop(std::os::unix::net::UnixStream::connect(path).unwrap()),
        Err(_) => assert!(std::os::unix::net::UnixStream::connect("/nowhere/at/all").is_err()),
    }
}

#[tokio::test]
async fn with_network_connections_can_be_made_and_files_stay_protected() {
    for bench in Bench::both() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bench = bench.set(|sandbox| sandbox.network = true);
        let port = listener.local_addr().unwrap().port();
        let output = bench.script(&format!("echo > /dev/tcp/127.0.0.1/{port}")).await.unwrap();
        assert_eq!(output.details["sandbox"]["network"], true);
        bench.only_without_sandbox("echo text > ../beside/new", &DENIED).await;
    }
}

#[tokio::test]
async fn hidden_files_cannot_be_read() {
    for bench in Bench::both() {
        let beside = bench.beside();
        fs::create_dir(beside.join("keys")).unwrap();
        write(&beside.join("keys/one"), "secret");
        write(&beside.join("open"), "open");
        symlink(beside.join("keys"), beside.join("link")).unwrap();
        let keys = beside.join("keys").display().to_string();
        let bench = bench.set(|sandbox| sandbox.hidden = vec![keys]);
        assert_eq!(bench.script("cat ../beside/open").await.unwrap().text, "open");
        for path in ["../beside/keys/one", "../beside/link/one"] {
            let output = failed(bench.script(&format!("cat {path}")).await);
            assert!(!output.text.contains("secret"), "{path}: {output:?}");
        }
        let denied = ["Permission denied", "No such file"];
        bench.only_without_sandbox("cat ../beside/keys/one", &denied).await;
    }
}

#[tokio::test]
async fn the_programs_own_data_and_the_homes_of_keys_are_hidden() {
    for bubblewrap in [Bubblewrap::Never, Bubblewrap::WhereItWorks] {
        let bench = Bench::new();
        let home = bench.beside();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(home.join("data")).unwrap();
        for file in [".ssh/id", "data/store", ".npmrc", "notes"] {
            write(&home.join(file), "text");
        }
        let mut variables: Vec<_> =
            std::env::vars_os().filter(|(name, _)| name != "HOME").collect();
        variables.push(("HOME".into(), home.clone().into()));
        let tool = agent_world_tools::shell::ShellCmd::with_environment(variables)
            .launched_by(Launcher::at(LAUNCHER).bubblewrap(bubblewrap))
            .hiding([home.join("data")]);
        let bench = Bench { tool, ..bench };
        assert_eq!(bench.script("cat ~/notes").await.unwrap().text, "text");
        for file in [".ssh/id", "data/store", ".npmrc"] {
            let output = failed(bench.script(&format!("cat ~/{file}")).await);
            assert!(!output.text.starts_with("text"), "{file}: {output:?}");
        }
        let free = bench.set(|sandbox| sandbox.mode = SandboxMode::Off);
        assert_eq!(free.script("cat ~/.ssh/id").await.unwrap().text, "text");
    }
}

#[tokio::test]
async fn a_world_inside_hidden_data_has_its_working_directory_and_nothing_else_of_it() {
    for bubblewrap in [Bubblewrap::Never, Bubblewrap::WhereItWorks] {
        let bench = Bench::with(bubblewrap);
        write(&bench.beside().join("file"), "secret");
        let tool = bench.tool.clone().hiding([bench.place.path().to_owned()]);
        let bench = Bench { tool, ..bench };
        assert_eq!(bench.script("echo own > file; cat file").await.unwrap().text, "own");
        assert_eq!(fs::read_to_string(bench.work().join("file")).unwrap(), "own\n");
        let words = ["Permission denied", "No such file"];
        bench.only_without_sandbox("cat ../beside/file", &words).await;
    }
}

#[tokio::test]
async fn what_is_hidden_inside_the_working_directory_is_either_hidden_or_reported() {
    for bench in Bench::both() {
        fs::create_dir(bench.work().join("private")).unwrap();
        write(&bench.work().join("private/file"), "secret");
        let bench = bench.set(|sandbox| sandbox.hidden = vec!["private".to_owned()]);
        let output = bench.script("cat private/file; echo new > file").await.unwrap();
        let sandbox = output.details["sandbox"].clone();
        let reported = sandbox["missing"].to_string().contains("private` is not hidden");
        assert_eq!(output.text.contains("secret"), reported, "{output:?}");
        assert_eq!(sandbox["bubblewrap"], !reported);
        let bench = bench.set(|sandbox| sandbox.mode = SandboxMode::Required);
        let result = bench.script("cat private/file").await;
        assert!(!failed(result).text.contains("secret"));
    }
}

#[tokio::test]
async fn only_what_is_named_can_be_read_where_a_world_names_it() {
    for bench in Bench::both() {
        write(&bench.beside().join("file"), "text");
        let bench = bench.set(|sandbox| sandbox.readable = Some(Vec::new()));
        assert_eq!(
            bench.script("ls /usr > list; head -c 0 list; echo ok").await.unwrap().text,
            "ok"
        );
        bench.only_without_sandbox("cat ../beside/file", &DENIED).await;
    }
}

#[tokio::test]
async fn other_processes_environment_cannot_be_read() {
    let id = std::process::id();
    for bench in Bench::both() {
        let script = format!("cat /proc/{id}/environ > copy");
        bench.only_without_sandbox(&script, &["Permission denied", "No such file"]).await;
        let bench = Bench::new();
        // Nor that of the launcher, which is the program's parent.
        let output = failed(bench.script("cat /proc/$PPID/environ > copy").await);
        assert!(output.text.contains("Permission denied"), "{output:?}");
    }
}

#[tokio::test]
async fn neither_the_server_nor_the_launcher_can_be_signalled() {
    let id = std::process::id();
    for bench in Bench::both() {
        let words = ["Operation not permitted", "No such process"];
        let output = failed(bench.script("kill -0 $PPID").await);
        assert!(words.iter().any(|words| output.text.contains(words)), "{output:?}");
        bench.only_without_sandbox(&format!("kill -0 {id}"), &words).await;
    }
}

#[tokio::test]
async fn a_program_can_signal_and_read_its_own_processes() {
    for bench in Bench::both() {
        let script =
            "sleep 1000 & kill -0 $! && cat /proc/$!/environ > copy && kill $!; wait $!; echo $?";
        assert_eq!(bench.script(script).await.unwrap().text, "143");
    }
}

#[tokio::test]
async fn no_namespace_can_be_made() {
    for bench in Bench::both() {
        bench.only_without_sandbox("unshare --user true", &["Operation not permitted"]).await;
    }
}

#[tokio::test]
async fn an_administrators_program_cannot_reach_disks_or_mount() {
    if !is_administrator() {
        return;
    }
    for bench in Bench::both() {
        let output = failed(bench.script("mount -t tmpfs none .").await);
        assert!(output.text.contains("denied") || output.text.contains("permitted"), "{output:?}");
        let output = failed(bench.script("mknod disk b 8 0").await);
        assert!(output.text.contains("denied") || output.text.contains("permitted"), "{output:?}");
        let output = bench.script("grep CapEff /proc/self/status").await.unwrap();
        assert_eq!(output.text, "CapEff:\t00000000000004fb");
        let output = failed(bench.script("cat /etc/shadow > copy").await);
        assert!(output.text.contains("Permission denied"), "{output:?}");
    }
}

fn is_administrator() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t")
}

#[tokio::test]
async fn programs_with_threads_and_pairs_of_sockets_still_work() {
    for bench in Bench::both() {
        // A test binary starts threads; pipes of a shell are all it needs otherwise.
        let program = std::env::current_exe().unwrap();
        let script = format!("{} --exact confinement::threads_and_pairs | cat", program.display());
        let output = bench.script(&script).await.unwrap();
        assert!(output.text.contains("1 passed"), "{output:?}");
    }
}

#[test]
fn threads_and_pairs() {
    use std::io::{Read as _, Write as _};
    let (mut one, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
    let thread = std::thread::spawn(move || one.write_all(b"x").unwrap());
    thread.join().unwrap();
    let mut byte = [0];
    other.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"x");
}

#[tokio::test]
async fn a_result_says_what_was_in_force() {
    let output = Bench::new().script("true").await.unwrap();
    let sandbox = &output.details["sandbox"];
    assert_eq!(sandbox["seccomp"], true);
    assert_eq!(sandbox["limits"], true);
    assert_eq!(sandbox["network"], false);
    assert_eq!(sandbox["bubblewrap"], false);
    assert!(sandbox["missing"].to_string().contains("bubblewrap is not wanted"), "{sandbox}");
    let free = Bench::new().set(|sandbox| sandbox.mode = SandboxMode::Off);
    let sandbox = free.script("true").await.unwrap().details["sandbox"].clone();
    assert_eq!(sandbox["landlock"], json!(null));
    assert_eq!(sandbox["missing"], json!(["the world's sandbox is switched off"]));
}

#[tokio::test]
async fn a_world_that_requires_a_sandbox_refuses_to_run_without() {
    let bench = Bench::new().set(|sandbox| sandbox.mode = SandboxMode::Required);
    assert!(bench.script("true").await.is_ok());
    let tool = agent_world_tools::shell::ShellCmd::new();
    let bench = Bench { tool, ..bench };
    let text = failed(bench.script("touch made").await).text;
    assert!(text.starts_with("cannot run the script: this world requires a sandbox"), "{text}");
    assert!(!bench.work().join("made").exists());
    let bench = bench.set(|sandbox| sandbox.mode = SandboxMode::On);
    let output = bench.script("true").await.unwrap();
    assert!(output.details["sandbox"]["missing"].to_string().contains("no launcher"));
}

#[test]
fn what_the_system_supports_can_be_shown_and_leaves_this_process_free() {
    let support = Support::detect();
    let shown = support.to_string();
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert_eq!(support, Support::detect());
    assert!(TcpListener::bind("127.0.0.1:0").is_ok());
    assert!(fs::read_to_string("/proc/self/status").unwrap().contains("NoNewPrivs:\t0"));
}
