//! Whether anybody still needs this daemon.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// Counts clients, and knows when there has been none for long enough.
#[derive(Clone, Debug)]
pub struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clients: watch::Sender<usize>,
    idle_exit: watch::Sender<Option<Duration>>,
}

/// One client that is there.
pub struct Present(Activity);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.0.clients.send_modify(|clients| *clients -= 1);
    }
}

impl Activity {
    /// `idle_exit` is `None` for a daemon that never leaves by itself.
    pub fn new(idle_exit: Option<Duration>) -> Self {
        let (clients, idle_exit) = (watch::Sender::new(0), watch::Sender::new(idle_exit));
        Self(Arc::new(Inner { clients, idle_exit }))
    }

    pub fn client(&self) -> Present {
        self.0.clients.send_modify(|clients| *clients += 1);
        Present(self.clone())
    }

    pub fn clients(&self) -> usize {
        *self.0.clients.borrow()
    }

    pub fn set_idle_exit(&self, idle_exit: Option<Duration>) {
        self.0.idle_exit.send_replace(idle_exit);
    }

    /// Resolves when nobody has been there for the whole time. A run belongs to a client, so that
    /// no client means no run.
    pub async fn idle(&self) {
        let mut clients = self.0.clients.subscribe();
        let mut idle_exit = self.0.idle_exit.subscribe();
        loop {
            let nobody = *clients.borrow_and_update() == 0;
            let patience = *idle_exit.borrow_and_update();
            let over = async {
                match patience {
                    Some(patience) if nobody => tokio::time::sleep(patience).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => return,
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
        let present = activity.client();
        tokio::join!(activity.idle(), async {
            tokio::time::sleep(2 * HOUR).await;
            drop(present);
            tokio::time::sleep(HOUR).await;
            drop(activity.client());
        });
        assert_eq!(started.elapsed(), 6 * HOUR);
    }

    #[tokio::test(start_paused = true)]
    async fn never_means_never() {
        let activity = Activity::new(None);
        assert!(
            tokio::time::timeout(1000 * HOUR, activity.idle())
                .await
                .is_err()
        );
    }
}
