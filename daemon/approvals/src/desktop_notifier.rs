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

use mux_caller::ApprovalRequest;

/// What is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct NotificationText {
    summary: String,
    body: String,
}

/// Shows it, or says why it cannot. It may take for ever.
type ShowNotification = dyn Fn(&NotificationText) -> Result<(), String> + Send + Sync;

#[derive(Clone)]
pub(super) struct DesktopNotifier {
    show: Arc<ShowNotification>,
    line: Arc<Mutex<NotifierState>>,
}

/// Guarded by `Desktop::line`.
#[derive(Debug, Default)]
struct NotifierState {
    /// A thread has the desktop.
    busy: bool,
    /// The last that has come meanwhile, and how many.
    next: Option<(NotificationText, usize)>,
}

impl Default for DesktopNotifier {
    fn default() -> Self {
        Self::new(|word| {
            let mut note = Notification::new();
            note.appname("mux").summary(&word.summary).body(&word.body);
            let shown = note.timeout(Timeout::Default).show();
            shown.map(drop).map_err(|error| error.to_string())
        })
    }
}

impl std::fmt::Debug for DesktopNotifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DesktopNotifier")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl DesktopNotifier {
    fn new(show: impl Fn(&NotificationText) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self {
            show: Arc::new(show),
            line: Arc::default(),
        }
    }

    /// Shows it, sometime.
    pub(super) fn notify(&self, request: &ApprovalRequest) {
        let word = notification_text(request);
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
        if let Err(error) = thread.spawn(move || this.show_until_idle(word)) {
            debug!(%error, "no desktop notification");
            self.line().busy = false;
        }
    }

    fn show_until_idle(&self, mut word: NotificationText) {
        loop {
            if let Err(error) = (self.show)(&word) {
                debug!(error, "no desktop notification");
            }
            let mut line = self.line();
            match line.next.take() {
                Some((next, count)) => word = merged_notification(next, count),
                None => {
                    line.busy = false;
                    return;
                }
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, NotifierState> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn notification_text(request: &ApprovalRequest) -> NotificationText {
    let (approval, path) = (&request.approval, &request.path);
    NotificationText {
        summary: format!("{path} waits for your approval"),
        body: format!(
            "mux approvals {approval} shows it; mux approve {approval} or mux deny {approval} answers"
        ),
    }
}

fn merged_notification(last: NotificationText, count: usize) -> NotificationText {
    match count {
        0 | 1 => last,
        count => NotificationText {
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
        let desktop = DesktopNotifier::new(move |word| {
            let gate = gate.try_lock().expect("one word at a time");
            gate.0.send(word.summary.clone()).unwrap();
            gate.1.recv().map_err(|error| error.to_string())
        });
        let request = |n: usize| ApprovalRequest {
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
        desktop.notify(&request(0));
        assert_eq!(showing.recv().unwrap(), "s.t0 waits for your approval");
        for n in 1..=500 {
            desktop.notify(&request(n));
        }
        go_on.send(()).unwrap();
        assert_eq!(showing.recv().unwrap(), "500 calls wait for your approval");
        desktop.notify(&request(501));
        go_on.send(()).unwrap();
        assert_eq!(showing.recv().unwrap(), "s.t501 waits for your approval");
        // Nothing is left over, and the next one is shown as the first was.
        go_on.send(()).unwrap();
        while desktop.line().busy {
            thread::yield_now();
        }
        desktop.notify(&request(502));
        assert_eq!(showing.recv().unwrap(), "s.t502 waits for your approval");
        drop(go_on);
    }
}
