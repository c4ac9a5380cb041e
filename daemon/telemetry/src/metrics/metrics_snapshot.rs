//! What is so at the moment at which somebody asks.
//!
//! Invariant: nothing of it is counted twice: of what shares a label there is one sample.

use std::{collections::BTreeMap, fmt};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

use super::process_stats::ProcessStats;

/// Of the daemon as a whole.
#[derive(Clone, Debug, Default)]
pub struct MetricsSnapshot {
    /// Which build this is, in names and values.
    pub build: Vec<(&'static str, String)>,
    pub uptime_seconds: f64,
    /// Seconds since 1970.
    pub started_seconds: f64,
    pub clients: u64,
    pub running: u64,
    /// By what they do.
    pub workers: Vec<(&'static str, u64)>,
    pub queue: u64,
    pub workers_started: u64,
    pub workers_failed: u64,
    pub workers_ended: u64,
    /// By whether the verdict was known.
    pub checks: Vec<(&'static str, u64)>,
    /// By whether there was something.
    pub cache_reads: Vec<(&'static str, u64)>,
    /// By whether a call still waits.
    pub approvals: Vec<(&'static str, u64)>,
    /// By label.
    pub servers: BTreeMap<String, ServerSnapshot>,
    /// Since somebody asked last, if it is watched.
    pub longest_poll_seconds: Option<f64>,
    pub process: ProcessStats,
}

/// Of one server, or of several with one label.
#[derive(Clone, Debug, Default)]
pub struct ServerSnapshot {
    /// By state.
    pub sessions: BTreeMap<&'static str, u64>,
    /// Of its processes, where the system tells.
    pub memory_bytes: Option<u64>,
}

/// As metrics.
#[derive(Debug)]
pub(super) struct SnapshotCollector(pub(super) MetricsSnapshot);

impl Collector for SnapshotCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (now, to) = (&self.0, &mut encoder);
        let build: Vec<_> = now.build.clone();
        let mut info = to.encode_descriptor(
            "muxd_build_info",
            "The build that runs: its version, the contract that it speaks, and its engine",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(1_i64).encode(info.encode_family(&build)?)?;
        gauge(
            to,
            "muxd_uptime_seconds",
            "Since the daemon started",
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
            "Runs that have not ended, those that wait for a worker among them",
            count(now.running),
        )?;
        gauges(
            to,
            "muxd_workers",
            "Worker processes, by what they do",
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
                "Worker processes that have ended: killed after a limit, replaced, or not needed any more",
                now.workers_ended,
            ),
        ] {
            counter(to, name, help, value)?;
        }
        counters(
            to,
            "muxd_checks",
            "Type checks of programs: hit if the verdict was known, miss if the compiler was asked",
            "cache",
            &now.checks,
        )?;
        counters(
            to,
            "muxd_cache_reads",
            "Reads of what is kept of servers and tools: hit or miss",
            "result",
            &now.cache_reads,
        )?;
        gauges(
            to,
            "muxd_approvals",
            "Calls that must be approved: held ones wait now, kept ones are asked again by mux resume",
            "state",
            &now.approvals,
        )?;
        servers(to, &now.servers)?;
        if let Some(seconds) = now.longest_poll_seconds {
            gauge(
                to,
                "muxd_runtime_longest_poll_seconds",
                "Processor time that a thread of the daemon's runtime took at a time, at most, since this was read last",
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
    let help = "Resident memory of a server's processes; what they share counts for each";
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

/// By the names that all programs use.
fn process(to: &mut DescriptorEncoder<'_>, process: &ProcessStats) -> fmt::Result {
    if let Some(seconds) = process.cpu_seconds {
        let help = "Processor time of the daemon, its own and the system's on its behalf";
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
            "Descriptors that the daemon has open",
            process.open_fds,
        ),
        (
            "process_max_fds",
            "Descriptors that the daemon may have open",
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

/// A count as a number of the text.
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
