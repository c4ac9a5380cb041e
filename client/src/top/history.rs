//! The readings of the last minute, with rates and quantiles computed from them.
//!
//! Invariant: readings of different daemons are never compared: a new daemon starts a new history.

use std::{collections::VecDeque, time::Duration};

use super::reading::{MetricsReading, ServerReading};

/// The period that latencies cover.
const LATENCY_WINDOW: Duration = Duration::from_mins(1);

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
    pub(super) fn rate(&self, sum: impl Fn(&MetricsReading) -> Option<f64>) -> Option<f64> {
        let last = self.0.back()?;
        let before = self.0.iter().rev().nth(1)?;
        let seconds = last.at.saturating_duration_since(before.at).as_secs_f64();
        let rise = sum(last)? - sum(before)?;
        (seconds > 0.0).then(|| rise.max(0.0) / seconds)
    }

    /// The quantile `part` of the durations of a server's calls, in seconds: of the last minute's calls, or of all if
    /// there is only one reading.
    pub(super) fn call_quantile(&self, server: &str, part: f64) -> Option<f64> {
        let buckets = |reading: &MetricsReading| {
            let server = reading.servers.get(server);
            server.map(|server: &ServerReading| server.took.clone())
        };
        let mut took = buckets(self.0.back()?)?;
        if self.0.len() > 1
            && let Some(before) = self.0.front().and_then(buckets)
        {
            for ((_, count), (_, before)) in took.iter_mut().zip(before) {
                *count -= before;
            }
        }
        bucket_quantile(&took, part)
    }
}

/// The quantile of a histogram, interpolated linearly within a bucket.
fn bucket_quantile(buckets: &[(f64, f64)], part: f64) -> Option<f64> {
    let (_, all) = buckets.last()?;
    if *all <= 0.0 {
        return None;
    }
    let rank = part * all;
    let mut below = 0.0;
    let mut passed = 0.0;
    for (most, count) in buckets {
        if *count >= rank {
            if most.is_infinite() {
                return Some(below);
            }
            let inside = count - passed;
            let share = if inside > 0.0 {
                (rank - passed) / inside
            } else {
                1.0
            };
            return Some(below + (most - below) * share);
        }
        (below, passed) = (*most, *count);
    }
    Some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_is_interpolated_within_its_bucket() {
        let inf = f64::INFINITY;
        let buckets = [(0.1, 50.0), (0.2, 90.0), (1.0, 99.0), (inf, 100.0)];
        for (part, expected) in [(0.5, 0.1), (0.7, 0.15), (0.9, 0.2), (0.995, 1.0)] {
            let found = bucket_quantile(&buckets, part).unwrap();
            assert!((found - expected).abs() < 1e-9, "{part}: {found}");
        }
        assert_eq!(bucket_quantile(&[(0.1, 0.0), (inf, 0.0)], 0.5), None);
        assert_eq!(bucket_quantile(&[], 0.5), None);
    }
}
