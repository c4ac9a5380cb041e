//! JSON-RPC over a process's pipes, one message per line, for rmcp.
//!
//! rmcp's own reader drops a line that is too long and continues. The call that waits for this line would then wait
//! forever. Here such a line ends the session, and lines that are not JSON-RPC go to the server's log.
//!
//! Invariants:
//! - Memory for one line is bounded by [`MAX_STDIO_MESSAGE_BYTES`], regardless of the server's output.
//! - Messages are written in the order of the calls of `send`, regardless of the order in which their futures are
//!   polled.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::FutureExt as _;
use rmcp::{
    RoleClient,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Mutex, oneshot},
    task::{JoinHandle, consume_budget, spawn_blocking, unconstrained},
};
use tracing::{debug, warn};

use super::{request_ids::RequestIdOffset, stderr::LastLines, stray_output::StrayOutput};
use crate::link::{
    reader::{MessageReader, ReadText},
    server_log::{LogStamp, ServerLog},
};
use mux_text::json_weight::MIN_OFFLOAD_BYTES;

/// The maximum length of a message in bytes.
const MAX_STDIO_MESSAGE_BYTES: usize = 16 << 20;
/// The maximum number of lines other than messages that are written to the log.
const MAX_NOISE_LINES: usize = 50;
/// The maximum number of characters of such a line.
const MAX_NOISE_CHARS: usize = 300;

pub(crate) struct StdioTransport<R, W> {
    /// `None` once it was handed over.
    reader: Option<BufReader<R>>,
    writer: Arc<Mutex<Option<W>>>,
    /// Set if a line may have been written only in part.
    partial_write: Arc<AtomicBool>,
    /// Unparsed output from the previous transport.
    earlier_output: io::Cursor<Vec<u8>>,
    request_ids: RequestIdOffset,
    messages: MessageReader,
    /// Messages of a line that are not returned yet.
    queued: VecDeque<RxJsonRpcMessage<RoleClient>>,
    pipes_handover: PipesHandover<R, W>,
    /// Until a message has arrived, a server that closes its input is still read to the end, because its output says
    /// why.
    stray_output: StrayOutput,
    line: Vec<u8>,
    /// A long line that is being parsed on a blocking thread. Later lines wait for it.
    parsing: Option<JoinHandle<ParsedLine>>,
    /// Set once the server has answered. Output before the first answer is often the reason there is none.
    has_answered: bool,
    noise_lines: usize,
    log: (PathBuf, LogStamp),
    /// Shown when the server fails: output instead of messages is often the reason.
    last_lines: LastLines,
}

/// A line, and the messages in it.
type ParsedLine = (Vec<u8>, ReadText);

/// Hands the pipes to their next owner when the session ends, if there is one.
#[derive(Debug)]
pub(crate) struct PipesHandover<R, W>(Arc<parking_lot::Mutex<PipesSender<R, W>>>);

type PipesSender<R, W> = Option<oneshot::Sender<TransportPipes<R, W>>>;

/// The pipes and the state that a transport leaves behind.
#[derive(Debug)]
pub(crate) struct TransportPipes<R, W> {
    pub(crate) reader: R,
    pub(crate) writer: W,
    pub(crate) unread: Vec<u8>,
    /// The next request id: neither this nor a greater id has been used.
    pub(crate) next: i64,
}

impl<R, W> PipesHandover<R, W> {
    /// Requests the pipes, which then stay open at the end of the transport. The receiver gets nothing if a line was
    /// torn.
    pub(in crate::link) fn request_pipes(&self) -> oneshot::Receiver<TransportPipes<R, W>> {
        let (sender, pipes) = oneshot::channel();
        let mut slot = self.0.lock();
        *slot = Some(sender);
        pipes
    }

    fn take_pipes_sender(&self) -> Option<oneshot::Sender<TransportPipes<R, W>>> {
        let mut slot = self.0.lock();
        slot.take()
    }
}

impl<R, W> Clone for PipesHandover<R, W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> StdioTransport<R, W> {
    #[cfg(test)]
    pub(crate) fn new(
        reader: R,
        writer: W,
        log: (PathBuf, LogStamp),
        last_lines: LastLines,
    ) -> Self {
        let pipes = TransportPipes {
            reader,
            writer,
            unread: Vec::new(),
            next: 0,
        };
        let messages = MessageReader::new(Arc::default());
        Self::over_pipes(pipes, false, messages, log, last_lines)
    }

    /// Continues on the pipes of another transport.
    pub(in crate::link) fn over_pipes(
        pipes: TransportPipes<R, W>,
        modern: bool,
        messages: MessageReader,
        log: (PathBuf, LogStamp),
        last_lines: LastLines,
    ) -> Self {
        Self {
            reader: Some(BufReader::with_capacity(64 << 10, pipes.reader)),
            writer: Arc::new(Mutex::new(Some(pipes.writer))),
            partial_write: Arc::default(),
            earlier_output: io::Cursor::new(pipes.unread),
            request_ids: RequestIdOffset::starting_at(pipes.next, modern),
            messages,
            queued: VecDeque::new(),
            pipes_handover: PipesHandover(Arc::default()),
            stray_output: StrayOutput::default(),
            line: Vec::new(),
            parsing: None,
            has_answered: false,
            noise_lines: 0,
            log,
            last_lines,
        }
    }

    pub(in crate::link) fn stray_output(&self) -> StrayOutput {
        self.stray_output.clone()
    }

    pub(in crate::link) fn pipes_handover(&self) -> PipesHandover<R, W> {
        self.pipes_handover.clone()
    }

    /// The pipes and unread output. `None` if a line may have been torn.
    fn take_pipes(&mut self, writer: W) -> Option<TransportPipes<R, W>> {
        let reader = self.reader.take()?;
        if self.partial_write.load(Ordering::Acquire) {
            return None;
        }
        // The partial line comes first, then the rest.
        let mut unread = std::mem::take(&mut self.line);
        let read = usize::try_from(self.earlier_output.position()).unwrap_or(usize::MAX);
        let earlier_output = std::mem::take(&mut self.earlier_output).into_inner();
        unread.extend_from_slice(earlier_output.get(read..).unwrap_or_default());
        unread.extend_from_slice(reader.buffer());
        Some(TransportPipes {
            reader: reader.into_inner(),
            writer,
            unread,
            next: self.request_ids.next_request_id(),
        })
    }

    /// Queues the line's messages for this session, and clears the line.
    fn finish_line(&mut self, found: ReadText) {
        if found.is_message {
            self.stray_output.record_message();
            self.note_early_message(&found);
        } else if !self.line.trim_ascii().is_empty() {
            self.stray_output.record_line();
            self.log_noise_line();
        }
        let ours = found
            .messages
            .into_iter()
            .filter_map(|message| self.request_ids.map_incoming(message));
        self.queued.extend(ours);
        self.line.clear();
        // One long line does not mean that others follow.
        self.line.shrink_to(MIN_OFFLOAD_BYTES);
    }

    /// Keeps the server's output before its first answer, for the error if the server ends.
    fn note_early_message(&mut self, found: &ReadText) {
        if self.has_answered {
            return;
        }
        self.has_answered = found.messages.iter().any(|message| {
            matches!(
                message,
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
            )
        });
        if !self.has_answered {
            self.last_lines.push(&printable_excerpt(&self.line));
        }
    }

    fn log_noise_line(&mut self) {
        self.noise_lines += 1;
        if self.noise_lines <= MAX_NOISE_LINES {
            let text = format!("[stdout, not a message] {}", printable_excerpt(&self.line));
            debug!("{text}");
            let (log, stamp) = &self.log;
            ServerLog::open(log).write(&stamp.stamp_line(&text));
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
        mut item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        let stray_output = self.stray_output.clone();
        let partial_write = Arc::clone(&self.partial_write);
        self.request_ids.map_outgoing(&mut item);
        self.messages.note_sent(&item);
        // Waits in the queue of the lock from here on: rmcp spawns a task for each message, and a cancellation could
        // overtake its request.
        let mut lock = Box::pin(unconstrained(writer.lock_owned()));
        let locked = (&mut lock).now_or_never();
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            // This lock spans an await to keep lines from interleaving.
            let mut writer = match locked {
                Some(writer) => writer,
                None => lock.await,
            };
            let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            // The future may be dropped during the write.
            partial_write.store(true, Ordering::Release);
            let written = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            let written = written.await;
            if written.is_ok() {
                partial_write.store(false, Ordering::Release);
            }
            match written {
                Err(_) if !stray_output.has_messages() => Ok(()),
                written => written,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // Many short lines would otherwise occupy a thread of the runtime.
            consume_budget().await;
            if let Some(message) = self.queued.pop_front() {
                return Some(message);
            }
            if let Some(parsing) = &mut self.parsing {
                let read = parsing.await;
                self.parsing = None;
                // An error means that the runtime is shutting down.
                let (line, found) = read.ok()?;
                self.line = line;
                self.finish_line(found);
                continue;
            }
            let reader = self.reader.as_mut()?;
            let earlier_output = next_line(&mut self.earlier_output, &mut self.line).await;
            let next = match earlier_output {
                Ok(false) => next_line(reader, &mut self.line).await,
                earlier_output => earlier_output,
            };
            match next {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    warn!(%error, "cannot read from the server, ending the session");
                    self.last_lines.push(&format!("[muxd] {error}"));
                    return None;
                }
            }
            if self.line.len() > MIN_OFFLOAD_BYTES {
                let line = std::mem::take(&mut self.line);
                let messages = self.messages.clone();
                self.parsing = Some(spawn_blocking(move || {
                    let found = messages.read(&line, None);
                    (line, found)
                }));
                continue;
            }
            let found = self.messages.read(&self.line, None);
            self.finish_line(found);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let writer = self.writer.lock().await.take();
        let Some(mut writer) = writer else {
            return Ok(());
        };
        // The next owner of the pipes parses the line again.
        if let Some(parsing) = self.parsing.take()
            && let Ok((line, _)) = parsing.await
        {
            self.line = line;
        }
        if let Some(next) = self.pipes_handover.take_pipes_sender() {
            if let Some(pipes) = self.take_pipes(writer) {
                // If the receiver is gone, the pipes are closed here.
                drop(next.send(pipes));
            }
            return Ok(());
        }
        // Closing its input asks a server to exit.
        writer.shutdown().await
    }
}

/// The beginning of a line as printable text.
fn printable_excerpt(line: &[u8]) -> String {
    // Only the beginning of a cut line may be examined.
    let start = &line[..line.len().min(4 * MAX_NOISE_CHARS)];
    let start = match std::str::from_utf8(start.trim_ascii_end()) {
        // Only its last character is cut.
        Err(error) if error.error_len().is_none() && start.len() < line.len() => {
            &start[..error.valid_up_to()]
        }
        _ => start,
    };
    match std::str::from_utf8(start.trim_ascii_end()) {
        Ok(text) => text
            .chars()
            .take(MAX_NOISE_CHARS)
            .map(|c| {
                if c.is_control() {
                    char::REPLACEMENT_CHARACTER
                } else {
                    c
                }
            })
            .collect(),
        Err(_) => format!("{} bytes that are not text", line.len()),
    }
}

/// Appends the next line to `line`. Returns false at the end of the stream. Cancel-safe: a partial line stays in
/// `line`.
async fn next_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(false);
        }
        let (consumed, ended) = match available.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (available.len(), false),
        };
        if line.len() + consumed > MAX_STDIO_MESSAGE_BYTES {
            return Err(io::Error::other(format!(
                "a message is longer than {MAX_STDIO_MESSAGE_BYTES} bytes"
            )));
        }
        line.extend_from_slice(&available[..consumed]);
        reader.consume(consumed);
        if ended {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn messages(input: Vec<u8>) -> Vec<String> {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut transport = StdioTransport::new(
            io::Cursor::new(input),
            tokio::io::sink(),
            (log.path().to_owned(), LogStamp::default()),
            LastLines::default(),
        );
        for id in [1, 7] {
            let request = serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            let request = serde_json::from_value(request).unwrap();
            transport.send(request).await.unwrap();
        }
        let mut found = Vec::new();
        while let Some(message) = transport.receive().await {
            found.push(serde_json::to_string(&message).unwrap());
        }
        found
    }

    #[tokio::test]
    async fn lines_that_are_not_messages_are_skipped() {
        let message = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let input = format!("hello\n{message}\r\n\n{{\"half\": \n\u{1}\u{2}\n{message}\n");
        assert_eq!(messages(input.into_bytes()).await.len(), 2);
    }

    #[tokio::test]
    async fn unreadable_answer_becomes_an_error_answer() {
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
    async fn line_over_the_limit_ends_the_session() {
        let message = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        let mut input = vec![b'x'; MAX_STDIO_MESSAGE_BYTES + 1];
        input.extend_from_slice(b"\n");
        input.extend_from_slice(message);
        assert!(messages(input).await.is_empty());
    }

    #[tokio::test]
    async fn messages_before_the_first_answer_are_kept_for_errors() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let last_lines = LastLines::default();
        let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"log\",\"params\":\"no account\"}\n";
        let mut transport = StdioTransport::new(
            io::Cursor::new(input.as_bytes()),
            tokio::io::sink(),
            (log.path().to_owned(), LogStamp::default()),
            last_lines.clone(),
        );
        while transport.receive().await.is_some() {}
        let problem = last_lines.append_last_lines("it ended");
        assert!(problem.contains("no account"), "{problem}");
    }

    #[tokio::test]
    async fn cancellation_does_not_overtake_its_request() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let (writer, mut reader) = tokio::io::duplex(4096);
        let mut transport = StdioTransport::new(
            tokio::io::empty(),
            writer,
            (log.path().to_owned(), LogStamp::default()),
            LastLines::default(),
        );
        let message = |text: &str| serde_json::from_str(text).unwrap();
        let request = transport.send(message(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
        let never_polled = transport.send(message(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#));
        let cancellation = transport.send(message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        ));
        drop(never_polled);
        // The futures are polled in the wrong order.
        let (cancelled, sent) = tokio::join!(cancellation, request);
        cancelled.unwrap();
        sent.unwrap();
        transport.close().await.unwrap();
        drop(transport);

        let mut written = String::new();
        reader.read_to_string(&mut written).await.unwrap();
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("ping"), "{lines:?}");
        assert!(lines[1].contains("notifications/cancelled"), "{lines:?}");
    }
}
