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

use super::UsageMistake;
use crate::render;

/// How every recording begins.
const RECORDING_PREFIX: &str = "{\"muxd_recording\":";
/// How much of a value that differs from the recorded one is shown.
const MAX_EXCERPT_CHARS: usize = 60;

/// Checks whether a recording can be written to `file`.
pub(super) fn prepare_recording(file: &Path) -> Result<(), UsageMistake> {
    let shown = file.display();
    let fails = |what: String| UsageMistake::new(what, "name a new file");
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
            "{shown} is not a recording, so it is not overwritten"
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
    // Only the owner can read a temporary file: a recording may contain private tool results.
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut pages = ValuePages::new(session, &handle.handle, 0, None);
    while let Some(page) = pages.next().await? {
        new.write_all(page.text.as_bytes()).map_err(failed)?;
    }
    new.write_all(b"\n").map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    Ok(handle.bytes)
}

/// How a run's outcome differs from the recorded one. `None` if it has the same result, or an error of the same kind
/// and message.
pub(super) async fn outcome_difference(
    session: &Session,
    recorded: &Value,
    outcome: &Outcome,
) -> Option<String> {
    match outcome {
        Outcome::Result(value) => result_difference(recorded, value.to_value()),
        Outcome::Error(error) => error_difference(recorded, error),
        Outcome::Stored(handle) => {
            let text = ValuePages::new(session, &handle.handle, 0, None)
                .read_to_end_of_value()
                .await;
            match text.map(|text| serde_json::from_str(&text)) {
                Ok(Ok(value)) => result_difference(recorded, value),
                Ok(Err(error)) => Some(format!("its result cannot be read: {error}")),
                Err(error) => Some(format!("its result cannot be read: {}", error.message)),
            }
        }
    }
}

fn result_difference(recorded: &Value, value: Value) -> Option<String> {
    match recorded.get("result") {
        Some(result) => {
            let [old, new] = [result.clone(), value].map(strip_durations);
            value_difference("result", &old, &new)
        }
        None => Some(format!(
            "it returns a value, but was recorded with the error {}",
            recorded_error(recorded)
        )),
    }
}

fn error_difference(recorded: &Value, error: &Error) -> Option<String> {
    let now = error_text(error.kind.as_str(), &error.message);
    if recorded.get("error").is_none() {
        return Some(format!(
            "it fails with {now}, but was recorded with a result"
        ));
    }
    let before = recorded_error(recorded);
    (before != now).then(|| format!("it fails with {now}, but was recorded with {before}"))
}

fn recorded_error(recorded: &Value) -> String {
    let text = |key: &str| recorded["error"][key].as_str().unwrap_or_default();
    error_text(text("kind"), text("message"))
}

fn error_text(kind: &str, message: &str) -> String {
    format!("[{kind}] {message}")
}

/// The first path at which two values differ, with both values.
fn value_difference(path: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            let mut keys = before.keys().chain(added);
            keys.find_map(|key| {
                let path = format!("{path}.{key}");
                match (before.get(key), after.get(key)) {
                    (Some(old), Some(new)) => value_difference(&path, old, new),
                    (Some(old), None) => {
                        Some(format!("{path} was {} and is now missing", excerpt(old)))
                    }
                    (None, new) => {
                        let new = new.unwrap_or(&Value::Null);
                        Some(format!("{path} was missing and is now {}", excerpt(new)))
                    }
                }
            })
        }
        (Value::Array(before), Value::Array(after)) => {
            let pairs = before.iter().zip(after).enumerate();
            let differing = pairs.filter(|(_, (old, new))| old != new);
            let mut differences = differing
                .map(|(index, (old, new))| value_difference(&format!("{path}[{index}]"), old, new));
            let lengths = || {
                let old = before.len();
                let new = after.len();
                (old != new).then(|| format!("{path} had {old} items and now has {new}"))
            };
            differences.next().flatten().or_else(lengths)
        }
        (old, new) => (old != new).then(|| {
            let old = excerpt(old);
            let new = excerpt(new);
            format!("{path} was {old} and is now {new}")
        }),
    }
}

/// The beginning of a value as JSON.
fn excerpt(value: &Value) -> String {
    render::short_line(&value.to_string(), MAX_EXCERPT_CHARS)
}

/// Removes the durations in the summary of a step program.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn only_recordings_are_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.muxrec");
        prepare_recording(&file).unwrap();
        fs::write(&file, "{\"muxd_recording\":1}").unwrap();
        prepare_recording(&file).unwrap();
        fs::write(&file, "mine").unwrap();
        let UsageMistake { message, hint } = prepare_recording(&file).unwrap_err();
        assert!(message.contains("is not a recording"), "{message}");
        assert_eq!(hint, "name a new file");
        let missing = folder.path().join("none/run.muxrec");
        let message = prepare_recording(&missing).unwrap_err().message;
        assert!(message.contains("no directory"), "{message}");
    }
    #[test]
    fn difference_names_the_first_place_with_both_values() {
        let recorded =
            json!({ "result": { "sums": [1, 2], "name": "x", "steps": [{ "took_ms": 3 }] } });
        let difference = |result| result_difference(&recorded, result);
        let of =
            |sums, name: &str| json!({ "sums": sums, "name": name, "steps": [{ "took_ms": 9 }] });
        assert_eq!(difference(of(json!([1, 2]), "x")), None);
        for (result, expected) in [
            (of(json!([1, 3]), "x"), "result.sums[1] was 2 and is now 3"),
            (of(json!([1]), "x"), "result.sums had 2 items and now has 1"),
            (
                of(json!([1, 2]), "y"),
                "result.name was \"x\" and is now \"y\"",
            ),
            (
                json!({ "name": "x" }),
                "result.sums was [1,2] and is now missing",
            ),
            (json!(null), "and is now null"),
        ] {
            let difference = difference(result).unwrap();
            assert!(difference.ends_with(expected), "{difference}");
        }
        assert!(excerpt(&json!("x".repeat(500))).chars().count() <= MAX_EXCERPT_CHARS + 1);
    }

    #[test]
    fn errors_are_the_same_by_kind_and_message() {
        let failed = json!({ "error": { "kind": "tool", "message": "no", "line": 3 } });
        let error = |kind, message: &str| Error::new(kind, message);
        assert_eq!(error_difference(&failed, &error(Kind::Tool, "no")), None);
        for (recorded, error, expected) in [
            (
                &failed,
                error(Kind::Tool, "yes"),
                "it fails with [tool] yes, but was recorded with [tool] no",
            ),
            (
                &failed,
                error(Kind::Runtime, "no"),
                "it fails with [runtime] no, but was recorded with [tool] no",
            ),
            (
                &json!({ "result": 1 }),
                error(Kind::Tool, "no"),
                "it fails with [tool] no, but was recorded with a result",
            ),
        ] {
            assert_eq!(
                error_difference(recorded, &error).as_deref(),
                Some(expected)
            );
        }
        let difference = result_difference(&failed, json!(1)).unwrap();
        assert_eq!(
            difference,
            "it returns a value, but was recorded with the error [tool] no"
        );
    }
}
