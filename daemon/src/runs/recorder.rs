//! Writes the events of one run in the order in which they came, though some parts must go to the disk
//! first.
//!
//! Invariant: nothing here waits but [`Recorder::settled`]; while a part is being stored, all that
//! comes stands in line behind it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_sandbox::{Fault, Level, Limits};
use tokio::sync::watch;
use tracing::Instrument;

use super::{Happening, Run, parts};
use crate::handles::Handles;

/// What a line of the console or a part takes beside its text, when that is counted.
const SMALL: usize = 128;
/// The worker keeps the limits of console and parts, for which an empty line is nothing; this bounds
/// what is held here, whatever the worker does.
const MOST_CONSOLE: usize = 8 << 20;

pub(super) struct Recorder {
    run: Arc<Run>,
    handles: Handles,
    line: Mutex<Line>,
    /// Whether a part is being stored.
    storing: watch::Sender<bool>,
}

/// Guarded by `Recorder::line`.
struct Line {
    storing: bool,
    waiting: VecDeque<Entry>,
    console: Budget,
    parts: Budget,
}

enum Entry {
    Event(Happening),
    /// JSON text as the worker sent it.
    Part(String),
}

/// So many bytes, and one word when they are used up.
struct Budget {
    most: usize,
    left: usize,
    told: bool,
}

impl Recorder {
    pub(super) fn new(run: Arc<Run>, handles: Handles, limits: &Limits) -> Arc<Self> {
        let budget = |most| Budget {
            most,
            left: most,
            told: false,
        };
        Arc::new(Self {
            run,
            handles,
            line: Mutex::new(Line {
                storing: false,
                waiting: VecDeque::new(),
                console: budget(MOST_CONSOLE.max(limits.console as usize)),
                parts: budget((limits.emitted as usize).saturating_add(MOST_CONSOLE)),
            }),
            storing: watch::Sender::new(false),
        })
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    pub(super) fn push(&self, what: Happening) {
        self.enter(&mut self.line(), what);
    }

    pub(super) fn console(&self, level: Level, text: String) {
        let mut line = self.line();
        match line.console.take(text.len()) {
            Taken::Yes => self.enter(&mut line, Happening::Console { level, text }),
            Taken::Last => {
                let most = line.console.most;
                let text = format!(
                    "[console output beyond {most} bytes is dropped, each line counted with {SMALL} more]"
                );
                self.enter(&mut line, warning(&text));
            }
            Taken::No => {}
        }
    }

    /// Takes a part that nobody has looked at yet.
    pub(super) fn part(self: &Arc<Self>, text: String) {
        let mut line = self.line();
        match line.parts.take(text.len()) {
            Taken::Yes if line.storing => line.waiting.push_back(Entry::Part(text)),
            Taken::Yes if text.len() <= self.handles.inline() => {
                let what = match parts::check(&text) {
                    Ok(()) => Happening::Emitted(crate::handles::Held::Inline(text)),
                    Err(fault) => dropped(&fault),
                };
                self.enter(&mut line, what);
            }
            Taken::Yes => {
                line.storing = true;
                drop(line);
                self.storing.send_replace(true);
                let storing = Storing(Arc::clone(self));
                tokio::spawn(async move { storing.store(text).await }.in_current_span());
            }
            Taken::Last => {
                let most = line.parts.most;
                let text = format!(
                    "[emitted parts beyond {most} bytes are dropped, each counted with {SMALL} more]"
                );
                self.enter(&mut line, warning(&text));
            }
            Taken::No => {}
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

enum Taken {
    Yes,
    /// The first that does not fit.
    Last,
    No,
}

impl Budget {
    fn take(&mut self, length: usize) -> Taken {
        match self.left.checked_sub(length.saturating_add(SMALL)) {
            Some(left) if !self.told => {
                self.left = left;
                Taken::Yes
            }
            _ if std::mem::replace(&mut self.told, true) => Taken::No,
            _ => Taken::Last,
        }
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
    use crate::handles::{Held, Terms};

    fn recorder(folder: &std::path::Path, limits: &Limits) -> Arc<Recorder> {
        let terms = Terms {
            inline: 1000,
            ..Terms::default()
        };
        let run = Run::new("a-1".into(), "", Arc::default(), None);
        Recorder::new(
            Arc::new(run),
            Handles::open(folder.to_owned(), terms),
            limits,
        )
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
        let recorder = recorder(&home.path().join("results"), &Limits::default());
        let say = |text: &str| recorder.console(Level::Log, text.into());
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
    async fn a_worker_that_floods_is_cut_off_with_a_word() {
        let home = tempfile::tempdir().unwrap();
        let limits = Limits {
            emitted: 0,
            ..Limits::default()
        };
        let recorder = recorder(&home.path().join("results"), &limits);
        for _ in 0..100_000 {
            recorder.console(Level::Log, String::new());
            recorder.part(part(100));
        }
        let told = told(&recorder).await;
        let words: Vec<_> = told.iter().filter(|text| text.starts_with('[')).collect();
        assert_eq!(words.len(), 2, "{words:?}");
        let most = 2 * MOST_CONSOLE / SMALL + 2;
        assert!(told.len() < most, "{}", told.len());
    }

    #[tokio::test]
    async fn where_nothing_can_be_kept_a_part_comes_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("results");
        std::fs::write(&folder, "in the way").unwrap();
        let recorder = recorder(&folder, &Limits::default());
        recorder.part(part(5000));
        let told = told(&recorder).await;
        assert!(told[0].contains("could not be kept"), "{told:?}");
        assert!(told[1].starts_with("inline 50"), "{told:?}");
    }
}
