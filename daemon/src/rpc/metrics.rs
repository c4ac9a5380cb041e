//! Metrics: the counters, with a snapshot at the moment of the request.
//!
//! Invariant: a request starts nothing and waits for no server.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use futures::FutureExt as _;
use mux_proto as wire;
use tokio::task::spawn_blocking;

use crate::daemon::Daemon;
use mux_process::{
    process_stats::{ProcessStats, tree_bytes},
    runtime::longest_poll,
};
use mux_telemetry::metrics::{MetricsSnapshot, ServerSnapshot, TextFormat};
use mux_upstream::{SlotView, UpstreamState};

pub(super) async fn metrics_text(daemon: &Arc<Daemon>) -> wire::MetricsText {
    wire::MetricsText {
        text: text(daemon, TextFormat::Prometheus).await,
    }
}

/// Serves metrics on the configured port, for as long as it is polled.
pub(crate) async fn serve(daemon: &Arc<Daemon>) {
    let served = Arc::clone(daemon);
    let metrics = daemon.gateway.upstreams().metrics();
    let writer = move |format| {
        let daemon = Arc::clone(&served);
        async move { text(&daemon, format).await }.boxed()
    };
    metrics.port.serve(Arc::new(writer)).await;
}

async fn text(daemon: &Arc<Daemon>, format: TextFormat) -> String {
    let mut moment = current_moment(daemon);
    let slots = slots(daemon);
    // This reads one or more files in `/proc` for each process.
    let looked = spawn_blocking(move || (ProcessStats::now(), server_moments(&slots))).await;
    // The figures are absent if the daemon is shutting down.
    (moment.process, moment.servers) = looked.unwrap_or_default();
    daemon.gateway.upstreams().metrics().text(moment, format)
}

fn current_moment(daemon: &Daemon) -> MetricsSnapshot {
    let workers = daemon.runs.pool().status();
    let checker = daemon.runs.inspector().status();
    let cache = daemon.gateway.upstreams().catalog().cache();
    let cache = cache.map(|cache| cache.status()).unwrap_or_default();
    let (held, kept) = daemon.gateway.approvals().waiting_counts();
    let uptime = daemon.started.elapsed();
    let began = SystemTime::now().checked_sub(uptime);
    let began = began.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
    let mut build = vec![
        ("version", wire::version::BUILD.to_owned()),
        ("contract", wire::version::CONTRACT.to_string()),
    ];
    build.extend(workers.engine.map(|engine| ("engine", engine)));
    build.extend(workers.engine_version.map(|it| ("engine_version", it)));
    MetricsSnapshot {
        build,
        uptime_seconds: uptime.as_secs_f64(),
        started_seconds: began.unwrap_or_default().as_secs_f64(),
        clients: count(daemon.activity.client_count()),
        running: count(daemon.runs.run_totals().running),
        workers: vec![
            ("ready", count(workers.ready)),
            ("busy", count(workers.busy)),
            ("starting", count(workers.starting)),
        ],
        queue: count(workers.waiting),
        workers_started: workers.started,
        workers_failed: workers.failed,
        workers_ended: workers.ended,
        checks: vec![("hit", checker.cached), ("miss", checker.checks)],
        cache_reads: vec![("hit", cache.hits), ("miss", cache.misses)],
        approvals: vec![("held", count(held)), ("kept", count(kept))],
        longest_poll_seconds: longest_poll().map(|poll| poll.as_secs_f64()),
        ..MetricsSnapshot::default()
    }
}

/// The slots of all servers, each with the label of its server.
fn slots(daemon: &Daemon) -> Vec<(String, Vec<SlotView>)> {
    let servers = daemon.gateway.upstreams().all().into_iter();
    let slots = servers.map(|server| {
        let broken = SlotView {
            state: UpstreamState::Broken,
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

fn server_moments(slots: &[(String, Vec<SlotView>)]) -> BTreeMap<String, ServerSnapshot> {
    let mut servers = BTreeMap::<String, ServerSnapshot>::new();
    for (label, slots) in slots {
        let server = servers.entry(label.clone()).or_default();
        server
            .sessions
            .entry(UpstreamState::Ready.into())
            .or_default();
        for slot in slots {
            *server.sessions.entry(slot.state.into()).or_default() += 1;
            if let Some(bytes) = slot.pid.and_then(tree_bytes) {
                *server.memory_bytes.get_or_insert_default() += bytes;
            }
        }
    }
    servers
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
