//! Writes the events of one run in the order of their arrival, even though long content blocks are stored on disk
//! first.
//!
//! Invariant: only [`EventWriter::wait_until_written`] waits. While a block is being stored, later events queue behind
//! it. The sandbox limits the amount of output of a run.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use mux_messages::{EventKind, Level};
use mux_wire::Fault;
use tokio::sync::watch;
use tracing::Instrument;

use super::content_block;
use mux_handles::{StoredValues, inline_value};
use mux_journal::RunJournal;

pub(super) struct EventWriter {
    run: Arc<RunJournal>,
    handles: StoredValues,
    backlog: Mutex<EventBacklog>,
    /// True while a content block is being stored.
    storing: watch::Sender<bool>,
}

/// The state that `EventWriter::backlog` guards.
#[derive(Default)]
struct EventBacklog {
    storing: bool,
    waiting: VecDeque<BacklogEntry>,
}

enum BacklogEntry {
    Event(Box<EventKind>),
    /// A content block as JSON, not yet checked.
    Part(String),
}

impl EventWriter {
    pub(super) fn new(run: Arc<RunJournal>, handles: StoredValues) -> Arc<Self> {
        Arc::new(Self {
            run,
            handles,
            backlog: Mutex::default(),
            storing: watch::Sender::new(false),
        })
    }

    pub(super) fn run(&self) -> &Arc<RunJournal> {
        &self.run
    }

    pub(super) fn push(&self, event: EventKind) {
        self.push_or_queue(&mut self.backlog(), event);
    }

    /// Checks and writes a content block. Stores it first if it is long.
    pub(super) fn push_content_block(self: &Arc<Self>, text: String) {
        let mut backlog = self.backlog();
        if backlog.storing {
            backlog.waiting.push_back(BacklogEntry::Part(text));
        } else if text.len() <= self.handles.max_inline_bytes() {
            let part = content_block::check_content_block(&text);
            let event = match part.and_then(|()| inline_value(text, "it")) {
                Ok(part) => EventKind::Emitted { part },
                Err(fault) => dropped_block_warning(&fault),
            };
            self.push_or_queue(&mut backlog, event);
        } else {
            backlog.storing = true;
            drop(backlog);
            self.storing.send_replace(true);
            let storing = BlockStoreTask(Arc::clone(self));
            tokio::spawn(async move { storing.store(text).await }.in_current_span());
        }
    }

    /// Resolves when the queue is empty.
    pub(super) async fn wait_until_written(&self) {
        let mut storing = self.storing.subscribe();
        // The sender lives as long as `self`.
        drop(storing.wait_for(|storing| !storing).await);
    }

    fn push_or_queue(&self, backlog: &mut EventBacklog, event: EventKind) {
        if backlog.storing {
            backlog
                .waiting
                .push_back(BacklogEntry::Event(Box::new(event)));
        } else {
            self.run.push(event);
        }
    }

    fn backlog(&self) -> MutexGuard<'_, EventBacklog> {
        self.backlog.lock()
    }
}

/// Owns the queue until it is empty. Dropping it drains the queue, even if its task is lost.
struct BlockStoreTask(Arc<EventWriter>);

impl BlockStoreTask {
    async fn store(self, mut text: String) {
        loop {
            match content_block::store_content_block(text, &self.0.handles).await {
                Ok((part, warning)) => {
                    if let Some(warning) = warning {
                        self.0.run.push(console_warning(&warning));
                    }
                    self.0.run.push(EventKind::Emitted { part });
                }
                Err(fault) => self.0.run.push(dropped_block_warning(&fault)),
            }
            match self.advance() {
                Some(next) => text = next,
                None => return,
            }
        }
    }

    /// Writes queued events up to the next content block, and returns that block. `None` if the queue is empty.
    fn advance(&self) -> Option<String> {
        let mut backlog = self.0.backlog();
        while let Some(entry) = backlog.waiting.pop_front() {
            match entry {
                BacklogEntry::Event(event) => self.0.run.push(*event),
                BacklogEntry::Part(text) => return Some(text),
            }
        }
        backlog.storing = false;
        None
    }
}

impl Drop for BlockStoreTask {
    fn drop(&mut self) {
        // Content blocks remain only if the task was lost.
        while self.advance().is_some() {
            self.0
                .run
                .push(console_warning("an emitted part was lost in the daemon"));
        }
        self.0.storing.send_replace(false);
    }
}

fn dropped_block_warning(fault: &Fault) -> EventKind {
    console_warning(&format!("an emitted part is dropped: {}", fault.message))
}

pub(super) fn console_warning(text: &str) -> EventKind {
    EventKind::Console {
        level: Level::Warn,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use mux_journal::{JournalOptions, Program};
    use mux_messages::{Held, JsonText, Outcome};
    use mux_settings::StoredValueLimits;

    fn recorder(folder: &std::path::Path) -> Arc<EventWriter> {
        let limits = StoredValueLimits {
            inline: 1000,
            ..StoredValueLimits::default()
        };
        let run = RunJournal::new("a-1".into(), Program::default(), JournalOptions::default());
        EventWriter::new(
            run,
            StoredValues::open(folder.to_owned(), folder.join("key"), limits),
        )
    }

    fn part(length: usize) -> String {
        format!("{{\"type\":\"image\",\"data\":\"{}\"}}", "x".repeat(length))
    }

    /// The events in short: texts of console lines and lengths of parts.
    async fn texts(recorder: &EventWriter) -> Vec<String> {
        recorder.wait_until_written().await;
        let events = recorder.run.read_after(0, Duration::ZERO, usize::MAX).await;
        let short = |event| match event {
            EventKind::Console { text, .. } => text,
            EventKind::Emitted {
                part: Held::Value(value),
            } => format!("inline {}", value.as_str().len()),
            EventKind::Emitted {
                part: Held::Stored(handle),
            } => format!("stored {}", handle.bytes),
            EventKind::Ended { .. } => "ended".into(),
            other => format!("{other:?}"),
        };
        events.into_iter().map(|event| short(event.event)).collect()
    }

    #[tokio::test]
    async fn events_stay_in_order_around_stored_parts() {
        let home = tempfile::tempdir().unwrap();
        let recorder = recorder(&home.path().join("results"));
        let say = |text: &str| {
            let level = Level::Log;
            let text = text.into();
            recorder.push(EventKind::Console { level, text });
        };
        say("a");
        recorder.push_content_block(part(10));
        recorder.push_content_block(part(5000));
        say("b");
        recorder.push_content_block(part(10));
        recorder.push_content_block(part(6000));
        recorder.push_content_block("rubbish".repeat(1000));
        say("c");
        recorder.push(EventKind::Ended {
            outcome: Outcome::Result(JsonText::default()),
        });
        say("late");
        let texts = texts(&recorder).await;
        let shape = part(0).len();
        let expected = [
            "a".to_owned(),
            format!("inline {}", shape + 10),
            format!("stored {}", shape + 5000),
            "b".to_owned(),
            format!("inline {}", shape + 10),
            format!("stored {}", shape + 6000),
        ];
        assert_eq!(texts[..6], expected);
        assert!(texts[6].contains("part is dropped"), "{texts:?}");
        assert_eq!(texts[7..], ["c", "ended"]);
    }

    #[tokio::test]
    async fn part_is_inlined_if_it_cannot_be_stored() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("results");
        std::fs::write(&folder, "in the way").unwrap();
        let recorder = recorder(&folder);
        recorder.push_content_block(part(5000));
        let texts = texts(&recorder).await;
        assert!(texts[0].contains("could not be kept"), "{texts:?}");
        assert!(texts[1].starts_with("inline 50"), "{texts:?}");
    }
}
