//! Who hears what happens without having asked: the agent of the first era, and the subscriptions of
//! the second.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmcp::{
    RoleServer,
    model::{CustomNotification, ResourceUpdatedNotificationParam, ServerNotification},
    service::{Peer, SubscriptionSink},
};
use serde_json::{Value, json};

use super::subscriptions::Update;

/// How much a word of a server weighs, from the least on.
const LEVELS: &[&str] = &[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Audience(Arc<Mutex<Inner>>);

struct Inner {
    /// In the first era, from its initialization on.
    agent: Option<Peer<RoleServer>>,
    /// What weighs less is not told.
    level: usize,
    sinks: Vec<(u64, SubscriptionSink)>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            agent: None,
            level: rank("info"),
            sinks: Vec::new(),
        }
    }
}

/// What may change in the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

/// As long as it lives, the subscription hears.
pub(super) struct Subscribed {
    audience: Audience,
    /// No other subscription of this process has it.
    pub(super) number: u64,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let number = self.number;
        self.audience
            .inner()
            .sinks
            .retain(|(own, _)| *own != number);
    }
}

impl Audience {
    pub(super) fn welcome(&self, agent: Peer<RoleServer>) {
        self.inner().agent = Some(agent);
    }

    pub(super) fn subscribe(&self, sink: SubscriptionSink) -> Subscribed {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.inner().sinks.push((number, sink));
        let audience = self.clone();
        Subscribed { audience, number }
    }

    pub(super) fn set_level(&self, level: &str) {
        self.inner().level = rank(level);
    }

    /// Who is gone hears nothing; nothing here waits for the others because of it.
    pub(super) async fn changed(&self, changed: Changed) {
        let (agent, sinks) = self.listeners();
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

    /// What its user was asked to do on a page is done. The second era has no word for that.
    pub(super) async fn page_done(&self, id: &str) {
        let (agent, _) = self.listeners();
        if let Some(agent) = agent {
            let params = json!({ "elicitationId": id });
            let method = "notifications/elicitation/complete";
            let done = CustomNotification::new(method, Some(params));
            // Who is gone hears nothing.
            drop(agent.send_notification(done.into()).await);
        }
    }

    /// A subscription of the second era knows only what it named.
    pub(super) async fn resource_updated(&self, update: &Update) {
        let (agent, sinks) = self.listeners();
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

    /// A word of a server, if the agent wants to hear words of this weight.
    pub(super) async fn log(&self, level: &str, logger: &str, data: Value) {
        let agent = {
            let inner = self.inner();
            let heard = rank(level) >= inner.level;
            inner.agent.clone().filter(|_| heard)
        };
        if let Some(agent) = agent {
            send_log(&agent, level, logger, data).await;
        }
    }

    fn listeners(&self) -> (Option<Peer<RoleServer>>, Vec<SubscriptionSink>) {
        let inner = self.inner();
        let sinks = inner.sinks.iter().map(|(_, sink)| sink.clone()).collect();
        (inner.agent.clone(), sinks)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a word of this level is to be told to somebody who wants to hear from `least` on.
pub(super) fn weighs(level: &str, least: &str) -> bool {
    rank(level) >= rank(least)
}

pub(super) async fn send_log(agent: &Peer<RoleServer>, level: &str, logger: &str, data: Value) {
    let message = json!({
        "method": "notifications/message",
        "params": { "level": level, "logger": logger, "data": data },
    });
    // A word that the protocol has no place for stays in the server's log.
    if let Ok(message) = serde_json::from_value::<ServerNotification>(message) {
        drop(agent.send_notification(message).await);
    }
}

/// A level that nobody has named yet is heard by everybody.
fn rank(level: &str) -> usize {
    let known = LEVELS.iter().position(|known| *known == level);
    known.unwrap_or(LEVELS.len())
}
