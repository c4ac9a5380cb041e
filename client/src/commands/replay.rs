//! `mux replay`.

use std::path::Path;

use mux_proto::RunRequest;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    Outcome,
    run::{self, AtEnd},
    usage,
};
use crate::{args, render::Listing};

/// Maximum bytes of a recording, which goes to the daemon in one message.
const MOST: u64 = 13 << 20;

/// The parts of a recording that this program reads; the daemon reads the rest.
#[derive(Deserialize)]
struct Recording {
    program: Script,
    outcome: Value,
}

#[derive(Deserialize)]
struct Script {
    source: String,
}

pub(super) async fn replay(args: args::Replay, json: bool) -> Outcome {
    let (value, recording) = match read(&args.file) {
        Ok(read) => read,
        Err(message) => {
            return usage(message, "`mux run --record FILE` makes a recording", json);
        }
    };
    let at_end = AtEnd {
        expected: args.verify.then_some(recording.outcome),
        ..AtEnd::saving(args.parts)
    };
    if let Err((message, hint)) = at_end.prepare() {
        return usage(message, hint, json);
    }
    let listing = Listing {
        name: "program".into(),
        text: recording.program.source,
    };
    let request = RunRequest {
        replay: Some(value),
        ..RunRequest::default()
    };
    run::request(request, listing, &at_end, (json, true)).await
}

fn read(file: &Path) -> Result<(Value, Recording), String> {
    let shown = file.display();
    let length = std::fs::metadata(file).map(|meta| meta.len());
    let length = length.map_err(|error| format!("cannot read {shown}: {error}"))?;
    if length > MOST {
        return Err(format!("{shown} is no recording: it is over {MOST} bytes"));
    }
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let raw: &RawValue =
        serde_json::from_str(&text).map_err(|error| format!("{shown} is no recording: {error}"))?;
    let recording = serde_json::from_str(raw.get())
        .map_err(|error| format!("{shown} is no recording: {error}"))?;
    let value = serde_json::from_str(raw.get())
        .map_err(|error| format!("{shown} is no recording: {error}"))?;
    Ok((value, recording))
}
