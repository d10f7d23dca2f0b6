//! Takes a browser's answer on a port of this machine: the redirect at the end of a login.
//! Opened by `oauth` when a person has to log in. Reads one short request per connection and passes its address on; whether it
//! is the awaited one is decided there.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

const PATH: &str = "/callback";
/// Bytes of a request; a redirect has fewer.
const LONGEST: usize = 16 * 1024;
const LIMIT: Duration = Duration::from_secs(5);
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 49\r\n\
    Connection: close\r\n\r\nYou can close this page and go back to the agent.";
const NO_PAGE: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// An open port. Dropping it closes it.
#[derive(Debug)]
pub struct Listener {
    address: String,
    _open: DropGuard,
}

impl Listener {
    /// # Errors
    /// When no port can be opened.
    pub async fn open(arrived: mpsc::Sender<String>) -> Result<Self, String> {
        let cannot = |error| format!("no port can be opened for the login's end: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let origin = format!("http://127.0.0.1:{port}");
        let address = format!("{origin}{PATH}");
        let closed = CancellationToken::new();
        let open = closed.clone().drop_guard();
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = closed.cancelled() => return,
                };
                if let Ok((stream, _)) = accepted {
                    // One at a time: a login needs no more, and a flood gets no further.
                    timeout(LIMIT, answer(stream, &origin, &arrived)).await.ok();
                }
            }
        });
        Ok(Self { address, _open: open })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

async fn answer(mut stream: TcpStream, origin: &str, arrived: &mpsc::Sender<String>) {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST {
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => request.extend_from_slice(piece.get(..count).unwrap_or(&[])),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request);
    let target = request.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let ours = target.filter(|target| {
        target.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
    });
    // The page is told in either case; a browser that has gone does not matter.
    match ours {
        Some(target) => {
            arrived.try_send(format!("{origin}{target}")).ok();
            stream.write_all(PAGE.as_bytes()).await.ok();
        }
        None => {
            stream.write_all(NO_PAGE.as_bytes()).await.ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(address: &str) -> String {
        let (_, rest) = address.split_once("://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_redirect_is_passed_on_and_anything_else_is_not() {
        let (sender, mut arrivals) = mpsc::channel(4);
        let listener = Listener::open(sender).await.unwrap();
        let elsewhere = listener.address().replace(PATH, "/favicon.ico");
        assert!(visit(&elsewhere).await.starts_with("HTTP/1.1 404"));
        let address = format!("{}?code=c&state=s", listener.address());
        assert!(visit(&address).await.ends_with("go back to the agent."));
        assert_eq!(arrivals.recv().await.unwrap(), address);
        assert!(arrivals.try_recv().is_err());
    }
}
