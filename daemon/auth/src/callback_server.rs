//! Where the browser comes back to: one page on the loopback interface, for the time of one login.
//!
//! Invariant: it reads one short request of each visitor, tells nothing but what became of the login, and
//! takes nothing on trust: whoever does not bring the login's state is sent away.

use std::{io, net::Ipv4Addr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

/// One visitor, until his request is read.
const CALLBACK_IO_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
pub(super) const CALLBACK_PATH: &str = "/callback";

/// What a browser brought, or a user pasted; and the way to tell what became of it.
pub(super) struct CallbackRequest {
    /// Everything behind the question mark.
    pub(super) query: String,
    pub(super) told: oneshot::Sender<Result<String, String>>,
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

    /// Receives visitors until it is dropped.
    pub(super) async fn serve(self, redirects: mpsc::Sender<CallbackRequest>) {
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
        Err(status) => (status, "This is no answer to a login.".to_owned()),
        Ok(query) => {
            let (told, outcome) = oneshot::channel();
            let query = query.to_owned();
            // The login may be over.
            drop(redirects.send(CallbackRequest { query, told }).await);
            match outcome.await {
                Ok(Ok(text)) => ("200 OK", text),
                Ok(Err(text)) => ("400 Bad Request", text),
                Err(_) => ("410 Gone", "This login is over.".into()),
            }
        }
    };
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    // A visitor who has gone needs no page.
    drop(timeout(CALLBACK_IO_TIMEOUT, stream.write_all(page.as_bytes())).await);
    drop(timeout(CALLBACK_IO_TIMEOUT, stream.shutdown()).await);
}

/// Everything before the empty line.
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

/// The query of a request that was meant for us; otherwise the status to answer with.
fn query(head: &str, port: u16) -> Result<&str, &'static str> {
    let mut lines = head.split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (Some("GET"), Some(target)) = (request.next(), request.next()) else {
        return Err("405 Method Not Allowed");
    };
    // A page elsewhere whose name was made to lead here.
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
    fn only_a_browser_that_was_sent_here_is_heard() {
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
