//! Why somebody gets no worker, in words.

use std::time::Duration;

use mux_wire::{Fault, Kind};

use super::state::{Full, State};
use crate::{scarce, worker_process::WorkerError};

pub(super) fn turned_away(full: &Full, state: &State) -> Fault {
    let most = state.bounds.queue;
    let message = match full {
        Full::Line { waiting } => {
            format!(
                "{waiting} runs wait for a worker already, the limit ([limits] queue) is {most}"
            )
        }
        Full::Owner { waiting } => format!(
            "{waiting} runs of this client wait for a worker already, half of the limit of {most} \
             ([limits] queue), which is all that one may have"
        ),
    };
    busy(message, state.retry_after())
}

pub(super) fn busy(message: String, retry_after: Duration) -> Fault {
    let milliseconds = retry_after.as_millis();
    let mut fault = Fault::new(Kind::Busy, message).hint(format!(
        "nothing has begun: try again in {milliseconds} ms; [limits] workers in config.toml allows \
         more at once"
    ));
    fault.details = Some(format!("{{\"retry_after_ms\":{milliseconds}}}"));
    fault
}

pub(super) fn unavailable(message: impl Into<String>) -> Fault {
    Fault::new(Kind::Unavailable, message)
}

pub(super) fn no_worker(error: &WorkerError) -> Fault {
    let remedy = match error {
        WorkerError::Start { source, .. } => scarce::remedy(source),
        _ => None,
    };
    let usual = "`mux-worker` must stand beside `muxd`; see `mux logs`";
    unavailable(error.to_string()).user_hint(remedy.unwrap_or(usual))
}
