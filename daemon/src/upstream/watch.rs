//! A session from its opening to its end.
//!
//! Invariant: whatever ends it, the cause is known before anybody is told, and the process is gone
//! before the session counts as ended.

use std::{pin::pin, sync::Arc, time::Duration};

use rmcp::{RoleClient, service::RunningService};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{
    handler::Handler,
    listing::list_tools,
    offer::Offer,
    open::GRACE,
    session::{LAST_WORDS, Session},
    stderr::LastLines,
};
use crate::keeper::{ChildExit, KeptChild};

/// What watches a session until its end.
pub(super) struct Watch {
    pub(super) offer: Offer,
    pub(super) last_lines: LastLines,
    /// How long the server may take to list its tools again.
    pub(super) listing: Duration,
}

impl Watch {
    pub(super) async fn over(
        self,
        session: Arc<Session>,
        service: RunningService<RoleClient, Handler>,
        child: KeptChild,
    ) {
        let cancel = service.cancellation_token();
        let mut serving = pin!(service.waiting());
        // Beside the others, so that a server which hangs in it can still be closed.
        let refreshing = async {
            loop {
                session.ears.tools.notified().await;
                self.refresh(&session).await;
            }
        };
        let exit = tokio::select! {
            exit = child.wait() => {
                session.shut.cancel();
                // What it had written before its end is still in the pipe.
                drop(timeout(LAST_WORDS, &mut serving).await);
                Some(exit)
            }
            () = session.shut.cancelled() => {
                drop(timeout(LAST_WORDS, &mut serving).await);
                timeout(LAST_WORDS, child.wait()).await.ok()
            }
            () = session.closing.cancelled() => None,
            // The pipes are closed; most processes follow at once and say why by their status.
            _ = &mut serving => timeout(LAST_WORDS, child.wait()).await.ok(),
            never = refreshing => never,
        };
        session.set_cause(self.cause(exit));
        session.known.cancel();
        cancel.cancel();
        child.stop(GRACE).await;
        info!(
            server = self.offer.name,
            pid = session.pid,
            cause = session.cause(),
            strangers = session.ears.in_flight.strangers(),
            "session over"
        );
        session.ended.cancel();
    }

    fn cause(&self, exit: Option<ChildExit>) -> String {
        let what = match exit {
            Some(exit) => format!("the process ended ({exit})"),
            None => "it closed its output or broke the protocol".into(),
        };
        self.last_lines.after(what)
    }

    async fn refresh(&self, session: &Session) {
        let listed = timeout(self.listing, list_tools(&session.peer)).await;
        let listed = listed.unwrap_or_else(|_| {
            let limit = self.listing;
            Err(format!("no answer within {limit:?} (start_timeout)"))
        });
        match listed {
            Ok(tools) => {
                let set = self.offer.list(tools);
                info!(
                    server = self.offer.name,
                    tools = set.len(),
                    "the tools were listed again"
                );
                let key = set.key;
                let before = session.tools.swap(Arc::new(set));
                self.offer.tell();
                // A server may say so with every request.
                if before.key != key {
                    session.ears.tools_listed();
                }
            }
            Err(error) => warn!(
                server = self.offer.name,
                error, "the changed tools cannot be listed"
            ),
        }
    }
}
