//! A word on the user's desktop that a call waits.
//!
//! Invariant: it names the tool and nothing of its arguments, and whatever goes wrong stands in the log alone.

use std::time::Duration;

use notify_rust::{Notification, Timeout};
use tokio::{task::spawn_blocking, time::timeout};
use tracing::debug;

use crate::notices::Request;

/// A desktop that does not answer by then is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Shows it, sometime.
pub(super) fn show(request: &Request) {
    let (approval, path) = (&request.approval, &request.path);
    let summary = format!("{path} waits for your approval");
    let body = format!(
        "mux approvals {approval} shows it; mux approve {approval} or mux deny {approval} answers"
    );
    let shown = spawn_blocking(move || {
        let mut note = Notification::new();
        note.appname("mux").summary(&summary).body(&body);
        note.timeout(Timeout::Default).show().map(drop)
    });
    tokio::spawn(async move {
        match timeout(PATIENCE, shown).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => debug!(%error, "no desktop notification"),
            Ok(Err(_)) | Err(_) => debug!("no desktop notification: the desktop does not answer"),
        }
    });
}
