//! `mux replay`.

use std::{fs::File, path::Path};

use mux_proto::RunRequest;
use serde::Deserialize;
use serde_json::Value;

use super::{
    CommandResult, UsageMistake,
    input::read_limited_text,
    run::{self, RunEndActions},
};
use crate::{args, render::ProgramListing};

/// The maximum bytes of a recording, which goes to the daemon in one message.
const MAX_RECORDING_BYTES: u64 = 13 << 20;

/// The parts of a recording that this program reads. The daemon reads the rest.
#[derive(Deserialize)]
struct RecordingFile {
    program: RecordedProgram,
    outcome: Value,
}

#[derive(Deserialize)]
struct RecordedProgram {
    source: String,
}

pub(super) async fn replay(args: args::ReplayArgs, json: bool) -> CommandResult {
    let (value, recording) = read_recording(&args.file).map_err(|message| {
        UsageMistake::new(message, "`mux run --record FILE` creates a recording")
    })?;
    let at_end = RunEndActions {
        expected: args.verify.then_some(recording.outcome),
        ..RunEndActions::with_saved_parts(args.parts)
    };
    at_end.check_paths()?;
    let listing = ProgramListing {
        name: "program".into(),
        text: recording.program.source,
    };
    let name = args.file.file_name();
    let request = RunRequest {
        name: name.map(|name| name.to_string_lossy().into_owned()),
        replay: Some(value),
        ..RunRequest::default()
    };
    run::execute_run(request, listing, &at_end, (json, true)).await
}

fn read_recording(file: &Path) -> Result<(Value, RecordingFile), String> {
    let shown = file.display();
    let text = File::open(file).and_then(|file| read_limited_text(file, MAX_RECORDING_BYTES));
    let text = text.map_err(|error| format!("cannot read {shown}: {error}"))?;
    let parsed = serde_json::from_str(&text)
        .and_then(|recording| Ok((serde_json::from_str(&text)?, recording)));
    parsed.map_err(|error| format!("{shown} is not a recording: {error}"))
}
