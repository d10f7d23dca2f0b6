//! What hostile texts become: harmless, however they are cut into pieces, and in time that follows their length.
//! Reads what is rendered as a browser's tokenizer does, and knows the few things that may be in it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use agent_world_render::{Names, Rendering, render};
use expect_test::{Expect, expect};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use proptest::prelude::*;

fn names() -> Names {
    Names::new(["ada", "Grace Hopper", "bob-2"])
}

#[derive(Default)]
struct Reader {
    open: RefCell<Vec<String>>,
    faults: RefCell<Vec<String>>,
    text: RefCell<String>,
}

const EMPTY: [&str; 2] = ["br", "hr"];

fn attributes(tag: &str) -> &'static [&'static str] {
    match tag {
        "a" => &["class", "href", "title", "target", "rel"],
        "p" | "li" | "td" | "th" | "code" | "span" => &["class", "dir"],
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => &["dir"],
        "pre" => &["class", "dir", "data-language"],
        "table" => &["class"],
        "ol" => &["start"],
        "bdi" | "blockquote" | "br" | "del" | "em" | "hr" | "strong" | "tbody" | "thead" | "tr"
        | "ul" => &[],
        _ => &["unknown tag"],
    }
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let fault = |text: String| self.faults.borrow_mut().push(text);
        match token {
            Token::TagToken(tag) => {
                let name = tag.name.to_string();
                let allowed = attributes(&name);
                if allowed == ["unknown tag"] {
                    fault(format!("<{name}>"));
                }
                let values: BTreeMap<String, String> = tag
                    .attrs
                    .iter()
                    .map(|attribute| {
                        (attribute.name.local.to_string(), attribute.value.to_string())
                    })
                    .collect();
                for attribute in values.keys() {
                    if !allowed.contains(&attribute.as_str()) {
                        fault(format!("<{name} {attribute}>"));
                    }
                }
                if name == "a" && tag.kind == TagKind::StartTag {
                    check_link(&values, &fault);
                }
                match tag.kind {
                    TagKind::StartTag if !EMPTY.contains(&name.as_str()) => {
                        self.open.borrow_mut().push(name);
                    }
                    TagKind::StartTag => {}
                    TagKind::EndTag => {
                        if self.open.borrow_mut().pop().as_deref() != Some(&name) {
                            fault(format!("</{name}> closes nothing"));
                        }
                    }
                }
                if self.open.borrow().len() > 64 {
                    fault("too deep".to_owned());
                }
            }
            Token::CommentToken(text) => fault(format!("<!--{text}-->")),
            Token::DoctypeToken(_) => fault("doctype".to_owned()),
            Token::NullCharacterToken => fault("null".to_owned()),
            Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
            Token::ParseError(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

fn check_link(values: &BTreeMap<String, String>, fault: &dyn Fn(String)) {
    let value = |name: &str| values.get(name).map(String::as_str).unwrap_or_default();
    if value("rel") != "noopener noreferrer nofollow" || value("target") != "_blank" {
        fault(format!("a link without protection: {values:?}"));
    }
    let address = value("href").to_lowercase();
    if !["http://", "https://", "mailto:"].iter().any(|start| address.starts_with(start)) {
        fault(format!("a link to {address}"));
    }
}

/// The text that a reader sees of a block, which must be harmless.
fn read(block: &str) -> String {
    let tokenizer = Tokenizer::new(Reader::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(block));
    // A script would stop it here; it is told as an unknown tag.
    drop(tokenizer.feed(&input));
    tokenizer.end();
    let reader = tokenizer.sink;
    let faults = reader.faults.into_inner();
    assert!(faults.is_empty(), "{faults:?} in {block}");
    assert_eq!(reader.open.into_inner(), Vec::<String>::new(), "left open in {block}");
    reader.text.into_inner()
}

fn check(text: &str, expected: &Expect) {
    let blocks = render(text, &names());
    blocks.iter().for_each(|block| drop(read(block)));
    expected.assert_eq(&blocks.join("\n"));
}

/// Feeds a text in pieces, as somebody follows it who knows only what changed.
fn followed(text: &str, pieces: &[usize]) -> (Vec<String>, usize) {
    let mut rendering = Rendering::new(names());
    let mut shown: Vec<String> = Vec::new();
    let mut told = 0;
    let mut show = |blocks: Vec<agent_world_render::Block>| {
        for block in blocks {
            told += block.html.len();
            if shown.len() <= block.index {
                shown.resize(block.index + 1, String::new());
            }
            shown[block.index] = block.html;
        }
    };
    let mut rest = text;
    for length in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let mut end = (*length).clamp(1, rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        show(rendering.push(piece));
        rest = after;
    }
    show(rendering.finish());
    assert_eq!(rendering.blocks(), render(text, &names()));
    while shown.last().is_some_and(String::is_empty) {
        shown.pop();
    }
    (shown, told)
}

#[test]
fn a_script_is_shown_as_the_text_it_is() {
    check(
        "<script>alert(1)</script>",
        &expect![[r#"<p class="raw" dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;</p>"#]],
    );
    check(
        "a <img src=x onerror=alert(1)> b <b onclick=\"x()\">c</b>",
        &expect![[
            r#"<p dir="auto">a &lt;img src=x onerror=alert(1)&gt; b &lt;b onclick="x()"&gt;c&lt;/b&gt;</p>"#
        ]],
    );
    check(
        "<style>body{display:none}</style>\n\n<svg onload=alert(1)>",
        &expect![[r#"
        <p class="raw" dir="auto">&lt;style&gt;body{display:none}&lt;/style&gt;</p>
        <p class="raw" dir="auto">&lt;svg onload=alert(1)&gt;</p>"#]],
    );
    check(
        "<!-- gone? --> <?php ?> <![CDATA[x]]>",
        &expect![[
            r#"<p class="raw" dir="auto">&lt;!-- gone? --&gt; &lt;?php ?&gt; &lt;![CDATA[x]]&gt;</p>"#
        ]],
    );
    check(
        "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
        &expect![[r#"<p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt; &lt;script&gt;</p>"#]],
    );
}

#[test]
fn links_lead_to_the_web_and_to_mail_alone() {
    check(
        "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](java\tscript:x)",
        &expect![[
            r#"<p dir="auto">a <span class="address" dir="ltr">(javascript:alert(1))</span> b <span class="address" dir="ltr">(JaVaScRiPt:alert(1))</span> [c](java	script:x)</p>"#
        ]],
    );
    check(
        "[a](data:text/html;base64,PHNjcmlwdD4=) [b](vbscript:x) [c](/api/worlds)",
        &expect![[
            r#"<p dir="auto">a <span class="address" dir="ltr">(data:text/html;base64,PHNjcmlwdD4=)</span> b <span class="address" dir="ltr">(vbscript:x)</span> c <span class="address" dir="ltr">(/api/worlds)</span></p>"#
        ]],
    );
    check(
        "[a](https://example.org/?q=\"><script>) <https://example.org/b>",
        &expect![[
            r#"<p dir="auto"><a class="link" href="https://example.org/?q=&quot;&gt;&lt;script&gt;" title="https://example.org/?q=&quot;&gt;&lt;script&gt;" target="_blank" rel="noopener noreferrer nofollow"><bdi>a</bdi></a> <a class="link" href="https://example.org/b" title="https://example.org/b" target="_blank" rel="noopener noreferrer nofollow"><bdi>https://example.org/b</bdi></a></p>"#
        ]],
    );
    check(
        "<me@example.org> [mail](mailto:me@example.org)",
        &expect![[
            r#"<p dir="auto"><a class="link" href="mailto:me@example.org" title="mailto:me@example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>me@example.org</bdi></a> <a class="link" href="mailto:me@example.org" title="mailto:me@example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>mail</bdi></a></p>"#
        ]],
    );
    check(
        "see https://example.org/a_b(c). And (http://example.org), xhttps://no",
        &expect![[
            r#"<p dir="auto">see <a class="bare" href="https://example.org/a_b(c)" title="https://example.org/a_b(c)" target="_blank" rel="noopener noreferrer nofollow"><bdi>https://example.org/a_b(c)</bdi></a>. And (<a class="bare" href="http://example.org" title="http://example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>http://example.org</bdi></a>), xhttps://no</p>"#
        ]],
    );
    check(
        "[a][1] b\n\n[1]: javascript:alert(1)\n\n[2]: https://example.org",
        &expect![[r#"
        <p dir="auto">[a][1] b</p>
        <p dir="auto">[1]: javascript:alert(1)</p>
        <p dir="auto">[2]: <a class="bare" href="https://example.org" title="https://example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>https://example.org</bdi></a></p>"#]],
    );
}

#[test]
fn images_are_links_and_are_never_loaded() {
    check(
        "![a cat](https://example.org/cat.png \"t\")",
        &expect![[
            r#"<p dir="auto"><a class="image" href="https://example.org/cat.png" title="https://example.org/cat.png" target="_blank" rel="noopener noreferrer nofollow"><bdi>🖼 a cat</bdi></a></p>"#
        ]],
    );
    check(
        "![](data:image/svg+xml;base64,PHN2Zz4=)",
        &expect![[
            r#"<p dir="auto">🖼  <span class="address" dir="ltr">(data:image/svg+xml;base64,PHN2Zz4=)</span></p>"#
        ]],
    );
    check(
        "[![badge](https://example.org/b.svg)](https://example.org)",
        &expect![[
            r#"<p dir="auto"><a class="link" href="https://example.org" title="https://example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>🖼 badge <span class="address" dir="ltr">(https://example.org/b.svg)</span></bdi></a></p>"#
        ]],
    );
}

#[test]
fn what_is_hidden_is_shown() {
    check(
        "abc\u{202E}fdp.exe \u{E0041}\u{E0042} \u{1B}[31m a\0b",
        &expect![[
            r#"<p dir="auto">abc<span class="hidden">U+202E</span>fdp.exe <span class="hidden">U+E0041 U+E0042</span> <span class="hidden">U+001B</span>[31m a<span class="hidden">U+0000</span>b</p>"#
        ]],
    );
    check(
        "`a\u{200B}b\u{202E}`\n\n```rs\nlet a\u{2066} = 1; // \u{202E}\n```",
        &expect![[r#"
        <p dir="auto"><code dir="ltr">a<span class="hidden">U+200B</span>b<span class="hidden">U+202E</span></code></p>
        <pre class="code" dir="ltr" data-language="rs"><code><span class="hl-keyword">let</span> a<span class="hidden">U+2066</span> <span class="hl-operator">=</span> <span class="hl-number">1</span>; <span class="hl-comment">// <span class="hidden">U+202E</span></span></code></pre>"#]],
    );
    check(
        "[https://good.example\u{202E}](https://bad.example)",
        &expect![[
            r#"<p dir="auto"><a class="link" href="https://bad.example" title="https://bad.example" target="_blank" rel="noopener noreferrer nofollow"><bdi>https://good.example<span class="hidden">U+202E</span></bdi></a> <span class="address" dir="ltr">(https://bad.example)</span></p>"#
        ]],
    );
    check("שלום world", &expect![[r#"<p dir="auto">שלום world</p>"#]]);
}

#[test]
fn mentions_of_those_who_are_known_are_marked() {
    check(
        "@ada and @Ada, @nobody, a@ada, (@ada) @bob-2-\n@ada",
        &expect![[r#"
        <p dir="auto"><span class="mention">@ada</span> and <span class="mention">@Ada</span>, @nobody, a@ada, (@ada) <span class="mention">@bob-2</span>-
        <span class="mention">@ada</span></p>"#]],
    );
    check(
        "`@ada` [@ada](https://example.org)",
        &expect![[
            r#"<p dir="auto"><code dir="ltr">@ada</code> <a class="link" href="https://example.org" title="https://example.org" target="_blank" rel="noopener noreferrer nofollow"><bdi>@ada</bdi></a></p>"#
        ]],
    );
}

#[test]
fn markdown_is_written_by_block() {
    check(
        "# Title\ntext *a* **b** ~~c~~ `d`\nsecond line  \nthird\n\n> quote\n\n---\n\n1. one\n2. two\n   - inner\n\n   more\n3. three\n\n- [ ] open\n- [x] done\n\nend",
        &expect![[r#"
            <h1 dir="auto">Title</h1><p dir="auto">text <em>a</em> <strong>b</strong> <del>c</del> <code dir="ltr">d</code>
            second line<br>third</p>
            <blockquote><p dir="auto">quote</p></blockquote>
            <hr>
            <ol><li dir="auto"><p dir="auto">one</p></li><li dir="auto"><p dir="auto">two</p><ul><li dir="auto">inner</li></ul><p dir="auto">more</p></li><li dir="auto"><p dir="auto">three</p></li></ol><ul><li dir="auto"><span class="task open">☐</span> open</li><li dir="auto"><span class="task done">☑</span> done</li></ul>
            <p dir="auto">end</p>"#]],
    );
    check(
        "text\n| a | b |\n|:-|-:|\n| 1 | `x|y` |\n| 2 |\n\nafter",
        &expect![[r#"
        <p dir="auto">text</p>
        <table><thead><tr><th dir="auto" class="left">a</th><th dir="auto" class="right">b</th></tr></thead><tbody><tr><td dir="auto" class="left">1</td><td dir="auto" class="right">`x</td></tr><tr><td dir="auto" class="left">2</td><td dir="auto" class="right"></td></tr></tbody></table>
        <p dir="auto">after</p>"#]],
    );
}

#[test]
fn code_is_marked_by_classes() {
    check(
        "before\n```rust title=\"x\"\nfn main() { let a = \"<b>\"; }\n\n// end\n```\nafter",
        &expect![[r#"
        <p dir="auto">before</p>
        <pre class="code" dir="ltr" data-language="rust"><code><span class="hl-keyword">fn</span> <span class="hl-function">main</span>() { <span class="hl-keyword">let</span> a <span class="hl-operator">=</span> <span class="hl-string">"&lt;b&gt;"</span>; }

        <span class="hl-comment">// end</span></code></pre>
        <p dir="auto">after</p>"#]],
    );
    check(
        "```\"><script>\nx\n```",
        &expect![[r#"<pre class="code" dir="ltr"><code>x</code></pre>"#]],
    );
    check(
        "~~~nolang\n<script>\n~~~",
        &expect![[
            r#"<pre class="code" dir="ltr" data-language="nolang"><code>&lt;script&gt;</code></pre>"#
        ]],
    );
    check(
        "- a\n  ```js\n  let b = 1;\n  ```\n- c",
        &expect![[
            r#"<ul><li dir="auto">a<pre class="code" dir="ltr" data-language="js"><code><span class="hl-keyword">let</span> b <span class="hl-operator">=</span> <span class="hl-number">1</span>;</code></pre></li><li dir="auto">c</li></ul>"#
        ]],
    );
    check(
        "```py\nx = 1\n",
        &expect![[
            r#"<pre class="code" dir="ltr" data-language="py"><code>x <span class="hl-operator">=</span> <span class="hl-number">1</span></code></pre>"#
        ]],
    );
}

/// Texts that are long or deep in some way, each of about a length.
fn long(length: usize) -> Vec<(&'static str, String)> {
    let times = |text: &str| text.repeat(length / text.len());
    vec![
        ("one line", times("word ")),
        ("one word", times("x")),
        ("one hidden word", times("\u{202E}\u{200B}")),
        ("quotations", times(">")),
        ("quotations in lines", times("> > > > > > > > > > > > > > > > > > > > > > > > a\n")),
        (
            "items in items",
            (0..length / 200).map(|at| format!("{}- a\n", " ".repeat(at % 200))).collect(),
        ),
        ("emphasis", times("*a **b ")),
        ("underlines", times("_a__b_")),
        ("brackets", times("[")),
        ("links", times("[a](")),
        ("images", times("![a](<b")),
        ("ticks", times("` `` ``` ")),
        ("tags", times("<a href=")),
        ("comments", times("<!-- ")),
        ("entities", times("&#x41;&amp")),
        ("colons", times("http:")),
        ("addresses", times("https://a")),
        ("ats", times("@ada @")),
        (
            "a wide table",
            format!(
                "{}\n{}\n{}",
                times("|a").get(..length / 4).unwrap(),
                times("|-").get(..length / 4).unwrap(),
                times("|\n").get(..length / 2).unwrap()
            ),
        ),
        (
            "a wide table in a list",
            format!(
                "- {}\n  {}\n{}",
                "|a".repeat(2_000),
                "|-".repeat(2_000),
                "  |\n".repeat(1_000)
            ),
        ),
        ("a long table", format!("|a|b|\n|-|-|\n{}", times("| one | two |\n"))),
        ("a long list", times("- item\n")),
        ("a loose list", times("- item\n\n")),
        // One line of what is looked at among many that are not: looking at code is slow without optimisation.
        ("long code", format!("```rust\nlet a = 1;\n```\n```\n{}", times("let a = \"b\"; // c\n"))),
        ("a long line of code", format!("```js\n{}", times("a(((b[["))),
        ("many fences", times("```\n")),
        ("blank lines", times("\n")),
        ("definitions", times("[a]: b\n")),
        ("rules", times("- - -\n")),
        ("setext", times("a\n=\n")),
        ("carriage returns", times("a\r\n")),
        ("nulls", times("\0\0\0\0\0 a word ")),
    ]
}

#[test]
fn long_texts_are_harmless_in_pieces_and_as_a_whole() {
    for (name, text) in long(20_000) {
        let blocks = render(&text, &names());
        for block in &blocks {
            read(block);
            assert!(block.len() < 2_000_000, "{name}: a block of {} bytes", block.len());
        }
        let (shown, _) = followed(&text, &[997, 3_001]);
        assert_eq!(shown, blocks, "{name}");
    }
}

#[test]
fn what_a_reader_is_sent_grows_with_the_text_and_not_with_its_square() {
    for (name, text) in long(64_000) {
        if !["one line", "a long list", "a long table", "long code", "one word"].contains(&name) {
            continue;
        }
        let half = text.get(..text.len() / 2).unwrap();
        let (_, told) = followed(&text, &[1_400]);
        let (_, earlier) = followed(half, &[1_400]);
        // Twice the text; a square would be four times as much.
        assert!(told < 3 * earlier, "{name}: {told} after {earlier}");
    }
}

#[test]
fn nothing_that_is_written_gets_lost() {
    for text in [
        "a <b>c</b> d",
        "[x]: https://example.org 'title'",
        "<div>\n\nin\n\n</div>",
        "| a |\n|-|\n| b |",
    ] {
        let seen: String =
            render(text, &Names::default()).iter().map(|block| read(block)).collect();
        for word in text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()) {
            assert!(seen.contains(word), "{word} of {text} is not in {seen}");
        }
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "\n",
        "\n\n",
        "  ",
        "    ",
        "\t",
        "- ",
        "1. ",
        "> ",
        "# ",
        "```",
        "```rust\n",
        "~~~",
        "`",
        "``",
        "|",
        "|-|",
        "| a | b |\n|---|---|\n",
        "*",
        "**",
        "_",
        "~~",
        "[",
        "](",
        ")",
        "![",
        "<script>",
        "</script>",
        "<img src=x onerror=",
        "<!--",
        "-->",
        "<a href=\"",
        "javascript:",
        "data:",
        "https://example.org/",
        "mailto:a@b",
        "@ada",
        "@",
        "&lt;",
        "&#0;",
        "&",
        "\"",
        "'",
        "\\",
        "\0",
        "\r",
        "\r\n",
        "\u{202E}",
        "\u{200B}",
        "\u{E0041}",
        "[1]: ",
        "===\n",
        "---\n",
        "[ ] ",
        "let a = 1;",
        "<",
        ">",
        "style=",
        "é",
        "שלום",
        "🖼",
        "text",
    ]);
    let any =
        prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>(), 1 => "[ -~]{0,12}"];
    prop::collection::vec(any, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_harmless_and_the_same_in_pieces(text in fragments(), pieces in prop::collection::vec(1_usize..40, 1..8)) {
        let blocks = render(&text, &names());
        blocks.iter().for_each(|block| drop(read(block)));
        let (shown, _) = followed(&text, &pieces);
        prop_assert_eq!(shown, blocks);
    }
}
