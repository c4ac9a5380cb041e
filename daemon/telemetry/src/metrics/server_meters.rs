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

use mux_wire::FaultKind;
use parking_lot::Mutex;

use super::{
    OK_OUTCOME,
    histogram::{Histogram, LONG_BOUNDS_SECONDS},
};

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

/// The metrics of all servers.
#[derive(Debug)]
pub(super) struct ServerMetrics {
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
    counts: Mutex<ServerCounts>,
}

#[derive(Clone, Debug)]
pub struct ServerCounts {
    /// By outcome: `ok`, or the kind of the error.
    pub calls: BTreeMap<&'static str, u64>,
    pub in_flight: u64,
    pub duration: Histogram,
    pub tools: BTreeMap<String, ToolCounts>,
    pub sessions_opened: u64,
    pub session_failures: u64,
}

#[derive(Clone, Debug)]
pub struct ToolCounts {
    pub ok: u64,
    pub error: u64,
    /// Of the calls that were sent.
    pub duration: Histogram,
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

impl ServerMetrics {
    pub(super) fn new() -> Self {
        let shared = Arc::new(SharedMeters {
            separate_tools: AtomicUsize::new(0),
            openings: Mutex::new(Histogram::new(LONG_BOUNDS_SECONDS)),
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

    /// The counts of all servers by label.
    pub(super) fn counts(&self) -> BTreeMap<String, ServerCounts> {
        let known = self.known.lock();
        let all = known.values().chain([&self.other, &self.unknown]);
        all.map(|meters| (meters.label.clone(), meters.counts.lock().clone()))
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
            counts: Mutex::new(ServerCounts {
                calls: BTreeMap::from([(OK_OUTCOME, 0)]),
                in_flight: 0,
                duration: Histogram::new(LONG_BOUNDS_SECONDS),
                tools: BTreeMap::new(),
                sessions_opened: 0,
                session_failures: 0,
            }),
        })
    }

    /// The server's label in the metrics.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Counts an opened session.
    pub fn opened(&self, took: Duration) {
        self.counts.lock().sessions_opened += 1;
        self.shared.openings.lock().observe(took);
    }

    /// Counts a session that could not be opened.
    pub fn failed(&self) {
        self.counts.lock().session_failures += 1;
    }

    pub(super) fn call_sent(&self) {
        self.counts.lock().in_flight += 1;
    }

    pub(super) fn call_ended(&self, call: EndedCall) {
        let mut counts = self.counts.lock();
        let outcome = call.kind.map_or(OK_OUTCOME, FaultKind::as_str);
        *counts.calls.entry(outcome).or_default() += 1;
        if let Some(took) = call.took {
            counts.in_flight -= 1;
            counts.duration.observe(took);
        }
        if let Some(tool) = call.tool {
            let tool = self.tool_counts(&mut counts.tools, tool);
            if call.kind.is_none() {
                tool.ok += 1;
            } else {
                tool.error += 1;
            }
            if let Some(took) = call.took {
                tool.duration.observe(took);
            }
        }
    }

    fn tool_counts<'a>(
        &self,
        tools: &'a mut BTreeMap<String, ToolCounts>,
        mut name: String,
    ) -> &'a mut ToolCounts {
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
        tools.entry(name).or_insert_with(|| ToolCounts {
            ok: 0,
            error: 0,
            duration: Histogram::new(LONG_BOUNDS_SECONDS),
        })
    }
}
