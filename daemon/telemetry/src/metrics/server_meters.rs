//! Metrics of each server, over all its sessions and definitions.
//!
//! Invariant: a fixed number of servers and tools have their own series, and later ones share one: configurations and
//! servers choose names, but not the number of series.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, RwLock};

use mux_wire::FaultKind;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use super::LONG_BUCKETS_SECONDS;

/// The maximum number of servers with their own series.
const MAX_SERVER_SERIES: usize = 256;
/// The maximum number of tools with their own series, over all servers.
const MAX_TOOL_SERIES: usize = 500;
/// Longer names are not used as labels.
const MAX_LABEL_BYTES: usize = 128;
/// The label of servers and tools beyond the limits.
pub const OTHER_LABEL: &str = "(other)";
/// The label of calls that name no existing server.
pub const UNKNOWN_LABEL: &str = "(unknown)";
/// The outcome of a success.
pub(super) const OK_OUTCOME: &str = "ok";

type LabelSet<const N: usize> = [(&'static str, String); N];

/// The metrics of all servers.
#[derive(Debug)]
pub(super) struct ServerMetrics {
    families: Arc<MetricFamilies>,
    known: Mutex<HashMap<String, Arc<ServerMeters>>>,
    other: Arc<ServerMeters>,
    unknown: Arc<ServerMeters>,
}

#[derive(Debug)]
struct MetricFamilies {
    calls: Family<LabelSet<2>, Counter>,
    durations: Family<LabelSet<1>, Histogram, fn() -> Histogram>,
    in_flight: Family<LabelSet<1>, Gauge>,
    tools: Family<LabelSet<3>, Counter>,
    /// The number of tools with their own series.
    counted: AtomicUsize,
    opened: Family<LabelSet<1>, Counter>,
    failed: Family<LabelSet<1>, Counter>,
    openings: Histogram,
}

/// The meters of one server. Frequent ones are resolved once.
#[derive(Debug)]
pub struct ServerMeters {
    label: String,
    families: Arc<MetricFamilies>,
    well: Counter,
    duration: Histogram,
    pub(super) in_flight: Gauge,
    tools: RwLock<HashMap<Box<str>, ToolMeters>>,
    /// The meters of all tools without their own series.
    other_tools: OnceLock<ToolMeters>,
}

/// Counts one tool's successful and failed calls.
#[derive(Clone, Debug)]
pub(super) struct ToolMeters {
    well: Counter,
    badly: Counter,
}

impl ServerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Arc::new(MetricFamilies {
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(LONG_BUCKETS_SECONDS)),
            in_flight: Family::default(),
            tools: Family::default(),
            counted: AtomicUsize::new(0),
            opened: Family::default(),
            failed: Family::default(),
            openings: Histogram::new(LONG_BUCKETS_SECONDS),
        });
        registry.register(
            "muxd_calls",
            "Tool calls that have ended, by server and outcome: ok, or the kind of the error",
            families.calls.clone(),
        );
        registry.register(
            "muxd_call_duration_seconds",
            "How long calls took, from sending them to the server to the answer",
            families.durations.clone(),
        );
        registry.register(
            "muxd_calls_in_flight",
            "Tool calls in flight to a server",
            families.in_flight.clone(),
        );
        registry.register(
            "muxd_tool_calls",
            "Tool calls that have ended, by tool: ok or error. The first 500 called tools have their own series, \
             all others share one series per server",
            families.tools.clone(),
        );
        registry.register(
            "muxd_sessions_opened",
            "Sessions with servers that were opened",
            families.opened.clone(),
        );
        registry.register(
            "muxd_session_failures",
            "Sessions with servers that could not be opened",
            families.failed.clone(),
        );
        registry.register(
            "muxd_session_open_duration_seconds",
            "How long sessions took to open, from the start of the process to the list of tools",
            families.openings.clone(),
        );
        let of = |label: &str| ServerMeters::new(label, &families);
        let other = of(OTHER_LABEL);
        let unknown = of(UNKNOWN_LABEL);
        Self {
            families,
            known: Mutex::default(),
            other,
            unknown,
        }
    }

    pub(super) fn of(&self, identity: &str) -> Arc<ServerMeters> {
        let mut known = self.known.lock();
        if let Some(meters) = known.get(identity) {
            return Arc::clone(meters);
        }
        if known.len() >= MAX_SERVER_SERIES || identity.len() > MAX_LABEL_BYTES {
            return Arc::clone(&self.other);
        }
        let meters = ServerMeters::new(identity, &self.families);
        meters.begin();
        known.insert(identity.to_owned(), Arc::clone(&meters));
        meters
    }

    pub(super) fn unknown(&self) -> Arc<ServerMeters> {
        Arc::clone(&self.unknown)
    }
}

impl ServerMeters {
    fn new(label: &str, families: &Arc<MetricFamilies>) -> Arc<Self> {
        let label = label.to_owned();
        let by_server = [("server", label.clone())];
        let well = [
            ("server", label.clone()),
            ("outcome", OK_OUTCOME.to_owned()),
        ];
        Arc::new(Self {
            well: families.calls.get_or_create_owned(&well),
            duration: families.durations.get_or_create_owned(&by_server),
            in_flight: families.in_flight.get_or_create_owned(&by_server),
            tools: RwLock::default(),
            other_tools: OnceLock::new(),
            families: Arc::clone(families),
            label,
        })
    }

    /// Creates the series with zero, which makes the first event an increase.
    fn begin(&self) {
        let families = &self.families;
        drop(families.opened.get_or_create(&self.by_server()));
        drop(families.failed.get_or_create(&self.by_server()));
    }

    /// The server's label in the metrics.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Counts an opened session.
    pub fn opened(&self, took: Duration) {
        self.families.opened.get_or_create(&self.by_server()).inc();
        self.families.openings.observe(took.as_secs_f64());
    }

    /// Counts a session that could not be opened.
    pub fn failed(&self) {
        self.families.failed.get_or_create(&self.by_server()).inc();
    }

    pub(super) fn called(&self, kind: Option<FaultKind>) {
        match kind {
            None => self.well.inc(),
            Some(kind) => {
                let outcome = kind.as_str().to_owned();
                let labels = [("server", self.label.clone()), ("outcome", outcome)];
                self.families.calls.get_or_create(&labels).inc()
            }
        };
    }

    pub(super) fn took(&self, time: Duration) {
        self.duration.observe(time.as_secs_f64());
    }

    /// The meters of a tool that the server has.
    pub(super) fn tool(&self, name: &str) -> ToolMeters {
        let tools = self.tools.read();
        if let Some(tool) = tools.get(name) {
            return tool.clone();
        }
        drop(tools);
        let full = self.families.counted.load(Ordering::Relaxed) >= MAX_TOOL_SERIES;
        if full || name.len() > MAX_LABEL_BYTES {
            let other = || self.tool_meters(OTHER_LABEL);
            return self.other_tools.get_or_init(other).clone();
        }
        let mut tools = self.tools.write();
        let make = || {
            // Concurrent calls may exceed the limit by a few.
            self.families.counted.fetch_add(1, Ordering::Relaxed);
            self.tool_meters(name)
        };
        tools.entry(name.into()).or_insert_with(make).clone()
    }

    fn tool_meters(&self, name: &str) -> ToolMeters {
        let of = |outcome: &str| {
            self.families.tools.get_or_create_owned(&[
                ("server", self.label.clone()),
                ("tool", name.to_owned()),
                ("outcome", outcome.to_owned()),
            ])
        };
        ToolMeters {
            well: of(OK_OUTCOME),
            badly: of("error"),
        }
    }

    fn by_server(&self) -> LabelSet<1> {
        [("server", self.label.clone())]
    }
}

impl ToolMeters {
    pub(super) fn called(&self, well: bool) {
        if well {
            self.well.inc()
        } else {
            self.badly.inc()
        };
    }
}
