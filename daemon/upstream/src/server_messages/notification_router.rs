//! Routes the notifications of a session's server.
//!
//! Invariant: nothing here blocks, because it runs where the server's messages arrive.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

#[expect(
    deprecated,
    reason = "current servers log this way; servers of the next era do not"
)]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{ProgressNotificationParam, RequestId, SubscriptionFilter};
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{unanswered_requests::UnansweredRequests, url_elicitation::UrlElicitations};
use crate::{
    calls::InFlight,
    link::{LogStamp, ServerLog},
    listing::{ListCaches, ListKind, ToolsRefresh},
    sharing::SlotShared,
};
use mux_caller::{ClientNotice, ListChanges};

pub(crate) struct NotificationRouter {
    server: String,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) list_caches: Arc<ListCaches>,
    /// Requests to list the tools again.
    pub(crate) tools_refresh: ToolsRefresh,
    /// Notified when a task's status may have changed.
    pub(crate) task_status: Notify,
    pub(crate) url_elicitations: UrlElicitations,
    /// The server's requests that have not been answered yet.
    pub(crate) unanswered: Arc<UnansweredRequests>,
    /// The last acknowledged `subscriptions/listen` request and its filter.
    acknowledged: watch::Sender<Option<(RequestId, SubscriptionFilter)>>,
    slot_shared: Arc<SlotShared>,
    log: Mutex<ServerLog>,
    stamp: LogStamp,
    /// The time of the last message.
    pub(crate) last_heard: Mutex<Instant>,
}

impl NotificationRouter {
    pub(crate) fn new(
        server: &str,
        in_flight: Arc<InFlight>,
        log: &Path,
        slot_shared: &Arc<SlotShared>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            stamp: LogStamp::of(&in_flight),
            in_flight,
            list_caches: Arc::default(),
            tools_refresh: ToolsRefresh::default(),
            task_status: Notify::new(),
            url_elicitations: UrlElicitations::default(),
            unanswered: Arc::default(),
            acknowledged: watch::Sender::new(None),
            slot_shared: Arc::clone(slot_shared),
            log: Mutex::new(ServerLog::open(log)),
            last_heard: Mutex::new(Instant::now()),
        })
    }

    pub(crate) fn progress(&self, notification: &ProgressNotificationParam) {
        self.in_flight.progress(notification);
    }

    #[expect(
        deprecated,
        reason = "current servers log this way; servers of the next era do not"
    )]
    pub(super) fn route_log_message(&self, notification: &LoggingMessageNotificationParam) {
        let text = match &notification.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let line = format!("[{:?}] {}", notification.level, text.trim_end());
        self.write_log_line(&line);
        let Some(client) = self
            .in_flight
            .calling_client()
            .filter(|client| client.mailbox.is_read())
        else {
            return;
        };
        let level = serde_json::to_value(notification.level).ok();
        client.mailbox.push_notice(ClientNotice::Log {
            server: self.server.clone(),
            level: level
                .and_then(|level| level.as_str().map(str::to_owned))
                .unwrap_or_default(),
            logger: notification.logger.clone(),
            data: notification.data.clone(),
            cause: client.caller.cause.clone(),
        });
    }

    /// Writes a line to the server's log.
    pub(super) fn write_log_line(&self, line: &str) {
        self.log.lock().write(&self.stamp.stamp_line(line));
    }

    pub(super) fn resource_updated(&self, uri: &str) {
        self.slot_shared
            .subscribers
            .notify_subscribers(&self.server, uri);
    }

    /// Handles a completed URL elicitation: notifies the client that was asked.
    pub(super) fn complete_url_elicitation(&self, id: &str) {
        if let Some((mailbox, cause)) = self.url_elicitations.take_completed(id) {
            mailbox.push_notice(ClientNotice::ElicitationComplete {
                server: self.server.clone(),
                id: id.to_owned(),
                cause,
            });
        }
    }

    /// Wakes the pollers of tasks: a task's status may have changed.
    pub(super) fn notify_task_waiters(&self) {
        self.task_status.notify_waiters();
    }

    pub(super) fn record_acknowledgment(&self, listen: RequestId, filter: SubscriptionFilter) {
        self.acknowledged.send_replace(Some((listen, filter)));
    }

    /// Resolves to the filter that the server acknowledged for this request.
    pub(super) async fn wait_for_acknowledgment(&self, listen: &RequestId) -> SubscriptionFilter {
        let mut acknowledged = self.acknowledged.subscribe();
        let is_it = |acknowledged: &Option<(RequestId, _)>| {
            acknowledged.as_ref().is_some_and(|(id, _)| id == listen)
        };
        let acknowledged = acknowledged
            .wait_for(is_it)
            .await
            .map(|acknowledged| acknowledged.clone());
        match acknowledged {
            Ok(Some((_, filter))) => filter,
            // The sender lives as long as `self`.
            _ => std::future::pending().await,
        }
    }

    /// The owner of the session, if it exists in later daemons, too.
    pub(crate) fn lasting_owner(&self) -> Option<String> {
        self.slot_shared.scope.key().lasting_owner()
    }

    /// Treats everything in the filter as changed: notifications may have been missed.
    pub(super) fn treat_as_changed(&self, filter: &SubscriptionFilter) {
        if filter.tools_list_changed == Some(true) {
            self.tools_changed();
        }
        if filter.resources_list_changed == Some(true) {
            self.resources_changed();
        }
        if filter.prompts_list_changed == Some(true) {
            self.prompts_changed();
        }
        for uri in filter.resource_subscriptions.iter().flatten() {
            self.resource_updated(uri);
        }
    }

    /// Handles the server's request for roots. `caller` is the workspace of the call in flight, if there is one.
    /// Returns the workspace for the answer.
    pub(super) fn roots_requested(&self, caller: Option<PathBuf>) -> Option<PathBuf> {
        self.slot_shared.scope.workspace_for_roots(caller)
    }

    pub(crate) fn tools_changed(&self) {
        self.tools_refresh.announce_change();
    }

    /// Notifies clients that the tools have changed.
    pub(crate) fn publish_tools_change(&self) {
        self.slot_shared
            .list_changes
            .notify_changed(ListChanges::TOOLS);
    }

    pub(super) fn resources_changed(&self) {
        if self.list_caches.resource_changes().announce() {
            self.apply_resources_change();
        }
    }

    pub(super) fn prompts_changed(&self) {
        if self.list_caches.prompt_changes().announce() {
            self.apply_prompts_change();
        }
    }

    /// Applies the changes that came too soon after others.
    pub(crate) async fn apply_held_changes(&self) -> Infallible {
        let resources = self.list_caches.resource_changes();
        let prompts = self.list_caches.prompt_changes();
        loop {
            tokio::select! {
                () = resources.wait_for_held_change() => self.apply_resources_change(),
                () = prompts.wait_for_held_change() => self.apply_prompts_change(),
            }
        }
    }

    fn apply_resources_change(&self) {
        self.list_caches.forget_resources();
        self.slot_shared.record_list_changed(ListKind::Resources);
        self.slot_shared
            .record_list_changed(ListKind::ResourceTemplates);
    }

    fn apply_prompts_change(&self) {
        self.list_caches.forget_prompts();
        self.slot_shared.record_list_changed(ListKind::Prompts);
    }
}

impl std::fmt::Debug for NotificationRouter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotificationRouter")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
