//! Checks `fetch_url` against servers on this machine that misbehave in every way a server can.
//! Each server is a list of replies by path; what it was asked is kept, so that what must not be sent can be seen.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Instant;

use agent_world_core::arguments::validate;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Registry;

/// What a server does when it is asked for a path.
#[derive(Clone)]
enum Reply {
    Bytes(Vec<u8>),
    /// A head, and then a body without end.
    Endless(&'static str),
    /// A head, and then nothing.
    Silent(&'static str),
}

#[derive(Clone)]
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Self {
        let replies: BTreeMap<_, _> = replies.into_iter().collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = Self { address, asked: Arc::clone(&asked) };
        let replies = Arc::new(replies);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&replies), Arc::clone(&asked)));
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    replies: Arc<BTreeMap<&'static str, Reply>>,
    asked: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    asked.lock().unwrap().push(request);
    let missing =
        Reply::Bytes(page("404 Not Found", "content-type: text/plain\r\n", b"no such page"));
    match replies.get(path.as_str()).unwrap_or(&missing) {
        Reply::Bytes(bytes) => stream.write_all(bytes).await,
        Reply::Endless(head) => {
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
        Reply::Silent(head) => {
            stream.write_all(head.as_bytes()).await?;
            stream.read_u8().await.map(|_| ())
        }
    }
}

fn page(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn plain(body: &[u8]) -> Reply {
    Reply::Bytes(page("200 OK", "content-type: text/plain\r\n", body))
}

fn redirect(location: &str) -> Reply {
    Reply::Bytes(page("302 Found", &format!("location: {location}\r\n"), b""))
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// Names that mean what a test wants them to mean, one answer after the other.
#[derive(Debug)]
struct Names(Mutex<Vec<Vec<IpAddr>>>);

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

fn names(answers: &[&str]) -> Arc<Names> {
    let answers = answers.iter().map(|one| vec![one.parse().unwrap()]).collect();
    Arc::new(Names(Mutex::new(answers)))
}

/// The one private address that counts as public, for servers that redirect to the others.
fn first_loopback_or_public(address: IpAddr) -> bool {
    address == Ipv4Addr::LOCALHOST || address::is_public(address)
}

fn tool() -> FetchUrl {
    FetchUrl { may_reach: first_loopback_or_public, ..FetchUrl::new(Fetch::default()) }
}

fn invocation(tool: &FetchUrl, arguments: Value) -> Invocation {
    let arguments = validate(arguments, &tool.spec().parameters).unwrap();
    Invocation::new("call_1".into(), "world".into(), "chat_1".into(), "ada".into(), arguments)
}

async fn run(tool: &FetchUrl, arguments: Value) -> Result<Output, Failure> {
    tool.run(invocation(tool, arguments)).await
}

async fn fetched(tool: &FetchUrl, url: &str) -> Output {
    run(tool, json!({ "url": url })).await.unwrap()
}

async fn refused(tool: &FetchUrl, url: &str) -> String {
    run(tool, json!({ "url": url })).await.unwrap_err().into_output().text
}

#[tokio::test]
async fn a_page_comes_with_its_status_type_and_address() {
    let html = page("200 OK", "content-type: text/html\r\n", b"<h1>Hi</h1><a href=/b>b</a>");
    let server = Server::start([("/a?q=1", Reply::Bytes(html))]).await;
    let url = server.url("/a?q=1");
    let output = fetched(&tool(), &format!("{url}#part")).await;
    let link = server.url("/b");
    assert_eq!(output.text, format!("[200 OK, text/html, {url}]\n# Hi\n\nb[1]\n\n[1]: {link}"));
    let expected = json!({
        "status": 200, "url": url, "content_type": "text/html", "bytes": 27, "truncated": false,
    });
    assert_eq!(output.details, expected);
    let raw = run(&tool(), json!({"url": url, "raw": true})).await.unwrap();
    assert!(raw.text.ends_with("<h1>Hi</h1><a href=/b>b</a>"), "{}", raw.text);
}

#[tokio::test]
async fn nothing_is_sent_that_tells_who_asks() {
    let server = Server::start([("/", plain(b"hi"))]).await;
    fetched(&tool(), &server.url("/")).await;
    let asked = server.asked().remove(0).to_ascii_lowercase();
    let names: Vec<&str> =
        asked.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["accept", "accept-encoding", "host", "user-agent"]);
}

#[tokio::test]
async fn a_page_of_failure_is_a_failure_with_its_text() {
    let server = Server::start([]).await;
    let failure = run(&tool(), json!({ "url": server.url("/x") })).await.unwrap_err();
    let Failure::Failed(output) = failure else { panic!("{failure:?}") };
    assert_eq!(output.details["status"], 404);
    assert!(output.text.ends_with("no such page"), "{}", output.text);
}

#[tokio::test]
async fn urls_that_cannot_be_meant_are_refused_before_anybody_is_asked() {
    let tool = FetchUrl::new(Fetch::default());
    for (url, expected) in [
        ("no url", "is not a URL"),
        ("file:///etc/passwd", "only http and https"),
        ("ftp://a.example/", "only http and https"),
        ("data:text/plain,hi", "only http and https"),
        ("https://user@a.example/", "user or password"),
        ("https://:secret@a.example/", "user or password"),
        ("http://127.0.0.1/", "private"),
        ("http://127.1/", "private"),
        ("http://2130706433/", "private"),
        ("http://0x7f.0.0.1/", "private"),
        ("http://0177.0.0.1/", "private"),
        ("http://0/", "private"),
        ("http://[::1]/", "private"),
        ("http://[::ffff:127.0.0.1]/", "private"),
        ("http://[64:ff9b::7f00:1]/", "private"),
        ("http://169.254.169.254/latest/meta-data/", "private"),
        ("http://１２７.0.0.1/", "private"),
    ] {
        let call = invocation(&tool, json!({ "url": url }));
        let prepared = tool.prepare(call.intent()).await.unwrap_err();
        assert!(prepared.contains(expected), "{url}: {prepared}");
        assert!(!prepared.contains("secret"), "{prepared}");
        assert_eq!(refused(&tool, url).await, prepared, "{url}");
    }
}

#[tokio::test]
async fn what_is_approved_is_the_address_as_it_is_asked_for() {
    let tool = FetchUrl::new(Fetch::default());
    let call = invocation(&tool, json!({"url": "HTTPS://exаmple.com/a b#c"}));
    let prepared = tool.prepare(call.intent()).await.unwrap();
    // The second letter was a Cyrillic one.
    assert_eq!(prepared.facts["url"], "https://xn--exmple-4nf.com/a%20b");
}

#[tokio::test]
async fn names_of_this_machine_are_refused_where_the_connection_is_made() {
    let server = Server::start([("/", plain(b"secret"))]).await;
    let port = server.address.port();
    let tool = FetchUrl::new(Fetch::default());
    let by_name = refused(&tool, &format!("http://localhost:{port}/")).await;
    assert!(by_name.starts_with("localhost has only private addresses"), "{by_name}");
    let tool = FetchUrl { names: names(&["127.0.0.1"]), ..FetchUrl::new(Fetch::default()) };
    let hooked = refused(&tool, &format!("http://a.example:{port}/")).await;
    assert!(hooked.starts_with("a.example has only private addresses"), "{hooked}");
    assert!(server.asked().is_empty(), "it was asked");
}

#[tokio::test]
async fn a_name_that_changes_its_meaning_is_caught_at_the_next_connection() {
    let server = Server::start([("/", redirect("/again")), ("/again", plain(b"secret"))]).await;
    let tool = FetchUrl { names: names(&["127.0.0.1", "127.0.0.2"]), ..tool() };
    let url = format!("http://a.example:{}/", server.address.port());
    let text = refused(&tool, &url).await;
    assert!(text.starts_with("a.example has only private addresses"), "{text}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn own_addresses_can_be_allowed() {
    let server = Server::start([("/", plain(b"hi"))]).await;
    let tool = FetchUrl::new(Fetch { private_addresses: true, ..Fetch::default() });
    assert!(fetched(&tool, &server.url("/")).await.text.ends_with("hi"));
    let by_name = format!("http://localhost:{}/", server.address.port());
    assert!(fetched(&tool, &by_name).await.text.ends_with("hi"));
    assert!(refused(&tool, "http://169.254.169.254/").await.contains("private"));
}

#[tokio::test]
async fn redirects_are_followed_and_checked_one_by_one() {
    let server = Server::start([
        ("/1", redirect("/2")),
        ("/2", redirect("3?x#y")),
        ("/3?x", plain(b"there")),
        ("/private", redirect("http://127.0.0.2/")),
        ("/metadata", redirect("http://169.254.169.254/latest")),
        ("/file", redirect("file:///etc/passwd")),
        ("/user", redirect("http://user:secret@127.0.0.1/")),
        ("/broken", redirect("http://[")),
        ("/circle", redirect("/circle")),
        ("/none", Reply::Bytes(page("302 Found", "content-type: text/plain\r\n", b"nowhere"))),
    ])
    .await;
    let output = fetched(&tool(), &server.url("/1")).await;
    assert_eq!(output.details["url"], server.url("/3?x"));
    for (path, expected) in [
        ("/private", "127.0.0.1 redirects: 127.0.0.2 has only private addresses"),
        ("/metadata", "private"),
        ("/file", "only http and https"),
        ("/user", "user or password"),
        ("/broken", "not a URL"),
        ("/circle", "more than 5 redirects"),
        ("/none", "nowhere"),
    ] {
        let text = refused(&tool(), &server.url(path)).await;
        assert!(text.contains(expected), "{path}: {text}");
    }
    let circles = server.asked().iter().filter(|one| one.starts_with("GET /circle ")).count();
    assert_eq!(circles, 6);
}

#[test]
fn a_redirect_from_https_to_http_is_not_followed() {
    let from = Url::parse("https://a.example/").unwrap();
    let downgrade = page::redirected(&from, "http://a.example/x").unwrap_err();
    assert!(downgrade.contains("from https to http"), "{downgrade}");
    assert_eq!(page::redirected(&from, "/x#y").unwrap().as_str(), "https://a.example/x");
    let upgrade = Url::parse("http://a.example/").unwrap();
    assert_eq!(page::redirected(&upgrade, "https://b.example").unwrap().scheme(), "https");
}

#[tokio::test]
async fn no_more_is_read_than_allowed() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
    let server = Server::start([
        ("/endless", Reply::Endless(head)),
        ("/exact", plain(&[b'x'; 1000])),
        ("/more", plain(&[b'x'; 1001])),
    ])
    .await;
    let asked = |path: &str| json!({ "url": server.url(path), "max_bytes": 1000 });
    let output = run(&tool(), asked("/endless")).await.unwrap();
    assert_eq!(
        (&output.details["bytes"], &output.details["truncated"]),
        (&json!(1000), &json!(true))
    );
    assert!(output.text.ends_with("[cut: only the first 1000 bytes of the page were read]"));
    let whole = run(&tool(), asked("/exact")).await.unwrap();
    assert_eq!(whole.details["truncated"], false);
    let cut = run(&tool(), asked("/more")).await.unwrap();
    assert_eq!(cut.details["truncated"], true);
    // Nobody can ask for more than the settings allow.
    let small = Fetch { max_bytes: 10, ..Fetch::default() };
    let small = FetchUrl { settings: small, ..tool() };
    let output = run(&small, asked("/exact")).await.unwrap();
    assert_eq!(output.details["bytes"], 10);
}

#[tokio::test]
async fn a_page_that_does_not_come_is_given_up() {
    let server = Server::start([
        ("/silent", Reply::Silent("")),
        ("/slow", Reply::Silent("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")),
    ])
    .await;
    let tool = FetchUrl { timeout: Duration::from_millis(300), ..tool() };
    for path in ["/silent", "/slow"] {
        let start = Instant::now();
        let failure = run(&tool, json!({ "url": server.url(path) })).await.unwrap_err();
        let Failure::TimedOut(output) = failure else { panic!("{path}: {failure:?}") };
        assert_eq!(output.text, "the page was not there within 0.3s");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn a_call_ends_when_it_is_cancelled() {
    let server = Server::start([("/", Reply::Silent(""))]).await;
    let tool = tool();
    let call = invocation(&tool, json!({ "url": server.url("/") }));
    let cancelled: CancellationToken = call.cancelled.clone();
    let running = tokio::spawn(async move { tool.run(call).await });
    while server.asked().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    cancelled.cancel();
    let output = running.await.unwrap().unwrap_err().into_output();
    assert_eq!(output.text, "cancelled before the page was there");
}

#[tokio::test]
async fn a_connection_that_breaks_says_so() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec();
    let server = Server::start([
        ("/half", Reply::Bytes(half)),
        ("/no-http", Reply::Bytes(b"hello\r\n\r\n".to_vec())),
    ])
    .await;
    let text = refused(&tool(), &server.url("/half")).await;
    assert!(text.starts_with("the page of 127.0.0.1 broke off"), "{text}");
    let text = refused(&tool(), &server.url("/no-http?token=secret")).await;
    assert!(text.starts_with("[404") || text.starts_with("cannot reach 127.0.0.1"), "{text}");
    let text = refused(&tool(), &server.url("/no-http")).await;
    assert!(text.starts_with("cannot reach 127.0.0.1"), "{text}");
}

#[tokio::test]
async fn packed_pages_are_unpacked_within_bounds() {
    let packed = |body: &[u8]| {
        let headers = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
        Reply::Bytes(page("200 OK", headers, body))
    };
    let bomb = gzip(&vec![b'x'; 100 * 1024 * 1024]);
    let whole = gzip(b"hello");
    let server = Server::start([
        ("/bomb", packed(&bomb)),
        ("/whole", packed(&whole)),
        ("/damaged", packed(&whole[..whole.len() - 9])),
        (
            "/brotli",
            Reply::Bytes(page(
                "200 OK",
                "content-type: text/plain\r\ncontent-encoding: br\r\n",
                b"\x8b\x02\x80hello",
            )),
        ),
    ])
    .await;
    assert!(bomb.len() < 200_000, "it is no bomb");
    // Most of it is never looked at.
    let mut rest = bomb.as_slice();
    let (unpacked, is_cut) = page::unpack(&mut rest, 1_000, false);
    assert!(unpacked.len() == 1_000 && is_cut && rest.len() > bomb.len() / 2, "{}", rest.len());
    let output = fetched(&tool(), &server.url("/bomb")).await;
    assert_eq!(output.details["bytes"], MAX_BYTES);
    assert_eq!(output.details["truncated"], true);
    assert!(fetched(&tool(), &server.url("/whole")).await.text.ends_with("]\nhello"));
    assert_eq!(fetched(&tool(), &server.url("/damaged")).await.details["truncated"], true);
    let brotli = fetched(&tool(), &server.url("/brotli")).await.text;
    assert!(brotli.ends_with("packed with br: 8 bytes, not shown"), "{brotli}");
}

#[tokio::test]
async fn what_is_no_text_is_described() {
    let image = page("200 OK", "content-type: image/png\r\n", b"\x89PNG\r\n\x1a\n");
    let latin = page("200 OK", "content-type: text/plain; charset=utf-8\r\n", b"caf\xE9 ol\xE9");
    let server = Server::start([
        ("/image", Reply::Bytes(image)),
        ("/wrong", Reply::Bytes(latin)),
        ("/empty", plain(b"")),
    ])
    .await;
    let text = fetched(&tool(), &server.url("/image")).await.text;
    assert!(text.ends_with("image]\nbinary: 8 bytes, not shown"), "{text}");
    // A server that names the wrong characters is believed; nothing but the odd one is lost.
    let text = fetched(&tool(), &server.url("/wrong")).await.text;
    assert!(text.ends_with("caf\u{FFFD} ol\u{FFFD}"), "{text}");
    assert!(fetched(&tool(), &server.url("/empty")).await.text.ends_with("(empty)"));
}

#[test]
fn it_can_be_registered_and_asks_before_it_talks_to_the_outside() {
    let mut registry = Registry::default();
    registry.add(Arc::new(FetchUrl::new(Fetch::default()))).unwrap();
    let spec = FetchUrl::new(Fetch::default()).spec();
    assert!(spec.read_only && spec.approval.required && !spec.destructive);
    assert_eq!(spec.approval.message.as_deref(), Some("Fetch: {url}"));
}
