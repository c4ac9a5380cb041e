//! Whether anybody still needs this daemon.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// Counts clients and detached runs, and knows when there has been none for long enough.
#[derive(Clone, Debug)]
pub struct Activity(Arc<ActivityWatches>);

#[derive(Debug)]
struct ActivityWatches {
    clients: watch::Sender<ClientCounts>,
    idle_exit: watch::Sender<Option<Duration>>,
}

/// All in one place, so that nobody is let in after the decision to go.
#[derive(Clone, Copy, Debug, Default)]
struct ClientCounts {
    count: usize,
    /// Runs that need no client.
    detached: usize,
    /// Somebody has been here.
    seen: bool,
    /// The daemon is ending.
    closed: bool,
}

/// Whoever started the daemon is on the way, and gets this long however impatient we are.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

impl ClientCounts {
    fn has_no_clients(self) -> bool {
        self.count == 0 && self.detached == 0
    }
}

/// A client or a detached run that is there.
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
    /// `idle_exit` is `None` for a daemon that never leaves by itself.
    pub fn new(idle_exit: Option<Duration>) -> Self {
        let clients = watch::Sender::new(ClientCounts::default());
        let idle_exit = watch::Sender::new(idle_exit);
        Self(Arc::new(ActivityWatches { clients, idle_exit }))
    }

    /// Counts a client until it goes; `None` if the daemon is ending.
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

    /// Counts a run that goes on without the client that asks for it. That client is there now, so that
    /// the decision to leave cannot have been made for want of anybody.
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

    /// Lets nobody in any more.
    pub fn close_to_clients(&self) {
        self.0.clients.send_modify(|clients| clients.closed = true);
    }

    /// The same, if nobody is here.
    fn close_if_empty(&self) -> bool {
        self.0.clients.send_if_modified(|clients| {
            clients.closed |= clients.has_no_clients();
            clients.closed
        })
    }

    pub fn set_idle_exit(&self, idle_exit: Option<Duration>) {
        self.0.idle_exit.send_replace(idle_exit);
    }

    /// Resolves when nobody has been there for the whole time, and from then on lets nobody in. Every
    /// other run belongs to a client.
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
                // Somebody may have come in the last moment.
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

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_daemon_is_idle_only_after_the_whole_time_without_anybody() {
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
    async fn a_detached_run_keeps_the_daemon_and_is_no_client() {
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
    async fn never_means_never() {
        let activity = Activity::new(None);
        assert!(
            tokio::time::timeout(1000 * HOUR, activity.wait_until_idle())
                .await
                .is_err()
        );
    }
}
