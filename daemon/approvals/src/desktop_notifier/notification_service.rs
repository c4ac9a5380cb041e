//! Notifications through the notification service of the desktop, over D-Bus.

use notify_rust::{Notification, Timeout};

use super::NotificationText;

/// Blocks until the service answers, which may never happen.
pub(super) fn show(text: &NotificationText) -> Result<(), String> {
    let mut note = Notification::new();
    note.appname("mux").summary(&text.summary).body(&text.body);
    let shown = note.timeout(Timeout::Default).show();
    shown.map(drop).map_err(|error| error.to_string())
}
