//! Writes the events of one run in the order in which they came, though some parts must go to the disk
//! first.
//!
//! Invariant: nothing here waits but [`Recorder::settled`]; while a part is being stored, all that
//! comes stands in line behind it. How much may come is counted in the sandbox.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_wire::{Fault, Level};
use tokio::sync::watch;
use tracing::Instrument;

use super::{Happening, Run, parts};
use mux_handles::{Handles, Held};

pub(super) struct Recorder {
    run: Arc<Run>,
    handles: Handles,
    line: Mutex<Line>,
    /// Whether a part is being stored.
    storing: watch::Sender<bool>,
}

/// Guarded by `Recorder::line`.
#[derive(Default)]
struct Line {
    storing: bool,
    waiting: VecDeque<Entry>,
}

enum Entry {
    Event(Happening),
    /// JSON text as the worker sent it.
    Part(String),
}

impl Recorder {
    pub(super) fn new(run: Arc<Run>, handles: Handles) -> Arc<Self> {
        Arc::new(Self {
            run,
            handles,
            line: Mutex::default(),
            storing: watch::Sender::new(false),
        })
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    pub(super) fn push(&self, what: Happening) {
        self.enter(&mut self.line(), what);
    }

    /// Takes a part that nobody has looked at yet.
    pub(super) fn part(self: &Arc<Self>, text: String) {
        let mut line = self.line();
        if line.storing {
            line.waiting.push_back(Entry::Part(text));
        } else if text.len() <= self.handles.inline() {
            let what = match parts::check(&text) {
                Ok(()) => Happening::Emitted(Held::Inline(text)),
                Err(fault) => dropped(&fault),
            };
            self.enter(&mut line, what);
        } else {
            line.storing = true;
            drop(line);
            self.storing.send_replace(true);
            let storing = Storing(Arc::clone(self));
            tokio::spawn(async move { storing.store(text).await }.in_current_span());
        }
    }

    /// Resolves when nothing stands in line any more.
    pub(super) async fn settled(&self) {
        let mut storing = self.storing.subscribe();
        // The sender lives as long as `self`.
        drop(storing.wait_for(|storing| !storing).await);
    }

    fn enter(&self, line: &mut Line, what: Happening) {
        if line.storing {
            line.waiting.push_back(Entry::Event(what));
        } else {
            self.run.events.push(what);
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the line until it is empty; whatever happens to its task, the line moves on.
struct Storing(Arc<Recorder>);

impl Storing {
    async fn store(self, mut text: String) {
        loop {
            match parts::held(text, &self.0.handles).await {
                Ok((held, word)) => {
                    if let Some(word) = word {
                        self.0.run.events.push(warning(&word));
                    }
                    self.0.run.events.push(Happening::Emitted(held));
                }
                Err(fault) => self.0.run.events.push(dropped(&fault)),
            }
            match self.advance() {
                Some(next) => text = next,
                None => return,
            }
        }
    }

    /// Writes what stands in line up to the next part, which it gives; none if that was all.
    fn advance(&self) -> Option<String> {
        let mut line = self.0.line();
        while let Some(entry) = line.waiting.pop_front() {
            match entry {
                Entry::Event(what) => self.0.run.events.push(what),
                Entry::Part(text) => return Some(text),
            }
        }
        line.storing = false;
        None
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        // Parts are left over only if the task was lost.
        while self.advance().is_some() {
            self.0
                .run
                .events
                .push(warning("a part was lost in the daemon"));
        }
        self.0.storing.send_replace(false);
    }
}

fn dropped(fault: &Fault) -> Happening {
    warning(&format!("an emitted part is dropped: {}", fault.message))
}

pub(super) fn warning(text: &str) -> Happening {
    Happening::Console {
        level: Level::Warn,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use mux_settings::StoredValueLimits;

    fn recorder(folder: &std::path::Path) -> Arc<Recorder> {
        let terms = StoredValueLimits {
            inline: 1000,
            ..StoredValueLimits::default()
        };
        let run = Run::new("a-1".into(), "", Arc::default(), None);
        Recorder::new(Arc::new(run), Handles::open(folder.to_owned(), terms))
    }

    fn part(length: usize) -> String {
        format!("{{\"type\":\"image\",\"data\":\"{}\"}}", "x".repeat(length))
    }

    /// The events in short: letters for console lines, lengths for parts.
    async fn told(recorder: &Recorder) -> Vec<String> {
        recorder.settled().await;
        let events = recorder
            .run
            .events
            .after(0, Duration::ZERO, usize::MAX)
            .await;
        let short = |what| match what {
            Happening::Console { text, .. } => text,
            Happening::Emitted(Held::Inline(text)) => format!("inline {}", text.len()),
            Happening::Emitted(Held::Stored(handle)) => format!("stored {}", handle.bytes),
            Happening::Ended(_) => "ended".into(),
            other => format!("{other:?}"),
        };
        events.into_iter().map(|event| short(event.what)).collect()
    }

    #[tokio::test]
    async fn events_stay_in_order_around_parts_that_are_stored() {
        let home = tempfile::tempdir().unwrap();
        let recorder = recorder(&home.path().join("results"));
        let say = |text: &str| {
            let (level, text) = (Level::Log, text.into());
            recorder.push(Happening::Console { level, text });
        };
        say("a");
        recorder.part(part(10));
        recorder.part(part(5000));
        say("b");
        recorder.part(part(10));
        recorder.part(part(6000));
        recorder.part("rubbish".repeat(1000));
        say("c");
        recorder.push(Happening::Ended(Ok(Held::Inline("1".into()))));
        say("late");
        let told = told(&recorder).await;
        let shape = part(0).len();
        let expected = [
            "a".to_owned(),
            format!("inline {}", shape + 10),
            format!("stored {}", shape + 5000),
            "b".to_owned(),
            format!("inline {}", shape + 10),
            format!("stored {}", shape + 6000),
        ];
        assert_eq!(told[..6], expected);
        assert!(told[6].contains("part is dropped"), "{told:?}");
        assert_eq!(told[7..], ["c", "ended"]);
    }

    #[tokio::test]
    async fn where_nothing_can_be_kept_a_part_comes_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("results");
        std::fs::write(&folder, "in the way").unwrap();
        let recorder = recorder(&folder);
        recorder.part(part(5000));
        let told = told(&recorder).await;
        assert!(told[0].contains("could not be kept"), "{told:?}");
        assert!(told[1].starts_with("inline 50"), "{told:?}");
    }
}
