//! Checks that nothing invisible stays invisible, that secrets do not show, and that neither a mask
//! nor a cut goes unsaid.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::*;

const LIMIT: usize = 10_000;

fn masks(text: &str) -> String {
    mask_text(text).into_owned()
}

#[test]
fn hidden_characters_become_visible_escapes() {
    for (hidden, code) in [
        ('\0', "0"),
        ('\r', "D"),
        ('\u{1B}', "1B"),
        ('\u{7F}', "7F"),
        ('\u{85}', "85"),
        ('\u{A0}', "A0"),
        ('\u{AD}', "AD"),
        ('\u{34F}', "34F"),
        ('\u{61C}', "61C"),
        ('\u{115F}', "115F"),
        ('\u{180E}', "180E"),
        ('\u{2003}', "2003"),
        ('\u{200B}', "200B"),
        ('\u{200D}', "200D"),
        ('\u{202E}', "202E"),
        ('\u{2028}', "2028"),
        ('\u{2029}', "2029"),
        ('\u{2060}', "2060"),
        ('\u{2066}', "2066"),
        ('\u{2800}', "2800"),
        ('\u{3000}', "3000"),
        ('\u{3164}', "3164"),
        ('\u{E000}', "E000"),
        ('\u{FE0F}', "FE0F"),
        ('\u{FEFF}', "FEFF"),
        ('\u{FFA0}', "FFA0"),
        ('\u{1D159}', "1D159"),
        ('\u{E0001}', "E0001"),
        ('\u{E0041}', "E0041"),
        ('\u{E0100}', "E0100"),
    ] {
        let text = format!("a{hidden}b");
        let expected = format!("a\\u{{{code}}}b");
        assert_eq!(reveal(&text), expected);
        if hidden != '\r' {
            assert_eq!(reveal_line(&text), expected);
        }
        if hidden > ' ' {
            let json = shown(&json!(text), LIMIT);
            assert_eq!(json.text, format!("\"{expected}\""));
            assert!(json.complete);
        }
        assert_eq!(without_hidden(&text), "ab");
    }
}

#[test]
fn ordinary_text_is_not_touched() {
    for text in ["", "ls -la | wc", "größe 東京 Привет 😀", "a\n\tb", r"C:\users\n"] {
        assert!(matches!(reveal(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn a_typed_escape_is_told_from_a_real_one() {
    assert_eq!(reveal(r"\u{202E}"), r"\u{5C}u{202E}");
    assert_eq!(reveal_line("a\\nb\nc\td\r"), r"a\\nb\nc\td\r");
    assert_eq!(reveal_line(r"\u{202E}"), r"\\u{202E}");
    assert_eq!(shown(&json!(r"\u{202E}"), LIMIT).text, r#""\\u{202E}""#);
}

#[test]
fn arguments_are_shown_as_sorted_json() {
    let shown = shown(&json!({"b": [1, null], "a": "x\ny\u{1b}"}), LIMIT);
    let expected = "{\n  \"a\": \"x\\ny\\u001b\",\n  \"b\": [\n    1,\n    null\n  ]\n}";
    assert_eq!(shown.text, expected);
    assert!(shown.complete);
}

#[test]
fn a_cut_says_how_much_is_missing() {
    let exact = shown(&json!("éééé"), 6);
    assert_eq!(exact, Shown { text: "\"éééé\"".into(), complete: true });
    let cut = shown(&json!("éééé"), 3);
    assert_eq!(cut, Shown { text: "\"éé\n… 3 more characters not shown".into(), complete: false });
    assert_eq!(shown(&json!(1), 0).text, "\n… 1 more characters not shown");
}

#[test]
fn a_mask_makes_it_incomplete_and_shows_nothing_of_the_secret() {
    let shown = shown(&json!({"user": "ada", "password": "hunter2"}), LIMIT);
    assert!(!shown.complete);
    assert!(shown.text.contains("[secret masked: value of a secret field, 7 characters]"));
    assert!(shown.text.contains("ada") && !shown.text.contains("unter"));
}

#[test]
fn names_of_secrets_are_recognised_by_their_words() {
    for name in [
        "password",
        "PASSWORD",
        "db_passwd",
        "userPassword",
        "password2",
        "passphrase",
        "pass",
        "secret",
        "clientSecret",
        "AWSSecretAccessKey",
        "token",
        "access_token",
        "authtoken",
        "X-Auth-Token",
        "api_key",
        "apikey",
        "api-key",
        "apiKey",
        "APIKey",
        "X-API-Key",
        "OPENAI_API_KEY",
        "api.key",
        "Authorization",
        "private_key",
        "accessKey",
        "ssh_key",
        "credential",
        "credentials",
        "Cookie",
        "Set-Cookie",
        "token_value",
    ] {
        let masked = mask_secrets(&json!({ name: "plain", "other": "plain" }));
        assert_ne!(masked[name], "plain", "{name}");
        assert_eq!(masked["other"], "plain", "{name}");
    }
    for name in [
        "max_tokens",
        "maxTokens",
        "token_count",
        "token_type",
        "tokenizer",
        "password_file",
        "private_key_path",
        "key",
        "keyboard",
        "public_key",
        "author",
        "authors",
        "compass",
        "passenger",
        "bypass",
        "secretary",
        "path",
        "auth_method",
        "command",
    ] {
        assert_eq!(mask_secrets(&json!({ name: "plain" }))[name], "plain", "{name}");
    }
}

#[test]
fn only_text_under_a_secret_name_is_masked() {
    let plain =
        json!({"token": 5, "secret": null, "password": "", "pass": true, "max_tokens": 100});
    assert_eq!(mask_secrets(&plain), plain);
    let masked = mask_secrets(&json!({"credentials": {"user": "u", "more": ["v", 1]}}));
    assert!(!masked.to_string().contains(r#""u""#) && !masked.to_string().contains(r#""v""#));
    assert_eq!(masked["credentials"]["more"][1], 1);
}

#[test]
fn no_field_disappears_because_names_look_secret() {
    let names = ["sk-0123456789abcdef01", "sk-0123456789abcdef02"];
    let masked = mask_secrets(&json!({ names[0]: "first", names[1]: "second" }));
    assert_eq!(masked[names[0]], "first");
    assert_eq!(masked[names[1]], "second");
}

#[test]
fn a_secret_named_beside_its_value_is_masked() {
    let masked = mask_secrets(&json!([
        {"name": "Authorization", "value": "plain"},
        {"name": "Accept", "value": "plain"},
        ["login", "--password", "plain", "plain"],
    ]));
    assert_ne!(masked[0]["value"], "plain");
    assert_eq!(masked[1]["value"], "plain");
    assert_ne!(masked[2][2], "plain");
    assert_eq!(masked[2][3], "plain");
}

#[test]
fn secrets_are_recognised_by_their_form_inside_text() {
    // The part between ⟦ and ⟧ is the secret.
    for marked in [
        "use ⟦sk-ant-api03-AbCdEfGhIjKlMnOp⟧ now",
        "⟦sk-proj_1234567890abcdef⟧",
        "⟦AKIAIOSFODNN7EXAMPLE⟧,",
        "⟦ghp_0123456789abcdefghijABCDEFGHIJ012345⟧",
        "⟦github_pat_11ABCDEFG0123456789_abc⟧",
        "⟦glpat-0123456789abcdefghij⟧",
        "⟦xoxb-1234-5678-abcd⟧",
        "⟦AIzaSyA1234567890abcdefghijklmnopqrstuv⟧",
        "curl -H 'Authorization: Basic ⟦dXNlcjpw⟧' x",
        "curl -H \"authorization:  bearer ⟦abc⟧\" x",
        "Authorization: Bearer ⟦sk-ant-api03-AbCdEfGhIjKlMnOp⟧",
        "Bearer ⟦abc123⟧ now",
        "jwt ⟦eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP⟧",
        "postgres://ada:⟦p@ss⟧@host/db",
        "https://⟦abcdef⟧@github.com/x.git",
        "export MY_TOKEN=⟦TOKEN⟧ && run",
        "API_KEY='⟦abc⟧' run",
        "DB_PASSWORD=\"⟦abc⟧\"",
        "host=x password=⟦abc⟧ port=1",
        "curl -d '{\"password\": \"⟦abc⟧\"}'",
        r#"curl -d "{\"password\":\"⟦abc\⟧"}""#,
        "api_key: \"⟦abc⟧\"",
        "https://x.org/?a=1&access_token=⟦abc⟧&b=2",
        "login --password ⟦abc⟧ --user x",
        "login --api-key=⟦abc⟧",
        "k: ⟦-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789abcdef\nab12\n-----END RSA PRIVATE KEY-----⟧ end",
        "⟦-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0123456789abcdef\\n-----END PRIVATE KEY-----⟧\\n",
    ] {
        let (before, rest) = marked.split_once('⟦').unwrap();
        let (secret, after) = rest.split_once('⟧').unwrap();
        let found = masks(&format!("{before}{secret}{after}"));
        let ending = format!(", {} characters]{after}", secret.chars().count());
        assert!(found.starts_with(&format!("{before}[secret masked: ")), "{marked}\n{found}");
        assert!(found.ends_with(&ending), "{marked}\n{found}");
    }
}

#[test]
fn text_without_secrets_is_not_masked() {
    for text in [
        "git commit -m 'Add token parser'",
        "f(token=next, secret=None)",
        "let token = lexer.next();",
        "--max-tokens 100 --password-file /etc/x",
        "Authorization: Bearer $TOKEN",
        "bearer of bad news; basic things",
        "TOKEN=$(cat /run/token) run",
        "API_KEY=\"$KEY\"",
        "PASSWORD=",
        "https://example.org:8080/a@b",
        "ssh://git@github.com/x",
        "mail ada@example.org",
        "ask-me-anything-about-this-topic",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(masks(text), text);
    }
}

#[test]
fn a_mask_cannot_hide_a_command() {
    for (text, visible) in [
        ("TOKEN=x;rm -rf ~", ";rm -rf ~"),
        ("TOKEN=$(rm -rf ~) ls", "$(rm -rf ~) ls"),
        ("TOKEN=x`rm`", "`rm`"),
        ("echo 'TOKEN=\"'; rm -rf ~; echo '\"'", "rm -rf ~"),
        ("env \"TOKEN=\" rm -rf x \"\"", "rm -rf x"),
        ("x --password\nrm -rf ~", "rm -rf ~"),
        ("https://a:$(rm)@b", "$(rm)"),
        ("-----BEGIN PRIVATE KEY-----\nEOF\nrm -rf ~\n-----END PRIVATE KEY-----", "rm -rf ~"),
    ] {
        assert!(masks(text).contains(visible), "{text}\n{}", masks(text));
    }
}

#[test]
fn a_template_is_filled_once_on_one_line() {
    let arguments = json!({
        "command": "ls {path}\nrm\u{202e} \\n",
        "path": "/tmp",
        "count": 3,
        "list": ["a\nb", "\u{200b}"],
        "token": "hunter2",
        "none": null,
    });
    for (template, expected) in [
        ("Execute shell command: {command}", r"Execute shell command: ls {path}\nrm\u{202E} \\n"),
        ("{path}{path} {count}", "/tmp/tmp 3"),
        ("{list} {none}", r#""a\nb" "\u{200B}" null"#),
        ("[{missing}]", "[]"),
        ("{{path}} {} { path } {\"a\": 1} {path", "{/tmp} {} { path } {\"a\": 1} {path"),
        ("use {token}", "use [secret masked: value of a secret field, 7 characters]"),
        ("hid\u{200b}den", r"hid\u{200B}den"),
        ("", ""),
    ] {
        assert_eq!(fill_template(template, &arguments), expected, "{template}");
    }
    assert_eq!(fill_template("run {command}", &json!("no object")), "run");
    let words = json!({"command": "git", "parameters": ["commit", "-m", "two words", "", "a\"b"]});
    assert_eq!(
        fill_template("{command} {parameters}", &words),
        r#"git commit -m "two words" "" "a\"b""#
    );
    assert_eq!(fill_template("{parameters}", &json!({"parameters": ["a", 1]})), r#"["a",1]"#);
    let masked = fill_template("{command}", &json!({"command": "TOKEN=abc run"}));
    assert_eq!(masked, "TOKEN=[secret masked: assigned value, 3 characters] run");
}

#[test]
fn what_was_masked_is_not_masked_again() {
    let command =
        r#"curl -H "Authorization: Bearer sk-0123456789abcdef0123456789" http://x TOKEN=abc run"#;
    let once = mask_text(command).into_owned();
    assert_eq!(once.matches(MASKED).count(), 2, "{once}");
    assert_eq!(mask_text(&once), once);
    let fields = json!({"token": "abc", "nested": [{"api_key": "x"}], "command": command});
    let once = mask_secrets(&fields);
    assert_ne!(once, fields);
    assert_eq!(mask_secrets(&once), once);
    let beside = json!({"token": format!("{MASKED}x, 1 characters] and a secret")});
    assert!(!mask_secrets(&beside).to_string().contains("and a secret"));
}

#[test]
fn every_pattern_compiles_and_every_form_has_one_group() {
    assert!(HIDDEN_PATTERN.is_some());
    assert_ne!(reveal("\u{202e}é"), "\u{202e}é".escape_default().to_string());
    assert_ne!(reveal_line("\u{202e}é"), "\u{202e}é".escape_default().to_string());
    assert_eq!(secrets::groups(), Some(secrets::SECRET_FORMS.len()));
}

#[test]
fn hostile_texts_take_linear_time() {
    let size = 1 << 16;
    for unit in [
        "a://b:",
        "a://b:c@",
        "eyJ",
        "eyJaaaaaaaa.",
        "TOKEN=",
        "token\"",
        "--token ",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "\u{202e}",
        "{",
        "{a}",
        "?token=a&",
    ] {
        let text = unit.repeat(size / unit.len());
        let started = Instant::now();
        let _ = shown(&json!({ "text": text }), 1000);
        let _ = fill_template(&text, &json!({ "a": "b" }));
        assert!(started.elapsed() < Duration::from_secs(20), "{unit:?}");
    }
}

fn unescape(line: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let kind = after.chars().next()?;
        rest = after.strip_prefix(kind)?;
        text.push(match kind {
            '\\' => '\\',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (code, after) = rest.strip_prefix('{')?.split_once('}')?;
                rest = after;
                char::from_u32(u32::from_str_radix(code, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(text + rest)
}

proptest! {
    #[test]
    fn a_revealed_line_has_one_meaning(text in any::<String>()) {
        let line = reveal_line(&text);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(unescape(&line), Some(text));
    }

    #[test]
    fn what_is_shown_in_full_has_nothing_hidden(text in any::<String>()) {
        let shown = shown(&json!([text]), LIMIT);
        prop_assert_eq!(without_hidden(&shown.text), shown.text.replace('\n', ""));
    }
}

#[test]
fn a_text_that_was_revealed_is_not_revealed_again() {
    for text in ["a\u{202E}b\n\tc", "typed \\u{202E}", "plain\n", "both \u{200B} \\u{200B}"] {
        let once = reveal(text);
        assert_eq!(reveal_once(&once), once);
    }
    assert_eq!(reveal_once("a\u{202E} \\u{202E}"), reveal("a\u{202E} \\u{202E}"));
}
