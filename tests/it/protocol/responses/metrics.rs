//! Metrics.

use mux_proto::{
    Bucket, CheckMetrics, Histogram, HitMetrics, Metrics, ProcessMetrics, RunMetrics,
    ServerMetrics, ToolMetrics, WorkerMetrics, service::MuxResponse,
};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let seconds = Histogram {
        count: 2,
        sum: 0.125,
        min: 0.025,
        max: 0.1,
        buckets: vec![Bucket {
            most: 0.05,
            count: 1,
        }],
    };
    let hits = HitMetrics { hits: 3, misses: 1 };
    let fix = ServerMetrics {
        calls: [("ok".into(), 1), ("tool".into(), 1)].into(),
        in_flight: 0,
        call_seconds: seconds.clone(),
        tools: [(
            "add".into(),
            ToolMetrics {
                ok: 1,
                error: 1,
                seconds: seconds.clone(),
            },
        )]
        .into(),
        sessions: [("ready".into(), 1)].into(),
        sessions_opened: 1,
        session_failures: 0,
        memory_bytes: Some(20_000_000),
    };
    let metrics = Metrics {
        build: "0.1.0".into(),
        contract: 1,
        engine: Some("v8".into()),
        engine_version: Some("14.0".into()),
        uptime_seconds: 12.5,
        started_seconds: 1_700_000_000.25,
        clients: 1,
        approvals_held: 0,
        approvals_kept: 0,
        runs: RunMetrics {
            started: 3,
            running: 1,
            ended: [("ok".into(), 2)].into(),
            seconds: Histogram::default(),
        },
        workers: WorkerMetrics {
            ready: 1,
            busy: 1,
            starting: 0,
            waiting: 0,
            started: 2,
            start_failures: 0,
            ended: 0,
            wait_seconds: Histogram::default(),
        },
        checks: CheckMetrics {
            cache: hits.clone(),
            seconds: Histogram::default(),
        },
        cache_reads: hits,
        servers: [("fix".into(), fix)].into(),
        session_open_seconds: Histogram::default(),
        longest_poll_seconds: None,
        process: ProcessMetrics {
            cpu_seconds: Some(1.5),
            resident_bytes: Some(30_000_000),
            virtual_bytes: Some(900_000_000),
            open_fds: Some(40),
            max_fds: Some(1024),
            threads: Some(6),
        },
    };
    vec![("metrics", MuxResponse::Metrics(Ok(metrics)))]
}
