//! Durations of the calls of each tool, from the daemon's metrics.

use std::collections::BTreeMap;

use mux_proto::{Metrics, ToolMetrics};
use mux_typegen::names::display_path;
use serde::Serialize;

/// The durations of one tool's calls since the daemon started, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LatencySummary {
    server: String,
    /// As programs write it.
    path: String,
    calls: u64,
    failed: u64,
    fastest: f64,
    p50: f64,
    p95: f64,
    slowest: f64,
}

/// The latencies of all tools with a call that was sent, sorted by path.
pub(super) fn latency_summaries(metrics: &Metrics) -> Vec<LatencySummary> {
    let mut all = BTreeMap::new();
    for (label, server) in &metrics.servers {
        // The label of a project's server has a hash of the project behind the name.
        let name = label.split('@').next().unwrap_or(label);
        for (tool, calls) in &server.tools {
            let path = display_path(&format!("{name}.{tool}")).into_owned();
            let key = (path, label);
            if calls.seconds.count > 0 {
                all.insert(key, (name, calls));
            }
        }
    }
    let all = all.into_iter();
    all.map(|((path, _), (server, calls))| summarize(server, path, calls))
        .collect()
}

fn summarize(server: &str, path: String, calls: &ToolMetrics) -> LatencySummary {
    let ToolMetrics { ok, error, seconds } = calls;
    // The estimate within a bucket may lie beyond all durations.
    let quantile = |part| {
        let estimate = seconds.quantile(part).unwrap_or_default();
        1_000.0 * estimate.clamp(seconds.min, seconds.max)
    };
    LatencySummary {
        server: server.to_owned(),
        path,
        calls: ok + error,
        failed: *error,
        fastest: 1_000.0 * seconds.min,
        p50: quantile(0.5),
        p95: quantile(0.95),
        slowest: 1_000.0 * seconds.max,
    }
}
