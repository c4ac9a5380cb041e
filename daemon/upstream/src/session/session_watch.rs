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
    listing::{RefreshPacing, ServerCatalogEntry, list_tools},
    server_messages::ClientRequestHandler,
};

/// The time limit for closing a session. The transport's own limit is shorter.
const SESSION_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

const HANDED_OVER_REASON: &str = "it was handed to the next muxd";

/// The task that watches a session until its end.
pub(super) struct SessionWatch {
    pub(crate) catalog_entry: ServerCatalogEntry,
    pub(super) last_lines: LastLines,
    /// The time limit for listing the tools again.
    pub(super) listing: Duration,
}

impl SessionWatch {
    pub(super) async fn watch_session(
        self,
        session: Arc<Session>,
        service: RunningService<RoleClient, ClientRequestHandler>,
        endpoint: LinkEndpoint,
        mut detach_requests: mpsc::Receiver<oneshot::Sender<Option<DetachedProcess>>>,
    ) {
        let cancel = service.cancellation_token();
        let mut serving = pin!(service.waiting().fuse());
        // Runs concurrently, because a server that hangs here must still be closable.
        let mut pin_approvals = self.catalog_entry.pin_approvals();
        let refreshing = async {
            let mut pacing = RefreshPacing::default();
            let mut last_digest = None;
            loop {
                let tools = &session.router.tools_refresh;
                if session.listing_error().is_some() {
                    pacing.postpone();
                    tools.retry_later();
                }
                let announced = tokio::select! {
                    announced = tools.wait_for_announcement(&pacing) => announced,
                    Ok(()) = pin_approvals.changed() => {
                        tools.request_now();
                        continue;
                    }
                };
                let is_requested = tools.take_request();
                if !is_requested {
                    pacing.begin_refresh();
                }
                let digest = self.refresh_tools(&session).await;
                let changed = digest.is_some() && digest != last_digest;
                // A list that the server did not announce says nothing about its announcements.
                if changed || !is_requested {
                    pacing.record_outcome(changed);
                }
                last_digest = digest.or(last_digest);
                tools.mark_refreshed(announced);
            }
        };
        let mut detach_request = None;
        let end = tokio::select! {
            Some(request) = detach_requests.recv() => {
                detach_request = Some(request);
                None
            }
            end = endpoint.wait_for_end() => {
                session.draining.cancel();
                if session.pid.is_none() {
                    session.set_cause(end.clone());
                }
                // Its last output is still in the pipe.
                drop(timeout(FINAL_OUTPUT_TIMEOUT, &mut serving).await);
                Some(end)
            }
            () = session.draining.cancelled() => {
                if session.pid.is_none() {
                    // One call could not be sent. The others have their own connections and limits.
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
            // The pipes are closed. Most processes exit immediately, and the exit status says why.
            _ = &mut serving => endpoint.recent_end_reason().await,
            never = refreshing => never,
            never = session.router.apply_held_changes() => match never {},
        };
        if let Some(detach_request) = detach_request {
            let serving = async {
                cancel.cancel();
                // A send to a server that does not read may be pending.
                drop(timeout(SESSION_CLOSE_TIMEOUT, &mut serving).await);
            };
            let detached = endpoint.detach_process(serving).await;
            session.close(HANDED_OVER_REASON);
            session.ended.cancel();
            info!(
                server = self.catalog_entry.name,
                pid = session.pid,
                whole = detached.is_some(),
                "session detached for the next daemon"
            );
            session.stopped.cancel();
            // If the receiver is gone, the process ends.
            drop(detach_request.send(detached));
            return;
        }
        session.set_cause(self.end_cause(end));
        session.ended.cancel();
        // The end of the service closes the server's input, and the server may exit immediately.
        endpoint.record_discarded_files().await;
        cancel.cancel();
        if !serving.is_terminated() && session.pid.is_none() {
            // Tells the server that the session has ended.
            drop(timeout(SESSION_CLOSE_TIMEOUT, &mut serving).await);
        }
        endpoint.stop().await;
        info!(
            server = self.catalog_entry.name,
            pid = session.pid,
            cause = session.cause(),
            stray_progress = session.router.in_flight.stray_progress_count(),
            "session over"
        );
        session.stopped.cancel();
    }

    fn end_cause(&self, end: Option<String>) -> String {
        let what = end.unwrap_or_else(|| "it closed its output or broke the protocol".into());
        self.last_lines.append_last_lines(&what)
    }

    /// Lists the tools again. Returns the digest of the server's list.
    async fn refresh_tools(&self, session: &Session) -> Option<blake3::Hash> {
        let listed = list_tools(&session.peer, session.transport, &session.repairs);
        let listed = timeout(self.listing, listed).await;
        let listed = listed.unwrap_or_else(|_| {
            let limit = self.listing;
            Err(format!("no answer within {limit:?} (start_timeout)").into())
        });
        let listed = listed.map_err(|error| self.last_lines.mask_text(&error.to_string()));
        session
            .health
            .record_listing(listed.as_ref().map(drop).map_err(String::as_str));
        match listed {
            Ok(listed) => {
                session.tools_expiry.renew(listed.ttl);
                let digest = listed.digest;
                let info = session.peer.peer_info();
                let instructions = info.as_ref().and_then(|info| info.instructions.as_deref());
                let set = self
                    .catalog_entry
                    .build_tool_set(listed.tools, instructions)
                    .await;
                let key = set.key;
                let tools = set.len();
                let before = session.tools.swap(Arc::new(set));
                self.catalog_entry.publish_tools();
                // A server may announce a change with every request.
                if before.key == key {
                    debug!(
                        server = self.catalog_entry.name,
                        tools, "the tools were listed again"
                    );
                } else {
                    info!(
                        server = self.catalog_entry.name,
                        tools, "the tools have changed"
                    );
                    session.router.publish_tools_change();
                }
                Some(digest)
            }
            Err(error) => {
                warn!(
                    server = self.catalog_entry.name,
                    error, "the changed tools cannot be listed"
                );
                None
            }
        }
    }
}
