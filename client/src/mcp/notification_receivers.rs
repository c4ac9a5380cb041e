//! The receivers of notifications that belong to no request: the agent in the legacy era, and subscriptions in the
//! modern era.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    RoleServer,
    model::{CustomNotification, ResourceUpdatedNotificationParam, ServerNotification},
    service::{Peer, SubscriptionSink},
};
use serde_json::{Value, json};

/// MCP's log levels, from the least severe on.
const LOG_LEVELS: &[&str] = &[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// How many subscriptions may be between their acceptance and their first notification. Above this number, the
/// newest one may miss the changes in that time.
const MAX_ACCEPTED: usize = 64;

/// A changed resource, with uris as the agent knows them.
#[derive(Debug, PartialEq)]
pub(super) struct ResourceUpdate {
    pub(super) uri: String,
    /// The subscribed uris that cover the changed resource.
    pub(super) wanted: Vec<String>,
}

/// The receivers of notifications. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct NotificationReceivers(Arc<Mutex<NotificationReceiversInner>>);

struct NotificationReceiversInner {
    /// The agent, in the legacy era, once it is initialized.
    agent: Option<Peer<RoleServer>>,
    /// The minimum level of log messages for the agent.
    level: usize,
    sinks: Vec<(u64, SubscriptionSink)>,
    /// The changes missed by each subscription that was accepted but does not receive yet, the oldest first.
    accepted: VecDeque<ListChanges>,
}

impl Default for NotificationReceiversInner {
    fn default() -> Self {
        Self {
            agent: None,
            level: level_rank("info"),
            sinks: Vec::new(),
            accepted: VecDeque::new(),
        }
    }
}

impl NotificationReceiversInner {
    fn accept_subscription(&mut self) {
        self.accepted.truncate(MAX_ACCEPTED - 1);
        self.accepted.push_back(ListChanges::default());
    }

    fn remember_changes(&mut self, changed: ListChanges) {
        for missed in &mut self.accepted {
            missed.merge(changed);
        }
    }

    fn take_missed_changes(&mut self) -> ListChanges {
        self.accepted.pop_front().unwrap_or_default()
    }

    fn all_receivers(&self) -> (Option<Peer<RoleServer>>, Vec<SubscriptionSink>) {
        let sinks = self.sinks.iter().map(|(_, sink)| sink.clone()).collect();
        (self.agent.clone(), sinks)
    }
}

/// Which lists have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ListChanges {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

impl ListChanges {
    fn merge(&mut self, other: Self) {
        self.tools |= other.tools;
        self.resources |= other.resources;
        self.prompts |= other.prompts;
    }
}

/// A guard: while it lives, the subscription receives notifications.
pub(super) struct SubscriptionGuard {
    audience: NotificationReceivers,
    /// A number that is unique among the subscriptions of this process.
    pub(super) number: u64,
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        let number = self.number;
        self.audience
            .inner()
            .sinks
            .retain(|(own, _)| *own != number);
    }
}

impl NotificationReceivers {
    pub(super) fn set_agent(&self, agent: Peer<RoleServer>) {
        self.inner().agent = Some(agent);
    }

    /// A subscription will be acknowledged. Changes before [`subscribe`](Self::subscribe) are announced then.
    pub(super) fn accept_subscription(&self) {
        self.inner().accept_subscription();
    }

    /// Adds an acknowledged subscription, and announces the changes since it was accepted.
    pub(super) async fn subscribe(&self, sink: SubscriptionSink) -> SubscriptionGuard {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let audience = self.clone();
        let guard = SubscriptionGuard { audience, number };
        let missed = {
            let mut inner = self.inner();
            inner.sinks.push((number, sink.clone()));
            inner.take_missed_changes()
        };
        notify_subscription(&sink, missed).await;
        guard
    }

    pub(super) fn set_level(&self, level: &str) {
        self.inner().level = level_rank(level);
    }

    /// Announces changed lists. Closed receivers are skipped.
    pub(super) async fn notify_lists_changed(&self, changed: ListChanges) {
        let (agent, sinks) = {
            let mut inner = self.inner();
            inner.remember_changes(changed);
            inner.all_receivers()
        };
        if let Some(agent) = agent {
            if changed.tools {
                drop(agent.notify_tool_list_changed().await);
            }
            if changed.resources {
                drop(agent.notify_resource_list_changed().await);
            }
            if changed.prompts {
                drop(agent.notify_prompt_list_changed().await);
            }
        }
        for sink in sinks {
            notify_subscription(&sink, changed).await;
        }
    }

    /// Tells the agent that a URL elicitation is complete. The modern era has no notification for that.
    pub(super) async fn notify_elicitation_complete(&self, id: &str) {
        let (agent, _) = self.inner().all_receivers();
        if let Some(agent) = agent {
            let params = json!({ "elicitationId": id });
            let method = "notifications/elicitation/complete";
            let done = CustomNotification::new(method, Some(params));
            // Closed receivers are skipped.
            drop(agent.send_notification(done.into()).await);
        }
    }

    /// Announces a changed resource. A subscription is sent the uris that it named.
    pub(super) async fn send_resource_updated(&self, update: &ResourceUpdate) {
        let (agent, sinks) = self.inner().all_receivers();
        if let Some(agent) = agent {
            let params = ResourceUpdatedNotificationParam::new(update.uri.as_str());
            drop(agent.notify_resource_updated(params).await);
        }
        for sink in sinks {
            for uri in &update.wanted {
                drop(sink.notify_resource_updated(uri.as_str()).await);
            }
        }
    }

    /// Passes on a server's log message if its level is high enough for the agent.
    pub(super) async fn send_log_message(&self, level: &str, logger: &str, data: Value) {
        let agent = {
            let inner = self.inner();
            let is_wanted = level_rank(level) >= inner.level;
            inner.agent.clone().filter(|_| is_wanted)
        };
        if let Some(agent) = agent {
            notify_log(&agent, level, logger, data).await;
        }
    }

    fn inner(&self) -> MutexGuard<'_, NotificationReceiversInner> {
        self.0.lock()
    }
}

/// Announces changed lists. Closed receivers are skipped, and lists without a subscription are not sent.
async fn notify_subscription(sink: &SubscriptionSink, changed: ListChanges) {
    if changed.tools {
        drop(sink.notify_tool_list_changed().await);
    }
    if changed.resources {
        drop(sink.notify_resource_list_changed().await);
    }
    if changed.prompts {
        drop(sink.notify_prompt_list_changed().await);
    }
}

/// Returns true if `level` is at least `least`.
pub(super) fn is_level_at_least(level: &str, least: &str) -> bool {
    level_rank(level) >= level_rank(least)
}

pub(super) async fn notify_log(agent: &Peer<RoleServer>, level: &str, logger: &str, data: Value) {
    let message = json!({
        "method": "notifications/message",
        "params": { "level": level, "logger": logger, "data": data },
    });
    // A message that the protocol cannot express is only in the server's log.
    if let Ok(message) = serde_json::from_value::<ServerNotification>(message) {
        drop(agent.send_notification(message).await);
    }
}

/// The rank of a level. An unknown level ranks highest.
fn level_rank(level: &str) -> usize {
    let known = LOG_LEVELS.iter().position(|known| *known == level);
    known.unwrap_or(LOG_LEVELS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: ListChanges = ListChanges {
        tools: true,
        resources: false,
        prompts: false,
    };

    #[test]
    fn changes_after_the_acceptance_are_kept_for_the_subscription() {
        let mut inner = NotificationReceiversInner::default();
        inner.remember_changes(TOOLS);
        inner.accept_subscription();
        assert_eq!(inner.take_missed_changes(), ListChanges::default());

        let prompts = ListChanges {
            prompts: true,
            ..ListChanges::default()
        };
        inner.accept_subscription();
        inner.remember_changes(TOOLS);
        inner.accept_subscription();
        inner.remember_changes(prompts);
        let both = ListChanges {
            prompts: true,
            ..TOOLS
        };
        assert_eq!(inner.take_missed_changes(), both);
        assert_eq!(inner.take_missed_changes(), prompts);
        assert_eq!(inner.take_missed_changes(), ListChanges::default());
    }

    #[test]
    fn subscriptions_that_never_receive_are_bounded() {
        let mut inner = NotificationReceiversInner::default();
        for _ in 0..MAX_ACCEPTED * 2 {
            inner.accept_subscription();
        }
        assert_eq!(inner.accepted.len(), MAX_ACCEPTED);
    }
}
