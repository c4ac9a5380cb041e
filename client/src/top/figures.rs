//! The figures of one moment, as they are shown.

use mux_proto::{RunInfo, RunState};
use serde::Serialize;

use super::{
    history::ReadingHistory,
    reading::{MetricsReading, ServerReading},
};

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
    pub(crate) workers: WorkerFigures,
    pub(crate) runs: RunFigures,
    pub(crate) servers: Vec<ServerFigures>,
    /// Runs that have not ended, the latest first.
    pub(crate) running: Vec<RunInfo>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkerFigures {
    pub(crate) ready: u64,
    pub(crate) busy: u64,
    pub(crate) starting: u64,
    pub(crate) waiting: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunFigures {
    pub(crate) running: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
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
        let number = |name: &str| to_count(last.metric_value(name).unwrap_or(0.0));
        let succeeded = number("muxd_runs_total/ok");
        let running = last.runs.iter().filter(|run| !has_ended(run.state));
        Some(Self {
            pid: last.pid,
            build: last.build.clone(),
            uptime_seconds: last.metric_value("muxd_uptime_seconds").unwrap_or(0.0),
            cpu: history.rate(|reading| reading.metric_value(CPU_SECONDS_METRIC)),
            cpu_seconds: last.metric_value(CPU_SECONDS_METRIC),
            memory_bytes: last
                .metric_value("process_resident_memory_bytes")
                .map(to_count),
            open_fds: last.metric_value("process_open_fds").map(to_count),
            clients: number("muxd_clients"),
            approvals: number("muxd_approvals/held"),
            workers: WorkerFigures {
                ready: number("muxd_workers/ready"),
                busy: number("muxd_workers/busy"),
                starting: number("muxd_workers/starting"),
                waiting: number("muxd_worker_queue"),
            },
            runs: RunFigures {
                running: number("muxd_runs_running"),
                succeeded,
                failed: to_count(last.metric_sum("muxd_runs_total")).saturating_sub(succeeded),
            },
            servers: last
                .servers
                .iter()
                .map(|(name, server)| server_figures(name, server, history))
                .collect(),
            running: running.cloned().collect(),
        })
    }
}

const CPU_SECONDS_METRIC: &str = "process_cpu_seconds_total";

fn server_figures(name: &str, server: &ServerReading, history: &ReadingHistory) -> ServerFigures {
    let calls = |reading: &MetricsReading| Some(reading.servers.get(name)?.calls);
    let of = |state: &str| to_count(server.sessions.get(state).copied().unwrap_or(0.0));
    ServerFigures {
        name: name.to_owned(),
        state: best_state(server),
        sessions: of("ready") + of("degraded"),
        calls: to_count(server.calls),
        errors: to_count(server.errors),
        in_flight: to_count(server.in_flight),
        calls_per_second: history.rate(calls),
        p50_seconds: history.call_quantile(name, 0.5),
        p99_seconds: history.call_quantile(name, 0.99),
        memory_bytes: server.memory.map(to_count),
    }
}

/// A count, which is a floating-point number in the metrics.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn to_count(number: f64) -> u64 {
    number as u64
}

/// The state of the best session, ordered by how long a call must wait.
fn best_state(server: &ServerReading) -> String {
    const ORDER: &[&str] = &[
        "ready",
        "degraded",
        "starting",
        "failed",
        "backing_off",
        "broken",
    ];
    let has = |state: &&&str| {
        server
            .sessions
            .get(**state)
            .is_some_and(|count| *count > 0.0)
    };
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

    use super::*;
    use crate::prometheus_text;

    /// A reading `seconds` after `began`, with `calls` calls.
    pub(crate) fn reading(began: Instant, pid: u32, seconds: u64, calls: u32) -> MetricsReading {
        let text = format!(
            "muxd_uptime_seconds {seconds}\nmuxd_clients 2\nmuxd_workers{{state=\"ready\"}} 2\n\
             muxd_runs_running 1\nmuxd_runs_total{{outcome=\"ok\"}} 5\nmuxd_runs_total{{outcome=\"timeout\"}} 2\n\
             process_cpu_seconds_total {}\nprocess_resident_memory_bytes 31457280\nprocess_open_fds 40\n\
             muxd_sessions{{server=\"fix\",state=\"ready\"}} 1\nmuxd_sessions{{server=\"idle\",state=\"ready\"}} 0\n\
             # TYPE muxd_calls_total counter\nmuxd_calls_total{{server=\"fix\",outcome=\"ok\"}} {calls}\n\
             muxd_calls_total{{server=\"fix\",outcome=\"tool\"}} 3\n\
             muxd_calls_total{{server=\"(unknown)\",outcome=\"ok\"}} 0\n\
             muxd_calls_in_flight{{server=\"fix\"}} 4\nmuxd_server_memory_bytes{{server=\"fix\"}} 2097152\n\
             # TYPE muxd_call_duration_seconds histogram\n\
             muxd_call_duration_seconds_bucket{{server=\"fix\",le=\"0.01\"}} {calls}\n\
             muxd_call_duration_seconds_bucket{{server=\"fix\",le=\"+Inf\"}} {calls}\n",
            seconds as f64 / 10.0
        );
        let families = prometheus_text::parse_metrics(&text).unwrap();
        let at = began + Duration::from_secs(seconds);
        let runs = [RunState::Running, RunState::Succeeded].map(run);
        MetricsReading::new(at, (pid, "0.1.0".into()), &families, runs.into())
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
