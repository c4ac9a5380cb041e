//! Metrics: the counters, with the daemon's state at the moment of the request.
//!
//! Invariant: a request starts nothing and waits for no server.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use futures::FutureExt as _;
use mux_proto::{self as wire, MetricsFormat};
use tokio::task::spawn_blocking;

use crate::daemon::Daemon;
use mux_process::{
    process_stats::{ProcessStats, tree_bytes},
    runtime::longest_poll,
};
use mux_telemetry::metrics::{MetricsPage, RunCounts};
use mux_upstream::SlotView;

/// Serves metrics on the configured port, for as long as it is polled.
pub(crate) async fn serve(daemon: &Arc<Daemon>) {
    let served = Arc::clone(daemon);
    let metrics = daemon.gateway.upstreams().metrics();
    let writer = move |accept: &str| {
        let daemon = Arc::clone(&served);
        let format = MetricsFormat::accepted_by(accept);
        async move {
            MetricsPage {
                content_type: format.content_type(),
                text: wire::metrics_text(&read(&daemon).await, format),
            }
        }
        .boxed()
    };
    metrics.port.serve(Arc::new(writer)).await;
}

/// Reads all metrics.
pub(super) async fn read(daemon: &Daemon) -> wire::Metrics {
    let mut metrics = daemon_metrics(daemon);
    let slots = slots(daemon);
    // This reads one or more files in `/proc` for each process.
    let stats = spawn_blocking(move || {
        add_sessions(&mut metrics.servers, &slots);
        metrics.process = process_metrics(&ProcessStats::now());
        metrics
    });
    // There are no metrics if the daemon is shutting down.
    stats.await.unwrap_or_default()
}

fn daemon_metrics(daemon: &Daemon) -> wire::Metrics {
    let pool = daemon.runs.pool().status();
    let checker = daemon.runs.inspector().status();
    let metrics = daemon.gateway.upstreams().metrics();
    let cache = daemon.gateway.upstreams().catalog().cache();
    let cache = cache.map(|cache| cache.status()).unwrap_or_default();
    let (held, kept) = daemon.gateway.approvals().waiting_counts();
    let uptime = daemon.started.elapsed();
    let began = SystemTime::now().checked_sub(uptime);
    let began = began.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
    let RunCounts { runs, worker_wait } = metrics.runs.counts();
    wire::Metrics {
        build: wire::version::BUILD.to_owned(),
        contract: wire::version::CONTRACT,
        engine: pool.engine,
        engine_version: pool.engine_version,
        uptime_seconds: uptime.as_secs_f64(),
        started_seconds: began.unwrap_or_default().as_secs_f64(),
        clients: count(daemon.activity.client_count()),
        approvals_held: count(held),
        approvals_kept: count(kept),
        runs: wire::RunMetrics {
            running: count(daemon.runs.run_totals().running),
            ..runs
        },
        workers: wire::WorkerMetrics {
            ready: count(pool.ready),
            busy: count(pool.busy),
            starting: count(pool.starting),
            waiting: count(pool.waiting),
            started: pool.started,
            start_failures: pool.failed,
            ended: pool.ended,
            wait_seconds: worker_wait,
        },
        checks: wire::CheckMetrics {
            cache: wire::HitMetrics {
                hits: checker.cached,
                misses: checker.checks,
            },
            seconds: metrics.checks(),
        },
        cache_reads: wire::HitMetrics {
            hits: cache.hits,
            misses: cache.misses,
        },
        servers: metrics.of_servers(),
        session_open_seconds: metrics.session_openings(),
        longest_poll_seconds: longest_poll().map(|poll| poll.as_secs_f64()),
        process: wire::ProcessMetrics::default(),
    }
}

fn process_metrics(stats: &ProcessStats) -> wire::ProcessMetrics {
    wire::ProcessMetrics {
        cpu_seconds: stats.cpu_seconds,
        resident_bytes: stats.resident_bytes,
        virtual_bytes: stats.virtual_bytes,
        open_fds: stats.open_fds,
        max_fds: stats.max_fds,
        threads: stats.threads,
    }
}

/// The slots of all servers, each with the label of its server.
fn slots(daemon: &Daemon) -> Vec<(String, Vec<SlotView>)> {
    let servers = daemon.gateway.upstreams().all().into_iter();
    let slots = servers.map(|server| {
        let broken = SlotView {
            state: wire::ServerState::Broken,
            ..SlotView::default()
        };
        let slots = match server.definition() {
            Ok(_) => server.slot_views(),
            Err(_) => vec![broken],
        };
        (server.meters().label().to_owned(), slots)
    });
    slots.collect()
}

/// Adds the sessions of servers, and the memory of their processes.
fn add_sessions(
    servers: &mut BTreeMap<String, wire::ServerMetrics>,
    slots: &[(String, Vec<SlotView>)],
) {
    for (label, slots) in slots {
        let server = servers.entry(label.clone()).or_default();
        let ready = wire::ServerState::Ready.to_string();
        server.sessions.entry(ready).or_default();
        for slot in slots {
            *server.sessions.entry(slot.state.to_string()).or_default() += 1;
            if let Some(bytes) = slot.pid.and_then(tree_bytes) {
                *server.memory_bytes.get_or_insert_default() += bytes;
            }
        }
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
