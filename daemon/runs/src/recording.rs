//! Runs on record: all that a program asked for and was told, to be run again without any server.
//!
//! Invariant: what leaves the daemon in a recording has been struck of every credential that it knows, in one
//! way from beginning to end, so that what a program did with one it can do again.

mod call_recorder;
mod call_replayer;
mod file_format;
mod known_secrets;
mod mask_secrets;

pub use self::{
    call_recorder::CallRecorder,
    call_replayer::CallReplayer,
    file_format::{RecordedProgram, RunRecording},
    known_secrets::collect_known_secrets,
};
