//! Metrics as text, for `mux metrics` and the daemon's port: Prometheus' format 0.0.4, or OpenMetrics on request.
//!
//! Invariant: both formats have the same samples.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use crate::{Bucket, Histogram, Metrics, ProcessMetrics, ServerMetrics};

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MetricsFormat {
    #[default]
    Prometheus,
    OpenMetrics,
}

impl MetricsFormat {
    /// The format for an `Accept` header.
    pub fn accepted_by(accept: &str) -> Self {
        let mut ranges = accept.split(',');
        let open = ranges.any(|range| {
            let kind = range.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/openmetrics-text")
        });
        if open {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Renders metrics. A value that the system does not provide has no sample.
pub fn metrics_text(metrics: &Metrics, format: MetricsFormat) -> String {
    let mut to = MetricsWriter {
        format,
        name: String::new(),
        text: String::new(),
    };
    write_daemon(&mut to, metrics);
    write_servers(&mut to, metrics);
    write_process(&mut to, &metrics.process);
    if format == MetricsFormat::OpenMetrics {
        to.text.push_str("# EOF\n");
    }
    to.text
}

fn write_daemon(to: &mut MetricsWriter, metrics: &Metrics) {
    let contract = metrics.contract.to_string();
    let mut build = vec![("version", metrics.build.as_str()), ("contract", &contract)];
    build.extend(metrics.engine.as_deref().map(|it| ("engine", it)));
    let engine_version = metrics.engine_version.as_deref();
    build.extend(engine_version.map(|it| ("engine_version", it)));
    to.gauges(
        "muxd_build_info",
        "The running build: its version, protocol version and engine",
    );
    to.sample(&build, 1);
    to.gauge(
        "muxd_uptime_seconds",
        "Time since the daemon started",
        Some(metrics.uptime_seconds),
    );
    to.gauge(
        "process_start_time_seconds",
        "When the daemon started, in seconds since 1970",
        Some(metrics.started_seconds),
    );
    to.gauge(
        "muxd_clients",
        "Clients that are connected",
        Some(metrics.clients),
    );
    to.gauges(
        "muxd_approvals",
        "Calls that need approval: held ones wait now, kept ones are asked again by mux resume",
    );
    to.sample(&[("state", "held")], metrics.approvals_held);
    to.sample(&[("state", "kept")], metrics.approvals_kept);

    let runs = &metrics.runs;
    to.counters("muxd_runs_started", "Runs that were accepted");
    to.sample(&[], runs.started);
    to.gauge(
        "muxd_runs_running",
        "Runs that have not ended, including those that wait for a worker",
        Some(runs.running),
    );
    to.counters(
        "muxd_runs",
        "Runs that have ended, by outcome: ok, or the kind of the error",
    );
    for (outcome, count) in &runs.ended {
        to.sample(&[("outcome", outcome)], count);
    }
    to.histograms(
        "muxd_run_duration_seconds",
        "How long runs took, from their acceptance to their end",
    );
    to.histogram(&[], &runs.seconds);

    let workers = &metrics.workers;
    to.gauges("muxd_workers", "Worker processes, by state");
    for (state, count) in [
        ("ready", workers.ready),
        ("busy", workers.busy),
        ("starting", workers.starting),
    ] {
        to.sample(&[("state", state)], count);
    }
    to.gauge(
        "muxd_worker_queue",
        "Programs that wait for a worker",
        Some(workers.waiting),
    );
    for (name, help, count) in [
        (
            "muxd_workers_started",
            "Worker processes that were started",
            workers.started,
        ),
        (
            "muxd_worker_start_failures",
            "Worker processes that could not be started",
            workers.start_failures,
        ),
        (
            "muxd_workers_ended",
            "Worker processes that have ended: killed after a limit, replaced, or no longer needed",
            workers.ended,
        ),
    ] {
        to.counters(name, help);
        to.sample(&[], count);
    }
    to.histograms(
        "muxd_worker_wait_seconds",
        "How long programs waited for a worker",
    );
    to.histogram(&[], &workers.wait_seconds);

    let checks = &metrics.checks;
    to.counters(
        "muxd_checks",
        "Type checks of programs: hit if the verdict was cached, miss if the compiler ran",
    );
    to.sample(&[("cache", "hit")], checks.cache.hits);
    to.sample(&[("cache", "miss")], checks.cache.misses);
    to.histograms(
        "muxd_check_duration_seconds",
        "How long type checks of programs took, including cached verdicts",
    );
    to.histogram(&[], &checks.seconds);
    to.counters(
        "muxd_cache_reads",
        "Reads of the cache of servers and tools: hit or miss",
    );
    to.sample(&[("result", "hit")], metrics.cache_reads.hits);
    to.sample(&[("result", "miss")], metrics.cache_reads.misses);
    to.gauge(
        "muxd_runtime_longest_poll_seconds",
        "Longest CPU time of a single poll on a thread of the daemon's runtime since the last read",
        metrics.longest_poll_seconds,
    );
}

fn write_servers(to: &mut MetricsWriter, metrics: &Metrics) {
    let servers = &metrics.servers;
    to.counters(
        "muxd_calls",
        "Tool calls that have ended, by server and outcome: ok, or the kind of the error",
    );
    for (server, of) in servers {
        for (outcome, count) in &of.calls {
            to.sample(&[("server", server), ("outcome", outcome)], count);
        }
    }
    to.histograms(
        "muxd_call_duration_seconds",
        "How long calls took, from sending them to the server to the answer",
    );
    for (server, of) in servers {
        to.histogram(&[("server", server)], &of.call_seconds);
    }
    to.counters(
        "muxd_tool_calls",
        "Tool calls that have ended, by tool: ok or error. The first 500 called tools have their own series, \
         all others share one series per server",
    );
    for (server, of) in servers {
        for (tool, calls) in &of.tools {
            for (outcome, count) in [("ok", calls.ok), ("error", calls.error)] {
                let labels = [
                    ("server", server.as_str()),
                    ("tool", tool),
                    ("outcome", outcome),
                ];
                to.sample(&labels, count);
            }
        }
    }
    to.gauges("muxd_sessions", "Sessions with servers, by state");
    for (server, of) in servers {
        for (state, count) in &of.sessions {
            to.sample(&[("server", server), ("state", state)], count);
        }
    }
    to.gauges("muxd_calls_in_flight", "Tool calls in flight to a server");
    to.of_each_server(servers, |of| Some(of.in_flight));
    to.counters(
        "muxd_sessions_opened",
        "Sessions with servers that were opened",
    );
    to.of_each_server(servers, |of| Some(of.sessions_opened));
    to.counters(
        "muxd_session_failures",
        "Sessions with servers that could not be opened",
    );
    to.of_each_server(servers, |of| Some(of.session_failures));
    to.gauges(
        "muxd_server_memory_bytes",
        "Resident memory of a server's processes; shared pages count for each",
    );
    to.of_each_server(servers, |of| of.memory_bytes);
    to.histograms(
        "muxd_session_open_duration_seconds",
        "How long sessions took to open, from the start of the process to the list of tools",
    );
    to.histogram(&[], &metrics.session_open_seconds);
}

/// Writes process metrics under Prometheus' standard names.
fn write_process(to: &mut MetricsWriter, process: &ProcessMetrics) {
    if let Some(seconds) = process.cpu_seconds {
        to.counters(
            "process_cpu_seconds",
            "CPU time of the daemon, user and system",
        );
        to.sample(&[], seconds);
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
        to.gauge(name, help, value);
    }
}

type Labels<'a> = &'a [(&'a str, &'a str)];

/// Writes families: a declaration, and then its samples.
struct MetricsWriter {
    format: MetricsFormat,
    /// The name of the samples of the last declared family.
    name: String,
    text: String,
}

impl MetricsWriter {
    fn gauge(&mut self, name: &str, help: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.gauges(name, help);
            self.sample(&[], value);
        }
    }

    fn gauges(&mut self, name: &str, help: &str) {
        self.declare(name, name.to_owned(), help, "gauge");
    }

    fn counters(&mut self, name: &str, help: &str) {
        self.declare(name, format!("{name}_total"), help, "counter");
    }

    fn histograms(&mut self, name: &str, help: &str) {
        self.declare(name, name.to_owned(), help, "histogram");
    }

    fn declare(&mut self, family: &str, samples: String, help: &str, kind: &str) {
        self.name = samples;
        let declared = match self.format {
            MetricsFormat::Prometheus => &self.name,
            MetricsFormat::OpenMetrics => family,
        };
        // Writing to a string does not fail.
        _ = writeln!(self.text, "# HELP {declared} {help}");
        _ = writeln!(self.text, "# TYPE {declared} {kind}");
    }

    fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.write("", labels, value);
    }

    fn of_each_server(
        &mut self,
        servers: &BTreeMap<String, ServerMetrics>,
        value: impl Fn(&ServerMetrics) -> Option<u64>,
    ) {
        for (server, of) in servers {
            if let Some(value) = value(of) {
                self.sample(&[("server", server)], value);
            }
        }
    }

    fn histogram(&mut self, labels: Labels<'_>, histogram: &Histogram) {
        self.write("_sum", labels, histogram.sum);
        self.write("_count", labels, histogram.count);
        let mut bucket = |most: &str, count| {
            self.write("_bucket", &[labels, &[("le", most)]].concat(), count);
        };
        for Bucket { most, count } in &histogram.buckets {
            // With a fraction, as Prometheus' own clients write it.
            bucket(&format!("{most:?}"), *count);
        }
        bucket("+Inf", histogram.count);
    }

    fn write(&mut self, suffix: &str, labels: Labels<'_>, value: impl Display) {
        _ = write!(self.text, "{}{suffix}", self.name);
        for (at, (name, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('\n', "\\n");
            let value = value.replace('"', "\\\"");
            _ = write!(self.text, "{before}{name}=\"{value}\"");
        }
        let after = if labels.is_empty() { "" } else { "}" };
        _ = writeln!(self.text, "{after} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HitMetrics, ToolMetrics};

    fn metrics() -> Metrics {
        let mut metrics = Metrics {
            build: "0.1.0".into(),
            clients: 2,
            ..Metrics::default()
        };
        metrics.workers.busy = 1;
        metrics.checks.cache = HitMetrics { hits: 3, misses: 4 };
        metrics.runs.ended.insert("runtime".into(), 1);
        let mut server = ServerMetrics {
            memory_bytes: Some(1 << 20),
            ..ServerMetrics::default()
        };
        server.calls.insert("ok".into(), 2);
        server.sessions.insert("ready".into(), 1);
        let tool = ToolMetrics { ok: 2, error: 1 };
        server.tools.insert("x \"\n\\".into(), tool);
        server.call_seconds = Histogram {
            count: 3,
            sum: 1.25,
            buckets: vec![Bucket {
                most: 1.0,
                count: 2,
            }],
        };
        metrics.servers.insert("fix".into(), server);
        metrics
    }

    #[test]
    fn samples_have_escaped_labels_and_cumulative_buckets() {
        let text = metrics_text(&metrics(), MetricsFormat::Prometheus);
        for line in [
            "muxd_build_info{version=\"0.1.0\",contract=\"0\"} 1",
            "muxd_clients 2",
            "muxd_workers{state=\"busy\"} 1",
            "# TYPE muxd_checks_total counter",
            "muxd_checks_total{cache=\"miss\"} 4",
            "muxd_runs_total{outcome=\"runtime\"} 1",
            "muxd_calls_total{server=\"fix\",outcome=\"ok\"} 2",
            "muxd_tool_calls_total{server=\"fix\",tool=\"x \\\"\\n\\\\\",outcome=\"error\"} 1",
            "muxd_sessions{server=\"fix\",state=\"ready\"} 1",
            "muxd_server_memory_bytes{server=\"fix\"} 1048576",
            "# TYPE muxd_call_duration_seconds histogram",
            "muxd_call_duration_seconds_sum{server=\"fix\"} 1.25",
            "muxd_call_duration_seconds_count{server=\"fix\"} 3",
            "muxd_call_duration_seconds_bucket{server=\"fix\",le=\"1.0\"} 2",
            "muxd_call_duration_seconds_bucket{server=\"fix\",le=\"+Inf\"} 3",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("longest_poll") && !text.contains("# EOF"));
    }

    #[test]
    fn openmetrics_has_the_same_samples_and_other_declarations() {
        let text = metrics_text(&metrics(), MetricsFormat::Prometheus);
        let open = metrics_text(&metrics(), MetricsFormat::OpenMetrics);
        assert!(
            open.ends_with("# EOF\n") && open.contains("# TYPE muxd_checks counter\n"),
            "{open}"
        );
        let samples = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(samples(&text), samples(&open));
    }

    #[test]
    fn openmetrics_is_used_only_on_request() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3";
        for (accept, format) in [
            ("", MetricsFormat::Prometheus),
            ("*/*", MetricsFormat::Prometheus),
            ("text/plain", MetricsFormat::Prometheus),
            (prometheus, MetricsFormat::OpenMetrics),
        ] {
            assert_eq!(MetricsFormat::accepted_by(accept), format, "{accept}");
        }
    }
}
