//! The daemon's metrics, of which `mux_proto::metrics_text` renders Prometheus' text.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

/// All metrics of the daemon: counters since its start, and its current state.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Metrics {
    pub build: String,
    pub contract: u32,
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    pub uptime_seconds: f64,
    /// When the daemon started, in seconds since 1970.
    pub started_seconds: f64,
    /// Clients that are connected.
    pub clients: u64,
    /// Calls that wait for approval now.
    pub approvals_held: u64,
    /// Calls that need approval and that `mux resume` asks about again.
    pub approvals_kept: u64,
    pub runs: RunMetrics,
    pub workers: WorkerMetrics,
    /// Type checks of programs.
    pub checks: CheckMetrics,
    /// Reads of the cache of servers and tools.
    pub cache_reads: HitMetrics,
    /// By server. `(unknown)` has the calls of unknown servers, `(other)` everything about servers beyond a limit.
    pub servers: BTreeMap<String, ServerMetrics>,
    /// How long sessions took to open, from the start of the process to the list of tools.
    pub session_open_seconds: Histogram,
    /// The longest CPU time of a single poll on a thread of the daemon's runtime since the last read, if polls are
    /// measured.
    pub longest_poll_seconds: Option<f64>,
    pub process: ProcessMetrics,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunMetrics {
    /// Runs that were accepted.
    pub started: u64,
    /// Runs that have not ended.
    pub running: u64,
    /// Runs that have ended, by outcome: `ok`, or the kind of the error.
    pub ended: BTreeMap<String, u64>,
    /// From the acceptance of a run to its end.
    pub seconds: Histogram,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkerMetrics {
    pub ready: u64,
    pub busy: u64,
    pub starting: u64,
    /// Programs that wait for a worker.
    pub waiting: u64,
    pub started: u64,
    pub start_failures: u64,
    pub ended: u64,
    /// How long programs waited for a worker.
    pub wait_seconds: Histogram,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CheckMetrics {
    /// Hits are cached verdicts.
    pub cache: HitMetrics,
    pub seconds: Histogram,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HitMetrics {
    pub hits: u64,
    pub misses: u64,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ServerMetrics {
    /// Tool calls that have ended, by outcome: `ok`, or the kind of the error.
    pub calls: BTreeMap<String, u64>,
    pub in_flight: u64,
    /// From sending a call to the answer.
    pub call_seconds: Histogram,
    /// By tool. `(other)` has the calls of tools beyond a limit.
    pub tools: BTreeMap<String, ToolMetrics>,
    /// Sessions by state. Empty if the server no longer exists.
    pub sessions: BTreeMap<String, u64>,
    pub sessions_opened: u64,
    pub session_failures: u64,
    /// Resident memory of its processes, where the system provides it.
    pub memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolMetrics {
    pub ok: u64,
    pub error: u64,
    /// Of the calls that were sent, from sending a call to the answer.
    pub seconds: Histogram,
}

/// Durations in seconds, as a cumulative histogram.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Histogram {
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    /// By ascending upper bound.
    pub buckets: Vec<Bucket>,
}

impl Histogram {
    /// An empty histogram with these ascending upper bounds, in seconds.
    pub fn with_bounds(bounds: &[f64]) -> Self {
        let buckets = bounds.iter().map(|most| Bucket {
            most: *most,
            count: 0,
        });
        Self {
            buckets: buckets.collect(),
            ..Self::default()
        }
    }

    pub fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.min = if self.count == 0 {
            seconds
        } else {
            self.min.min(seconds)
        };
        self.max = self.max.max(seconds);
        self.count += 1;
        self.sum += seconds;
        let first = self.buckets.partition_point(|bucket| bucket.most < seconds);
        self.buckets[first..]
            .iter_mut()
            .for_each(|bucket| bucket.count += 1);
    }

    /// The duration that a part of the durations do not exceed, estimated within its bucket. `None` without durations.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = part * self.count as f64;
        let mut below = 0.0;
        let mut passed = 0.0;
        for bucket in &self.buckets {
            let count = bucket.count as f64;
            if count >= rank {
                let share = (rank - passed) / (count - passed).max(1.0);
                return Some(below + (bucket.most - below) * share);
            }
            below = bucket.most;
            passed = count;
        }
        Some(below)
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// The upper bound.
    pub most: f64,
    /// The number of durations up to this bound.
    pub count: u64,
}

/// The daemon's process. The system may not provide all values.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessMetrics {
    /// User and system time.
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<u64>,
    pub virtual_bytes: Option<u64>,
    pub open_fds: Option<u64>,
    pub max_fds: Option<u64>,
    pub threads: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_include_their_bound() {
        let mut histogram = Histogram::with_bounds(&[0.5, 1.0]);
        for millis in [500, 501, 2_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!((histogram.count, histogram.sum), (3, 3.001));
        assert_eq!((histogram.min, histogram.max), (0.5, 2.0));
        let counts: Vec<u64> = histogram.buckets.iter().map(|it| it.count).collect();
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn quantile_is_interpolated_within_its_bucket() {
        let buckets = [(0.1, 50), (0.2, 90), (1.0, 99)];
        let histogram = Histogram {
            count: 100,
            buckets: buckets.map(|(most, count)| Bucket { most, count }).into(),
            ..Histogram::default()
        };
        for (part, expected) in [(0.5, 0.1), (0.7, 0.15), (0.9, 0.2), (0.995, 1.0)] {
            let found = histogram.quantile(part).unwrap();
            assert!((found - expected).abs() < 1e-9, "{part}: {found}");
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
