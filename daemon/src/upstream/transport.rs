//! JSON-RPC over a process's pipes, one message a line, for rmcp.
//!
//! rmcp's own reader drops a line that is too long and goes on; the call that waits for it would
//! then wait for ever. Here such a line ends the session, and what is not JSON-RPC is noise that
//! goes to the server's log.
//!
//! Invariant: memory for one line is bounded by [`MAX_LINE`], whatever the server writes.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::IgnoredAny};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
};
use tracing::{debug, warn};

use super::{
    raw,
    stamp::Stamp,
    stderr::{LastLines, Log},
};

/// The longest message in bytes.
const MAX_LINE: usize = 16 << 20;
/// Lines of noise that are worth a line in the log.
const NOISE_SHOWN: usize = 50;
/// How many characters of such a line.
const NOISE_LENGTH: usize = 300;

pub(super) struct StdioTransport<R, W> {
    reader: BufReader<R>,
    writer: Arc<Mutex<Option<W>>>,
    /// Whether a message has come. Before that, a server that takes no input is still read to its
    /// end: what it says there is why.
    answered: Arc<AtomicBool>,
    line: Vec<u8>,
    noise: usize,
    log: (PathBuf, Stamp),
    /// Shown when the server fails: what it said in place of messages is often the reason.
    last_lines: LastLines,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> StdioTransport<R, W> {
    pub(super) fn new(reader: R, writer: W, log: (PathBuf, Stamp), last_lines: LastLines) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            writer: Arc::new(Mutex::new(Some(writer))),
            answered: Arc::default(),
            line: Vec::new(),
            noise: 0,
            log,
            last_lines,
        }
    }

    fn note_noise(&mut self) {
        self.noise += 1;
        if self.noise <= NOISE_SHOWN {
            let text = format!("[stdout, not a message] {}", readable(&self.line));
            debug!("{text}");
            let (log, stamp) = &self.log;
            Log::open(log).write(&stamp.line(&text));
            self.last_lines.push(&text);
        }
    }
}

impl<R, W> Transport<RoleClient> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, answered) = (Arc::clone(&self.writer), Arc::clone(&self.answered));
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            // The only lock that spans an await: a line must not be torn by another.
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            let written = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            match written.await {
                Err(_) if !answered.load(Ordering::Relaxed) => Ok(()),
                written => written,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match next_line(&mut self.reader, &mut self.line).await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    warn!(%error, "the session ends");
                    self.last_lines.push(&format!("[muxd] {error}"));
                    return None;
                }
            }
            let text = self.line.trim_ascii();
            if text.first() == Some(&b'{') {
                match raw::message(text) {
                    Ok(message) => {
                        self.answered.store(true, Ordering::Relaxed);
                        self.line.clear();
                        return Some(message);
                    }
                    Err(error) => {
                        debug!(%error, "a line that is no JSON-RPC message");
                        if let Some(refusal) = unreadable(text, &error) {
                            self.line.clear();
                            return Some(refusal);
                        }
                    }
                }
            }
            if !text.is_empty() {
                self.note_noise();
            }
            self.line.clear();
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The end of its input is how a server is told to leave.
        if let Some(mut writer) = self.writer.lock().await.take() {
            writer.shutdown().await?;
        }
        Ok(())
    }
}

/// What stands for an answer that cannot be read: without it the one who asked would wait for ever.
pub(super) fn unreadable(
    line: &[u8],
    why: &serde_json::Error,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct Answer {
        id: RequestId,
        method: Option<IgnoredAny>,
    }
    // What is ignored may nest as deep as it likes.
    let answer: Answer = serde_json::from_slice(line).ok()?;
    if answer.method.is_some() {
        return None;
    }
    let error = ErrorData::parse_error(format!("the server's answer cannot be read: {why}"), None);
    Some(JsonRpcMessage::error(error, Some(answer.id)))
}

/// The beginning of a line, for a person at a terminal.
fn readable(line: &[u8]) -> String {
    match std::str::from_utf8(line.trim_ascii_end()) {
        Ok(text) => text
            .chars()
            .take(NOISE_LENGTH)
            .map(|c| {
                if c.is_control() {
                    char::REPLACEMENT_CHARACTER
                } else {
                    c
                }
            })
            .collect(),
        Err(_) => format!("{} bytes that are no text", line.len()),
    }
}

/// Appends the next line to `line`; false at the end of the stream. Cancel-safe: a line that was
/// begun stays in `line`.
async fn next_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(false);
        }
        let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (available.len(), false),
        };
        if line.len() + taken > MAX_LINE {
            return Err(io::Error::other(format!(
                "a message is longer than {MAX_LINE} bytes"
            )));
        }
        line.extend_from_slice(&available[..taken]);
        reader.consume(taken);
        if ended {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn messages(input: Vec<u8>) -> Vec<String> {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut transport = StdioTransport::new(
            io::Cursor::new(input),
            tokio::io::sink(),
            (log.path().to_owned(), Stamp::default()),
            LastLines::default(),
        );
        let mut found = Vec::new();
        while let Some(message) = transport.receive().await {
            found.push(serde_json::to_string(&message).unwrap());
        }
        found
    }

    #[tokio::test]
    async fn noise_between_messages_is_passed_over() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let input = format!("hello\n{message}\r\n\n{{\"half\": \n\u{1}\u{2}\n{message}\n");
        assert_eq!(messages(input.into_bytes()).await.len(), 2);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_an_answer_all_the_same() {
        let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let input = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"structuredContent\":{nested}}}}}\n\
             {{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"x\",\"params\":{{\"a\":{nested}}}}}\n"
        );
        let messages = messages(input.into_bytes()).await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("\"id\":7"), "{messages:?}");
        assert!(messages[0].contains("cannot be read"), "{messages:?}");
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_session_within_the_cap() {
        let message = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        let mut input = vec![b'x'; MAX_LINE + 1];
        input.extend_from_slice(b"\n");
        input.extend_from_slice(message);
        assert!(messages(input).await.is_empty());
    }
}
