//! The web page as browsers get it: its views, its files, what it may do, and how little is sent twice.

use agent_world_server::Role;
use reqwest::{Method, Response};

use crate::door::Door;

async fn get(door: &Door, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = door.request(Method::GET, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

fn header<'r>(response: &'r Response, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_view_is_the_page_also_for_those_who_have_not_signed_in() {
    let door = Door::open().await;
    door.token("ada", Role::Admin).await;
    let mut bodies = std::collections::BTreeSet::new();
    for path in [
        "/",
        "/inbox",
        "/inbox/apr_1",
        "/worlds",
        "/w/my-world",
        "/w/my-world/c/chat_1",
        "/w/my-world/c/chat_1/m/msg_1",
        "/w/my-world/settings",
        "/w/my-world/history",
        "/audit",
        "/stats",
        "/sign-in",
    ] {
        let answer = get(&door, path, &[]).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(header(&answer, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&answer, "cache-control"), "no-cache");
        bodies.insert(answer.text().await.unwrap());
    }
    assert_eq!(bodies.len(), 1);
    for path in ["/w", "/w/a/b", "/elsewhere", "/assets/none.js", "/assets/../index.html"] {
        let status = get(&door, path, &[]).await.status().as_u16();
        assert!(matches!(status, 401 | 404), "{path}: {status}");
    }
}

#[tokio::test]
async fn the_page_may_run_nothing_and_load_nothing_but_its_own() {
    let door = Door::open().await;
    for path in ["/", "/w/a/c/b", "/sign-in"] {
        let answer = get(&door, path, &[]).await;
        let policy = header(&answer, "content-security-policy").to_owned();
        let rules: Vec<&str> = policy.split("; ").collect();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(rules.contains(&rule), "{rule} in {policy}");
        }
        for forbidden in ["unsafe", "http", "*", "wasm"] {
            assert!(!policy.contains(forbidden), "{forbidden} in {policy}");
        }
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "x-frame-options"), "DENY");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
        assert_eq!(header(&answer, "cross-origin-opener-policy"), "same-origin");
    }
}

#[tokio::test]
async fn what_a_browser_has_is_not_sent_again() {
    let door = Door::open().await;
    let first = get(&door, "/", &[]).await;
    let tag = header(&first, "etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() > 20, "{tag}");
    let length = first.text().await.unwrap().len();
    for known in [tag.clone(), format!("\"other\", {tag}"), format!("W/{tag}"), "*".to_owned()] {
        let again = get(&door, "/worlds", &[("if-none-match", &known)]).await;
        assert_eq!(again.status(), 304, "{known}");
        assert_eq!(header(&again, "etag"), tag);
        assert_eq!(again.text().await.unwrap(), "");
    }
    assert_eq!(get(&door, "/", &[("if-none-match", "\"other\"")]).await.status(), 200);
    let head = door.request(Method::HEAD, "/").send().await.unwrap();
    assert_eq!((head.status().as_u16(), header(&head, "etag")), (200, tag.as_str()));
    assert_eq!(header(&head, "content-length"), length.to_string());
    assert_eq!(head.text().await.unwrap(), "");
}

/// The files that the page names: none where it was built without Node.
async fn files(door: &Door) -> Vec<String> {
    let page = get(door, "/", &[]).await.text().await.unwrap();
    let quoted = page.split('"').filter(|part| part.starts_with("/assets/"));
    quoted.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_page_has_its_files_or_says_how_to_get_them() {
    let door = Door::open().await;
    let page = get(&door, "/", &[]).await.text().await.unwrap();
    let files = files(&door).await;
    if files.is_empty() {
        assert!(page.contains("Node") && page.contains("cargo run --release"), "{page}");
        assert!(page.contains("/docs"), "{page}");
        return;
    }
    for file in files {
        let answer = get(&door, &file, &[]).await;
        assert_eq!(answer.status(), 200, "{file}");
        assert_eq!(header(&answer, "cache-control"), "public, max-age=31536000, immutable");
        let kind = header(&answer, "content-type").to_owned();
        let plain = answer.bytes().await.unwrap();
        if kind == "image/svg+xml" {
            // An icon of a few hundred bytes is as good uncompressed.
            continue;
        }
        assert!(kind.starts_with("text/"), "{file}: {kind}");
        let mut tags = std::collections::BTreeSet::new();
        for (accepted, encoding) in
            [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("gzip;q=0", ""), ("identity", "")]
        {
            let answer = get(&door, &file, &[("accept-encoding", accepted)]).await;
            assert_eq!(header(&answer, "content-encoding"), encoding, "{accepted}");
            assert_eq!(header(&answer, "vary"), "accept-encoding");
            tags.insert(header(&answer, "etag").to_owned());
            let sent = answer.bytes().await.unwrap();
            match encoding {
                "" => assert_eq!(sent, plain),
                _ => assert!(sent.len() < plain.len(), "{encoding} of {file}"),
            }
        }
        assert_eq!(tags.len(), 3, "each encoding has a tag of its own");
    }
}

#[tokio::test]
async fn an_address_that_nothing_is_at_leads_browsers_on_and_is_a_problem_for_programs() {
    let door = Door::open().await;
    let browser = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = get(&door, "/", &[]).await;
    let known = header(&page, "etag").to_owned();
    let page = page.text().await.unwrap();
    for path in ["/elsewhere", "/w/demo/nothing"] {
        let answer = get(&door, path, &[browser[0], ("if-none-match", &known)]).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(header(&answer, "content-type"), "text/html; charset=utf-8");
        assert!(header(&answer, "content-security-policy").contains("default-src 'none'"));
        assert_eq!(answer.text().await.unwrap(), page);
    }
    for (path, headers) in
        [("/elsewhere", [("accept", "*/*")]), ("/api/none", browser), ("/v1/none", browser)]
    {
        let answer = get(&door, path, &headers).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert!(answer.text().await.unwrap().contains("route_not_found"), "{path}");
    }
}

#[tokio::test]
async fn a_link_from_elsewhere_leads_to_the_page_and_nothing_else_does() {
    let door = Door::open().await;
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(get(&door, "/inbox/apr_1", &link).await.status(), 200);
    assert_eq!(get(&door, "/api/worlds", &link).await.status(), 403);
    let frame = [link[0], link[1], ("sec-fetch-dest", "iframe")];
    assert_eq!(get(&door, "/", &frame).await.status(), 403);
}
