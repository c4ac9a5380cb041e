//! The OAuth redirect endpoint: an HTTP server on the loopback interface for the time of one login.
//!
//! Invariant: the server reads one short request per connection, reveals only the outcome of the login, and ignores
//! requests without the login's state.

use std::{convert::Infallible, io, net::Ipv4Addr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The time limit to read a request, and to write the response.
const CALLBACK_IO_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
pub(super) const CALLBACK_PATH: &str = "/callback";

/// The redirect of a browser, or a URL that a user pasted, with the channel for its outcome.
pub(super) struct CallbackRequest {
    /// The query of the URL, after the `?`.
    pub(super) query: String,
    pub(super) answer: oneshot::Sender<Result<String, String>>,
}

pub(super) struct CallbackServer {
    listener: TcpListener,
    pub(super) port: u16,
}

impl CallbackServer {
    pub(super) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn redirect_uri(&self) -> String {
        redirect_uri(self.port)
    }

    /// Accepts connections until it is dropped.
    pub(super) async fn serve(self, redirects: mpsc::Sender<CallbackRequest>) -> Infallible {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of descriptors, for example.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            tokio::spawn(handle_connection(stream, self.port, redirects.clone()));
        }
    }
}

pub(super) fn redirect_uri(port: u16) -> String {
    format!("http://127.0.0.1:{port}{CALLBACK_PATH}")
}

async fn handle_connection(
    mut stream: TcpStream,
    port: u16,
    redirects: mpsc::Sender<CallbackRequest>,
) {
    let Ok(Some(head)) = timeout(CALLBACK_IO_TIMEOUT, read_request_head(&mut stream)).await else {
        return;
    };
    let (status, text) = match query(&head, port) {
        Err(status) => (status, "This is not a response to a login.".to_owned()),
        Ok(query) => {
            let (answer, outcome) = oneshot::channel();
            let query = query.to_owned();
            // The login may have ended.
            drop(redirects.send(CallbackRequest { query, answer }).await);
            match outcome.await {
                Ok(Ok(text)) => ("200 OK", text),
                Ok(Err(text)) => ("400 Bad Request", text),
                Err(_) => ("410 Gone", "This login has ended.".into()),
            }
        }
    };
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    // The browser may have disconnected.
    drop(timeout(CALLBACK_IO_TIMEOUT, stream.write_all(page.as_bytes())).await);
    drop(timeout(CALLBACK_IO_TIMEOUT, stream.shutdown()).await);
}

/// Reads the head of a request, up to the empty line.
async fn read_request_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 || head.len() + count > MAX_REQUEST_HEAD_BYTES {
            return None;
        }
        head.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(head).ok()
}

/// The query of a request to the callback path, or the status for the answer.
fn query(head: &str, port: u16) -> Result<&str, &'static str> {
    let mut lines = head.split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (Some("GET"), Some(target)) = (request.next(), request.next()) else {
        return Err("405 Method Not Allowed");
    };
    // Rejects DNS rebinding: a page whose host name resolves to this address.
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let host = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.map(|(_, value)| value.trim()).unwrap_or_default();
    if host != format!("127.0.0.1:{port}") && host != format!("localhost:{port}") {
        return Err("421 Misdirected Request");
    }
    match target.split_once('?') {
        Some((CALLBACK_PATH, query)) => Ok(query),
        _ => Err("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_redirects_to_the_callback_are_accepted() {
        let of = |line: &str, host: &str| {
            let head = format!("{line}\r\nAccept: */*\r\nhOST: {host}\r\n\r\n");
            query(&head, 7).map(str::to_owned)
        };
        let good = "GET /callback?code=a&state=b HTTP/1.1";
        assert_eq!(of(good, "127.0.0.1:7").unwrap(), "code=a&state=b");
        assert_eq!(of(good, "localhost:7").unwrap(), "code=a&state=b");
        for (line, host) in [
            (good, "evil.test:7"),
            (good, "127.0.0.1:8"),
            ("POST /callback?code=a HTTP/1.1", "127.0.0.1:7"),
            ("GET /callback HTTP/1.1", "127.0.0.1:7"),
            ("GET /favicon.ico HTTP/1.1", "127.0.0.1:7"),
            ("rubbish", "127.0.0.1:7"),
        ] {
            assert!(of(line, host).is_err(), "{line} {host}");
        }
    }
}
