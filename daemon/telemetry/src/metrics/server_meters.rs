//! Metrics of each server, over all its sessions and definitions.
//!
//! Invariant: a fixed number of servers and tools are counted separately, and later ones together: configurations and
//! servers choose names, but not how many there are in the metrics.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mux_messages::{Histogram, ServerMetrics, ToolMetrics};
use mux_wire::FaultKind;
use parking_lot::Mutex;

use super::{LONG_BOUNDS_SECONDS, OK_OUTCOME, count_outcome};

/// The maximum number of servers that are counted separately.
const MAX_SEPARATE_SERVERS: usize = 256;
/// The maximum number of tools that are counted separately, over all servers.
const MAX_SEPARATE_TOOLS: usize = 500;
/// Longer names are not used as labels.
const MAX_LABEL_BYTES: usize = 128;
/// The label of servers and tools beyond the limits.
const OTHER_LABEL: &str = "(other)";
/// The label of calls that name no existing server.
const UNKNOWN_LABEL: &str = "(unknown)";

/// The meters of all servers.
#[derive(Debug)]
pub(super) struct AllServerMeters {
    shared: Arc<SharedMeters>,
    known: Mutex<BTreeMap<String, Arc<ServerMeters>>>,
    other: Arc<ServerMeters>,
    unknown: Arc<ServerMeters>,
}

#[derive(Debug)]
struct SharedMeters {
    /// The number of tools that are counted separately.
    separate_tools: AtomicUsize,
    openings: Mutex<Histogram>,
}

/// The meters of one server.
#[derive(Debug)]
pub struct ServerMeters {
    label: String,
    shared: Arc<SharedMeters>,
    metrics: Mutex<ServerMetrics>,
}

/// A call that has ended.
pub(super) struct EndedCall {
    /// The tool, if the server has it.
    pub(super) tool: Option<String>,
    /// `None` on success.
    pub(super) kind: Option<FaultKind>,
    /// How long the call was in flight, if it was sent.
    pub(super) took: Option<Duration>,
}

impl AllServerMeters {
    pub(super) fn new() -> Self {
        let shared = Arc::new(SharedMeters {
            separate_tools: AtomicUsize::new(0),
            openings: Mutex::new(Histogram::with_bounds(LONG_BOUNDS_SECONDS)),
        });
        Self {
            known: Mutex::default(),
            other: ServerMeters::new(OTHER_LABEL, &shared),
            unknown: ServerMeters::new(UNKNOWN_LABEL, &shared),
            shared,
        }
    }

    pub(super) fn of(&self, identity: &str) -> Arc<ServerMeters> {
        let mut known = self.known.lock();
        if let Some(meters) = known.get(identity) {
            return Arc::clone(meters);
        }
        if known.len() >= MAX_SEPARATE_SERVERS || identity.len() > MAX_LABEL_BYTES {
            return Arc::clone(&self.other);
        }
        let meters = ServerMeters::new(identity, &self.shared);
        known.insert(identity.to_owned(), Arc::clone(&meters));
        meters
    }

    pub(super) fn unknown(&self) -> Arc<ServerMeters> {
        Arc::clone(&self.unknown)
    }

    pub(super) fn metrics(&self) -> BTreeMap<String, ServerMetrics> {
        let known = self.known.lock();
        let all = known.values().chain([&self.other, &self.unknown]);
        all.map(|meters| (meters.label.clone(), meters.metrics.lock().clone()))
            .collect()
    }

    /// How long sessions took to open.
    pub(super) fn openings(&self) -> Histogram {
        self.shared.openings.lock().clone()
    }
}

impl ServerMeters {
    fn new(label: &str, shared: &Arc<SharedMeters>) -> Arc<Self> {
        Arc::new(Self {
            label: label.to_owned(),
            shared: Arc::clone(shared),
            metrics: Mutex::new(ServerMetrics {
                calls: BTreeMap::from([(OK_OUTCOME.to_owned(), 0)]),
                call_seconds: Histogram::with_bounds(LONG_BOUNDS_SECONDS),
                ..ServerMetrics::default()
            }),
        })
    }

    /// The server's label in the metrics.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Counts an opened session.
    pub fn opened(&self, took: Duration) {
        self.metrics.lock().sessions_opened += 1;
        self.shared.openings.lock().observe(took);
    }

    /// Counts a session that could not be opened.
    pub fn failed(&self) {
        self.metrics.lock().session_failures += 1;
    }

    pub(super) fn call_sent(&self) {
        self.metrics.lock().in_flight += 1;
    }

    pub(super) fn call_ended(&self, call: EndedCall) {
        let mut metrics = self.metrics.lock();
        count_outcome(&mut metrics.calls, call.kind);
        if let Some(took) = call.took {
            metrics.in_flight -= 1;
            metrics.call_seconds.observe(took);
        }
        if let Some(tool) = call.tool {
            let tool = self.tool_metrics(&mut metrics.tools, tool);
            if call.kind.is_none() {
                tool.ok += 1;
            } else {
                tool.error += 1;
            }
            if let Some(took) = call.took {
                tool.seconds.observe(took);
            }
        }
    }

    fn tool_metrics<'a>(
        &self,
        tools: &'a mut BTreeMap<String, ToolMetrics>,
        mut name: String,
    ) -> &'a mut ToolMetrics {
        if !tools.contains_key(&name) {
            let separate = &self.shared.separate_tools;
            let is_full = separate.load(Ordering::Relaxed) >= MAX_SEPARATE_TOOLS;
            if is_full || name.len() > MAX_LABEL_BYTES {
                OTHER_LABEL.clone_into(&mut name);
            } else {
                // Concurrent calls may exceed the limit by a few.
                separate.fetch_add(1, Ordering::Relaxed);
            }
        }
        tools.entry(name).or_insert_with(|| ToolMetrics {
            seconds: Histogram::with_bounds(LONG_BOUNDS_SECONDS),
            ..ToolMetrics::default()
        })
    }
}
