//! The agents that are connected now, as they describe themselves.
//!
//! Invariant: a process is listed once, by its latest connection: a client whose identity changes opens another
//! connection, and closes the old one when its requests there are answered.

use std::{collections::BTreeMap, sync::Arc};

use mux_proto::{ConnectedAgent, Hello};
use parking_lot::Mutex;

/// The agents by the numbers of their connections. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ConnectedAgents(Arc<Mutex<BTreeMap<u64, AgentConnection>>>);

struct AgentConnection {
    /// The process of the client, where the system tells it.
    pid: Option<u32>,
    agent: ConnectedAgent,
}

impl ConnectedAgents {
    /// Adds the client, if it acts for an agent.
    pub(super) fn add(&self, connection: u64, pid: Option<u32>, hello: &Hello) {
        if !hello.for_agent && hello.agent.is_none() {
            return;
        }
        let agent = ConnectedAgent {
            name: hello.client.name.clone(),
            version: hello.client.version.clone(),
            agent: hello.agent.clone(),
            profile: hello.profile.clone(),
            workspace: hello.workspace.clone(),
        };
        // A process in another namespace has no number here.
        let pid = pid.filter(|pid| *pid != 0);
        self.0
            .lock()
            .insert(connection, AgentConnection { pid, agent });
    }

    pub(super) fn remove(&self, connection: u64) {
        self.0.lock().remove(&connection);
    }

    pub(super) fn list(&self) -> Vec<ConnectedAgent> {
        let connections = self.0.lock();
        let mut listed: Vec<&AgentConnection> = Vec::new();
        for connection in connections.values().rev() {
            let is_listed = listed.iter().any(|later| later.pid == connection.pid);
            if connection.pid.is_none() || !is_listed {
                listed.push(connection);
            }
        }
        listed.reverse();
        listed
            .into_iter()
            .map(|connection| connection.agent.clone())
            .collect()
    }
}
