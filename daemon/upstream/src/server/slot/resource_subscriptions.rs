//! The task that owns the resource subscriptions of one slot at its server.
//!
//! Invariant: the server has one subscription for each followed resource, however many clients follow the resource. The
//! subscription is renewed with each session, and ends with the last follower.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, warn};

use crate::{
    calls::CallError,
    session::{RequestOptions, Session},
    sharing::{SessionKey, SlotShared},
};
use mux_caller::{Caller, Mailbox};

/// The time limit for a request on which other commands wait.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of such requests in flight.
const MAX_CONCURRENT_SUBSCRIPTIONS: usize = 64;

pub(super) enum SubscriptionCommand {
    Follow {
        session: Arc<Session>,
        uri: String,
        mailbox: Arc<Mailbox>,
        caller: Arc<Caller>,
        done: oneshot::Sender<Result<(), CallError>>,
    },
    Leave {
        uri: String,
        connection: u64,
        done: oneshot::Sender<()>,
    },
    /// A connection has ended.
    Gone(u64),
    /// The server has a new session.
    Opened(Arc<Session>),
}

pub(super) struct ResourceSubscriptions {
    pub(crate) slot_shared: Arc<SlotShared>,
    /// The time limit for a client's subscribe request.
    pub(super) within: Duration,
    /// The last session and its subscribed resources.
    pub(super) current: Option<(Arc<Session>, HashSet<String>)>,
}

impl ResourceSubscriptions {
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<SubscriptionCommand>) {
        while let Some(command) = commands.recv().await {
            match command {
                SubscriptionCommand::Follow {
                    session,
                    uri,
                    mailbox,
                    caller,
                    mut done,
                } => {
                    self.resubscribe(&session).await;
                    let outcome = tokio::select! {
                        outcome = self.follow(&session, &uri, &mailbox, &caller) => outcome,
                        () = done.closed() => {
                            self.unsubscribe_connection(&[uri], mailbox.connection()).await;
                            continue;
                        }
                    };
                    // The caller may be gone. The end of its connection is handled after this.
                    drop(done.send(outcome));
                }
                SubscriptionCommand::Leave {
                    uri,
                    connection,
                    done,
                } => {
                    self.unsubscribe_connection(&[uri], connection).await;
                    // The caller may be gone.
                    _ = done.send(());
                }
                SubscriptionCommand::Gone(connection) => {
                    let uris = self.slot_shared.subscribers.followed_by(connection);
                    self.unsubscribe_connection(&uris, connection).await;
                }
                SubscriptionCommand::Opened(session) => self.resubscribe(&session).await,
            }
        }
    }

    async fn follow(
        &mut self,
        session: &Arc<Session>,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        caller: &Arc<Caller>,
    ) -> Result<(), CallError> {
        // The session may have moved to another workspace meanwhile.
        if let SessionKey::Workspace(own) = self.slot_shared.scope.key()
            && caller.workspace.as_ref() != Some(&own)
        {
            return Err(CallError::NotSent);
        }
        // Added before the request, because an immediate update must not be lost.
        let all = &self.slot_shared.subscribers;
        let workspace = caller.workspace.as_deref();
        if !all.add_subscriber(uri, mailbox, workspace) {
            let message = "this client follows too many resources of this server";
            return Err(CallError::TooMuch(message.into()));
        }
        let subscribed = match &mut self.current {
            Some((current, subscribed)) if Arc::ptr_eq(current, session) => subscribed,
            _ => {
                self.slot_shared
                    .subscribers
                    .remove_subscriber(uri, mailbox.connection());
                return Err(CallError::NotSent);
            }
        };
        if subscribed.contains(uri) {
            return Ok(());
        }
        let options = RequestOptions {
            caller: Some(caller),
            ..RequestOptions::without_caller(self.within)
        };
        match session.subscribe(uri, &options).await {
            Ok(()) => {
                subscribed.insert(uri.to_owned());
                Ok(())
            }
            Err(error) => {
                self.slot_shared
                    .subscribers
                    .remove_subscriber(uri, mailbox.connection());
                Err(error)
            }
        }
    }

    async fn unsubscribe_connection(&mut self, uris: &[String], connection: u64) {
        let mut unfollowed: Vec<&str> = uris.iter().map(String::as_str).collect();
        unfollowed.retain(|uri| {
            self.slot_shared
                .subscribers
                .remove_subscriber(uri, connection)
        });
        let Some((session, subscribed)) = &mut self.current else {
            return;
        };
        unfollowed.retain(|uri| subscribed.remove(*uri));
        let session: &Session = session;
        let unsubscribe = |uri| async move {
            let options = RequestOptions::without_caller(SUBSCRIPTION_TIMEOUT);
            session.unsubscribe(uri, &options).await
        };
        for (uri, outcome) in unfollowed
            .iter()
            .zip(request_each(&unfollowed, unsubscribe).await)
        {
            if let Err(error) = outcome {
                debug!(uri, %error, "cannot end a subscription");
            }
        }
    }

    /// Renews all subscriptions if `session` is not the current one.
    async fn resubscribe(&mut self, session: &Arc<Session>) {
        let current = self.current.as_ref();
        if !session.is_open() || current.is_some_and(|(current, _)| Arc::ptr_eq(current, session)) {
            return;
        }
        let uris = self.slot_shared.subscribers.uris();
        let wanted: Vec<&str> = uris.iter().map(String::as_str).collect();
        let subscribe = |uri| async move {
            let options = RequestOptions::without_caller(SUBSCRIPTION_TIMEOUT);
            session.subscribe(uri, &options).await
        };
        let mut subscribed = HashSet::new();
        for (uri, outcome) in wanted.iter().zip(request_each(&wanted, subscribe).await) {
            match outcome {
                Ok(()) => {
                    subscribed.insert((*uri).to_owned());
                }
                Err(error) => warn!(uri, %error, "a subscription could not be renewed"),
            }
        }
        self.current = Some((Arc::clone(session), subscribed));
    }
}

/// Makes one request for each resource, many at a time, and returns the outcomes in the same order. If a whole batch
/// times out, no further requests are made.
async fn request_each<'a, F: Future<Output = Result<(), CallError>>>(
    uris: &[&'a str],
    request: impl Fn(&'a str) -> F,
) -> Vec<Result<(), CallError>> {
    let mut outcomes = Vec::with_capacity(uris.len());
    for some in uris.chunks(MAX_CONCURRENT_SUBSCRIPTIONS) {
        let batch = join_all(some.iter().map(|uri| request(uri))).await;
        let hangs = |outcome: &Result<_, _>| matches!(outcome, Err(CallError::TimedOut(_)));
        let all_hang = batch.iter().all(hangs);
        outcomes.extend(batch);
        if all_hang {
            break;
        }
    }
    outcomes.resize(uris.len(), Err(CallError::NotSent));
    outcomes
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_run_in_batches_and_stop_after_a_batch_that_times_out() {
        let uris = vec!["a"; 10 * MAX_CONCURRENT_SUBSCRIPTIONS];
        let started = Instant::now();
        let slow = |_| async {
            sleep(SUBSCRIPTION_TIMEOUT / 20).await;
            Ok(())
        };
        assert!(request_each(&uris, slow).await.iter().all(Result::is_ok));
        assert_eq!(started.elapsed(), SUBSCRIPTION_TIMEOUT / 2);
        let started = Instant::now();
        let hanging = |_| async {
            sleep(SUBSCRIPTION_TIMEOUT).await;
            Err(CallError::TimedOut(SUBSCRIPTION_TIMEOUT))
        };
        let outcomes = request_each(&uris, hanging).await;
        assert_eq!(
            (outcomes.len(), started.elapsed()),
            (uris.len(), SUBSCRIPTION_TIMEOUT)
        );
        let sent = outcomes
            .iter()
            .filter(|outcome| !matches!(outcome, Err(CallError::NotSent)));
        assert_eq!(sent.count(), MAX_CONCURRENT_SUBSCRIPTIONS);
    }
}
