//! Tracks whether the daemon is still in use.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// Counts clients and detached runs, and detects when the idle timeout is reached.
#[derive(Clone, Debug)]
pub struct Activity(Arc<ActivityWatches>);

#[derive(Debug)]
struct ActivityWatches {
    clients: watch::Sender<ClientCounts>,
    idle_exit: watch::Sender<Option<Duration>>,
}

/// The counts. One lock guards them all, because no client may be admitted after the decision to exit.
#[derive(Clone, Copy, Debug, Default)]
struct ClientCounts {
    count: usize,
    /// The number of detached runs.
    detached: usize,
    /// True if a client has ever connected.
    seen: bool,
    /// True if the daemon is shutting down.
    closed: bool,
}

/// The minimum time for the client that started the daemon to connect, even if the idle timeout is shorter.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

impl ClientCounts {
    fn has_no_clients(self) -> bool {
        self.count == 0 && self.detached == 0
    }
}

/// Counts as a client or a detached run as long as it lives.
pub struct ActivityGuard {
    activity: Activity,
    detached: bool,
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.activity.0.clients.send_modify(|clients| {
            if self.detached {
                clients.detached -= 1;
            } else {
                clients.count -= 1;
            }
        });
    }
}

impl Activity {
    /// `idle_exit` is `None` for a daemon that never exits by itself.
    pub fn new(idle_exit: Option<Duration>) -> Self {
        let clients = watch::Sender::new(ClientCounts::default());
        let idle_exit = watch::Sender::new(idle_exit);
        Self(Arc::new(ActivityWatches { clients, idle_exit }))
    }

    /// Counts a client until the guard is dropped. `None` if the daemon is shutting down.
    pub fn admit_client(&self) -> Option<ActivityGuard> {
        let admitted = self.0.clients.send_if_modified(|clients| {
            if !clients.closed {
                clients.count += 1;
                clients.seen = true;
            }
            !clients.closed
        });
        admitted.then(|| ActivityGuard {
            activity: self.clone(),
            detached: false,
        })
    }

    /// Counts a run that continues without its client. The client is connected now, so the idle timeout cannot have
    /// been reached.
    pub fn admit_detached_run(&self) -> ActivityGuard {
        self.0.clients.send_modify(|clients| clients.detached += 1);
        ActivityGuard {
            activity: self.clone(),
            detached: true,
        }
    }

    pub fn client_count(&self) -> usize {
        self.0.clients.borrow().count
    }

    /// Admits no more clients.
    pub fn close_to_clients(&self) {
        self.0.clients.send_modify(|clients| clients.closed = true);
    }

    /// Admits no more clients if there are none now. Returns whether clients are no longer admitted.
    fn close_if_empty(&self) -> bool {
        self.0.clients.send_if_modified(|clients| {
            clients.closed |= clients.has_no_clients();
            clients.closed
        })
    }

    pub fn set_idle_exit(&self, idle_exit: Option<Duration>) {
        self.0.idle_exit.send_replace(idle_exit);
    }

    /// Resolves when there was no client and no detached run for the whole idle timeout. From then on no client is
    /// admitted. Runs that are not detached end with their clients.
    pub async fn wait_until_idle(&self) {
        let mut clients = self.0.clients.subscribe();
        let mut idle_exit = self.0.idle_exit.subscribe();
        loop {
            let now = *clients.borrow_and_update();
            let patience = *idle_exit.borrow_and_update();
            let patience = patience.map(|time| {
                if now.seen {
                    time
                } else {
                    time.max(FIRST_CLIENT_TIMEOUT)
                }
            });
            let nobody = now.has_no_clients();
            let over = async {
                match patience {
                    Some(patience) if nobody => tokio::time::sleep(patience).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                // A client may have connected in the last moment.
                () = over => if self.close_if_empty() { return },
                // The senders live as long as `self`.
                _ = clients.changed() => {}
                _ = idle_exit.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn daemon_is_idle_after_the_whole_timeout_without_clients() {
        let activity = Activity::new(Some(3 * HOUR));
        let started = tokio::time::Instant::now();
        let present = activity.admit_client().unwrap();
        tokio::join!(activity.wait_until_idle(), async {
            tokio::time::sleep(2 * HOUR).await;
            drop(present);
            tokio::time::sleep(HOUR).await;
            drop(activity.admit_client().unwrap());
        });
        assert_eq!(started.elapsed(), 6 * HOUR);
        assert!(activity.admit_client().is_none(), "the decision is made");
    }

    #[tokio::test(start_paused = true)]
    async fn detached_run_delays_idle_exit_and_is_not_a_client() {
        let activity = Activity::new(Some(HOUR));
        let started = tokio::time::Instant::now();
        let client = activity.admit_client().unwrap();
        let run = activity.admit_detached_run();
        drop(client);
        assert_eq!(activity.client_count(), 0);
        tokio::join!(activity.wait_until_idle(), async {
            tokio::time::sleep(5 * HOUR).await;
            drop(run);
        });
        assert_eq!(started.elapsed(), 6 * HOUR);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_exit_never_is_not_reached() {
        let activity = Activity::new(None);
        assert!(
            tokio::time::timeout(1000 * HOUR, activity.wait_until_idle())
                .await
                .is_err()
        );
    }
}
