//! The task that owns what one server is subscribed to.
//!
//! Invariant: the server has one subscription for each resource that somebody follows, however many do;
//! it is renewed with each session, and ends with the last who followed.

use std::{collections::HashSet, sync::Arc, time::Duration};

use mux_sandbox::{Fault, Kind};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, warn};

use super::{
    beside::Beside,
    request::Sending,
    session::{CallError, Session},
    subscribers::Entered,
};
use crate::notices::{Caller, Mailbox};

pub(super) enum Wish {
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

pub(super) struct Subscriptions {
    pub(super) beside: Arc<Beside>,
    /// For one request.
    pub(super) within: Duration,
    /// The session that was last subscribed to something, and to what.
    pub(super) current: Option<(Arc<Session>, HashSet<String>)>,
}

impl Subscriptions {
    pub(super) async fn run(mut self, mut wishes: mpsc::UnboundedReceiver<Wish>) {
        while let Some(wish) = wishes.recv().await {
            match wish {
                Wish::Follow {
                    session,
                    uri,
                    mailbox,
                    caller,
                    mut done,
                } => {
                    self.adopt(&session).await;
                    let outcome = tokio::select! {
                        outcome = self.follow(&session, &uri, &mailbox, &caller) => outcome,
                        () = done.closed() => {
                            self.leave(&uri, mailbox.connection()).await;
                            continue;
                        }
                    };
                    // Whoever asked may have gone; the end of its connection comes after this.
                    drop(done.send(outcome));
                }
                Wish::Leave {
                    uri,
                    connection,
                    done,
                } => {
                    self.leave(&uri, connection).await;
                    // As above.
                    _ = done.send(());
                }
                Wish::Gone(connection) => {
                    for uri in self.beside.subscribers.of(connection) {
                        self.leave(&uri, connection).await;
                    }
                }
                Wish::Opened(session) => self.adopt(&session).await,
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
        // Before the server is asked, so that nothing that it tells at once is lost.
        if self.beside.subscribers.enter(uri, mailbox) == Entered::TooMany {
            let message = "this client follows as many resources of this server as it may";
            return Err(CallError::TooMuch(message.into()));
        }
        let have = match &mut self.current {
            Some((current, have)) if Arc::ptr_eq(current, session) => have,
            _ => {
                self.beside.subscribers.leave(uri, mailbox.connection());
                return Err(CallError::NotSent);
            }
        };
        if have.contains(uri) {
            return Ok(());
        }
        let sending = Sending {
            caller: Some(caller),
            place: None,
            ..Sending::alone(self.within)
        };
        match session.subscribe(uri, &sending).await {
            Ok(()) => {
                have.insert(uri.to_owned());
                Ok(())
            }
            Err(error) => {
                self.beside.subscribers.leave(uri, mailbox.connection());
                Err(error)
            }
        }
    }

    async fn leave(&mut self, uri: &str, connection: u64) {
        let last = self.beside.subscribers.leave(uri, connection);
        if let Some((session, have)) = &mut self.current
            && last
            && have.remove(uri)
        {
            let sending = Sending::alone(self.within);
            if let Err(error) = session.unsubscribe(uri, &sending).await {
                debug!(uri, %error, "a subscription may not have ended");
            }
        }
    }

    /// Renews everything if this is another session than the one before.
    async fn adopt(&mut self, session: &Arc<Session>) {
        let known = self.current.as_ref();
        if !session.is_open() || known.is_some_and(|(known, _)| Arc::ptr_eq(known, session)) {
            return;
        }
        let mut have = HashSet::new();
        for uri in self.beside.subscribers.uris() {
            match session.subscribe(&uri, &Sending::alone(self.within)).await {
                Ok(()) => {
                    have.insert(uri);
                }
                Err(error) => warn!(uri, %error, "a subscription could not be renewed"),
            }
        }
        self.current = Some((Arc::clone(session), have));
    }
}

/// The task has ended with its server.
pub(super) fn retired(server: &str) -> Fault {
    let message = format!("the server `{server}` was removed or changed");
    Fault::new(Kind::Unavailable, message).hint("try again")
}
