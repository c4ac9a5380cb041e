//! Desktop notifications of waiting calls.
//!
//! Invariant: a notification names tools but no arguments, and errors go only to the log. One notification is shown at
//! a time. Notifications that come while the desktop does not respond are merged into one notification with their
//! number.
//!
//! - `notification_service` shows it on a desktop that has the notification service of freedesktop.org.
//! - `osascript` shows it on macOS.

#[cfg(not(target_os = "macos"))]
mod notification_service;
// Compiled for tests on every Unix, because it could otherwise break unnoticed on macOS. A shell script stands in for
// `osascript`.
#[cfg(any(target_os = "macos", all(test, unix)))]
mod osascript;

use std::{sync::Arc, thread};

use parking_lot::{Mutex, MutexGuard};
use tracing::debug;

use mux_caller::ApprovalRequest;

#[cfg(not(target_os = "macos"))]
use notification_service as desktop;
#[cfg(target_os = "macos")]
use osascript as desktop;

/// The text of a notification.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct NotificationText {
    summary: String,
    body: String,
}

/// Shows a notification, or returns the reason it cannot. May block forever.
type ShowNotification = dyn Fn(&NotificationText) -> Result<(), String> + Send + Sync;

#[derive(Clone)]
pub(super) struct DesktopNotifier {
    show: Arc<ShowNotification>,
    line: Arc<Mutex<NotifierState>>,
}

/// The state that `DesktopNotifier::line` guards.
#[derive(Debug, Default)]
struct NotifierState {
    /// Set while a thread is showing notifications.
    busy: bool,
    /// The last notification that came meanwhile, and their number.
    next: Option<(NotificationText, usize)>,
}

impl Default for DesktopNotifier {
    fn default() -> Self {
        Self::new(desktop::show)
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

    /// Shows a notification without blocking.
    pub(super) fn notify(&self, request: &ApprovalRequest) {
        let text = notification_text(request);
        {
            let mut line = self.line();
            if line.busy {
                let before = line.next.take().map_or(0, |(_, count)| count);
                line.next = Some((text, before + 1));
                return;
            }
            line.busy = true;
        }
        let this = self.clone();
        // Not a runtime thread, because a desktop that hangs would block it.
        let thread = thread::Builder::new().name("desktop".into());
        if let Err(error) = thread.spawn(move || this.show_until_idle(text)) {
            debug!(%error, "no desktop notification");
            self.line().busy = false;
        }
    }

    fn show_until_idle(&self, mut text: NotificationText) {
        loop {
            if let Err(error) = (self.show)(&text) {
                debug!(error, "no desktop notification");
            }
            let mut line = self.line();
            if let Some((next, count)) = line.next.take() {
                text = merged_notification(next, count);
            } else {
                line.busy = false;
                return;
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, NotifierState> {
        self.line.lock()
    }
}

fn notification_text(request: &ApprovalRequest) -> NotificationText {
    let approval = &request.approval;
    let path = &request.path;
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
    fn hanging_desktop_uses_one_thread_and_merges_later_notifications() {
        let (shown, showing) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel::<()>();
        let gate = Mutex::new((shown, goes_on));
        let desktop = DesktopNotifier::new(move |text| {
            let gate = gate.try_lock().expect("one word at a time");
            gate.0.send(text.summary.clone()).unwrap();
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
            wait_ms: 1_000,
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
        // The queue is empty, and the next notification is shown immediately.
        go_on.send(()).unwrap();
        while desktop.line().busy {
            thread::yield_now();
        }
        desktop.notify(&request(502));
        assert_eq!(showing.recv().unwrap(), "s.t502 waits for your approval");
        drop(go_on);
    }
}
