//! A word on the user's desktop that calls wait.
//!
//! Invariant: it names tools and nothing of their arguments, whatever goes wrong stands in the log alone, and one word
//! is said at a time: of what comes while a desktop does not answer, the last is told afterwards, with how many there
//! were.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use notify_rust::{Notification, Timeout};
use tracing::debug;

use mux_caller::Request;

/// What is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Word {
    summary: String,
    body: String,
}

/// Shows it, or says why it cannot. It may take for ever.
type Show = dyn Fn(&Word) -> Result<(), String> + Send + Sync;

#[derive(Clone)]
pub(super) struct Desktop {
    show: Arc<Show>,
    line: Arc<Mutex<Line>>,
}

/// Guarded by `Desktop::line`.
#[derive(Debug, Default)]
struct Line {
    /// A thread has the desktop.
    busy: bool,
    /// The last that has come meanwhile, and how many.
    next: Option<(Word, usize)>,
}

impl Default for Desktop {
    fn default() -> Self {
        Self::new(|word| {
            let mut note = Notification::new();
            note.appname("mux").summary(&word.summary).body(&word.body);
            let shown = note.timeout(Timeout::Default).show();
            shown.map(drop).map_err(|error| error.to_string())
        })
    }
}

impl std::fmt::Debug for Desktop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desktop")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl Desktop {
    fn new(show: impl Fn(&Word) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self {
            show: Arc::new(show),
            line: Arc::default(),
        }
    }

    /// Shows it, sometime.
    pub(super) fn tell(&self, request: &Request) {
        let word = word(request);
        {
            let mut line = self.line();
            if line.busy {
                let before = line.next.take().map_or(0, |(_, count)| count);
                line.next = Some((word, before + 1));
                return;
            }
            line.busy = true;
        }
        let this = self.clone();
        // No thread of the runtime: one that hangs would be missed there.
        let thread = thread::Builder::new().name("desktop".into());
        if let Err(error) = thread.spawn(move || this.work(word)) {
            debug!(%error, "no desktop notification");
            self.line().busy = false;
        }
    }

    fn work(&self, mut word: Word) {
        loop {
            if let Err(error) = (self.show)(&word) {
                debug!(error, "no desktop notification");
            }
            let mut line = self.line();
            match line.next.take() {
                Some((next, count)) => word = among(next, count),
                None => {
                    line.busy = false;
                    return;
                }
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn word(request: &Request) -> Word {
    let (approval, path) = (&request.approval, &request.path);
    Word {
        summary: format!("{path} waits for your approval"),
        body: format!(
            "mux approvals {approval} shows it; mux approve {approval} or mux deny {approval} answers"
        ),
    }
}

fn among(last: Word, count: usize) -> Word {
    match count {
        0 | 1 => last,
        count => Word {
            summary: format!("{count} calls wait for your approval"),
            body: "mux approvals shows them".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_desktop_that_hangs_costs_one_thread_and_hears_of_the_rest_at_once() {
        let (shown, showing) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel::<()>();
        let gate = Mutex::new((shown, goes_on));
        let desktop = Desktop::new(move |word| {
            let gate = gate.try_lock().expect("one word at a time");
            gate.0.send(word.summary.clone()).unwrap();
            gate.1.recv().map_err(|error| error.to_string())
        });
        let request = |n: usize| Request {
            approval: format!("A{n}"),
            path: format!("s.t{n}"),
            arguments: "{\"secret\":1}".into(),
            bytes: 12,
            rule: "rule".into(),
            reason: None,
            cover: String::new(),
            from_server: false,
            wait: std::time::Duration::from_secs(1),
        };
        desktop.tell(&request(0));
        assert_eq!(showing.recv().unwrap(), "s.t0 waits for your approval");
        for n in 1..=500 {
            desktop.tell(&request(n));
        }
        go_on.send(()).unwrap();
        assert_eq!(showing.recv().unwrap(), "500 calls wait for your approval");
        desktop.tell(&request(501));
        go_on.send(()).unwrap();
        assert_eq!(showing.recv().unwrap(), "s.t501 waits for your approval");
        // Nothing is left over, and the next one is shown as the first was.
        go_on.send(()).unwrap();
        while desktop.line().busy {
            thread::yield_now();
        }
        desktop.tell(&request(502));
        assert_eq!(showing.recv().unwrap(), "s.t502 waits for your approval");
        drop(go_on);
    }
}
