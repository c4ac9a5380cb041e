//! A run while it is being recorded.
//!
//! Invariant: a recording is whole or there is none. One that would be too long says so.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use mux_secrets::KnownSecrets;
use mux_wire::{Fault, Kind, Target};

use super::{
    Recording,
    document::{Entry, MOST, Outcome, Script, raw},
    mask::masked,
};
use mux_approvals::call_fingerprint::spelled;

/// What a call takes beside its texts.
const SMALL: usize = 160;

#[derive(Debug)]
pub struct Tape {
    begun: Instant,
    since: SystemTime,
    state: Mutex<State>,
}

/// Guarded by `Tape::state`.
#[derive(Debug, Default)]
struct State {
    calls: Vec<Entry>,
    bytes: usize,
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            since: SystemTime::now(),
            state: Mutex::default(),
        }
    }
}

impl Tape {
    /// Gives its place; `None` once there is no room.
    pub fn begin(&self, target: &Target, arguments: &str) -> Option<usize> {
        let (tool, is_raw) = spelled(target);
        let mut state = self.state();
        if !state.takes(SMALL + tool.len() + arguments.len()) {
            return None;
        }
        state.calls.push(Entry {
            tool,
            raw: is_raw,
            arguments: raw(arguments),
            at_ms: self.begun.elapsed().as_secs_f64() * 1e3,
            ms: 0.0,
            outcome: Outcome::Open,
        });
        Some(state.calls.len() - 1)
    }

    pub fn end(&self, place: Option<usize>, outcome: &Result<String, Fault>) {
        let now = self.begun.elapsed().as_secs_f64() * 1e3;
        let mut state = self.state();
        let Some(place) = place.filter(|place| *place < state.calls.len()) else {
            return;
        };
        if state.takes(length(outcome)) {
            let entry = &mut state.calls[place];
            entry.ms = now - entry.at_ms;
            entry.outcome = Outcome::of(outcome);
        }
    }

    /// The whole as JSON text, with what is known to be secret struck out.
    pub fn finish(
        &self,
        script: Script,
        outcome: &Result<String, Fault>,
        known: KnownSecrets,
    ) -> Result<String, Fault> {
        let mut state = self.state();
        if !state.takes(length(outcome) + script.source.len() + script.names.len()) {
            return Err(Fault::new(
                Kind::Limit,
                format!("the run is not recorded: its calls and results are over {MOST} bytes"),
            )
            .hint("record a run that reads less"));
        }
        let calls = std::mem::take(&mut state.calls);
        drop(state);
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut texts = vec![script.input.to_string()];
        for call in &calls {
            texts.push(call.arguments.get().to_owned());
            if let Outcome::Result(text) = &call.outcome {
                texts.push(text.get().to_owned());
            }
        }
        let recording = Recording::new(
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            script,
            calls,
            Outcome::of(outcome),
        );
        let text = serde_json::to_string(&recording);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        text.map(|text| masked(&text, known, &texts))
            .map_err(|error| Fault::new(Kind::Internal, format!("no recording: {error}")))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// False, for good, once it is more than a recording may have.
    fn takes(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST {
            self.calls = Vec::new();
        }
        self.bytes <= MOST
    }
}

fn length(outcome: &Result<String, Fault>) -> usize {
    match outcome {
        Ok(text) => text.len(),
        Err(fault) => fault.message.len() + fault.details.as_ref().map_or(0, String::len),
    }
}
