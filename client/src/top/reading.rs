//! The daemon's metrics and runs at one time.

use std::{collections::BTreeMap, time::Instant};

use mux_proto::RunInfo;

use crate::prometheus_text::MetricFamily;

/// A reading of the whole daemon. Counters are sums since it started.
#[derive(Clone, Debug)]
pub(crate) struct MetricsReading {
    pub(crate) at: Instant,
    pub(crate) pid: u32,
    pub(crate) build: String,
    pub(crate) runs: Vec<RunInfo>,
    pub(crate) servers: BTreeMap<String, ServerReading>,
    numbers: BTreeMap<String, f64>,
}

/// The metrics of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerReading {
    /// Sessions by state.
    pub(crate) sessions: BTreeMap<String, f64>,
    pub(crate) calls: f64,
    pub(crate) errors: f64,
    pub(crate) in_flight: f64,
    pub(crate) memory: Option<f64>,
    /// The cumulative histogram of call durations: upper bounds in seconds, ascending, with counts.
    pub(crate) took: Vec<(f64, f64)>,
}

impl MetricsReading {
    pub(crate) fn new(
        at: Instant,
        (pid, build): (u32, String),
        families: &[MetricFamily],
        runs: Vec<RunInfo>,
    ) -> Self {
        let mut reading = Self {
            at,
            pid,
            build,
            runs,
            servers: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        for sample in families.iter().flat_map(|family| &family.samples) {
            let Some(server) = sample.label("server") else {
                let mut key = sample.name.clone();
                for (_, value) in &sample.labels {
                    key.push('/');
                    key.push_str(value);
                }
                reading.numbers.insert(key, sample.value);
                continue;
            };
            let server = reading.servers.entry(server.to_owned()).or_default();
            match sample.name.as_str() {
                "muxd_sessions" => {
                    let state = sample.label("state").unwrap_or_default().to_owned();
                    server.sessions.insert(state, sample.value);
                }
                "muxd_calls_total" => {
                    server.calls += sample.value;
                    if sample.label("outcome") != Some("ok") {
                        server.errors += sample.value;
                    }
                }
                "muxd_calls_in_flight" => server.in_flight = sample.value,
                "muxd_server_memory_bytes" => server.memory = Some(sample.value),
                "muxd_call_duration_seconds_bucket" => {
                    let most = sample.label("le").and_then(|le| le.parse().ok());
                    server.took.extend(most.map(|most| (most, sample.value)));
                }
                _ => {}
            }
        }
        // Labels such as `(unknown)` are shown as servers only if they have calls or sessions.
        reading.servers.retain(|name, server| {
            !name.starts_with('(') || server.calls > 0.0 || !server.sessions.is_empty()
        });
        reading
    }

    /// A value by the name of its sample, followed by the values of its labels, separated by slashes.
    pub(crate) fn metric_value(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// The sum of all labeled samples of a name.
    pub(crate) fn metric_sum(&self, name: &str) -> f64 {
        let of_name = |key: &str| {
            key.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let all = self.numbers.iter().filter(|(key, _)| of_name(key));
        all.map(|(_, value)| value).sum()
    }
}
