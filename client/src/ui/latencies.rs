//! Durations of the calls of each tool, from the runs' events.
//!
//! Invariant: each event is counted once, and the memory for each tool is bounded.

use std::collections::{HashMap, HashSet, VecDeque};

use mux_proto::{Event, EventKind, RunInfo};
use mux_typegen::names::display_path;
use serde::Serialize;

/// The number of last calls that are kept of each tool.
const MAX_SAMPLES_PER_TOOL: usize = 500;
/// The maximum number of tools.
const MAX_TOOLS_WITH_LATENCIES: usize = 5_000;

#[derive(Default)]
pub(super) struct ToolLatencies {
    /// By the path as servers name their tools.
    tools: HashMap<String, ToolSamples>,
    /// The number of the last counted event of each run.
    read: HashMap<String, u64>,
}

#[derive(Default)]
struct ToolSamples {
    calls: u64,
    failed: u64,
    last: VecDeque<f64>,
    slowest: f64,
}

/// The durations of one tool's calls, in milliseconds.
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

impl ToolLatencies {
    /// The number of the event after which to read a run; `None` if there is nothing new.
    pub(super) fn read_after(&self, run: &RunInfo) -> Option<u64> {
        let read = self.read.get(&run.run).copied().unwrap_or(0);
        (run.calls > 0 && read < run.events).then_some(read)
    }

    /// Counts new events of a run; returns whether there were any calls.
    pub(super) fn count_events(&mut self, run: &str, events: &[Event]) -> bool {
        let read = self.read.entry(run.to_owned()).or_default();
        let mut news = false;
        for event in events {
            if event.seq <= *read {
                continue;
            }
            *read = event.seq;
            if let EventKind::CallEnded {
                path, ms, error, ..
            } = &event.event
            {
                if self.tools.len() >= MAX_TOOLS_WITH_LATENCIES && !self.tools.contains_key(path) {
                    continue;
                }
                let tool = self.tools.entry(path.clone()).or_default();
                tool.count_call(*ms, error.is_some());
                news = true;
            }
        }
        news
    }

    /// Drops the state of runs that the daemon no longer lists.
    pub(super) fn retain(&mut self, runs: &[RunInfo]) {
        if self.read.len() > 2 * runs.len() + 16 {
            let kept: HashSet<&str> = runs.iter().map(|run| run.run.as_str()).collect();
            self.read.retain(|run, _| kept.contains(run.as_str()));
        }
    }

    /// The latencies of all tools, sorted by path.
    pub(super) fn all_summaries(&self) -> Vec<LatencySummary> {
        let mut all: Vec<LatencySummary> = self
            .tools
            .iter()
            .map(|(path, tool)| tool.summarize(path))
            .collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }
}

impl ToolSamples {
    fn count_call(&mut self, ms: f64, failed: bool) {
        self.calls += 1;
        self.failed += u64::from(failed);
        self.slowest = self.slowest.max(ms);
        if self.last.len() == MAX_SAMPLES_PER_TOOL {
            self.last.pop_front();
        }
        self.last.push_back(ms);
    }

    fn summarize(&self, path: &str) -> LatencySummary {
        let mut sorted: Vec<f64> = self.last.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        LatencySummary {
            server: path.split('.').next().unwrap_or(path).to_owned(),
            path: display_path(path).into_owned(),
            calls: self.calls,
            failed: self.failed,
            fastest: sorted.first().copied().unwrap_or(0.0),
            p50: percentile(&sorted, 50),
            p95: percentile(&sorted, 95),
            slowest: self.slowest,
        }
    }
}

/// The smallest value that at least `percent` % of the values do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100);
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, Kind};

    use super::*;

    fn ended(seq: u64, path: &str, ms: f64, failed: bool) -> Event {
        let error = failed.then(|| Error::new(Kind::Tool, "no"));
        Event {
            seq,
            at_ms: 0,
            event: EventKind::CallEnded {
                call: 0,
                path: path.into(),
                ms,
                bytes: 1,
                error,
            },
        }
    }

    #[test]
    fn each_event_is_counted_once() {
        let mut latencies = ToolLatencies::default();
        let events: Vec<Event> = (1..=100)
            .map(|n| ended(n, "a.b", n as f64, n > 90))
            .collect();
        assert!(latencies.count_events("r", &events[..60]));
        assert!(latencies.count_events("r", &events[40..]));
        assert!(!latencies.count_events("r", &events));
        let all = latencies.all_summaries();
        assert_eq!(all.len(), 1);
        let summary = &all[0];
        assert_eq!((summary.calls, summary.failed), (100, 10));
        assert_eq!(
            (summary.fastest, summary.p50, summary.p95, summary.slowest),
            (1.0, 50.0, 95.0, 100.0)
        );
    }

    #[test]
    fn percentiles_cover_the_last_calls_and_the_slowest_covers_all() {
        let mut latencies = ToolLatencies::default();
        let slow = [ended(1, "a.b", 900.0, false)];
        latencies.count_events("r", &slow);
        let last: Vec<Event> = (0..MAX_SAMPLES_PER_TOOL as u64)
            .map(|n| ended(n + 2, "a.b", 2.0, false))
            .collect();
        latencies.count_events("r", &last);
        let summary = &latencies.all_summaries()[0];
        assert_eq!(
            (summary.p50, summary.p95, summary.slowest),
            (2.0, 2.0, 900.0)
        );
    }

    #[test]
    fn percentiles_are_always_one_of_the_values() {
        assert_eq!((percentile(&[], 50), percentile(&[3.0], 95)), (0.0, 3.0));
        assert_eq!(
            (percentile(&[1.0, 2.0], 50), percentile(&[1.0, 2.0], 95)),
            (1.0, 2.0)
        );
    }
}
