//! Whether a server has become slow, by its own measure.
//!
//! Invariant: what is kept is bounded by [`MAX_TRACKED_TOOLS`], and a tool is compared with itself only.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A call that takes so many times as long as usual is slow.
const SLOW_CALL_FACTOR: f64 = 5.0;
/// And at least so long: of a millisecond nobody notices five.
const MIN_SLOW_CALL_DURATION: Duration = Duration::from_millis(500);
/// So many calls of a tool show what is usual.
const MIN_BASELINE_CALLS: u32 = 10;
const MAX_TRACKED_TOOLS: usize = 256;
/// So many of the last eight calls make a slow server.
const MIN_SLOW_CALLS: u32 = 4;

#[derive(Debug, Default)]
pub(super) struct LatencyBaseline(Mutex<LatencyBaselineState>);

/// Guarded by `LatencyBaseline`.
#[derive(Debug, Default)]
struct LatencyBaselineState {
    /// Calls so far and their mean, in seconds.
    tools: HashMap<String, (u32, f64)>,
    /// A bit for each of the last calls.
    slow: u8,
}

impl LatencyBaseline {
    pub(super) fn record_call_duration(&self, tool: &str, took: Duration) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.tools.len() >= MAX_TRACKED_TOOLS && !state.tools.contains_key(tool) {
            return;
        }
        let seconds = took.as_secs_f64();
        let (calls, mean) = state.tools.entry(tool.to_owned()).or_default();
        let known = *calls >= MIN_BASELINE_CALLS;
        let slow = known && took >= MIN_SLOW_CALL_DURATION && seconds > *mean * SLOW_CALL_FACTOR;
        *calls += 1;
        // What is slow is no part of what is usual.
        if !slow {
            *mean += (seconds - *mean) / f64::from((*calls).min(50));
        }
        if known {
            state.slow = state.slow << 1 | u8::from(slow);
        }
    }

    pub(super) fn is_slow(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.slow.count_ones() >= MIN_SLOW_CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_slow_by_its_own_measure_and_recovers() {
        let (pace, usual) = (LatencyBaseline::default(), Duration::from_millis(200));
        let calls =
            |tool, took, count| (0..count).for_each(|_| pace.record_call_duration(tool, took));
        calls("quick", usual, 20);
        // Another tool that always takes so long is as it should be.
        calls("long", usual * 20, 20);
        assert!(!pace.is_slow());
        calls("quick", usual * 6, 3);
        assert!(!pace.is_slow(), "three are no trend");
        calls("quick", usual * 6, 1);
        assert!(pace.is_slow());
        calls("quick", usual, 8);
        assert!(!pace.is_slow());
    }

    #[test]
    fn nobody_notices_milliseconds_and_many_tools_fill_no_memory() {
        let pace = LatencyBaseline::default();
        for _ in 0..20 {
            pace.record_call_duration("t", Duration::from_millis(1));
        }
        for _ in 0..20 {
            pace.record_call_duration("t", Duration::from_millis(100));
        }
        assert!(!pace.is_slow());
        for n in 0..10_000 {
            pace.record_call_duration(&n.to_string(), MIN_SLOW_CALL_DURATION);
        }
        assert_eq!(pace.0.lock().unwrap().tools.len(), MAX_TRACKED_TOOLS);
    }
}
