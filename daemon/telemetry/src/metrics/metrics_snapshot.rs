//! Metrics that are read at the moment of a request.
//!
//! Invariant: there is one sample per label.

use std::{collections::BTreeMap, fmt};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

use mux_process::process_stats::ProcessStats;

/// The state of the daemon at one moment.
#[derive(Clone, Debug, Default)]
pub struct MetricsSnapshot {
    /// Labels of the build: names and values.
    pub build: Vec<(&'static str, String)>,
    pub uptime_seconds: f64,
    /// Seconds since the Unix epoch.
    pub started_seconds: f64,
    pub clients: u64,
    pub running: u64,
    /// Workers by state.
    pub workers: Vec<(&'static str, u64)>,
    pub queue: u64,
    pub workers_started: u64,
    pub workers_failed: u64,
    pub workers_ended: u64,
    /// Type checks: hit or miss of the verdict cache.
    pub checks: Vec<(&'static str, u64)>,
    /// Cache reads: hit or miss.
    pub cache_reads: Vec<(&'static str, u64)>,
    /// Approvals by state: held or kept.
    pub approvals: Vec<(&'static str, u64)>,
    /// Servers by label.
    pub servers: BTreeMap<String, ServerSnapshot>,
    /// The longest poll since the last read, if polls are measured.
    pub longest_poll_seconds: Option<f64>,
    pub process: ProcessStats,
}

/// The state of one server, or of several with one label.
#[derive(Clone, Debug, Default)]
pub struct ServerSnapshot {
    /// Sessions by state.
    pub sessions: BTreeMap<&'static str, u64>,
    /// Memory of the server's processes, where the system provides it.
    pub memory_bytes: Option<u64>,
}

/// Encodes a snapshot as metrics.
#[derive(Debug)]
pub(super) struct SnapshotCollector(pub(super) MetricsSnapshot);

impl Collector for SnapshotCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = &self.0;
        let to = &mut encoder;
        let build: Vec<_> = now.build.clone();
        let mut info = to.encode_descriptor(
            "muxd_build_info",
            "The running build: its version, protocol version and engine",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(1_i64).encode(info.encode_family(&build)?)?;
        gauge(
            to,
            "muxd_uptime_seconds",
            "Time since the daemon started",
            now.uptime_seconds,
        )?;
        gauge(
            to,
            "muxd_clients",
            "Clients that are connected",
            count(now.clients),
        )?;
        gauge(
            to,
            "muxd_runs_running",
            "Runs that have not ended, including those that wait for a worker",
            count(now.running),
        )?;
        gauges(
            to,
            "muxd_workers",
            "Worker processes, by state",
            "state",
            &now.workers,
        )?;
        gauge(
            to,
            "muxd_worker_queue",
            "Programs that wait for a worker",
            count(now.queue),
        )?;
        for (name, help, value) in [
            (
                "muxd_workers_started",
                "Worker processes that were started",
                now.workers_started,
            ),
            (
                "muxd_worker_start_failures",
                "Worker processes that could not be started",
                now.workers_failed,
            ),
            (
                "muxd_workers_ended",
                "Worker processes that have ended: killed after a limit, replaced, or no longer needed",
                now.workers_ended,
            ),
        ] {
            counter(to, name, help, value)?;
        }
        counters(
            to,
            "muxd_checks",
            "Type checks of programs: hit if the verdict was cached, miss if the compiler ran",
            "cache",
            &now.checks,
        )?;
        counters(
            to,
            "muxd_cache_reads",
            "Reads of the cache of servers and tools: hit or miss",
            "result",
            &now.cache_reads,
        )?;
        gauges(
            to,
            "muxd_approvals",
            "Calls that need approval: held ones wait now, kept ones are asked again by mux resume",
            "state",
            &now.approvals,
        )?;
        servers(to, &now.servers)?;
        if let Some(seconds) = now.longest_poll_seconds {
            gauge(
                to,
                "muxd_runtime_longest_poll_seconds",
                "Longest CPU time of a single poll on a thread of the daemon's runtime since the last read",
                seconds,
            )?;
        }
        process(to, &now.process)?;
        gauge(
            to,
            "process_start_time_seconds",
            "When the daemon started, in seconds since 1970",
            now.started_seconds,
        )
    }
}

fn servers(
    to: &mut DescriptorEncoder<'_>,
    servers: &BTreeMap<String, ServerSnapshot>,
) -> fmt::Result {
    if servers.is_empty() {
        return Ok(());
    }
    let help = "Sessions with servers, by state";
    let mut sessions = to.encode_descriptor("muxd_sessions", help, None, MetricType::Gauge)?;
    for (server, moment) in servers {
        for (state, count) in &moment.sessions {
            let labels = [("server", server.as_str()), ("state", state)];
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            ConstGauge::new(count).encode(sessions.encode_family(&labels)?)?;
        }
    }
    if servers.values().all(|server| server.memory_bytes.is_none()) {
        return Ok(());
    }
    let help = "Resident memory of a server's processes; shared pages count for each";
    let mut memory =
        to.encode_descriptor("muxd_server_memory_bytes", help, None, MetricType::Gauge)?;
    for (server, moment) in servers {
        if let Some(bytes) = moment.memory_bytes {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            let labels = [("server", server.as_str())];
            ConstGauge::new(bytes).encode(memory.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

/// Encodes process metrics under Prometheus' standard names.
fn process(to: &mut DescriptorEncoder<'_>, process: &ProcessStats) -> fmt::Result {
    if let Some(seconds) = process.cpu_seconds {
        let help = "CPU time of the daemon, user and system";
        let cpu = to.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
        ConstCounter::new(seconds).encode(cpu)?;
    }
    for (name, help, value) in [
        (
            "process_resident_memory_bytes",
            "Resident memory of the daemon",
            process.resident_bytes,
        ),
        (
            "process_virtual_memory_bytes",
            "Address space of the daemon",
            process.virtual_bytes,
        ),
        (
            "process_open_fds",
            "Open file descriptors of the daemon",
            process.open_fds,
        ),
        (
            "process_max_fds",
            "Maximum number of open file descriptors of the daemon",
            process.max_fds,
        ),
        ("process_threads", "Threads of the daemon", process.threads),
    ] {
        if let Some(value) = value {
            gauge(to, name, help, count(value))?;
        }
    }
    Ok(())
}

/// A count as a gauge value.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn gauge<N>(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: N) -> fmt::Result
where
    ConstGauge<N>: EncodeMetric,
{
    let encoder = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(encoder)
}

fn counter(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let encoder = to.encode_descriptor(name, help, None, MetricType::Counter)?;
    ConstCounter::new(value).encode(encoder)
}

fn gauges(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    values: &[(&'static str, u64)],
) -> fmt::Result {
    let mut encoder = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (value, number) in values {
        ConstGauge::new(count(*number)).encode(encoder.encode_family(&[(label, *value)])?)?;
    }
    Ok(())
}

fn counters(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    values: &[(&'static str, u64)],
) -> fmt::Result {
    let mut encoder = to.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (value, number) in values {
        ConstCounter::new(*number).encode(encoder.encode_family(&[(label, *value)])?)?;
    }
    Ok(())
}
