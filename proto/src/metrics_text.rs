//! Metrics as text, for `mux metrics` and the daemon's port: Prometheus' format 0.0.4, or OpenMetrics on request.
//!
//! Invariant: both formats have the same samples.

use std::fmt::{Display, Write as _};

use crate::{Bucket, Histogram, HitMetrics, Metrics, ServerMetrics};

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
    write_process(&mut to, metrics);
    if format == MetricsFormat::OpenMetrics {
        to.text.push_str("# EOF\n");
    }
    to.text
}

/// The kind, the name and the help of each family.
const FAMILIES: &str = "\
gauge muxd_build_info The running build: its version, protocol version and engine
gauge muxd_uptime_seconds Time since the daemon started
gauge muxd_clients Clients that are connected
gauge muxd_approvals Calls that need approval: held ones wait now, kept ones are asked again by mux resume
counter muxd_runs_started Runs that were accepted
gauge muxd_runs_running Runs that have not ended, including runs that wait for a worker
counter muxd_runs Runs that have ended, by outcome: ok, or the kind of the error
histogram muxd_run_duration_seconds How long runs took, from their acceptance to their end
gauge muxd_workers Worker processes, by state
gauge muxd_worker_queue Programs that wait for a worker
counter muxd_workers_started Worker processes that were started
counter muxd_worker_start_failures Worker processes that could not be started
counter muxd_workers_ended Worker processes that have ended: killed after a limit, replaced, or no longer needed
histogram muxd_worker_wait_seconds How long programs waited for a worker
counter muxd_checks Type checks of programs: hit if the verdict was cached, miss if the compiler ran
histogram muxd_check_duration_seconds How long type checks of programs took, including cached verdicts
counter muxd_cache_reads Reads of the cache of servers and tools: hit or miss
gauge muxd_runtime_longest_poll_seconds Longest CPU time of a single poll on a thread of the runtime since the last read
counter muxd_calls Tool calls that have ended, by server and outcome: ok, or the kind of the error
histogram muxd_call_duration_seconds How long calls took, from sending them to the server to the answer
gauge muxd_calls_in_flight Tool calls in flight to a server
counter muxd_tool_calls Tool calls that have ended, by tool: ok or error. Others share one series per server
gauge muxd_sessions Sessions with servers, by state
counter muxd_sessions_opened Sessions with servers that were opened
counter muxd_session_failures Sessions with servers that could not be opened
histogram muxd_session_open_duration_seconds How long sessions took to open, from process start to the tool list
gauge muxd_server_memory_bytes Resident memory of a server's processes; shared pages count for each
gauge process_start_time_seconds When the daemon started, in seconds since 1970
counter process_cpu_seconds CPU time of the daemon, user and system
gauge process_resident_memory_bytes Resident memory of the daemon
gauge process_virtual_memory_bytes Address space of the daemon
gauge process_open_fds Open file descriptors of the daemon
gauge process_max_fds Maximum number of open file descriptors of the daemon
gauge process_threads Threads of the daemon
";

fn write_daemon(to: &mut MetricsWriter, metrics: &Metrics) {
    let contract = metrics.contract.to_string();
    let mut build = vec![("version", metrics.build.as_str()), ("contract", &contract)];
    build.extend(metrics.engine.as_deref().map(|it| ("engine", it)));
    let engine_version = metrics.engine_version.as_deref();
    build.extend(engine_version.map(|it| ("engine_version", it)));
    to.declare("muxd_build_info");
    to.sample(&build, 1);
    to.value("muxd_uptime_seconds", Some(metrics.uptime_seconds));
    to.value("muxd_clients", Some(metrics.clients));
    let approvals = [
        ("held", metrics.approvals_held),
        ("kept", metrics.approvals_kept),
    ];
    to.values("muxd_approvals", "state", approvals);

    let runs = &metrics.runs;
    to.value("muxd_runs_started", Some(runs.started));
    to.value("muxd_runs_running", Some(runs.running));
    let ended = runs.ended.iter();
    let ended = ended.map(|(outcome, count)| (outcome.as_str(), *count));
    to.values("muxd_runs", "outcome", ended);
    to.declare("muxd_run_duration_seconds");
    to.histogram(&[], &runs.seconds);

    let workers = &metrics.workers;
    let states = [
        ("ready", workers.ready),
        ("busy", workers.busy),
        ("starting", workers.starting),
    ];
    to.values("muxd_workers", "state", states);
    to.value("muxd_worker_queue", Some(workers.waiting));
    to.value("muxd_workers_started", Some(workers.started));
    to.value("muxd_worker_start_failures", Some(workers.start_failures));
    to.value("muxd_workers_ended", Some(workers.ended));
    to.declare("muxd_worker_wait_seconds");
    to.histogram(&[], &workers.wait_seconds);

    let hits_and_misses = |of: &HitMetrics| [("hit", of.hits), ("miss", of.misses)];
    let checks = hits_and_misses(&metrics.checks.cache);
    to.values("muxd_checks", "cache", checks);
    to.declare("muxd_check_duration_seconds");
    to.histogram(&[], &metrics.checks.seconds);
    let reads = hits_and_misses(&metrics.cache_reads);
    to.values("muxd_cache_reads", "result", reads);
    let longest_poll = metrics.longest_poll_seconds;
    to.value("muxd_runtime_longest_poll_seconds", longest_poll);
}

fn write_servers(to: &mut MetricsWriter, metrics: &Metrics) {
    let servers = &metrics.servers;
    to.declare("muxd_calls");
    for (server, of) in servers {
        for (outcome, count) in &of.calls {
            to.sample(&[("server", server), ("outcome", outcome)], count);
        }
    }
    to.declare("muxd_call_duration_seconds");
    for (server, of) in servers {
        to.histogram(&[("server", server)], &of.call_seconds);
    }
    to.declare("muxd_tool_calls");
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
    to.declare("muxd_sessions");
    for (server, of) in servers {
        for (state, count) in &of.sessions {
            to.sample(&[("server", server), ("state", state)], count);
        }
    }
    let mut of_each = |name, value: fn(&ServerMetrics) -> Option<u64>| {
        let values = servers.iter();
        let values = values.filter_map(|(server, of)| Some((server.as_str(), value(of)?)));
        to.values(name, "server", values);
    };
    of_each("muxd_calls_in_flight", |of| Some(of.in_flight));
    of_each("muxd_sessions_opened", |of| Some(of.sessions_opened));
    of_each("muxd_session_failures", |of| Some(of.session_failures));
    of_each("muxd_server_memory_bytes", |of| of.memory_bytes);
    to.declare("muxd_session_open_duration_seconds");
    to.histogram(&[], &metrics.session_open_seconds);
}

/// Writes process metrics under Prometheus' standard names.
fn write_process(to: &mut MetricsWriter, metrics: &Metrics) {
    let process = &metrics.process;
    let started = metrics.started_seconds;
    to.value("process_start_time_seconds", Some(started));
    to.value("process_cpu_seconds", process.cpu_seconds);
    to.value("process_resident_memory_bytes", process.resident_bytes);
    to.value("process_virtual_memory_bytes", process.virtual_bytes);
    to.value("process_open_fds", process.open_fds);
    to.value("process_max_fds", process.max_fds);
    to.value("process_threads", process.threads);
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
    /// Begins a family of [`FAMILIES`].
    fn declare(&mut self, family: &str) {
        let mut families = FAMILIES.lines().map(|line| line.splitn(3, ' '));
        let words = families.find_map(|mut words| {
            let kind = words.next()?;
            (words.next()? == family).then_some((kind, words.next()?))
        });
        let (kind, help) = words.unwrap_or(("untyped", ""));
        let suffix = if kind == "counter" { "_total" } else { "" };
        self.name = format!("{family}{suffix}");
        let declared = match self.format {
            MetricsFormat::Prometheus => &self.name,
            MetricsFormat::OpenMetrics => family,
        };
        // Writing to a string does not fail.
        _ = writeln!(self.text, "# HELP {declared} {help}");
        _ = writeln!(self.text, "# TYPE {declared} {kind}");
    }

    /// A family with one sample, or none.
    fn value(&mut self, family: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.declare(family);
            self.sample(&[], value);
        }
    }

    /// A family with one label.
    fn values<'a>(
        &mut self,
        family: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.declare(family);
        for (name, value) in values {
            self.sample(&[(label, name)], value);
        }
    }

    fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.write("", labels, value);
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
    use crate::{ProcessMetrics, ToolMetrics};

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
        let tool = ToolMetrics {
            ok: 2,
            error: 1,
            ..ToolMetrics::default()
        };
        server.tools.insert("x \"\n\\".into(), tool);
        server.call_seconds = Histogram {
            count: 3,
            sum: 1.25,
            buckets: vec![Bucket {
                most: 1.0,
                count: 2,
            }],
            ..Histogram::default()
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
    fn all_families_are_declared() {
        let value = Some(1);
        let metrics = Metrics {
            longest_poll_seconds: Some(0.5),
            process: ProcessMetrics {
                cpu_seconds: Some(0.5),
                resident_bytes: value,
                virtual_bytes: value,
                open_fds: value,
                max_fds: value,
                threads: value,
            },
            ..metrics()
        };
        let text = metrics_text(&metrics, MetricsFormat::OpenMetrics);
        for line in FAMILIES.lines() {
            let [kind, name, help] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let declared = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            assert_eq!(text.matches(&declared).count(), 1, "{declared}{text}");
        }
        assert!(!text.contains("untyped"), "{text}");
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
