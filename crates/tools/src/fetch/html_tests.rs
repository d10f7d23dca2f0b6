//! Checks how HTML reads as text, and that no page takes long.

use super::*;

#[track_caller]
fn check(html: &str, expected: &str) {
    let base = Url::parse("https://a.example/folder/page").unwrap();
    assert_eq!(plain(html, &base), expected);
}

#[test]
fn paragraphs_headings_and_lists_are_set_apart() {
    check(
        "<title>T &amp; U</title><h2>One\n two</h2><p>a<b>b</b>c <i>d</i>,<br>e</p><ul><li>x<li> y</ul>z",
        "T & U\n\n## One two\n\nabc d,\ne\n\n* x\n* y\n\nz",
    );
    check("<div><div><div>a</div></div></div><div>b</div>", "a\nb");
    check("a<hr>b", "a\n\n---\n\nb");
    check("<table><tr><th>a<th>b<tr><td>c</td><td>d</td></table>", "a | b\nc | d");
}

#[test]
fn preformatted_text_keeps_its_spaces() {
    check("x<pre>  a\n   b</pre>y  z", "x\n\n  a\n   b\n\ny z");
}

#[test]
fn scripts_styles_and_comments_are_left_out() {
    check(
        "a<script>if (a < b) { '<p>evil' }</script><style>p{}</style><!-- c --><svg><text>d</text></svg>e",
        "ae",
    );
    check("a<script>never closed", "a");
}

#[test]
fn links_are_whole_addresses_at_the_end() {
    check(
        "<a href='../x?y=1'>one</a> <a href='#z'>two</a> <a href='javascript:e()'>three</a> \
         <a href=http://b.example/>four</a> <img alt='a cat'>",
        "one[1] two three four[2] a cat\n\n[1]: https://a.example/x?y=1\n[2]: http://b.example/",
    );
}

#[test]
fn links_are_bounded() {
    let base = Url::parse("https://a.example/").unwrap();
    let text = plain(&"<a href=x>y</a>".repeat(LINKS + 10), &base);
    assert!(text.ends_with(&format!("[{LINKS}]: https://a.example/x")), "too many or too few");
    assert_eq!(plain(&format!("<a href={}>y</a>", "x".repeat(LINK + 1)), &base), "y");
}

#[test]
fn text_that_is_no_html_and_broken_html_are_read() {
    check("", "");
    check("just text < 3 &lt; &#x2603; &nope;", "just text < 3 < ☃ &nope;");
    check("</p></a></pre><p", "");
    check("<p>a</b></i>b</div>", "ab");
}

#[test]
fn hostile_pages_are_read_in_the_time_there_is() {
    let base = Url::parse("https://a.example/").unwrap();
    let attributes: String = (0..50_000).map(|number| format!(" a{number}=1")).collect();
    for (what, html) in [
        ("deep", "<div>".repeat(200_000)),
        ("tables", "<table><tr><td>".repeat(50_000)),
        ("lists", "<ul><li>".repeat(50_000)),
        ("formatting", "<b><i><p>".repeat(50_000)),
        ("scripts", "<script></script>".repeat(50_000)),
        ("attributes", format!("<p{attributes}>")),
        ("references", "&#x26;&amp;&".repeat(50_000)),
        ("no end", format!("<p {}", "a".repeat(2_000_000))),
    ] {
        let start = Instant::now();
        plain(&html, &base);
        assert!(start.elapsed() < PATIENCE * 4, "{what} took {:?}", start.elapsed());
    }
}
