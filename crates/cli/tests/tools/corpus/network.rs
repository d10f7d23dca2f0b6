//! Ways to other programs and machines: sockets from a confined command, and addresses that no page may come from.

use agent_world_llm::scripted::Answer;
use serde_json::json;

use super::canaries::Canaries;
use super::case::{Case, approved, confined, ensure};
use super::reach::acting;

const CALLS: &str = "something on this machine or its networks is reached";
const PRIVATE: &str = "private addresses";

type Address = (&'static str, fn(&Canaries) -> String, &'static str);

/// All of them mean this machine, its networks, or what is no page at all.
const ADDRESSES: [Address; 19] = [
    ("this machine", |canaries| at(canaries, "127.0.0.1"), PRIVATE),
    ("this machine by another number", |canaries| at(canaries, "127.9.9.9"), PRIVATE),
    ("this machine in version 6", |canaries| at(canaries, "[::1]"), PRIVATE),
    ("this machine in both versions", |canaries| at(canaries, "[::ffff:127.0.0.1]"), PRIVATE),
    ("any address", |canaries| at(canaries, "0.0.0.0"), PRIVATE),
    ("any address in version 6", |canaries| at(canaries, "[::]"), PRIVATE),
    ("one number", |canaries| at(canaries, "2130706433"), PRIVATE),
    ("numbers to the base of eight", |canaries| at(canaries, "0177.0.0.1"), PRIVATE),
    ("numbers to the base of sixteen", |canaries| at(canaries, "0x7f.0.0.1"), PRIVATE),
    ("fewer numbers", |canaries| at(canaries, "127.1"), PRIVATE),
    ("wide digits", |canaries| at(canaries, "１２７.０.０.１"), PRIVATE),
    ("the name of this machine", |canaries| at(canaries, "localhost"), PRIVATE),
    (
        "the name with a dot",
        |canaries| at(canaries, "localhost."),
        "private addresses|cannot|could not|error",
    ),
    (
        "what hands out credentials",
        |_| "http://169.254.169.254/latest/meta-data/".to_owned(),
        PRIVATE,
    ),
    ("a translated address", |canaries| at(canaries, "[64:ff9b::7f00:1]"), PRIVATE),
    ("a file", |canaries| format!("file://{}", canaries.outside_file()), "only http and https"),
    ("data", |_| "data:text/plain,hello".to_owned(), "only http and https"),
    ("a password", |canaries| at(canaries, "me:secret@127.0.0.1"), "user or password"),
    ("no address", |_| "http:///".to_owned(), "not a URL|names no host"),
];

/// Where the world allows this machine, a page of it may still not lead to these.
const REDIRECTS: [(&str, &str); 4] = [
    ("what hands out credentials", "http://169.254.169.254/latest/"),
    ("what hands out credentials, in version 6", "http://[fd00:ec2::254]/latest/"),
    ("a file", "file:///etc/hostname"),
    ("a password", "http://me:secret@127.0.0.1/"),
];

fn at(canaries: &Canaries, host: &str) -> String {
    format!("http://{host}:{}/", canaries.tcp_port())
}

pub fn cases() -> Vec<Case> {
    let mut cases = sockets();
    for (name, address, words) in ADDRESSES {
        let reply =
            move |canaries: &Canaries| Answer::call("fetch_url", json!({"url": address(canaries)}));
        cases.push(approved(format!("a page from {name}"), CALLS, reply).ends("failed", words));
    }
    for (name, target) in REDIRECTS {
        let reply = move |canaries: &Canaries| {
            Answer::call("fetch_url", json!({"url": canaries.web.url(&format!("to/{target}"))}))
        };
        let case = approved(format!("a page that leads to {name}"), CALLS, reply)
            .world(|world| world.sandbox.private_addresses = true);
        cases.push(case.ends("failed", "redirects").check(|aftermath| {
            let asked = aftermath.canaries.web.asked();
            ensure(asked.len() == 1, || format!("{asked:?} were asked for"))
        }));
    }
    cases.push(
        approved("a page that leads to itself", "it never ends", |canaries| {
            let target = canaries.web.url("to/").replace("/to/", "/to/x");
            Answer::call("fetch_url", json!({"url": canaries.web.url(&format!("to/{target}"))}))
        })
        .world(|world| world.sandbox.private_addresses = true)
        .check(|aftermath| {
            let asked = aftermath.canaries.web.asked().len();
            ensure(asked <= 6, || format!("it was asked {asked} times"))
        }),
    );
    cases
}

fn sockets() -> Vec<Case> {
    let refused = "Operation not permitted";
    vec![
        confined("a connection to this machine", CALLS, |canaries| {
            format!("echo > /dev/tcp/127.0.0.1/{}", canaries.tcp_port())
        })
        .ends("failed", refused),
        confined("a connection in version 6", CALLS, |canaries| {
            format!("echo > /dev/tcp/::1/{}", canaries.tcp_port())
        })
        .ends("failed", refused),
        confined("a datagram to this machine", CALLS, |canaries| {
            format!("echo > /dev/udp/127.0.0.1/{}", canaries.udp_port())
        })
        .ends("failed", refused),
        confined("a local socket", CALLS, |canaries| {
            acting(&format!("connect:{}", canaries.socket().display()))
        })
        .ends("failed", "PermissionDenied"),
        confined("a port of its own", CALLS, |_| acting("listen:"))
            .ends("failed", "PermissionDenied"),
    ]
}
