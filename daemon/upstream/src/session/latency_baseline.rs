//! Detects that a server has become slower than usual.
//!
//! Invariant: at most [`MAX_TRACKED_TOOLS`] tools are tracked, and a tool is compared only with itself.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;

/// A call that takes this many times its usual duration is slow.
const SLOW_CALL_FACTOR: f64 = 5.0;
/// A call shorter than this is never slow.
const MIN_SLOW_CALL_DURATION: Duration = Duration::from_millis(500);
/// The number of calls that establish the usual duration of a tool.
const MIN_BASELINE_CALLS: u32 = 10;
const MAX_TRACKED_TOOLS: usize = 256;
/// A server is slow if at least this many of its last eight calls were slow.
const MIN_SLOW_CALLS: u32 = 4;

#[derive(Debug, Default)]
pub(super) struct LatencyBaseline(Mutex<LatencyBaselineState>);

/// The state that `LatencyBaseline` guards.
#[derive(Debug, Default)]
struct LatencyBaselineState {
    /// The number of calls and their mean duration in seconds, by tool.
    tools: HashMap<String, (u32, f64)>,
    /// One bit for each of the last eight calls: set if the call was slow.
    slow: u8,
}

impl LatencyBaseline {
    pub(super) fn record_call_duration(&self, tool: &str, took: Duration) {
        let mut state = self.0.lock();
        if state.tools.len() >= MAX_TRACKED_TOOLS && !state.tools.contains_key(tool) {
            return;
        }
        let seconds = took.as_secs_f64();
        let (calls, mean) = state.tools.entry(tool.to_owned()).or_default();
        let known = *calls >= MIN_BASELINE_CALLS;
        let slow = known && took >= MIN_SLOW_CALL_DURATION && seconds > *mean * SLOW_CALL_FACTOR;
        *calls += 1;
        // Slow calls do not change the mean.
        if !slow {
            *mean += (seconds - *mean) / f64::from((*calls).min(50));
        }
        if known {
            state.slow = state.slow << 1 | u8::from(slow);
        }
    }

    pub(super) fn is_slow(&self) -> bool {
        let state = self.0.lock();
        state.slow.count_ones() >= MIN_SLOW_CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_slow_relative_to_its_mean_and_recovers() {
        let pace = LatencyBaseline::default();
        let usual = Duration::from_millis(200);
        let calls =
            |tool, took, count| (0..count).for_each(|_| pace.record_call_duration(tool, took));
        calls("quick", usual, 20);
        // A tool that always takes this long is not slow.
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
    fn short_calls_are_never_slow_and_tracked_tools_are_bounded() {
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
        assert_eq!(pace.0.lock().tools.len(), MAX_TRACKED_TOOLS);
    }
}
