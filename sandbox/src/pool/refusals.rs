//! Errors for runs that get no worker.

use std::time::Duration;

use mux_wire::{Fault, Kind};

use super::state::{Full, State};
use crate::{scarce, worker_process::WorkerError};

pub(super) fn turned_away(full: &Full, state: &State) -> Fault {
    let most = state.bounds.queue;
    let message = match full {
        Full::Line { waiting } => {
            format!(
                "{waiting} runs are already waiting for a worker, the limit ([limits] queue) is {most}"
            )
        }
        Full::Owner { waiting } => format!(
            "{waiting} runs of this client are already waiting for a worker; one client may have half of the limit \
             of {most} ([limits] queue)"
        ),
    };
    busy(message, state.retry_after())
}

pub(super) fn busy(message: String, retry_after: Duration) -> Fault {
    let milliseconds = retry_after.as_millis();
    let mut fault = Fault::new(Kind::Busy, message).hint(format!(
        "nothing was started: try again in {milliseconds} ms; [limits] workers in config.toml allows \
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
    let usual = "`mux-worker` must be in the same directory as `muxd`; see `mux logs`";
    unavailable(error.to_string()).user_hint(remedy.unwrap_or(usual))
}
