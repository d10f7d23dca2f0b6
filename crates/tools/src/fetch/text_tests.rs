//! Checks what is made of a body: as text, in which characters, or not at all.

use super::*;

fn read(content_type: Option<&str>, body: &[u8], form: Form) -> Content {
    super::read(content_type, body, &Url::parse("https://a.example/").unwrap(), form)
}

fn text(content_type: &str, body: &[u8]) -> String {
    match read(Some(content_type), body, Form::Readable) {
        Content::Text(text) => text,
        Content::Binary(_) => panic!("{content_type} was taken for binary"),
    }
}

#[test]
fn html_becomes_text_with_its_links() {
    let html = b"<html><head><title>T</title><style>p{}</style><script>evil()</script></head>\
        <body><h1>Hello</h1><p>One <b>two</b> <a href='https://a.example/x'>three</a></p></body>";
    let text = text("text/html", html);
    assert!(text.contains("Hello") && text.contains("three"), "{text}");
    assert!(text.contains("https://a.example/x"), "{text}");
    assert!(!text.contains("evil") && !text.contains("p{}") && !text.contains('<'), "{text}");
}

#[test]
fn raw_html_and_other_text_stay_as_they_are() {
    let html = "<p>a</p>";
    assert_eq!(read(Some("text/html"), html.as_bytes(), Form::Raw), Content::Text(html.to_owned()));
    assert_eq!(text("application/json", b"{\"a\": 1}\n"), "{\"a\": 1}\n");
    assert_eq!(text("application/problem+json; charset=utf-8", b"{}"), "{}");
    assert_eq!(text("text/x-rust", b"fn main() {}"), "fn main() {}");
}

#[test]
fn characters_are_read_as_declared() {
    for (content_type, body, expected) in [
        ("text/plain; charset=ISO-8859-1", &b"caf\xE9"[..], "café"),
        ("text/plain; Charset=\"shift_jis\"", b"\x93\xFA\x96\x7B", "日本"),
        // Nothing is declared: UTF-8 where it is, and otherwise what the web was written in.
        ("text/plain", "café".as_bytes(), "café"),
        ("text/plain", b"caf\xE9", "café"),
        // A wrong or unknown name is no name.
        ("text/plain; charset=klingon", "café".as_bytes(), "café"),
        // A mark beats what the server says.
        ("text/plain; charset=iso-8859-1", b"\xEF\xBB\xBFcaf\xC3\xA9", "café"),
        ("text/plain", b"\xFF\xFEa\0b\0", "ab"),
        ("text/html", b"<meta charset='windows-1251'><p>\xCF\xF0\xE8", "При"),
        (
            "text/html",
            b"<meta http-equiv=content-type content='text/html; charset=koi8-r'><p>\xF0",
            "П",
        ),
        // It can be read, so it cannot be what it says.
        ("text/html", b"<meta charset=utf-16><p>caf\xC3\xA9", "café"),
    ] {
        assert_eq!(text(content_type, body), expected, "{content_type}");
    }
}

#[test]
fn what_is_no_text_is_not_shown() {
    for (content_type, body) in [
        (Some("image/png"), &b"\x89PNG"[..]),
        (Some("application/pdf"), b"%PDF-1.7"),
        (Some("application/octet-stream"), b"\x7FELF\0\0"),
        (Some("text/plain"), b"a\0b"),
        (None, b"\xFF\xFE\xFA"),
        (Some("text/plain"), b""),
    ] {
        assert_eq!(
            read(content_type, body, Form::Readable),
            Content::Binary(None),
            "{content_type:?}"
        );
    }
    assert_eq!(read(None, b"plain", Form::Readable), Content::Text("plain".to_owned()));
    let unknown = Some("application/octet-stream");
    assert_eq!(read(unknown, "é".as_bytes(), Form::Readable), Content::Text("é".to_owned()));
}

#[test]
fn long_text_is_cut_and_says_so() {
    let text = text("text/plain", "é".repeat(LIMIT).as_bytes());
    assert!(text.len() < LIMIT + 100);
    assert!(text.ends_with(&format!("[cut: about {LIMIT} more bytes of text]")), "…");
}
