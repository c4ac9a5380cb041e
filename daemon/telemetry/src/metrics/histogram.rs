//! A histogram of durations.

use std::time::Duration;

/// Bounds for durations of milliseconds.
pub(super) const SHORT_BOUNDS_SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];
/// Bounds for durations of up to minutes.
pub(super) const LONG_BOUNDS_SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

#[derive(Clone, Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// The number of durations up to each bound, including those up to a smaller one.
    counts: Vec<u64>,
    pub count: u64,
    /// Of all durations, in seconds.
    pub sum: f64,
    pub min: f64,
    pub max: f64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len()],
            count: 0,
            sum: 0.0,
            min: 0.0,
            max: 0.0,
        }
    }

    pub(super) fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.min = if self.count == 0 {
            seconds
        } else {
            self.min.min(seconds)
        };
        self.max = self.max.max(seconds);
        self.count += 1;
        self.sum += seconds;
        let first = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[first..]
            .iter_mut()
            .for_each(|count| *count += 1);
    }

    /// The upper bounds in seconds, each with the number of durations up to it.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.counts.iter().copied();
        self.bounds.iter().copied().zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_include_their_bound() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        for millis in [500, 501, 2_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!((histogram.count, histogram.sum), (3, 3.001));
        assert_eq!((histogram.min, histogram.max), (0.5, 2.0));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(0.5, 1), (1.0, 2)]);
    }
}
