//! The events of a run that its readers see, in order.
//!
//! Call arguments and results are kept beside the entries (`call_log`), so that following a run does not transfer
//! them.
//!
//! Invariant: the lifetime of a stored value counts from its event in a journal, and from now where the event is read.

use mux_messages::{Error, Event, EventKind, Held, Outcome};
use mux_text::json_length;
use mux_wire::Fault;

/// The size of an entry beyond its text.
pub(crate) const ENTRY_OVERHEAD_BYTES: usize = 128;

pub(crate) fn is_last(event: &EventKind) -> bool {
    matches!(event, EventKind::Ended { .. })
}

/// The approximate size of an event, in memory and in a frame.
pub(crate) fn event_bytes(event: &EventKind) -> usize {
    let text = match event {
        EventKind::Console { text, .. } => text.len(),
        EventKind::Emitted {
            part: Held::Value(value),
        }
        | EventKind::Ended {
            outcome: Outcome::Result(value),
        } => value.as_str().len(),
        EventKind::Emitted {
            part: Held::Stored(handle),
        }
        | EventKind::Ended {
            outcome: Outcome::Stored(handle),
        } => handle.preview.len(),
        EventKind::Checked { warnings, .. } => {
            let bytes = |error: &Error| error.message.len() + ENTRY_OVERHEAD_BYTES;
            warnings.iter().map(bytes).sum()
        }
        EventKind::ApprovalAsked(request) => request.arguments.len() + request.path.len(),
        EventKind::CallProgress { message, .. } => message.as_ref().map_or(0, String::len),
        EventKind::StepStarted { description, .. } => description.as_ref().map_or(0, String::len),
        EventKind::StepSkipped { reason, .. } => reason.len(),
        EventKind::CallEnded { error, .. } | EventKind::StepEnded { error, .. } => {
            error.as_ref().map_or(0, error_bytes)
        }
        EventKind::Ended {
            outcome: Outcome::Error(error),
        } => error_bytes(error),
        _ => 0,
    };
    text + ENTRY_OVERHEAD_BYTES
}

/// The event for a reader, `now_ms` after its run was accepted.
pub(crate) fn event_at(event: &Event, now_ms: u64) -> Event {
    let mut event = event.clone();
    if let EventKind::Emitted {
        part: Held::Stored(handle),
    }
    | EventKind::Recorded { recording: handle }
    | EventKind::Ended {
        outcome: Outcome::Stored(handle),
    } = &mut event.event
    {
        let age_ms = now_ms.saturating_sub(event.at_ms);
        handle.expires_ms = handle.expires_ms.saturating_sub(age_ms);
    }
    event
}

/// The size of an error's strings.
fn error_bytes(error: &Error) -> usize {
    let texts = [&error.hint, &error.path].into_iter().flatten();
    let details = error.details.as_ref();
    let details = details.and_then(|details| json_length::of(details, usize::MAX));
    error.message.len() + texts.map(String::len).sum::<usize>() + details.unwrap_or(0)
}

/// The size of a fault's strings.
pub(crate) fn fault_bytes(fault: &Fault) -> usize {
    let more = [&fault.hint, &fault.path, &fault.details];
    let more = more.into_iter().flatten().map(String::len);
    fault.message.len() + more.sum::<usize>()
}
