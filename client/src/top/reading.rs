//! What the daemon said at one time.

use std::{collections::BTreeMap, time::Instant};

use mux_proto::RunInfo;

use crate::exposition::Family;

/// Of the daemon as a whole; sums since it started.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) at: Instant,
    pub(crate) pid: u32,
    pub(crate) build: String,
    pub(crate) runs: Vec<RunInfo>,
    pub(crate) servers: BTreeMap<String, ServerReading>,
    numbers: BTreeMap<String, f64>,
}

/// Of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerReading {
    /// Sessions by state.
    pub(crate) sessions: BTreeMap<String, f64>,
    pub(crate) calls: f64,
    pub(crate) errors: f64,
    pub(crate) in_flight: f64,
    pub(crate) memory: Option<f64>,
    /// How many calls took at most so many seconds, in ascending order.
    pub(crate) took: Vec<(f64, f64)>,
}

impl Reading {
    pub(crate) fn new(
        at: Instant,
        (pid, build): (u32, String),
        families: &[Family],
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
        // The label of those that name no server, and of those that came late, are servers only if used.
        reading.servers.retain(|name, server| {
            !name.starts_with('(') || server.calls > 0.0 || !server.sessions.is_empty()
        });
        reading
    }

    /// By the name of the sample, with the values of its labels behind slashes.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// The sum over the labels of a name.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        let of_name = |key: &str| {
            key.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let all = self.numbers.iter().filter(|(key, _)| of_name(key));
        all.map(|(_, value)| value).sum()
    }
}
