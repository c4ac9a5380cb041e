//! Saves recordings of runs as files, and compares runs with them.
//!
//! Invariant: only recordings are overwritten, and atomically.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
};

use mux_client::{Session, ValuePages};
use mux_proto::{Error, Handle, Kind, Outcome};
use serde_json::Value;

/// How every recording begins.
const RECORDING_PREFIX: &str = "{\"muxd_recording\":";

/// Checks whether a recording can be written to `file`. The error is message and hint.
pub(super) fn prepare_recording(file: &Path) -> Result<(), (String, String)> {
    let shown = file.display();
    let fails = |what: String| (what, "name a new file".to_owned());
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match file
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
            {
                Some(folder) if !folder.is_dir() => {
                    Err(fails(format!("there is no directory {}", folder.display())))
                }
                _ => Ok(()),
            }
        }
        Err(error) => Err(fails(format!("cannot write {shown}: {error}"))),
        Ok(_) if is_recording(file) => Ok(()),
        Ok(_) => Err(fails(format!(
            "{shown} is no recording, and is not overwritten"
        ))),
    }
}

fn is_recording(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).map(|file| file.take(RECORDING_PREFIX.len() as u64));
    read.is_ok_and(|mut file| file.read_to_end(&mut head).is_ok())
        && head == RECORDING_PREFIX.as_bytes()
}

/// Writes the recording to `file`, and returns its length in bytes.
pub(super) async fn save_recording(
    session: &Session,
    file: &Path,
    recording: Option<&Handle>,
) -> Result<u64, Error> {
    let Some(handle) = recording else {
        let message = "the run was not recorded";
        return Err(Error::new(Kind::Internal, message).hint("see the warning above"));
    };
    let failed = |error: io::Error| {
        let message = format!("cannot write the recording to {}: {error}", file.display());
        Error::new(Kind::Internal, message)
    };
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Only the owner can read a temporary file: a recording may hold private results of tools.
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut pages = ValuePages::new(session, &handle.handle, 0, None);
    while let Some(page) = pages.next().await? {
        new.write_all(page.text.as_bytes()).map_err(failed)?;
    }
    new.write_all(b"\n").map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    Ok(handle.bytes)
}

/// Whether a run ended as recorded: with the same result, or an error of the same kind and message.
pub(super) async fn is_same_outcome(
    session: &Session,
    recorded: &Value,
    outcome: &Outcome,
) -> bool {
    let same = |value: Value| {
        let recorded = recorded.get("result").cloned();
        recorded.map(strip_durations) == Some(strip_durations(value))
    };
    match outcome {
        Outcome::Result(value) => same(value.to_value()),
        Outcome::Error(error) => {
            let recorded = &recorded["error"];
            recorded["kind"] == serde_json::json!(error.kind)
                && recorded["message"] == error.message.as_str()
        }
        Outcome::Stored(handle) => {
            let text = ValuePages::new(session, &handle.handle, 0, None)
                .read_to_end_of_value()
                .await;
            let value = text.ok().and_then(|text| serde_json::from_str(&text).ok());
            value.is_some_and(same)
        }
    }
}

/// Removes the durations in the summary of a program of steps.
fn strip_durations(mut value: Value) -> Value {
    if let Some(Value::Array(steps)) = value.get_mut("steps") {
        for step in steps.iter_mut().filter_map(Value::as_object_mut) {
            step.retain(|name, _| name != "took_ms");
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recordings_are_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.muxrec");
        prepare_recording(&file).unwrap();
        fs::write(&file, "{\"muxd_recording\":1}").unwrap();
        prepare_recording(&file).unwrap();
        fs::write(&file, "mine").unwrap();
        let (message, hint) = prepare_recording(&file).unwrap_err();
        assert!(message.contains("is no recording"), "{message}");
        assert_eq!(hint, "name a new file");
        let (message, _) = prepare_recording(&folder.path().join("none/run.muxrec")).unwrap_err();
        assert!(message.contains("no directory"), "{message}");
    }
}
