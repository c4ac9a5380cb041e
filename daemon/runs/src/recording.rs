//! Recordings of runs: all calls of a program with their results, to replay it without any server.
//!
//! Invariant: every credential that the daemon knows is masked in a recording before it leaves the daemon, each value
//! consistently, because a replay must find the same calls.

mod call_recorder;
mod call_replayer;
mod file_format;
#[cfg(test)]
mod fuzz;
mod known_secrets;
mod mask_secrets;

pub(crate) use self::file_format::raw_json;
pub use self::{
    call_recorder::CallRecorder,
    call_replayer::CallReplayer,
    file_format::{RecordedProgram, RunRecording},
    known_secrets::collect_known_secrets,
};
