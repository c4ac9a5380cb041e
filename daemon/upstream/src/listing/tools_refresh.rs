//! Tracks announced changes of a tool list, and the calls that wait for the new list.
//!
//! A server that announces a change may have changed a tool that a caller has seen. A call after the announcement waits
//! for the new list, but only for a limited time.
//!
//! Invariant: a call that finds the list current uses the server's latest announced list.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::{sleep_until, timeout},
};

use super::refresh_pacing::RefreshPacing;

/// How long a call waits for the new list, longer than a refresh other than noise is held back. After that the call
/// uses the old list.
const TOOLS_REFRESH_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct ToolsRefresh {
    announced: AtomicU64,
    /// The last announcement for which the list was fetched.
    listed: AtomicU64,
    /// Set while the server announces changes without changing the list. No call waits for them.
    is_noise: AtomicBool,
    /// Notified if the list must be fetched without delay.
    urgent: Notify,
    /// Set by a request of the daemon itself, which says nothing about the server's announcements.
    is_requested: AtomicBool,
    /// The last announcement that the list includes, or for which the wait was given up.
    current: watch::Sender<u64>,
    wake: Notify,
}

impl Default for ToolsRefresh {
    fn default() -> Self {
        Self {
            announced: AtomicU64::new(0),
            listed: AtomicU64::new(0),
            is_noise: AtomicBool::new(false),
            urgent: Notify::new(),
            is_requested: AtomicBool::new(false),
            current: watch::Sender::new(0),
            wake: Notify::new(),
        }
    }
}

impl ToolsRefresh {
    /// Records that the server has announced a change.
    pub(crate) fn announce_change(&self) {
        self.announced.fetch_add(1, Ordering::AcqRel);
        self.wake.notify_one();
    }

    /// Requests a new list without delay: the daemon itself knows that something has changed.
    pub(crate) fn request_now(&self) {
        self.is_noise.store(false, Ordering::Release);
        self.is_requested.store(true, Ordering::Release);
        self.announce_change();
        self.urgent.notify_one();
    }

    /// True if the daemon itself has requested the refresh that begins now.
    pub(crate) fn take_request(&self) -> bool {
        self.is_requested.swap(false, Ordering::AcqRel)
    }

    /// Makes the list be fetched again when it is due. No call waits for that.
    pub(crate) fn retry_later(&self) {
        self.announce_change();
        self.mark_current(self.announced.load(Ordering::Acquire));
    }

    /// Resolves when the list has to be fetched and its refresh is due, with the number to pass to
    /// [`Self::mark_refreshed`].
    pub(crate) async fn wait_for_announcement(&self, pacing: &RefreshPacing) -> u64 {
        while self.announced.load(Ordering::Acquire) <= self.listed.load(Ordering::Acquire) {
            self.wake.notified().await;
        }
        self.is_noise.store(pacing.is_noise(), Ordering::Release);
        tokio::select! {
            () = sleep_until(pacing.due()) => {}
            () = self.urgent.notified() => {}
        }
        self.announced.load(Ordering::Acquire)
    }

    /// Records that the list was fetched for this announcement, successfully or not.
    pub(crate) fn mark_refreshed(&self, announced: u64) {
        self.listed.fetch_max(announced, Ordering::AcqRel);
        self.mark_current(announced);
    }

    fn mark_current(&self, announced: u64) {
        self.current.send_if_modified(|current| {
            let later = announced > *current;
            *current = announced.max(*current);
            later
        });
    }

    /// Resolves when changes announced before this call are in the list, or after a timeout.
    pub(crate) async fn wait_until_current(&self) {
        let announced = self.announced.load(Ordering::Acquire);
        if *self.current.borrow() >= announced || self.is_noise.load(Ordering::Acquire) {
            return;
        }
        let mut current = self.current.subscribe();
        let listed = current.wait_for(|current| *current >= announced);
        if timeout(TOOLS_REFRESH_TIMEOUT, listed).await.is_err() {
            // The next call does not wait for the same list.
            self.mark_current(announced);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_wait_for_changes_announced_before_them() {
        let relist = ToolsRefresh::default();
        let pacing = RefreshPacing::default();
        relist
            .wait_until_current()
            .now_or_never()
            .expect("nothing was announced");
        relist.announce_change();
        let first = relist.wait_for_announcement(&pacing).await;
        relist.announce_change();
        let mut second = std::pin::pin!(relist.wait_until_current());
        assert!(second.as_mut().now_or_never().is_none());
        relist.mark_refreshed(first);
        assert!(
            second.as_mut().now_or_never().is_none(),
            "that list may be older"
        );
        let next = relist.wait_for_announcement(&pacing).await;
        relist.mark_refreshed(next);
        second.now_or_never().expect("it is listed");

        relist.announce_change();
        relist.wait_until_current().await;
        relist
            .wait_until_current()
            .now_or_never()
            .expect("once is enough");
        // The list itself must still be fetched.
        let last = relist.wait_for_announcement(&pacing);
        last.now_or_never().expect("no change is missed");
    }

    #[tokio::test(start_paused = true)]
    async fn call_waits_for_no_noise_and_a_request_of_the_daemon_for_nothing() {
        let relist = ToolsRefresh::default();
        let mut pacing = RefreshPacing::default();
        for _ in 0..3 {
            pacing.begin_refresh();
            pacing.record_outcome(false);
        }
        relist.announce_change();
        let mut next = std::pin::pin!(relist.wait_for_announcement(&pacing));
        assert!(next.as_mut().now_or_never().is_none());
        relist
            .wait_until_current()
            .now_or_never()
            .expect("it is noise");
        relist.request_now();
        let announced = next.now_or_never().expect("nothing delays it");
        let mut current = std::pin::pin!(relist.wait_until_current());
        assert!(current.as_mut().now_or_never().is_none());
        relist.mark_refreshed(announced);
        current.now_or_never().expect("it is listed");
    }
}
