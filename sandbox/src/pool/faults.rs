//! Errors for runs that get no worker.

use std::time::Duration;

use mux_wire::{Fault, FaultKind};

use super::state::{PoolState, QueueFull};
use crate::{resource_remedies, worker_process::WorkerError};

pub(super) fn queue_full_fault(full: &QueueFull, state: &PoolState) -> Fault {
    let most = state.bounds.queue;
    let message = match full {
        QueueFull::Line { waiting } => {
            format!(
                "{waiting} runs are already waiting for a worker, the limit ([limits] queue) is {most}"
            )
        }
        QueueFull::Owner { waiting } => format!(
            "{waiting} runs of this client are already waiting for a worker; one client may have half of the limit \
             of {most} ([limits] queue)"
        ),
    };
    busy_fault(message, state.retry_after())
}

pub(super) fn busy_fault(message: String, retry_after: Duration) -> Fault {
    let milliseconds = retry_after.as_millis();
    let mut fault = Fault::new(FaultKind::Busy, message).hint(format!(
        "nothing was started: try again in {milliseconds} ms; [limits] workers in config.toml allows \
         more at once"
    ));
    fault.details = Some(format!("{{\"retry_after_ms\":{milliseconds}}}"));
    fault
}

pub(super) fn unavailable_fault(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Unavailable, message)
}

pub(super) fn worker_start_fault(error: &WorkerError) -> Fault {
    let remedy = match error {
        WorkerError::Start { source, .. } => resource_remedies::remedy(source),
        _ => None,
    };
    let usual = "`mux-worker` must be in the same directory as `muxd`; see `mux logs`";
    unavailable_fault(error.to_string()).user_hint(remedy.unwrap_or(usual))
}
