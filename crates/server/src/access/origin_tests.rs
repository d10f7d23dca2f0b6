//! Tests of where a request may come from.

use axum::http::Request;

use super::*;

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// What is made of a request: the code of its refusal, or `ok`.
fn judged(uri: &str, headers: &[(&str, &str)]) -> String {
    let parts = parts(uri, headers);
    let judge = || {
        let host = host(&parts)?.ok_or_else(no_host)?;
        check_loopback(&host)?;
        check_origin(&parts, Some(&host), Showing::Private)
    };
    judge().map_or_else(|problem| problem.code().to_owned(), |()| "ok".to_owned())
}

#[test]
fn names_of_this_machine_are_let_in_and_no_others() {
    let own = [
        "localhost",
        "LOCALHOST:7420",
        "localhost:1",
        "127.0.0.1",
        "127.0.0.1:7420",
        "127.255.3.4:80",
        "[::1]",
        "[::1]:7420",
        "[0:0:0:0:0:0:0:1]:65535",
    ];
    for host in own {
        assert_eq!(judged("/", &[("host", host)]), "ok", "{host}");
    }
    let others = [
        "",
        "evil.example",
        "evil.example:7420",
        "localhost.evil.example",
        "evil.localhost",
        "localhost.",
        "127.0.0.1.evil.example",
        "127.1",
        "0177.0.0.1",
        "2130706433",
        "0.0.0.0",
        "10.0.0.1",
        "[::]",
        "[::1%25lo]",
        "[::ffff:127.0.0.1]",
        "::1",
        "localhost:",
        "localhost:x",
        "localhost:+80",
        "localhost:99999",
        "localhost:80:80",
        "a@localhost",
        "localhost/",
        "localhost,evil.example",
        "localhost evil.example",
        "[::1",
        "[::1]x",
        "lo\u{e9}calhost",
    ];
    for host in others {
        assert_eq!(judged("/", &[("host", host)]), "host_refused", "{host}");
    }
    assert_eq!(judged("/", &[]), "host_refused");
}

#[test]
fn every_place_that_names_a_host_must_name_the_same() {
    assert_eq!(judged("http://localhost:7420/", &[]), "ok");
    assert_eq!(judged("http://LOCALHOST:7420/", &[("host", "localhost:7420")]), "ok");
    assert_eq!(judged("http://evil.example/", &[("host", "localhost")]), "host_refused");
    assert_eq!(judged("http://localhost/", &[("host", "evil.example")]), "host_refused");
    let twice = [("host", "localhost"), ("host", "evil.example")];
    assert_eq!(judged("/", &twice), "host_refused");
    assert_eq!(judged("http://a@localhost/", &[]), "host_refused");
}

#[test]
fn only_pages_of_the_very_same_host_and_port_may_ask() {
    let with = |host, origin| judged("/", &[("host", host), ("origin", origin)]);
    for (host, origin) in [
        ("localhost:7420", "http://localhost:7420"),
        ("localhost:7420", "HTTP://LocalHost:7420"),
        ("localhost:7420", "https://localhost:7420"),
        ("localhost", "http://localhost"),
        ("localhost", "http://localhost:80"),
        ("[::1]:7420", "http://[::1]:7420"),
    ] {
        assert_eq!(with(host, origin), "ok", "{origin} at {host}");
    }
    for (host, origin) in [
        ("localhost:7420", "http://localhost:3000"),
        ("localhost:7420", "http://localhost"),
        ("localhost:7420", "http://127.0.0.1:7420"),
        ("localhost:7420", "https://evil.example"),
        ("localhost:7420", "http://localhost:7420.evil.example"),
        ("localhost:7420", "http://localhost:7420/"),
        ("localhost:7420", "null"),
        ("localhost:7420", ""),
        ("localhost:7420", "localhost:7420"),
        ("localhost:7420", "file://localhost:7420"),
        ("localhost:7420", "chrome-extension://localhost:7420"),
        ("localhost:7420", "http://a@localhost:7420"),
    ] {
        assert_eq!(with(host, origin), "origin_refused", "{origin} at {host}");
    }
    let two =
        [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.example")];
    assert_eq!(judged("/", &two), "origin_refused");
}

#[test]
fn what_browsers_say_about_a_request_is_believed() {
    let with = |site| judged("/", &[("host", "localhost"), ("sec-fetch-site", site)]);
    assert_eq!((with("same-origin"), with("none")), ("ok".to_owned(), "ok".to_owned()));
    for site in ["cross-site", "same-site", "CROSS-SITE", "", "new-word"] {
        assert_eq!(with(site), "origin_refused", "{site}");
    }
}

#[test]
fn a_link_from_elsewhere_leads_to_what_is_public_only() {
    let link = [
        ("host", "localhost"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let follow = |headers: &[(&str, &str)], showing| {
        let parts = parts("/", headers);
        let host = host(&parts).unwrap();
        check_origin(&parts, host.as_ref(), showing).is_ok()
    };
    assert!(follow(&link, Showing::Public));
    assert!(!follow(&link, Showing::Private));
    let framed = [link[0], link[1], link[2], ("sec-fetch-dest", "iframe")];
    assert!(!follow(&framed, Showing::Public));
}
