//! The figures of one moment, as they are shown.

use std::collections::BTreeMap;

use mux_proto::{Metrics, RunCounts, RunInfo, RunState, ServerMetrics, WorkerMetrics};
use serde::Serialize;

use super::history::ReadingHistory;

/// The figures of a daemon. Absent values are unknown, or not known yet.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TopFigures {
    pub(crate) pid: u32,
    pub(crate) build: String,
    pub(crate) uptime_seconds: f64,
    /// The CPU usage, where 1.0 is one processor.
    pub(crate) cpu: Option<f64>,
    /// The CPU time since the daemon started.
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) open_fds: Option<u64>,
    pub(crate) clients: u64,
    pub(crate) approvals: u64,
    pub(crate) workers: WorkerMetrics,
    pub(crate) runs: RunCounts,
    pub(crate) servers: Vec<ServerFigures>,
    /// Runs that have not ended, the latest first.
    pub(crate) running: Vec<RunInfo>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ServerFigures {
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) sessions: u64,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) in_flight: u64,
    pub(crate) calls_per_second: Option<f64>,
    pub(crate) p50_seconds: Option<f64>,
    pub(crate) p99_seconds: Option<f64>,
    pub(crate) memory_bytes: Option<u64>,
}

impl TopFigures {
    /// The figures of the latest reading, or `None` before the first one.
    pub(crate) fn of(history: &ReadingHistory) -> Option<Self> {
        let last = history.last()?;
        let metrics = &last.metrics;
        let running = last.runs.iter().filter(|run| !has_ended(run.state));
        // Labels such as `(unknown)` are shown as servers only if they have calls or sessions.
        let servers = metrics.servers.iter().filter(|(name, server)| {
            !name.starts_with('(') || call_count(server) > 0 || !server.sessions.is_empty()
        });
        Some(Self {
            pid: last.pid,
            build: metrics.build.clone(),
            uptime_seconds: metrics.uptime_seconds,
            cpu: history.rate(|metrics| metrics.process.cpu_seconds),
            cpu_seconds: metrics.process.cpu_seconds,
            memory_bytes: metrics.process.resident_bytes,
            open_fds: metrics.process.open_fds,
            clients: metrics.clients,
            approvals: metrics.approvals_held,
            workers: metrics.workers.clone(),
            runs: RunCounts {
                running: usize::try_from(metrics.runs.running).unwrap_or(usize::MAX),
                succeeded: ok_count(&metrics.runs.ended),
                failed: error_count(&metrics.runs.ended),
            },
            servers: servers
                .map(|(name, server)| server_figures(name, server, history))
                .collect(),
            running: running.cloned().collect(),
        })
    }
}

fn server_figures(name: &str, server: &ServerMetrics, history: &ReadingHistory) -> ServerFigures {
    let of_state = |state: &str| server.sessions.get(state).copied().unwrap_or_default();
    let calls = |metrics: &Metrics| Some(call_count(metrics.servers.get(name)?) as f64);
    ServerFigures {
        name: name.to_owned(),
        state: best_state(server),
        sessions: of_state("ready") + of_state("degraded"),
        calls: call_count(server),
        errors: error_count(&server.calls),
        in_flight: server.in_flight,
        calls_per_second: history.rate(calls),
        p50_seconds: history.call_quantile(name, 0.5),
        p99_seconds: history.call_quantile(name, 0.99),
        memory_bytes: server.memory_bytes,
    }
}

fn call_count(server: &ServerMetrics) -> u64 {
    server.calls.values().sum()
}

fn ok_count(outcomes: &BTreeMap<String, u64>) -> u64 {
    outcomes.get("ok").copied().unwrap_or_default()
}

fn error_count(outcomes: &BTreeMap<String, u64>) -> u64 {
    outcomes.values().sum::<u64>() - ok_count(outcomes)
}

/// The state of the best session, ordered by how long a call must wait.
fn best_state(server: &ServerMetrics) -> String {
    const ORDER: &[&str] = &[
        "ready",
        "degraded",
        "starting",
        "failed",
        "backing_off",
        "broken",
    ];
    let has = |state: &&&str| server.sessions.get(**state).is_some_and(|count| *count > 0);
    let best = ORDER.iter().find(has).copied();
    best.unwrap_or(if server.sessions.is_empty() {
        "gone"
    } else {
        "cold"
    })
    .replace('_', " ")
}

fn has_ended(state: RunState) -> bool {
    matches!(state, RunState::Succeeded | RunState::Failed)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::{Duration, Instant};

    use mux_proto::{Bucket, Histogram};

    use super::*;
    use crate::top::MetricsReading;

    /// A reading `seconds` after `began`, with `calls` calls.
    pub(crate) fn reading(began: Instant, pid: u32, seconds: u64, calls: u64) -> MetricsReading {
        let counts = |counts: &[(&str, u64)]| {
            let counts = counts.iter();
            counts
                .map(|(key, count)| ((*key).to_owned(), *count))
                .collect()
        };
        let fix = ServerMetrics {
            calls: counts(&[("ok", calls), ("tool", 3)]),
            in_flight: 4,
            call_seconds: Histogram {
                count: calls,
                sum: 1.0,
                buckets: vec![Bucket {
                    most: 0.01,
                    count: calls,
                }],
                ..Histogram::default()
            },
            sessions: counts(&[("ready", 1)]),
            memory_bytes: Some(2 << 20),
            ..ServerMetrics::default()
        };
        let idle = ServerMetrics {
            sessions: counts(&[("ready", 0)]),
            ..ServerMetrics::default()
        };
        let unknown = ServerMetrics {
            calls: counts(&[("ok", 0)]),
            ..ServerMetrics::default()
        };
        let mut metrics = Metrics {
            build: "0.1.0".into(),
            uptime_seconds: seconds as f64,
            clients: 2,
            servers: [("fix", fix), ("idle", idle), ("(unknown)", unknown)]
                .map(|(name, server)| (name.to_owned(), server))
                .into(),
            ..Metrics::default()
        };
        metrics.workers.ready = 2;
        metrics.runs.running = 1;
        metrics.runs.ended = counts(&[("ok", 5), ("timeout", 2)]);
        metrics.process.cpu_seconds = Some(seconds as f64 / 10.0);
        metrics.process.resident_bytes = Some(30 << 20);
        metrics.process.open_fds = Some(40);
        MetricsReading {
            at: began + Duration::from_secs(seconds),
            pid,
            metrics,
            runs: [RunState::Running, RunState::Succeeded].map(run).into(),
        }
    }

    pub(crate) fn run(state: RunState) -> RunInfo {
        RunInfo {
            run: "9f-7".into(),
            state,
            client: "mux".into(),
            agent: Some("coder\u{1b}".into()),
            workspace: None,
            detached: false,
            title: "return 1".into(),
            accepted_ms: 1_000,
            ms: 1_234,
            calls: 3,
            calls_ended: 3,
            calls_failed: 1,
            approvals: 0,
            error: None,
            events: 9,
        }
    }

    #[test]
    fn rates_cover_the_last_interval_and_latencies_the_last_minute() {
        let began = Instant::now();
        let mut history = ReadingHistory::default();
        assert_eq!(TopFigures::of(&history), None);
        history.push(reading(began, 1, 0, 100));
        let first = TopFigures::of(&history).unwrap();
        assert_eq!((first.cpu, first.servers[0].calls_per_second), (None, None));
        assert_eq!(first.servers[0].p50_seconds, Some(0.005));
        history.push(reading(began, 1, 2, 130));
        let second = TopFigures::of(&history).unwrap();
        let [fix, idle] = &second.servers[..] else {
            panic!("{:?}", second.servers);
        };
        assert_eq!((fix.calls, fix.errors, fix.in_flight), (133, 3, 4));
        assert_eq!(fix.calls_per_second, Some(15.0));
        assert!((second.cpu.unwrap() - 0.1).abs() < 1e-9);
        assert_eq!((fix.state.as_str(), idle.state.as_str()), ("ready", "cold"));
        assert_eq!((second.runs.succeeded, second.runs.failed), (5, 2));
        assert_eq!(second.running.len(), 1, "one has ended");
        // A minute without calls has no latency.
        for seconds in 3..80 {
            history.push(reading(began, 1, seconds, 130));
        }
        assert_eq!(
            TopFigures::of(&history).unwrap().servers[0].p50_seconds,
            None
        );
        // Counters of another daemon start at zero.
        history.push(reading(began, 2, 80, 7));
        let anew = TopFigures::of(&history).unwrap();
        assert_eq!(anew.servers[0].calls_per_second, None);
    }
}
