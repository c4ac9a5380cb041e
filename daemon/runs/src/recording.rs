//! Recordings of runs: a run's journal as a file, to replay it without any server.
//!
//! Invariant: every credential that the daemon knows is masked in a recording before it leaves the daemon, each value
//! consistently, because a replay must find the same calls. A recording is complete or there is none.

mod file_format;
#[cfg(test)]
mod fuzz;
mod known_secrets;

use mux_journal::RunJournal;
use mux_secrets::{KnownSecrets, Masker};
use mux_wire::{Fault, FaultKind};

pub(crate) use self::file_format::MAX_RECORDING_BYTES;
use self::file_format::{RecordedCall, RecordedOutcome};
pub use self::{
    file_format::{RecordedProgram, RunRecording},
    known_secrets::{collect_known_secrets, server_rules},
};

/// The recording of a run that has just ended, as JSON. `names` is the program's `Object.keys(mux)`.
pub(crate) fn recording_of(
    run: &RunJournal,
    names: String,
    outcome: &Result<String, Fault>,
    mut known: KnownSecrets,
) -> Result<String, Fault> {
    let calls = run.calls().ok_or_else(too_long_fault)?;
    let program = RecordedProgram::of(&run.program, names);
    let calls: Vec<RecordedCall> = calls.iter().map(RecordedCall::of).collect();
    let input = program.input.clone();
    let results = calls.iter().filter_map(|call| match &call.outcome {
        RecordedOutcome::Result(text) => Some(text),
        RecordedOutcome::Error(_) | RecordedOutcome::Open => None,
    });
    let texts = [&input]
        .into_iter()
        .chain(calls.iter().map(|call| &call.arguments));
    for text in texts.chain(results) {
        if let Ok(value) = serde_json::from_str(text.get()) {
            known.add_members_of(&value);
        }
    }
    let info = run.info();
    let recording = RunRecording::new(
        info.accepted_ms,
        info.ms,
        program,
        calls,
        RecordedOutcome::of(outcome),
    );
    let text = serde_json::to_string(&recording)
        .map_err(|error| Fault::new(FaultKind::Internal, format!("not recorded: {error}")))?;
    if text.len() > MAX_RECORDING_BYTES {
        return Err(too_long_fault());
    }
    Ok(Masker::new(&known).json(&text))
}

fn too_long_fault() -> Fault {
    Fault::new(
        FaultKind::Limit,
        format!(
            "the run is not recorded: its calls and results are over {MAX_RECORDING_BYTES} bytes"
        ),
    )
    .hint("record a run that reads less")
}

#[cfg(test)]
mod tests;
