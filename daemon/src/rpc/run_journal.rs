//! Converts the record of a run for clients.
//!
//! Invariant: an answer fits into a frame. Values that are too long are cut to their beginning.

use mux_proto as wire;
use mux_wire::Fault;

use mux_approvals::visible_prefix;
use mux_journal::history::{PastCall, RunRecord};
use mux_text::json_depth;

/// The maximum length of a value in an answer with all calls, in bytes.
const MAX_LISTED_VALUE_BYTES: usize = 16 << 10;
/// The approximate maximum length of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 8 << 20;
const PREVIEW_BYTES: usize = 1_000;

/// Decides how much of each value is sent.
struct ValueBudget {
    room: usize,
    max_bytes: usize,
}

/// The record, or of its calls only the one with this number.
pub(super) fn run_journal(record: RunRecord, call: Option<u32>) -> wire::RunJournal {
    let mut budget = ValueBudget {
        room: MAX_ANSWER_BYTES,
        max_bytes: call.map_or(MAX_LISTED_VALUE_BYTES, |_| MAX_ANSWER_BYTES),
    };
    let program = record.program;
    let calls = record.calls.into_iter();
    let calls = calls.filter(|kept| call.is_none() || kept.number == call);
    wire::RunJournal {
        program: wire::RunProgram {
            language: program.language,
            source: program.source.as_ref().to_owned(),
            name: program.name.as_deref().map(str::to_owned),
            input: budget.kept_value(Ok(program.input.as_ref().to_owned())),
            timeout_ms: wire::millis(program.wall),
        },
        calls: calls.map(|call| budget.call_record(call)).collect(),
        incomplete: record.is_incomplete,
    }
}

impl ValueBudget {
    fn call_record(&mut self, call: PastCall) -> wire::CallRecord {
        let (result, error) = match call.outcome {
            None => (None, None),
            Some(Ok(text)) => (Some(self.kept_value(text)), None),
            Some(Err(fault)) => (None, Some(without_long_details(fault).into())),
        };
        wire::CallRecord {
            call: call.number,
            tool: call.tool,
            at_ms: wire::millis(call.at),
            ms: wire::millis(call.took),
            arguments: self.kept_value(call.arguments),
            result,
            error,
        }
    }

    fn kept_value(&mut self, text: Result<String, usize>) -> wire::KeptValue {
        let text = match text {
            Ok(text) => text,
            Err(bytes) => {
                return wire::KeptValue {
                    bytes,
                    value: None,
                    preview: None,
                    withheld: true,
                };
            }
        };
        let fits = text.len() <= self.max_bytes.min(self.room);
        let value = if fits && json_depth::check(&text, "").is_ok() {
            serde_json::from_str(&text).ok()
        } else {
            None
        };
        let sent = value.as_ref().map_or(PREVIEW_BYTES, |_| text.len());
        self.room = self.room.saturating_sub(sent);
        wire::KeptValue {
            bytes: text.len(),
            preview: value
                .is_none()
                .then(|| visible_prefix(&text, PREVIEW_BYTES)),
            value,
            withheld: false,
        }
    }
}

/// Each call's error has the details that a program would get, which may be long.
fn without_long_details(fault: Fault) -> Fault {
    Fault {
        details: fault
            .details
            .filter(|details| details.len() <= MAX_LISTED_VALUE_BYTES),
        ..fault
    }
}
