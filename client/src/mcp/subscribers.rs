//! The receivers of notifications that belong to no request: the agent in the legacy era, and subscriptions in the
//! modern era.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    RoleServer,
    model::{CustomNotification, ResourceUpdatedNotificationParam, ServerNotification},
    service::{Peer, SubscriptionSink},
};
use serde_json::{Value, json};

use super::subscriptions::ResourceUpdate;

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

/// The receivers of notifications. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct NotificationReceivers(Arc<Mutex<NotificationReceiversInner>>);

struct NotificationReceiversInner {
    /// The agent, in the legacy era, once it is initialized.
    agent: Option<Peer<RoleServer>>,
    /// The minimum level of log messages for the agent.
    level: usize,
    sinks: Vec<(u64, SubscriptionSink)>,
}

impl Default for NotificationReceiversInner {
    fn default() -> Self {
        Self {
            agent: None,
            level: level_rank("info"),
            sinks: Vec::new(),
        }
    }
}

/// Which lists have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ListChanges {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
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

    pub(super) fn subscribe(&self, sink: SubscriptionSink) -> SubscriptionGuard {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.inner().sinks.push((number, sink));
        let audience = self.clone();
        SubscriptionGuard { audience, number }
    }

    pub(super) fn set_level(&self, level: &str) {
        self.inner().level = level_rank(level);
    }

    /// Announces changed lists. A receiver that is gone is skipped.
    pub(super) async fn notify_lists_changed(&self, changed: ListChanges) {
        let (agent, sinks) = self.all_receivers();
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
    }

    /// Tells the agent that a URL elicitation is complete. The modern era has no notification for that.
    pub(super) async fn notify_elicitation_complete(&self, id: &str) {
        let (agent, _) = self.all_receivers();
        if let Some(agent) = agent {
            let params = json!({ "elicitationId": id });
            let method = "notifications/elicitation/complete";
            let done = CustomNotification::new(method, Some(params));
            // A receiver that is gone is skipped.
            drop(agent.send_notification(done.into()).await);
        }
    }

    /// Announces a changed resource. A subscription is sent the uris that it named.
    pub(super) async fn send_resource_updated(&self, update: &ResourceUpdate) {
        let (agent, sinks) = self.all_receivers();
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

    fn all_receivers(&self) -> (Option<Peer<RoleServer>>, Vec<SubscriptionSink>) {
        let inner = self.inner();
        let sinks = inner.sinks.iter().map(|(_, sink)| sink.clone()).collect();
        (inner.agent.clone(), sinks)
    }

    fn inner(&self) -> MutexGuard<'_, NotificationReceiversInner> {
        self.0.lock()
    }
}

/// Whether `level` is at least `least`.
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
