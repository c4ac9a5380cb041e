//! Watches a session from its start to its end.
//!
//! Invariant: the cause of the end is set before anything waits on the end, and the process is gone before the session
//! counts as ended.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt as _, future::FusedFuture as _};
use rmcp::{RoleClient, service::RunningService};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tracing::{debug, info, warn};

use super::Session;
use crate::{
    link::{DetachedProcess, FINAL_OUTPUT_TIMEOUT, LastLines, LinkEndpoint},
    listing::{ServerCatalogEntry, list_tools},
    server_messages::ClientRequestHandler,
};

/// The time limit for closing a session; the transport's own limit is shorter.
const SESSION_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

const HANDED_OVER_REASON: &str = "it was handed to the next muxd";

/// The task that watches a session until its end.
pub(crate) struct SessionWatch {
    pub(crate) offer: ServerCatalogEntry,
    pub(crate) last_lines: LastLines,
    /// The time limit for listing the tools again.
    pub(crate) listing: Duration,
}

impl SessionWatch {
    pub(crate) async fn watch_session(
        self,
        session: Arc<Session>,
        service: RunningService<RoleClient, ClientRequestHandler>,
        endpoint: LinkEndpoint,
        mut partings: mpsc::Receiver<oneshot::Sender<Option<DetachedProcess>>>,
    ) {
        let cancel = service.cancellation_token();
        let mut serving = pin!(service.waiting().fuse());
        // Runs concurrently, so that a server that hangs in it can still be closed.
        let mut accepted = self.offer.pin_approvals();
        let refreshing = async {
            loop {
                let tools = &session.ears.tools;
                let wanted = tokio::select! {
                    wanted = tools.wait_for_announcement() => wanted,
                    Ok(()) = accepted.changed() => {
                        tools.announce_change();
                        continue;
                    }
                };
                self.refresh_tools(&session).await;
                tools.mark_refreshed(wanted);
            }
        };
        let mut next = None;
        let end = tokio::select! {
            Some(parting) = partings.recv() => {
                next = Some(parting);
                None
            }
            end = endpoint.wait_for_end() => {
                session.shut.cancel();
                if session.pid.is_none() {
                    session.set_cause(end.clone());
                }
                // Its last output is still in the pipe.
                drop(timeout(FINAL_OUTPUT_TIMEOUT, &mut serving).await);
                Some(end)
            }
            () = session.shut.cancelled() => {
                if session.pid.is_none() {
                    // One call could not be sent; the others have their own connections and limits.
                    tokio::select! {
                        () = session.wait_until_idle() => {}
                        () = session.closing.cancelled() => {}
                        _ = endpoint.wait_for_end() => {}
                        _ = &mut serving => {}
                    }
                }
                drop(timeout(FINAL_OUTPUT_TIMEOUT, &mut serving).await);
                endpoint.recent_end_reason().await
            }
            () = session.closing.cancelled() => None,
            // The pipes are closed; most processes exit at once, and the exit status says why.
            _ = &mut serving => endpoint.recent_end_reason().await,
            never = refreshing => never,
        };
        if let Some(next) = next {
            let serving = async {
                cancel.cancel();
                // A send to a server that does not read may be pending.
                drop(timeout(SESSION_CLOSE_TIMEOUT, &mut serving).await);
            };
            let parted = endpoint.detach_process(serving).await;
            session.close(HANDED_OVER_REASON);
            session.known.cancel();
            info!(
                server = self.offer.name,
                pid = session.pid,
                whole = parted.is_some(),
                "session detached for the next daemon"
            );
            session.ended.cancel();
            // If the receiver is gone, the process ends.
            drop(next.send(parted));
            return;
        }
        session.set_cause(self.end_cause(end));
        session.known.cancel();
        cancel.cancel();
        if !serving.is_terminated() && session.pid.is_none() {
            // Tells the server that the session has ended.
            drop(timeout(SESSION_CLOSE_TIMEOUT, &mut serving).await);
        }
        endpoint.stop().await;
        info!(
            server = self.offer.name,
            pid = session.pid,
            cause = session.cause(),
            strangers = session.ears.in_flight.stray_progress_count(),
            "session over"
        );
        session.ended.cancel();
    }

    fn end_cause(&self, end: Option<String>) -> String {
        let what = end.unwrap_or_else(|| "it closed its output or broke the protocol".into());
        self.last_lines.append_last_lines(what)
    }

    async fn refresh_tools(&self, session: &Session) {
        let listed = list_tools(&session.peer, session.transport);
        let listed = timeout(self.listing, listed).await;
        let listed = listed.unwrap_or_else(|_| {
            let limit = self.listing;
            Err(format!("no answer within {limit:?} (start_timeout)"))
        });
        let listed = listed.map_err(|error| self.last_lines.mask_text(&error));
        session
            .health
            .record_listing(listed.as_ref().map(drop).map_err(String::as_str));
        match listed {
            Ok(listed) => {
                session.lifetime.renew(listed.ttl);
                let info = session.peer.peer_info();
                let instructions = info.as_ref().and_then(|info| info.instructions.as_deref());
                let set = self.offer.build_tool_set(listed.tools, instructions).await;
                let (key, tools) = (set.key, set.len());
                let before = session.tools.swap(Arc::new(set));
                self.offer.publish_tools();
                // A server may announce a change with every request.
                if before.key == key {
                    debug!(
                        server = self.offer.name,
                        tools, "the tools were listed again"
                    );
                } else {
                    info!(server = self.offer.name, tools, "the tools have changed");
                    session.ears.publish_tools_change();
                }
            }
            Err(error) => warn!(
                server = self.offer.name,
                error, "the changed tools cannot be listed"
            ),
        }
    }
}
