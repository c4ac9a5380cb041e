//! The readings of the last minute, with rates and quantiles computed from them.
//!
//! Invariant: readings of different daemons are never compared: a new daemon starts a new history.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use mux_proto::{Metrics, RunInfo};

/// The period that latencies cover.
const LATENCY_WINDOW: Duration = Duration::from_mins(1);

/// The daemon's metrics and runs at one time.
#[derive(Clone, Debug)]
pub(crate) struct MetricsReading {
    pub(crate) at: Instant,
    pub(crate) pid: u32,
    pub(crate) metrics: Metrics,
    pub(crate) runs: Vec<RunInfo>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ReadingHistory(VecDeque<MetricsReading>);

impl ReadingHistory {
    pub(crate) fn push(&mut self, reading: MetricsReading) {
        if self.0.back().is_some_and(|last| last.pid != reading.pid) {
            self.0.clear();
        }
        let now = reading.at;
        self.0.push_back(reading);
        while self.0.len() > 2
            && self
                .0
                .front()
                .is_some_and(|first| now.saturating_duration_since(first.at) > LATENCY_WINDOW)
        {
            self.0.pop_front();
        }
    }

    pub(crate) fn last(&self) -> Option<&MetricsReading> {
        self.0.back()
    }

    /// The increase of a sum per second, between the last two readings.
    pub(super) fn rate(&self, sum: impl Fn(&Metrics) -> Option<f64>) -> Option<f64> {
        let last = self.0.back()?;
        let before = self.0.iter().rev().nth(1)?;
        let seconds = last.at.saturating_duration_since(before.at).as_secs_f64();
        let rise = sum(&last.metrics)? - sum(&before.metrics)?;
        (seconds > 0.0).then(|| rise.max(0.0) / seconds)
    }

    /// The quantile `part` of the durations of a server's calls, in seconds: of the last minute's calls, or of all if
    /// there is only one reading.
    pub(super) fn call_quantile(&self, server: &str, part: f64) -> Option<f64> {
        let of_server = |reading: &MetricsReading| {
            let server = reading.metrics.servers.get(server)?;
            Some(server.call_seconds.clone())
        };
        let mut histogram = of_server(self.0.back()?)?;
        if self.0.len() > 1
            && let Some(before) = self.0.front().and_then(of_server)
        {
            histogram.count -= before.count;
            for (bucket, before) in histogram.buckets.iter_mut().zip(before.buckets) {
                bucket.count -= before.count;
            }
        }
        histogram.quantile(part)
    }
}
