//! Reads a server's standard error: writes it to the server's log, and keeps the last lines for errors.
//!
//! A server may write anything to its standard error, even the arguments of calls, and many callers share the server.
//! The last lines of all calls are for the user ([`LastLines::append_last_lines`]). A caller gets the lines since its
//! own call began ([`LastLines::append_lines_since`]).
//!
//! Invariant: the pipe is always drained, whether or not the log can be written. The log has the server's output
//! unchanged. In the lines kept for errors, the entry's secrets are masked.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::oneshot;
use tokio::task::consume_budget;

use crate::link::server_log::{LogStamp, ServerLog};
use mux_secrets::{KnownSecrets, Masker};

const MAX_STDERR_LINE_BYTES: u64 = 8 << 10;
const MAX_KEPT_LINES: usize = 20;
/// The maximum number of bytes of all kept lines in an error.
const MAX_SHOWN_STDERR_BYTES: usize = 4 << 10;
/// The maximum number of bytes of one line in an error.
const MAX_SHOWN_LINE_BYTES: usize = 1 << 10;

/// Separates a server's problem from its own output.
const LAST_OUTPUT: &str = "; its last output:\n  ";

/// The part of a problem that is not the server's own output.
pub fn without_output(problem: &str) -> &str {
    problem
        .split_once(LAST_OUTPUT)
        .map_or(problem, |(own, _)| own)
}

/// A line, and when it was read.
#[derive(Clone, Debug)]
struct KeptLine {
    read_at: Instant,
    text: String,
}

/// The last output lines of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastLines {
    lines: Arc<Mutex<VecDeque<KeptLine>>>,
    masker: Arc<Masker>,
}

impl LastLines {
    pub(in crate::link) fn masking(hidden: &KnownSecrets) -> Self {
        Self {
            lines: Arc::default(),
            masker: Arc::new(Masker::new(hidden)),
        }
    }

    pub(super) fn push(&self, line: &str) {
        let line = KeptLine {
            read_at: Instant::now(),
            text: self.mask_text(line),
        };
        let mut lines = self.lines.lock();
        if lines.len() == MAX_KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Masks secrets in a text of the server.
    pub(crate) fn mask_text(&self, text: &str) -> String {
        self.masker.text(text)
    }

    /// Appends the last lines to an error text for the user or for a start.
    pub(crate) fn append_last_lines(&self, problem: &str) -> String {
        // The text may quote the server.
        let problem = self.mask_text(problem);
        append_lines(problem, &self.get())
    }

    /// Appends the lines that were read since `began` to an error text.
    pub(crate) fn append_lines_since(&self, problem: &str, began: Instant) -> String {
        let lines = self.lines.lock();
        let recent = lines.iter().filter(|line| line.read_at >= began);
        let recent: Vec<_> = recent.map(|line| line.text.clone()).collect();
        drop(lines);
        append_lines(problem.to_owned(), &recent)
    }

    pub(crate) fn get(&self) -> Vec<String> {
        let lines = self.lines.lock();
        lines.iter().map(|line| line.text.clone()).collect()
    }
}

fn append_lines(problem: String, lines: &[String]) -> String {
    let truncate =
        |line: &String| line[..line.floor_char_boundary(MAX_SHOWN_LINE_BYTES)].to_owned();
    let lines: Vec<String> = lines.iter().map(truncate).collect();
    let mut room = MAX_SHOWN_STDERR_BYTES;
    let fitting = lines.iter().rev().take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let shown = &lines[lines.len() - fitting.count()..];
    if shown.is_empty() {
        problem
    } else {
        format!("{problem}{LAST_OUTPUT}{}", shown.join("\n  "))
    }
}

/// Drains the pipe in the background. The receiver resolves at the end of the pipe.
pub(in crate::link) fn drain_stderr<R: AsyncRead + Send + Unpin + 'static>(
    pipe: R,
    log: PathBuf,
    stamp: LogStamp,
    hidden: &KnownSecrets,
) -> (LastLines, oneshot::Receiver<()>, StderrHandover<R>) {
    let kept = LastLines::masking(hidden);
    let lines = kept.clone();
    let (done, ended) = oneshot::channel();
    let (handover, mut handover_request) = oneshot::channel::<oneshot::Sender<R>>();
    tokio::spawn(async move {
        let mut log = ServerLog::open(&log);
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        let mut new_owner = None;
        loop {
            // Many short lines would otherwise occupy a thread of the runtime.
            consume_budget().await;
            line.clear();
            let read = {
                let mut limited = (&mut reader).take(MAX_STDERR_LINE_BYTES);
                let mut reading = std::pin::pin!(limited.read_until(b'\n', &mut line));
                tokio::select! {
                    read = &mut reading => Some(read),
                    next = &mut handover_request, if !handover_request.is_terminated() => match next {
                        Ok(next) => {
                            new_owner = Some(next);
                            None
                        }
                        // The pipe can no longer be taken over.
                        Err(_) => Some(reading.await),
                    },
                }
            };
            match read {
                Some(Ok(0) | Err(_)) => break,
                Some(Ok(_)) => {}
                None => line.extend_from_slice(reader.buffer()),
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if !text.is_empty() {
                lines.push(text);
                log.write(&stamp.stamp_line(text));
            }
            if let Some(next) = new_owner {
                // If the receiver is gone, the pipe is closed here.
                drop(next.send(reader.into_inner()));
                break;
            }
        }
        // The receiver may be gone.
        _ = done.send(());
    });
    (kept, ended, StderrHandover(handover))
}

/// Takes the pipe from the task that drains it.
#[derive(Debug)]
pub(crate) struct StderrHandover<R>(oneshot::Sender<oneshot::Sender<R>>);

impl<R> StderrHandover<R> {
    /// Returns `None` if the pipe has ended.
    pub(in crate::link) async fn take_pipe(self) -> Option<R> {
        let (next, pipe) = oneshot::channel();
        self.0.send(next).ok()?;
        pipe.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_reach_the_log_and_the_last_ones_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("s.log");
        let text: Vec<_> = (0..50).map(|i| format!("line {i}\n")).collect();
        let text = text.concat();
        let (kept, ended, _) = drain_stderr(
            std::io::Cursor::new(text.clone()),
            log.clone(),
            LogStamp::default(),
            &KnownSecrets::default(),
        );
        ended.await.unwrap();
        assert_eq!(kept.get().len(), MAX_KEPT_LINES);
        assert_eq!(kept.get()[0], "line 30");
        let written = std::fs::read_to_string(log).unwrap();
        let logged = written
            .lines()
            .map(|line| line.split_once(" - ").unwrap().1);
        assert!(logged.eq(text.lines()), "{written}");
    }

    #[test]
    fn caller_gets_the_lines_since_its_call_began() {
        let lines = LastLines::default();
        lines.push("of others");
        let began = Instant::now();
        assert_eq!(lines.append_lines_since("it ended", began), "it ended");
        lines.push("mine");
        let told = lines.append_lines_since("it ended", began);
        assert_eq!(told, format!("it ended{LAST_OUTPUT}mine"));
        let all = lines.append_last_lines("it ended");
        assert_eq!(all, format!("it ended{LAST_OUTPUT}of others\n  mine"));
        assert_eq!(without_output(&all), "it ended");
    }

    #[tokio::test]
    async fn unwritable_log_does_not_stop_draining() {
        let (kept, ended, _) = drain_stderr(
            std::io::Cursor::new("a\n"),
            "/dev/null/x.log".into(),
            LogStamp::default(),
            &KnownSecrets::default(),
        );
        ended.await.unwrap();
        assert_eq!(kept.get(), ["a"]);
    }
}
